"""Shapes as NumPy has them besides: least dimensions, reversed axes, diagonals, sizes, copies."""

import builtins
import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, overload

from numpy.exceptions import AxisError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray, empty, zeros
from oneflow_lite.ops.creation.matrices import diag
from oneflow_lite.ops.manipulation.rearranging import flip
from oneflow_lite.ops.manipulation.shapes import moveaxis, ravel, transpose
from oneflow_lite.ops.numpy.adding_and_removing import _along
from oneflow_lite.ops.numpy.splitting import _of_dimensions
from oneflow_lite.ops.operands import copied, order_of
from oneflow_lite.ops.table import exported


@overload
def atleast_1d(array: Any, /) -> Tensor: ...
@overload
def atleast_1d(first: Any, second: Any, /, *others: Any) -> tuple[Tensor, ...]: ...
@_C.native(_C.paths.atleast_1d)
def atleast_1d(*arrays: Any) -> Any:
    """Return views of at least one dimension: a tensor for one array, else a tuple.

    Examples
    --------
    >>> flow.atleast_1d(flow.tensor(1.0)).shape
    (1,)
    """
    return _each(_at_least_1d, arrays)


@overload
def atleast_2d(array: Any, /) -> Tensor: ...
@overload
def atleast_2d(first: Any, second: Any, /, *others: Any) -> tuple[Tensor, ...]: ...
@_C.native(_C.paths.atleast_2d)
def atleast_2d(*arrays: Any) -> Any:
    """Return views of at least two dimensions, new ones in front. As ``atleast_1d``.

    Examples
    --------
    >>> flow.atleast_2d(flow.zeros(3)).shape
    (1, 3)
    """
    return _each(_at_least_2d, arrays)


@overload
def atleast_3d(array: Any, /) -> Tensor: ...
@overload
def atleast_3d(first: Any, second: Any, /, *others: Any) -> tuple[Tensor, ...]: ...
@_C.native(_C.paths.atleast_3d)
def atleast_3d(*arrays: Any) -> Any:
    """Return views of at least three dimensions; one becomes the second. As ``atleast_1d``.

    Examples
    --------
    >>> flow.atleast_3d(flow.zeros(3)).shape
    (1, 3, 1)
    """
    return _each(_at_least_3d, arrays)


def fliplr(x: Any, /) -> Tensor:
    """Return a view in the opposite order along the second axis.

    Examples
    --------
    >>> flow.fliplr(flow.tensor([[1, 2]])).numpy()
    array([[2, 1]])
    """
    return flip(_of_dimensions(x, 2, "fliplr"), 1)


def flipud(x: Any, /) -> Tensor:
    """Return a view in the opposite order along the first axis.

    Examples
    --------
    >>> flow.flipud(flow.tensor([1, 2])).numpy()
    array([2, 1])
    """
    return flip(_of_dimensions(x, 1, "flipud"), 0)


