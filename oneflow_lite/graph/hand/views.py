"""Views whose operand gets other extents: a view is told from its numbers, and made anew.

A view was recorded as numbers: offset, shape and strides in its operand's memory. They are taken
apart into starts and extents along the axes of the operand; those that were near the front of an
axis stay there, those near its end stay near the end, and those at an unknown extent stay at it. Or
the view is the whole, in another shape.
All else is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from oneflow_lite.graph.hand.extents import LEAST
from oneflow_lite.graph.ir import Type, row_major

Attr = tuple[int, ...]
Find = Callable[[int], int | None]  # the extent in the place of one; None: it is not known


class UnclearError(Exception):
    """The view cannot be told from its numbers; says why."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring axes of the operand whose elements lie without gaps, before and after.

    One that may change is alone, or has a known one behind it, of ``inner`` elements.
    """

    step: int  # bytes from one element to the next
    count: int  # of elements
    new_step: int
    new_count: int
    inner: int = 1

    @property
    def may_change(self) -> bool:
        return self.count >= LEAST

    def is_before(self, inner: "_Run") -> bool:
        """There is no gap between this and another one, before and after."""
        old, new = inner.step * inner.count, inner.new_step * inner.new_count
        return (self.step, self.new_step) == (old, new)

    def with_inner(self, inner: "_Run") -> "_Run":
        count, new = self.count * inner.count, self.new_count * inner.new_count
        return _Run(inner.step, count, inner.new_step, new, inner.count if self.may_change else 1)


def moved_view(attr: Attr, old: Type, new: Type, find: Find) -> Attr:
    """Return the attributes of a view in an operand of a new type.

    Raises
    ------
    UnclearError
        The numbers do not tell what it is, or the new extents are too small for it.
    """
    shape, strides = _parts(attr)
    whole = attr[1] == 0 and prod(shape) == old.size
    if whole and _is_dense(shape, strides, old) and _is_dense(old.shape, old.strides, old):
        return _reshaped(attr, new, find)
    runs = _runs(old, new)
    ways = [runs]
    for k, (outer, inner) in enumerate(pairwise(runs)):
        if outer.may_change and not inner.may_change and outer.is_before(inner):
            ways.append([*runs[:k], outer.with_inner(inner), *runs[k + 2 :]])
    for way in ways[:-1]:
        try:
            return _cut(attr, way, find)
        except UnclearError:
            continue
    return _cut(attr, ways[-1], find)


def _parts(attr: Attr) -> tuple[Attr, Attr]:
    rest = attr[2:]
    return rest[: len(rest) // 2], rest[len(rest) // 2 :]


def _is_dense(shape: Attr, strides: Attr, given: Type) -> bool:
    wanted = row_major(tuple(shape), given.dtype.itemsize)
    return all(n == 1 or a == b for n, a, b in zip(shape, strides, wanted, strict=True))


def _reshaped(attr: Attr, new: Type, find: Find) -> Attr:
    """The whole, in another shape: one extent may follow from the others."""
    shape, _ = _parts(attr)
    found = [find(n) for n in shape]
    if found.count(None) == 1:
        rest = prod(n for n in found if n is not None)
        if rest == 0 or new.size % rest:
            raise UnclearError("its shape cannot be told")
        found[found.index(None)] = new.size // rest
    extents = tuple(n for n in found if n is not None)
    is_dense = _is_dense(new.shape, new.strides, new)
    if len(extents) < len(shape) or prod(extents) != new.size or not is_dense:
        raise UnclearError("its shape cannot be told")
    return (*attr[:2], *extents, *row_major(extents, new.dtype.itemsize))


def _runs(old: Type, new: Type) -> list[_Run]:
    """Return the axes by falling strides; those of one element are left out."""
    runs: list[_Run] = []
    axes = zip(old.strides, old.shape, new.strides, new.shape, strict=True)
    for step, count, new_step, new_count in sorted((x for x in axes if x[1] != 1), reverse=True):
        run = _Run(step, count, new_step, new_count)
        outer = runs[-1] if runs else None
        if step <= 0 or count == 0 or (outer and outer.step < count * step):
            raise UnclearError("its operand does not lie in a simple way")
        if outer and not outer.may_change and not run.may_change and outer.is_before(run):
            runs[-1] = outer.with_inner(run)
        else:
            runs.append(run)
    return runs


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of a view: it goes through a run (-1: it stays) in steps of elements, or bytes."""

    run: int
    step: int
    old: int  # extents
    new: int


