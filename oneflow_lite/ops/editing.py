"""Putting in, taking out, nested blocks, and what a tensor looks like."""

import builtins
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.exceptions import AxisError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation import asarray, empty, zeros
from oneflow_lite.ops.indexing import take
from oneflow_lite.ops.joining import concat
from oneflow_lite.ops.manipulation import moveaxis, ravel
from oneflow_lite.ops.masking import written
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.ranges import arange
from oneflow_lite.ops.table import exported


def append(x: Any, values: Any, /, axis: int | None = None) -> Tensor:
    """Return x with values behind it along an axis; flattened without one.

    Examples
    --------
    >>> flow.append(flow.tensor([1, 2]), [3]).numpy()
    array([1, 2, 3])
    """
    given = on_one_device(x, values)
    return concat([ravel(one) for one in given] if axis is None else given, axis or 0)


def delete(x: Any, obj: Any, /, axis: int | None = None) -> Tensor:
    """Return x without some of its slices along an axis.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    obj : int, slice, or array of int or bool
        Which. A tensor is looked at.
    axis : int, optional
        None: x is flattened.

    Examples
    --------
    >>> flow.delete(flow.tensor([1, 2, 3, 4]), [0, 2]).numpy()
    array([2, 4])
    """
    given, along = _along("delete", x, axis)
    places = _C.look("delete", obj) if isinstance(obj, Tensor) else obj
    try:
        kept = np.delete(np.arange(given.shape[along]), places)
    except (IndexError, ValueError) as error:
        raise type(error)(f"[delete] {error}") from None
    return take(given, kept, along)


def insert(x: Any, obj: Any, values: Any, /, axis: int | None = None) -> Tensor:
    """Return x with values before some of its slices along an axis.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    obj : int, slice, or array of int or bool
        Before which. A tensor is looked at.
    values : Tensor, array or scalar
        What, cast to the dtype of x.
    axis : int, optional
        None: x is flattened.

    Examples
    --------
    >>> flow.insert(flow.tensor([1, 2, 3]), 1, 9).numpy()
    array([1, 9, 2, 3])
    """
    given, along = _along("insert", x, axis)
    size, before = given.shape[along], (slice(None),) * along
    host = _C.look("insert", obj) if isinstance(obj, Tensor) else obj
    places = np.arange(size)[host] if isinstance(host, slice) else np.asarray(host)
    if places.dtype == bool:
        places = np.flatnonzero(places)
    if places.ndim > 1:
        raise ValueError(f"[insert] expected obj in one dimension, got shape {places.shape}")
    places = places.astype(np.int64) if not places.size else places
    if ((places < -size) | (places > size)).any():
        raise IndexError(f"[insert] {obj} is out of bounds for axis {along} with size {size}")
    new = written("insert", values, given, "unsafe")
    places = np.where(places < 0, places + size, places)
    if places.size == 1:
        new = new[(None,) * builtins.max(given.ndim - new.ndim, 0)]
        new = moveaxis(new, 0, along) if places.ndim == 0 else new
        count, at = new.shape[along], int(places.reshape(()))
        slots = np.arange(at, at + count)
    else:
        order = np.argsort(places, kind="stable")
        slots, count = places.copy(), places.size
        slots[order] += np.arange(count)
    total = size + count
    result = empty(
        (*given.shape[:along], total, *given.shape[along + 1 :]), given.dtype, device=given.device
    )
    _C.setitem(result, (*before, np.setdiff1d(np.arange(total), slots)), given, "insert")
    _C.setitem(result, (*before, slots), new, "insert")
    return result


def _along(op: str, x: Any, axis: int | None) -> tuple[Tensor, int]:
    given = asarray(x)
    if axis is None:
        return ravel(given), 0
    if not -given.ndim <= operator.index(axis) < given.ndim:
        raise AxisError(f"[{op}] axis {axis} is out of bounds for {given.ndim} dimensions")
    return given, axis % given.ndim


def _home(given: Any, x: Tensor) -> Any:
    return None if isinstance(given, Tensor) else x.device


def block(arrays: Any, /) -> Tensor:
    """Return a tensor put together from nested lists of blocks.

    The innermost lists are joined along the last axis, those around them along the axis before.

    Examples
    --------
    >>> flow.block([[flow.eye(2), flow.zeros((2, 1))]]).numpy()
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    leaves: list[Any] = []
    depth = _depth(arrays, leaves)
    given = on_one_device(*leaves)
    ndim = builtins.max(depth, *(one.ndim for one in given))
    blocks = iter(one[(None,) * (ndim - one.ndim)] for one in given)

    def joined(part: Any, level: int) -> Tensor:
        if not isinstance(part, list):
            return next(blocks)
        return concat([joined(one, level - 1) for one in part], -level)

    whole = joined(arrays, depth)
    return whole if depth else _C.copy(whole)


def _depth(part: Any, leaves: list[Any]) -> int:
    """How deep lists are nested; collects what they hold."""
    if isinstance(part, tuple):
        raise TypeError("[block] expected lists, got a tuple")
    if not isinstance(part, list):
        leaves.append(part)
        return 0
    depths = {_depth(one, leaves) for one in part}
    if len(depths) != 1:
        raise ValueError(f"[block] expected lists that are all as deep and not empty, got {part}")
    return depths.pop() + 1


def resize(x: Any, new_shape: int | Sequence[int], /) -> Tensor:
    """Return a tensor of another shape with the elements of x, from the first again where they end.

    Examples
    --------
    >>> flow.resize(flow.tensor([1, 2, 3]), (2, 2)).numpy()
    array([[1, 2],
           [3, 1]])
    """
    flat = ravel(x)
    is_shape = isinstance(new_shape, Sequence) or (isinstance(new_shape, Tensor) and new_shape.ndim)
    parts: Any = new_shape if is_shape else (new_shape,)
    sizes = tuple(map(operator.index, parts))
    if builtins.any(n < 0 for n in sizes):
        raise ValueError(f"[resize] expected a shape without negative sizes, got {sizes}")
    count = int(np.prod(sizes, dtype=np.int64))
    if not flat.size or not count:
        return zeros(sizes, flat.dtype, device=flat.device)
    places = arange(count, device=flat.device)
    return _C.reshape(take(flat, places, mode="wrap"), sizes, None)


def rollaxis(x: Any, axis: int, /, start: int = 0) -> Tensor:
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


def size(x: Any, /, axis: int | None = None) -> int:
    """Return the number of elements, or the size along an axis.

    Examples
    --------
    >>> flow.size(flow.zeros((2, 3))), flow.size(flow.zeros((2, 3)), 1)
    (6, 3)
    """
    given = asarray(x)
    return given.size if axis is None else given.shape[_along("size", given, axis)[1]]


def copy(x: Any, /) -> Tensor:
    """Return a row-major copy.

    Examples
    --------
    >>> x = flow.zeros(2)
    >>> flow.copy(x).shares_storage(x)
    False
    """
    return _C.copy(asarray(x))


if not TYPE_CHECKING:
    __all__ = exported(globals())
