"""A profile of a program shows the program that runs: its segments, and each step in them."""

import json
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.graph import Executable
from oneflow_lite.profiler import Profile, profile
from tests.support.machine import here, run_in_threads

FIRST = here() + 4


def work(x: Any) -> Any:
    y = flow.tanh(x * 2) + 1
    z = y @ y
    return flow.exp(z * 1e-6) - z, flow.sum(y)


LINES = {
    "multiply": {FIRST, FIRST + 2},
    "tanh": {FIRST},
    "add": {FIRST},
    "matmul": {FIRST + 1},
    "exp": {FIRST + 2},
    "subtract": {FIRST + 2},
    "sum": {FIRST + 2},
}


def given(device: str = "cpu", size: int = 300) -> flow.Tensor:
    return flow.tensor(np.random.default_rng(0).normal(size=(size, size)), device=device)


def compiled(x: flow.Tensor, **options: str) -> Executable:
    return flow.graph.compile(flow.graph.trace(work, x).program, **options)


def steps_of(prof: Profile) -> list[Any]:
    return [r for r in prof.records if r.kind == "step"]


def check_inside(prof: Profile, lanes_of_helpers: bool = False, cut: int = 0) -> None:
    """Each step is inside of what ran it, and steps of one lane do not overlap.

    ``cut`` instructions at most were running when the profile began or ended, and have steps alone.
    """
    runs = [r for r in prof.records if r.kind == "run"]
    whole = {r.seq for r in runs}
    assert len({step.seq for step in steps_of(prof)} - whole) <= cut
    for step in steps_of(prof):
        if step.seq not in whole:
            continue
        around = [
            r for r in runs if r.seq == step.seq and r.begin <= step.begin <= step.end <= r.end
        ]
        assert len(around) == 1, step
        assert lanes_of_helpers or around[0].lane == step.lane
    for lane in prof.lanes:
        slices = [
            (begin, end)
            for (begin, end, _), _ in groupby(
                (r.begin, r.end, r.group) for r in steps_of(prof) if r.lane == lane
            )
        ]
        for (_, end), (begin, _) in pairwise(sorted(set(slices))):
            assert end <= begin


@pytest.fixture
def handed_over() -> Iterator[None]:
    with flow.flags(inline="0", fusion="always"):
        yield


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("mode", ["serial", "parallel", "sequential"])
def test_segments_tell_of_their_steps(device: str, mode: str, handed_over: None) -> None:
    x = given(device)
    run = compiled(x, mode=mode)
    expected = [y.numpy().tobytes() for y in run(x)]
    with profile() as prof:
        assert [y.numpy().tobytes() for y in run(x)] == expected
    report = run.report()
    assert (report["runs"][mode], report["runs"]["naive"]) == (2, 0)
    steps = steps_of(prof)
    names = [name for each in report["segments"] for name in each["steps"]]
    assert sorted(step.name for step in steps) == sorted(names)
    assert [step.name for step in steps if step.segment == 0] == report["segments"][0]["steps"]
    for step in steps:
        assert step.site is not None
        assert step.site[0] == __file__
        assert step.site[1] in LINES[step.name]
        assert step.dtype == "float64"
    check_inside(prof, lanes_of_helpers=mode == "parallel")
    assert {step.lane for step in steps if step.name == "matmul"} == {f"{device} compute"}


def test_members_of_a_group_and_what_it_saves(handed_over: None) -> None:
    x = given()
    run = compiled(x, mode="serial")
    groups = run.report()["groups"]
    assert groups
    with profile() as prof:
        for _ in range(2):
            run(x)
    found: dict[int, list[Any]] = {}
    for step in steps_of(prof):
        if step.group:
            found.setdefault(step.group, []).append(step)
    assert all(number < 0 for number in found)  # apart from those of eager's groups
    assert [[step.name for step in group] for group in found.values()] == 2 * [
        each["steps"] for each in groups
    ]
    assert [group[0].saved_bytes for group in found.values()] == 2 * [
        each["saved_bytes"] for each in groups
    ]
    for group in found.values():
        assert len({(step.begin, step.end, step.lane, step.seq) for step in group}) == 1


