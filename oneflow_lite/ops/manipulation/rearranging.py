"""Elements in another order: reversed, or shifted along axes."""

import itertools
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray, empty_like
from oneflow_lite.ops.manipulation.shapes import Axes, normalize_axes
from oneflow_lite.ops.operands import integers
from oneflow_lite.ops.table import exported


@_C.native(_C.paths.flip)
def flip(x: Any, /, axis: Axes | None = None) -> Tensor:
    """Return a view in the opposite order along some axes (None: all).

    Examples
    --------
    >>> flow.flip(flow.arange(3)).numpy()
    array([2, 1, 0])
    """


@_C.native(_C.paths.roll)
def roll(x: Any, /, shift: Axes, axis: Axes | None = None) -> Tensor:
    """Return a copy with the elements moved along axes; what leaves at an end enters at the other.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    shift : int, or sequence, array or Tensor of int
        By how many places, for each axis or for all of them. A tensor is looked at.
    axis : int or sequence of int, optional
        Where; None: x is moved as if it had one dimension. An axis may come more than once.

    Examples
    --------
    >>> flow.roll(flow.arange(5), 2).numpy()
    array([3, 4, 0, 1, 2])
    """
    given = asarray(x)
    if axis is None:
        flat = _C.reshape(given, (-1,), None)
        return _C.reshape(roll(flat, sum(integers("roll", shift)), 0), given.shape, None)
    shifts = [0] * given.ndim
    for places, along in _pairs(shift, axis):
        (normal,) = normalize_axes(along, given.ndim, "roll")
        shifts[normal] += places
    # Each axis falls into two parts, which change places.
    parts = [_parts(size, places) for size, places in zip(given.shape, shifts, strict=True)]
    rolled = empty_like(given)  # no part of it is turned when it is copied
    for pairs in itertools.product(*parts):
        target = rolled[(*(to for to, _ in pairs), ...)]
        _C.assign(target, given[(*(of for _, of in pairs), ...)])
    return rolled


def _parts(size: int, places: int) -> list[tuple[slice, slice]]:
    """Where parts of an axis go, and where they come from; an unknown size is no int."""
    if places == 0 or (isinstance(size, int) and (size == 0 or places % size == 0)):
        return [(slice(None), slice(None))]
    first = places % size if isinstance(size, int) else places if places > 0 else size + places
    return [
        (slice(first, None), slice(None, size - first)),
        (slice(None, first), slice(size - first, None)),
    ]


def _pairs(shift: Axes, axis: Axes) -> list[tuple[int, int]]:
    """Shifts and axes side by side, one of either stands for many."""
    shifts, axes = integers("roll", shift), integers("roll", axis)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ValueError(f"[roll] expected as many shifts as axes, got {shift} and {axis}")
    count = len(shifts) if len(axes) == 1 else len(axes)
    shifts, axes = (n * count if len(n) == 1 else n for n in (shifts, axes))
    return list(zip(shifts, axes, strict=True))


if not TYPE_CHECKING:
    __all__ = exported(globals())
