"""Fork: the child has a machine that works, whatever the parent was doing."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import locks

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning"),
]


def in_child(check: Callable[[], bool]) -> None:
    """Run ``check`` in a forked child; it must hold."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if check() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("where", ["cpu", "mock:0"])
def test_fork_with_a_thousand_operations_in_flight(device: flow.Device, where: str) -> None:
    if device.type == "cuda":
        pytest.skip("CUDA does not survive fork; cuda/test_devices.py shows what a child is told")
    x = flow.tensor(np.arange(20_000.0), device=device)
    for _ in range(1000):
        x += 1

    def check() -> bool:
        y = flow.tensor(np.arange(30_000.0), device=where)
        for _ in range(100):
            y = y + 1
        same = bool((y.numpy() == np.arange(30_000.0) + 100).all())
        inherited = bool((x.numpy() == np.arange(20_000.0) + 1000).all())
        return same and inherited and (x + 1)[0].item() == 1001

    in_child(check)
    x += 1
    assert (x.numpy() == np.arange(20_000.0) + 1001).all()


def test_host_functions_in_the_child() -> None:
    assert flow.vm.host_func(lambda: 1).result() == 1
    in_child(lambda: flow.vm.host_func(os.getpid).result() == os.getpid())
    assert flow.vm.host_func(lambda: 2).result() == 2


def test_fork_in_a_child() -> None:
    def check() -> bool:
        assert flow.ones(9, device="mock:0").sum().item() == 9
        in_child(lambda: flow.ones(9, device="mock:0").sum().item() == 9)
        return True

    in_child(check)


def test_lanes_in_the_child() -> None:
    x = flow.zeros(20_000)

    def check() -> bool:
        with flow.vm.lane(1):
            y = x + 1
        with flow.vm.lane(3):
            y += x
        return bool((y.numpy() == 101).all())

    with flow.vm.lane(1):
        for _ in range(50):
            x += 1
        in_child(check)
    assert (x.numpy() == 50).all()


def test_a_poisoned_tensor_in_the_child(device: flow.Device) -> None:
    flow.ones(3, device=device).numpy()  # a child cannot make a stream of CUDA, but has this one
    x = flow.zeros(3)

    def fail(_: object) -> None:
        raise ValueError("on purpose")

    flow.vm.host_func(fail, writes=[x])
    y = x.to(device) + 1

    def check() -> bool:
        with pytest.raises(ValueError, match="on purpose"):
            y.numpy()
        return True

    in_child(check)
    with pytest.raises(ValueError, match="on purpose"):
        flow.synchronize()


