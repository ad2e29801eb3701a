"""Index arrays: grids, diagonals, triangles, and numbers of places."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import bool as bool_dtype, canonical, int8, int64, isdtype
from oneflow_lite.ops.creation.data import asarray, empty, full, tensor
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import clip
from oneflow_lite.ops.indexing import mode_number, put
from oneflow_lite.ops.operands import host_array, on_one_device
from oneflow_lite.ops.statistics import reduction
from oneflow_lite.ops.table import exported

Indices = tuple[Tensor, ...]


@_C.native(_C.paths.indices)
def indices(
    dimensions: Sequence[int],
    dtype: Any = np.int64,
    sparse: bool = False,
    *,
    device: DeviceLike = None,
) -> Any:
    """Return the index of each place of a shape: a tensor with a grid for each dimension.

    Parameters
    ----------
    dimensions : sequence of int
        The shape.
    dtype : dtype
        Of the result.
    sparse : bool
        Return a tuple of tensors that broadcast to the grids instead.
    device : Device or str, optional
        Where the result goes.

    Examples
    --------
    >>> flow.indices((2, 2)).numpy()
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    wanted, shape = canonical(dtype, "indices"), _C.integers(dimensions, "indices")
    # Indices that no memory could hold are refused before the first row is made.
    grids = None if sparse else empty((len(shape), *shape), dtype=wanted, device=device)
    rows = [
        _C.reshape(arange(size, dtype=wanted, device=device), _only(d, size, len(shape)), None)
        for d, size in enumerate(shape)
    ]
    if grids is None:
        return tuple(rows)
    for d, row in enumerate(rows):
        _C.assign(grids[d, ...], row)
    return grids


def _only(axis: int, size: int, ndim: int) -> tuple[int, ...]:
    """The shape that has a size along one axis."""
    return (1,) * axis + (size,) + (1,) * (ndim - axis - 1)


def ix_(*args: Any) -> Indices:
    """Return indices that select the rows, columns and so on that are given.

    Parameters
    ----------
    *args : Tensor, array or sequence of int or bool
        In one dimension. Masks are looked at where they are tensors.

    Examples
    --------
    >>> x = flow.reshape(flow.arange(6), (2, 3))
    >>> x[flow.ix_([1], [0, 2])].numpy()
    array([[3, 5]])
    """
    found = []
    for i, one in enumerate(on_one_device(*args)):
        if one.ndim != 1:
            raise ValueError(f"[ix_] expected one dimension, got shape {one.shape}")
        index = one
        if one.dtype == bool_dtype:
            (index,) = _C.nonzero(one, "ix_")
        elif not one.size:
            index = _C.astype(one, int64, False)
        shape = (1,) * i + (index.size,) + (1,) * (len(args) - i - 1)
        found.append(_C.reshape(index, shape, None))
    return tuple(found)


@_C.native(_C.paths.unravel_index)
def unravel_index(
    places: Any, /, shape: SupportsIndex | Sequence[SupportsIndex], order: str = "C"
) -> Indices:
    """Return the indices, one for each dimension, of places in a flattened shape.

    Parameters
    ----------
    places : Tensor, array or int
        Integers. One out of range is a ValueError; of a tensor, at the look.
    shape : int or sequence of int
        The shape.
    order : {"C", "F"}
        Which dimension is the last to change its index: the first or the last.

    Examples
    --------
    >>> rows, columns = flow.unravel_index(flow.tensor([1, 5]), (2, 3))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 2])
    """
    sizes = _C.integers(shape, "unravel_index")
    if not isinstance(order, str) or order not in ("C", "F"):
        raise ValueError(f"[unravel_index] expected order 'C' or 'F', got {order!r}")
    if not isinstance(places, Tensor):
        try:
            given = host_array(places, "unravel_index")
            found = np.unravel_index(given, sizes, "C" if order == "C" else "F")
        except (ValueError, TypeError) as error:
            raise type(error)(f"[unravel_index] {error}") from None
        return tuple(asarray(one) for one in found)
    if not isdtype(places.dtype, ("bool", "integral")):
        raise TypeError(f"[unravel_index] expected integers, got {places.dtype}")
    _require_countable("unravel_index", sizes)
    rest = _C.astype(places, int64, False)
    rest = rest + _zero_if_within(rest, math.prod(sizes), "unravel_index")
    result: list[Tensor] = []
    for size in sizes[:-1] if order == "F" else sizes[:0:-1]:
        quotient = rest // max(size, 1)
        result.append(rest - quotient * size)
        rest = quotient
    result += [rest] * bool(sizes)
    return tuple(result if order == "F" else result[::-1])


