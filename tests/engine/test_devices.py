"""Functions on the streams of mock devices: their order with operations, what they wait for, and
what waits for them."""

import ctypes
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import engine
from tests.contract.process.test_fork import in_child
from tests.support.machine import here, run_in_threads

MOCK = "mock:0"


def add_up(run: engine.Run, source: Any, target: Any) -> None:
    target += source


def test_a_function_is_ordered_with_operations(naive: bool) -> None:
    x, y = flow.arange(100.0, device=MOCK), flow.zeros(100, device=MOCK)
    expected = np.zeros(100)
    for k in range(40):
        x += 1
        engine.push(add_up, [x], [y], device=MOCK)
        y *= 2
        expected = 2 * (expected + np.arange(100.0) + k + 1)
    assert (y.numpy() == expected).all()


@pytest.mark.parametrize("stream", ["compute", "h2d", "d2h"])
def test_streams_of_a_device(stream: str) -> None:
    with flow.profiler.profile() as trace:
        x, y = flow.ones(1000, device=MOCK), flow.zeros(1000)
        for _ in range(20):
            x += 1
            engine.push(add_up, [x], [y], device=MOCK, stream=stream, name="add up")
        assert y[0].item() == sum(range(2, 22))
    lanes = {r.lane for r in trace.records if (r.name, r.kind) == ("add up", "run")}
    assert lanes == {f"mock:0 {stream}"}


def test_arrows_of_a_trace(tmp_path: Path) -> None:
    """From each push to the call, on the lane of the thread or the stream that made it."""
    var = engine.Var("table")
    with flow.profiler.profile() as trace:
        pushed = [engine.push(int, writes=[var], name="call") for _ in range(5)]
        pushed.append(engine.push(lambda run: 0, device=MOCK, name="call"))
        engine.wait_all()
    trace.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    ends = {phase: [each["id"] for each in events if each["ph"] == phase] for phase in "sf"}
    assert len(ends["s"]) == len(set(ends["s"])) == len(pushed)
    assert sorted(ends["s"]) == sorted(ends["f"])
    lanes = {r.lane for r in trace.records if (r.name, r.kind) == ("call", "run")}
    assert "mock:0 compute" in lanes
    assert any(lane.startswith("cpu engine") for lane in lanes)


def test_what_a_function_gets() -> None:
    x = flow.arange(12.0, device=MOCK).reshape(3, 4)
    host = flow.zeros(3)
    got: list[Any] = []
    done = engine.push(lambda *given: got.extend(given), [x[1:, ::2]], [host], device=MOCK)
    done.wait()
    run, view, array = got
    assert (run.device, run.stream, run.__cuda_stream__()) == (flow.Device(MOCK), 0, (0, 0))
    assert repr(run) == "Run(device='mock:0', stream=0x0)"
    assert view.tolist() == [[4.0, 6.0], [8.0, 10.0]]
    assert not view.flags.writeable
    assert array.shape == (3,)
    assert array.flags.writeable


def test_empty_and_zero_dimensional_tensors() -> None:
    empty, scalar = flow.zeros((0, 3), device=MOCK), flow.zeros((), device=MOCK)

    def check(run: engine.Run, nothing: Any, one: Any) -> tuple[Any, Any]:
        one[...] = 5
        return nothing.shape, one.shape

    assert engine.push(check, [empty], [scalar], device=MOCK).result() == ((0, 3), ())
    assert scalar.item() == 5


def test_an_operator_and_a_c_function() -> None:
    function = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p
    )
    streams: list[Any] = []

    @function
    def double(_: object, memory: Any, stream: object) -> None:
        streams.append(stream)
        ctypes.cast(memory[0], ctypes.POINTER(ctypes.c_double))[0] *= 2

    x = flow.ones(1, device=MOCK)
    step = engine.Operator(engine.CFunction(double), writes=[x], device=MOCK)
    for _ in range(10):
        step.push()
    assert x.item() == 1024
    assert streams == [None] * 10


