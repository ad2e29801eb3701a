"""Layouts are what numpy.array_split makes, and boxing moves what it has to, once."""

import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import Layout, boxing, layout, placement, received, sbp, sent
from tests.support.distributed.virtual_ranks import box, distributed, done, lines, ranks_of, whole

GRIDS = [(1,), (2,), (3,), (4,), (6,), (2, 2), (2, 3), (3, 2), (1, 4), (2, 2, 2), (3, 1, 2)]
FINGERPRINTS = (9655862523597571429, 4178155608987370998)
SHAPES = [(5,), (7, 3), (2, 9), (6, 4, 5), (1, 3), (0, 4), ()]


def grid_of(grid: tuple[int, ...], first: int = 0, shuffle: int | None = None) -> Any:
    ranks = np.arange(np.prod(grid)) + first
    if shuffle is not None:
        np.random.default_rng(shuffle).shuffle(ranks)
    return placement("cpu", ranks.reshape(grid).tolist())


def random_sbps(rng: np.random.Generator, grid: Any, ndim: int, ops: tuple[str, ...]) -> list[Any]:
    def one() -> Any:
        kind = rng.integers(3)
        if kind == 0 and ndim:
            return sbp.split(int(rng.integers(ndim)))
        if kind == 1 and ops:
            return sbp.partial(str(rng.choice(ops)))
        return sbp.broadcast

    return [one() for _ in grid.grid]


@pytest.mark.parametrize("parts", [1, 2, 3, 7, 16])
def test_splits_are_those_of_numpy(parts: int) -> None:
    for n in range(40):
        x = np.arange(n)
        rows = layout([n], placement("cpu", list(range(parts))), sbp.split(0))
        held = [x[rows.box(rank)] for rank in range(parts)]
        for mine, numpys in zip(held, np.array_split(x, parts), strict=True):
            assert mine.tolist() == numpys.tolist()


def test_later_axes_cut_the_parts_of_earlier_ones() -> None:
    rows = layout((5, 3), placement("cpu", [[0, 1], [2, 3]]), [sbp.split(0), sbp.split(0)])
    assert [s.stop - s.start for s in (box(rows, rank)[0] for rank in range(4))] == [2, 1, 1, 1]


def test_there_is_one_of_each_value() -> None:
    ranks = placement("cpu", [[0, 1], [2, 3]])
    assert placement("cpu", np.arange(4).reshape(2, 2)) == ranks
    assert placement("mock", [[0, 1], [2, 3]]) != ranks
    assert placement("cpu", np.int64(3)) == placement("cpu", 3) == placement("cpu", [3])
    assert placement("cpu", [0, 1, 2, 3]) != ranks
    one = layout((4, 2), ranks, [sbp.split(0), sbp.broadcast])
    assert layout([4, 2], ranks, [sbp.split(-2), sbp.broadcast]) == one
    assert hash(layout([4, 2], ranks, [sbp.split(0), sbp.broadcast])) == hash(one)
    assert layout((4, 2), ranks, [sbp.split(1), sbp.broadcast]) != one
    # The same number in each process, and on each machine.
    assert (ranks.fingerprint(), one.fingerprint()) == FINGERPRINTS
    assert pickle.loads(pickle.dumps((ranks, one, sbp.split(3)))) == (ranks, one, sbp.split(3))
    assert str(one) == "(4, 2) split(0), broadcast on cpu [[0, 1], [2, 3]]"
    assert str(placement("cuda", range(4096))) == "cuda [0..4095]"
    assert sbp.split(0) == sbp.split(0) != sbp.partial_sum == sbp.partial("sum")
    assert {sbp.split(0), sbp.split(0), sbp.broadcast} == {sbp.split(0), sbp.broadcast}


def test_a_rank_outside_holds_nothing() -> None:
    rows = layout((4,), placement("cpu", [3, 1]), sbp.split(0))
    assert (rows.box(3), rows.box(1), rows.box(0)) == ((slice(0, 2),), (slice(2, 4),), None)
    assert received(rows, rows, 0) == sent(rows, rows, 0) == []


