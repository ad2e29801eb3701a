"""Reductions: over all elements, or along axes; bits as NumPy's for contiguous tensors."""

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import (
    MEAN_DTYPES,
    SUM_DTYPES,
    DType,
    bool as bool_dtype,
    canonical,
    complex64,
    complex128,
    computed_in,
    float32,
    float64,
    is_narrow,
    isdtype,
    reduced_in,
    result_type,
)
from oneflow_lite.ops.creation.data import asarray, full
from oneflow_lite.ops.elementwise import isnan, sqrt
from oneflow_lite.ops.masking import required_target, selected, store
from oneflow_lite.ops.operands import is_kept, is_number_along, unbroadcast
from oneflow_lite.ops.signatures import takes_global
from oneflow_lite.ops.table import REDUCTIONS, exported, reduction

Axis = SupportsIndex | Sequence[SupportsIndex] | None


_SUM = reduction("sum", np.add, "sum")
_PROD = reduction("prod", np.multiply, "prod")
_MAX = reduction("max", np.maximum, "max")
_MIN = reduction("min", np.minimum, "min")
_ANY = reduction("any", np.logical_or, "any")
_ALL = reduction("all", np.logical_and, "all")
_MEAN = reduction("mean", np.add)  # sums, that go by these names in errors and traces
_VAR = reduction("var", np.add)
_NANMAX = reduction("nanmax", np.fmax)
_NANMIN = reduction("nanmin", np.fmin)

_EXACT_FLOAT32 = 2**24  # integers up to here are float32 numbers


@takes_global
@_C.native(_C.paths.sum)
def sum(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
    out: Any = None,
) -> Tensor:
    """Return the sum; 0 of no elements.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    axis : int or sequence of int, optional
        The axes that go; None: all.
    dtype : dtype, optional
        To add in, and of the result. By default that of x, where bool and smaller integers become
        int64 or uint64.
    keepdims : bool
        Keep the axes, with size 1.
    initial : scalar, optional
        What to begin with. A 0-d tensor is looked at.
    where : Tensor or array of bool
        Which elements count; broadcast to the shape of x.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.

    Examples
    --------
    >>> flow.sum(flow.tensor([[1, 2], [3, 4]]), axis=0).numpy()
    array([4, 6])
    """
    given = asarray(x)
    start = 0 if initial is None else initial
    wanted = _sum_dtype(_SUM, given.dtype, dtype, out)
    return _reduce(_SUM, given, axis, wanted, start, keepdims, 0, where, out)


@takes_global
@_C.native(_C.paths.prod)
def prod(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
    out: Any = None,
) -> Tensor:
    """Return the product; 1 of no elements. Parameters as for ``sum``.

    Examples
    --------
    >>> flow.prod(flow.tensor([2.0, 3.0])).item()
    6.0
    """
    given = asarray(x)
    start = 1 if initial is None else initial
    wanted = _sum_dtype(_PROD, given.dtype, dtype, out)
    return _reduce(_PROD, given, axis, wanted, start, keepdims, 1, where, out)


@takes_global
@_C.native(_C.paths.max)
def max(
    x: Any,
    /,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
    out: Any = None,
) -> Tensor:
    """Return the largest element; NaN where there is one.

    Raises
    ------
    ValueError
        For no elements.

    Examples
    --------
    >>> flow.max(flow.tensor([[1, 5], [3, 4]]), axis=1).numpy()
    array([5, 4])
    """
    given = asarray(x)
    if where is not True and initial is None:
        raise ValueError("[max] there is no identity, so a mask needs `initial`")
    wanted = _compared_in("max", given, out)
    return _reduce(_MAX, given, axis, wanted, initial, keepdims, initial, where, out)


@takes_global
@_C.native(_C.paths.min)
def min(
    x: Any,
    /,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    initial: Any = None,
    where: Any = True,
    out: Any = None,
) -> Tensor:
    """Return the smallest element; NaN where there is one. ValueError for no elements.

    Examples
    --------
    >>> flow.min(flow.tensor([[1, 5], [3, 4]]), axis=1).numpy()
    array([1, 3])
    """
    given = asarray(x)
    if where is not True and initial is None:
        raise ValueError("[min] there is no identity, so a mask needs `initial`")
    wanted = _compared_in("min", given, out)
    return _reduce(_MIN, given, axis, wanted, initial, keepdims, initial, where, out)


@takes_global
@_C.native(_C.paths.any)
def any(
    x: Any,
    /,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    out: Any = None,
) -> Tensor:
    """Tell whether some element is true (NaN is); False of no elements.

    Examples
    --------
    >>> flow.any(flow.tensor([0, 2])).item()
    True
    """
    return _reduce(_ANY, asarray(x), axis, bool_dtype, False, keepdims, False, where, out)


