"""Running sums, products and other accumulations, with NumPy's bits."""

import operator
from functools import cache
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Op, Tensor
from oneflow_lite.dtypes import DType, canonical, computed_in, isdtype, reduced_in, resolve_loop
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import add, multiply
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.table import ROWS, Row, exported

_ADD, _MULTIPLY = ROWS[add.__name__], ROWS[multiply.__name__]


@_C.native(_C.paths.cumulative_sum, "out")
def cumulative_sum(
    x: Any,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: Any = None,
    include_initial: bool = False,
    out: Any = None,
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
    out : Tensor or array, optional
        Where the result goes, cast as ``astype`` does. Without ``dtype``, the elements are added in
        the dtype to which theirs and that of ``out`` promote. An array waits for it.

    Raises
    ------
    ValueError
        For ``out`` of another shape, and for several dimensions without an axis.

    Examples
    --------
    >>> flow.cumulative_sum(flow.tensor([1, 2, 3]), include_initial=True).numpy()
    array([0, 1, 3, 6])
    """
    return _cumulative("cumulative_sum", _ADD, x, axis, dtype, include_initial, out)


@_C.native(_C.paths.cumulative_prod, "out")
def cumulative_prod(
    x: Any,
    /,
    *,
    axis: SupportsIndex | None = None,
    dtype: Any = None,
    include_initial: bool = False,
    out: Any = None,
) -> Tensor:
    """Return the products of all elements up to each one. Parameters as for ``cumulative_sum``.

    Examples
    --------
    >>> flow.cumulative_prod(flow.tensor([1, 2, 3])).numpy()
    array([1, 2, 6])
    """
    return _cumulative("cumulative_prod", _MULTIPLY, x, axis, dtype, include_initial, out)


@_C.native(_C.paths.cumsum, "out")
def cumsum(
    x: Any, /, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None
) -> Tensor:
    """Return the running sums as ``numpy.cumsum`` does: without an axis, of the flattened tensor.

    ``out`` as for ``cumulative_sum``.

    Examples
    --------
    >>> flow.cumsum(flow.tensor([[1, 2], [3, 4]])).numpy()
    array([ 1,  3,  6, 10])
    """
    return _flattened("cumsum", _ADD, x, axis, dtype, out)


@_C.native(_C.paths.cumprod, "out")
def cumprod(
    x: Any, /, axis: SupportsIndex | None = None, dtype: Any = None, out: Any = None
) -> Tensor:
    """Return the running products as ``numpy.cumprod`` does: flattened without an axis.

    ``out`` as for ``cumulative_sum``.

    Examples
    --------
    >>> flow.cumprod(flow.tensor([[1, 2], [3, 4]]), axis=1).numpy()
    array([[ 1,  2],
           [ 3, 12]])
    """
    return _flattened("cumprod", _MULTIPLY, x, axis, dtype, out)


def accumulate(op: Op, x: Any, axis: SupportsIndex = 0, dtype: Any = None) -> Tensor:
    """Return what a binary operation gives of all elements up to each one."""
    row, given = ROWS[op.__name__], asarray(x)
    name = f"{row.name}.accumulate"
    if row.ufunc.nin != 2:
        raise ValueError(f"[{name}] expected a binary operation")
    if given.ndim == 0:
        raise TypeError(f"[{name}] cannot accumulate a 0-d tensor")
    wanted = _accumulator(row, given.dtype, dtype, name)
    if row.properties.checks_exponent and isdtype(wanted, "integral"):
        raise TypeError(f"[{name}] cannot accumulate integers")
    return _accumulated(row.name, row, given, axis, wanted, None)


def _cumulative(
    op: str,
    row: Row,
    x: Any,
    axis: SupportsIndex | None,
    dtype: Any,
    include_initial: bool,
    out: Any,
) -> Tensor:
    given = asarray(x)
    given = _C.reshape(given, (1,), None) if given.ndim == 0 else given
    if axis is None and given.ndim > 1:
        raise ValueError(f"[{op}] expected an axis, for {given.ndim} dimensions")
    wanted = _accumulator(row, given.dtype, dtype, op, out)
    initial = row.ufunc.identity if include_initial else None
    made = _accumulated(op, row, given, 0 if axis is None else axis, wanted, initial)
    return made if out is None else store(op, out, made, "unsafe")


def _flattened(
    op: str, row: Row, x: Any, axis: SupportsIndex | None, dtype: Any, out: Any
) -> Tensor:
    given = asarray(x)
    if given.ndim != 1 and (axis is None or given.ndim == 0):
        given = ravel(given)
    wanted = _accumulator(row, given.dtype, dtype, op, out)
    made = _accumulated(op, row, given, 0 if axis is None else axis, wanted, None)
    return made if out is None else store(op, out, made, "unsafe")


def _accumulated(
    op: str, row: Row, x: Tensor, axis: SupportsIndex, dtype: DType, initial: Any
) -> Tensor:
    along = operator.index(axis)
    if not -x.ndim <= along < x.ndim:
        raise np.exceptions.AxisError(
            f"[{op}] axis {along} is out of bounds for {x.ndim} dimensions"
        )
    along %= x.ndim
    if (wide := computed_in(dtype)) is not dtype:
        return _C.astype(_accumulated(op, row, x, along, wide, initial), dtype, False)
    given = _C.astype(x, dtype, False)
    target: Any = (x.shape, dtype, given)
    if initial is not None:
        shape = [n + 1 if d == along else n for d, n in enumerate(x.shape)]
        result = _C.empty_as_it_lies(given, shape, dtype)
        before = (slice(None),) * along
        _C.assign(result[(*before, slice(1))], initial)
        target = result[(*before, slice(1, None))]
    out = _run(op, row, given, target, along)
    return out if initial is None else result


def _run(op: str, row: Row, x: Tensor, target: Any, axis: int) -> Tensor:
    attr, loop = _loop(row, x.dtype)
    (out,) = _C.call_kernel(op, "accumulate", [x], [target], (axis, *attr), loop)
    return out


def write_products(op: str, x: Tensor, target: Tensor, axis: int) -> None:
    """Write the running products of x into a tensor of its shape and dtype, which NumPy has."""
    _run(op, _MULTIPLY, x, target, axis)


@cache
def _loop(row: Row, dtype: DType) -> tuple[tuple[bool, ...], tuple[np.ufunc, str]]:
    """Whether any loop has the same bits, any grouping is allowed, it adds; NumPy's loop."""
    properties = row.properties
    # Complex products, and zeros of maxima, may differ between a vectorized loop and a scalar one.
    exact = properties.adds or (properties.exact and dtype.kind != "c")
    attr = (exact, properties.associative, properties.adds)
    return attr, (row.ufunc, f"{dtype.char}{dtype.char}->{dtype.char}")


def _accumulator(row: Row, dtype: DType, wanted: Any, op: str, out: Any = None) -> DType:
    """The dtype to accumulate in; where none is wanted, that of ``out`` counts, too."""
    if wanted is None and out is not None:
        wanted = reduced_in(row.ufunc, dtype, required_target(op, out).dtype)
    if wanted is not None:
        return _closed(row.ufunc, canonical(wanted, op), False, op)
    return _closed(row.ufunc, dtype, row.properties.associative, op)


@cache
def _closed(ufunc: np.ufunc, dtype: DType, reduces: bool, op: str) -> DType:
    """The dtype itself, or the one that NumPy reduces its elements in; an error unless results have
    the operands' dtype.
    """
    try:
        resolved = resolve_loop(ufunc, (None if reduces else dtype, dtype, None), reduction=reduces)
    except TypeError as error:
        raise TypeError(f"[{op}] {error}") from None
    if len(set(resolved)) > 1 or (not reduces and resolved[0] != dtype):
        raise TypeError(f"[{op}] cannot accumulate in {dtype}")
    return canonical(resolved[0], op)


if not TYPE_CHECKING:
    _OTHERS = {accumulate.__name__, write_products.__name__}  # no functions of the package
    __all__ = [name for name in exported(globals()) if name not in _OTHERS]
