"""Views: what came for a view is added to its place in the whole.

g ─► summed along axes that the view repeats ─► all of the whole?   g, the other way round
a part of it?       zeros, g at its place
overlaps itself?    sums by index
"""

from oneflow_lite import _C
from oneflow_lite._C import OpCall, Tensor
from oneflow_lite.graph.gradients.layouts import inverse, is_dense, memory_order
from oneflow_lite.graph.gradients.scattering import scatter_add
from oneflow_lite.graph.gradients.step import Step
from oneflow_lite.graph.gradients.sums import Sums
from oneflow_lite.graph.ir import Type
from oneflow_lite.ops.creation.data import zeros
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.manipulation.shapes import expand_dims, permute_dims, reshape
from oneflow_lite.ops.statistics.reduction import sum


def add_view(step: Step, g: Tensor, sums: Sums) -> None:
    """Add the gradient of a view to that of the whole."""
    (value,), whole = step.operands, step.type(0)
    seen = step.record.types[step.results[0]]
    if seen.dtype != whole.dtype:
        if whole.dtype.kind == "c":
            step.fail("is a part of complex numbers, which have no gradients")
        step.fail(f"sees bytes of {whole.dtype} as {seen.dtype}, which has no gradient")
    offset = step.call.attr[1]
    repeated = tuple(
        d for d, (n, s) in enumerate(zip(seen.shape, seen.strides, strict=True)) if n > 1 and not s
    )
    if repeated:
        g = sum(g, axis=repeated, keepdims=True)
        shape = tuple(1 if d in repeated else n for d, n in enumerate(seen.shape))
        seen = Type(seen.dtype, shape, seen.strides, seen.device)
    if not seen.size:
        return
    if seen.size == whole.size and _is_dense(seen) and _is_dense(whole):
        sums.add(value, _turned_back(g, seen, whole))
    elif _overlaps(seen):
        sums.add(value, _summed(g, seen, offset, whole))
    else:
        sums.add_region(value, _view(seen, offset), g)


def _is_dense(x: Type) -> bool:
    return is_dense(x.shape, x.strides, x.dtype.itemsize)


def _turned_back(g: Tensor, seen: Type, whole: Type) -> Tensor:
    """Return the gradient of the whole, of which the view has each element once."""
    if seen.shape == whole.shape and seen.strides == whole.strides:
        return g
    before = memory_order(whole.shape, whole.strides)
    after = memory_order(seen.shape, seen.strides)
    lined = permute_dims(g, after)
    return permute_dims(reshape(lined, [whole.shape[d] for d in before]), inverse(before))


def _overlaps(seen: Type) -> bool:
    """Return whether two elements of the view may be one."""
    reach = seen.dtype.itemsize
    for d in reversed(memory_order(seen.shape, tuple(map(abs, seen.strides)))):
        n, step = seen.shape[d], abs(seen.strides[d])
        if n > 1:
            if step < reach:
                return True
            reach += step * (n - 1)
    return False


def _summed(g: Tensor, seen: Type, offset: int, whole: Type) -> Tensor:
    """Return the gradient of the whole, whose elements the view has several times or never."""
    itemsize, low = whole.dtype.itemsize, 0
    for n, stride in zip(whole.shape, whole.strides, strict=True):
        low += min(stride * (n - 1), 0)
    places = zeros((), dtype="int64", device=g.device) + (offset - low) // itemsize
    for n, stride in zip(seen.shape, seen.strides, strict=True):
        along = arange(n, dtype="int64", device=g.device) * (stride // itemsize)
        places = expand_dims(places, axis=-1) + along
    summed = scatter_add(whole.size, reshape(places, -1), reshape(g, -1))
    return _view(whole, -low).replay([summed])[0]


def _view(seen: Type, offset: int) -> OpCall:
    attr = (_C.type_code(seen.dtype), offset, *seen.shape, *seen.strides)
    return OpCall("view", "view", attr=attr)
