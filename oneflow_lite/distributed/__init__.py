"""Tensors over many ranks, begun: which part each rank holds, and what moves when that changes.

All of it is arithmetic on shapes and ranks. Nothing here communicates, and no rank has to be there:
layouts of thousands of ranks can be looked at in one process.
"""

from oneflow_lite.distributed import sbp as sbp
from oneflow_lite.distributed.layout import (
    Layout as Layout,
    Step as Step,
    boxing as boxing,
    layout as layout,
    received as received,
    sent as sent,
)
from oneflow_lite.distributed.placement import Placement as Placement, placement as placement
