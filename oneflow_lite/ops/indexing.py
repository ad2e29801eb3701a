"""Indexing by arrays, as functions; ``x[key]`` and ``x[key] = value`` are native.

An index out of range is an ``IndexError``: at the call where the indices are host data (lists,
NumPy arrays), at the look at the result, with the line that issued it, where they are tensors.
"""

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import clip
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.masking import store_back, written
from oneflow_lite.ops.operands import host_array, is_number_along
from oneflow_lite.ops.table import exported

_MODES = {"raise": 0, "wrap": 1, "clip": 2}


@_C.native(_C.paths.take, "out")
def take(
    x: Any,
    /,
    indices: Any,
    axis: SupportsIndex | None = None,
    out: Any = None,
    mode: str = "raise",
) -> Tensor:
    """Return the elements at integer positions along an axis.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    indices : Tensor, array or sequence of int
        Of any shape, which takes the place of the axis; negative ones count from the end.
    axis : int, optional
        None: the positions are in the flattened tensor.
    out : Tensor or array, optional
        Where the result goes, of a dtype whose values that of x has; what does not fit into it is
        lost, as in NumPy. An array waits for it.
    mode : {"raise", "wrap", "clip"}
        What an index out of range does: an error, counting on from the other end, or the nearest
        position (then negative ones are 0).

    Raises
    ------
    IndexError
        For indices that are not integers or out of range; for those of tensors at the look.
    TypeError, ValueError
        For ``out`` of another dtype, or of another shape.

    Examples
    --------
    >>> flow.take(flow.tensor([[1, 2, 3], [4, 5, 6]]), [2, 0], axis=1).numpy()
    array([[3, 1],
           [6, 4]])
    """
    if out is not None:
        return store_back("take", out, take(x, indices, axis, mode=mode))
    given = asarray(x)
    source = ravel(given) if axis is None else given
    along: Any = 0 if axis is None else axis
    if is_number_along(given, axis):
        source, along = ravel(given), 0
    return _C.take(source, indices, along, mode_number(mode, "take"))


@_C.native(_C.paths.take_along_axis)
def take_along_axis(x: Any, /, indices: Any, axis: int | None = -1) -> Tensor:
    """Return elements by indices along an axis, with indices of their own for each lane.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    indices : Tensor or array of int
        As many dimensions as x, and the same sizes except along the axis (others broadcast).
        ``argsort`` gives such indices.
    axis : int, optional
        None: x is flattened and indices have one dimension.

    Examples
    --------
    >>> x = flow.tensor([[3, 1, 2], [9, 8, 7]])
    >>> flow.take_along_axis(x, flow.tensor([[1], [2]]), axis=1).numpy()
    array([[1],
           [7]])
    """
    given = asarray(x)
    given, along = (ravel(given), 0) if axis is None else (given, axis)
    along = _axis(along, given.ndim, "take_along_axis")
    index = _C.index_array(indices, given, along, _MODES["raise"], "take_along_axis")
    lanes = _lanes(given, index, along, "take_along_axis")
    given = _C.broadcast_to(given, _replaced(lanes, along, given.shape[along]))
    index = _C.broadcast_to(index, _replaced(lanes, along, index.shape[along]))
    has_none = isinstance(given.shape[along], int) and given.shape[along] == 0
    if has_none and index.size:
        raise IndexError(f"[take_along_axis] axis {along} has no elements to index")
    outputs = [(index.shape, given.dtype)]
    (result,) = _C.call_kernel(
        *("take_along_axis", "take_along_axis", [given, index], outputs, [along]),
        elements=index.size,
    )
    return result


@_C.native(_C.paths.put_along_axis)
def put_along_axis(x: Tensor, /, indices: Any, values: Any, axis: int | None = -1) -> None:
    """Write values, in place, where ``take_along_axis`` would read them.

    Parameters
    ----------
    x : Tensor
        Written to.
    indices, axis
        As for ``take_along_axis``. Of values for one place the last stays.
    values : Tensor, array or scalar
        Broadcast to the shape of indices, and cast to the dtype of x.

    Examples
    --------
    >>> x = flow.zeros((2, 3))
    >>> flow.put_along_axis(x, flow.tensor([[1], [2]]), 5, axis=1)
    >>> x.numpy()
    array([[0., 5., 0.],
           [0., 0., 5.]])
    """
    target = _target(x, "put_along_axis")
    if axis is None:
        flat = ravel(target)
        put_along_axis(flat, indices, values, 0)
        return _write_back(flat, target)
    along = _axis(axis, target.ndim, "put_along_axis")
    index = _C.index_array(indices, target, along, _MODES["raise"], "put_along_axis")
    _lanes(target, index, along, "put_along_axis")
    key = [
        index
        if d == along
        else _C.reshape(
            arange(size, device=target.device), _replaced((1,) * target.ndim, d, size), None
        )
        for d, size in enumerate(target.shape)
    ]
    _C.setitem(target, tuple(key), values, "put_along_axis")


