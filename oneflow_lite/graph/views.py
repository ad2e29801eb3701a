"""Views of values with unknown extents: what a view is, so that it can be made anew.

A view was recorded as numbers: offset, shape and strides in its operand's memory. Where extents are
unknown, these are numbers of stand-ins. The view is decoded to starts and extents along the axes of
its operand, or it is the whole, in another shape; all else is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

from oneflow_lite.graph.extents import NEAR, Dim, Unknowns, sized
from oneflow_lite.graph.ir import Type, row_major

Extent = int | Dim


class UnclearError(Exception):
    """The view cannot be decoded; says why."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Neighbouring axes of an operand whose elements lie without gaps.

    An unknown one is alone, or has a known one behind it, of ``inner`` elements.
    """

    step: int  # bytes from one element to the next
    count: int  # of elements
    extent: Extent  # the same, decoded
    axes: tuple[int, ...]  # the innermost one last
    inner: int = 1

    def step_in(self, given: Type) -> int:
        """Return the step in a type of other extents."""
        for outer, inner in pairwise(self.axes):
            if given.strides[outer] != given.strides[inner] * given.shape[inner]:
                raise UnclearError("its operand lies otherwise")
        return given.strides[self.axes[-1]]


def _runs(given: Type, unknowns: Unknowns) -> list[_Run]:
    """Return the axes of a type by falling strides; those of one element are left out."""
    runs: list[_Run] = []
    axes = [(s, n, d) for d, (n, s) in enumerate(zip(given.shape, given.strides, strict=True))]
    for step, count, axis in sorted((a for a in axes if a[1] != 1), reverse=True):
        extent = unknowns.decode(count)
        if extent is None or step <= 0 or count == 0:
            raise UnclearError("its operand does not lie in a simple way")
        outer = runs[-1] if runs else None
        if outer and outer.step < count * step:
            raise UnclearError("its operand does not lie in a simple way")
        is_one = outer and outer.step == count * step
        if outer and is_one and isinstance(outer.extent, int) and isinstance(extent, int):
            runs[-1] = _Run(step, outer.count * count, outer.extent * extent, (*outer.axes, axis))
        else:
            runs.append(_Run(step, count, extent, (axis,)))
    return runs


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis of a view: it goes through ``run`` (-1: stays) in ``step`` elements."""

    run: int
    step: Extent
    extent: Extent


