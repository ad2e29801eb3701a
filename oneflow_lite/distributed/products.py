"""Products of tensors of many ranks, by the rule of each axis of the grid."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor
from oneflow_lite.distributed.creation import of_array
from oneflow_lite.distributed.functions import KNOWN, is_here, rule
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.sbp import Sbp, broadcast, partial_sum, split
from oneflow_lite.distributed.shapes import expand_dims, permute_dims, reshape, squeeze
from oneflow_lite.dtypes import result_type
from oneflow_lite.ops.operands import paired_axes


class _Operand(NamedTuple):
    """A factor: how many dimensions of the result come before its own, and which are its last."""

    layout: Layout
    before: int
    outer: int  # rows of the left one, columns of the right one
    inner: int
    keeps: bool  # parts may be multiplied: the product has the dtype, so none is cast first

    def batch(self, dim: int, extent: int) -> Sbp:
        """How a factor has a batch dimension of the result where the other one is split there."""
        own = dim - self.before
        if own < 0 or self.layout.shape[own] != extent:
            return broadcast
        return split(own)


def _along(a: _Operand, b: _Operand, shape: Sequence[int], left: Sbp, right: Sbp) -> list[Sbp]:
    """How two factors are multiplied along one axis of the grid: their sbps, and the result's.

    =====================  ====================  ===================
    left                   right                 result
    =====================  ====================  ===================
    batch                  batch, or broadcast   batch
    rows                   broadcast             rows
    broadcast              columns               columns
    inner, or broadcast    inner                 partial sum
    inner                  broadcast             partial sum
    partial sum, keeps     broadcast             partial sum
    broadcast              partial sum, keeps    partial sum
    rows                   columns               the smaller one is gathered
    =====================  ====================  ===================
    """
    if left == partial_sum and a.keeps and right == broadcast:
        return [left, right, partial_sum]
    if left == broadcast and right == partial_sum and b.keeps:
        return [left, right, partial_sum]
    left = broadcast if left.op is not None else left
    right = broadcast if right.op is not None else right
    for one, sbp in ((a, left), (b, right)):
        if sbp.dim is None or sbp.dim in (one.outer, one.inner):
            continue
        dim = sbp.dim + one.before
        extent = shape[dim]
        if one.layout.shape[sbp.dim] == extent:
            return [a.batch(dim, extent), b.batch(dim, extent), split(dim)]
    rows, columns = split(a.outer), split(b.outer)
    left = left if left in (rows, split(a.inner)) else broadcast
    right = right if right in (columns, split(b.inner)) else broadcast
    if left == rows and right == columns:
        smaller_is_left = math.prod(a.layout.shape) < math.prod(b.layout.shape)
        left, right = (broadcast, right) if smaller_is_left else (left, broadcast)
    if left == split(a.inner) or (right == split(b.inner) and left != rows):
        return [split(a.inner), split(b.inner), partial_sum]
    if left == rows:
        return [left, broadcast, split(len(shape) - 2)]
    return [broadcast, right, split(len(shape) - 1) if right == columns else broadcast]


class _Plan(NamedTuple):
    """How matrices of two layouts are multiplied."""

    left: list[Sbp]
    right: list[Sbp]
    result: Layout


@lru_cache(KNOWN)
def _plan(a: Layout, b: Layout, keeps: tuple[bool, bool]) -> _Plan:
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        batch = None
    if batch is None or a.shape[-1] != b.shape[-2]:
        raise ValueError(f"[matmul] shapes {a.shape} and {b.shape} do not fit")
    if a.placement != b.placement:
        raise ValueError(
            f"[matmul] operands are on {a.placement} and {b.placement}; "
            "x.to_global(placement=...) brings them together"
        )
    shape = [*batch, a.shape[-2], b.shape[-1]]
    ndims = [len(each.shape) for each in (a, b)]
    one = _Operand(a, len(shape) - ndims[0], ndims[0] - 2, ndims[0] - 1, keeps[0])
    other = _Operand(b, len(shape) - ndims[1], ndims[1] - 1, ndims[1] - 2, keeps[1])
    rules = [_along(one, other, shape, *sbps) for sbps in zip(a.sbp, b.sbp, strict=True)]
    left, right, result = (list(sbps) for sbps in zip(*rules, strict=True))
    return _Plan(left, right, Layout(shape, a.placement, result))


def _keep(a: np.dtype[Any], b: np.dtype[Any]) -> tuple[bool, bool]:
    """Whether a product has the dtype of either factor, and adds in it."""
    if a == b:
        return (True, True) if a.kind != "b" else (False, False)
    made = result_type(a, b)
    return made == a and a.kind != "b", made == b and b.kind != "b"


def _both(name: str, a: Any, b: Any) -> tuple[GlobalTensor, GlobalTensor]:
    """The factors, of which an array that all ranks have is made a tensor beside the other one.

    Raises
    ------
    TypeError
        For what is no tensor of many ranks then.
    """
    if isinstance(a, GlobalTensor):
        b = of_array(b, a)
    elif isinstance(b, GlobalTensor):
        a = of_array(a, b)
    for each in (a, b):
        if not isinstance(each, GlobalTensor):
            raise TypeError(
                f"[{name}] expected two GlobalTensors, got {type(each).__name__}; "
                "to_global() makes one"
            )
    return a, b


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, complex, np.generic))


@rule("matmul")
def matmul(a: Any, b: Any) -> GlobalTensor:
    """Return the product of matrices of many ranks, or of stacks of them.

    Parameters
    ----------
    a, b : GlobalTensor or array
        One is a GlobalTensor; an array is the same on all ranks. On one placement, shapes
        (..., n, k) and (..., k, m), of which the first dimensions broadcast. One of a single
        dimension is a row on the left and a column on the right.

    Returns
    -------
    GlobalTensor
        Partial along the axes of the grid that split the inner dimension.

    Raises
    ------
    TypeError
        For a tensor of this rank alone.
    ValueError
        For shapes that do not fit, numbers, and two placements.
    """
    if _is_number(a) or _is_number(b):
        raise ValueError("[matmul] expected matrices, got a number")
    a, b = _both("matmul", a, b)
    if 0 in (a.ndim, b.ndim):
        raise ValueError("[matmul] expected matrices, got a tensor without dimensions")
    if a.ndim == 1:
        return squeeze(matmul(expand_dims(a, 0), b), -1 if b.ndim == 1 else -2)
    if b.ndim == 1:
        return squeeze(matmul(a, expand_dims(b, 1)), -1)
    plan = _plan(_C.layout_of(a), _C.layout_of(b), _keep(a.dtype, b.dtype))
    left = _C.bring("matmul", a, plan.left).to_local()
    right = _C.bring("matmul", b, plan.right).to_local()
    made = left @ right if is_here(a) else left + right  # of no elements: its dtype
    return _C.of_part(made, plan.result, a)


@rule("dot")
def dot(a: Any, b: Any, out: None = None) -> GlobalTensor:
    """Return the product over the last axis of the left one, and the last but one of the right."""
    a, b = (np.asarray(each) if _is_number(each) else each for each in (a, b))
    a, b = _both("dot", a, b)
    if 0 in (a.ndim, b.ndim):
        made: GlobalTensor = a * b
        return made
    return tensordot(a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))


@rule("tensordot")
def tensordot(a: Any, b: Any, /, axes: Any = 2) -> GlobalTensor:
    """Return the sum of products over some axes of both: a product of matrices of other shapes."""
    a, b = _both("tensordot", a, b)
    ours, theirs = paired_axes(a.shape, b.shape, axes)
    rows = [axis for axis in range(a.ndim) if axis not in ours]
    columns = [axis for axis in range(b.ndim) if axis not in theirs]
    count = math.prod([a.shape[axis] for axis in ours])
    left_shape, right_shape = [a.shape[axis] for axis in rows], [b.shape[axis] for axis in columns]
    x = reshape(permute_dims(a, [*rows, *ours]), (math.prod(left_shape), count))
    y = reshape(permute_dims(b, [*theirs, *columns]), (count, math.prod(right_shape)))
    return reshape(matmul(x, y), (*left_shape, *right_shape))
