"""Reductions of tensors of many ranks: each reduces its part, and what ranks have is partial."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, cast

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.functions import KNOWN, is_here, rule
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.sbp import Sbp, broadcast, partial, partial_sum, split
from oneflow_lite.distributed.shapes import listed
from oneflow_lite.dtypes import computed_in, is_narrow
from oneflow_lite.ops.creation.data import full
from oneflow_lite.ops.elementwise import conj, sqrt
from oneflow_lite.ops.statistics import reduction

Axis = int | Sequence[int] | None


def _axes(axis: Axis, ndim: int, name: str) -> tuple[int, ...]:
    """The reduced axes, counted from the first one."""
    if axis is None:
        return tuple(range(ndim))
    given = listed(axis)
    if ndim == 0 and list(given) in ([0], [-1]) and name not in ("mean", "var", "std"):
        return ()  # as NumPy's ufuncs have it
    for each in given:
        if not -ndim <= each < ndim:
            raise np.exceptions.AxisError(each, ndim, f"[{name}]")
    axes = tuple(each % ndim if ndim else each for each in given)
    if len(set(axes)) < len(axes):
        raise ValueError(f"[{name}] axis comes twice in {tuple(given)}")
    return axes


def _below(dim: int, axes: tuple[int, ...]) -> int:
    return len([axis for axis in axes if axis < dim])


def _result(sbp: Sbp, op: str, axes: tuple[int, ...], keepdims: bool) -> Sbp:
    """How the ranks along one axis of the grid have the result."""
    if sbp.dim is None:
        return sbp
    if sbp.dim in axes:
        return partial(op)
    return split(sbp.dim if keepdims else sbp.dim - _below(sbp.dim, axes))


def _least(op: str, dtype: np.dtype[Any]) -> Any:
    """What max or min of no elements is, so that it changes no other rank's."""
    sign = -1 if op == "max" else 1
    if dtype.kind == "b":
        return op == "min"
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if op == "max" else np.iinfo(dtype).max
    return complex(sign * math.inf, sign * math.inf) if dtype.kind == "c" else sign * math.inf


def _of_part(
    name: str, part: Tensor, axes: tuple[int, ...], keepdims: bool, options: dict[str, Any]
) -> Tensor:
    """The reduction of one rank's part, which may have no elements."""
    if name in ("max", "min") and 0 in [part.shape[a] for a in axes]:
        shape = [1 if a in axes else n for a, n in enumerate(part.shape)]
        if not keepdims:
            shape = [n for a, n in enumerate(part.shape) if a not in axes]
        return full(shape, _least(name, part.dtype), dtype=part.dtype, device=part.device)
    made: Tensor = getattr(reduction, name)(part, axis=axes, keepdims=keepdims, **options)
    return made


class _Plan(NamedTuple):
    """How tensors of one layout are reduced."""

    axes: tuple[int, ...]
    wanted: list[Sbp] | None  # of the operand; None: as it is
    made: Layout
    result: Layout  # one element is what programs look at: all ranks get it


@lru_cache(KNOWN)
def _plan(
    name: str, op: str, layout: Layout, axis: Axis, keepdims: bool, adds_parts: bool
) -> _Plan:
    axes = _axes(axis, len(layout.shape), name)
    if name in ("max", "min") and 0 in (layout.shape[a] for a in axes):
        getattr(reduction, name)(full(layout.shape, 0), axis=axes)  # raises
    wanted = [_wanted(sbp, adds_parts) for sbp in layout.sbp]
    shape = [1 if a in axes else n for a, n in enumerate(layout.shape) if keepdims or a not in axes]
    made = Layout(shape, layout.placement, [_result(sbp, op, axes, keepdims) for sbp in wanted])
    result = made
    if math.prod(shape) == 1:
        result = Layout(shape, layout.placement, [broadcast] * len(wanted))
    return _Plan(axes, None if tuple(wanted) == layout.sbp else wanted, made, result)


def _reduce(
    name: str, op: str, x: GlobalTensor, axis: Axis, keepdims: bool, **options: Any
) -> GlobalTensor:
    given = axis if axis is None or isinstance(axis, (int, tuple)) else tuple(listed(axis))
    adds_parts = op == "sum" and _keeps(x.dtype, **options)
    plan = _plan(name, op, _C.layout_of(x), given, keepdims, adds_parts)
    source = x if plan.wanted is None else _C.bring(name, x, plan.wanted)
    part = source.to_local()
    if is_here(x):
        made = _of_part(name, part, plan.axes, keepdims, options)
    else:
        made = getattr(reduction, name)(full(1, 0, dtype=part.dtype), **options)
    result = _C.of_part(made, plan.made, x)
    return result if plan.result == plan.made else _C.box(result, plan.result)


