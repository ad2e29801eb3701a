"""Padding a tensor at its edges."""

import bisect
import builtins
import functools
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import result_type
from oneflow_lite.ops.creation.data import asarray, ascontiguousarray, empty
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import floor, rint
from oneflow_lite.ops.indexing import take
from oneflow_lite.ops.manipulation.joining import _by_rows_or_columns, concat
from oneflow_lite.ops.manipulation.rearranging import flip
from oneflow_lite.ops.numpy.statistics.quantiles import median
from oneflow_lite.ops.operands import host_array, is_by_columns
from oneflow_lite.ops.places import has_none
from oneflow_lite.ops.statistics.reduction import any, max, mean, min
from oneflow_lite.ops.table import exported

Padding = int | Sequence[int] | Sequence[Sequence[int]] | dict[int, int | tuple[int, int]]
Mode = Literal[
    "constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "minimum",
    "mean", "median", "empty",
]  # fmt: skip
_STATISTICS: dict[str, Callable[..., Tensor]] = {
    "maximum": max,
    "minimum": min,
    "mean": mean,
    "median": median,
}
_MOST_TURNS = 32  # of the step from element to element, up to which slices are joined
# The one argument that a mode has.
_ARGUMENTS = {
    "constant": "constant_values",
    "linear_ramp": "end_values",
    **dict.fromkeys(_STATISTICS, "stat_length"),
    **dict.fromkeys(("reflect", "symmetric"), "reflect_type"),
    **dict.fromkeys(("edge", "wrap", "empty"), ""),
}


@_C.native(_C.paths.pad)
def pad(
    x: Any,
    /,
    pad_width: Padding,
    mode: Mode = "constant",
    *,
    constant_values: Any = None,
    end_values: Any = None,
    stat_length: Any = None,
    reflect_type: Literal["even", "odd"] | None = None,
) -> Tensor:
    """Return x with more elements at the ends of its axes.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    pad_width : int, pair of int, a pair for each axis, or dict
        How many before and after. A dict has an integer or a pair for some axes.
    mode : str
        What they are: ``constant`` (``constant_values``), ``edge`` (the last element), ``wrap``
        (those from the other end), ``reflect`` and ``symmetric`` (mirrored ones, without and with
        the last), ``linear_ramp`` (even steps from the last to ``end_values``), ``maximum``,
        ``minimum``, ``mean`` and ``median`` (of the axis, or of ``stat_length`` elements at its
        end), or ``empty`` (undefined).
    constant_values, end_values : scalar, pair, or a pair for each axis
        0 unless given.
    stat_length : int, pair of int, or a pair for each axis, optional
        None: the whole axis.
    reflect_type : {'even', 'odd'}, optional
        odd: mirrored elements are subtracted from twice the last one.

    Raises
    ------
    TypeError
        For a function as ``mode``, which NumPy calls for each lane: write into a copy instead.
    ValueError
        For an argument of another mode, and for an empty axis unless by ``constant`` or ``empty``.

    Examples
    --------
    >>> flow.pad(flow.tensor([1, 2, 3]), (1, 2), mode="edge").numpy()
    array([1, 1, 2, 3, 3, 3])
    >>> flow.pad(flow.tensor([2.0, 4.0]), 2, mode="linear_ramp").numpy()
    array([0., 1., 2., 4., 2., 0.])
    """
    given = asarray(x)
    widths = _widths(pad_width, given.ndim)
    own = _own_argument(mode, constant_values, end_values, stat_length, reflect_type)
    if mode == "constant":
        return _pad_constant(given, widths, _constants(own, given))
    if mode == "empty":
        return _padded(given, widths)[0]
    if mode in _STATISTICS or mode == "linear_ramp" or reflect_type == "odd":
        return _pad_by_values(given, widths, mode, own)
    if is_by_columns(given):  # and so is the result; no axis is padded by what another one has
        return pad(given.T, widths[::-1], mode).T
    return _pad_by_elements(given, widths, mode)


