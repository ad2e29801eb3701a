"""Random programs give the same bits in every run mode and release mode, at any number of threads.

Memory that a run makes for itself holds poison, so that what is read before it is written shows.
A checker that knows nothing of the planner looks at each plan (support/graphs/plans.py).
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable
from tests.graph.test_random_traces import generators, programs as all_programs, traced, wanted
from tests.support import random_program
from tests.support.graphs import plans
from tests.support.oracle import LAYOUTS, compare

PROGRAMS = 6
MODES = ("auto", "inline", "serial", "parallel", "sequential", "naive")
RELEASES = ("plan", "fast", "event")
FLAGS: dict[str, dict[str, Any]] = {
    "1 thread": {"num_threads": 1},
    "2 threads": {"num_threads": 2, "fusion": "always"},
    "3 threads": {"num_threads": 3, "inline": "0", "fusion": "0"},
    "7 threads": {"num_threads": 7, "fusion": "always", "inline": "0"},
    "naive": {"sync": True},
}
QUICK = ["2 threads"]
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in FLAGS if name not in QUICK]


def programs(layout: Sequence[str], count: int = PROGRAMS) -> Iterator[random_program.Program]:
    found = all_programs()
    for _ in range(count):
        yield next(found).on(layout)


def compiled(one: random_program.Program, layout: Sequence[str], **options: str) -> Executable:
    """Trace anew: the program writes to what it captures."""
    run = flow.graph.compile(traced(one, layout, generators()), **options)
    run.fill_arena(0xA5)
    return run


def check(
    one: random_program.Program, layout: Sequence[str], results: Sequence[Any], label: str
) -> None:
    """Of a first run."""
    expected_results = wanted(one, layout, len(results), generators())
    for (name, expected), x in zip(expected_results, results, strict=True):
        difference = compare(expected, x.numpy())
        assert difference is None, f"seed {one.seed}, {label}, look at {name}: {difference}"


@pytest.mark.parametrize("flags", QUICK + SLOW)
@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_bits_of_each_mode(layout: Sequence[str], flags: str) -> None:
    with flow.flags(**FLAGS[flags]):
        for one in programs(layout):
            for mode in MODES:
                run = compiled(one, layout, mode=mode)
                check(one, layout, run(), mode)
                if mode == "parallel":
                    plans.check(run)
            for release in RELEASES:
                run = compiled(one, layout, mode="serial", release=release)
                check(one, layout, run(), release)
                plans.check(run)


# --- segments


def test_a_chain_is_one_group_that_stays_out_of_memory() -> None:
    def chain(a: Any, b: Any) -> Any:
        return flow.tanh(a * 2 + b) * flow.exp(-a) + flow.sqrt(b)

    given = [flow.tensor(np.random.default_rng(i).uniform(1, 2, 1 << 20)) for i in range(2)]
    run = flow.graph.compile(flow.graph.trace(chain, *given).program)
    (y,) = run(*given)
    assert y.numpy().tobytes() == chain(*given).numpy().tobytes()
    report = run.report()
    (group,) = report["groups"]
    assert len(group["steps"]) == report["steps"] == 8
    assert group["saved_bytes"] == 7 * (8 << 20)
    assert report["memory"]["arenas"][0]["bytes"] == 0
    assert report["runs"]["serial"] == 1


def test_temporaries_of_runs_share_an_arena() -> None:
    def products(x: Any) -> Any:
        for _ in range(6):
            x = flow.sin(x @ x)
        return x

    x = flow.tensor(np.random.default_rng(0).normal(size=(300, 300)))
    run = flow.graph.compile(flow.graph.trace(products, x).program)
    arena = run.report()["memory"]["arenas"][0]
    assert arena["bytes"] == arena["lower_bound"] <= 2 * (300 * 300 * 8 + 64)
    assert any(each["is_in_place"] for each in run.report()["memory"]["in_place"])
    expected = products(x).numpy().tobytes()
    assert run(x)[0].numpy().tobytes() == expected


QUEUED = """
import sys
import oneflow_lite as flow

def products(x):
    for _ in range(6):
        x = flow.sin(x @ x)
    return x

