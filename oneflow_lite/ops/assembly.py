"""NumPy's functions that put tensors together, take them apart and pad them."""

import bisect
import itertools
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.exceptions import AxisError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation import asarray, empty
from oneflow_lite.ops.joining import concat
from oneflow_lite.ops.manipulation import flip, transpose
from oneflow_lite.ops.operands import host_array, on_one_device
from oneflow_lite.ops.table import exported

Padding = int | Sequence[int] | Sequence[Sequence[int]]


def vstack(arrays: Sequence[Any], /, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Return the arrays one below the other; those of one dimension are rows. See ``concat``.

    Examples
    --------
    >>> flow.vstack([flow.tensor([1, 2]), flow.tensor([3, 4])]).numpy()
    array([[1, 2],
           [3, 4]])
    """
    given = [_at_least_2d(x) for x in on_one_device(*arrays)]
    return concat(given, 0, dtype=dtype, casting=casting)


def hstack(arrays: Sequence[Any], /, *, dtype: Any = None, casting: str = "same_kind") -> Tensor:
    """Return the arrays side by side, along the second axis or the only one. See ``concat``.

    Examples
    --------
    >>> flow.hstack([flow.tensor([1, 2]), flow.tensor([3])]).numpy()
    array([1, 2, 3])
    """
    given = [_at_least_1d(x) for x in on_one_device(*arrays)]
    axis = 0 if given and given[0].ndim == 1 else 1
    return concat(given, axis, dtype=dtype, casting=casting)


def dstack(arrays: Sequence[Any], /) -> Tensor:
    """Return the arrays one behind the other, along the third axis.

    Examples
    --------
    >>> flow.dstack([flow.tensor([1, 2]), flow.tensor([3, 4])]).shape
    (1, 2, 2)
    """
    return concat([_at_least_3d(x) for x in on_one_device(*arrays)], 2)


def column_stack(arrays: Sequence[Any], /) -> Tensor:
    """Return the arrays side by side; those of one dimension are columns.

    Examples
    --------
    >>> flow.column_stack([flow.tensor([1, 2]), flow.tensor([3, 4])]).numpy()
    array([[1, 3],
           [2, 4]])
    """
    given = on_one_device(*arrays)
    columns = [x if x.ndim > 1 else _C.reshape(x, (-1, 1), None) for x in given]
    return concat(columns, 1)


def atleast_1d(*arrays: Any) -> Any:
    """Return views of at least one dimension: a tensor for one array, else a tuple.

    Examples
    --------
    >>> flow.atleast_1d(flow.tensor(1.0)).shape
    (1,)
    """
    return _each(_at_least_1d, arrays)


def atleast_2d(*arrays: Any) -> Any:
    """Return views of at least two dimensions, new ones in front. As ``atleast_1d``.

    Examples
    --------
    >>> flow.atleast_2d(flow.zeros(3)).shape
    (1, 3)
    """
    return _each(_at_least_2d, arrays)


def atleast_3d(*arrays: Any) -> Any:
    """Return views of at least three dimensions; one becomes the second. As ``atleast_1d``.

    Examples
    --------
    >>> flow.atleast_3d(flow.zeros(3)).shape
    (1, 3, 1)
    """
    return _each(_at_least_3d, arrays)


def array_split(x: Any, parts: int | Sequence[int], /, axis: int = 0) -> list[Tensor]:
    """Return views of x cut along an axis; of equal sizes, or larger by one at the front.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    parts : int or sequence of int
        How many parts, or where they begin.
    axis : int
        Where to cut.

    Examples
    --------
    >>> [part.tolist() for part in flow.array_split(flow.arange(3), 2)]
    [[0, 1], [2]]
    """
    given = asarray(x)
    if not -given.ndim <= operator.index(axis) < given.ndim:
        raise AxisError(f"[split] axis {axis} is out of bounds for {given.ndim} dimensions")
    before, size = (slice(None),) * (axis % given.ndim), given.shape[axis]
    cuts = _cuts(parts)
    if cuts is not None:
        bounds = [0, *cuts, size]
    else:
        count = operator.index(parts)  # type: ignore[arg-type]
        if count <= 0:
            raise ValueError(f"[split] expected at least one part, got {count}")
        each, more = divmod(size, count)
        sizes = [each + 1] * more + [each] * (count - more)
        bounds = [0, *itertools.accumulate(sizes)]
    pairs = itertools.pairwise(bounds)
    return [given[(*before, slice(start, end))] for start, end in pairs]


def split(x: Any, parts: int | Sequence[int], /, axis: int = 0) -> list[Tensor]:
    """Return views of x cut along an axis, of equal sizes. Parameters as for ``array_split``.

    Raises
    ------
    ValueError
        Where the number of parts does not divide the size.

    Examples
    --------
    >>> [part.tolist() for part in flow.split(flow.arange(4), 2)]
    [[0, 1], [2, 3]]
    """
    given = asarray(x)
    if _cuts(parts) is None and -given.ndim <= axis < given.ndim:
        count, size = operator.index(parts), given.shape[axis]  # type: ignore[arg-type]
        if count > 0 and size % count:
            raise ValueError(
                f"[split] {count} parts do not divide the size {size}; array_split does"
            )
    return array_split(given, parts, axis)


def _cuts(parts: Any) -> list[int] | None:
    """Where parts begin, None for a number of parts. A tensor is looked at."""
    given = parts.tolist() if isinstance(parts, (Tensor, np.ndarray)) else parts
    return [operator.index(cut) for cut in list(given)] if isinstance(given, Sequence) else None


def vsplit(x: Any, parts: int | Sequence[int], /) -> list[Tensor]:
    """Return views of x cut along its first axis; see ``split``.

    Examples
    --------
    >>> [part.tolist() for part in flow.vsplit(flow.tensor([[1, 2], [3, 4]]), 2)]
    [[[1, 2]], [[3, 4]]]
    """
    return split(_of_dimensions(x, 2, "vsplit"), parts, 0)


def hsplit(x: Any, parts: int | Sequence[int], /) -> list[Tensor]:
    """Return views of x cut along its second axis, or its only one; see ``split``.

    Examples
    --------
    >>> [part.tolist() for part in flow.hsplit(flow.tensor([[1, 2], [3, 4]]), 2)]
    [[[1], [3]], [[2], [4]]]
    """
    given = _of_dimensions(x, 1, "hsplit")
    return split(given, parts, 1 if given.ndim > 1 else 0)


def dsplit(x: Any, parts: int | Sequence[int], /) -> list[Tensor]:
    """Return views of x cut along its third axis; see ``split``.

    Examples
    --------
    >>> [part.shape for part in flow.dsplit(flow.zeros((2, 2, 4)), 2)]
    [(2, 2, 2), (2, 2, 2)]
    """
    return split(_of_dimensions(x, 3, "dsplit"), parts, 2)


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


def pad(
    x: Any,
    /,
    pad_width: Padding,
    mode: Literal["constant", "edge", "wrap", "reflect", "symmetric"] = "constant",
    *,
    constant_values: Any = 0,
) -> Tensor:
    """Return x with more elements at the ends of its axes.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    pad_width : int, pair of int, or a pair for each axis
        How many before and after.
    mode : {'constant', 'edge', 'wrap', 'reflect', 'symmetric'}
        What they are: ``constant_values``, the last element, those from the other end, or mirrored
        ones (without and with the last).
    constant_values : scalar, pair, or a pair for each axis
        For the mode ``constant``.

    Examples
    --------
    >>> flow.pad(flow.tensor([1, 2, 3]), (1, 2), mode="edge").numpy()
    array([1, 1, 2, 3, 3, 3])
    """
    given = asarray(x)
    widths = _pairs(pad_width, given.ndim)
    if widths.dtype.kind not in "iu":
        raise TypeError(f"[pad] expected integers as pad_width, got {widths.dtype}")
    if (widths < 0).any():
        raise ValueError(f"[pad] pad_width may not be negative, got {pad_width}")
    if mode == "constant":
        return _pad_constant(given, widths.tolist(), _pairs(constant_values, given.ndim))
    if mode not in ("edge", "wrap", "reflect", "symmetric"):
        raise ValueError(f"[pad] unknown mode {mode!r}")
    for axis, (before, after) in enumerate(widths.tolist()):
        if before or after:
            given = _pad_axis(given, axis, (before, after), mode)
    return given if given is not x else _C.copy(given)


def _pad_constant(x: Tensor, widths: list[list[int]], values: npt.NDArray[Any]) -> Tensor:
    """Axis by axis, so that in the corners later axes win."""
    shape = [before + size + after for size, (before, after) in zip(x.shape, widths, strict=True)]
    padded = empty(shape, x.dtype, device=x.device)
    inside = [slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True)]
    _C.assign(padded[(*inside, ...)], x)
    numbers = values.tolist()
    for axis, size in enumerate(shape):
        for value, part in (
            (numbers[axis][0], slice(0, widths[axis][0])),
            (numbers[axis][1], slice(size - widths[axis][1], None)),
        ):
            key = (*(slice(None),) * axis, part, *inside[axis + 1 :])
            _C.assign(padded[key], value)
    return padded


def _pad_axis(x: Tensor, axis: int, width: tuple[int, int], mode: Any) -> Tensor:
    """Joins slices of x: NumPy's padding of the positions says which, in runs of equal steps."""
    try:
        positions = np.pad(np.arange(x.shape[axis]), width, mode)
    except ValueError as error:
        raise ValueError(f"[pad] {error} (shape {x.shape}, axis {axis})") from None
    steps = np.diff(positions).tolist()
    changes = [i for i in range(1, len(steps)) if steps[i] != steps[i - 1]]
    pieces, start = [], 0
    while start < len(positions):
        step = steps[start] if start < len(steps) else 0
        change = bisect.bisect_right(changes, start)
        end = changes[change] + 1 if change < len(changes) else len(positions)
        if abs(step) > 1:
            end, step = start + 1, 0
        ends = sorted((int(positions[start]), int(positions[end - 1])))
        piece = x[(*(slice(None),) * axis, slice(ends[0], ends[1] + 1))]
        if step == 0:
            piece = _C.broadcast_to(piece, (*x.shape[:axis], end - start, *x.shape[axis + 1 :]))
        pieces.append(flip(piece, axis) if step < 0 else piece)
        start = end
    return _C.concat(pieces, axis, x.dtype)


def _pairs(value: Any, ndim: int) -> npt.NDArray[Any]:
    """A number, a pair or a pair for each axis as the latter."""
    given = host_array(value, "pad")
    try:
        return np.broadcast_to(given, (ndim, 2))
    except ValueError:
        raise ValueError(f"[pad] expected a number, a pair or {ndim} pairs, got {value}") from None


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


def _of_dimensions(x: Any, least: int, op: str) -> Tensor:
    given = asarray(x)
    if given.ndim < least:
        raise ValueError(f"[{op}] expected at least {least} dimensions, got shape {given.shape}")
    return given


if not TYPE_CHECKING:
    __all__ = exported(globals())
