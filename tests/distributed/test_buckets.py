"""Many tensors go from rank to rank in few collectives, with the bits of one by one."""

import threading
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import DesyncError, RankError, placement, sbp, to_global
from tests.support.distributed.programs import (
    DTYPES,
    SHAPES,
    made,
    on_ranks,
    random_layout,
    ranks_here,
)


def reduces(prof: flow.profiler.Profile) -> int:
    """How many collectives have made partial values whole, on all ranks of this process."""
    records = [each for each in prof.records if " ccl" in each.lane]
    return len([each for each in records if (each.kind, each.name) == ("run", "reduce")])


def errors_of(program: Any, world: int) -> list[BaseException | None]:
    """What each rank raises; an error ends no rank, and nobody is told of it."""

    def caught() -> BaseException | None:
        try:
            program()
        except Exception as error:
            return error
        return None

    return on_ranks(caught, world)


def forget_failures() -> None:
    for _ in range(20):
        try:
            return flow.synchronize()
        except (RankError, DesyncError, ValueError):
            continue


def lists(device: str, seed: int, programs: int) -> None:
    """Random tensors in random layouts, in one list."""
    world = flow.distributed.world_size()
    for number in range(programs):
        rng = np.random.default_rng((seed, number))  # the same on all ranks
        xs = []
        to = random_layout(rng, device, world, (8,))
        for k in range(int(rng.integers(1, 12))):
            shape = SHAPES[rng.integers(len(SHAPES))]
            whole = rng.integers(-3, 4, size=shape).astype(rng.choice(["float32", "int32"]))
            where = random_layout(rng, device, world, shape, ("sum", "max"))
            if rng.integers(4):
                sbps = [
                    sbp.partial_sum if rng.integers(3) else sbp.broadcast for _ in to.placement.grid
                ]
                where = flow.distributed.layout(shape, to.placement, sbps)
            xs.append(made(whole, where, seed + number + k))
        for sbps in (None, [sbp.broadcast] * len(to.sbp)):
            if sbps is None or all(len(x.sbp) == len(sbps) for x in xs):
                found = to_global(xs, placement=to.placement if sbps else None, sbp=sbps)
                for x, y in zip(xs, found, strict=True):
                    one = x.to_global(to.placement if sbps else None, sbps)
                    assert one.layout == y.layout
                    assert one.dtype == y.dtype
                    mine, expected = y.to_local(), one.to_local()
                    assert mine.shape == expected.shape
                    assert mine.numpy().tobytes() == expected.numpy().tobytes()


@pytest.mark.parametrize("device", ["cpu", pytest.param("mock", marks=pytest.mark.slow)])
@pytest.mark.parametrize("world", [1, 2, 3, 4, 6])
def test_a_list_is_as_one_by_one(world: int, device: str) -> None:
    on_ranks(lists, world, device, 10 * world, 10)


def test_a_list_in_naive_mode() -> None:
    with flow.flags(sync=True):
        on_ranks(lists, 3, "cpu", 99, 6)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_bucket_has_the_bits_of_its_tensors(dtype: str) -> None:
    """Zeros keep their signs, and each addition is rounded to the dtype."""

    def program() -> None:
        rng = np.random.default_rng(flow.distributed.rank())
        xs = []
        for shape in ((5,), (), (0, 3), (7, 9), (41,)):
            values = np.asarray(rng.standard_normal(shape) * 5)
            values = np.where(values < -4, -0.0, values)
            local = flow.tensor(values.astype("float32")).astype(dtype)
            xs.append(local.to_global(placement.all("cpu"), sbp.partial_sum))
        for x, y in zip(xs, to_global(xs, sbp=sbp.broadcast), strict=True):
            assert y.dtype == x.dtype
            assert y.numpy().tobytes() == x.full().numpy().tobytes()

    on_ranks(program, 4)