def test_fork_beside_an_issuing_thread(run_program: Callable[..., Any]) -> None:
    code = """
import os, threading, numpy as np, oneflow_lite as flow
stop = threading.Event()
def loop():
    x = flow.zeros(20_000, device="mock:0")
    while not stop.is_set():
        x += 1
        x[0].item()
threads = [threading.Thread(target=loop) for _ in range(2)]
for t in threads: t.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        ok = flow.ones(20_000, device="mock:0").sum().item() == 20_000
        os._exit(0 if ok and (flow.ones(5) + 1).tolist() == [2] * 5 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
for t in threads: t.join()
"""
    done = run_program("import warnings; warnings.simplefilter('ignore')" + code, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_pools(run_program: Callable[..., Any], method: str) -> None:
    code = """
import multiprocessing, sys, warnings
import numpy as np, oneflow_lite as flow
warnings.simplefilter("ignore")

def work(i):
    x = flow.full((20_000,), float(i), device="mock:%d" % (i % 2))
    return float((x * 2).cpu().sum().item())

if __name__ == "__main__":
    x = flow.ones(20_000, device="mock:0")
    for _ in range(300):
        x = x + 1
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(work, range(8)) == [40_000.0 * i for i in range(8)]
    assert x[0].item() == 301
"""
    done = run_program(code, method, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_child_has_no_threads_before_it_works() -> None:
    flow.ones(20_000, device="mock:0").numpy()
    in_child(lambda: len(os.listdir("/proc/self/task")) == 1)


def test_hooks_of_others_that_run_python(run_program: Callable[..., Any]) -> None:
    """Between our hook and the fork itself other threads run, and issue."""
    code = """
import os, threading, time
os.register_at_fork(before=lambda: time.sleep(0.02), after_in_parent=lambda: time.sleep(0.02))
import oneflow_lite as flow
stop = threading.Event()
def loop(where):
    x = flow.zeros(20_000, device=where)
    while not stop.is_set():
        x += 1
        x[0].item()
threads = [threading.Thread(target=loop, args=(w,)) for w in ("cpu", "mock:0")]
for t in threads: t.start()
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if flow.ones(20_000, device="mock:0").sum().item() == 20_000 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
for t in threads: t.join()
"""
    done = run_program("import warnings; warnings.simplefilter('ignore')" + code, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_host_function_that_another_thread_issues_meanwhile(
    run_program: Callable[..., Any],
) -> None:
    """In the parent it goes on; in the child it has failed, and what came after it."""
    code = """
import os, threading
hooks, begun, go_on = [], threading.Event(), threading.Event()
os.register_at_fork(before=lambda: [hook() for hook in hooks])
import oneflow_lite as flow

x, y = flow.zeros(5), flow.zeros(5)

def first(_):
    begun.set()
    go_on.wait()

def issue():
    calls.append(flow.vm.host_func(first, writes=[x]))
    calls.append(flow.vm.host_func(lambda _: None, writes=[y]))

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
    messages = []
    for look in (calls[0].result, calls[1].result, (x + 1).tolist, y.mock().tolist):
        try:
            look()
        except RuntimeError as error:
            messages.append("in flight in another thread when the process forked" in str(error))
    flow.synchronize()
    new = flow.vm.host_func(lambda: 7).result()
    os._exit(0 if messages == [True] * 4 and new == (flow.ones(3) * 2).sum().item() + 1 else 1)
go_on.set()
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
assert (x + 1).tolist() == [1] * 5 and calls[0].result() is None
"""
    done = run_program("import warnings; warnings.simplefilter('ignore')" + code, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("use", ["engine.push(int).wait()", "flow.synchronize()"])
def test_a_lost_function_whose_end_uses_the_machine(
    run_program: Callable[..., Any], use: str
) -> None:
    """In the child nobody else holds the function, which is let go there with its task."""
    code = """
import os, signal, threading
hooks, begun, go_on = [], threading.Event(), threading.Event()
os.register_at_fork(before=lambda: [hook() for hook in hooks])
import oneflow_lite as flow
from oneflow_lite import engine
parent = os.getpid()
class Task:
    def __call__(self): pass
    def __del__(self):
        if os.getpid() != parent:
            USE
            os.write(1, b"ended ")
v = engine.Var("v")
def first():
    begun.set()
    go_on.wait()
def issue():
    engine.push(first, writes=[v])
    engine.push(Task(), writes=[v])
def meanwhile():
    hooks.clear()
    thread = threading.Thread(target=issue)
    thread.start()
    thread.join()
    begun.wait()
hooks.append(meanwhile)
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    os._exit(0 if (flow.ones(3) + 1).mock().tolist() == [2] * 3 else 1)
go_on.set()
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    code = "import warnings; warnings.simplefilter('ignore')" + code.replace("USE", use)
    done = run_program(code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "ended 0\n"


@contextmanager
def in_another_thread(scope: Any) -> Iterator[None]:
    """Another thread has entered the scope for the time of the block."""
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        with scope:
            entered.set()
            leave.wait()

    thread = threading.Thread(target=stay)
    thread.start()
    assert entered.wait(60)
    try:
        yield
    finally:
        leave.set()
        thread.join()


def test_locks_of_other_threads_are_free_in_the_child() -> None:
    """What Python's part of the package guards with a lock works in a child at once."""
    generator = np.random.default_rng(5)
    own = flow.random.default_rng(5)
    function = flow.graph.jit(lambda x: x * 2 + 1)

    def check() -> bool:
        signal.alarm(30)
        with flow.profiler.profile() as prof, flow.flags(fusion="0"):
            x = function(flow.ones(3))
        same = own.normal(size=3).tolist() == generator.normal(size=3).tolist()
        return same and x.tolist() == [3.0] * 3 and len(prof.records) > 0

    held = [lock for lock in locks._freed if lock.acquire(blocking=False)]
    others = [flow.flags._lock, function._lock, own._lock, own.bit_generator.lock]
    assert set(others) <= set(held)
    for lock in held:
        lock.release()

    def nest(rest: list[Any]) -> None:
        if rest:
            with in_another_thread(rest[0]):
                nest(rest[1:])
        else:
            in_child(check)

    nest([*others, flow.profiler.trace._recorder._lock])


def test_the_thread_that_forks_keeps_its_locks() -> None:
    lock = locks.make_lock()

    def check() -> bool:
        signal.alarm(30)
        lock.release()
        with in_another_thread(lock):
            return True

    with lock:
        in_child(check)


def test_functions_that_complete_during_a_fork(run_program: Callable[..., Any]) -> None:
    """Another thread has completed one, and would have retired it after the fork."""
    code = """
import os, signal, threading, oneflow_lite as flow
from oneflow_lite import engine
stop = threading.Event()
def loop():
    while not stop.is_set():
        given, begun = [], threading.Event()
        def later(run, on_complete):
            given.append(on_complete)
            begun.set()
        engine.push_async(later)
        begun.wait()
        given.pop()()
threads = [threading.Thread(target=loop) for _ in range(2)]
for t in threads: t.start()
ends = []
for _ in range(60):
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        flow.synchronize()
        os._exit(flow.vm.stats()["in_flight"])
    ends.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    if ends[-1]: break
stop.set()
for t in threads: t.join()
print(ends[-1])
"""
    done = run_program("import warnings; warnings.simplefilter('ignore')" + code, timeout=100)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "0\n")


def test_fork_while_a_worker_tells_the_recorder(run_program: Callable[..., Any]) -> None:
    """The record of the function makes the list of records grow, which takes a while."""
    code = """
import ctypes, os, signal, time
hooks = []
os.register_at_fork(before=lambda: [hook() for hook in hooks])
import oneflow_lite as flow
from oneflow_lite import engine
sleep = engine.CFunction(ctypes.CDLL(None).usleep, 20_000)
x = flow.ones(3)
engine.push(sleep).wait()
flow.profiler.profile().__enter__()
for _ in range((1 << 20) - 1): x + 1
def meanwhile():
    hooks.clear()
    engine.push(sleep)
    time.sleep(0.0205)
hooks.append(meanwhile)
pid = os.fork()
if pid == 0:
    signal.alarm(30)
    os._exit(0 if (x + 1).tolist() == [2] * 3 else 1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0)
"""
    done = run_program("import warnings; warnings.simplefilter('ignore')" + code, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_child_does_not_record_what_its_parent_records(
    run_program: Callable[..., Any],
) -> None:
    """The scopes of the thread that forks go on in the child."""
    code = """
import os, signal, threading, oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.profiler import trace
x = flow.ones(3)
parent = os.getpid()
entered, leave = threading.Event(), threading.Event()
def stay():
    with flow.profiler.profile():
        entered.set()
        leave.wait()
def in_child(check):
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)
        os._exit(0 if check() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
def nothing():
    x * 2
    return trace._recorder._open == [] and _C.profile_stop()["records"] == []
def own():
    x * 2
    own_scope.__exit__(None, None, None)
    x - 1
    runs = [r.name for r in prof.records if r.kind == "run"]
    flow.profiler.write_file()
    return runs == ["add", "multiply"] and nothing()
thread = threading.Thread(target=stay); thread.start(); entered.wait()
first = in_child(nothing)
own_scope = flow.profiler.profile()
with own_scope as prof:
    x + 1
    second = in_child(own)
leave.set(); thread.join()
print(first, second)
"""
    code = "import warnings; warnings.simplefilter('ignore')" + code
    done = run_program(code, timeout=60, profile="trace.json")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "0 0\n")