def _wanted(sbp: Sbp, adds_parts: bool) -> Sbp:
    """How an operand is reduced along one axis of the grid: partial sums may be added as such."""
    stays = sbp.op is None or (adds_parts and sbp == partial_sum)
    return sbp if stays else broadcast


def _keeps(own: np.dtype[Any], dtype: Any = None) -> bool:
    """Whether elements are added in their dtype. Parts that are cast first have another sum."""
    if own.kind == "b":
        return False
    if dtype is None:
        return own.kind not in "iu" or own.itemsize == 8
    return bool(own == dtype)


@rule("sum")
def sum(
    x: GlobalTensor, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False
) -> GlobalTensor:
    """Return the sum over axes: NumPy's order within a rank, a balanced tree across.

    Parameters
    ----------
    x : GlobalTensor
    axis : int or sequence of int, optional
        By default all.
    dtype : dtype, optional
        To add in.
    keepdims : bool

    Returns
    -------
    GlobalTensor
        Partial along the axes of the grid that split a reduced dimension, but for one element,
        which all ranks get.
    """
    return _reduce("sum", "sum", x, axis, keepdims, dtype=dtype)


@rule("prod")
def prod(
    x: GlobalTensor, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False
) -> GlobalTensor:
    """Return the product over axes; see ``sum``."""
    return _reduce("prod", "prod", x, axis, keepdims, dtype=dtype)


@rule("max", "amax")
def max(
    x: GlobalTensor, axis: Axis = None, out: None = None, keepdims: bool = False
) -> GlobalTensor:
    """Return the largest elements over axes, NaN where there is one; see ``sum``."""
    return _reduce("max", "max", x, axis, keepdims)


@rule("min", "amin")
def min(
    x: GlobalTensor, axis: Axis = None, out: None = None, keepdims: bool = False
) -> GlobalTensor:
    """Return the smallest elements over axes, NaN where there is one; see ``sum``."""
    return _reduce("min", "min", x, axis, keepdims)


@rule("any")
def any(
    x: GlobalTensor, axis: Axis = None, out: None = None, keepdims: bool = False
) -> GlobalTensor:
    """Return whether any elements over axes are true; see ``sum``."""
    return _reduce("any", "any", x, axis, keepdims)


@rule("all")
def all(
    x: GlobalTensor, axis: Axis = None, out: None = None, keepdims: bool = False
) -> GlobalTensor:
    """Return whether all elements over axes are true; see ``sum``."""
    return _reduce("all", "all", x, axis, keepdims)


@rule("mean")
def mean(
    x: GlobalTensor, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False
) -> GlobalTensor:
    """Return the mean over axes: the sum over the number of elements; see ``sum``.

    float16 and bfloat16 are added in float32, integers in float64, as NumPy does.
    """
    if dtype is not None:
        made = mean(x.astype(dtype), axis, keepdims=keepdims)
        return made if made.dtype == dtype else made.astype(dtype)
    axes = _axes(axis, x.ndim, "mean")
    count = math.prod(x.shape[a] for a in axes)
    whole = "float64" if x.dtype.kind in "biu" else None
    wide = "float32" if is_narrow(x.dtype) else whole
    total = sum(x, axes, dtype=wide, keepdims=keepdims)
    result = total / count
    if wide != "float32":
        return result
    summed = result.to_global(sbp=[broadcast if each.op else each for each in result.sbp])
    return _C.of_part(summed.to_local().astype(x.dtype), summed.layout, x)


@rule("var")
def var(
    x: GlobalTensor,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> GlobalTensor:
    """Return the mean squared distance from the mean, in two passes; see ``mean``."""
    if correction is not None and ddof is not None:
        raise ValueError("[var] correction and ddof are the same; give one of them")
    if dtype is not None:
        x = x.astype(dtype)
    axes = _axes(axis, x.ndim, "var")
    count = math.prod(x.shape[a] for a in axes)
    less = (correction if ddof is None else ddof) or 0
    wide = x.astype("float32") if is_narrow(x.dtype) else x
    middle = mean(wide, axes, keepdims=True)
    distance = wide - middle.to_global(sbp=[broadcast if each.op else each for each in middle.sbp])
    is_complex = x.dtype.kind == "c"
    square: Any = (distance * conj(distance)).real if is_complex else distance * distance
    total = sum(square, axes, keepdims=keepdims)
    result = total / (count - less if count > less else 0)
    return result if wide is x else result.astype(x.dtype)


@rule("std")
def std(
    x: GlobalTensor,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
) -> GlobalTensor:
    """Return the square root of ``var``, rounded once."""
    if dtype is not None:
        x = x.astype(dtype)
    wide = computed_in(x.dtype)
    made: Any = sqrt(var(x.astype(wide), axis, ddof=ddof, keepdims=keepdims, correction=correction))
    return cast("GlobalTensor", made if wide == x.dtype else made.astype(x.dtype))
