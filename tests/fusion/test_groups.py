"""Elementwise operations that follow each other run as one: which, what is saved, and the bits."""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.profiler import profile
from tests.support.fusion import held, saved
from tests.support.fusion_program import SETTINGS, FusionProgram
from tests.support.machine import in_thread
from tests.support.oracle import same

COUNT = int(os.environ.get("OFL_TEST_PROGRAMS", "80"))
ONCE_WRONG = (900133,)  # seeds
N = 50_000
RNG = np.random.default_rng(5)
A = RNG.normal(size=N).astype(np.float32)
B = RNG.random(N).astype(np.float32)
ROWS = RNG.normal(size=(40, 1250)).astype(np.float32)


def chain(xp: Any, a: Any, b: Any) -> Any:
    return xp.tanh(a * 2 + b) * xp.exp(-a) + xp.sqrt(b)


@pytest.mark.parametrize("seed", [*range(COUNT), *ONCE_WRONG])
@pytest.mark.usefixtures("no_warnings")
def test_random_programs_have_numpys_bits(seed: int) -> None:
    program = FusionProgram(seed)
    for setting in SETTINGS:
        with flow.flags(**setting):
            program.run()


def test_a_chain_is_one_group_and_only_its_result_is_in_memory() -> None:
    counts = saved(chain, A, B)
    assert counts == {"groups": 1, "instructions": 8, "results": 7, "bytes": 7 * A.nbytes}


def test_memory_holds_no_intermediate_result() -> None:
    a, b = flow.tensor(np.tile(A, 40)), flow.tensor(np.tile(B, 40))  # 8 MB each
    flow.synchronize()
    flow.empty_cache()
    with held(a, b):
        result = chain(flow, a, b)
    flow.synchronize()
    stats = flow.memory_stats("cpu")
    assert stats["peak_in_use"] >= stats["in_use"]
    assert stats["cached"] < result.nbytes  # an intermediate result would be here now


def test_the_flag_turns_it_off() -> None:
    with flow.flags(fusion=False):
        assert saved(chain, A, B)["groups"] == 0


def test_what_has_a_name_is_written() -> None:
    def program(xp: Any, a: Any, b: Any) -> tuple[Any, ...]:
        doubled = a * 2
        moved = doubled + b
        return doubled, moved, xp.exp(moved)

    assert saved(program, A, B) == {"groups": 1, "instructions": 3, "results": 0, "bytes": 0}


def test_a_copy_that_turns_an_array_is_alone() -> None:
    x = RNG.normal(size=(300, 333)).astype(np.float32)

    def turned(xp: Any, x: Any) -> Any:
        return xp.concatenate([x.T, x.T])

    def straight(xp: Any, x: Any) -> Any:
        return xp.concatenate([x, x])

    assert saved(turned, x)["groups"] == 0
    assert saved(straight, x)["groups"] == 1


def test_casts_comparisons_scalars_and_where() -> None:
    def program(xp: Any, a: Any, b: Any) -> Any:
        wide = (a.astype(xp.float64) > b) & (b < 0.5)
        return xp.where(wide, a + 1, 2 - b).astype(xp.float16)

    counts = saved(program, A, B)
    assert counts["groups"] == 1
    assert counts["results"] == counts["instructions"] - 1


@pytest.mark.parametrize("shape", [(1250,), (40, 1), (1, 1), ()])
def test_broadcast_operands(shape: tuple[int, ...]) -> None:
    other = np.asarray(RNG.normal(size=shape), np.float32)
    counts = saved(lambda xp, x, y: xp.exp((x - y) * y) + x, ROWS, other)
    assert counts["groups"] == 1
    assert counts["instructions"] >= 4


