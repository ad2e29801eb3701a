"""Arenas: programs that run in turn use the same memory, which is cached where no run has it. That
of runs in the calling thread is one for all; that of segments is a block that fits the largest."""

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable

Run = Callable[..., subprocess.CompletedProcess[str]]


def chain(x: Any) -> Any:
    """Two temporaries at a time."""
    for _ in range(5):
        x = flow.tanh(x + 0.5)
    return x


def compiled(size: int) -> tuple[Executable, flow.Tensor, bytes]:
    """Return a program with an argument, and what its result is."""
    x = flow.tensor(np.random.default_rng(size).normal(size=size))
    run = flow.graph.compile(flow.graph.trace(chain, x).program, mode="inline")
    return run, x, chain(x).numpy().tobytes()


def stats() -> tuple[int, int]:
    flow.synchronize()
    found = flow.memory_stats("cpu")
    return found["in_use"], found["cached"]


def test_all_programs_use_one() -> None:
    programs = [compiled(size) for size in (20_000, 100, 7, 35_000, 12_345, 1)]
    flow.empty_cache("cpu")
    in_use, _ = stats()
    for run, _, _ in programs:
        run.fill_arena(0xA5)
    for _ in range(3):
        for run, x, expected in programs:
            assert run(x)[0].numpy().tobytes() == expected
    assert all(run.report()["runs"]["inline"] == 3 for run, _, _ in programs)
    largest = max(run.report()["arena_bytes"] for run, _, _ in programs)
    flow.empty_cache("cpu")
    held = flow.memory_stats("cpu")["held"]
    for run, x, expected in programs[3:] + programs[:3]:
        assert run(x)[0].numpy().tobytes() == expected
    again, cached = stats()
    assert again == in_use, "no program keeps memory"
    assert largest <= cached
    assert flow.empty_cache("cpu") >= largest
    assert flow.memory_stats("cpu")["held"] == held
    for run, x, expected in programs:
        assert run(x)[0].numpy().tobytes() == expected, "after it was given back"


@pytest.mark.parametrize("where", ["cpu", "mock:0"])
@pytest.mark.parametrize("order", [(3, 1, 2, 0), (0, 1, 2, 3)], ids=["largest first", "smallest"])
def test_segments_of_all_programs_use_one_block(
    run_program: Run, where: str, order: tuple[int, ...]
) -> None:
    code = f"""
import oneflow_lite as flow
WHERE = {where!r}
def sums(x):
    for _ in range(4):
        x = flow.cumulative_sum(x)
    return x.sum()
xs = [flow.full(size, 0.25, device=WHERE) for size in (500_000, 900_000, 1_500_000, 4_000_000)]
expected = [sums(x).item() for x in xs]
runs = [flow.graph.compile(flow.graph.trace(sums, x).program, mode="serial") for x in xs]
def once(k):
    (y,) = runs[k](xs[k])
    assert y.item() == expected[k]
    del y
    flow.synchronize()
flow.synchronize()
flow.empty_cache(WHERE)
before = flow.memory_stats(WHERE)
for k in {order}:
    once(k)
held = flow.memory_stats(WHERE)["cached"] - before["cached"]
arenas = [run.report()["memory"]["arenas"][0]["bytes"] for run in runs]
largest = max(arenas)
assert largest <= held <= 1.2 * largest < 0.75 * sum(arenas), (held, arenas)
for k in {order}:
    once(k)
after = flow.memory_stats(WHERE)
assert after["cached"] - before["cached"] == held, "the second round needs no memory"
assert after["in_use"] == before["in_use"], "no program keeps memory"
assert flow.empty_cache(WHERE) >= largest
with flow.flags(memory_limit=before["in_use"] + largest // 2):
    (y,) = runs[3](xs[3])
    try:
        y.item()
    except flow.OutOfMemoryError as error:
        assert "program.py:" in " ".join(error.__notes__), error.__notes__
    else:
        raise AssertionError("the limit does not hold")
    del y
    try:
        flow.synchronize()
    except flow.OutOfMemoryError:
        pass
    once(0)                                             # which there is room for
once(3)
"""
    done = run_program(code)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_grows_moves() -> None:
    """The addresses that a program had are not those of the arena any more."""
    small, x, expected = compiled(1000)
    small.fill_arena(0xA5)
    for size in (2000, 30_000, 40_000):
        assert small(x)[0].numpy().tobytes() == expected
        large, y, other = compiled(size)
        assert large(y)[0].numpy().tobytes() == other


def test_memory_that_is_short_takes_it(run_program: Run) -> None:
    code = """
import oneflow_lite as flow
def chain(x):
    for _ in range(5):
        x = flow.tanh(x + 0.5)
    return x
x = flow.ones(500_000)                                  # 4 MB
run = flow.graph.compile(flow.graph.trace(chain, x).program, mode="inline")
expected = chain(x).numpy().tobytes()
flow.empty_cache("cpu")
assert run(x)[0].numpy().tobytes() == expected          # 8 MB of arena
assert run.report()["runs"]["inline"] == 1
with flow.flags(memory_limit="18MB"):
    for _ in range(3):
        large = flow.zeros(1_500_000)                   # 12 MB beside x: there is room for no arena
        assert large[-1].item() == 0
        try:
            (y,) = run(x)
            y.numpy()
        except flow.OutOfMemoryError as error:
            assert "program.py:" in " ".join(error.__notes__), error.__notes__
        else:
            raise AssertionError("the limit does not hold")
        try:
            flow.synchronize()
        except flow.OutOfMemoryError:
            pass
        del large, y
        assert run(x)[0].numpy().tobytes() == expected  # the next call works
"""
    done = run_program(code)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["inline", "serial"])
def test_threads_take_turns(mode: str) -> None:

    x = flow.tensor(np.random.default_rng(0).normal(size=3000))
    run = flow.graph.compile(flow.graph.trace(chain, x).program, mode=mode)
    run.fill_arena(0xA5)
    expected = chain(x).numpy().tobytes()
    with ThreadPoolExecutor(4) as pool:
        results = pool.map(lambda _: run(x)[0].numpy().tobytes(), range(400))
        assert all(result == expected for result in results)


def test_runs_after_the_end(run_program: Run) -> None:
    """What is registered before the import is called when the machine has ended. Devices live as
    long as the process, and so does the arena."""
    code = """
import atexit

def late():
    for _ in range(3):
        results = [run(x)[0] for run, x in programs]
        found = [y.numpy().tobytes() for y in results]
        assert found == expected
    print([run.report()["runs"]["inline"] for run, _ in programs])

atexit.register(late)

import oneflow_lite as flow

def chain(x):
    for _ in range(5):
        x = flow.tanh(x + 0.5)
    return x

programs = []
for size in (100, 20_000, 3000):
    x = flow.full(size, 0.25)
    programs.append((flow.graph.compile(flow.graph.trace(chain, x).program, mode="inline"), x))
assert all(run.report()["arena_bytes"] for run, _ in programs)
expected = [chain(x).numpy().tobytes() for _, x in programs]
programs[0][0](programs[0][1])
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.split() == ["[4,", "3,", "3]"]
