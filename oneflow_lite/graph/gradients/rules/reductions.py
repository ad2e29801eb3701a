"""Sums, products and extrema along axes."""

from collections.abc import Sequence
from math import prod

from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import float32, result_type
from oneflow_lite.graph.arguments.slots import Number
from oneflow_lite.graph.gradients.step import Step, rule, widened
from oneflow_lite.ops.creation.data import ones
from oneflow_lite.ops.elementwise import divide, equal, isnan, logical_or, maximum, multiply
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.shapes import (
    broadcast_to,
    expand_dims,
    moveaxis,
    reshape,
)
from oneflow_lite.ops.searching import where
from oneflow_lite.ops.statistics.reduction import sum
from oneflow_lite.ops.table import REDUCTIONS

_EXTREMA = ("maximum", "minimum", "fmax", "fmin")


@rule("reduce")
def reduce(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Find the rule of the row that reduces."""
    name = REDUCTIONS[step.call.row].name if step.call.row in REDUCTIONS else step.call.row
    bits, keeps = step.call.attr
    axes = tuple(d for d in range(bits.bit_length()) if bits >> d & 1)
    if not step.needs(0):
        step.fail("is not differentiable by its initial value")
    kept = g if keeps or not axes else expand_dims(g, axis=axes)
    if name == "add":
        return (broadcast_to(kept, step.operand(0).shape) if axes else g,)
    x = widened(step.operand(0), step.out_type.dtype)
    if name in _EXTREMA:
        return (_of_extremum(name, x, step.out, kept, axes),)
    if name == "multiply":
        initial = step.operand(1) if len(step.operands) > 1 else 1
        if isinstance(initial, Number) or initial != 1:
            kept = multiply(kept, initial)
        return (_of_product(x, kept, axes),)
    step.fail(f"is not differentiable: there is no rule for reductions by {name}")


def _of_extremum(name: str, x: Tensor, out: Tensor, g: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return g in equal parts for the elements that are the result, NaN among them.

    There may be none: the initial value is the result. Short floats could not count them.
    """
    found = equal(x, out if out.ndim == x.ndim else expand_dims(out, axis=axes))
    if name in ("maximum", "minimum"):  # of which a NaN is the result
        found = logical_or(found, isnan(x))
    count = sum(found, axis=axes, keepdims=True, dtype=result_type(g.dtype, float32))
    return where(found, divide(g, maximum(count, 1)), 0)


def _of_product(x: Tensor, g: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return g times the product of all other elements, which may be zeros.

    Neighbours are multiplied, level by level; on the way back each gets its partner's share.
    """
    if not axes:
        return g
    last = tuple(range(x.ndim - len(axes), x.ndim))
    moved = moveaxis(x, axes, last)
    shape, rest = moved.shape, moved.shape[: last[0]]
    count = prod(shape[last[0] :])
    if count == 0:
        return broadcast_to(g, x.shape)
    level = reshape(moved, (*rest, count))
    levels = []
    while level.shape[-1] > 1:
        if level.shape[-1] % 2:
            one = ones((*level.shape[:-1], 1), dtype=level.dtype, device=level.device)
            level = concat([level, one], axis=-1)
        half = level.shape[-1] // 2
        levels.append((level[..., :half], level[..., half:]))
        level = multiply(*levels[-1])
    share = moveaxis(g, axes, last)
    share = reshape(share, (*rest, 1))
    for low, high in reversed(levels):
        share = share[..., : low.shape[-1]]
        share = concat([multiply(share, high), multiply(share, low)], axis=-1)
    return moveaxis(reshape(share[..., :count], shape), last, axes)