@dataclass(frozen=True, slots=True)
class Cut:
    """A view that goes along the axes of its operand, some of them cut, turned or left out."""

    dtype: int
    starts: tuple[Extent, ...]  # in each run
    inner: int  # bytes into an element
    axes: tuple[_Axis, ...]
    runs: tuple[_Run, ...]

    def attr(self, operand: Type, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the attributes of the view of an operand of known extents."""
        steps = [run.step_in(operand) for run in self.runs]
        counts = [sized(run.extent, sizes) for run in self.runs]
        starts = [sized(start, sizes) for start in self.starts]
        shape = [sized(axis.extent, sizes) for axis in self.axes]
        low, high = list(starts), list(starts)
        strides = []
        for axis, extent in zip(self.axes, shape, strict=True):
            step = sized(axis.step, sizes)
            strides.append(step if axis.run < 0 else step * steps[axis.run])
            if extent < 0:
                raise UnclearError(f"the extent would be {extent}")
            if axis.run >= 0 and extent > 0:
                reach = low if step < 0 else high
                reach[axis.run] += step * (extent - 1)
        empty = {axis.run for axis, extent in zip(self.axes, shape, strict=True) if extent == 0}
        for number, (first, last, count) in enumerate(zip(low, high, counts, strict=True)):
            if number not in empty and (first < 0 or last >= count):
                raise UnclearError(f"it goes from {first} to {last}, and there are {count}")
        offset = self.inner + sum(a * b for a, b in zip(starts, steps, strict=True))
        return (self.dtype, offset, *shape, *strides)


@dataclass(frozen=True, slots=True)
class Reshaped:
    """The whole of an operand that lies row-major, in another shape."""

    dtype: int
    shape: tuple[Extent, ...]

    def attr(self, operand: Type, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the attributes of the view of an operand of known extents."""
        shape = tuple(sized(n, sizes) for n in self.shape)
        if prod(shape) != operand.size or not _is_dense(operand.shape, operand.strides, operand):
            raise UnclearError(f"its operand has the shape {operand.shape}")
        return (self.dtype, 0, *shape, *row_major(shape, operand.dtype.itemsize))


def decode_view(attr: tuple[int, ...], operand: Type, unknowns: Unknowns) -> Cut | Reshaped:
    """Return what a view is; UnclearError where its numbers do not tell."""
    dtype, offset, *rest = attr
    shape, strides = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    whole = offset == 0 and prod(shape) == operand.size
    if (
        whole
        and _is_dense(shape, strides, operand)
        and _is_dense(operand.shape, operand.strides, operand)
    ):
        extents = unknowns.decoded(shape)
        if extents is None:
            raise UnclearError("its shape is no integer times an unknown extent and another")
        return Reshaped(dtype, extents)
    runs = _runs(operand, unknowns)
    ways = [runs, *(_joined(runs, k) for k in range(1, len(runs)) if _may_join(runs, k))]
    for number, way in enumerate(ways):
        try:
            return _cut(attr, way, unknowns)
        except UnclearError:
            if number + 1 == len(ways):
                raise
    raise AssertionError("there is a way")


def _may_join(runs: list[_Run], k: int) -> bool:
    """An unknown run and a known one behind it lie without a gap."""
    outer, inner = runs[k - 1], runs[k]
    is_dense = outer.step == inner.step * inner.count
    return is_dense and isinstance(outer.extent, Dim) and isinstance(inner.extent, int)


def _joined(runs: list[_Run], k: int) -> list[_Run]:
    outer, inner = runs[k - 1], runs[k]
    count = outer.count * inner.count
    joined = _Run(
        inner.step, count, outer.extent * inner.count, (*outer.axes, *inner.axes), inner.count
    )
    return [*runs[: k - 1], joined, *runs[k + 1 :]]


def _cut(attr: tuple[int, ...], runs: list[_Run], unknowns: Unknowns) -> Cut:
    dtype, offset, *rest = attr
    shape, strides = rest[: len(rest) // 2], rest[len(rest) // 2 :]
    starts, inner = [], offset
    for run in runs:
        start, inner = divmod(inner, run.step)
        starts.append(_start(start, run))
    axes = tuple(_axis(n, s, runs, unknowns) for n, s in zip(shape, strides, strict=True))
    for number, run in enumerate(runs):
        if isinstance(run.extent, Dim):
            through = [pair for pair in zip(axes, shape, strict=True) if pair[0].run == number]
            _check_unknown(run, through)
    return Cut(dtype, tuple(starts), inner, axes, tuple(runs))


def _check_unknown(run: _Run, through: list[tuple[_Axis, int]]) -> None:
    """Refuse axes through an unknown run whose extents may not be linear.

    One axis goes on and on, in steps that divide the known elements; others stay within these.
    """
    long = [axis for axis, n in through if abs(sized(axis.step, {})) * (n - 1) >= run.inner]
    short = [axis for axis, _ in through if axis not in long]
    if len(long) > 1 or any(run.inner % abs(sized(axis.step, {})) for axis in long):
        raise UnclearError("it goes through an unknown extent in steps, or twice")
    if any(isinstance(axis.extent, Dim) for axis in short):
        raise UnclearError("it goes through an unknown extent twice")


def _is_dense(shape: Any, strides: Any, operand: Type) -> bool:
    wanted = row_major(tuple(shape), operand.dtype.itemsize)
    return all(n == 1 or a == b for n, a, b in zip(shape, strides, wanted, strict=True))


def _start(start: int, run: _Run) -> Extent:
    if start >= run.count:
        raise UnclearError("it begins outside of its operand")
    if isinstance(run.extent, int) or start <= NEAR:
        return start
    if run.count - start <= NEAR:
        begin: Extent = run.extent - (run.count - start)
        return begin
    raise UnclearError("it begins in the middle of an unknown extent")


def _axis(count: int, step: int, runs: list[_Run], unknowns: Unknowns) -> _Axis:
    if count == 1 or step == 0:
        extent, stride = unknowns.decode(count), unknowns.decode(step)
        if extent is None or stride is None:
            raise UnclearError("its shape is no integer times an unknown extent and another")
        return _Axis(-1, stride, extent)
    for number, run in enumerate(runs):
        if run.step <= abs(step) and abs(step) % run.step == 0:
            extent = unknowns.decode(count)
            along = abs(step) // run.step
            if extent is None or count == 0 or along * (count - 1) >= run.count:
                raise UnclearError("it goes beyond an axis, or through none of it")
            return _Axis(number, along if step > 0 else -along, extent)
    raise UnclearError("it goes through its operand across the axes")