@pytest.fixture
def small_work_stays() -> Iterator[None]:
    """However slow the processor is."""
    with flow.flags(inline="1ms"):
        yield


def test_a_run_in_the_calling_thread(small_work_stays: None) -> None:
    x = given(size=4)
    run = compiled(x)
    expected = [y.tolist() for y in run(x)]
    with profile() as prof:
        assert [y.tolist() for y in run(x)] == expected
    assert {mode: count for mode, count in run.report()["runs"].items() if count} == {"inline": 2}
    steps = steps_of(prof)
    assert [step.name for step in steps] == [
        *("multiply", "tanh", "add", "matmul", "multiply", "exp", "subtract", "sum"),
    ]
    assert all(step.segment == -1 and not step.group and not step.seq for step in steps)
    (whole,) = [r for r in prof.records if r.kind == "run" and r.name == "program"]
    assert prof.lanes[whole.lane] == "thread"
    check_inside(prof)


def small_steps(x: Any) -> Any:
    for _ in range(64):
        x = flow.tanh(x) + 1
    return x


def by_run(prof: Profile) -> list[tuple[Any, list[Any]]]:
    """Each run in the calling thread, and its steps."""
    runs = [r for r in prof.records if r.name == "program"]
    steps = steps_of(prof)
    found = [(run, [s for s in steps if run.begin <= s.begin <= s.end <= run.end]) for run in runs]
    assert sum(len(own) for _, own in found) == len(steps)
    return found


@pytest.mark.slow
def test_runs_of_small_steps_are_timed_step_by_step_once_in_a_while() -> None:
    run = flow.graph.compile(flow.graph.trace(small_steps, flow.ones(16)).program, mode="inline")
    x = flow.ones(16)
    with profile() as prof:
        for _ in range(300):
            run(x)
    runs = by_run(prof)
    assert len(runs) == 300
    measured = [k for k, (_, steps) in enumerate(runs) if steps[0].measured]
    assert measured[0] == 0
    shares: list[float] = []
    for whole, steps in runs:
        assert [step.name for step in steps] == 64 * ["tanh", "add"]
        assert len({step.measured for step in steps}) == 1
        assert all(step.site is not None and step.site[0] == __file__ for step in steps)
        assert (steps[0].begin, steps[-1].end) == (whole.begin, whole.end)
        assert all(one.end == other.begin for one, other in pairwise(steps))
        length = whole.end - whole.begin
        ends = [(step.end - whole.begin) / length for step in steps]
        if steps[0].measured:
            shares = ends
        assert np.allclose(ends, shares, rtol=0, atol=1 / length)  # in whole nanoseconds
    total = sum(whole.end - whole.begin for whole, _ in runs)
    most = max(whole.end - whole.begin for whole, _ in runs)
    first, *others = (runs[k][0] for k in measured)
    spent = sum(whole.end - whole.begin for whole in (first, *others))
    assert spent <= 2 * most + (total + max(b.end - first.begin for b in (first, *others))) / 64


def test_runs_of_long_steps_are_timed_step_by_step() -> None:
    x = given(size=200)
    run = flow.graph.compile(flow.graph.trace(lambda x: flow.exp(x @ x), x).program, mode="inline")
    with profile() as prof:
        for _ in range(5):
            run(x)
    assert run.report()["runs"]["inline"] == 5
    assert [step.measured for step in steps_of(prof)] == 10 * [True]


def test_the_trace_tells_shares_from_times() -> None:
    run = flow.graph.compile(flow.graph.trace(small_steps, flow.ones(16)).program, mode="inline")
    x = flow.ones(16)
    with profile() as prof:
        for _ in range(20):
            run(x)
    steps = [e for e in prof.events if e["ph"] == "X" and e["cat"] == "step"]
    shares = [e for e in steps if e["args"].get("measured") is False]
    assert 0 < len(shares) < len(steps) == 20 * 128