@_C.native(_C.paths.put)
def put(x: Tensor, indices: Any, values: Any, /, mode: str = "raise") -> None:
    """Write values, in place, at positions in the flattened tensor.

    Parameters
    ----------
    x : Tensor
        Written to.
    indices : Tensor, array or sequence of int
        Positions in row-major order. Of values for one place the last stays.
    values : Tensor, array or scalar
        One for each index, from the first again where there are fewer.
    mode : {"raise", "wrap", "clip"}
        As for ``take``.

    Examples
    --------
    >>> x = flow.zeros((2, 2), dtype=flow.int64)
    >>> flow.put(x, [0, 3], [7, 8])
    >>> x.numpy()
    array([[7, 0],
           [0, 8]])
    """
    target = _target(x, "put")
    flat = ravel(target)
    index = ravel(_C.index_array(indices, flat, 0, mode_number(mode, "put"), "put"))
    given = ravel(written("put", values, target, "unsafe"))
    if not index.size or not given.size:
        return
    if mode == "wrap":
        index = index % flat.size
    elif mode == "clip":
        index = clip(index, 0, max(flat.size - 1, 0))
    if given.size not in (1, index.size):
        order = arange(index.size, device=target.device)
        given = _C.take(given, order, 0, _MODES["wrap"])
    _C.setitem(flat, index, given, "put")
    _write_back(flat, target)


@_C.native(_C.paths.compress, "out")
def compress(condition: Any, x: Any, axis: int | None = None, out: Any = None) -> Tensor:
    """Return the slices along an axis for which a condition is true.

    Parameters
    ----------
    condition : Tensor, array or sequence of bool
        One dimension; what is missing at its end is false. A tensor is looked at.
    x : Tensor or array
        Operand.
    axis : int, optional
        None: x is flattened.
    out : Tensor or array, optional
        As for ``take``.

    Examples
    --------
    >>> flow.compress([False, True], flow.tensor([[1, 2], [3, 4]]), axis=0).numpy()
    array([[3, 4]])
    """
    if out is not None:
        return store_back("compress", out, compress(condition, x, axis))
    return _compressed("compress", condition, asarray(x), axis)


def _compressed(op: str, condition: Any, given: Tensor, axis: int | None) -> Tensor:
    if is_number_along(given, axis):
        axis = None
    given, along = (ravel(given), 0) if axis is None else (given, axis)
    along = _axis(along, given.ndim, op)
    is_here = not isinstance(condition, Tensor)
    mask: Any = host_array(condition, op) if is_here else condition
    mask = mask.astype(bool_dtype)
    if mask.ndim != 1:
        raise ValueError(f"[{op}] expected a condition of one dimension, got {mask.shape}")
    if given.ndim > 1 or mask.size > given.shape[along]:
        if isinstance(mask, Tensor):
            (chosen,) = _C.nonzero(mask, op)
            return _C.take(given, chosen, along, _MODES["raise"])
        return _C.take(given, np.flatnonzero(mask), along, _MODES["raise"])
    return _C.getitem(given[: mask.size], mask, op)


@_C.native(_C.paths.extract)
def extract(condition: Any, x: Any) -> Tensor:
    """Return, in one dimension, the elements of x where a condition of its shape is true.

    Examples
    --------
    >>> x = flow.arange(6)
    >>> flow.extract(x % 3 == 0, x).numpy()
    array([0, 3])
    """
    is_here = not isinstance(condition, Tensor)
    mask = host_array(condition, "extract").ravel() if is_here else ravel(condition)
    return _compressed("extract", mask, asarray(x), None)


def mode_number(mode: str, op: str) -> int:
    """Return the number of a mode."""
    if not isinstance(mode, str) or mode not in _MODES:
        raise ValueError(f"[{op}] expected mode 'raise', 'wrap' or 'clip', got {mode!r}")
    return _MODES[mode]


def _target(x: Any, op: str) -> Tensor:
    """Return what can be written to."""
    if not isinstance(x, Tensor):
        raise TypeError(f"[{op}] expected a tensor to write to, got {type(x).__name__}")
    return x


def _write_back(flat: Tensor, target: Tensor) -> None:
    """Write the elements to the tensor of which they are the flattened ones, unless they share."""
    if not flat.shares_storage(target):
        _C.assign(target, _C.reshape(flat, target.shape, None))


def _axis(axis: int, ndim: int, op: str) -> int:
    place = operator.index(axis)
    if not -ndim <= place < ndim:
        raise IndexError(f"[{op}] axis {axis} is out of bounds for {ndim} dimensions")
    return place % ndim


def _replaced(shape: tuple[int, ...], axis: int, size: int) -> tuple[int, ...]:
    return (*shape[:axis], size, *shape[axis + 1 :])


def _lanes(x: Tensor, index: Tensor, axis: int, op: str) -> tuple[int, ...]:
    """Return the broadcast shape of both, 1 along the axis."""
    shapes = f"{x.shape} and {index.shape}"
    if x.ndim != index.ndim:
        raise ValueError(f"[{op}] expected as many dimensions in indices as in x, got {shapes}")
    lanes = [
        1 if d == axis else _joined(*pair)
        for d, pair in enumerate(zip(x.shape, index.shape, strict=True))
    ]
    if any(n is None for n in lanes):  # no `in`: an unknown size compares with few things
        raise IndexError(f"[{op}] shapes {shapes} do not broadcast outside axis {axis}")
    return tuple(n for n in lanes if n is not None)


def _joined(one: int, other: int) -> int | None:
    """Return what two sizes broadcast to; None: they do not. An unknown size is no int."""
    if isinstance(one, int) and one == 1:
        return other
    return one if (isinstance(other, int) and other == 1) or one == other else None


if not TYPE_CHECKING:
    __all__ = [name for name in exported(globals()) if name != "mode_number"]
