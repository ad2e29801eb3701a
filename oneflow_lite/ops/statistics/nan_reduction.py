"""Reductions of what is not NaN; NumPy's bits where it adds in the same order."""

from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, canonical, computed_in, isdtype
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import conj, isnan, real, sqrt
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.operands import unbroadcast
from oneflow_lite.ops.places import INEXACT
from oneflow_lite.ops.statistics.reducing import (
    NANMAX,
    NANMIN,
    Axis,
    cast_for,
    compared_in,
    quotient,
    reduce_along,
    summed_in,
)
from oneflow_lite.ops.statistics.reduction import mean as mean_of, prod, std, sum, var
from oneflow_lite.ops.table import exported


def nansum(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the sum of what is not NaN. Parameters as for ``sum``.

    Examples
    --------
    >>> flow.nansum(flow.tensor([1.0, flow.nan])).item()
    1.0
    """
    given = without_nan(asarray(x), 0)
    return sum(given, axis, dtype, out, keepdims, initial, where)


def nanprod(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the product of what is not NaN. Parameters as for ``sum``.

    Examples
    --------
    >>> flow.nanprod(flow.tensor([2.0, flow.nan])).item()
    2.0
    """
    given = without_nan(asarray(x), 1)
    return prod(given, axis, dtype, out, keepdims, initial, where)


def nanmax(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the largest element that is not NaN; NaN where all are. Parameters as for ``max``.

    Raises
    ------
    ValueError
        For no elements.

    Examples
    --------
    >>> flow.nanmax(flow.tensor([1.0, flow.nan])).item()
    1.0
    """
    return _extremum(NANMAX, x, axis, keepdims, initial, where, out)


def nanmin(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the smallest element that is not NaN; NaN where all are. Parameters as for ``min``.

    Raises
    ------
    ValueError
        For no elements.

    Examples
    --------
    >>> flow.nanmin(flow.tensor([1.0, flow.nan])).item()
    1.0
    """
    return _extremum(NANMIN, x, axis, keepdims, initial, where, out)


def nanmean(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Return the mean of what is not NaN; NaN where all are. Parameters as for ``mean``.

    Examples
    --------
    >>> flow.nanmean(flow.tensor([1.0, 3.0, flow.nan])).item()
    2.0
    """
    given = asarray(x)
    if not isdtype(given.dtype, INEXACT):
        return mean_of(given, axis, dtype, out, keepdims, where=where)
    wanted = _inexact("nanmean", given, dtype, out)
    given = unbroadcast(given)
    count = sum(~isnan(given), axis, keepdims=keepdims, where=where)
    into = cast_for("nanmean", out)
    accumulate = computed_in(wanted)
    if dtype is None and accumulate == wanted:
        accumulate = summed_in(wanted, into)
    total = nansum(given, axis, accumulate, keepdims=keepdims, where=where)
    result = quotient("nanmean", total, count, wanted, into)
    return result if out is None else store("nanmean", out, result, "unsafe")


def nanvar(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
    where: Any = True,
    mean: Any = None,
) -> Tensor:
    """Return the variance of what is not NaN, NaN of too few. Parameters as for ``var``.

    Examples
    --------
    >>> flow.nanvar(flow.tensor([1.0, flow.nan, 3.0])).item()
    1.0
    """
    given = asarray(x)
    if correction is not None and ddof is not None:
        raise ValueError("[nanvar] correction and ddof are the same; give one of them")
    less = correction if ddof is None else ddof
    if not isdtype(given.dtype, INEXACT):
        return var(
            given, axis, dtype, ddof=less, keepdims=keepdims, where=where, mean=mean, out=out
        )
    wanted, into = _inexact("nanvar", given, dtype, out), cast_for("nanvar", out)
    if (wide := computed_in(wanted)) != wanted:
        given, dtype, into = _C.astype(given, wide, False), None, None
    result = _variance("nanvar", given, axis, dtype, less or 0, keepdims, where, mean, into)
    result = _C.astype(result, wanted, False) if wide != wanted else result
    return result if out is None else store("nanvar", out, result, "unsafe")


def _variance(
    op: str,
    x: Tensor,
    axis: Axis,
    dtype: Any,
    less: float,
    keepdims: bool,
    where: Any,
    average: Any,
    into: DType | None,
) -> Tensor:
    """The variance of floats that are no narrow ones, in their dtype or in that of ``out``."""
    given = unbroadcast(x)
    is_nan = isnan(given)
    count = sum(~is_nan, axis, keepdims=True, where=where)
    if average is None:
        average = _over(sum(without_nan(given, 0), axis, dtype, keepdims=True, where=where), count)
    complex_ = isdtype(given.dtype, "complex floating")
    if not complex_ and isinstance(average, Tensor):
        average = real(average)  # a complex dtype makes it complex
    distance = _C.astype(_C.where(is_nan, 0, given) - average, given.dtype, False)
    distance = _C.where(is_nan, 0, distance)
    squares = real(distance * conj(distance)) if complex_ else distance * distance
    accumulate = summed_in(squares.dtype, into) if dtype is None else dtype
    total = sum(squares, axis, accumulate, keepdims=keepdims, where=where)
    degrees = _C.reshape(count, total.shape, None) - less
    return _C.where(degrees <= 0, np.nan, quotient(op, total, degrees, total.dtype, into))


def nanstd(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float | None = None,
    keepdims: bool = False,
    *,
    correction: float | None = None,
    where: Any = True,
    mean: Any = None,
) -> Tensor:
    """Return the square root of ``nanvar``, rounded once. Parameters as for ``var``.

    Examples
    --------
    >>> flow.nanstd(flow.tensor([1.0, flow.nan, 3.0])).item()
    1.0
    """
    given = asarray(x)
    if correction is not None and ddof is not None:
        raise ValueError("[nanstd] correction and ddof are the same; give one of them")
    less = (correction if ddof is None else ddof) or 0
    if not isdtype(given.dtype, INEXACT):
        return std(given, axis, dtype, out, less, keepdims, where=where, mean=mean)
    wanted, into = _inexact("nanstd", given, dtype, out), cast_for("nanstd", out)
    if (wide := computed_in(wanted)) != wanted:
        given, dtype, into = _C.astype(given, wide, False), wide, None
    root = sqrt(_variance("nanstd", given, axis, dtype, less, keepdims, where, mean, into))
    result = _C.astype(root, wanted, False) if wide != wanted else root
    return result if out is None else store("nanstd", out, result, "unsafe")


def without_nan(x: Tensor, instead: int) -> Tensor:
    """Return x with a number in the place of NaN."""
    if not isdtype(x.dtype, INEXACT):
        return x
    x = unbroadcast(x)
    return _C.where(isnan(x), instead, x)


def _extremum(
    op: _C.Op, x: Any, axis: Axis, keepdims: bool, initial: Any, where: Any, out: Any
) -> Tensor:
    given = asarray(x)
    if where is not True and initial is None:
        raise ValueError(f"[{op.__name__}] there is no identity, so a mask needs `initial`")
    wanted = compared_in(op.__name__, given, out)
    return reduce_along(op, given, axis, wanted, initial, keepdims, initial, where, out)


def _inexact(op: str, x: Tensor, dtype: Any, out: Any) -> DType:
    """The dtype of a result, which is inexact as that of x is."""
    wanted = x.dtype if dtype is None else canonical(dtype, op)
    if not isdtype(wanted, INEXACT):
        raise TypeError(f"[{op}] expected dtype to be inexact, as x is, got {wanted}")
    if out is not None and not isdtype(required_target(op, out).dtype, INEXACT):
        raise TypeError(f"[{op}] expected out of an inexact dtype, as x is, got {out.dtype}")
    return wanted


def _over(total: Tensor, count: Tensor) -> Tensor:
    """``total / count`` in the dtype of the total."""
    return _C.astype(total / count, total.dtype, False)


if not TYPE_CHECKING:
    __all__ = [name for name in exported(globals()) if name != "without_nan"]
