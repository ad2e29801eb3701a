"""Sums, products and extrema along axes."""

from collections.abc import Sequence

from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.step import Step, rule
from oneflow_lite.ops.creation.data import ones
from oneflow_lite.ops.elementwise import divide, equal, isnan, logical_or, multiply
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
    if not axes:
        return (g,)
    kept = g if keeps else expand_dims(g, axis=axes)
    if name == "add":
        return (broadcast_to(kept, step.operand(0).shape),)
    if name in _EXTREMA:
        return (_of_extremum(step, name, kept, axes, bool(keeps)),)
    if name == "multiply":
        return (_of_product(step.operand(0), kept, axes),)
    step.fail(f"is not differentiable: there is no rule for reductions by {name}")


def _of_extremum(step: Step, name: str, g: Tensor, axes: tuple[int, ...], keeps: bool) -> Tensor:
    """Return g in equal parts for the elements that are the result, NaN among them."""
    out = step.out if keeps else expand_dims(step.out, axis=axes)
    found = equal(step.operand(0), out)
    if name in ("maximum", "minimum"):  # of which a NaN is the result
        found = logical_or(found, isnan(step.operand(0)))
    count = sum(found, axis=axes, keepdims=True, dtype=g.dtype)
    return where(found, divide(g, count), 0)


def _of_product(x: Tensor, g: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Return g times the product of all other elements, which may be zeros.

    Neighbours are multiplied, level by level; on the way back each gets its partner's share.
    """
    last = tuple(range(x.ndim - len(axes), x.ndim))
    moved = moveaxis(x, axes, last)
    level = reshape(moved, (*moved.shape[: last[0]], -1))
    levels = []
    while level.shape[-1] > 1:
        if level.shape[-1] % 2:
            one = ones((*level.shape[:-1], 1), dtype=level.dtype, device=level.device)
            level = concat([level, one], axis=-1)
        half = level.shape[-1] // 2
        levels.append((level[..., :half], level[..., half:]))
        level = multiply(*levels[-1])
    share = moveaxis(g, axes, last)
    share = reshape(share, (*share.shape[: last[0]], 1))
    for low, high in reversed(levels):
        share = share[..., : low.shape[-1]]
        share = concat([multiply(share, high), multiply(share, low)], axis=-1)
    shape = moved.shape
    share = share[..., : _size(shape[last[0] :])]
    return moveaxis(reshape(share, shape), last, axes)


def _size(shape: Sequence[int]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
