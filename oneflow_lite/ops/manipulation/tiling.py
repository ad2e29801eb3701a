"""Repeated elements and repeated tensors."""

import operator
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.shapes import expand_dims, normalize_axes
from oneflow_lite.ops.operands import host_array, is_number_along
from oneflow_lite.ops.table import exported


@_C.native(_C.paths.repeat)
def repeat(x: Any, /, repeats: Any, axis: SupportsIndex | None = None) -> Tensor:
    """Return each element of x, or each slice along an axis, several times.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    repeats : int, or sequence, array or Tensor of int
        How often: for all, or for each. A tensor is looked at: the shape depends on it.
    axis : int, optional
        None: x is flattened first.

    Examples
    --------
    >>> flow.repeat(flow.tensor([1, 2]), 2).numpy()
    array([1, 1, 2, 2])
    >>> flow.repeat(flow.tensor([1, 2]), flow.tensor([3, 1])).numpy()
    array([1, 1, 1, 2])
    """
    given = asarray(x)
    if axis is None or is_number_along(given, axis):
        given, axis = _C.reshape(given, (-1,), None), 0
    (along,) = normalize_axes(operator.index(axis), given.ndim, "repeat")
    if type(repeats) is int and -(2**63) <= repeats < 2**63 and _is_zero(given.shape[along]):
        return _repeated(given, 1, along)  # NumPy takes any number of times that int64 holds
    if type(repeats) is int and repeats >= 0:
        return _repeated(given, repeats, along)
    counts = _counts(repeats, given.shape[along])
    if len(counts) == 1 or (counts[0] == counts).all():
        return _repeated(given, int(counts[0]), along)
    index = np.repeat(np.arange(len(counts)), counts)
    return _C.take(given, index, along, 0)  # 0: as the mode "raise" has it


def _is_zero(size: Any) -> bool:
    """False for a size that a recorded call does not know yet."""
    return isinstance(size, int) and size == 0


def _counts(repeats: Any, size: int) -> npt.NDArray[Any]:
    """What ``repeat`` was given, checked: one count, or one for each of ``size`` slices."""
    counts = host_array(repeats, "repeat")
    if counts.size == 0 and not isinstance(repeats, (Tensor, np.ndarray)):
        counts = counts.astype(int)  # an empty list holds no floats
    if counts.dtype.kind not in "iub" or counts.ndim > 1:
        raise TypeError(
            f"[repeat] expected an integer or integers in one dimension, got {counts.dtype} of "
            f"shape {counts.shape}"
        )
    counts = counts.reshape(-1)
    if len(counts) not in (1, size):
        raise ValueError(f"[repeat] expected 1 or {size} counts, got {len(counts)}")
    if (counts < 0).any():
        raise ValueError(f"[repeat] counts may not be negative, got {counts.min()}")
    return counts if size or len(counts) else np.ones(1, int)


def _repeated(x: Tensor, count: int, axis: int) -> Tensor:
    """Each slice of x along the axis ``count`` times, in a copy."""
    shape = x.shape
    if isinstance(shape[axis], int) and shape[axis] * count > sys.maxsize:
        error = ValueError if count <= sys.maxsize else OverflowError
        raise error(f"[repeat] repeats: {count} times {shape[axis]} elements are too many")
    wide = (*shape[: axis + 1], count, *shape[axis + 1 :])
    rows = _C.broadcast_to(expand_dims(x, axis + 1), wide)
    return _C.reshape(rows, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :]), True)


def tile(x: Any, repetitions: SupportsIndex | Sequence[SupportsIndex], /) -> Tensor:
    """Return copies of x side by side, as many along each axis as given.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    repetitions : int or sequence of int
        Axes are aligned at the last; missing ones are of size 1, or repeated once.

    Examples
    --------
    >>> flow.tile(flow.tensor([1, 2]), (2, 2)).numpy()
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    given = asarray(x)
    counts = _C.integers(repetitions, "tile")
    ndim = max(given.ndim, len(counts))
    times = [1] * (ndim - len(counts)) + list(counts)
    sizes = [1] * (ndim - given.ndim) + list(given.shape)
    if any(n < 0 for n in times):
        raise ValueError(f"[tile] repetitions may not be negative, got {repetitions}")
    if all(n == 1 for n in times):  # as NumPy's copy, in the order of the axes of x
        return _C.reshape(_C.astype(given, given.dtype, True), sizes, None)
    split: list[Any] = []  # an axis of its own for the copies along an axis
    wide: list[Any] = []
    tiled: list[Any] = []
    for n, size in zip(times, sizes, strict=True):
        if n != 1 and not _is_zero(size):
            split.append(1)
            wide.append(n)
        split.append(size)
        wide.append(size)
        tiled.append(size if _is_zero(size) else n * size)
    rows = _C.broadcast_to(_C.reshape(given, split, None), wide)
    return _C.reshape(rows, tiled, True)


if not TYPE_CHECKING:
    __all__ = exported(globals())