def test_jitted_calls_run_as_they_do_unwatched(small_work_stays: None) -> None:
    x = given(size=4)
    jitted = flow.jit(work)
    jitted(x)
    with profile() as prof:
        for _ in range(3):
            jitted(x)
    names = [r.name for r in prof.records if r.kind == "run"]
    assert names == 3 * ["program"]
    assert len(steps_of(prof)) == 3 * 8


def test_the_trace_file_has_slices_in_slices(tmp_path: Path, handed_over: None) -> None:
    x = given("mock:0")
    y = given("cpu")
    runs = [(compiled(each, mode="serial"), each) for each in (x, y)]
    with profile() as prof:
        for run, each in runs:
            run(each)[0].numpy()
    prof.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    steps = [e for e in slices if e["cat"] == "step"]
    (matmul, _) = [e for e in steps if e["name"] == "matmul"]
    assert matmul["args"]["site"] == f"{__file__}:{FIRST + 1}"
    assert matmul["args"]["segment"] >= 0
    fused = [e for e in steps if e["name"].startswith("fused ")]
    groups = runs[1][0].report()["groups"]
    assert [e["name"] for e in fused] == ["fused " + " ".join(g["steps"]) for g in groups]
    assert fused[0]["args"]["operations"][0]["site"].startswith(f"{__file__}:")
    for step in steps:
        end = step["ts"] + step["dur"]
        assert any(
            e["cat"] == "run"
            and e["tid"] == step["tid"]
            and e["ts"] <= step["ts"] + 1e-3
            and end <= e["ts"] + e["dur"] + 1e-3
            for e in slices
        )


def test_a_failed_step_is_shown(handed_over: None) -> None:
    def fails(a: Any, b: Any) -> Any:
        return flow.linalg.inv(a) + b, flow.exp(b)

    a, b = flow.zeros((3, 3)), flow.ones((3, 3))
    run = flow.graph.compile(flow.graph.trace(fails, a, b).program, mode="serial")
    with pytest.raises(np.linalg.LinAlgError), profile() as prof:
        unsound, sound = run(a, b)
        assert sound.numpy()[0, 0] == np.exp(1)
        unsound.numpy()
    assert {"inv", "exp"} <= {step.name for step in steps_of(prof)}


def test_naive_runs_are_shown_step_by_step() -> None:
    x = given()
    run = compiled(x)
    with flow.flags(sync=True), profile() as prof:
        run(x)
    assert steps_of(prof) == []
    assert {"tanh", "matmul"} <= {r.name for r in prof.records if r.kind == "run"}


def test_a_table_of_times_has_each_operation() -> None:
    x = given()
    run = compiled(x, mode="serial")
    _C.benchmark_clear()
    with flow.flags(benchmark=True):
        for _ in range(3):
            run(x)
    calls = {name: count for name, count, *_ in _C.benchmark_rows()}
    _C.benchmark_clear()
    assert {name: calls[name] for name in LINES} == {
        name: 6 if name == "multiply" else 3 for name in LINES
    }


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_while_threads_run_and_profiles_come_and_go(device: str, handed_over: None) -> None:
    x = given(device, size=64)
    run = compiled(x, mode="serial")
    expected = [y.numpy().tobytes() for y in run(x)]

    def use(number: int) -> None:
        for _ in range(15):
            if number == 0:
                with profile() as prof:
                    pass
                check_inside(prof, lanes_of_helpers=True, cut=2)
            assert [y.numpy().tobytes() for y in run(x)] == expected

    run_in_threads(use, 3)


def test_a_profile_that_is_left_before_it_is_entered() -> None:
    with flow.profiler.profile() as outer:
        with pytest.raises(
            RuntimeError, match=r"^\[profile\] the block is left, and was not entered"
        ):
            flow.profiler.profile().__exit__(None, None, None)
        flow.ones(1000).mock().numpy()
    assert outer.busy("mock:0 h2d") > 0