@pytest.mark.parametrize("axis", [-1, None])
def test_a_reduction_at_the_end(axis: int | None) -> None:
    counts = saved(lambda xp, x: (x * x).sum(axis=axis), ROWS)
    assert (counts["groups"], counts["instructions"], counts["results"]) == (1, 2, 1)


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(xp: Any, x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("program", [softmax, layer_norm])
def test_rows_are_reduced_on_the_way(program: Callable[[Any, Any], Any]) -> None:
    """Each row passes through the cache once: one group, and only the result is written."""
    counts = saved(program, ROWS)
    assert counts["groups"] == 1
    assert counts["results"] == counts["instructions"] - 1


def in_place(xp: Any, a: Any, b: Any) -> Any:
    a *= 2
    a += b
    xp.exp(a, out=a)
    return a + b, a


def shifted(xp: Any, a: Any, b: Any) -> Any:
    a[1:] += a[:-1]  # reads what it writes, elsewhere
    return a * b


def transposed(xp: Any, a: Any, b: Any) -> Any:
    square = (a + b)[:40_000].reshape(200, 200)
    square += square.T * 2
    return square * 2


def stencil(xp: Any, a: Any, b: Any) -> Any:
    grid = (a * b)[:40_000].reshape(200, 200)
    return (grid[1:-1, :-2] + grid[1:-1, 2:] + grid[:-2, 1:-1] + grid[2:, 1:-1]) * 0.25


def overwritten(xp: Any, a: Any, b: Any) -> Any:
    doubled = a * 2
    a[...] = b
    return doubled + a


def parts(xp: Any, a: Any, b: Any) -> Any:
    z = a + 1j * b
    z.real[...] *= 2
    return z * z, abs(z)


@pytest.mark.parametrize(
    "program",
    [in_place, shifted, transposed, stencil, overwritten, parts],
    ids=lambda p: p.__name__,
)
def test_aliases_and_writes_in_place(program: Callable[..., Any]) -> None:
    saved(program, A, B)


def test_a_failed_operand_is_not_taken_along() -> None:
    a, b = flow.tensor(A), flow.tensor(np.arange(N))
    with held(a, b):
        bad = b**-b  # integers to negative powers: fails when it runs
        worse = bad * 2 + 1
        good = (a * 2 + 1) * a
    with pytest.raises(ValueError, match="negative integer powers") as error:
        worse.numpy()
    assert any("test_groups.py" in note for note in error.value.__notes__)
    same((A * 2 + 1) * A, good)
    with pytest.raises(ValueError, match="negative"):
        flow.synchronize()


def test_without_memory_for_a_group_they_run_one_by_one() -> None:
    """The one that does not fit fails, and what does not need it is there."""
    a = flow.tensor(np.ones(1 << 18))  # 2 MiB
    flow.synchronize()
    flow.empty_cache()
    limit = flow.memory_stats("cpu")["in_use"] + (5 << 20)
    with flow.flags(memory_limit=limit):
        with held(a):
            kept = [a + i for i in range(4)]
        outcomes = []
        for tensor in kept:
            try:
                outcomes.append(float(tensor[0].item()))
            except MemoryError:
                outcomes.append(None)
        with pytest.raises(MemoryError):
            flow.synchronize()
    assert outcomes[:2] == [1.0, 2.0]
    assert None in outcomes
    same(np.ones(1 << 18) + 5, a + 5)


def test_a_look_does_not_wait_for_what_was_issued_later() -> None:
    """While a thread waits for one result, nothing younger joins its group."""
    a = flow.tensor(A)
    with profile() as prof:
        with held(a):
            first = a * 2
            waits = flow.vm.stats()["host_waits"]
            looked = in_thread(first.numpy)
            while flow.vm.stats()["host_waits"] == waits:
                time.sleep(0)  # lets the other thread come to its wait
            rest = [a + i for i in range(20)]
        looked.join()
        flow.synchronize()
    runs = {r.seq: r for r in prof.records if r.kind == "run" and r.name in ("multiply", "add")}
    young = [r for r in runs.values() if r.group and r.group == min(runs)]
    assert all(r.name == "multiply" for r in young)
    same(A + 19, rest[-1])


def test_groups_are_in_the_trace() -> None:
    a, b = flow.tensor(A), flow.tensor(B)
    with profile() as prof, held(a, b):
        result = chain(flow, a, b)
    slices = [e for e in prof.events if e["ph"] == "X" and e["name"].startswith("fused ")]
    assert [e["name"].split()[1:3] for e in slices] == [["multiply", "add"]]
    (group,) = slices
    assert len(group["args"]["operations"]) == 8
    assert group["args"]["saved_bytes"] == 7 * result.nbytes
    assert all("test_groups.py" in one["site"] for one in group["args"]["operations"])


def test_several_threads_issue_chains() -> None:
    a, b = flow.tensor(A), flow.tensor(B)
    wanted = chain(np, A, B)
    results: list[np.ndarray] = []

    def work() -> None:
        for _ in range(20):
            results.append(chain(flow, a, b).numpy())

    threads = [in_thread(work) for _ in range(4)]
    for thread in threads:
        thread.join()
    assert len(results) == 80
    assert all((result == wanted).all() for result in results)


def test_a_group_ends_where_the_iteration_ends() -> None:
    """Operations over other elements run by themselves, or in a group of their own."""

    def program(xp: Any, a: Any, b: Any) -> Any:
        return (a * 2 + 1, b[: N // 2] * 3 + 1)

    counts = saved(program, A, B)
    assert (counts["groups"], counts["instructions"], counts["results"]) == (2, 4, 2)


@pytest.mark.parametrize(
    "length",
    [255, 257, 1023, 1025, 2047, 4095, 4096, 8191, 8192, 8193, 16384, 65535, 65536 * 3 + 5],
)
def test_lengths_around_tiles(length: int) -> None:
    a, b = np.resize(A, length), np.resize(B, length)
    saved(chain, a, b)
    saved(lambda xp, x, y: (x * y).sum(), a, b)
    saved(lambda xp, x, y: (x.astype(xp.int32) * 3).sum(), a, b)