def rot90(x: Any, /, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """Return a view turned k times by 90 degrees, from the first axis towards the second.

    Examples
    --------
    >>> flow.rot90(flow.tensor([[1, 2], [3, 4]])).numpy()
    array([[2, 4],
           [1, 3]])
    """
    given = _of_dimensions(x, 2, "rot90")
    if len(axes) != 2:
        raise ValueError(f"[rot90] expected two axes, got {tuple(axes)}")
    for axis in axes:
        if not -given.ndim <= axis < given.ndim:
            raise ValueError(f"[rot90] axis {axis} is out of bounds for {given.ndim} dimensions")
    first, second = (axis % given.ndim for axis in axes)
    if first == second:
        raise ValueError(f"[rot90] an axis is given twice: {tuple(axes)}")
    order = list(range(given.ndim))
    order[first], order[second] = second, first
    turns = operator.index(k) % 4
    if turns == 0:
        return given[...]
    if turns == 2:
        return flip(given, (first, second))
    if turns == 1:
        return transpose(flip(given, second), order)
    return flip(transpose(given, order), second)


def _each(function: Any, arrays: Sequence[Any]) -> Any:
    results = tuple(function(x) for x in arrays)
    return results[0] if len(results) == 1 else results


def _at_least_1d(x: Any) -> Tensor:
    given = asarray(x)
    return given if given.ndim else given[None]


def _at_least_2d(x: Any) -> Tensor:
    given = _at_least_1d(x)
    return given if given.ndim > 1 else given[None]


def _at_least_3d(x: Any) -> Tensor:
    given = _at_least_2d(x)
    return given if given.ndim > 2 else given[..., None]


def resize(x: Any, /, new_shape: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
    """Return a tensor of another shape with the elements of x, from the first again where they end.

    Examples
    --------
    >>> flow.resize(flow.tensor([1, 2, 3]), (2, 2)).numpy()
    array([[1, 2],
           [3, 1]])
    """
    flat = ravel(x)
    sizes = _C.integers(new_shape, "resize")
    if builtins.any(n < 0 for n in sizes):
        raise ValueError(f"[resize] expected a shape without negative sizes, got {sizes}")
    count = math.prod(sizes)
    if not flat.size or not count:
        return zeros(sizes, flat.dtype, device=flat.device)
    times, rest = divmod(count, flat.size)
    result = empty((count,), flat.dtype, device=flat.device)
    if times:
        whole = _C.reshape(result[: count - rest], (times, flat.size), None)
        _C.assign(whole, flat)
    if rest:
        _C.assign(result[count - rest :], flat[:rest])
    return _C.reshape(result, sizes, None)


def rollaxis(x: Any, /, axis: SupportsIndex, start: SupportsIndex = 0) -> Tensor:
    """Return a view with an axis moved to before another; ``moveaxis`` is easier to read.

    Examples
    --------
    >>> flow.rollaxis(flow.zeros((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    given, start = asarray(x), operator.index(start)
    along = _along("rollaxis", given, axis)[1]
    target = start + given.ndim if start < 0 else start
    if not 0 <= target <= given.ndim:
        raise AxisError(f"[rollaxis] start {start} is out of bounds for {given.ndim} dimensions")
    return moveaxis(given, along, target - (along < target))


def shape(x: Any, /) -> tuple[int, ...]:
    """Return the size of each dimension.

    Examples
    --------
    >>> flow.shape(flow.zeros((2, 3)))
    (2, 3)
    """
    return asarray(x).shape


def ndim(x: Any, /) -> int:
    """Return the number of dimensions.

    Examples
    --------
    >>> flow.ndim(flow.zeros((2, 3)))
    2
    """
    return asarray(x).ndim


def size(x: Any, /, axis: SupportsIndex | None = None) -> int:
    """Return the number of elements, or the size along an axis.

    Examples
    --------
    >>> flow.size(flow.zeros((2, 3))), flow.size(flow.zeros((2, 3)), 1)
    (6, 3)
    """
    given = asarray(x)
    return given.size if axis is None else given.shape[_along("size", given, axis)[1]]


def diagflat(v: Any, k: SupportsIndex = 0) -> Tensor:
    """Return a matrix with the elements of the flattened v on its k-th diagonal.

    Examples
    --------
    >>> flow.diagflat(flow.tensor([[1, 2]]), 1).numpy()
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    return diag(ravel(v), k)


@_C.native(_C.paths.copy, "order")
def copy(x: Any, /, order: str = "K") -> Tensor:
    """Return a copy.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    order : {'K', 'C', 'A'}
        ``"K"``: laid out like x; ``"C"``: row-major; ``"A"``: row-major, unless x is column-major.

    Examples
    --------
    >>> x = flow.zeros(2)
    >>> flow.copy(x).shares_storage(x)
    False
    """
    return copied(asarray(x), order_of("copy", order, "KCA"))


if not TYPE_CHECKING:
    __all__ = exported(globals())