@pytest.mark.parametrize("world", [2, 4])
def test_a_hundred_small_tensors_take_one_collective(world: int) -> None:
    """With more than two ranks, and from 16 KiB on, one to add, and one to tell the sums."""

    def program(together: bool) -> None:
        like = {"placement": placement.all("cpu"), "sbp": sbp.partial_sum}
        xs = [flow.full((16, 16), float(k), dtype="float32", **like) for k in range(100)]
        if together:
            found = to_global(xs, sbp=sbp.broadcast)
        else:
            found = [x.to_global(sbp=sbp.broadcast) for x in xs]
        assert [x.numpy()[3, 4] for x in found] == list(range(100))

    counts = []
    for together in (True, False):
        with flow.profiler.profile() as prof:
            on_ranks(program, world, together)
        counts.append(reduces(prof))
    assert counts == [ranks_here(world) * (1 if world == 2 else 2), ranks_here(world) * 100]


@pytest.mark.parametrize(
    ("sizes", "dtypes", "collectives"),
    [
        ([2, 2, 2], "f", 2),  # (2 2) (2)
        ([1, 5, 1], "f", 2),  # (1 1), and 5 by itself
        ([1, 1, 1], "fif", 2),  # (1 1) of one dtype, (1) of the other
        ([4, 4], "f", 2),
        ([3, 2, 1], "f", 2),  # (3) (2 1): in the order of the list
        ([3, 1, 2], "f", 2),  # (3 1) (2)
    ],
)
def test_the_list_decides_the_buckets(sizes: list[int], dtypes: str, collectives: int) -> None:
    """Sizes in MiB, of at most 4."""

    def program() -> None:
        like = {"placement": placement.all("cpu"), "sbp": sbp.partial_sum}
        xs = [
            flow.ones(size << 18, dtype={"f": "float32", "i": "int32"}[kind], **like)
            for size, kind in zip(sizes, dtypes * 3, strict=False)
        ]
        for x in to_global(xs, sbp=sbp.broadcast):
            assert x.to_local()[-1].item() == 1

    with flow.profiler.profile() as prof:
        on_ranks(program, 2)
    assert reduces(prof) == collectives * ranks_here(2)


def late_list(write: Any) -> list[Any]:
    """Partial sums of two buckets; a function of the machine writes to one of the second."""
    like = {"placement": placement.all("cpu"), "sbp": sbp.partial_sum}
    xs = [flow.ones(3 << 18, dtype="float32", **like) for _ in range(2)]
    xs += [flow.ones(5, dtype="float32", **like) for _ in range(2)]
    flow.vm.host_func(write, writes=[xs[3].to_local()])
    return to_global(xs, sbp=sbp.broadcast)


def test_a_bucket_does_not_wait_for_the_next_one() -> None:
    def program() -> None:
        seen = threading.Event()
        found = late_list(lambda _: seen.wait(60))
        assert found[0].to_local()[-1].item() == 1  # while the others are not computed
        assert not seen.is_set()
        seen.set()
        assert found[2].tolist() == [1.0] * 5

    on_ranks(program, 2)


def test_a_failed_tensor_fails_its_bucket_alone() -> None:
    def program() -> list[str]:
        rank = flow.distributed.rank()

        def write(_: Any) -> None:
            if rank == 1:
                raise ValueError("on purpose")

        found = late_list(write)
        assert found[0].to_local()[-1].item() == 1
        errors = []
        for x in found[2:]:
            with pytest.raises((RankError, ValueError), match="on purpose") as caught:
                x.numpy()
            errors.append(type(caught.value).__name__)
        return errors

    own, others = 2 * ["ValueError"], 2 * ["RankError"]
    assert on_ranks(program, 3) == [others, own, others]
    forget_failures()