x = flow.full((300, 300), 0.01, device=sys.argv[1])
run = flow.graph.compile(flow.graph.trace(products, x).program, mode="serial")
before = flow.memory_stats(sys.argv[1])["in_use"]
results = [run(x)[0] for _ in range(8)]
flow.synchronize()
print((flow.memory_stats(sys.argv[1])["peak_in_use"] - before) / x.nbytes)
"""


@pytest.mark.process
@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_runs_that_queue_up_do_not_raise_the_peak(device: str) -> None:
    command = [sys.executable, "-c", QUEUED, device]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert float(done.stdout) < 11  # eight results, and the arena of two runs at most


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_independent_strands_share_a_segment(threads: int) -> None:
    def branches(x: Any, y: Any, z: Any) -> Any:
        parts = [flow.tanh(x * i) + flow.sin(y) for i in range(1, 7)]
        before = flow.sum(z)
        z += 1
        return *(flow.exp(part) for part in parts), before

    with flow.flags(num_threads=threads, inline="0", fusion="0"):
        given = [flow.tensor(np.random.default_rng(i).normal(size=3000)) for i in range(3)]
        expected = [each.numpy().tobytes() for each in branches(*given[:2], given[2].copy())]
        program = flow.graph.trace(branches, *given).program
        run = flow.graph.compile(program, mode="parallel")
        run.fill_arena(0xA5)
        for _ in range(20):
            results = run(*given[:2], given[2].copy())
            assert [each.numpy().tobytes() for each in results] == expected
        assert run.report()["runs"]["parallel"] == 20
        assert max(len(each["strands"]) for each in run.report()["segments"]) > 1


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("release", RELEASES)
def test_failures_reach_what_depends_on_them_only(device: str, release: str) -> None:
    def mixed(a: Any, b: Any, c: Any) -> Any:
        inverse = flow.linalg.inv(a)
        before = c * 2
        c += flow.sum(inverse)
        return inverse @ b, b * 3 + 1, before, c + 1, flow.exp(b)

    singular, b = flow.zeros((3, 3), device=device), flow.ones((3, 3), device=device)
    c = flow.ones(3, device=device)
    traced = flow.graph.trace(mixed, singular, b, c)
    run = flow.graph.compile(traced.program, mode="serial", release=release)
    with flow.flags(inline="0"):
        for _ in range(3):
            c = flow.ones(3, device=device)
            product, sound, before, after, exp = run(singular, b, c)
            for lost in (product, after, c):
                with pytest.raises(np.linalg.LinAlgError, match="inv") as caught:
                    lost.numpy()
                assert any("test_run_modes.py" in note for note in caught.value.__notes__)
            assert sound.tolist() == [[4, 4, 4]] * 3
            assert before.tolist() == [2, 2, 2]
            assert exp.numpy()[0, 0] == np.exp(1)
            with pytest.raises(np.linalg.LinAlgError):
                flow.synchronize()
            flow.synchronize()
        identity = flow.tensor(np.eye(3), device=device)
        assert run(identity, b, flow.ones(3, device=device))[3].tolist() == [5, 5, 5]


def test_a_group_with_a_failed_operand_runs_what_it_can() -> None:
    def two(a: Any, x: Any) -> Any:
        lost = flow.sum(flow.linalg.inv(a)) + x * 2
        return lost * 3, flow.exp(x) + 1, flow.tanh(x)

    x = flow.tensor(np.random.default_rng(0).normal(size=200_000))
    with flow.flags(fusion="always", inline="0"):
        run = flow.graph.compile(flow.graph.trace(two, flow.eye(2), x).program)
        assert run.report()["groups"]
        lost, sound, other = run(flow.zeros((2, 2)), x)
        assert sound.numpy().tobytes() == (flow.exp(x) + 1).numpy().tobytes()
        assert other.numpy().tobytes() == flow.tanh(x).numpy().tobytes()
        with pytest.raises(np.linalg.LinAlgError):
            lost.numpy()
        with pytest.raises(np.linalg.LinAlgError):
            flow.synchronize()
        (expected, *_) = two(flow.eye(2), x)
        assert run(flow.eye(2), x)[0].numpy().tobytes() == expected.numpy().tobytes()


def test_options_are_named_when_wrong() -> None:
    program = flow.graph.trace(lambda x: x + 1, flow.ones(2)).program
    with pytest.raises(ValueError, match="mode: expected one of 'auto', .*, got 'fast'"):
        flow.graph.compile(program, mode="fast")
    with pytest.raises(ValueError, match="release: expected one of 'plan', .*, got 'none'"):
        flow.graph.compile(program, release="none")


def test_observers_see_each_step() -> None:
    x = flow.ones(100_000)
    run = flow.graph.compile(flow.graph.trace(lambda x: flow.tanh(x * 2) + 1, x).program)
    with flow.profiler.profile() as trace:
        run(x)[0].numpy()
    assert {"multiply", "tanh", "add"} <= {record.name for record in trace.records}
    with flow.flags(check_nan_inf=True):
        bad = flow.graph.compile(flow.graph.trace(lambda x: flow.log(x - 1) * 0, x).program)
        with pytest.raises(FloatingPointError, match="log"):
            bad(x)[0].numpy()
    with pytest.raises(FloatingPointError):
        flow.synchronize()


# --- copies and kernels at the same time


def pipeline(chunks: list[Any]) -> list[Any]:
    return [(flow.tanh(chunk.to("mock:0")) * 2).cpu() for chunk in chunks]


def test_waits_of_a_pipeline_are_the_fewest() -> None:
    chunks = [flow.full(1000, float(i)) for i in range(4)]
    run = flow.graph.compile(flow.graph.trace(pipeline, chunks).program)
    report = run.report()
    assert sorted(report["lanes"]) == ["mock:0 compute", "mock:0 d2h", "mock:0 h2d"]
    assert [each["steps"] for each in report["segments"]] == [
        ["copy"],
        ["tanh", "multiply"],
        ["copy"],
    ] * 4
    assert report["waits"] == [
        wait for i in range(0, 12, 3) for wait in ((i, i + 1), (i + 1, i + 2))
    ]
    for got, expected in zip(run(*chunks), pipeline(chunks), strict=True):
        assert got.numpy().tobytes() == expected.numpy().tobytes()


# --- processes

LEAVING = """
import os
import sys
import oneflow_lite as flow

