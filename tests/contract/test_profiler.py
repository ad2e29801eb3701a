"""The trace of a program: valid, complete, and true."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.profiler import profile
from tests.support.machine import here


def saved(tmp_path: Path, prof: Any) -> list[dict[str, Any]]:
    prof.save(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    return list(trace["traceEvents"])


def check(events: list[dict[str, Any]]) -> None:
    """What Chrome's trace format asks for."""
    named = {e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    for event in events:
        assert event["ph"] in "XMsf"
        if event["ph"] == "X":
            assert event["tid"] in named
            assert event["dur"] >= 0
            assert event["ts"] >= 0
    starts = Counter(e["id"] for e in events if e["ph"] == "s")
    ends = Counter(e["id"] for e in events if e["ph"] == "f")
    assert starts == ends
    assert set(starts.values()) <= {1}


def test_lanes_arrows_and_arguments(tmp_path: Path) -> None:
    slow_copies = flow.flags(mock="h2d=50MB/s")  # compute is launched while the copy runs: it waits
    with slow_copies, profile() as prof:
        line = here() + 1
        x = flow.tensor(np.ones((200, 300), np.float32)).mock(0)
        y = x * 2
        z = y.cpu()
        z.numpy()
    events = saved(tmp_path, prof)
    check(events)
    lanes = {e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert {"mock:0 h2d", "mock:0 compute", "mock:0 d2h"} <= lanes
    assert any(name.startswith("thread") for name in lanes)
    runs = {e["name"]: e for e in events if e["ph"] == "X" and e["cat"] == "run"}
    multiply = runs["multiply"]["args"]
    assert int(np.prod(multiply["shape"])) == 60_000
    assert multiply["dtype"] == "float32"
    assert multiply["bytes"] == 240_000
    assert multiply["site"] == f"{__file__}:{line + 1}"
    assert runs["d2h"]["args"]["shape"] == [200, 300]
    assert runs["d2h"]["args"]["site"] == f"{__file__}:{line + 2}"
    kinds = Counter(e["cat"] for e in events if e["ph"] == "s")
    assert kinds["issue"] >= 3
    assert kinds["wait"] >= 1
    names = {e["name"] for e in events if e["ph"] == "X"}
    assert "issue multiply" in names
    assert any(name.startswith("sync ") for name in names)


def test_a_run_comes_after_its_issue() -> None:
    with profile() as prof:
        for i in range(50):
            flow.tensor(np.ones(100)).mock(i % 2) + 1
    issued = {r.seq: r for r in prof.records if r.kind == "issue"}
    ran = [r for r in prof.records if r.kind == "run" and r.seq]
    assert len(ran) >= 100
    for run in ran:
        assert run.begin >= issued[run.seq].begin
        assert run.end >= run.begin


def test_work_done_in_the_calling_thread_is_recorded() -> None:
    x = flow.ones(8)
    with profile() as prof:
        x + 1
    (run,) = [r for r in prof.records if r.kind == "run" and r.name == "add"]
    assert prof.lanes[run.lane] == "thread"
    assert run.site is not None
    assert run.site[0] == __file__


def test_profiles_may_nest_and_follow_each_other() -> None:
    with profile() as outer:
        flow.ones(4).mock(0).numpy()
        with profile() as inner:
            flow.ones(4).mock(1).numpy()
        flow.ones(4).mock(0).numpy()
    assert "mock:0 h2d" not in inner.streams()
    assert "mock:1 h2d" in inner.streams()
    assert {"mock:0 h2d", "mock:1 h2d"} <= set(outer.streams())
    with profile() as last:
        pass
    assert not [r for r in last.records if r.kind == "run"]


def test_a_thread_has_one_lane_in_profiles_that_nest() -> None:
    def issue(name: str) -> None:
        flow.vm.host_func(lambda: None, name=name)

    with profile() as outer:
        issue("own")
        with profile() as inner:
            other = threading.Thread(target=issue, args=("other",))
            other.start()
            other.join()
            issue("own")
    for prof in (outer, inner):
        lanes = {(r.name, r.lane) for r in prof.records if r.kind == "issue"}
        assert len(lanes) == len(dict(lanes)) == len({lane for _, lane in lanes}) == 2


def test_what_has_waited_is_named() -> None:
    with flow.flags(mock="launch=2ms"), profile() as prof:
        x = flow.ones(3, device="mock:0")
        assert [repr(x + 1)[:6], str(x[0] + 1)] == ["tensor", "2.0"]
    waited = {record.name for record in prof.records if record.kind == "sync"}
    assert {"__repr__", "__str__"} <= waited


def test_a_function_cannot_wait_for_itself() -> None:
    scopes = {"profile": profile(), "flags": flow.flags(benchmark=True)}
    for name, scope in scopes.items():
        call = flow.vm.host_func(scope.__enter__)
        with pytest.raises(RuntimeError, match=rf"\[{name}\] called inside a function"):
            call.result()
    assert not flow.flags.benchmark


def test_nothing_is_recorded_outside() -> None:
    with profile() as prof:
        pass
    flow.ones(4).mock(0).numpy()
    assert not [r for r in prof.records if r.kind == "run"]


def test_a_failed_operation_in_a_profile(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="injected"), profile() as prof:
        x = flow.ones(4, device="mock:0")
        with flow.flags(fail="launch:1"):
            (x + 1).numpy()
    check(saved(tmp_path, prof))
    with pytest.raises(RuntimeError, match="injected"):
        flow.synchronize()


def test_the_end_of_a_profile_raises_no_error_of_an_operation() -> None:
    """Neither one that was handled before, nor one of the block that nobody has looked at."""
    bad = flow.linalg.inv(flow.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError):
        bad.numpy()
    with profile() as prof:
        unseen = flow.linalg.inv(flow.zeros((2, 2)))
        assert (flow.ones(3) + 1).tolist() == [2, 2, 2]
    assert any(record.name == "inv" for record in prof.records)
    for look in (unseen.numpy, flow.synchronize):
        with pytest.raises(np.linalg.LinAlgError):
            look()


@pytest.mark.parametrize("ending", ["", "raise SystemExit(3)", "1 / 0"])
def test_the_environment_variable(
    run_program: Callable[..., Any], tmp_path: Path, ending: str
) -> None:
    code = f"""
import numpy as np, oneflow_lite as flow
for _ in range(20):
    x = flow.tensor(np.ones(100)).mock(0) + 1
{ending}
"""
    done = run_program(code, profile="trace.json")
    assert done.returncode == {"": 0, "1 / 0": 1}.get(ending, 3)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    check(events)
    assert sum(e["ph"] == "X" and e["cat"] == "run" and e["name"] == "add" for e in events) == 20


AT_EXIT = {
    "a failed operation": "flow.vm.host_func(lambda: 1 / 0)",
    "SystemExit": "flow.vm.host_func(lambda: sys.exit(4))",
    "KeyboardInterrupt": "flow.vm.host_func(interrupt)",
    "SystemExit of a tensor": "x = flow.zeros(3); flow.vm.host_func(leave, writes=[x]); y = x + 1",
}


@pytest.mark.parametrize("name", AT_EXIT)
def test_the_trace_is_written_whatever_has_failed(
    run_program: Callable[..., Any], tmp_path: Path, name: str
) -> None:
    code = """
import atexit, sys
atexit.register(lambda: print(flow.vm.host_func(threading.get_ident).result() == main))
import threading
import oneflow_lite as flow
main = threading.get_ident()
def interrupt(): raise KeyboardInterrupt
def leave(_): raise SystemExit(4)
"""
    done = run_program(code + AT_EXIT[name], profile="trace.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "True\n"  # the machine has been shut down
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    check(events)
    assert any(e["ph"] == "X" and e["cat"] == "run" for e in events)


def test_ctrl_c_at_the_end_keeps_the_trace(run_program: Callable[..., Any], tmp_path: Path) -> None:
    code = """
import atexit, os, signal, sys, threading
import oneflow_lite as flow
x = flow.ones(3) + 1
flow.vm.host_func(lambda: threading.Event().wait())
def interrupt():
    leave = flow.lifecycle._leave
    atexit.unregister(leave)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        leave()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
atexit.register(interrupt)
"""
    done = run_program(code, timeout=60, profile="trace.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert any(e["ph"] == "X" and e["name"] == "add" for e in events)


PROGRAM = "import oneflow_lite as flow; x = flow.ones(3) + 1; print(x.tolist())"


@pytest.mark.parametrize("path", ["missing/trace.json", "."])
def test_a_path_that_cannot_be_written_is_an_error_at_once(
    run_program: Callable[..., Any], path: str
) -> None:
    done = run_program(PROGRAM, profile=path)
    assert done.returncode == 1
    assert done.stdout == ""
    last = done.stderr.splitlines()[-1]
    assert f"[profiler] expected a path that can be written, got {path!r}: " in last


def test_a_trace_that_cannot_be_written_at_the_end(run_program: Callable[..., Any]) -> None:
    done = run_program(PROGRAM, profile="/dev/full")
    assert (done.returncode, done.stdout) == (0, "[2.0, 2.0, 2.0]\n")
    assert done.stderr.startswith("the trace is lost: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_longer_trace_is_replaced_at_the_end(
    run_program: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    old = "old " * 100_000
    path.write_text(old)
    code = "import os\n" + PROGRAM + "\nassert os.path.getsize('trace.json') == 400000"
    done = run_program(code, profile="trace.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(path.read_text())["traceEvents"]


def test_a_child_writes_nothing(run_program: Callable[..., Any], tmp_path: Path) -> None:
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
import oneflow_lite as flow
x = flow.ones(3) + 1
if os.fork() == 0:
    sys.exit(0)  # by way of its own handlers
os.wait()
assert os.path.getsize("trace.json") == 0
"""
    done = run_program(code, profile="trace.json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


@pytest.mark.parametrize(
    ("outside", "inside"),
    [
        ("flow.flags(benchmark=True)", 'flow.flags(log="error")'),
        ("flow.profiler.profile()", "flow.profiler.profile()"),
        ("flow.flags(benchmark=True)", "flow.profiler.profile()"),
    ],
)
def test_a_scope_that_waits_holds_no_lock(
    run_program: Callable[..., Any], outside: str, inside: str
) -> None:
    """A function in flight may enter a scope, too; some refuse it, and it does not stand still."""
    code = f"""
import faulthandler, threading, time
import oneflow_lite as flow
faulthandler.dump_traceback_later(60, exit=True)
begun, said = threading.Event(), []
def function():
    begun.set()
    time.sleep(0.2)  # the other thread waits then
    try:
        with {inside}:
            said.append("entered")
    except RuntimeError as error:
        said.append(str(error))
done = flow.engine.push(function)
begun.wait()
with {outside}:
    assert done.done() and len(said) == 1, said
    flow.ones(3) + 1
assert done.exception() is None
"""
    done = run_program(code)
    assert done.returncode == 0, done.stderr
