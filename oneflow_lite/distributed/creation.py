"""New tensors of many ranks: each makes its own part, and nothing moves.

They are made by the functions of the namespace, with ``placement`` and ``sbp``: every rank calls
``flow.zeros(shape, placement=ranks, sbp=flow.distributed.sbp.split(0))``. What is made of data
takes the same data on all ranks, of which each keeps its box.
"""

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.placement import Placement
from oneflow_lite.distributed.sbp import Sbp, broadcast
from oneflow_lite.ops.creation.data import tensor
from oneflow_lite.ops.creation.spreading import sbps_of

# Their first argument is the shape, and the others are those of any part.
_OF_A_SHAPE = ("zeros", "ones", "full", "empty")


def created(
    function: Callable[..., Tensor],
    args: tuple[Any, ...],
    names: dict[str, Any],
    placement: Placement,
    sbp: Sbp | Sequence[Sbp],
) -> GlobalTensor:
    """Call a function that makes a tensor, for the part of each rank.

    Raises
    ------
    TypeError
        For another placement or sbp, for ``device``, which the placement decides, and for a tensor
        of this rank alone.
    ValueError
        For another number of sbps than the grid has axes.
    """
    name = function.__name__
    if any(isinstance(each, GlobalTensor) for each in args):
        raise TypeError(
            f"[{name}] the tensor is one of many ranks; x.to_global(placement, sbp) gives it "
            "another layout"
        )
    if any(isinstance(each, Tensor) for each in (*args, *names.values())):
        raise TypeError(
            f"[{name}] expected data that all ranks have, got a Tensor of this rank alone; "
            "x.to_global(placement, sbp) says which part of what it is"
        )
    given = sbps_of(name, names.pop("device", None), placement, sbp)
    whole = [broadcast if each.op is not None else each for each in given]
    rank = _C.current_member().rank
    fill: Any = names.get("fill_value", args[1] if len(args) > 1 else 0)
    if name in _OF_A_SHAPE and np.ndim(fill) == 0:  # an array is broadcast to the whole
        shape = args[0] if args else names.pop("shape")
        extents = [index(each) for each in ([shape] if hasattr(shape, "__index__") else shape)]
        layout = Layout(extents, placement, whole)
        box = layout.box(rank)
        own = [0] if box is None else [each.stop - each.start for each in box]
        part = function(own, *args[1:], device="cpu", **names)
    else:
        made = function(*args, device="cpu", **names)
        if not isinstance(made, Tensor):
            raise TypeError(f"[{name}] placement: only a call that makes one tensor takes it")
        layout = Layout(list(made.shape), placement, whole)
        box = layout.box(rank)
        part = made if box is None or whole == [broadcast] * len(whole) else _C.copy(made[box])
    result = _C.of_new_part(part, layout)
    return result if whole == given else result.to_global(sbp=given)


def like(x: GlobalTensor, make: Callable[[Tensor], Tensor]) -> GlobalTensor:
    """A tensor split as another one, and else whole, of which a function makes each part."""
    sbps = [broadcast if each.op is not None else each for each in x.sbp]
    return _C.of_part(make(x.to_local()), Layout(list(x.shape), x.placement, sbps), x)


def of_array(x: Any, like: GlobalTensor, sbp: Sequence[Sbp] | None = None) -> Any:
    """An array that all ranks have as a tensor beside another one; anything else as it is.

    ``sbp``: broadcast unless given; where it splits a dimension that the array has not, too.
    """
    if not isinstance(x, np.ndarray):
        return x
    wanted = [
        each if each.dim is not None and each.dim < x.ndim else broadcast
        for each in (sbp or like.sbp)
    ]
    whole = [broadcast] * len(wanted)
    return created(tensor, (x,), {}, like.placement, whole if sbp is None else wanted)
