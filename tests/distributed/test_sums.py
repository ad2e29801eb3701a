"""Sums of blocks have the bits of one rank, however many ranks there are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp, to_global, tree_sum
from tests.support.distributed.programs import DTYPES, on_ranks, random_layout


def tree(blocks: Sequence[Any]) -> Any:
    """The balanced tree, by whatever can be added."""
    level = list(blocks)
    while len(level) > 1:
        pairs = [level[k] + level[k + 1] for k in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) - len(level) % 2 :]
    return level[0]


def blocks_of(count: int, shape: tuple[int, ...], dtype: str, seed: int = 3) -> list[Any]:
    rng = np.random.default_rng(seed)
    values = [np.asarray(rng.standard_normal(shape) * 9, "float32") for _ in range(count)]
    for each in values:
        each.flat[:1] = -0.0  # keeps its sign
    return [flow.tensor(each).astype(dtype) for each in values]


def own_blocks(blocks: list[Any], counts: list[int]) -> list[Any]:
    rank = flow.distributed.rank()
    start = sum(counts[:rank])
    return blocks[start : start + counts[rank]]


COUNTS = {
    1: [[8], [5], [1]],
    2: [[4, 4], [8, 0], [0, 8], [3, 5], [1, 1]],
    3: [[3, 3, 2], [4, 4, 0], [0, 1, 7], [2, 2, 1], [1, 0, 0]],
    4: [[2, 2, 2, 2], [8, 0, 0, 0], [1, 2, 3, 2], [0, 0, 5, 0]],
}


@pytest.mark.parametrize("world", COUNTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_sum_of_blocks_has_the_bits_of_one_rank(dtype: str, world: int) -> None:
    def program() -> None:
        for counts in COUNTS[world]:
            for shape in ((3, 5), (), (0, 2), (70, 90)):
                blocks = blocks_of(sum(counts), shape, dtype)
                expected = tree(blocks)
                found = tree_sum(own_blocks(blocks, counts))
                assert found.shape == shape
                assert found.dtype == expected.dtype
                assert all(each.is_broadcast for each in found.sbp)
                assert found.numpy().tobytes() == expected.numpy().tobytes(), (counts, shape)

    on_ranks(program, world)


def test_eight_blocks_on_many_ranks() -> None:
    """Where all ranks have the same power of two of them, nothing moves but sums."""

    def program(world: int) -> bytes:
        count = 8 // world
        blocks = own_blocks(blocks_of(8, (1000,), "float32"), [count] * world)
        return tree_sum(blocks).numpy().tobytes()

    found = set()
    for world in (1, 2, 4, 8):
        if flow.distributed.world_size() not in (1, world):
            continue
        with flow.profiler.profile() as prof:
            found |= set(on_ranks(program, world, world))
        lane = [each for each in prof.records if " ccl" in each.lane and each.kind == "run"]
        assert {each.name for each in lane} == ({"tree_sum", "reduce"} if world > 1 else set())
    assert len(found) <= 1


def random_sums(device: str, seed: int) -> None:
    """Any numbers of blocks on any ranks of a grid."""
    world = flow.distributed.world_size()
    for number in range(12):
        rng = np.random.default_rng((seed, number))
        ranks = random_layout(rng, device, world, (1,)).placement
        counts = [0] * world
        for place in range(ranks.size):
            counts[ranks.rank_at(place)] = int(rng.integers(6))
        counts[ranks.rank_at(0)] += 1
        starts = np.cumsum([0] + [counts[ranks.rank_at(k)] for k in range(ranks.size)])
        shape = [(3,), (2, 4), (5000,)][rng.integers(3)]
        blocks = blocks_of(int(starts[-1]), shape, "float32", number)
        rank = flow.distributed.rank()
        place = ranks.parallel_id(rank)
        start = 0 if place is None else int(starts[place])
        own = [x.to(device) for x in blocks[start : start + counts[rank]]]
        found = tree_sum(own, placement=ranks)
        assert found.placement == ranks
        if place is None:
            assert found.to_local().size == 0
        else:
            assert found.numpy().tobytes() == tree(blocks).numpy().tobytes(), counts


@pytest.mark.parametrize("device", ["cpu", pytest.param("mock", marks=pytest.mark.slow)])
@pytest.mark.parametrize("world", [1, 2, 3, 4, 6])
def test_random_sums(world: int, device: str) -> None:
    on_ranks(random_sums, world, device, world)


def test_random_sums_in_naive_mode() -> None:
    with flow.flags(sync=True):
        on_ranks(random_sums, 3, "cpu", 42)


GRIDS: list[tuple[int, Any]] = [(2, [0, 1]), (3, [2, 0]), (4, [3, 1, 0, 2]), (4, [[0, 1], [2, 3]])]


@pytest.mark.parametrize(("world", "grid"), GRIDS)
def test_rows_are_blocks(world: int, grid: Any) -> None:
    """In all layouts, also split along other dimensions, and for any number of rows."""

    def program() -> None:
        ranks = placement("cpu", grid)
        choices = [sbp.broadcast, sbp.split(0), sbp.split(1), sbp.partial_sum]
        for rows in (1, 3, 8, 11):
            whole = np.random.default_rng(rows).standard_normal((rows, 5)).astype("float32")
            for first in choices:
                for second in choices:
                    sbps = [first, second][: len(ranks.grid)]
                    x = flow.tensor(whole, placement=ranks, sbp=sbps)
                    found = tree_sum(x)
                    assert found.shape == (5,)
                    if ranks.parallel_id(flow.distributed.rank()) is None:
                        assert found.to_local().size == 0
                        continue
                    expected = tree(list(whole))
                    assert found.numpy().tobytes() == expected.tobytes(), (rows, sbps)

    on_ranks(program, world)


@pytest.mark.parametrize(("world", "grid"), GRIDS)
def test_parts_of_partial_sums_are_blocks(world: int, grid: Any) -> None:
    def program() -> None:
        ranks = placement("cpu", grid)
        here = ranks.parallel_id(flow.distributed.rank())
        for count in (1, 3, 4):
            blocks = blocks_of(count * ranks.size, (6,), "float32")
            start = 0 if here is None else here * count
            own = blocks[start : start + count]
            xs = to_global(own, ranks, [sbp.partial_sum] * len(ranks.grid))
            found = tree_sum(xs)
            if here is not None:
                assert found.numpy().tobytes() == tree(blocks).numpy().tobytes()

    on_ranks(program, world)


def test_a_sum_has_memory_of_its_own() -> None:
    def program() -> None:
        block = flow.ones(3)
        one = placement("cpu", [0])
        found = tree_sum([block], placement=one)
        block += 5
        if flow.distributed.rank() == 0:
            assert found.tolist() == [1.0] * 3

    on_ranks(program, 1)
    on_ranks(program, 2)


WRONG = {
    "shapes": (lambda rank: [flow.ones(3 + rank)], r"rank 0 has blocks of float64 \(3,\), rank 1"),
    "dtypes": (
        lambda rank: [flow.ones(3, dtype="int8" if rank else "int16")],
        r"rank 0 has blocks of int16 \(3,\), rank 1 of int8 \(3,\); all blocks have one",
    ),
    "own shapes": (
        lambda rank: [flow.ones(2), flow.ones(2 + rank)],
        r"rank 1 has blocks of two shapes or dtypes",
    ),
    "none": (lambda rank: [], r"expected a block on at least one rank, got none"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_blocks_are_named_on_all_ranks(name: str) -> None:
    """Those outside the placement hear of it, too."""
    blocks, message = WRONG[name]

    def program() -> None:
        own = blocks(flow.distributed.rank())
        with pytest.raises(ValueError, match=r"\[tree_sum\] " + message):
            tree_sum(own, placement=placement("cpu", [0, 1]))
        # The world goes on.
        assert tree_sum([flow.ones(1)] * 2).tolist() == [6.0]

    on_ranks(program, 3)


def test_wrong_input_of_sums() -> None:
    def program() -> None:
        ranks = placement.all("cpu")
        x = flow.ones((2, 2), placement=ranks, sbp=sbp.partial_sum)
        wrong: Any
        for wrong, message in (
            ([x, flow.ones(2)], r"\[tree_sum\] got tensors of this rank alone and of many ranks"),
            ([1.0], r"\[tree_sum\] expected tensors in the list, got float"),
            (flow.ones((2, 2)), r"\[tree_sum\] expected a list of tensors, got a Tensor"),
        ):
            with pytest.raises(TypeError, match=message):
                tree_sum(wrong)
        with pytest.raises(TypeError, match=r"\[tree_sum\] placement: the blocks are of many"):
            tree_sum([x], placement=ranks)
        with pytest.raises(TypeError, match=r"\[tree_sum\] placement: expected a Placement"):
            tree_sum([flow.ones(2)], placement="cpu")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"\[tree_sum\] expected partial sums"):
            tree_sum([x.to_global(sbp=sbp.broadcast)])
        with pytest.raises(ValueError, match="all blocks have one dtype and one layout"):
            tree_sum([x, x.to_global(sbp=sbp.split(0))])
        with pytest.raises(ValueError, match="got one of 0-d"):
            tree_sum(flow.ones((), placement=ranks))
        with pytest.raises(ValueError, match="expected at least one row, got none"):
            tree_sum(flow.ones((0, 2), placement=ranks, sbp=sbp.split(0)))

    on_ranks(program, 2)
