"""Adding elements to a tensor and removing some from it."""

import builtins
import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy.exceptions import AxisError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray, ascontiguousarray, empty, full
from oneflow_lite.ops.manipulation.joining import (
    _by_rows_or_columns,
    _joined_by,
    concat,
    stack,
)
from oneflow_lite.ops.manipulation.shapes import moveaxis, normalize_axes, ravel
from oneflow_lite.ops.masking import written
from oneflow_lite.ops.operands import host_array, is_by_columns, on_one_device
from oneflow_lite.ops.searching import argmax
from oneflow_lite.ops.statistics.reduction import any
from oneflow_lite.ops.table import exported


def append(x: Any, /, values: Any, axis: SupportsIndex | None = None) -> Tensor:
    """Return x with values behind it along an axis; flattened without one.

    Examples
    --------
    >>> flow.append(flow.tensor([1, 2]), [3]).numpy()
    array([1, 2, 3])
    """
    one, other = on_one_device(x, values)
    if axis is None:
        return concat([ravel(one), ravel(other)])
    return concat([one, other], axis)


def delete(x: Any, /, obj: Any, axis: SupportsIndex | None = None) -> Tensor:
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
    before = (slice(None),) * along
    host = _C.look("delete", obj) if isinstance(obj, Tensor) else obj
    kept = _kept(host, along, given.shape[along])
    if isinstance(kept, tuple):
        whole = _by_rows_or_columns(given)
        return _joined_by(given, [whole[(*before, part)] for part in kept], along)
    return _C.getitem(given, (*before, kept), "delete")


def _kept(obj: Any, axis: int, size: int) -> Any:
    """Return the mask of the slices that stay; what is left and right of one, or of neighbours."""
    places = obj if isinstance(obj, slice) else _places(obj)
    if isinstance(places, slice):
        start, stop, step = places.indices(size)
        if step == 1:
            return slice(start), slice(builtins.max(start, stop), None)
    elif isinstance(places, int):
        if isinstance(size, int) and not -size <= places < size:
            raise _outside("delete", obj, axis, size)
        at = places if places >= 0 else size + places
        if places == -1:
            return (slice(at),)
        return slice(at), slice(at + 1, None)
    elif places.dtype == np.bool_:
        if places.shape != (size,):
            raise ValueError(f"[delete] expected a mask of shape {(size,)}, got {places.shape}")
        return ~places
    gone = np.zeros(size, np.bool_)
    try:
        gone[places] = True
    except IndexError as error:
        raise IndexError(f"[delete] {error}") from None
    return ~gone


def _places(obj: Any) -> Any:
    """Return the only integer that obj has, or what it has as an array."""
    if isinstance(obj, (int, np.integer)) and not isinstance(obj, bool):
        return int(obj)
    places = host_array(obj, "delete")
    if not places.size:
        return places.astype(np.int64)
    return places.item() if places.size == 1 and places.dtype.kind in "iu" else places


def insert(x: Any, /, obj: Any, values: Any, axis: SupportsIndex | None = None) -> Tensor:
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
    host: Any = _C.look("insert", obj) if isinstance(obj, Tensor) else obj
    places = _insertions(host, size)
    new = _as_new(values, given)
    if isinstance(places, int):
        if isinstance(size, int) and not -size <= places <= size:
            raise _outside("insert", host, along, size)
        at = places + size if places < 0 else places
        new = new[(None,) * (given.ndim - new.ndim)] if new.ndim < given.ndim else new
        new = moveaxis(new, 0, along) if along and _is_number(host) else new
        shape = (*given.shape[:along], new.shape[along], *given.shape[along + 1 :])
        whole = _by_rows_or_columns(given)
        left, right = whole[(*before, slice(at))], whole[(*before, slice(at, None))]
        added = _spread(new, shape)
        if is_by_columns(given):
            added = ascontiguousarray(added.T).T
        elif type(added) is Tensor:
            added = ascontiguousarray(added)
        return _joined_by(given, [left, added, right], along)
    if not isinstance(places, slice):
        places = _shifted(places, size)
        if places is None:
            raise _outside("insert", host, along, size)
    count = len(range(*host.indices(size))) if isinstance(places, slice) else places.size
    old = np.ones(size + count, np.bool_)
    old[places] = False
    shape = (*given.shape[:along], size + count, *given.shape[along + 1 :])
    result = empty(shape, given.dtype, device=given.device)
    _C.setitem(result, (*before, old), given, "insert")
    _C.setitem(result, (*before, places), new, "insert")
    return result