@_C.native(_C.paths.ravel_multi_index)
def ravel_multi_index(
    multi_index: Sequence[Any],
    dims: SupportsIndex | Sequence[SupportsIndex],
    mode: str | Sequence[str] = "raise",
    order: str = "C",
) -> Tensor:
    """Return the places in a flattened shape that have the indices given for each dimension.

    Parameters
    ----------
    multi_index : sequence of Tensor or array of int
        One for each dimension.
    dims : int or sequence of int
        The shape.
    mode : {"raise", "wrap", "clip"}, or one for each dimension
        As for ``take``; an index out of range raises at the look.
    order : {"C", "F"}
        As for ``unravel_index``.

    Examples
    --------
    >>> flow.ravel_multi_index((flow.tensor([0, 1]), flow.tensor([1, 2])), (2, 3)).numpy()
    array([1, 5])
    """
    sizes = _C.integers(dims, "ravel_multi_index")
    given = on_one_device(*multi_index)
    if not isinstance(order, str) or order not in ("C", "F"):
        raise ValueError(f"[ravel_multi_index] expected order 'C' or 'F', got {order!r}")
    if len(given) != len(sizes):
        raise ValueError(f"[ravel_multi_index] expected {len(sizes)} indices, got {len(given)}")
    if not all(sizes) and all(index.size for index in given):
        raise ValueError(
            f"[ravel_multi_index] expected no indices, as shape {tuple(sizes)} is empty, "
            f"got shapes {[index.shape for index in given]}"
        )
    _require_countable("ravel_multi_index", sizes)
    modes: list[Any] = list(mode) if isinstance(mode, (tuple, list)) else [mode] * len(sizes)
    numbers = range(len(sizes)) if order == "C" else reversed(range(len(sizes)))
    indices, checked = [], 0
    for i in numbers:
        index, size = given[i], sizes[i]
        if not isdtype(index.dtype, "integral"):
            raise TypeError(f"[ravel_multi_index] expected integers, got {index.dtype}")
        index = _C.astype(index, int64, False)
        how = mode_number(modes[i], "ravel_multi_index")
        if how == mode_number("wrap", "take"):
            index = index % size
        elif how == mode_number("clip", "take"):
            index = clip(index, 0, size - 1)
        elif all(sizes):
            checked = checked + _zero_if_within(index, size, "ravel_multi_index")
        indices.append((index, size))
    total = indices[0][0]
    if len(indices) == 1:
        return total + checked
    for index, size in indices[1:]:  # the check is added to a number, not to each element
        total, checked = total * (size + checked) + index, 0
    return total


def _require_countable(op: str, sizes: Sequence[int]) -> None:
    """An int64 holds the place of each element."""
    if math.prod(sizes) > np.iinfo(int64).max:
        raise ValueError(f"[{op}] shape {tuple(sizes)} has more elements than int64 counts")


def _zero_if_within(index: Tensor, size: int, op: str) -> Any:
    """0; a ValueError, once it runs, where an index is negative or not below the size."""
    if not index.size:
        return 0
    if not size:
        raise ValueError(f"[{op}] expected no index, as the size is 0, got {index.size}")
    worst = _C.reshape(_C.where(reduction.min(index) < 0, size, reduction.max(index)), (1,), None)
    zeros = _C.broadcast_to(full((), 0, int8, device=index.device), (size,))
    (zero,) = _C.call_kernel(
        *(op, "take_along_axis", [zeros, worst], [((1,), int8)], (0, True)), elements=1
    )
    return _C.astype(_C.reshape(zero, (), None), int64, False)


@_C.native(_C.paths.tril_indices)
def tril_indices(n: int, k: int = 0, m: int | None = None, *, device: DeviceLike = None) -> Indices:
    """Return the indices of the places at and below the k-th diagonal of an (n, m) matrix.

    Examples
    --------
    >>> rows, columns = flow.tril_indices(2)
    >>> rows.tolist(), columns.tolist()
    ([0, 1, 1], [0, 0, 1])
    """
    return tuple(tensor(one, device=device) for one in np.tril_indices(*_sizes(n, k, m)))


@_C.native(_C.paths.triu_indices)
def triu_indices(n: int, k: int = 0, m: int | None = None, *, device: DeviceLike = None) -> Indices:
    """Return the indices of the places at and above the k-th diagonal of an (n, m) matrix.

    Examples
    --------
    >>> rows, columns = flow.triu_indices(2)
    >>> rows.tolist(), columns.tolist()
    ([0, 0, 1], [0, 1, 1])
    """
    return tuple(tensor(one, device=device) for one in np.triu_indices(*_sizes(n, k, m)))


