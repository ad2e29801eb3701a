"""The parts of numbers: quotients and remainders, fractions, mantissas and exponents.

They are made of the rows of the op table, and have the bits of NumPy's ufuncs.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import canonical, float32, float64, int32, is_narrow, resolve_loop
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import (
    abs,
    clip,
    copysign,
    exp2,
    floor_divide,
    isfinite,
    isinf,
    log2,
    remainder,
    rint,
    spacing,
    trunc,
)
from oneflow_lite.ops.masking import store
from oneflow_lite.ops.operands import on_one_device, order_of
from oneflow_lite.ops.table import exported

_Pair = tuple[Tensor, Tensor]

_DIGITS = {float32: 24, float64: 53}  # binary digits of a mantissa
_FARTHEST = 2200  # a power of 2 that takes each float64 to infinity, and its inverse to 0
_LOWEST = -1100  # of a mantissa below 1: the result is 0


def divmod(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    where: Any = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
) -> _Pair:
    """Return the floored quotient and the remainder: ``floor_divide`` and ``remainder``.

    Parameters
    ----------
    x1, x2 : Tensor, array, nested lists or scalar
        Operands, broadcast against each other; Python scalars take the dtype of the other.
    out : tuple of two Tensors or arrays, optional
        Where the results go; None in it: a new tensor.
    where, casting, order, dtype
        As for the functions of NumPy. What a mask leaves out of a new result is 0.

    Returns
    -------
    tuple of two Tensors
        Of NumPy's dtypes for ``numpy.divmod``. TypeError for complex numbers.

    Examples
    --------
    >>> quotient, rest = flow.divmod(flow.tensor([7, -7]), 3)
    >>> quotient.numpy(), rest.numpy()
    (array([ 2, -3]), array([1, 2]))
    """
    chosen = _Chosen(out, where, casting, order, dtype)
    named = {"casting": casting, "dtype": dtype}
    results = (floor_divide(x1, x2, **named), remainder(x1, x2, **named))
    return _pair("divmod", chosen, results)


def modf(
    x: Any,
    /,
    out: Any = None,
    *,
    where: Any = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
) -> _Pair:
    """Return the fractions and the integers that numbers are sums of; both have their signs.

    Parameters
    ----------
    x : Tensor, array, nested lists or scalar
        Real numbers.
    out : tuple of two Tensors or arrays, optional
        Where the results go; None in it: a new tensor.
    where, casting, order, dtype
        As for the functions of NumPy. What a mask leaves out of a new result is 0.

    Returns
    -------
    tuple of two Tensors
        Floats; of an infinity the fraction is 0. TypeError for complex numbers.

    Examples
    --------
    >>> fraction, whole = flow.modf(flow.tensor([2.5, -0.25]))
    >>> fraction.numpy(), whole.numpy()
    (array([ 0.5 , -0.25]), array([ 2., -0.]))
    """
    chosen = _Chosen(out, where, casting, order, dtype)
    (given,) = _operands(np.modf, chosen, asarray(x))
    whole = trunc(given)
    fraction = copysign(_C.where(isinf(given), 0, given - whole), given)
    return _pair("modf", chosen, (fraction, whole))


def frexp(
    x: Any,
    /,
    out: Any = None,
    *,
    where: Any = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
) -> _Pair:
    """Return mantissas and powers of 2: x is ``mantissa * 2**exponent``.

    Parameters
    ----------
    x : Tensor, array, nested lists or scalar
        Real numbers.
    out : tuple of two Tensors or arrays, optional
        Where the results go; None in it: a new tensor.
    where, casting, order, dtype
        As for the functions of NumPy. What a mask leaves out of a new result is 0.

    Returns
    -------
    tuple of two Tensors
        Floats with absolute values in [0.5, 1), and exponents of int32. Of 0, infinities and NaN
        they are the number itself and 0. TypeError for complex numbers.

    Examples
    --------
    >>> mantissa, exponent = flow.frexp(flow.tensor([8.0, -0.75]))
    >>> mantissa.numpy(), exponent.numpy()
    (array([ 0.5 , -0.75]), array([4, 0], dtype=int32))
    """
    chosen = _Chosen(out, where, casting, order, dtype)
    (given,) = _operands(np.frexp, chosen, asarray(x))
    mantissa, exponent = _split(
        _C.astype(given, float32, False) if is_narrow(given.dtype) else given
    )
    narrowed = _C.astype(mantissa, given.dtype, False)
    return _pair("frexp", chosen, (narrowed, _C.astype(exponent, int32, False)))


def ldexp(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    where: Any = True,
    casting: str = "same_kind",
    order: str = "K",
    dtype: Any = None,
) -> Tensor:
    """Return ``x1 * 2**x2``, rounded once; the inverse of ``frexp``.

    Parameters
    ----------
    x1 : Tensor, array, nested lists or scalar
        Real numbers.
    x2 : Tensor, array, nested lists or scalar
        Integers, broadcast against x1.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.
    where, casting, order, dtype
        As for the functions of NumPy. What a mask leaves out of a new result is 0.

    Returns
    -------
    Tensor
        Of the dtype of x1 where that is one of floats. TypeError for exponents that are floats or
        of uint64, and for complex numbers.

    Examples
    --------
    >>> flow.ldexp(flow.tensor([0.5, -0.75]), flow.tensor([4, 0])).numpy()
    array([ 8.  , -0.75])
    """
    chosen = _Chosen(out, where, casting, order, dtype)
    given, power = _operands(np.ldexp, chosen, *on_one_device(x1, x2))
    power = _C.astype(clip(power, -_FARTHEST, _FARTHEST), float64, False)
    if given.dtype != float64:  # no product of a narrower one leaves float64
        wide = _C.astype(given, float64, False)
        half = _power_of_two(clip(power, -_FARTHEST // 4, _FARTHEST // 4))
        result = _C.astype(wide * half, given.dtype, False)
    else:
        mantissa, exponent = _split(given)
        power = clip(exponent + power, _LOWEST, -_LOWEST)
        first = trunc(power * 0.5)
        result = mantissa * _power_of_two(first) * _power_of_two(power - first)
    return _stored("ldexp", chosen, [result])[0]


class _Chosen(NamedTuple):
    """What the call of a ufunc says besides its operands."""

    out: Any
    where: Any
    casting: str
    order: str
    dtype: Any


def _operands(ufunc: np.ufunc, chosen: _Chosen, *given: Tensor) -> list[Tensor]:
    """The operands in the dtypes of the loop that NumPy chooses; TypeError without one."""
    name = ufunc.__name__
    dtypes = [x.dtype for x in given]
    wanted = None if chosen.dtype is None else canonical(chosen.dtype, name)
    signature = (*[None] * ufunc.nin, *[wanted] * ufunc.nout)
    try:
        loop = resolve_loop(
            ufunc, (*dtypes, *[None] * ufunc.nout), signature, casting=chosen.casting
        )
    except TypeError:
        expected = "real numbers" if len(given) == 1 else "real numbers and integers"
        got = " and ".join(map(str, dtypes))
        of = "" if wanted is None else f" for dtype {wanted}"
        raise TypeError(f"[{name}] expected {expected}{of}, got {got}") from None
    return [_C.astype(x, dtype, False) for x, dtype in zip(given, loop, strict=False)]


def _split(x: Tensor) -> _Pair:
    """The mantissas and the exponents of float32 or float64, both in that dtype.

    The spacing of a normal number is a power of 2: it tells the exponent, and the quotient is an
    integer. The numbers are scaled first, as subnormal ones and the largest have another spacing.
    """
    digits = _DIGITS[x.dtype]
    size = abs(x)
    is_plain = isfinite(x) & (x != 0)
    is_small = size < 1
    scaled = size * _C.where(is_small, 2.0**digits, 2.0**-digits).astype(x.dtype, copy=False)
    step = spacing(_C.where(is_plain, scaled, 1.0))
    mantissa = copysign(scaled / step * 2.0**-digits, x)
    exponent = rint(log2(step)) + _C.where(is_small, 0, 2 * digits).astype(x.dtype, copy=False)
    return _C.where(is_plain, mantissa, x), _C.where(is_plain, exponent, 0.0)


def _power_of_two(power: Tensor) -> Tensor:
    """2 to the power of integers in float64, exactly; ``exp2`` may be off by the last bits."""
    near: Tensor = spacing(exp2(power) * 1.5)
    return near * 2.0 ** (_DIGITS[float64] - 1)


def _pair(op: str, chosen: _Chosen, results: _Pair) -> _Pair:
    first, second = _stored(op, chosen, results)
    return first, second


def _stored(op: str, chosen: _Chosen, results: Sequence[Tensor]) -> list[Tensor]:
    """The results, where ``out`` says and ``where`` is true."""
    order_of(op, chosen.order, "KCA")
    targets: Any = chosen.out
    if targets is None or len(results) == 1:
        targets = targets if isinstance(targets, tuple) else (targets,) * len(results)
    if not isinstance(targets, tuple) or len(targets) != len(results):
        count, kind = ("one", "two")[len(results) - 1], type(chosen.out).__name__
        raise TypeError(f"[{op}] expected out to be a tuple of {count}, got {kind}")
    return [
        store(op, target, result, chosen.casting, chosen.where, widens=True)
        for target, result in zip(targets, results, strict=True)
    ]


if not TYPE_CHECKING:
    __all__ = exported(globals())
