"""Tensors on ranks that are not there: each rank's part is an array of this process. Steps of
boxing are done by the pieces that ranks send each other, and by nothing else."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from oneflow_lite.distributed import Layout, Step, received, sent

NEUTRAL = {"sum": 0, "prod": 1, "max": -(1 << 40), "min": 1 << 40, "any": 0, "all": 1}
OPERATORS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.maximum,
    "all": np.minimum,
}

Parts = dict[int, np.ndarray[Any, Any]]


def ranks_of(layout: Layout) -> list[int]:
    return [layout.placement.rank_at(i) for i in range(layout.placement.size)]


def coordinates(layout: Layout, rank: int) -> tuple[int, ...]:
    place = layout.placement.parallel_id(rank)
    assert place is not None
    return tuple(int(c) for c in np.unravel_index(place, layout.placement.grid))


def box(layout: Layout, rank: int) -> tuple[slice, ...]:
    found = layout.box(rank)
    assert found is not None
    return found


def distributed(whole: np.ndarray[Any, Any], layout: Layout, rng: np.random.Generator) -> Parts:
    """Parts of a tensor. Each element of a partial one is at a random rank, and the others have the
    neutral element. Numbers that cancel are added to sums. Ranks of one box are cut alike."""
    seed = int(rng.integers(1 << 30))
    partial = [axis for axis, sbp in enumerate(layout.sbp) if sbp.op is not None]
    parts: Parts = {}
    for rank in ranks_of(layout):
        parts[rank] = whole[box(layout, rank)].copy()
    for axis in partial:
        op = layout.sbp[axis].op
        assert op is not None
        for line in lines(layout, axis):
            starts = (s.start for s in box(layout, line[0]))
            rng = np.random.default_rng((seed, axis, *starts))
            keeper = rng.integers(len(line), size=parts[line[0]].shape)
            noise = rng.integers(-5, 5, size=(len(line), *keeper.shape))
            noise[-1] -= noise.sum(0)
            for k, rank in enumerate(line):
                parts[rank] = np.where(keeper == k, parts[rank], NEUTRAL[op])
                if op == "sum":
                    parts[rank] = parts[rank] + noise[k]
    return parts


def lines(layout: Layout, axis: int) -> list[list[int]]:
    """The ranks along one axis of the grid, for each place on the others."""
    grid = layout.placement.grid
    places = np.moveaxis(np.arange(layout.placement.size).reshape(grid), axis, -1)
    return [
        [layout.placement.rank_at(int(i)) for i in row] for row in places.reshape(-1, grid[axis])
    ]


def exchanged(parts: Parts, source: Layout, target: Layout) -> Parts:
    """What all ranks have after the exchange; each piece comes from the rank that sends it."""
    posted = {
        (rank, piece.rank, piece.part, str(piece.box)): None
        for rank in ranks_of(source)
        for piece in sent(source, target, rank)
    }
    operator = next((OPERATORS[s.op] for s in source.sbp if s.op is not None), None)
    found: Parts = {}
    for rank in ranks_of(target):
        own = box(target, rank)
        shape = tuple(s.stop - s.start for s in own)
        values: dict[int, np.ndarray[Any, Any]] = {}
        counts: dict[int, np.ndarray[Any, Any]] = {}
        for piece in received(source, target, rank):
            posted.pop((piece.rank, rank, piece.part, str(piece.box)))  # it was sent, once
            value = values.setdefault(piece.part, np.zeros(shape, np.int64))
            count = counts.setdefault(piece.part, np.zeros(shape, np.int64))
            to = relative(piece.box, own)
            value[to] = parts[piece.rank][relative(piece.box, box(source, piece.rank))]
            count[to] += 1
        assert all((count == 1).all() for count in counts.values()), "each element comes once"
        if not values:
            assert 0 in shape
            values[0] = np.zeros(shape, np.int64)
        ordered = [values[part] for part in sorted(values)]
        found[rank] = reduce(operator, ordered) if operator is not None else ordered[0]
        assert operator is not None or len(ordered) == 1
    assert not posted, "what is sent is received"
    return found


def relative(inner: Sequence[slice], outer: Sequence[slice]) -> tuple[slice, ...]:
    return tuple(
        slice(i.start - o.start, i.stop - o.start) for i, o in zip(inner, outer, strict=True)
    )


def done(parts: Parts, step: Step) -> Parts:
    """A step of boxing."""
    source, target = step.source, step.target
    if step.kind == "slice":
        return {
            rank: parts[rank][relative(box(target, rank), box(source, rank))]
            for rank in ranks_of(source)
        }
    if step.kind != "place":
        return exchanged(parts, source, target)
    assert step.axis is not None
    op, found = target.sbp[step.axis].op, {}
    assert op is not None
    for rank in ranks_of(source):
        own = box(target, rank)
        found[rank] = np.full([s.stop - s.start for s in own], NEUTRAL[op], np.int64)
        is_split = source.sbp[step.axis].dim is not None
        if is_split or coordinates(source, rank)[step.axis] == 0:
            found[rank][relative(box(source, rank), own)] = parts[rank]
    return found


def whole(parts: Parts, layout: Layout) -> np.ndarray[Any, Any]:
    """The tensor; all ranks agree where they hold the same."""
    made = np.zeros(layout.shape, np.int64)
    seen = np.zeros(layout.shape, bool)
    summed = dict(parts)
    for axis in reversed(range(len(layout.sbp))):
        op = layout.sbp[axis].op
        if op is None:
            continue
        for line in lines(layout, axis):
            total = reduce(OPERATORS[op], [summed[rank] for rank in line])
            for rank in line:
                summed[rank] = total
    for rank, part in summed.items():
        own = box(layout, rank)
        assert part.shape == made[own].shape
        assert (part == made[own])[seen[own]].all(), "ranks that hold the same agree"
        made[own], seen[own] = part, True
    assert seen.all()
    return made
