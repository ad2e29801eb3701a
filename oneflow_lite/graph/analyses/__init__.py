"""What is found out about a program before it runs: pure functions over integers.

Operations are numbered from 0 in the order of the program, values and variables from 0 in any
order. An edge (before, after) orders two operations, and goes forward. Arrays of integers are
sequences or NumPy's arrays; rows are a sequence of sequences. Nothing here knows a tensor.

>>> from oneflow_lite.graph.analyses import READ, WRITE, dependences, waits
>>> x, y = 0, 1
>>> program = [[(x, WRITE)], [(x, READ), (y, WRITE)], [(x, READ)], [(x, WRITE)]]
>>> edges = dependences(program)
>>> edges
[(0, 1), (0, 2), (1, 3), (2, 3)]
>>> waits([0, 1, 0, 0], edges)  # operation 1 is in a lane of its own
[(0, 1), (1, 3)]
"""

from oneflow_lite.graph.analyses.assigns import (
    Additions as Additions,
    AssignCase as AssignCase,
    Assignments as Assignments,
    addto as addto,
    assign as assign,
)
from oneflow_lite.graph.analyses.blocks import (
    BlockPlan as BlockPlan,
    BlockProgram as BlockProgram,
    plan_blocks as plan_blocks,
)
from oneflow_lite.graph.analyses.colours import colours as colours
from oneflow_lite.graph.analyses.dependences import (
    ELEMENTWISE as ELEMENTWISE,
    READ as READ,
    SHAPE as SHAPE,
    WRITE as WRITE,
    Access as Access,
    dependences as dependences,
    reduction as reduction,
)
from oneflow_lite.graph.analyses.in_place import InPlace as InPlace, in_place as in_place
from oneflow_lite.graph.analyses.lanes import (
    Start as Start,
    reuse_across_lanes as reuse_across_lanes,
    spread as spread,
    starts as starts,
    waits as waits,
)
from oneflow_lite.graph.analyses.layouts import (
    STAYS as STAYS,
    assign_layouts as assign_layouts,
)
from oneflow_lite.graph.analyses.memory_order import order_by_memory as order_by_memory
from oneflow_lite.graph.analyses.offsets import (
    MemoryPlan as MemoryPlan,
    lower_bound as lower_bound,
    plan_offsets as plan_offsets,
)
from oneflow_lite.graph.analyses.order import (
    last_users as last_users,
    order_by_priority as order_by_priority,
    successors as successors,
    successors_by_thread as successors_by_thread,
)
from oneflow_lite.graph.analyses.partition import (
    PostDominators as PostDominators,
    partition as partition,
    post_dominators as post_dominators,
)
from oneflow_lite.graph.analyses.reason import Reason as Reason
from oneflow_lite.graph.analyses.values import (
    ValueKind as ValueKind,
    Values as Values,
    alias_classes as alias_classes,
    class_users as class_users,
)

__all__ = [
    "ELEMENTWISE",
    "READ",
    "SHAPE",
    "STAYS",
    "WRITE",
    "Access",
    "Additions",
    "AssignCase",
    "Assignments",
    "BlockPlan",
    "BlockProgram",
    "InPlace",
    "MemoryPlan",
    "PostDominators",
    "Reason",
    "Start",
    "ValueKind",
    "Values",
    "addto",
    "alias_classes",
    "assign",
    "assign_layouts",
    "class_users",
    "colours",
    "dependences",
    "in_place",
    "last_users",
    "lower_bound",
    "order_by_memory",
    "order_by_priority",
    "partition",
    "plan_blocks",
    "plan_offsets",
    "post_dominators",
    "reduction",
    "reuse_across_lanes",
    "spread",
    "starts",
    "successors",
    "successors_by_thread",
    "waits",
]
