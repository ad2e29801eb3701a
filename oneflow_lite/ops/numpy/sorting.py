"""Partial orders, and orders by several keys."""

from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.indexing import take_along_axis
from oneflow_lite.ops.manipulation.shapes import ravel
from oneflow_lite.ops.operands import host_array, is_number_along, on_one_device
from oneflow_lite.ops.sorting import argsort, sort
from oneflow_lite.ops.table import exported

_KINDS = ("introselect",)


def partition(x: Any, /, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Tensor:
    """Return x with its kth element in its place, none larger before it, none smaller behind.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    kth : int or sequence of int
        Places. All elements are sorted, which is one such order.
    axis : int, optional
        None: x is flattened.
    kind : {"introselect"}
        Accepted, as in ``numpy.partition``.

    Examples
    --------
    >>> flow.partition(flow.tensor([3, 1, 2]), 1).numpy()
    array([1, 2, 3])
    """
    given = _partitioned("partition", x, kth, axis, kind)
    return sort(given, axis=axis)


def argpartition(x: Any, /, kth: Any, axis: int | None = -1, kind: str = "introselect") -> Tensor:
    """Return the int64 positions that partition x. Parameters as for ``partition``.

    Examples
    --------
    >>> flow.argpartition(flow.tensor([3, 1, 2]), 1).numpy()
    array([1, 2, 0])
    """
    elements = asarray(x)
    elements = ravel(elements) if is_number_along(elements, axis) else elements
    given = _partitioned("argpartition", elements, kth, axis, kind)
    return argsort(given, axis=axis)


def _partitioned(op: str, x: Any, kth: Any, axis: int | None, kind: str) -> Tensor:
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ValueError(f"[{op}] expected kind 'introselect', got {kind!r}")
    given = asarray(x)
    if axis is not None and not -given.ndim <= axis < given.ndim:
        raise np.exceptions.AxisError(
            f"[{op}] axis {axis} is out of bounds for {given.ndim} dimensions"
        )
    size = given.size if axis is None else given.shape[axis]
    places = host_array(kth, op)
    if places.dtype.kind not in "iu":
        raise TypeError(f"[{op}] expected kth to be integers, got {places.dtype}")
    if ((places < -size) | (places >= size)).any():
        raise ValueError(f"[{op}] expected kth within {size} elements, got {kth}")
    return given


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
    order = argsort(given[0], axis=axis)
    for key in given[1:]:
        nearer = argsort(take_along_axis(key, order, axis=axis), axis=axis)
        order = take_along_axis(order, nearer, axis=axis)
    return order


if not TYPE_CHECKING:
    __all__ = exported(globals())
