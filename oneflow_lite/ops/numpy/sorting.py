"""Partial orders, orders by several keys, and of complex numbers."""

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import complex64, complex128, int64
from oneflow_lite.ops.creation.data import asarray, zeros
from oneflow_lite.ops.indexing import take_along_axis
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.operands import host_array, is_number_along, on_one_device
from oneflow_lite.ops.places import has_none, partitioned
from oneflow_lite.ops.sorting import argsort, sort
from oneflow_lite.ops.table import exported

_KINDS = ("introselect",)


@_C.native(_C.paths.partition)
def partition(x: Any, /, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Tensor:
    """Return x with its kth element in its place, none larger before it, none smaller behind.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    kth : int or sequence of int
        Places. How the elements between them are ordered is not promised.
    axis : int, optional
        None: x is flattened.
    kind : {"introselect"}
        Accepted, as in ``numpy.partition``.

    Examples
    --------
    >>> flow.partition(flow.tensor([3, 1, 2]), 1).numpy()
    array([1, 2, 3])
    """
    return partitioned("partition", *_lanes("partition", asarray(x), kth, axis, kind))


@_C.native(_C.paths.argpartition)
def argpartition(x: Any, /, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Tensor:
    """Return the int64 positions that partition x. Parameters as for ``partition``.

    Examples
    --------
    >>> flow.argpartition(flow.tensor([3, 1, 2]), 1).numpy()
    array([1, 2, 0])
    """
    elements = asarray(x)
    elements = ravel(elements) if is_number_along(elements, axis) else elements
    given, along, places = _lanes("argpartition", elements, kth, axis, kind)
    attr = (along, 0, 0, *places)
    loop = ("sort", np.dtype(np.uint64))
    outputs = [(given.shape, int64)]
    return _C.call_kernel("argpartition", "argpartition", [given], outputs, attr, loop)[0]


def _lanes(
    op: str, given: Tensor, kth: Any, axis: int | None, kind: str
) -> tuple[Tensor, int, list[int]]:
    """What to partition, and the axis and the places, counted from 0."""
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"[{op}] expected kind 'introselect', got {kind!r}")
    if axis is not None and not -given.ndim <= axis < given.ndim:
        raise np.exceptions.AxisError(
            f"[{op}] axis {axis} is out of bounds for {given.ndim} dimensions"
        )
    size = given.size if axis is None else given.shape[axis]
    # NumPy does not look at the places then.
    is_empty = has_none(given.shape) and host_array(kth, op).dtype.kind in "iu"
    is_one = type(kth) is int and -size <= kth < size
    counted = [] if is_empty else [kth % size] if is_one else _places(op, kth, size)
    if axis is None:
        return ravel(given), 0, counted
    return given, operator.index(axis) % given.ndim, counted


def _places(op: str, kth: Any, size: int) -> list[int]:
    places = host_array(kth, op)
    if places.dtype.kind not in "iu":
        raise TypeError(f"[{op}] expected kth to be integers, got {places.dtype}")
    if ((places < -size) | (places >= size)).any():
        raise ValueError(f"[{op}] expected kth within {size} elements, got {kth}")
    return [place % size for place in places.reshape(-1).tolist()]


@_C.native(_C.paths.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """Return the int64 positions that sort by several keys; the last key counts most.

    Parameters
    ----------
    keys : sequence of Tensor, or Tensor
        The keys, of equal shapes; or a tensor of them, along its first dimension.
    axis : int
        To sort along.

    Examples
    --------
    >>> flow.lexsort((flow.tensor([2, 1, 3]), flow.tensor([0, 0, -1]))).numpy()
    array([2, 1, 0])
    """
    given = on_one_device(*keys)
    if not given:
        raise TypeError("[lexsort] expected at least one key, got none")
    if any_differ := [x.shape for x in given if x.shape != given[0].shape]:
        raise ValueError(f"[lexsort] expected shape {given[0].shape}, got {any_differ[0]}")
    if given[0].ndim == 0:
        return zeros((), int64, device=given[0].device)
    order = argsort(given[0], axis=axis)
    for key in given[1:]:
        nearer = argsort(take_along_axis(key, order, axis=axis), axis=axis)
        order = take_along_axis(order, nearer, axis=axis)
    return order


def sort_complex(a: Any) -> Tensor:
    """Return a tensor sorted along its last axis, as complex numbers.

    Parameters
    ----------
    a : Tensor or array
        Operand, of at least one dimension.

    Returns
    -------
    Tensor
        Of complex64 for integers of at most 16 bits, else of complex128; complex numbers keep their
        dtype.

    Examples
    --------
    >>> flow.sort_complex(flow.tensor([5, 3, 6, 2])).numpy()
    array([2.+0.j, 3.+0.j, 5.+0.j, 6.+0.j])
    """
    given = asarray(a)
    if not given.ndim:
        raise np.exceptions.AxisError("[sort_complex] expected at least one dimension, got none")
    ordered, dtype = sort(given), given.dtype
    if dtype.kind == "c":
        return ordered
    is_small = dtype.kind in "iu" and dtype.itemsize <= 2
    return _C.astype(ordered, complex64 if is_small else complex128, False)


if not TYPE_CHECKING:
    __all__ = exported(globals())
