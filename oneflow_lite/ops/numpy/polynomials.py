"""Polynomials by their coefficients, the highest power first."""

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import computed_in, float64, int64, isdtype, result_type
from oneflow_lite.ops.creation.data import asarray, empty, empty_like, full, ones, zeros, zeros_like
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import abs, add, subtract, true_divide
from oneflow_lite.ops.manipulation.joining import concat, stack
from oneflow_lite.ops.manipulation.rearranging import flip
from oneflow_lite.ops.numpy.convolution import convolve
from oneflow_lite.ops.numpy.shapes import atleast_1d
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.searching import argmax
from oneflow_lite.ops.statistics.scan import write_products
from oneflow_lite.ops.table import exported

_SMALL = 1e-8  # as numpy.allclose has it, by which NumPy's polydiv decides


@_C.native(_C.paths.vander)
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Tensor:  # noqa: N803
    """Return a matrix with the powers of the elements of x in its rows, the highest first.

    Parameters
    ----------
    x : Tensor or array
        In one dimension.
    N : int, optional
        How many powers; by default as many as elements.
    increasing : bool
        The lowest power first.

    Examples
    --------
    >>> flow.vander(flow.tensor([1, 2, 3])).numpy()
    array([[1, 1, 1],
           [4, 2, 1],
           [9, 3, 1]])
    """
    given = asarray(x)
    if given.ndim != 1:
        raise ValueError(f"[vander] expected one dimension, got shape {given.shape}")
    count = given.size if N is None else N
    dtype = result_type(given, int64)
    wide = computed_in(dtype)
    powers = empty((given.size, count), wide, device=given.device)
    ascending = powers if increasing else flip(powers, 1)
    _C.assign(ascending[:, :1], 1)
    if count > 1:
        column = _C.astype(given, wide, False)[:, None]
        rows = _C.broadcast_to(column, (given.size, count - 1))
        write_products("vander", rows, ascending[:, 1:], 1)
    return _C.astype(powers, dtype, False)


def polyval(p: Any, x: Any) -> Tensor:
    """Return the values of a polynomial.

    Parameters
    ----------
    p : Tensor or array
        The coefficients, in one dimension, the highest power first.
    x : Tensor, array or scalar
        Where.

    Examples
    --------
    >>> flow.polyval([3, 0, 1], flow.tensor([5, 2])).numpy()
    array([76, 13])
    """
    factors, given = on_one_device(p, x)
    value = zeros_like(given)
    for factor in factors:
        value = value * given + factor
    return value


def polyadd(a1: Any, a2: Any) -> Tensor:
    """Return the sum of two polynomials, as long as the longer one.

    Parameters
    ----------
    a1, a2 : Tensor, array or scalar
        Coefficients, in one dimension, the highest power first.

    Returns
    -------
    Tensor
        Of the promoted dtype. Zeros in front stay.

    Raises
    ------
    ValueError
        For operands of more dimensions, unless their shapes broadcast as they are.

    Examples
    --------
    >>> flow.polyadd([1, 2], flow.tensor([9, 5, 4])).numpy()
    array([9, 6, 6])
    """
    return add(*_of_one_length(a1, a2))


def polysub(a1: Any, a2: Any) -> Tensor:
    """Return the difference of two polynomials; see ``polyadd``.

    Examples
    --------
    >>> flow.polysub([2, 10, -2], flow.tensor([10, -4])).numpy()
    array([2, 0, 2])
    """
    return subtract(*_of_one_length(a1, a2))


def polymul(a1: Any, a2: Any) -> Tensor:
    """Return the product of two polynomials without the zeros in front of both; looks for these.

    Parameters
    ----------
    a1, a2 : Tensor, array or scalar
        Coefficients, in one dimension, the highest power first.

    Returns
    -------
    Tensor
        Of the promoted dtype. One element that is 0 stands for a polynomial without others.

    Raises
    ------
    ValueError
        For operands of more than one dimension.

    Examples
    --------
    >>> flow.polymul([0, 1, 2], flow.tensor([9, 5, 1])).numpy()
    array([ 9, 23, 11,  2])
    """
    given = [_in_one_dimension("polymul", x) for x in on_one_device(a1, a2)]
    starts = _C.look("polymul", stack([_first_true(x != 0) for x in given])).tolist()
    trimmed = [x[start:] for x, start in zip(given, starts, strict=True)]
    first, second = (x if x.size else zeros(1, x.dtype, device=x.device) for x in trimmed)
    return _product(first, second)