def _sizes(*numbers: int | None) -> Any:
    return [None if one is None else operator.index(one) for one in numbers]


def mask_indices(
    n: SupportsIndex,
    mask_func: Callable[[Tensor, Any], Any],
    k: Any = 0,
    *,
    device: DeviceLike = None,
) -> Indices:
    """Return the indices of the places of an (n, n) matrix that a function leaves; looks at them.

    Parameters
    ----------
    n : int
        The size of the matrix.
    mask_func : callable
        Is called with an (n, n) tensor of ones of int64 and with k, as ``flow.triu``. It returns a
        tensor that is not 0 at the places.
    k : scalar
        The second argument of the function.
    device : Device or str, optional
        Where the tensors are.

    Examples
    --------
    >>> rows, columns = flow.mask_indices(2, flow.triu)
    >>> rows.tolist(), columns.tolist()
    ([0, 0, 1], [0, 1, 1])
    """
    size = operator.index(n)
    masked = asarray(mask_func(full((size, size), 1, int64, device=device), k))
    return tuple(_C.nonzero(masked != 0, "mask_indices"))


def tril_indices_from(x: Tensor, /, k: int = 0) -> Indices:
    """Return ``tril_indices`` for the shape of a matrix, on its device.

    Examples
    --------
    >>> flow.tril_indices_from(flow.zeros((2, 2)))[0].tolist()
    [0, 1, 1]
    """
    rows, columns = _matrix("tril_indices_from", x)
    return tril_indices(rows, k, columns, device=x.device)


def triu_indices_from(x: Tensor, /, k: int = 0) -> Indices:
    """Return ``triu_indices`` for the shape of a matrix, on its device.

    Examples
    --------
    >>> flow.triu_indices_from(flow.zeros((2, 2)))[0].tolist()
    [0, 0, 1]
    """
    rows, columns = _matrix("triu_indices_from", x)
    return triu_indices(rows, k, columns, device=x.device)


def _matrix(op: str, x: Tensor) -> tuple[int, int]:
    if x.ndim != 2:
        raise ValueError(f"[{op}] expected two dimensions, got shape {x.shape}")
    return x.shape[0], x.shape[1]


def diag_indices(n: SupportsIndex, ndim: int = 2, *, device: DeviceLike = None) -> Indices:
    """Return the indices of the diagonal of a tensor with ``ndim`` dimensions of size n.

    Examples
    --------
    >>> x = flow.zeros((2, 2))
    >>> x[flow.diag_indices(2)] = 1
    >>> x.numpy()
    array([[1., 0.],
           [0., 1.]])
    """
    return (arange(operator.index(n), device=device),) * operator.index(ndim)


def diag_indices_from(x: Tensor, /) -> Indices:
    """Return ``diag_indices`` for the shape of a tensor, on its device.

    Examples
    --------
    >>> flow.diag_indices_from(flow.zeros((2, 2)))[1].tolist()
    [0, 1]
    """
    _check_cube("diag_indices_from", x)
    return diag_indices(x.shape[0], x.ndim, device=x.device)


@_C.native(_C.paths.fill_diagonal)
def fill_diagonal(x: Tensor, /, val: Any, wrap: bool = False) -> None:
    """Write to the diagonal of a tensor, in place.

    Parameters
    ----------
    x : Tensor
        A matrix, or a tensor of more dimensions of one size.
    val : scalar, Tensor or array
        What to write; of more than one value, one after the other.
    wrap : bool
        Begin the diagonal again below it in a matrix with more rows than columns.

    Examples
    --------
    >>> x = flow.zeros((2, 2))
    >>> flow.fill_diagonal(x, 5)
    >>> x.numpy()
    array([[5., 0.],
           [0., 5.]])
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"[fill_diagonal] expected a tensor to write to, got {type(x).__name__}")
    if x.ndim != 2:
        _check_cube("fill_diagonal", x)
    columns = x.shape[-1]
    step = sum(columns**d for d in range(x.ndim))
    end = x.size if wrap or x.ndim != 2 else min(x.size, columns * columns)
    put(x, np.arange(0, end, step), val)


def _check_cube(op: str, x: Tensor) -> None:
    if x.ndim < 2 or len(set(x.shape)) != 1:
        raise ValueError(f"[{op}] expected two dimensions or more of one size, got shape {x.shape}")


if not TYPE_CHECKING:
    __all__ = exported(globals())
