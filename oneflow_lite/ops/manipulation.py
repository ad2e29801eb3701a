"""Shapes: views where strides allow, copies elsewhere."""

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import result_type
from oneflow_lite.ops.creation import asarray
from oneflow_lite.ops.table import exported

Axes = int | Sequence[int]


def reshape(x: Any, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Tensor:
    """Return the elements of x, in row-major order, in another shape.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    shape : int or sequence of int
        One dimension may be -1: whatever is left.
    copy : bool, optional
        None: a view where strides allow; True: always a copy; False: ValueError where a view is
        not possible.

    Examples
    --------
    >>> flow.reshape(flow.arange(6), (2, -1)).numpy()
    array([[0, 1, 2],
           [3, 4, 5]])
    """
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    return _C.reshape(asarray(x), wanted, copy)


def permute_dims(x: Any, /, axes: Sequence[int]) -> Tensor:
    """Return a view with the dimensions in another order.

    Examples
    --------
    >>> flow.permute_dims(flow.zeros((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _C.permute(asarray(x), tuple(axes))


def transpose(x: Any, /, axes: Sequence[int] | None = None) -> Tensor:
    """Return a view with the dimensions in another order, reversed by default."""
    given = asarray(x)
    return _C.permute(given, tuple(range(given.ndim))[::-1] if axes is None else tuple(axes))


def matrix_transpose(x: Any, /) -> Tensor:
    """Return a view with the last two dimensions exchanged."""
    return asarray(x).mT


def moveaxis(x: Any, source: Axes, destination: Axes, /) -> Tensor:
    """Return a view with some dimensions at other positions; the others keep their order.

    Examples
    --------
    >>> flow.moveaxis(flow.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    given = asarray(x)
    sources = _normalize_axes(source, given.ndim, "moveaxis")
    targets = _normalize_axes(destination, given.ndim, "moveaxis")
    if len(sources) != len(targets):
        raise ValueError(
            f"[moveaxis] expected as many destinations as sources, got {len(targets)} and "
            f"{len(sources)}"
        )
    order = [axis for axis in range(given.ndim) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return _C.permute(given, order)


def broadcast_to(x: Any, /, shape: int | Sequence[int]) -> Tensor:
    """Return a view of x with NumPy's broadcasting.

    Examples
    --------
    >>> flow.broadcast_to(flow.arange(2), (2, 2)).numpy()
    array([[0, 1],
           [0, 1]])
    """
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    return _C.broadcast_to(asarray(x), wanted)


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """Return views of the arrays, broadcast against each other."""
    given = [asarray(x) for x in arrays]
    try:
        shape = np.broadcast_shapes(*(x.shape for x in given))
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in given)
        raise ValueError(f"[broadcast_arrays] shapes {shapes} do not broadcast") from None
    return tuple(_C.broadcast_to(x, shape) for x in given)


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Tensor:
    """Return the arrays, one after the other along an axis.

    Parameters
    ----------
    arrays : sequence of Tensors or arrays
        They agree in all dimensions but that of the axis; their dtypes are promoted.
    axis : int, optional
        None: all are flattened first.

    Examples
    --------
    >>> flow.concat([flow.zeros(2), flow.ones(1)]).numpy()
    array([0., 0., 1.])
    """
    given = _tensors(arrays, "concat")
    if axis is None:
        given, axis = [ravel(x) for x in given], 0
    if given[0].ndim == 0:
        raise ValueError("[concat] 0-d tensors cannot be joined; use stack")
    (along,) = _normalize_axes(axis, given[0].ndim, "concat")
    return _C.concat(given, along, result_type(*given))


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Tensor:
    """Return the arrays, of one shape, side by side along a new axis.

    Examples
    --------
    >>> flow.stack([flow.zeros(2), flow.ones(2)], axis=1).numpy()
    array([[0., 1.],
           [0., 1.]])
    """
    given = _tensors(arrays, "stack")
    if any(x.shape != given[0].shape for x in given):
        shapes = ", ".join(str(x.shape) for x in given)
        raise ValueError(f"[stack] expected equal shapes, got {shapes}")
    (along,) = _normalize_axes(axis, given[0].ndim + 1, "stack")
    rows = [expand_dims(x, axis=along) for x in given]
    return _C.concat(rows, along, result_type(*given))


def expand_dims(x: Any, /, axis: Axes = 0) -> Tensor:
    """Return a view with new dimensions of size 1 at the positions given.

    Examples
    --------
    >>> flow.expand_dims(flow.zeros((2, 3)), axis=1).shape
    (2, 1, 3)
    """
    given = asarray(x)
    added = 1 if isinstance(axis, int) else len(axis)
    new = _normalize_axes(axis, given.ndim + added, "expand_dims")
    sizes = iter(given.shape)
    shape = [1 if i in new else next(sizes) for i in range(given.ndim + added)]
    return _C.reshape(given, shape, None)


def squeeze(x: Any, /, axis: Axes | None = None) -> Tensor:
    """Return a view without the dimensions given, which are of size 1 (None: all that are).

    Examples
    --------
    >>> flow.squeeze(flow.zeros((1, 3, 1)), axis=0).shape
    (3, 1)
    """
    given = asarray(x)
    if axis is None:
        gone = tuple(i for i, size in enumerate(given.shape) if size == 1)
    else:
        gone = _normalize_axes(axis, given.ndim, "squeeze")
    for i in gone:
        if given.shape[i] != 1:
            raise ValueError(f"[squeeze] expected size 1 along axis {i}, got shape {given.shape}")
    return _C.reshape(given, [n for i, n in enumerate(given.shape) if i not in gone], None)


def flatten(x: Any, /) -> Tensor:
    """Return a copy in one dimension."""
    return _C.reshape(asarray(x), (-1,), True)


def ravel(x: Any, /) -> Tensor:
    """Return the elements in one dimension: a view where strides allow."""
    return _C.reshape(asarray(x), (-1,), None)


def _normalize_axes(axes: Axes, ndim: int, op: str) -> tuple[int, ...]:
    """Return axes as numbers from 0; IndexError out of range, ValueError for one given twice."""
    given = tuple(axes) if isinstance(axes, Sequence) else (axes,)
    normal = []
    for axis in map(operator.index, given):
        if not -ndim <= axis < ndim:
            raise IndexError(f"[{op}] axis {axis} is out of bounds for {ndim} dimensions")
        normal.append(axis % ndim)
    if len(set(normal)) != len(normal):
        raise ValueError(f"[{op}] an axis is given twice: {given}")
    return tuple(normal)


def _tensors(arrays: Sequence[Any], op: str) -> list[Tensor]:
    if isinstance(arrays, Tensor):
        raise TypeError(f"[{op}] expected a sequence of tensors, got one tensor")
    given = [asarray(x) for x in arrays]
    if not given:
        raise ValueError(f"[{op}] expected at least one tensor")
    return given


if not TYPE_CHECKING:
    __all__ = exported(globals())