@takes_global
@_C.native(_C.paths.all)
def all(
    x: Any,
    /,
    axis: Axis = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    out: Any = None,
) -> Tensor:
    """Tell whether every element is true (NaN is); True of no elements.

    Examples
    --------
    >>> flow.all(flow.tensor([0, 2])).item()
    False
    """
    return _reduce(_ALL, asarray(x), axis, bool_dtype, True, keepdims, True, where, out)


@takes_global
def mean(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the sum divided by the count, with ``numpy.mean``'s bits; NaN of no elements.

    Parameters
    ----------
    x, axis, keepdims
        As for ``sum``.
    dtype : dtype, optional
        To add in, and of the result. By default float64 for integers, that of x otherwise, where
        float16 and bfloat16 are added in float32.

    Examples
    --------
    >>> flow.mean(flow.tensor([[1, 2], [3, 5]]), axis=1).numpy()
    array([1.5, 4. ])
    """
    given = asarray(x)
    wanted = MEAN_DTYPES[given.dtype] if dtype is None else canonical(dtype, "mean")
    accumulate = float32 if dtype is None and is_narrow(wanted) else wanted
    total = _reduce(_MEAN, given, axis, accumulate, 0, keepdims)
    return _C.astype(_divided(total, _count(given, axis)), wanted, False)


@takes_global
def var(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    correction: float | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Return the mean squared distance from the mean, with ``numpy.var``'s bits.

    Parameters
    ----------
    x, axis, dtype, keepdims
        As for ``mean``.
    correction, ddof : float
        What is taken from the count before dividing by it; two names, 0 by default.

    Examples
    --------
    >>> flow.var(flow.tensor([1.0, 3.0])).item(), flow.var(flow.tensor([1.0, 3.0]), ddof=1).item()
    (1.0, 2.0)
    """
    given = asarray(x)
    if correction is not None and ddof is not None:
        raise ValueError("[var] correction and ddof are the same; give one of them")
    less = correction if ddof is None else ddof
    accumulate = MEAN_DTYPES[given.dtype] if dtype is None else canonical(dtype, "var")
    if (wide := computed_in(accumulate)) != accumulate:
        spread = var(given, axis, wide, correction=less, keepdims=keepdims)
        return _C.astype(spread, accumulate, False)
    total = _reduce(_VAR, given, axis, accumulate, 0, True)
    count = _count(given, axis)
    distance = given - _C.astype(_divided(total, count), accumulate, False)
    squares = distance * distance
    if isdtype(distance.dtype, "complex floating"):
        real, imag = distance.real, distance.imag
        squares = real * real + imag * imag
        accumulate = squares.dtype if dtype is None else accumulate
    total = _reduce(_VAR, squares, axis, accumulate, 0, keepdims)
    divisor: float = (count - less if count > less else 0) if less else count
    return _C.astype(_divided(total, divisor), accumulate, False)


@takes_global
def std(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    *,
    correction: float | None = None,
    ddof: float | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Return the square root of ``var``, rounded once. Parameters as for ``var``.

    Examples
    --------
    >>> flow.std(flow.tensor([1.0, 3.0])).item()
    1.0
    """
    given = asarray(x)
    wanted = MEAN_DTYPES[given.dtype] if dtype is None else canonical(dtype, "std")
    if (wide := computed_in(wanted)) != wanted:
        root = std(given, axis, wide, correction=correction, ddof=ddof, keepdims=keepdims)
        return _C.astype(root, wanted, False)
    spread = var(given, axis, dtype, correction=correction, ddof=ddof, keepdims=keepdims)
    root = sqrt(spread)
    if root.ndim and root.dtype != spread.dtype:  # NumPy casts numbers only
        raise TypeError(f"[std] cannot cast {root.dtype} to {spread.dtype} by the rule 'same_kind'")
    return _C.astype(root, spread.dtype, False)


def ptp(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the largest less the smallest element.

    Examples
    --------
    >>> flow.ptp(flow.tensor([3, 7, 5])).item()
    4
    """
    given = asarray(x)
    return max(given, axis, keepdims) - min(given, axis, keepdims)


def nansum(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the sum of what is not NaN. Parameters as for ``sum``.

    Examples
    --------
    >>> flow.nansum(flow.tensor([1.0, flow.nan])).item()
    1.0
    """
    return sum(without_nan(asarray(x), 0), axis, dtype, keepdims)


def nanprod(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the product of what is not NaN. Parameters as for ``sum``.

    Examples
    --------
    >>> flow.nanprod(flow.tensor([2.0, flow.nan])).item()
    2.0
    """
    return prod(without_nan(asarray(x), 1), axis, dtype, keepdims)


def nanmax(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the largest element that is not NaN; NaN where all are. ValueError for no elements.

    Examples
    --------
    >>> flow.nanmax(flow.tensor([1.0, flow.nan])).item()
    1.0
    """
    given = asarray(x)
    return _reduce(_NANMAX, given, axis, given.dtype, None, keepdims)


def nanmin(x: Any, /, axis: Axis = None, keepdims: bool = False) -> Tensor:
    """Return the smallest element that is not NaN; NaN where all are. ValueError for no elements.

    Examples
    --------
    >>> flow.nanmin(flow.tensor([1.0, flow.nan])).item()
    1.0
    """
    given = asarray(x)
    return _reduce(_NANMIN, given, axis, given.dtype, None, keepdims)


def nanmean(x: Any, /, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """Return the mean of what is not NaN; NaN where all are. Parameters as for ``mean``.

    Examples
    --------
    >>> flow.nanmean(flow.tensor([1.0, 3.0, flow.nan])).item()
    2.0
    """
    given = asarray(x)
    if not isdtype(given.dtype, ("real floating", "complex floating")):
        return mean(given, axis, dtype, keepdims)
    wanted = given.dtype if dtype is None else canonical(dtype, "nanmean")
    if not isdtype(wanted, ("real floating", "complex floating")):
        raise TypeError(f"[nanmean] expected dtype to be inexact, as x is, got {wanted}")
    given = unbroadcast(given)
    count = sum(~isnan(given), axis, keepdims=keepdims)
    total = nansum(given, axis, computed_in(wanted), keepdims)
    return _C.astype(total / count, wanted, False)


def without_nan(x: Tensor, instead: int) -> Tensor:
    """Return x with a number in the place of NaN."""
    if not isdtype(x.dtype, ("real floating", "complex floating")):
        return x
    x = unbroadcast(x)
    return _C.where(isnan(x), instead, x)


def _divided(total: Tensor, count: float) -> Tensor:
    """``total / count`` rounded as NumPy does it: the count is an int64 or float64, not weak."""
    if total.dtype == complex64:
        total = _C.astype(total, complex128, True)
    elif total.dtype not in (float32, float64, complex128) or (
        total.dtype == float32 and not _is_exact(count)
    ):
        total = _C.astype(total, float64, True)
    return total / count


def _is_exact(count: float) -> bool:
    """Return whether float32 has the count; of an extent that is not known yet, it is unsure.

    Where it has, a division in float64 gives the same bits: 53 digits are more than twice 24.
    """
    return isinstance(count, Real) and count <= _EXACT_FLOAT32 and float(count).is_integer()


def _count(x: Tensor, axis: Axis) -> int:
    """How many elements of x make one of the reduction."""
    if axis is None:
        return x.size
    count = 1
    for one in axis if isinstance(axis, Sequence) else (axis,):
        count *= x.shape[one]
    return count


def _compared_in(op: str, x: Tensor, out: Any) -> DType:
    return x.dtype if out is None else result_type(x, required_target(op, out))


def _sum_dtype(op: _C.Op, dtype: DType, wanted: Any, out: Any) -> DType:
    name = op.__name__
    if wanted is not None:
        return canonical(wanted, name)
    if out is None:
        return SUM_DTYPES[dtype]
    target = required_target(name, out).dtype
    return canonical(reduced_in(REDUCTIONS[name].ufunc, dtype, target), name)


def _reduce(
    op: _C.Op,
    x: Tensor,
    axis: Axis,
    accumulate: DType,
    initial: Any,
    keepdims: bool,
    neutral: Any = None,
    where: Any = True,
    out: Any = None,
) -> Tensor:
    """Reduce; ``neutral`` takes the place of elements that ``where`` leaves out."""
    keepdims = is_kept(op.__name__, keepdims)
    axes = axis if axis is None or isinstance(axis, Sequence) else (axis,)
    if op not in (_MEAN, _VAR) and is_number_along(x, axis):
        axes = None
    if where is not True:
        given = _C.astype(x, accumulate, False)
        x = selected(where, given, full((), neutral, accumulate, device=x.device))
    result = _C.reduce(op, x, axes, accumulate, initial, keepdims)
    return result if out is None else store(op.__name__, out, result, "unsafe")


amax, amin = max, min  # NumPy's names

if not TYPE_CHECKING:
    __all__ = [name for name in exported(globals()) if name != "without_nan"]
