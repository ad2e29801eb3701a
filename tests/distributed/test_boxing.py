"""Tensors of ranks that are threads: parts become one tensor, and go from layout to layout."""

import time
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import layout, placement, sbp
from tests.support.distributed.programs import (
    GRIDS,
    OPS,
    SHAPES,
    check,
    made,
    on_ranks,
    random_layout,
)

DEVICES = ["cpu", pytest.param("mock", marks=pytest.mark.slow)]


def boxings(device: str, seed: int, programs: int) -> None:
    """Random layouts of random tensors, on each rank."""
    world = flow.distributed.world_size()
    for number in range(programs):
        rng = np.random.default_rng((seed, number))  # the same on all ranks
        shape = SHAPES[rng.integers(len(SHAPES))]
        whole = rng.integers(-3, 4, size=shape)
        x = made(whole, random_layout(rng, device, world, shape, OPS), seed + number)
        for _ in range(3):
            to = random_layout(rng, device, world, shape, OPS if rng.integers(4) == 0 else ())
            x = x.to_global(to.placement, to.sbp)
            assert x.layout == to
        check(x, whole)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("world", GRIDS)
def test_random_boxing(world: int, device: str) -> None:
    on_ranks(boxings, world, device, 100 * world, 12)


@pytest.mark.parametrize("device", DEVICES)
def test_random_boxing_in_naive_mode(device: str) -> None:
    with flow.flags(sync=True):
        on_ranks(boxings, 3, device, 7, 10)


def test_parts_of_any_sizes() -> None:
    """They are balanced along the axis that splits."""

    def program() -> None:
        rank = flow.distributed.rank()
        ranks = placement("cpu", [[0, 1], [2, 3]])
        for sizes in ((5, 0), (0, 0), (1, 9), (3, 3)):
            whole = np.arange(sum(sizes) * 3.0).reshape(-1, 3)
            start = sizes[0] if rank >= 2 else 0
            mine = whole[start : start + sizes[rank // 2]]
            x = flow.tensor(mine).to_global(ranks, [sbp.split(0), sbp.broadcast])
            assert x.layout == layout(whole.shape, ranks, [sbp.split(0), sbp.broadcast])
            check(x, whole)

    on_ranks(program, 4)


def test_broadcast_is_the_first_ranks_value() -> None:
    def program() -> list[float]:
        ranks = placement("cpu", [2, 0, 1])
        mine = flow.full(3, float(flow.distributed.rank()))
        x = mine.to_global(ranks, sbp.broadcast)
        mine += 10  # it has been copied
        return x.numpy().tolist()  # type: ignore[no-any-return]

    assert on_ranks(program, 3) == [[2.0] * 3] * 3


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float32", "complex128"])
@pytest.mark.parametrize("count", [1, 100, 20_001])
def test_sums_have_the_bits_of_the_tree(dtype: str, count: int) -> None:
    """On every rank, however large they are, and in each run."""
    rng = np.random.default_rng(5)
    values = [(rng.standard_normal(count) * 100).astype(dtype) for _ in range(5)]
    pairs = [values[0] + values[1], values[2] + values[3], values[4]]
    expected = (pairs[0] + pairs[1]) + pairs[2]

    def program() -> None:
        mine = flow.tensor(values[flow.distributed.rank()])
        x = mine.to_global(placement.all("cpu"), sbp.partial_sum)
        for to in (sbp.broadcast, sbp.split(0)):
            assert x.to_global(sbp=to).full().numpy().tobytes() == expected.tobytes()

    on_ranks(program, 5)


def test_a_nan_is_the_largest() -> None:
    def program() -> None:
        mine = flow.tensor([float("nan") if flow.distributed.rank() == 1 else 1.0, -0.0])
        x = mine.to_global(placement.all("cpu"), sbp.partial("max"))
        assert np.isnan(x.full().numpy()).tolist() == [True, False]

    on_ranks(program, 3)


def test_a_value_that_becomes_partial_keeps_its_bits() -> None:
    """Zeros keep their signs."""
    value = np.array([0.0, -0.0, np.inf, -np.inf, 1.5], "float32")

    def program() -> None:
        x = flow.tensor(value).to_global(placement.all("cpu"), sbp.broadcast)
        for op in ("sum", "max", "min", "prod"):
            y = x.to_global(sbp=sbp.partial(op)).to_global(sbp=sbp.broadcast)
            assert y.numpy().tobytes() == value.tobytes(), op
        z = x.to_global(sbp=sbp.split(0)).to_global(sbp=sbp.partial_sum)
        assert z.full().numpy().tobytes() == value.tobytes()

    on_ranks(program, 3)


def test_what_is_sent_stays_as_it_was() -> None:
    """A collective reads its operands in program order."""

    def program() -> None:
        ranks = placement.all("cpu")
        part = flow.full(1000, float(flow.distributed.rank()))
        x = part.to_global(ranks, sbp.split(0))
        own = x.to_local()
        y = x.to_global(sbp=sbp.broadcast)
        own += 100
        assert y.numpy()[::1000].tolist() == [0.0, 1.0, 2.0]

    on_ranks(program, 3)


def test_a_rank_outside_holds_nothing() -> None:
    def program() -> Any:
        rank = flow.distributed.rank()
        x = flow.ones(4).to_global(placement("cpu", [0, 2]), sbp.split(0))
        y = (x + x).to_global(sbp=sbp.broadcast) * 2
        if rank != 1:
            return y.numpy().tolist()
        assert y.shape == (8,)
        assert y.to_local().size == 0
        assert "nothing" in repr(y)
        with pytest.raises(RuntimeError, match="rank 1 holds nothing"):
            y.numpy()
        return None

    results = on_ranks(program, 3)
    assert results[0] == results[2] == [4.0] * 8


def test_looking_never_communicates() -> None:
    def program() -> None:
        x = flow.arange(4).to_global(placement.all("cpu"), sbp.split(0))
        if flow.distributed.rank() == 0:
            for look in (x.numpy, x.tolist, x.item, lambda: float(x)):
                with pytest.raises(RuntimeError, match=r"full\(\)"):
                    look()
            assert "split(0) on cpu [0, 1]" in repr(x)

    on_ranks(program, 2)


def test_many_are_in_flight() -> None:
    """A rank that is ahead of the others waits for them when there is no more room."""

    def program() -> None:
        x = flow.ones(8).to_global(placement.all("cpu"), sbp.partial_sum)
        if flow.distributed.rank() == 2:
            time.sleep(0.3)  # it is late
        y = x
        for _ in range(700):
            y = (y.to_global(sbp=sbp.broadcast) * 1.0).to_global(sbp=sbp.partial_sum)
            y = y * 1.0
        assert y.full().tolist() == [3.0] * 8

    on_ranks(program, 3)


def test_more_routes_than_are_kept() -> None:
    """What ranks send each other is kept for some thousand pieces; then it is found anew."""

    def program() -> None:
        ranks = placement.all("cpu")
        for rows in (*range(1, 800), *range(1, 800, 100)):
            x = flow.arange(rows, placement=ranks, sbp=sbp.split(0)).to_global(sbp=sbp.broadcast)
            assert np.array_equal(x.to_local().numpy(), np.arange(rows))

    on_ranks(program, 4)


def test_a_world_of_one_needs_no_start() -> None:
    x = flow.arange(6).to_global(placement.all("cpu"), sbp.split(0))
    assert x.to_global(sbp=sbp.broadcast).numpy().tolist() == list(range(6))
    assert (flow.distributed.rank(), flow.distributed.world_size()) == (0, 1)