def test_locals_are_as_one_by_one() -> None:
    """Of several sbps, sizes and dtypes; outside of the placement nothing is held."""

    def program() -> None:
        rank = flow.distributed.rank()
        for grid in ([0, 1, 2, 3], [2, 0], [[3, 1], [0, 2]]):
            ranks = placement("cpu", grid)
            for choice in (sbp.broadcast, sbp.partial_sum, sbp.split(0), sbp.split(-1)):
                sbps = [choice, sbp.broadcast][: len(ranks.grid)]
                first = ranks.parallel_id(rank) or 0
                own = first // (2 if len(ranks.grid) == 2 else 1)
                cut = choice.dim is not None
                xs = [flow.full((3, 3), float(rank)), flow.arange(6).astype("int16") + rank]
                xs += [flow.full(own if cut else 4, rank + 0.5), flow.zeros((2, 0))]
                found = to_global(xs, ranks, sbps)
                for x, y in zip(xs, found, strict=True):
                    one = x.to_global(ranks, sbps)
                    assert one.layout == y.layout
                    assert y.to_local().dtype == one.to_local().dtype
                    np.testing.assert_array_equal(y.to_local().numpy(), one.to_local().numpy())
                xs[0] += 100  # they have been copied
                np.testing.assert_array_equal(found[0].to_local().numpy() < 100, True)

    on_ranks(program, 4)


def test_locals_take_few_collectives() -> None:
    def program() -> None:
        xs = [flow.full(5, float(flow.distributed.rank() + k)) for k in range(50)]
        found = to_global(xs, placement.all("cpu"), sbp.broadcast)
        assert [x.numpy()[0] for x in found] == list(range(50))

    with flow.profiler.profile() as prof:
        on_ranks(program, 2)
    lane = [each for each in prof.records if " ccl" in each.lane and each.kind == "run"]
    names = sorted(each.name for each in lane)
    assert names == sorted(["to_global", "broadcast"] * ranks_here(2))


@pytest.mark.parametrize("wrong", ["shape", "dtype", "dimensions"])
def test_wrong_locals_are_named_on_all_ranks(wrong: str) -> None:
    def program() -> None:
        last = flow.distributed.rank() == 2
        own = {
            "shape": flow.ones(5 if last else 4),
            "dtype": flow.ones(4, dtype="int8" if last else "float32"),
            "dimensions": flow.ones((4, 1) if last else 4),
        }[wrong]
        to_global([flow.ones(3), own], placement("cpu", [0, 2]), sbp.partial_sum)

    for error in errors_of(program, 3):
        assert isinstance(error, ValueError)
        assert "[to_global] tensor 1: rank 0 has float" in str(error)
        assert "rank 2 has" in str(error)


def test_lists_of_two_lengths() -> None:
    if flow.distributed.world_size() > 1:
        pytest.skip("after it, this world has no collectives")

    def program() -> None:
        xs = [flow.ones(3)] * (2 + flow.distributed.rank())
        to_global(xs, placement.all("cpu"), sbp.partial_sum)

    for error in errors_of(program, 2):
        assert isinstance(error, DesyncError | RankError)
        assert "rank 0: collective 0, to_global of float64 (3,) and 1 more to partial(sum)" in str(
            error
        )
        assert "rank 1: collective 0, to_global of float64 (3,) and 2 more to partial(sum)" in str(
            error
        )
    forget_failures()


def test_wrong_lists() -> None:
    def program() -> None:
        ranks = placement.all("cpu")
        x, local = flow.ones(2, placement=ranks, sbp=sbp.partial_sum), flow.ones(2)
        assert to_global([]) == to_global([], ranks, sbp.broadcast) == []
        assert to_global([x, x])[1] is not None
        wrong: Any
        for wrong, message in (
            ([x, local], r"\[to_global\] got tensors of this rank alone and of many ranks"),
            ([x, 3], r"\[to_global\] expected tensors in the list, got int"),
            ([local], r"need placement= and sbp="),
            (x, r"\[to_global\] expected a list of tensors, got a GlobalTensor"),
        ):
            with pytest.raises(TypeError, match=message):
                to_global(wrong)
        with pytest.raises(TypeError, match=r"sbp: expected an Sbp, got str"):
            to_global([x], sbp=["broadcast"])  # type: ignore[list-item]
        with pytest.raises(TypeError, match=r"placement: expected a Placement, got str"):
            to_global([x], placement="cpu")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="sbp"):
            to_global([x], sbp=[])
        with pytest.raises(ValueError, match=r"rank 99 is not in this world"):
            to_global([x], placement=placement("cpu", [0, 99]))

    on_ranks(program, 2)
