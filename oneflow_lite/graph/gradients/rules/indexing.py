"""Reads and writes by index arrays and masks: sums by index, and reads at the same places."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.graph.gradients.scattering import add_rows, scatter_add
from oneflow_lite.graph.gradients.shapes import unbroadcast
from oneflow_lite.graph.gradients.step import Step, kernel_rule
from oneflow_lite.ops.creation.data import zeros
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import clip
from oneflow_lite.ops.manipulation.shapes import broadcast_to, expand_dims, reshape
from oneflow_lite.ops.searching import where
from oneflow_lite.ops.statistics.reduction import sum
from oneflow_lite.ops.statistics.scan import cumsum

_WRAP, _CLIP = 1, 2


@kernel_rule("gather")
def gather(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Add each element to the place that it was read from: out[b, r] = x[i[b], j[b], ..., r]."""
    shape = step.shape(0)
    indices = [step.operand(k) for k in range(1, len(step.operands))]
    lead = shape[: len(indices)]
    places = _places(indices, lead, step.call.attr[0])
    summed = _added_rows(places, lead, shape[len(lead) :], g)
    return summed, *[None] * len(indices)


@kernel_rule("take_along_axis")
def take_along_axis(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """The same, with indices of their own for each lane."""
    return added_along(step.operand(1), step.call.attr[0], step.shape(0), g), None


def added_along(index: Tensor, axis: int, shape: tuple[Any, ...], g: Tensor) -> Tensor:
    """Return zeros of a shape, with each element of g added at its index along an axis."""
    indices = []
    for d, n in enumerate(g.shape):
        if d == axis:
            indices.append(index)
        else:
            axes = tuple(other for other in range(g.ndim) if other != d)
            counted = expand_dims(arange(n, dtype="int64", device=g.device), axis=axes)
            indices.append(broadcast_to(counted, g.shape))
    return _added_rows(_places(indices, shape, 0), shape, (), g)


@kernel_rule("mask_gather")
def mask_gather(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Put the k-th element where the k-th true of the mask is, and zeros elsewhere."""
    mask, shape = step.operand(1), step.shape(0)
    if not g.size:
        return zeros(shape, dtype=g.dtype, device=g.device), None
    flat = reshape(mask, -1)
    rows = g[where(flat, cumsum(flat) - 1, 0)]
    over = expand_dims(flat, axis=tuple(range(1, g.ndim))) if g.ndim > 1 else flat
    return reshape(where(over, rows, 0), shape), None


@kernel_rule("pick")
def pick(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """The same, for one dimension and indices that are in range."""
    (size,) = step.shape(0)
    return scatter_add(size, step.operand(1), g), None


@kernel_rule("scatter")
def scatter(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Read at the places that were written; of several writes to one the last counts."""
    count = step.call.attr[1]
    indices = [step.operand(k) for k in range(count)]
    key = tuple(indices)
    step.kept = _C.copy(g)
    step.kept[key] = 0
    found: list[Tensor | None] = [None] * len(step.operands)
    if len(step.operands) > count and step.needs(count):
        picked = step.shape(0)
        rest = step.out_type.shape[count:]
        numbers = zeros(step.out_shape[:count], dtype="int64", device=g.device)
        own = reshape(arange(prod(picked), dtype="int64", device=g.device), picked)
        numbers[key] = own
        is_last = numbers[key] == own
        if rest:
            is_last = expand_dims(is_last, axis=tuple(range(-len(rest), 0)))
        given = where(is_last, g[key], 0)
        shape = (*step.type(0).shape, *rest)
        found[count] = unbroadcast(given, shape, step.type(count).shape)
    return found


@kernel_rule("mask_scatter")
def mask_scatter(step: Step, g: Tensor) -> Sequence[Tensor | None]:
    """Give what was written where the mask is true; the k-th value has the k-th place."""
    mask, rest = step.operand(0), step.out_type.shape[len(step.type(0).shape) :]
    over = expand_dims(mask, axis=tuple(range(-len(rest), 0))) if rest else mask
    step.kept = where(over, 0, g)
    found: list[Tensor | None] = [None] * len(step.operands)
    if len(step.operands) < 2 or not step.needs(1):
        return found
    given = step.type(1).shape
    if step.call.attr[0] < 0:  # one row for all places
        summed = sum(where(over, g, 0), axis=tuple(range(mask.ndim)))
        found[1] = unbroadcast(expand_dims(summed, axis=0), (1, *rest), given)
    else:
        count = step.shape(1)[0]
        flat = reshape(mask, -1)
        places = where(flat, cumsum(flat) - 1, count)
        rows = _added_rows(places, (count + 1,), rest, g)[:count]
        found[1] = unbroadcast(rows, (given[0], *rest), given)
    return found


def _places(indices: Sequence[Tensor], shape: tuple[Any, ...], mode: int) -> Tensor:
    """Return positions in row-major order, of one dimension; ``mode``: OutOfRange."""
    found: Any = None
    for index, n in zip(indices, shape, strict=True):
        given = _C.astype(index, np.dtype(np.int64), False)
        if mode == _WRAP:
            inside = given % n
        elif mode == _CLIP:
            inside = clip(given, 0, n - 1)
        else:
            inside = where(given < 0, given + n, given)
        found = inside if found is None else found * n + inside
    return reshape(found, -1)


def _added_rows(places: Tensor, lead: tuple[Any, ...], rest: tuple[Any, ...], g: Tensor) -> Tensor:
    """Return zeros of the shape (*lead, *rest), with a row of g added at each place."""
    rows = reshape(g, (places.size, prod(rest)))
    return reshape(add_rows(prod(lead), places, rows), (*lead, *rest))