def polydiv(u: Any, v: Any) -> tuple[Tensor, Tensor]:
    """Return the quotient and the remainder of two polynomials; looks at the remainder.

    Parameters
    ----------
    u, v : Tensor, array or scalar
        Coefficients of what is divided and of the divisor, in one dimension, the highest power
        first.

    Returns
    -------
    quotient, remainder : Tensor
        Of the promoted dtype, floating-point. Elements in front of the remainder that are at most
        1e-8 are left out.

    Raises
    ------
    ValueError
        For operands of more than one dimension.
    IndexError
        For an operand without elements.

    Examples
    --------
    >>> quotient, remainder = flow.polydiv(flow.tensor([3.0, 5.0, 2.0]), [2.0, 1.0])
    >>> quotient.numpy(), remainder.numpy()
    (array([1.5 , 1.75]), array([0.25]))
    """
    given, divisor = (_in_one_dimension("polydiv", x) + 0.0 for x in on_one_device(u, v))
    if not given.size or not divisor.size:
        raise IndexError(
            f"[polydiv] expected coefficients, got shapes {given.shape} and {divisor.shape}"
        )
    dtype, steps = result_type(given, divisor), given.size - divisor.size + 1
    scale = 1.0 / divisor[0]
    quotient = zeros(steps if steps > 1 else 1, dtype, device=given.device)
    rest = _C.astype(given, dtype, True)
    for k in range(steps):
        factor = _product_of_numbers(scale, rest[k])
        quotient[k] = factor
        part = rest[k : k + divisor.size]
        part -= factor * divisor
    if rest.size == 1:
        return quotient, rest
    start = _first_true(~(abs(rest[:-1]) <= _SMALL))  # NaN is not small
    return quotient, rest[int(_C.look("polydiv", start)) :]


def polyder(p: Any, m: SupportsIndex = 1) -> Tensor:
    """Return the derivative of a polynomial.

    Parameters
    ----------
    p : Tensor or array
        The coefficients, in one dimension, the highest power first.
    m : int
        How often; p itself for 0.

    Returns
    -------
    Tensor
        Shorter by m: of int64 for integers, of float64 for real numbers.

    Raises
    ------
    ValueError
        For a negative m.
    TypeError
        For a p without a dimension.

    Examples
    --------
    >>> flow.polyder(flow.tensor([1, 1, 1, 1])).numpy()
    array([3, 2, 1])
    """
    given, times = _coefficients("polyder", p), _times("polyder", m)
    for _ in range(times):
        given = given[:-1] * arange(len(given) - 1, 0, -1, device=given.device)
    return given


def polyint(p: Any, m: SupportsIndex = 1, k: Any = None) -> Tensor:
    """Return an antiderivative of a polynomial.

    Parameters
    ----------
    p : Tensor or array
        The coefficients, in one dimension, the highest power first.
    m : int
        How often; p itself for 0.
    k : Tensor, array or scalar, optional
        What is added by each integration, in their order: m numbers, or one for all; by default 0.

    Returns
    -------
    Tensor
        Longer by m, of float64 or complex128.

    Raises
    ------
    ValueError
        For a negative m, and for a k of too few numbers.
    TypeError
        For a p without a dimension.

    Examples
    --------
    >>> flow.polyint(flow.tensor([3, 2, 1]), k=7).numpy()
    array([1., 1., 1., 7.])
    """
    given, times = _coefficients("polyint", p), _times("polyint", m)
    if k is None:
        added = zeros(times, float64, device=given.device)
    else:
        given, added = on_one_device(given, k)
        added = added if added.ndim else added[None]
    if len(added) == 1 and times > 1:
        added = added[:1] * ones(times, float64, device=given.device)
    if len(added) < times:
        raise ValueError(f"[polyint] expected k to be one number or {times}, got {len(added)}")
    for i in range(times):
        powers = arange(len(given), 0, -1, device=given.device)
        given = concat([true_divide(given, powers), added[i : i + 1]])
    return given


def _product(first: Tensor, second: Tensor) -> Tensor:
    """Return a convolution that has no -0: NumPy's sums of products begin with 0."""
    found = convolve(first, second)
    return found + 0.0 if found.dtype.kind in "fc" else found


def _product_of_numbers(x: Tensor, y: Tensor) -> Tensor:
    """Return the product of two 0-d tensors as NumPy's scalars have it: complex ones unfused."""
    if isdtype(result_type(x, y), ("bool", "integral", "real floating")):
        return x * y
    product = empty_like(x + y)
    _C.assign(product.real, x.real * y.real - x.imag * y.imag)
    _C.assign(product.imag, x.real * y.imag + x.imag * y.real)
    return product


def _of_one_length(a1: Any, a2: Any) -> tuple[Tensor, Tensor]:
    """Return two polynomials, zeros in front of the shorter one."""
    first, second = on_one_device(a1, a2)
    first = first if first.ndim else atleast_1d(first)
    second = second if second.ndim else atleast_1d(second)
    missing = len(second) - len(first)
    if missing > 0:
        first = _after_zeros(first, missing)
    elif missing < 0:
        second = _after_zeros(second, -missing)
    return first, second


def _after_zeros(x: Tensor, count: int) -> Tensor:
    return concat([zeros(count, x.dtype, device=x.device), x])


def _in_one_dimension(op: str, x: Tensor) -> Tensor:
    if x.ndim > 1:
        raise ValueError(f"[{op}] expected polynomials in one dimension, got shape {x.shape}")
    return atleast_1d(x)


def _coefficients(op: str, p: Any) -> Tensor:
    given = asarray(p)
    if not given.ndim:
        raise TypeError(f"[{op}] expected a polynomial in one dimension, got a number")
    return given


def _times(op: str, m: SupportsIndex) -> int:
    times = operator.index(m)
    if times < 0:
        raise ValueError(f"[{op}] expected m of at least 0, got {times}")
    return times


def _first_true(truths: Tensor) -> Tensor:
    """The place of the first truth; how many there are, where none is true."""
    return argmax(concat([truths, full(1, True, device=truths.device)]))


if not TYPE_CHECKING:
    __all__ = exported(globals())
