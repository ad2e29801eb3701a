"""Reductions: over all elements, or along axes; bits as NumPy's for contiguous tensors."""

from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import (
    MEAN_DTYPES,
    SUM_DTYPES,
    DType,
    bool as bool_dtype,
    canonical,
    computed_in,
    float32,
    is_narrow,
    isdtype,
    reduced_in,
)
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import maximum, sqrt
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.signatures import takes_global
from oneflow_lite.ops.statistics.reducing import (
    ALL,
    ANY,
    MAX,
    MEAN,
    MIN,
    PROD,
    SUM,
    VAR,
    Axis,
    cast_for,
    compared_in,
    count_of,
    divided,
    quotient,
    reduce_along,
    summed_in,
)
from oneflow_lite.ops.table import REDUCTIONS, exported


@takes_global
@_C.native(_C.paths.sum)
def sum(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
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
    out : Tensor or array, optional
        Where the result goes; an array waits for it.
    keepdims : bool
        Keep the axes, with size 1.
    initial : scalar, optional
        What to begin with. A 0-d tensor is looked at.
    where : Tensor or array of bool
        Which elements count; broadcast to the shape of x.

    Examples
    --------
    >>> flow.sum(flow.tensor([[1, 2], [3, 4]]), axis=0).numpy()
    array([4, 6])
    """
    given = asarray(x)
    start = 0 if initial is None else initial
    wanted = _sum_dtype(SUM, given.dtype, dtype, out)
    return reduce_along(SUM, given, axis, wanted, start, keepdims, 0, where, out)


@takes_global
@_C.native(_C.paths.prod)
def prod(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Tensor:
    """Return the product; 1 of no elements. Parameters as for ``sum``.

    Examples
    --------
    >>> flow.prod(flow.tensor([2.0, 3.0])).item()
    6.0
    """
    given = asarray(x)
    start = 1 if initial is None else initial
    wanted = _sum_dtype(PROD, given.dtype, dtype, out)
    return reduce_along(PROD, given, axis, wanted, start, keepdims, 1, where, out)


@takes_global
@_C.native(_C.paths.max)
def max(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
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
    wanted = compared_in("max", given, out)
    return reduce_along(MAX, given, axis, wanted, initial, keepdims, initial, where, out)


@takes_global
@_C.native(_C.paths.min)
def min(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
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
    wanted = compared_in("min", given, out)
    return reduce_along(MIN, given, axis, wanted, initial, keepdims, initial, where, out)


@takes_global
@_C.native(_C.paths.any)
def any(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Tell whether some element is true (NaN is); False of no elements.

    Examples
    --------
    >>> flow.any(flow.tensor([0, 2])).item()
    True
    """
    return reduce_along(ANY, asarray(x), axis, bool_dtype, False, keepdims, False, where, out)


@takes_global
@_C.native(_C.paths.all)
def all(
    x: Any,
    /,
    axis: Axis = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Tell whether every element is true (NaN is); True of no elements.

    Examples
    --------
    >>> flow.all(flow.tensor([0, 2])).item()
    False
    """
    return reduce_along(ALL, asarray(x), axis, bool_dtype, True, keepdims, True, where, out)


@takes_global
def mean(
    x: Any,
    /,
    axis: Axis = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> Tensor:
    """Return the sum divided by the count, with ``numpy.mean``'s bits; NaN of no elements.

    Parameters
    ----------
    x, axis, keepdims, where, out
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
    into = cast_for("mean", out)
    if dtype is None and accumulate == given.dtype:
        accumulate = summed_in(accumulate, into)
    total = reduce_along(MEAN, given, axis, accumulate, 0, keepdims, 0, where)
    count = count_of(MEAN, given, axis, where)
    result = quotient("mean", total, count, wanted, into)
    return result if out is None else store("mean", out, result, "unsafe")


@takes_global
def var(
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
    """Return the mean squared distance from the mean, with ``numpy.var``'s bits.

    Parameters
    ----------
    x, axis, dtype, keepdims, where, out
        As for ``mean``.
    correction, ddof : float
        What is taken from the count before dividing by it; two names, 0 by default.
    mean : Tensor, array or scalar, optional
        The mean where it is known, with the axes kept.

    Examples
    --------
    >>> flow.var(flow.tensor([1.0, 3.0])).item(), flow.var(flow.tensor([1.0, 3.0]), ddof=1).item()
    (1.0, 2.0)
    """
    given = asarray(x)
    if correction is not None and ddof is not None:
        raise ValueError("[var] correction and ddof are the same; give one of them")
    less = correction if ddof is None else ddof
    into = cast_for("var", out)
    result = _var("var", given, axis, dtype, less or 0, keepdims, where, mean, into)
    return result if out is None else store("var", out, result, "unsafe")


def _var(
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
    """The variance in its own dtype, or in that of ``out``."""
    accumulate = MEAN_DTYPES[x.dtype] if dtype is None else canonical(dtype, op)
    if (wide := computed_in(accumulate)) != accumulate:
        made = _var(op, x, axis, wide, less, keepdims, where, average, None)
        return _C.astype(made, accumulate, False)
    if average is None:
        total = reduce_along(VAR, x, axis, accumulate, 0, True, 0, where)
        average = _C.astype(divided(total, count_of(VAR, x, axis, where)), accumulate, False)
    distance = x - average
    squares = distance * distance
    if isdtype(distance.dtype, "complex floating"):
        real, imag = distance.real, distance.imag
        squares = real * real + imag * imag
    if dtype is None and not isdtype(x.dtype, ("bool", "integral")):
        accumulate = summed_in(squares.dtype, into)
    total = reduce_along(VAR, squares, axis, accumulate, 0, keepdims, 0, where)
    count = count_of(VAR, x, axis, where)
    if less and where is not True:
        count = maximum(count - less, 0)
    elif less:
        count = count - less if count > less else 0
    return quotient(op, total, count, accumulate, into)


@takes_global
def std(
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
    """Return the square root of ``var``, rounded once. Parameters as for ``var``.

    Examples
    --------
    >>> flow.std(flow.tensor([1.0, 3.0])).item()
    1.0
    """
    given = asarray(x)
    wanted = MEAN_DTYPES[given.dtype] if dtype is None else canonical(dtype, "std")
    if out is not None and isdtype(required_target("std", out).dtype, ("bool", "integral")):
        raise TypeError(f"[std] cannot cast {wanted} to {out.dtype} by the rule 'same_kind'")
    if correction is not None and ddof is not None:
        raise ValueError("[std] correction and ddof are the same; give one of them")
    less = (correction if ddof is None else ddof) or 0
    if (wide := computed_in(wanted)) != wanted:
        spread = _var("std", given, axis, wide, less, keepdims, where, mean, None)
        root = _C.astype(sqrt(spread), wanted, False)
        return root if out is None else store("std", out, root, "unsafe")
    spread = _var("std", given, axis, dtype, less, keepdims, where, mean, cast_for("std", out))
    root = sqrt(spread)
    if root.ndim and root.dtype != spread.dtype:  # NumPy casts numbers only
        raise TypeError(f"[std] cannot cast {root.dtype} to {spread.dtype} by the rule 'same_kind'")
    root = _C.astype(root, spread.dtype, False)
    return root if out is None else store("std", out, root, "unsafe")


def ptp(x: Any, /, axis: Axis = None, out: Any = None, keepdims: bool = False) -> Tensor:
    """Return the largest less the smallest element. Parameters as for ``sum``.

    Examples
    --------
    >>> flow.ptp(flow.tensor([3, 7, 5])).item()
    4
    """
    given = asarray(x)
    top, bottom = max(given, axis, keepdims=keepdims), min(given, axis, keepdims=keepdims)
    into = cast_for("ptp", out)
    result = (top if into is None else _C.astype(top, into, False)) - bottom
    return result if out is None else store("ptp", out, result)


def _sum_dtype(op: _C.Op, dtype: DType, wanted: Any, out: Any) -> DType:
    name = op.__name__
    if wanted is not None:
        return canonical(wanted, name)
    if out is None:
        return SUM_DTYPES[dtype]
    target = required_target(name, out).dtype
    return canonical(reduced_in(REDUCTIONS[name].ufunc, dtype, target), name)


amax, amin = max, min  # NumPy's names

if not TYPE_CHECKING:
    __all__ = exported(globals())
