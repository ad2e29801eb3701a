"""The parts of numbers: quotients and remainders, fractions, mantissas and exponents.

Each result is a row of the op table, and has the bits of NumPy's ufunc.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import canonical, resolve_loop
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import floor_divide, remainder
from oneflow_lite.ops.masking import require_fitting, store
from oneflow_lite.ops.operands import order_of
from oneflow_lite.ops.table import PARTS, exported

_Pair = tuple[Tensor, Tensor]

# Parameters that no native path knows.
_OTHERS = ("out1", "out2", "out", "where", "casting", "order", "dtype")


@_C.native(_C.paths.divmod, *_OTHERS)
def divmod(
    x1: Any,
    x2: Any,
    out1: Any = None,
    out2: Any = None,
    /,
    *,
    out: Any = None,
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
    out1, out2 : Tensor or array, optional
        Where the results go; None: a new tensor.
    out : tuple of two Tensors or arrays, optional
        The same by name; None in it: a new tensor.
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
    chosen = _Chosen(_targets("divmod", out1, out2, out), where, casting, order, dtype)
    named = {"casting": casting, "dtype": dtype}
    results = (floor_divide(x1, x2, **named), remainder(x1, x2, **named))
    return _pair("divmod", chosen, results)


@_C.native(_C.paths.modf, *_OTHERS)
def modf(
    x: Any,
    out1: Any = None,
    out2: Any = None,
    /,
    *,
    out: Any = None,
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
    out1, out2 : Tensor or array, optional
        Where the results go; None: a new tensor.
    out : tuple of two Tensors or arrays, optional
        The same by name; None in it: a new tensor.
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
    chosen = _Chosen(_targets("modf", out1, out2, out), where, casting, order, dtype)
    return _parts(np.modf, chosen, x, ("modf_fraction", "modf_whole"))


@_C.native(_C.paths.frexp, *_OTHERS)
def frexp(
    x: Any,
    out1: Any = None,
    out2: Any = None,
    /,
    *,
    out: Any = None,
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
    out1, out2 : Tensor or array, optional
        Where the results go; None: a new tensor.
    out : tuple of two Tensors or arrays, optional
        The same by name; None in it: a new tensor.
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
    chosen = _Chosen(_targets("frexp", out1, out2, out), where, casting, order, dtype)
    return _parts(np.frexp, chosen, x, ("frexp_mantissa", "frexp_exponent"))


class _Chosen(NamedTuple):
    """What the call of a ufunc says besides its operands."""

    out: tuple[Any, Any]
    where: Any
    casting: str
    order: str
    dtype: Any


def _parts(ufunc: np.ufunc, chosen: _Chosen, x: Any, rows: tuple[str, str]) -> _Pair:
    """What two rows make of x in the dtype of NumPy's loop; TypeError without one."""
    name, given = ufunc.__name__, asarray(x)
    wanted = None if chosen.dtype is None else canonical(chosen.dtype, name)
    signature = (None, wanted, wanted)
    try:
        loop = resolve_loop(ufunc, (given.dtype, None, None), signature, casting=chosen.casting)
    except TypeError:
        of = "" if wanted is None else f" for dtype {wanted}"
        raise TypeError(f"[{name}] expected real numbers{of}, got {given.dtype}") from None
    given = _C.astype(given, loop[0], False)
    first, second = (PARTS[row].op(given) for row in rows)
    return _pair(name, chosen, (first, second))


def _targets(op: str, first: Any, second: Any, out: Any) -> tuple[Any, Any]:
    """Where the results go, which are given by their places or by name."""
    if out is None:
        return first, second
    if first is not None or second is not None:
        raise TypeError(f"[{op}] expected out by its place or by its name, got both")
    if not isinstance(out, tuple) or len(out) != 2:
        raise TypeError(f"[{op}] expected out to be a tuple of two, got {type(out).__name__}")
    return out


def _pair(op: str, chosen: _Chosen, results: _Pair) -> _Pair:
    """The results, where ``out`` says and ``where`` is true."""
    order_of(op, chosen.order, "KCA")
    for target, result in zip(chosen.out, results, strict=True):
        if target is not None:  # before the other one is written to
            require_fitting(op, target, result, chosen.casting, widens=True)
    first, second = (
        store(op, target, result, chosen.casting, chosen.where, widens=True)
        for target, result in zip(chosen.out, results, strict=True)
    )
    return first, second


if not TYPE_CHECKING:
    __all__ = exported(globals())