def _cut(attr: Attr, runs: list[_Run], find: Find) -> Attr:
    dtype, inside = attr[:2]
    starts = []
    for run in runs:
        start, inside = divmod(inside, run.step)
        starts.append(_start(start, run, find))
    shape, strides = _parts(attr)
    pairs = zip(shape, strides, strict=True)
    axes = [_axis(n, step, runs, find) for n, step in pairs]
    for number, run in enumerate(runs):
        if run.may_change:
            _check_changing(run, [axis for axis in axes if axis.run == number])
    _check_inside(axes, starts, runs)
    offset = inside + sum(x * run.new_step for x, run in zip(starts, runs, strict=True))
    steps = [x.step * (runs[x.run].new_step if x.run >= 0 else 1) for x in axes]
    return (dtype, offset, *(x.new for x in axes), *steps)


def _start(start: int, run: _Run, find: Find) -> int:
    if not run.may_change or (start < LEAST and start <= run.count // 4):
        return start
    if start >= run.count:
        raise UnclearError("it begins outside of its operand")
    found = find(start)
    if found is not None:
        return found
    if run.count - start <= run.count // 4:
        return run.new_count - (run.count - start)
    raise UnclearError("it begins in the middle of an unknown extent")


def _axis(count: int, step: int, runs: list[_Run], find: Find) -> _Axis:
    if step == 0 or count == 1:
        extent = find(count)
        if extent is None:
            raise UnclearError("its shape cannot be told")
        return _Axis(-1, step if abs(step) < LEAST else 0, count, extent)
    for number, run in enumerate(runs):
        along, rest = divmod(abs(step), run.step)
        if along and not rest:
            if count == 0 or along * (count - 1) >= run.count:
                raise UnclearError("it goes beyond an axis, or through none of it")
            new = _extent(count, along, run, find) if run.may_change else count
            return _Axis(number, along if step > 0 else -along, count, new)
    raise UnclearError("it goes through its operand across the axes")


def _extent(count: int, along: int, run: _Run, find: Find) -> int:
    """Return the extent of an axis through a run that may change: a few, all but a few, or one that
    is told by itself.
    """
    if along * (count - 1) < run.inner or (count < LEAST and along * count <= run.count // 4):
        return count
    found = find(count) if along == 1 else None
    if found is not None:
        return found
    if run.inner % along:
        raise UnclearError("it goes through an unknown extent in steps")
    left = run.count // along - count
    if left * along > run.count // 4:
        raise UnclearError("it is a part of an unknown extent")
    return run.new_count // along - left


def _check_changing(run: _Run, through: list[_Axis]) -> None:
    """Refuse axes whose extents may not be linear.

    One axis may go on and on, in steps that divide the known elements.
    """
    long = [axis for axis in through if abs(axis.step) * (axis.old - 1) >= run.inner]
    if len(long) > 1 or any(run.inner % abs(axis.step) for axis in long):
        raise UnclearError("it goes through an unknown extent in steps, or twice")


def _check_inside(axes: list[_Axis], starts: list[int], runs: list[_Run]) -> None:
    """Refuse what reaches beyond an axis, where eager has a shorter slice, or an error."""
    low, high = list(starts), list(starts)
    empty: set[Any] = set()
    for axis in axes:
        if axis.new < 0:
            raise UnclearError(f"the extent would be {axis.new}")
        if axis.run < 0 or axis.new == 0:
            empty.add(axis.run)
            continue
        reach = low if axis.step < 0 else high
        reach[axis.run] += axis.step * (axis.new - 1)
    for number, (first, last, run) in enumerate(zip(low, high, runs, strict=True)):
        if number not in empty and (first < 0 or last >= run.new_count):
            raise UnclearError(f"it goes from {first} to {last}, and there are {run.new_count}")
