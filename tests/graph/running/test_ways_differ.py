"""What sets the ways to run apart, where the bits are the same: memory, order, poison."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.graph import Executable


@pytest.mark.parametrize(
    ("device", "mode"),
    [("cpu", "inline"), ("cpu", "serial"), ("cpu", "parallel"), ("mock:0", "serial")],
)
def test_new_memory_holds_poison(device: str, mode: str) -> None:
    def work(x: Any) -> Any:
        return flow.empty(1000, dtype="uint8", device=device) | x

    x = flow.zeros(1000, dtype="uint8", device=device)
    run = flow.graph.compile(flow.graph.trace(work, x).program, mode=mode)
    for byte in (0xA5, 0x3C):
        run.fill_arena(byte)
        assert set(run(x)[0].tolist()) == {byte}


def chunks(device: str) -> list[flow.Tensor]:
    return [flow.full(20_000, float(i), device=device) for i in range(4)]


def there_and_back(given: list[Any]) -> list[Any]:
    return [(flow.tanh(x.to("mock:0")) * 2).cpu() for x in given]


def intervals(run: Executable, given: Sequence[flow.Tensor]) -> list[tuple[int, int]]:
    """When its segments ran, of one run. Two operations are one where that pays on the machine."""
    with flow.profiler.profile() as trace:
        for y in run(*given):
            y.numpy()
    return sorted(
        (each.begin, each.end)
        for each in trace.records
        if each.kind == "run" and each.name in ("h2d", "segment", "tanh", "multiply", "d2h")
    )


def test_segments_of_a_sequential_run_do_not_overlap() -> None:
    given = chunks("cpu")
    program = flow.graph.trace(there_and_back, given).program
    run = flow.graph.compile(program, mode="sequential")
    with flow.flags(mock="h2d=20MB/s,d2h=20MB/s", inline="0"):
        found = intervals(run, given)
    assert {mode for mode, count in run.report()["runs"].items() if count} == {"sequential"}
    assert len(found) in (12, 16)
    assert [(a, b) for k, a in enumerate(found) for b in found[k + 1 :] if b[0] < a[1]] == []


def test_the_machine_waits_no_more_often_than_planned() -> None:
    given = chunks("cpu")
    run = flow.graph.compile(flow.graph.trace(there_and_back, given).program, mode="serial")
    planned = run.report()["waits"]
    flow.synchronize()
    with flow.flags(mock="launch=1ms,h2d=10MB/s,d2h=10MB/s"):
        before = flow.vm.stats()["stream_waits"]
        results = run(*given)
        flow.synchronize()
        waited = flow.vm.stats()["stream_waits"] - before
    assert waited <= len(planned) == 2 * len(given)  # what is done needs no wait
    assert len(results) == len(given)


PEAK = """
import json, sys
import oneflow_lite as flow
from oneflow_lite import _C

mode, release = sys.argv[1:]

def work(x):
    for _ in range(6):
        x = flow.cumulative_sum(x + 1)
    return x[:1] + 1

x = flow.zeros(1 << 17, device="mock:0")  # 1 MiB
run = flow.graph.compile(flow.graph.trace(work, x).program, mode=mode, release=release)
flow.synchronize()
before = flow.memory_stats("mock:0")["in_use"]
with flow.flags(mock="launch=2ms"):
    results = [run(x) for _ in range(5)]
    flow.synchronize()
print(json.dumps((flow.memory_stats("mock:0")["peak_in_use"] - before) / x.nbytes))
"""


def peak(run_program: Callable[..., Any], mode: str, release: str) -> float:
    """Of five runs that queue up, in times of one temporary."""
    done = run_program(PEAK, mode, release)
    assert done.returncode == 0, done.stderr
    return float(json.loads(done.stdout))


def test_memory_of_ways_to_let_go(run_program: Callable[..., Any]) -> None:
    plan, fast = (peak(run_program, "serial", release) for release in ("plan", "fast"))
    event, naive = peak(run_program, "serial", "event"), peak(run_program, "naive", "plan")
    assert plan < 3
    assert naive < 4
    assert plan <= fast < event
    assert event > 2 * fast


@pytest.mark.parametrize(
    ("mode", "release"), [("serial", "fast"), ("serial", "event"), ("naive", "plan")]
)
def test_a_long_run_lets_go_while_it_is_issued(mode: str, release: str) -> None:
    """Its temporaries together are far more than the device has."""

    def work(x: Any) -> Any:
        for _ in range(40):
            x = flow.cumulative_sum(x * 0.5)
        return x[:1] + 1

    x = flow.ones(1 << 18, device="mock:0")  # 2 MiB
    run = flow.graph.compile(flow.graph.trace(work, x).program, mode=mode, release=release)
    assert len(run.report()["segments"]) > 20
    expected = work(x).tolist()
    flow.synchronize()
    flow.empty_cache()
    with flow.flags(mock="capacity=24MiB", max_in_flight=4, fusion="0"):
        assert run(x)[0].tolist() == expected
    flow.empty_cache()


def test_a_segment_ends_where_its_lane_waits() -> None:
    """A kernel does not wait for a copy that only the next one needs."""

    def work(a: Any, b: Any) -> list[Any]:
        return [flow.tanh(x.to("mock:0")) for x in (a, b)]

    given = [flow.ones(100), flow.ones(100)]
    run = flow.graph.compile(flow.graph.trace(work, *given).program, mode="serial")
    report = run.report()
    assert [each["steps"] for each in report["segments"]] == [["copy"]] * 2 + [["tanh"]] * 2
    assert report["waits"] == [(0, 2), (1, 3)]


@pytest.mark.parametrize("release", ["plan", "fast", "event"])
def test_the_bytes_of_runs_in_flight_are_bounded(release: str) -> None:
    """Segments say what they allocate, so issuing waits before a device is full."""
    mebibyte = 1 << 20
    x = flow.ones(mebibyte // 8, device="mock:0")

    def work(x: Any) -> Any:
        return flow.cumulative_sum(x + 1)

    run = flow.graph.compile(flow.graph.trace(work, x).program, mode="serial", release=release)
    flow.synchronize()
    flow.empty_cache()
    _C.configure(max_bytes_in_flight=8 * mebibyte)
    try:
        with flow.flags(mock="launch=1ms"):
            most = 0
            for _ in range(40):
                run(x)
                most = max(most, flow.vm.stats()["in_flight"])
            flow.synchronize()
        assert most <= 10
    finally:
        _C.configure(max_bytes_in_flight=1 << 30)