@pytest.mark.parametrize(
    ("use", "error", "text"),
    [
        (lambda x: engine.push(add_up, [x], device="mock:1"), ValueError, "of it and of the cpu"),
        (lambda x: engine.push(add_up, [x], device=MOCK, priority=1), ValueError, "priority"),
        (lambda x: engine.push(add_up, [x], device=MOCK, blocking=True), ValueError, "blocking"),
        (lambda x: engine.push(add_up, [x], device=MOCK, stream="ccl"), ValueError, '"ccl"'),
        (lambda x: engine.push(add_up, stream="h2d"), ValueError, "none is given"),
        (lambda x: engine.push(add_up, [x], device="tpu:0"), ValueError, "tpu"),
        (lambda x: engine.push(3, [x], device=MOCK), TypeError, "expected a callable"),
        (lambda x: engine.Operator(add_up, [x], [x], device=MOCK), ValueError, "given twice"),
    ],
)
def test_wrong_uses(use: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        use(flow.ones(2, device=MOCK))


def test_an_error_is_that_of_what_it_writes(naive: bool) -> None:
    x, y = flow.ones(3, device=MOCK), flow.ones(3, device=MOCK)
    ran: list[int] = []

    def fail(run: engine.Run, *views: Any) -> None:
        raise KeyError("mine")

    failed, line = engine.push(fail, writes=[x], device=MOCK), here()
    skipped = engine.push(lambda *_: ran.append(1), [x], [y], device=MOCK)
    for look in (failed.result, skipped.result, x.numpy, y.numpy, lambda: (y + 1).numpy()):
        with pytest.raises(KeyError, match="mine") as caught:
            look()
        assert f"test_devices.py:{line}" in "".join(caught.value.__notes__)
    assert ran == []


def test_one_is_cancelled_while_it_waits() -> None:
    goes_on = threading.Event()
    x = flow.zeros(3)
    engine.push(lambda _: goes_on.wait(), writes=[x], blocking=True)
    done = engine.push(add_up, [x], [flow.zeros(3, device=MOCK)], device=MOCK)
    assert done.cancel()
    assert done.cancelled()
    goes_on.set()
    flow.synchronize()


# --- what a function waits for


def test_a_function_waits_for_what_was_issued_before_it() -> None:
    x, found = flow.zeros(1000, device=MOCK), []
    for _ in range(30):
        for _ in range(20):
            x += 1
        found.append(engine.push(lambda run, y=x + 0: y.numpy()[0], device=MOCK))
    assert [done.result(60) for done in found] == [20.0 * k for k in range(1, 31)]


def test_a_function_waits_for_other_streams() -> None:
    def wait(run: engine.Run) -> float:
        other = (flow.ones(10, device="mock:1") + 1).cpu()
        return float(engine.push(lambda: other.sum().item()).result())

    assert engine.push(wait, device=MOCK).result(60) == 20


def test_a_function_does_not_wait_for_what_its_stream_runs_later() -> None:
    def issue(run: engine.Run) -> Any:
        return (flow.ones(3, device=MOCK) + 1).numpy()

    with pytest.raises(RuntimeError, match="cannot wait for itself, nor for what comes after it"):
        engine.push(issue, device=MOCK).result(60)
    with flow.flags(sync=True):  # where it is run at once
        assert engine.push(issue, device=MOCK).result(60).tolist() == [2, 2, 2]


def test_functions_that_wait_in_a_ring_are_told() -> None:
    goes_on = threading.Event()

    def on_host() -> Any:
        goes_on.wait(60)
        return later.result()

    host = engine.push(on_host, blocking=True)

    def on_device(run: engine.Run) -> None:
        goes_on.set()
        host.result()

    engine.push(on_device, device=MOCK)
    later = engine.push(lambda run: 1, device=MOCK)
    ends = [done.exception(60) for done in (host, later)]
    assert any("cannot wait for itself" in str(end) for end in ends), ends


def test_what_a_function_issues_comes_after_it(naive: bool) -> None:
    x = flow.zeros(10, device=MOCK)
    made: list[flow.Tensor] = []

    def issue(run: engine.Run, view: Any) -> None:
        view[...] = 1
        made.append(flow.ones(10, device=MOCK) * 3)

    engine.push(issue, writes=[x], device=MOCK).wait()
    assert (made[0] + x).sum().item() == 40


# --- what waits for a function


def test_others_see_what_ran_before_a_function_that_takes_long() -> None:
    goes_on = threading.Event()
    x = flow.ones(10, device=MOCK) + 1
    y = flow.zeros(10, device=MOCK)
    engine.push(lambda run, _: goes_on.wait(60), writes=[y], device=MOCK)
    assert x.numpy()[0] == 2
    assert not y.ready().done()
    goes_on.set()
    assert y.numpy()[0] == 0


def test_threads_that_push_to_one_device() -> None:
    tensors = [flow.zeros(50, device=MOCK) for _ in range(4)]

    def work(number: int) -> None:
        for _ in range(100):
            tensors[number] += 1
            engine.push(add_up, [flow.ones(50)], [tensors[number]], device=MOCK)

    run_in_threads(work, 4)
    assert all((x.numpy() == 200).all() for x in tensors)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_function_that_another_thread_issues_during_a_fork(
    run_program: Callable[..., Any],
) -> None:
    """In the parent it goes on; in the child it has failed, and its stream goes on."""
    code = """
import os, threading
hooks, begun, go_on = [], threading.Event(), threading.Event()
os.register_at_fork(before=lambda: [hook() for hook in hooks])
import oneflow_lite as flow
from oneflow_lite import engine

x, behind = flow.zeros(10, device="mock:0"), []

def stay(run, view):
    begun.set()
    go_on.wait()
    view += 1

def issue():
    calls.append(engine.push(stay, writes=[x], device="mock:0"))
    behind.append(flow.ones(10, device="mock:0") + 1)     # on the stream that stands still

def meanwhile():
    if not calls:
        thread = threading.Thread(target=issue)
        thread.start()
        thread.join()
        begun.wait()

calls = []
hooks.append(meanwhile)
pid = os.fork()
if pid == 0:
    lost = "was in flight in another thread" in str(calls[0].exception(60))
    y = flow.zeros(10, device="mock:0")
    engine.push(lambda run, view: view.fill(3), writes=[y], device="mock:0")
    os._exit(0 if lost and (behind[0] + y).sum().item() == 50 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
go_on.set()
assert calls[0].result(60) is None
assert (behind[0] + x).sum().item() == 30
"""
    done = run_program("import warnings; warnings.simplefilter('ignore')" + code, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_many_forks_beside_functions() -> None:
    x = flow.zeros(10, device=MOCK)
    for _ in range(10):
        for _ in range(50):
            x += 1
            engine.push(add_up, [flow.ones(10)], [x], device=MOCK)
        in_child(lambda: bool((flow.ones(3, device=MOCK) + 1).sum().item() == 6))
    assert (x.numpy() == 1000).all()
