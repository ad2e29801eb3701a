"""Running sums, products and other accumulations, with NumPy's bits."""

import operator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Op, Tensor
from oneflow_lite.dtypes import (
    SUM_DTYPES,
    DType,
    bool as bool_dtype,
    canonical,
    computed_in,
    isdtype,
    resolve_loop,
)
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.table import ROWS, exported

_LOGICAL = (np.logical_and, np.logical_or, np.logical_xor)
# Those that may be put together in any grouping; of sums and products, but for rounding.
_ASSOCIATIVE = {
    *(np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin, np.gcd),
    *(*_LOGICAL, np.bitwise_and, np.bitwise_or, np.bitwise_xor),
}


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the sums of all elements up to each one.

    Parameters
    ----------
    x : Tensor or array
        Operand; a scalar counts as one dimension.
    axis : int, optional
        The axis to add along; may be left out for one dimension.
    dtype : dtype, optional
        To add in, and of the result. By default that of x, where bool and smaller integers become
        int64 or uint64.
    include_initial : bool
        Start with 0: the result is longer by one.

    Examples
    --------
    >>> flow.cumulative_sum(flow.tensor([1, 2, 3]), include_initial=True).numpy()
    array([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", np.add, x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Tensor:
    """Return the products of all elements up to each one. Parameters as for ``cumulative_sum``.

    Examples
    --------
    >>> flow.cumulative_prod(flow.tensor([1, 2, 3])).numpy()
    array([1, 2, 6])
    """
    return _cumulative("cumulative_prod", np.multiply, x, axis, dtype, include_initial)


def cumsum(x: Any, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Return the running sums as ``numpy.cumsum`` does: without an axis, of the flattened tensor.

    Examples
    --------
    >>> flow.cumsum(flow.tensor([[1, 2], [3, 4]])).numpy()
    array([ 1,  3,  6, 10])
    """
    return _flattened("cumsum", np.add, x, axis, dtype)


def cumprod(x: Any, /, axis: int | None = None, dtype: Any = None) -> Tensor:
    """Return the running products as ``numpy.cumprod`` does: flattened without an axis.

    Examples
    --------
    >>> flow.cumprod(flow.tensor([[1, 2], [3, 4]]), axis=1).numpy()
    array([[ 1,  2],
           [ 3, 12]])
    """
    return _flattened("cumprod", np.multiply, x, axis, dtype)


def accumulate(op: Op, x: Any, axis: int = 0, dtype: Any = None) -> Tensor:
    """Return what a binary operation gives of all elements up to each one; ``op.accumulate``.

    Parameters
    ----------
    op : Op
        Such as ``flow.maximum``.
    x : Tensor or array
        Operand.
    axis : int
        The axis to go along.
    dtype : dtype, optional
        To compute in, and of the result. By default that of x; for sums and products see
        ``cumulative_sum``.

    Raises
    ------
    TypeError
        For operations whose result has another dtype than their operands.

    Examples
    --------
    >>> flow.maximum.accumulate(flow.tensor([2, 1, 3, 0])).numpy()
    array([2, 2, 3, 3])
    """
    ufunc, given = ROWS[op.__name__].ufunc, asarray(x)
    if ufunc.nin != 2:
        raise ValueError(f"[{op.__name__}] expected a binary operation to accumulate")
    if given.ndim == 0:
        raise TypeError(f"[{op.__name__}] cannot accumulate a 0-d tensor")
    wanted = _accumulator(ufunc, given.dtype, dtype, op.__name__)
    if ufunc is np.power and isdtype(wanted, "integral"):
        raise TypeError("[pow] cannot accumulate integers")
    return _accumulated(op.__name__, ufunc, given, axis, wanted, None)


def _cumulative(
    op: str, ufunc: np.ufunc, x: Any, axis: int | None, dtype: Any, include_initial: bool
) -> Tensor:
    given = asarray(x)
    given = _C.reshape(given, (1,), None) if given.ndim == 0 else given
    if axis is None and given.ndim > 1:
        raise ValueError(f"[{op}] expected an axis, for {given.ndim} dimensions")
    wanted = _accumulator(ufunc, given.dtype, dtype, op)
    initial = ufunc.identity if include_initial else None
    return _accumulated(op, ufunc, given, 0 if axis is None else axis, wanted, initial)


def _flattened(op: str, ufunc: np.ufunc, x: Any, axis: int | None, dtype: Any) -> Tensor:
    given = asarray(x)
    if given.ndim != 1 and (axis is None or given.ndim == 0):
        given = ravel(given)
    wanted = _accumulator(ufunc, given.dtype, dtype, op)
    return _accumulated(op, ufunc, given, 0 if axis is None else axis, wanted, None)


def _accumulated(
    op: str, ufunc: np.ufunc, x: Tensor, axis: int, dtype: DType, initial: Any
) -> Tensor:
    along = operator.index(axis)
    if not -x.ndim <= along < x.ndim:
        raise np.exceptions.AxisError(
            f"[{op}] axis {along} is out of bounds for {x.ndim} dimensions"
        )
    along %= x.ndim
    if (wide := computed_in(dtype)) is not dtype:
        return _C.astype(_accumulated(op, ufunc, x, along, wide, initial), dtype, False)
    given = _C.astype(x, dtype, False)
    target: Any = (x.shape, dtype)
    if initial is not None:
        shape = [n + (d == along) for d, n in enumerate(x.shape)]
        result = _C.empty(shape, dtype, x.device)
        before = (slice(None),) * along
        _C.assign(result[(*before, slice(1))], initial)
        target = result[(*before, slice(1, None))]
    exact, associative, loop = _loop(ufunc, dtype)
    attr = (along, exact, associative)
    (out,) = _C.call_kernel(op, "accumulate", [given], [target], attr, loop)
    return out if initial is None else result


@cache
def _loop(ufunc: np.ufunc, dtype: DType) -> tuple[bool, bool, tuple[np.ufunc, str]]:
    """Whether any loop has the same bits, and any grouping is allowed; NumPy's loop."""
    # Complex products, and zeros of maxima, may differ between a vectorized loop and a scalar one.
    exact = ufunc is np.add or (ufunc is np.multiply and dtype.kind != "c")
    return exact, ufunc in _ASSOCIATIVE, (ufunc, f"{dtype.char}{dtype.char}->{dtype.char}")


def _accumulator(ufunc: np.ufunc, dtype: DType, wanted: Any, op: str) -> DType:
    """The dtype to accumulate in."""
    if wanted is not None:
        dtype = canonical(wanted, op)
    elif ufunc in _LOGICAL:
        dtype = bool_dtype
    elif ufunc in (np.add, np.multiply):
        dtype = SUM_DTYPES[dtype]
    _require_closed(ufunc, dtype, op)
    return dtype


@cache
def _require_closed(ufunc: np.ufunc, dtype: DType, op: str) -> None:
    """Raise unless results have the operands' dtype."""
    try:
        resolved = resolve_loop(ufunc, (dtype, dtype, None))
    except TypeError as error:
        raise TypeError(f"[{op}] {error}") from None
    if any(one != dtype for one in resolved):
        raise TypeError(f"[{op}] cannot accumulate in {dtype}")


_OP_METHODS = {"accumulate": accumulate}
for _name, _function in _OP_METHODS.items():
    setattr(Op, _name, _function)

if not TYPE_CHECKING:
    __all__ = [name for name in exported(globals()) if name not in _OP_METHODS]
