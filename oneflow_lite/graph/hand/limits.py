"""What the slices of a program ask of unknown extents, so that they mean the same for others.

A slice of a slice is one view in the program: that the first one had enough elements for the second
one shows in none of its numbers. So each key is looked at when it is used.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from oneflow_lite import _C
from oneflow_lite._C import Tensor, TraceError
from oneflow_lite.graph.hand.extents import Dim, Unknowns, who_knows
from oneflow_lite.graph.ir import Site
from oneflow_lite.graph.sites import at, user_site


class Limit(NamedTuple):
    """Views of the memory of a value need an extent of at least ``least``."""

    value: int
    extent: Dim
    least: int
    site: Site | None


def note_key(x: Tensor, numbers: tuple[int, ...], key: Any) -> None:
    """Write down what ``x[key]`` asks of the unknown extents of x."""
    unknowns = who_knows(x)
    if unknowns is None:
        return
    place = unknowns.recorder.find(x)
    assert place is not None
    shape = [unknowns.decode(number) for number in numbers]
    items = tuple(map(_plain, key if isinstance(key, tuple) else (key,)))
    if not all(x is None or x is ... or _is_basic(x) for x in items):
        return  # an array kernel: its shapes are compared with its operands'
    for extent, least in _asked(unknowns, shape, items):
        limit = Limit(place[0], extent, least, user_site())
        unknowns.limits.setdefault((place[0], repr(extent), least), limit)
    _note_view(unknowns, x, numbers, items)


def _note_view(
    unknowns: Unknowns, x: Tensor, numbers: tuple[int, ...], key: tuple[Any, ...]
) -> None:
    """Write down the line that makes a view, which is in the program only once it is used."""
    items = [_with_numbers(item) for item in key]
    if not any(x is ... for x in items):
        items.append(...)  # a view, whatever the items are
    lying = as_strided(np.empty(1, np.int8), numbers, _C.raw_strides(x))  # none of it is read
    try:
        view = lying[tuple(items)]
    except (IndexError, ValueError):
        return  # x[key] says so
    place = unknowns.recorder.find(x)
    assert place is not None
    value, (dtype, offset, *_) = place[0], place[1] or (_C.type_code(x.dtype), 0)
    start = _address(view) - _address(lying)
    layout = (dtype, offset + start, *view.shape, *view.strides)
    unknowns.views.setdefault((value, layout), user_site())


def _plain(item: Any) -> Any:
    """Return an item of a key with Python's integers in the place of NumPy's."""
    if isinstance(item, slice):
        return slice(*(_plain(x) for x in (item.start, item.stop, item.step)))
    return int(item) if isinstance(item, np.integer) else item


def _is_basic(item: Any) -> bool:
    """It makes views in NumPy as here: a truth, which counts as an integer in Python, does not."""
    return isinstance(item, int | slice | Dim) and not isinstance(item, bool)


def _with_numbers(item: Any) -> Any:
    """Return an item of a key with the numbers that stand for unknown extents."""
    if isinstance(item, slice):
        return slice(*(_with_numbers(x) for x in (item.start, item.stop, item.step)))
    return item.stand_in if isinstance(item, Dim) else item


def _address(x: np.ndarray[Any, Any]) -> int:
    return int(x.__array_interface__["data"][0])


def _asked(unknowns: Unknowns, shape: list[Any], key: tuple[Any, ...]) -> Iterator[tuple[Dim, int]]:
    items = [x for x in key if x is not None]
    if any(isinstance(x, Dim) for x in items):
        return
    if any(x is ... for x in items):
        place = next(i for i, x in enumerate(items) if x is ...)
        items[place : place + 1] = [slice(None)] * (len(shape) - len(items) + 1)
    for extent, item in zip(shape, items, strict=False):
        if isinstance(item, slice) and not isinstance(extent, Dim):
            _check_known(item)
        if isinstance(extent, Dim):
            _check_numbers(unknowns, item)
            yield from (
                _of_slice(extent, item) if isinstance(item, slice) else _of_index(extent, item)
            )


def _check_known(item: slice) -> None:
    """Refuse unknown bounds in a known extent: eager's slice may end at either."""
    for x in (item.start, item.stop):
        if isinstance(x, Dim):
            raise TraceError(
                f"[getitem] the unknown extent {x!r} is a bound in a known extent{at(user_site())}"
            )


def _check_numbers(unknowns: Unknowns, item: int | slice) -> None:
    """Refuse numbers that would be taken for unknown extents."""
    for x in (item.start, item.stop) if isinstance(item, slice) else (item,):
        if isinstance(x, int) and unknowns.meaning(x) is not None:
            raise TraceError(
                f"[getitem] the place {x} is kept for unknown extents{at(user_site())}; take "
                "another one"
            )


def _of_index(extent: Dim, index: int) -> Iterator[tuple[Dim, int]]:
    yield extent, index + 1 if index >= 0 else -index


def _of_slice(extent: Dim, item: slice) -> Iterator[tuple[Dim, int]]:
    """No bound is beyond the extent, and the first one is not behind the second one."""
    bounds = [x for x in (item.start, item.stop) if isinstance(x, int | Dim)]
    is_back = isinstance(item.step, int) and item.step < 0
    for x in bounds:
        if isinstance(x, Dim):
            yield x, 0
            yield from _at_least(extent - x, is_back)
        else:
            yield extent, x + is_back if x >= 0 else -x
    if len(bounds) == 2:
        start, stop = (x if isinstance(x, Dim) or x >= 0 else extent + x for x in bounds)
        yield from _at_least(start - stop if is_back else stop - start, 0)


def _at_least(extent: Dim | int, least: int) -> Iterator[tuple[Dim, int]]:
    if isinstance(extent, Dim):
        yield extent, least
    elif extent < least:
        raise TraceError(f"[getitem] the slice goes beyond its axis, or back{at(user_site())}")
