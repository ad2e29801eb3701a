"""Padding a tensor at its edges."""

import bisect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray, ascontiguousarray, empty
from oneflow_lite.ops.manipulation.joining import _by_rows_or_columns, _is_by_columns, concat
from oneflow_lite.ops.manipulation.rearranging import flip
from oneflow_lite.ops.operands import host_array
from oneflow_lite.ops.table import exported

Padding = int | Sequence[int] | Sequence[Sequence[int]]


@_C.native(_C.paths.pad)
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
        return _pad_constant(given, widths.tolist(), _constants(constant_values, given))
    if mode not in ("edge", "wrap", "reflect", "symmetric"):
        raise ValueError(f"[pad] unknown mode {mode!r}")
    if _is_by_columns(given):  # and so is the result; no axis is padded by what another one has
        return pad(given.T, widths[::-1].tolist(), mode).T
    given = _by_rows_or_columns(given)
    for axis, (before, after) in enumerate(widths.tolist()):
        if before or after:
            given = _pad_axis(given, axis, (before, after), mode)
    return given if given is not x else _C.astype(given, given.dtype, True)


def _pad_constant(x: Tensor, widths: list[list[int]], numbers: list[list[Any]]) -> Tensor:
    """Axis by axis, so that in the corners later axes win."""
    shape = [before + size + after for size, (before, after) in zip(x.shape, widths, strict=True)]
    if _is_by_columns(x):
        padded = empty(shape[::-1], x.dtype, device=x.device).T
    else:
        padded = empty(shape, x.dtype, device=x.device)
    inside = [slice(before, -after if after else None) for before, after in widths]
    _C.assign(padded[(*inside, ...)], x)
    for axis, (before, after) in enumerate(widths):
        parts = ((before, slice(0, before)), (after, slice(-after, None)))
        for value, (width, part) in zip(numbers[axis], parts, strict=True):
            if width == 0:
                continue
            key = (*(slice(None),) * axis, part, *inside[axis + 1 :])
            _C.assign(padded[key], value)
    return padded


def _constants(value: Any, x: Tensor) -> list[list[Any]]:
    """Numbers that the dtype of x holds, as NumPy assigns them: one or two are scalars of its own.

    So 300 among uint8 is 44, but an error where each axis has its pair.
    """
    given = host_array(value, "pad")
    pairs = _pairs(given, x.ndim)
    is_short = given.ndim < 3 and (given.size == 1 or (given.size == 2 and given.shape != (2, 1)))
    element = np.empty((), x.dtype)
    numbers: list[list[Any]] = []
    for pair in pairs if is_short else pairs.tolist():
        numbers.append([])
        for number in pair:
            element[()] = number
            numbers[-1].append(element.item())
    return numbers


def _pad_axis(x: Tensor, axis: int, width: tuple[int, int], mode: Any) -> Tensor:
    """Joins slices of x: NumPy's padding of the positions says which, in runs of equal steps."""
    if not isinstance(x.shape[axis], int):
        return _pad_unknown(x, axis, width, mode)
    # The same runs come of an axis that is as long as they look into it, from both ends.
    extent = min(x.shape[axis], 2 * (max(width) + 2))
    try:
        positions = np.pad(np.arange(extent), width, mode)
    except ValueError as error:
        raise ValueError(f"[pad] {error} (shape {x.shape}, axis {axis})") from None
    steps = np.diff(positions)
    changes = (np.flatnonzero(np.diff(steps)) + 1).tolist()
    pieces, start = [], 0
    while start < len(positions):
        step = int(steps[start]) if start < len(steps) else 0
        change = bisect.bisect_right(changes, start)
        end = changes[change] + 1 if change < len(changes) else len(positions)
        if abs(step) > 1:
            end, step = start + 1, 0
        ends = sorted((int(positions[start]), int(positions[end - 1])))
        first, last = (p if 2 * p < extent else p + x.shape[axis] - extent for p in ends)
        piece = x[(*(slice(None),) * axis, slice(first, last + 1))]
        if step == 0:
            shape = (*x.shape[:axis], end - start, *x.shape[axis + 1 :])
            piece = ascontiguousarray(_C.broadcast_to(piece, shape))
        pieces.append(flip(piece, axis) if step < 0 else piece)
        start = end
    return concat(pieces, axis)


def _pad_unknown(x: Tensor, axis: int, width: tuple[int, int], mode: Any) -> Tensor:
    """Joins slices of x, whose extent is not known: none reaches further than x does."""
    before, after = width
    size, around = x.shape[axis], (slice(None),) * axis
    skipped = int(mode == "reflect")
    if mode == "edge":
        left, right = slice(0, 1), slice(size - 1, None)
    elif mode == "wrap":
        left, right = slice(size - before, None), slice(0, after)
    else:
        left = slice(skipped, skipped + before)
        right = slice(size - after - skipped, size - skipped)
    pieces = [x]
    for width_of, part in ((before, left), (after, right)):
        if width_of == 0:
            continue
        piece = x[(*around, part)]
        if mode == "edge":
            shape = (*x.shape[:axis], width_of, *x.shape[axis + 1 :])
            piece = ascontiguousarray(_C.broadcast_to(piece, shape))
        elif mode != "wrap":
            piece = flip(piece, axis)
        pieces = [piece, *pieces] if part is left else [*pieces, piece]
    return concat(pieces, axis)


def _pairs(value: Any, ndim: int) -> npt.NDArray[Any]:
    """A number, a pair or a pair for each axis as the latter."""
    given = host_array(value, "pad")
    try:
        return np.broadcast_to(given, (ndim, 2))
    except ValueError:
        raise ValueError(f"[pad] expected a number, a pair or {ndim} pairs, got {value}") from None


if not TYPE_CHECKING:
    __all__ = exported(globals())