def _widths(given: Any, ndim: int) -> list[list[int]]:
    """A pair of integers for each axis, checked."""
    if type(given) is int and 0 <= given < 2**63:
        return [[given, given]] * ndim
    if isinstance(given, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in given.items():
            if not -ndim <= axis < ndim:
                raise IndexError(f"[pad] axis {axis} is out of bounds for {ndim} dimensions")
            before, after = width if isinstance(width, tuple) else (width, width)
            pairs[axis] = operator.index(before), operator.index(after)
        given = np.array(pairs, int).reshape(ndim, 2)
    widths = _pairs(given, ndim)
    if widths.dtype.kind not in "iu":
        raise TypeError(f"[pad] expected integers as pad_width, got {widths.dtype}")
    if (widths < 0).any():
        raise ValueError(f"[pad] pad_width may not be negative, got {given}")
    pairs_of_all: list[list[int]] = widths.tolist()
    return pairs_of_all


def _own_argument(mode: Any, constant: Any, end: Any, length: Any, kind: Any) -> Any:
    """The one argument that a mode has, checked; None where it is not given or has none."""
    if callable(mode):
        raise TypeError("[pad] mode: a function would see values; pad with 0, and write what it is")
    if mode not in _ARGUMENTS:
        raise ValueError(f"[pad] unknown mode {mode!r}")
    given = {
        "end_values": end,
        "stat_length": length,
        "reflect_type": kind,
        "constant_values": constant,
    }
    for name, value in given.items():
        if value is not None and name != _ARGUMENTS[mode]:
            raise ValueError(f"[pad] {name} is not an argument of the mode {mode!r}")
    return given.get(_ARGUMENTS[mode])


def _padded(x: Tensor, widths: list[list[int]]) -> tuple[Tensor, list[slice]]:
    """A new tensor with x in it and undefined elements around it, and where x is."""
    shape = [before + size + after for size, (before, after) in zip(x.shape, widths, strict=True)]
    if is_by_columns(x):
        padded = empty(shape[::-1], x.dtype, device=x.device).T
    else:
        padded = empty(shape, x.dtype, device=x.device)
    inside = [slice(before, -after if after else None) for before, after in widths]
    _C.assign(padded[(*inside, ...)], x)
    return padded, inside


def _pad_by_values(x: Tensor, widths: list[list[int]], mode: str, own: Any) -> Tensor:
    """Axis by axis: later axes are padded by what earlier ones have added, as NumPy's are."""
    padded, inside = _padded(x, widths)
    for axis, (size, width) in enumerate(zip(x.shape, widths, strict=True)):
        if isinstance(size, int) and size == 0 and builtins.any(width):
            raise ValueError(
                f"[pad] can't extend empty axis {axis} using modes other than 'constant' or "
                f"'empty' (shape {x.shape})"
            )
    if has_none(x.shape):
        return padded
    lengths = _lengths(own, x.ndim) if mode in _STATISTICS else []
    if mode in ("maximum", "minimum") and builtins.any(0 in pair for pair in lengths):
        raise ValueError("[pad] stat_length of 0 yields no value for padding")
    ends = _ends(own, x.ndim) if mode == "linear_ramp" else []
    for axis, width in enumerate(widths):
        if not builtins.any(width):  # whose extent may be unknown
            continue
        region = padded[(*(slice(None),) * (axis + 1), *inside[axis + 1 :], ...)]
        if mode in _STATISTICS:
            sides = _statistics(region, axis, width, lengths[axis], mode)
        elif mode == "linear_ramp":
            sides = _ramps(region, axis, width, ends[axis])
        else:
            _reflect_odd(region, axis, width, mode)
            continue
        for side, count, part in zip(sides, width, _sides(width), strict=True):
            if side is not None and count:
                _C.assign(region[_along(axis, part)], side)
    return padded


def _along(axis: int, part: slice) -> tuple[Any, ...]:
    return (*(slice(None),) * axis, part, ...)


def _sides(width: Sequence[int]) -> tuple[slice, slice]:
    return slice(0, width[0]), slice(-width[1], None)


def _lengths(given: Any, ndim: int) -> list[list[int | None]]:
    """How many elements at each end of each axis are looked at; None: all."""
    if given is None:
        return [[None, None]] * ndim
    pairs = _pairs(np.round(host_array(given, "pad")).astype(np.intp), ndim)
    if (pairs < 0).any():
        raise ValueError(f"[pad] stat_length may not be negative, got {given}")
    lengths: list[list[int | None]] = pairs.tolist()
    return lengths


def _ends(given: Any, ndim: int) -> list[list[Any]]:
    """The ends of the ramps. As in NumPy, one or two have a dtype; those of each axis are weak."""
    if given is None:
        return [[np.int64(0)] * 2] * ndim
    values = host_array(given, "pad")
    pairs = _pairs(values, ndim)
    return [list(pair) for pair in (pairs if _is_short(values) else pairs.tolist())]


def _statistics(
    region: Tensor, axis: int, width: Sequence[int], lengths: Sequence[int | None], mode: str
) -> list[Tensor | None]:
    """Return what is padded on each side; it is computed from the elements between the two."""
    whole = slice(width[0], -width[1] if width[1] else None)
    of_axis = region[_along(axis, whole)]
    if lengths[0] is None and lengths[1] is None:
        return [_statistic(of_axis, axis, mode)] * 2
    sides: list[Tensor | None] = []
    for k, length in enumerate(lengths):
        if width[k] == 0:
            sides.append(None)
            continue
        chunk = of_axis
        if length is not None and length < of_axis.shape[axis]:
            end = of_axis.shape[axis]
            part = slice(end - length, end) if k else slice(0, length)
            chunk = of_axis[_along(axis, part)]
        sides.append(_statistic(chunk, axis, mode))
    return sides


def _statistic(x: Tensor, axis: int, mode: str) -> Tensor:
    value = _STATISTICS[mode](x, axis=axis, keepdims=True)
    return rint(value) if x.dtype.kind in "iu" and value.dtype.kind == "f" else value


def _ramps(
    region: Tensor, axis: int, width: Sequence[int], ends: Sequence[Any]
) -> list[Tensor | None]:
    """Even steps from an end to the edge, which they leave out."""
    edges = (slice(width[0], width[0] + 1), slice(-width[1] - 1, -width[1] or None))
    sides: list[Tensor | None] = []
    for k, count in enumerate(width):
        if count == 0:
            sides.append(None)
            continue
        ramp = _ramp(ends[k], region[_along(axis, edges[k])], count, axis)
        sides.append(flip(ramp, axis) if k and count > 1 else ramp)
    return sides


def _ramp(start: Any, edge: Tensor, count: int, axis: int) -> Tensor:
    """``count`` of NumPy's ``linspace`` from a number to the elements at an edge."""
    kind: Callable[[int], Any] = type(start)
    is_number = isinstance(start, (int, float, complex, np.number))
    wide = _wide(kind, edge.dtype) if is_number else result_type(start, edge.dtype, 1.0)
    first = asarray(start, wide, device=edge.device)
    distance = _C.astype(edge, wide, False) - first
    if count == 1 and wide.kind == "f":
        ramp = 0 * distance + first
    else:
        shape = [1] * edge.ndim
        shape[axis] = count
        places = _C.reshape(arange(count, device=edge.device), shape, None)
        places = _C.astype(places, wide, False)
        step = distance / count
        exact = places / count * distance  # where a step is too small for its dtype
        ramp = _C.where(any(step == 0), exact, places * step) + first
    return _C.astype(floor(ramp) if edge.dtype.kind in "iu" else ramp, edge.dtype, False)


@functools.lru_cache(maxsize=64)
def _wide(kind: Callable[[int], Any], dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that NumPy's ``linspace`` computes in, from a number to elements."""
    return result_type(kind(0), dtype, 1.0)


def _reflect_odd(region: Tensor, axis: int, width: Sequence[int], mode: str) -> None:
    """Mirrors what is there until both sides are full."""
    before, after = width
    size = region.shape[axis]
    period, offset = size - before - after, int(mode == "symmetric")
    if period == 1:  # which NumPy pads by its element, in both modes
        edge = region[_along(axis, slice(before, before + 1))]
        for count, part in zip(width, _sides(width), strict=True):
            if count:
                _C.assign(region[_along(axis, part)], edge)
        return
    while before or after:
        length = size - before - after
        if offset:
            length = length // period * period
        else:
            length = (length - 1) // (period - 1) * (period - 1)
        if before:
            count = builtins.min(length, before)
            first = before + 1 - offset
            _mirror(
                region, axis, before, slice(first, first + count), slice(before - count, before)
            )
            before -= count
        if after:
            count = builtins.min(length, after)
            end = size - after
            last = end - 1 + offset
            _mirror(region, axis, end - 1, slice(last - count, last), slice(end, end + count))
            after -= count


def _mirror(region: Tensor, axis: int, edge: int, of: slice, to: slice) -> None:
    mirrored = flip(region[_along(axis, of)], axis)
    odd = 2 * region[_along(axis, slice(edge, edge + 1))] - mirrored
    _C.assign(region[_along(axis, to)], odd)


def _pad_constant(x: Tensor, widths: list[list[int]], numbers: list[list[Any]]) -> Tensor:
    """Axis by axis, so that in the corners later axes win."""
    padded, inside = _padded(x, widths)
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
    given = host_array(0 if value is None else value, "pad")
    pairs = _pairs(given, x.ndim)
    element = np.empty((), x.dtype)
    numbers: list[list[Any]] = []
    for pair in pairs if _is_short(given) else pairs.tolist():
        numbers.append([])
        for number in pair:
            element[()] = number
            numbers[-1].append(element.item())
    return numbers


def _is_short(values: npt.NDArray[Any]) -> bool:
    """One number or a pair, which NumPy leaves its dtype."""
    return values.ndim < 3 and (values.size == 1 or (values.size == 2 and values.shape != (2, 1)))


def _pad_by_elements(x: Tensor, widths: list[list[int]], mode: Any) -> Tensor:
    """Axis by axis, of elements of x; a copy where there is nothing to add."""
    padded = _by_rows_or_columns(x)
    for axis, (before, after) in enumerate(widths):
        if before or after:
            padded = _pad_axis(padded, axis, (before, after), mode)
    return padded if padded is not x else _C.astype(padded, padded.dtype, True)


def _pad_axis(x: Tensor, axis: int, width: tuple[int, int], mode: Any) -> Tensor:
    """Joins slices of x: NumPy's padding of the positions says which, in runs of equal steps."""
    if not isinstance(x.shape[axis], int):
        return _pad_unknown(x, axis, width, mode)
    # The same runs come of an axis that is as long as they look into it, from both ends.
    extent = builtins.min(x.shape[axis], 2 * (builtins.max(width) + 2))
    try:
        positions = np.pad(np.arange(extent), width, mode)
    except ValueError as error:
        raise ValueError(f"[pad] {error} (shape {x.shape}, axis {axis})") from None
    steps = np.diff(positions)
    turns = np.flatnonzero(np.diff(steps)) + 1
    if len(turns) > _MOST_TURNS:  # all of x again and again, so the extent is that of x
        return ascontiguousarray(take(x, positions, axis))
    changes = turns.tolist()
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
