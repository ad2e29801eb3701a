"""Shapes: views where strides allow, copies elsewhere."""

import builtins
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.inspection import returned
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.table import exported

Order = Literal["C", "F", "A"]
AnyOrder = Literal["C", "F", "A", "K"]
Axes = SupportsIndex | Sequence[SupportsIndex]


@_C.native(_C.paths.reshape, "order")
def reshape(
    x: Any,
    /,
    shape: SupportsIndex | Sequence[SupportsIndex],
    order: Order = "C",
    *,
    copy: bool | None = None,
) -> Tensor:
    """Return the elements of x, in row-major order, in another shape.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    shape : int or sequence of int
        One dimension may be -1: whatever is left.
    order : {'C', 'F', 'A'}
        Elements are read and put in row-major order, C, or in column-major order, F: the first
        index changes fastest. A is F where x is column-major in memory.
    copy : bool, optional
        None: a view where strides allow; True: always a copy; False: ValueError where a view is
        not possible.

    Examples
    --------
    >>> flow.reshape(flow.arange(6), (2, -1)).numpy()
    array([[0, 1, 2],
           [3, 4, 5]])
    >>> flow.reshape(flow.arange(6), (2, -1), order="F").numpy()
    array([[0, 2, 4],
           [1, 3, 5]])
    """
    given = asarray(x)
    if not _is_by_columns("reshape", given, order):
        return reshape(given, shape, copy=copy)
    backwards = tuple(shape)[::-1] if isinstance(shape, Sequence) else shape
    return transpose(reshape(transpose(given), backwards, copy=copy))


@_C.native(_C.paths.permute_dims)
def permute_dims(x: Any, /, axes: Sequence[SupportsIndex]) -> Tensor:
    """Return a view with the dimensions in another order.

    Examples
    --------
    >>> flow.permute_dims(flow.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """


@_C.native(_C.paths.transpose)
def transpose(x: Any, /, axes: Sequence[SupportsIndex] | None = None) -> Tensor:
    """Return a view with the dimensions in another order, reversed by default.

    Examples
    --------
    >>> flow.transpose(flow.zeros((2, 3, 4))).shape
    (4, 3, 2)
    """


def matrix_transpose(x: Any, /) -> Tensor:
    """Return a view with the last two dimensions exchanged.

    Examples
    --------
    >>> flow.matrix_transpose(flow.zeros((2, 3, 4))).shape
    (2, 4, 3)
    """
    return asarray(x).mT


@_C.native(_C.paths.moveaxis)
def moveaxis(x: Any, /, source: Axes, destination: Axes) -> Tensor:
    """Return a view with some dimensions at other positions; the others keep their order.

    Examples
    --------
    >>> flow.moveaxis(flow.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """


@_C.native(_C.paths.broadcast_to)
def broadcast_to(x: Any, /, shape: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
    """Return a view of x with NumPy's broadcasting.

    Examples
    --------
    >>> flow.broadcast_to(flow.arange(2), (2, 2)).numpy()
    array([[0, 1],
           [0, 1]])
    """


def broadcast_arrays(*arrays: Any) -> list[Tensor] | tuple[Tensor, ...]:
    """Return views of the arrays, broadcast against each other.

    Returns
    -------
    list or tuple of Tensor
        A tuple from version 2025.12 of the standard.

    Examples
    --------
    >>> x, y = flow.broadcast_arrays(flow.zeros((2, 1)), flow.zeros(3))
    >>> x.shape, y.shape
    ((2, 3), (2, 3))
    """
    given = on_one_device(*arrays)
    shape = _common_shape([x.shape for x in given], "broadcast_arrays")
    return returned(_C.broadcast_to(x, shape) for x in given)


@_C.native(_C.paths.broadcast_shapes)
def broadcast_shapes(*shapes: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, ...]:
    """Return the shape to which shapes broadcast.

    Raises
    ------
    ValueError
        Where they do not.

    Examples
    --------
    >>> flow.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    given = [_C.integers(one, "broadcast_shapes") for one in shapes]
    return _common_shape(given, "broadcast_shapes")


def _common_shape(shapes: Sequence[int | Sequence[int]], op: str) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        given = ", ".join(map(str, shapes))
        raise ValueError(f"[{op}] shapes {given} do not broadcast") from None


@_C.native(_C.paths.expand_dims)
def expand_dims(x: Any, /, axis: Axes = 0) -> Tensor:
    """Return a view with new dimensions of size 1 at the positions given.

    Examples
    --------
    >>> flow.expand_dims(flow.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """


@_C.native(_C.paths.squeeze)
def squeeze(x: Any, /, axis: Axes | None = None) -> Tensor:
    """Return a view without the dimensions given, which are of size 1 (None: all that are).

    Examples
    --------
    >>> flow.squeeze(flow.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """


@_C.native(_C.paths.swapaxes)
def swapaxes(x: Any, /, axis1: SupportsIndex, axis2: SupportsIndex) -> Tensor:
    """Return a view with two dimensions exchanged.

    Examples
    --------
    >>> flow.swapaxes(flow.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """


@_C.native(_C.paths.flatten, "order")
def flatten(x: Any, /, order: AnyOrder = "C") -> Tensor:
    """Return a copy in one dimension. Parameters as for ``ravel``.

    Examples
    --------
    >>> flow.flatten(flow.tensor([[1, 2], [3, 4]])).numpy()
    array([1, 2, 3, 4])
    """
    return flatten(_turned("flatten", asarray(x), order))


@_C.native(_C.paths.ravel, "order")
def ravel(x: Any, /, order: AnyOrder = "C") -> Tensor:
    """Return the elements in one dimension: a view where strides allow.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    order : {'C', 'F', 'A', 'K'}
        As for ``reshape``; K: as they lie in memory, but for axes that go backwards.

    Examples
    --------
    >>> flow.ravel(flow.tensor([[1, 2], [3, 4]])).numpy()
    array([1, 2, 3, 4])
    >>> flow.ravel(flow.tensor([[1, 2], [3, 4]]), order="F").numpy()
    array([1, 3, 2, 4])
    """
    return ravel(_turned("ravel", asarray(x), order))


def _turned(op: str, x: Tensor, order: str) -> Tensor:
    """X with its axes such that its elements in row-major order are those in the order of x."""
    if isinstance(order, str) and order.upper() == "K":
        steps = [builtins.abs(step) for step in _C.raw_strides(x)]
        return permute_dims(x, sorted(range(x.ndim), key=lambda axis: -steps[axis]))
    return transpose(x) if _is_by_columns(op, x, order) else x


def _is_by_columns(op: str, x: Tensor, order: str) -> bool:
    if not isinstance(order, str):
        raise TypeError(f"[{op}] order: expected a string, got {type(order).__name__}")
    if order.upper() not in ("C", "F", "A"):
        raise ValueError(f"[{op}] order: expected 'C', 'F' or 'A', got {order!r}")
    if order.upper() == "A":
        return not x.is_contiguous() and transpose(x).is_contiguous()
    return order.upper() == "F"


@_C.native(_C.paths.normalize_axes)
def normalize_axes(axes: Axes, ndim: int, op: str) -> tuple[int, ...]:
    """Return axes as numbers from 0; AxisError out of range, ValueError for one given twice."""


if not TYPE_CHECKING:
    __all__ = [name for name in exported(globals()) if name != "normalize_axes"]
