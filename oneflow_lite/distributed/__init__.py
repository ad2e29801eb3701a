"""Tensors over many ranks: one program, and each rank holds a part of its tensors.

All ranks run the same program. A ``GlobalTensor`` has a shape, the ranks that hold it, and for each
axis of their grid how they do: ``split``, ``broadcast`` or ``partial``. Operators infer this of
their results, and what has to move from rank to rank moves while the program goes on.

>>> def program():
...     ranks = flow.distributed.placement.all("cpu")
...     x = flow.arange(3.0).to_global(ranks, flow.distributed.sbp.split(0))
...     return float((x * 2).sum())
>>> flow.distributed.run(program, 2)
[12.0, 12.0]
"""

from oneflow_lite._C import DesyncError as DesyncError, RankError as RankError
from oneflow_lite.distributed import (
    copies as copies,
    lanes as lanes,
    reductions as reductions,
    sbp as sbp,
)
from oneflow_lite.distributed.agreement import barrier as barrier
from oneflow_lite.distributed.files import load as load, save as save
from oneflow_lite.distributed.global_tensor import GlobalTensor as GlobalTensor
from oneflow_lite.distributed.layout import (
    Layout as Layout,
    Step as Step,
    boxing as boxing,
    layout as layout,
    received as received,
    sent as sent,
)
from oneflow_lite.distributed.placement import Placement as Placement, placement as placement
from oneflow_lite.distributed.sums import to_global as to_global, tree_sum as tree_sum
from oneflow_lite.distributed.world import (
    init as init,
    local_rank as local_rank,
    rank as rank,
    run as run,
    stats as stats,
    world_size as world_size,
)