def _insertions(obj: Any, size: int) -> Any:
    """Return the slices before which to insert, or the only one; of a slice, the new places."""
    if isinstance(obj, slice):
        start, stop, step = obj.indices(size)
        count = len(range(start, stop, step))
        if count == 1:
            return start
        if step > 0:  # each moves those behind it by one
            return slice(start, start + count * (step + 1), step + 1)
        return np.arange(start, stop, step)
    places = _places(obj)
    if isinstance(places, int):
        return places
    if places.ndim > 1:
        raise ValueError(f"[insert] expected obj in one dimension, got shape {places.shape}")
    if places.dtype == np.bool_:
        places = places.reshape(-1).nonzero()[0]
    elif places.dtype.kind not in "iu":
        raise IndexError(f"[insert] expected integers or a mask, got {places.dtype}")
    return places.item() if places.size == 1 else places


def _shifted(places: Any, size: int) -> Any:
    """Where the new slices are in the end: each moves those behind it. None: one is outside."""
    order = places.argsort(kind="stable")
    if places.size:
        low, high = int(places[order[0]]), int(places[order[-1]])
        if low < -size or high > size:
            return None
        if low < 0:
            return _shifted(np.where(places < 0, places + size, places), size)
    slots = places.astype(np.int64)
    slots[order] += np.arange(places.size)
    return slots


def _outside(op: str, obj: Any, axis: int, size: int) -> IndexError:
    return IndexError(f"[{op}] {obj} is out of bounds for axis {axis} with size {size}")


def _is_number(obj: Any) -> bool:
    return isinstance(obj, (int, np.integer)) or (isinstance(obj, np.ndarray) and obj.ndim == 0)


def _as_new(values: Any, given: Tensor) -> Tensor:
    """Return what is inserted, in the dtype of what it is inserted into."""
    if type(values) in (bool, int, float):
        return full((), values, given.dtype, device=given.device)
    return written("insert", values, given, "unsafe")


def _spread(new: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Broadcast as in an assignment, where dimensions of size 1 may stand in front."""
    if builtins.all(isinstance(n, int) for n in shape) and new.shape == shape:
        return new
    spare = builtins.max(new.ndim - len(shape), 0)
    try:
        return _C.broadcast_to(_C.reshape(new, new.shape[spare:], None), shape)
    except ValueError:
        raise ValueError(f"[insert] shape {new.shape} does not broadcast to {shape}") from None


def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Tensor:
    """Return a view without the zeros at the ends; looks at where the other elements are.

    Parameters
    ----------
    filt : Tensor or array
        Operand.
    trim : {"fb", "f", "b"}
        Whether zeros in front, at the back or at both ends are left out.
    axis : int or sequence of int, optional
        Along which axes; by default along all. What is left out are slices of zeros.

    Raises
    ------
    ValueError
        For another ``trim``.

    Examples
    --------
    >>> flow.trim_zeros(flow.tensor([0, 0, 1, 0, 2, 0])).numpy()
    array([1, 0, 2])
    """
    given, ends = asarray(filt), trim.lower() if isinstance(trim, str) else trim
    if ends not in ("fb", "bf", "f", "b"):
        raise ValueError(f"[trim_zeros] expected trim 'fb', 'f' or 'b', got {trim!r}")
    every = tuple(range(given.ndim))
    axes = every if axis is None else normalize_axes(axis, given.ndim, "trim_zeros")
    if not axes:
        return given
    truths, places = given != 0, []
    for along in axes:
        others = tuple(other for other in every if other != along)
        lane = any(truths, others) if others else truths
        last = full(1, True, device=given.device)  # it is found where all are zeros
        places += [argmax(concat([one, last])) for one in (lane, lane[::-1])]
    key = [slice(None)] * given.ndim
    found = _C.look("trim_zeros", stack(places)).tolist()
    for along, front, back in zip(axes, found[::2], found[1::2], strict=True):
        size = given.shape[along]
        if front == size:
            key[along] = slice(0, 0)
        else:
            key[along] = slice(front if "f" in ends else 0, size - back if "b" in ends else size)
    return given[tuple(key)]


def _along(op: str, x: Any, axis: SupportsIndex | None) -> tuple[Tensor, int]:
    given = asarray(x)
    if axis is None:
        return ravel(given), 0
    if not -given.ndim <= operator.index(axis) < given.ndim:
        raise AxisError(f"[{op}] axis {axis} is out of bounds for {given.ndim} dimensions")
    return given, operator.index(axis) % given.ndim


if not TYPE_CHECKING:
    __all__ = exported(globals())