def endless() -> list[Any]:
    ranks: list[Any] = []
    ranks.append(ranks)
    return ranks


BAD: dict[str, tuple[type[Exception], str, Any]] = {
    "twice": (ValueError, r"\[placement\] rank 1 comes twice", lambda: placement("cpu", [1, 1])),
    "negative": (ValueError, "rank -1 is negative", lambda: placement("cpu", [-1])),
    "none": (ValueError, "got an empty list", lambda: placement("cpu", [])),
    "ragged": (ValueError, r"got \(1,\) and \(2,\)", lambda: placement("cpu", [[0], [1, 2]])),
    "depths": (TypeError, "got 1", lambda: placement("cpu", [[0], 1])),
    "floats": (TypeError, "expected integers, got 0.5", lambda: placement("cpu", [0.5])),
    "text": (TypeError, "got 'ab'", lambda: placement("cpu", "ab")),
    "type": (ValueError, 'no type of devices "tpu"', lambda: placement("tpu", [0])),
    "operator": (ValueError, 'no operator "mean"; expected sum, ', lambda: sbp.partial("mean")),
    "sbps": (
        ValueError,
        r"expected 2 sbps, one for each axis of the grid \(1, 1\), got 1",
        lambda: layout((2,), placement("cpu", [[0]]), sbp.broadcast),
    ),
    "operators": (
        ValueError,
        r"partial\(sum\) and partial\(max\): their order would count",
        lambda: layout((2,), placement("cpu", [[0]]), [sbp.partial_sum, sbp.partial("max")]),
    ),
    "axis": (
        IndexError,
        r"\[layout\] split\(1\) of a tensor of shape \(2,\), which has 1 dim",
        lambda: layout((2,), placement("cpu", [0]), sbp.split(1)),
    ),
    "a grid without end": (
        ValueError,
        r"\[placement\] ranks: expected a grid of at most 32 axes",
        lambda: placement("cpu", endless()),
    ),
    "a tensor as a rank": (
        TypeError,
        r"\[placement\] ranks: expected integers or lists of them, got an array without",
        lambda: placement("cpu", flow.tensor([1, 2])),
    ),
    "0-d": (
        IndexError,
        r"split\(0\) of a tensor of shape \(\)",
        lambda: layout((), placement("cpu", [0]), sbp.split(0)),
    ),
    "extent": (
        ValueError,
        "extent -2 is negative",
        lambda: layout((-2,), placement("cpu", [0]), sbp.broadcast),
    ),
    "shapes": (
        ValueError,
        r"\[boxing\] from shape \(2,\) to \(3,\)",
        lambda: boxing(*(layout((n,), placement("cpu", [0]), sbp.broadcast) for n in (2, 3))),
    ),
    "partial target": (
        ValueError,
        "no rank gets a partial value",
        lambda: received(
            *(layout((2,), placement("cpu", [0, 1]), s) for s in (sbp.broadcast, sbp.partial_sum)),
            0,
        ),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_gets_a_sentence(name: str) -> None:
    kind, text, call = BAD[name]
    with pytest.raises(kind, match=text):
        call()


def check_boxing(rng: np.random.Generator, source: Layout, target: Layout) -> None:
    values = rng.integers(-50, 50, size=source.shape)
    ops = {s.op for s in (*source.sbp, *target.sbp)}
    if ops & {"any", "all"}:
        values = values & 1
    parts = distributed(values, source, rng)
    assert (whole(parts, source) == values).all()
    at = source
    for step in boxing(source, target):
        assert step.source == at
        parts, at = done(parts, step), step.target
        if step.axis is not None:
            check_one_axis(step)
    assert at == target
    assert (whole(parts, target) == values).all()


def check_one_axis(step: Any) -> None:
    """Ranks along the axis alone take part."""
    assert [k for k, s in enumerate(step.source.sbp) if s != step.target.sbp[k]] == [step.axis]
    if step.kind in ("slice", "place"):
        assert all(step.bytes_received(rank, 8) == 0 for rank in ranks_of(step.source))
        return
    for line in lines(step.source, step.axis):
        for rank in line:
            assert {piece.rank for piece in received(step.source, step.target, rank)} <= set(line)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_boxing_on_one_grid(grid: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(grid))
    ranks = grid_of(grid, first=2, shuffle=len(grid))
    for shape in SHAPES:
        for _ in range(20):
            ops = rng.choice(["sum", "max", "min", "prod", "any", "all"], 2)
            if {"any", "all"} & set(ops):
                ops[:] = ops[0]  # of these, values are 0 and 1
            sides = (random_sbps(rng, ranks, len(shape), (str(op),)) for op in ops)
            check_boxing(rng, *(layout(shape, ranks, side) for side in sides))


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_boxing_between_placements(grid: tuple[int, ...]) -> None:
    rng = np.random.default_rng(sum(grid))
    for other in ((1,), (3,), (2, 2), (2, 1, 3)):
        for first in (0, 1, 9):  # the same ranks, some of them, others
            for shape in ((7, 3), (5,), (0, 2)):
                given = [grid_of(grid), grid_of(other, first, shuffle=first)]
                sides = [(p, random_sbps(rng, p, len(shape), ("sum",))) for p in given]
                check_boxing(rng, *(layout(shape, p, side) for p, side in sides))


KINDS = {
    ("split(0)", "broadcast"): ["gather"],
    ("broadcast", "split(1)"): ["slice"],
    ("split(0)", "split(1)"): ["move"],
    ("partial(sum)", "split(0)"): ["reduce_scatter"],
    ("partial(sum)", "broadcast"): ["reduce"],
    ("partial(sum)", "partial(max)"): ["reduce", "place"],
    ("split(0)", "partial(sum)"): ["place"],
    ("broadcast", "broadcast"): [],
}


@pytest.mark.parametrize(("source", "target"), KINDS)
def test_the_collectives_of_common_cases(source: str, target: str) -> None:
    ranks = placement("cpu", [0, 1, 2, 3])
    by_name = {str(s): s for s in (sbp.split(0), sbp.split(1), sbp.broadcast, sbp.partial_sum)}
    by_name["partial(max)"] = sbp.partial("max")
    steps = boxing(*(layout((64, 64), ranks, by_name[name]) for name in (source, target)))
    assert [step.kind for step in steps] == KINDS[source, target]


def test_bytes_are_those_of_the_table() -> None:
    ranks, size, p = placement("cpu", [0, 1, 2, 3]), 64 * 64 * 4, 4
    small, middle, large = (64, 64), (128, 128), (256, 256)

    def bytes_of(shape: tuple[int, int], source: Any, target: Any) -> int:
        (step,) = boxing(*(layout(shape, ranks, s) for s in (source, target)))
        return step.bytes_received(1, itemsize=4)

    assert bytes_of(small, sbp.split(0), sbp.broadcast) == size * (p - 1) // p
    assert bytes_of(small, sbp.split(0), sbp.split(1)) == size * (p - 1) // p**2
    assert bytes_of(small, sbp.partial_sum, sbp.split(0)) == size * (p - 1) // p
    assert bytes_of(small, sbp.partial_sum, sbp.broadcast) == size * (p - 1)
    assert bytes_of(middle, sbp.partial_sum, sbp.broadcast) == 4 * size * (p - 1)
    assert bytes_of(large, sbp.partial_sum, sbp.broadcast) == 2 * 16 * size * (p - 1) // p


def test_axis_by_axis_or_at_once() -> None:
    """Where splits of two axes meet in one dimension, a step of one axis would move the rest."""
    ranks = grid_of((2, 2))

    def kinds(source: list[Any], target: list[Any]) -> list[str]:
        steps = boxing(*(layout((8, 8), ranks, side) for side in (source, target)))
        return [step.kind for step in steps]

    zero, one, whole_ = sbp.split(0), sbp.split(1), sbp.broadcast
    assert kinds([zero, one], [whole_, whole_]) == ["gather", "gather"]
    assert kinds([whole_, whole_], [zero, zero]) == ["slice", "slice"]
    assert kinds([sbp.partial_sum, zero], [zero, zero]) == ["exchange"]
    assert kinds([sbp.partial_sum, one], [zero, one]) == ["reduce_scatter"]
    assert kinds([zero, zero], [zero, whole_]) == ["gather"]
    assert kinds([zero, zero], [whole_, zero]) == ["exchange"]
    assert kinds([zero, whole_], [whole_, zero]) == ["exchange"]
    assert kinds([sbp.partial_sum, whole_], [zero, zero]) == ["exchange"]
    assert kinds([zero, whole_], [one, zero]) == ["exchange"]
    assert kinds([sbp.partial_sum, zero], [zero, sbp.partial_sum]) == ["place", "reduce_scatter"]


EVERY = (sbp.split(0), sbp.split(1), sbp.broadcast, sbp.partial_sum, sbp.partial("max"))


@pytest.mark.parametrize("grid", [(2, 3), (3, 2)], ids=str)
def test_every_pair_of_layouts(grid: tuple[int, ...]) -> None:
    """A plan moves at most half as much again as an exchange would."""
    rng = np.random.default_rng(7)
    ranks = grid_of(grid)

    def is_valid(side: tuple[Any, ...]) -> bool:
        return len({s.op for s in side} - {None}) < 2

    sides = [side for side in product(EVERY, repeat=2) if is_valid(side)]
    for source, target in product([layout((6, 12), ranks, side) for side in sides], repeat=2):
        check_boxing(rng, source, target)
        if any(s.op for s in target.sbp):
            continue
        moved = sum(s.bytes_received(r, 4) for s in boxing(source, target) for r in range(6))
        pieces = ((piece, r) for r in range(6) for piece in received(source, target, r))
        direct = 4 * sum(elements(piece.box) for piece, r in pieces if piece.rank != r)
        assert moved <= 1.5 * direct, (source, target)


def test_thousands_of_ranks() -> None:
    """Layouts tile, and what is sent is received; each rank looks at few others."""
    many = placement("cpu", np.arange(4096).reshape(64, 64))
    flat = placement("cpu", range(4096))
    shape = (10_000, 4_099)
    tiles = layout(shape, many, [sbp.split(0), sbp.split(1)])
    assert sum((b[0].stop - b[0].start) * (b[1].stop - b[1].start) for b in all_boxes(tiles)) == (
        shape[0] * shape[1]
    )
    for source, target in (
        (tiles, layout(shape, flat, sbp.split(0))),
        (layout(shape, many, [sbp.split(1), sbp.split(1)]), tiles),
        (tiles, layout(shape, many, [sbp.split(1), sbp.split(0)])),
    ):
        looked_at = [0, 1, 63, 64, 2047, 4095]
        for rank in looked_at:
            pieces = received(source, target, rank)
            own = box(target, rank)
            assert sum(elements(piece.box) for piece in pieces) == elements(own)
            assert len(pieces) <= 200
            for piece in pieces:
                back = [p for p in sent(source, target, piece.rank) if p.rank == rank]
                assert [p.box for p in back] == [piece.box]
    summed = layout(shape, flat, sbp.partial_sum)
    assert len(received(summed, layout(shape, flat, sbp.split(0)), 17)) == 4096


def all_boxes(one: Layout) -> list[tuple[slice, ...]]:
    return [box(one, rank) for rank in ranks_of(one)]


def elements(slices: tuple[slice, ...]) -> int:
    return int(np.prod([s.stop - s.start for s in slices]))