def work(x, y):
    for _ in range(4):
        x = flow.tanh(x @ y) + flow.sin(x)
    return x, flow.sum(x)

x = flow.full((400, 400), 0.01, device=sys.argv[1])
y = flow.full((400, 400), 0.01, device=sys.argv[1])
expected = work(x, y)[1].item()
run = flow.graph.compile(flow.graph.trace(work, x, y).program, mode="serial")
results = [run(x, y) for _ in range(5)]
if sys.argv[2] == "fork":
    child = os.fork()
    right = all(total.item() == expected for _, total in results)
    right = right and (sys.argv[1] != "cpu" or run(x, y)[1].item() == expected)
    if child == 0:
        os._exit(0 if right else 3)
    assert right and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
del run
print("left")
"""


@pytest.mark.process
@pytest.mark.parametrize("how", ["exit", "fork"])
@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_a_process_leaves_with_runs_in_flight(device: str, how: str) -> None:
    command = [sys.executable, "-c", LEAVING, device, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "left\n", "")


def test_steps_that_helpers_share_have_the_bits_of_one_thread(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Each result is looked at: helpers wake up for the runs that stay in the calling thread.

    A program of one step stays. One whose steps run as one is made into segments.
    """
    code = """
import numpy as np, oneflow_lite as flow
x = flow.tensor(np.random.default_rng(0).uniform(0.1, 2, 50_003).astype("float32"))
alone = flow.jit(lambda x: [flow.sin(x)])
as_one = flow.jit(lambda x: [flow.sin(x) + x])
for work in (alone, as_one):
    with flow.flags(num_threads=1):
        wanted = [y.numpy().tobytes() for y in work(x)]
    with flow.flags(num_threads=3):
        for _ in range(200):
            assert [y.numpy().tobytes() for y in work(x)] == wanted
for work, kind in ((alone, "inline"), (as_one, "serial")):
    runs = work.report()["runs"][0]["runs"]
    assert runs[kind] > 0, (kind, runs)
"""
    done = run_program(code, inline="50us", fusion="1")
    assert done.returncode == 0, done.stderr
