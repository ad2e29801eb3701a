"""Sorted elements, and running sums and products."""

from collections.abc import Sequence

from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.rules.indexing import added_along
from oneflow_lite.graph.gradients.step import Step, kernel_rule
from oneflow_lite.ops.creation.data import zeros
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import isnan, logical_and, logical_not, maximum, multiply
from oneflow_lite.ops.indexing import take_along_axis
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.rearranging import flip
from oneflow_lite.ops.manipulation.shapes import expand_dims
from oneflow_lite.ops.searching import where
from oneflow_lite.ops.sorting import argsort
from oneflow_lite.ops.statistics.scan import accumulate as running, cumsum


@kernel_rule("sort")
def sort(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Put each element back to where it was before."""
    axis, descending = step.call.attr[:2]
    order = argsort(step.operand(0), axis=axis, descending=bool(descending))
    return (take_along_axis(g, argsort(order, axis=axis), axis=axis),)


@kernel_rule("partition")
def partition(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Put each element back to where it was: both have one sorted order."""
    axis = step.call.attr[0]
    before, after = argsort(step.operand(0), axis=axis), argsort(step.out, axis=axis)
    sorted_g = take_along_axis(g, after, axis=axis)
    back = take_along_axis(sorted_g, argsort(before, axis=axis), axis=axis)
    return (back, *[None] * (len(step.operands) - 1))


@kernel_rule("accumulate")
def accumulate(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Find the rule of the row that accumulates."""
    axis, row = step.call.attr[0], step.call.loop[0]
    if row == "add":
        return (flip(cumsum(flip(g, axis=axis), axis=axis), axis=axis),)
    if row == "multiply":
        return (_of_products(step.operand(0), g, axis),)
    if row in ("maximum", "minimum", "fmax", "fmin"):
        return (_of_extrema(step.out, g, axis),)
    step.fail(f"is not differentiable: there is no rule for running results of {row}")


def _of_extrema(out: Tensor, g: Tensor, axis: int) -> Tensor:
    """Return g where the result has changed: the first of equal ones gets it, NaN among them."""
    before, n = (slice(None),) * axis, out.shape[axis]
    late, early = out[(*before, slice(1, None))], out[(*before, slice(n - 1))]
    changed = logical_and(late != early, logical_not(logical_and(isnan(late), isnan(early))))
    axes = tuple(range(1, out.ndim - axis))
    numbers = expand_dims(arange(1, n, dtype="int64", device=g.device), axis=axes)
    first = zeros(out[(*before, slice(1))].shape, "int64", device=g.device)
    numbers = concat([first, where(changed, numbers, 0)], axis=axis)
    return added_along(running(maximum, numbers, axis), axis, out.shape, g)


def _of_products(x: Tensor, g: Tensor, axis: int) -> Tensor:
    """Return the gradient of running products, of elements that may be zeros.

    They are products of 1, 2, 4 and so on neighbours, level by level:

        level   x0   x1     x2       x3
          1     x0   x0x1   x1x2     x2x3
          2     x0   x0x1   x0x1x2   x0x1x2x3
    """
    before, n = (slice(None),) * axis, x.shape[axis]
    levels = []
    reach = 1
    while reach < n:
        late, early = (*before, slice(reach, None)), (*before, slice(n - reach))
        first = (*before, slice(reach))
        levels.append((late, early, first, x[late], x[early]))
        x = concat([x[first], multiply(x[late], x[early])], axis=axis)
        reach *= 2
    for late, early, first, one, other in reversed(levels):
        of_early = multiply(g[late], one)
        of_late = concat([g[first], multiply(g[late], other)], axis=axis)
        g = of_late
        g[early] += of_early
    return g
