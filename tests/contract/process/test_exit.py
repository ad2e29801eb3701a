"""Contract 13: a program leaves with its own return code, and the machine says nothing.

OFL_TEST_REPEAT=20 runs each program that many times.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

REPEAT = int(os.environ.get("OFL_TEST_REPEAT", "1"))

START = """
import gc, os, signal, sys, threading, warnings
import numpy as np
import oneflow_lite as flow

# Python's own words at each fork of a process with threads, from 3.12.
warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)

def work(device="mock:0", count=300):
    x = flow.tensor(np.ones(2000)).to(device)
    for _ in range(count):
        x = x + 1
    return x

entered = []

def enter(scope):
    # Like "with", until the program ends.
    entered.append(scope)
    scope.__enter__()

def never(*_):
    threading.Event().wait()

def interrupt_soon():
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
"""

# Name -> (program, return code).
QUIET = {
    "work in flight": ("x = work()", 0),
    "work in flight on every device": (
        "xs = [work(device) for device in ('cpu', 'mock:0', 'mock:1')]",
        0,
    ),
    "nothing done": ("", 0),
    "sys.exit": ("x = work(); sys.exit(3)", 3),
    "sys.exit in a function with tensors": (
        "def f():\n    x = work()\n    y = x.cpu()\n    sys.exit(4)\nf()",
        4,
    ),
    "os._exit": ("x = work(); os._exit(5)", 5),
    "os._exit beside a host function": ("flow.vm.host_func(never); os._exit(6)", 6),
    "daemon thread issuing in a loop": (
        "def loop():\n    while True: work(count=10)\n"
        "threading.Thread(target=loop, daemon=True).start(); work().numpy()",
        0,
    ),
    "daemon threads looking in a loop": (
        "def loop():\n    while True: work(count=3).numpy()\n"
        "for _ in range(3): threading.Thread(target=loop, daemon=True).start()\nwork().numpy()",
        0,
    ),
    "daemon thread in a full window": (
        "def loop():\n    while True: work(count=5000)\n"
        "threading.Thread(target=loop, daemon=True).start(); work(count=3).numpy()",
        0,
    ),
    "daemon thread in naive mode": (
        "enter(flow.flags(sync=True))\n"
        "def loop():\n    while True: work(count=10)\n"
        "threading.Thread(target=loop, daemon=True).start(); work().numpy()",
        0,
    ),
    "other thread that ends later": (
        "threading.Thread(target=lambda: print(work().numpy()[0])).start()",
        0,
    ),
    "tensor in a global of the module": ("kept = work()\nother = kept.cpu()", 0),
    "tensor in a global of another module": ("import json; json.kept = work()", 0),
    "tensor in a reference cycle": (
        "gc.disable()\nnode = {'x': work()}; node['self'] = node; del node",
        0,
    ),
    "tensor in a class attribute": ("class Holder: kept = work()", 0),
    "tensor in a default argument": ("def f(x=work()): pass", 0),
    "tensor in a thread-local": ("local = threading.local(); local.x = work()", 0),
    "__del__ that issues": (
        "class Issuer:\n    def __del__(self):\n        work(count=5)\nkept = Issuer()",
        0,
    ),
    "__del__ that looks": (
        "class Looker:\n"
        "    def __init__(self): self.x = work()\n"
        "    def __del__(self):\n"
        "        assert (self.x + 1)[0].item() == 302 and self.x.numpy()[0] == 301\n"
        "kept = Looker()",
        0,
    ),
    "__del__ in a cycle that issues": (
        "class Issuer:\n    def __del__(self): work('cpu', 5).numpy()\n"
        "gc.disable(); kept = Issuer(); kept.self = kept; del kept",
        0,
    ),
    "atexit handler that looks": (
        "import atexit; x = work(); atexit.register(lambda: x.numpy())",
        0,
    ),
    "failed operation that nobody looked at": (
        "enter(flow.flags(fail='launch:3')); x = work()",
        0,
    ),
    "failed host function that nobody looked at": ("flow.vm.host_func(lambda: 1 / 0)", 0),
    "host function in flight": (
        "import time; flow.vm.host_func(lambda: time.sleep(0.3)); x = work()",
        0,
    ),
    "host functions that issue more": (
        "def more(n):\n    work(count=3)\n    if n: flow.vm.host_func(lambda: more(n - 1))\n"
        "flow.vm.host_func(lambda: more(20))",
        0,
    ),
    "profile running": ("enter(flow.profiler.profile()); x = work()", 0),
    "slow device busy": (
        "enter(flow.flags(mock='h2d=100kB/s,jitter=1ms')); x = work(count=20)",
        0,
    ),
    "fork, then both leave": (
        "x = work()\npid = os.fork()\ny = x + 1\n"
        "if pid: assert os.waitpid(pid, 0)[1] == 0\nassert y[0].item() == 302",
        0,
    ),
    "fork, the child leaves by os._exit": (
        "x = work()\npid = os.fork()\nif not pid: os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7; x.numpy()",
        0,
    ),
    "imported again": (
        "del sys.modules['oneflow_lite']; import oneflow_lite as again; again.ones(3).numpy()",
        0,
    ),
    "stdin closed, work in flight": ("os.close(0); x = work()", 0),
    "signal handler that issues": (
        "signal.signal(signal.SIGUSR1, lambda *_: work(count=3))\n"
        "for _ in range(20): os.kill(os.getpid(), signal.SIGUSR1); work(count=20)",
        0,
    ),
}

# Work of a daemon thread that is in the middle of a call when the interpreter ends. CPython up to
# 3.13 ends such a thread where it next asks for the GIL.
DAEMONS = {
    "host functions that sleep": "flow.vm.host_func(lambda: time.sleep(0.001))",
    "host functions that read a file": "flow.vm.host_func(lambda: open(path).read()).result()",
    "host functions that take a lock": "flow.vm.host_func(lambda: lock.acquire(timeout=0.001))",
    "host functions in host functions": (
        "flow.vm.host_func(lambda: flow.vm.host_func(lambda: time.sleep(0.001)).result())"
    ),
    "failed host functions": "repr(failed()), flow.vm.host_func(lambda: time.sleep(0.001))",
    "foreign memory with a __del__": "flow.from_dlpack(np.asarray(Owner())) + 1",
    "a producer written in Python": "flow.from_dlpack(Producer()).numpy()",
    "sizes with an __index__": "flow.zeros((Number(2), Number(3)))",
    "an index with an __index__": "x[Number()], flow.sum(x, axis=Number(0))",
    "exports of memory": "np.asarray(flow.ones(100)).sum(), memoryview(flow.ones(100)).tolist()",
    "looks": "work('cpu', 3).numpy(), work(count=3).tolist(), repr(x)",
    "synchronize": "work(count=3), flow.synchronize()",
    "profiles": "[work(count=3) for _ in [0] if flow.profiler.profile().__enter__()]",
}
DAEMON = """
import time
path = __file__  # which is gone when the program has run
lock = threading.Lock()
x = flow.ones(5)
class Owner:
    def __init__(self):
        self.memory = np.ones(100)
        self.__array_interface__ = self.memory.__array_interface__
    def __del__(self):
        for _ in range(50): time.sleep(0)
class Producer:
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **_):
        time.sleep(0.001)
        return np.ones(100).__dlpack__()
class Number:
    def __init__(self, value=1): self.value = value
    def __index__(self): time.sleep(0.001); return self.value
def failed():
    bad = flow.zeros(3)
    flow.vm.host_func(lambda _: 1 / 0, writes=[bad])
    return bad
def loop():
    for count in range(10 ** 9):
        {work}
        if count == 2: running.release()
running = threading.Semaphore(0)
for _ in range(3): threading.Thread(target=loop, daemon=True).start()
for _ in range(3): assert running.acquire(timeout=60)
"""


@pytest.mark.parametrize("name", DAEMONS)
def test_daemon_threads_are_left_where_they_are(run_program: Callable[..., Any], name: str) -> None:
    code = START + DAEMON.replace("{work}", DAEMONS[name])
    for _ in range(max(REPEAT, 3)):
        done = run_program(code, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


# A daemon thread that will not come back from its host function, when the interpreter's last
# finalizers run: they are told, and do not wait for it.
LOST = {
    "a look at its tensor": ("x.numpy()", "will not return"),
    "work on its tensor": ("(x + 1).numpy()", "will not return"),
    "a copy of its tensor": ("x.mock(0).numpy()", "will not return"),
    "another host function": ("assert flow.vm.host_func(lambda: 1).result() == 1", ""),
    "work of its own": ("assert (flow.ones(5000) + 1).mock(0).numpy()[0] == 2", ""),
}


@pytest.mark.parametrize("name", LOST)
def test_nobody_waits_for_a_lost_thread(run_program: Callable[..., Any], name: str) -> None:
    use, message = LOST[name]
    code = (
        """
import atexit
late = []
atexit.register(lambda: [each() for each in late])  # runs after the package's own handler
"""
        + START
        + f"""
import types
class Last:
    def __del__(self):
        try:
            {use}
        except RuntimeError as error:
            os.write(1, str(error).encode())
        os.write(1, b" ended")
def hold(_):
    begun.set()
    threading.Event().wait()
def issue():
    flow.vm.host_func(hold, writes=[x])
def begin():
    threading.Thread(target=issue, daemon=True).start()
    assert begun.wait(60)
x, begun = flow.zeros(5000), threading.Event()
late.append(begin)
sys.modules["holder"] = types.ModuleType("holder")
sys.modules["holder"].last = Last()
"""
    )
    done = run_program(code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(" ended")
    assert message in done.stdout


ENDLESS = {
    "itself": "def again(): flow.vm.host_func(again)\nflow.vm.host_func(again)",
    "itself, and a result": (
        "x = flow.zeros(3)\n"
        "def again(_): x.is_ready(); flow.vm.host_func(again, writes=[flow.zeros(3)])\n"
        "flow.vm.host_func(again, writes=[x])"
    ),
    "each other": (
        "def ping(): flow.vm.host_func(pong)\ndef pong(): flow.vm.host_func(ping)\n"
        "flow.vm.host_func(ping)"
    ),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_host_functions_that_issue_each_other_end(
    run_program: Callable[..., Any], name: str
) -> None:
    done = run_program(START + ENDLESS[name], timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_is_issued_too_late_is_refused(run_program: Callable[..., Any]) -> None:
    code = """
import atexit
def late():
    begun.set()  # the process has begun to end when this is called, or will
    while not refused:
        try:
            flow.vm.host_func(lambda: None)
        except RuntimeError as error:
            refused.append(str(error))
            os.write(1, str(error).encode())
        time.sleep(0.001)
refused, begun = [], threading.Event()
import time
flow.vm.host_func(late, name="late")
assert begun.wait(60)
"""
    done = run_program(START + code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("a function cannot issue another one while the process ends")


@pytest.mark.parametrize("busy", ["flow.vm.host_func(never)", "x = slow()"])
def test_ctrl_c_ends_the_last_wait(run_program: Callable[..., Any], busy: str) -> None:
    """Workers and devices may be busy then; nothing is taken away from them."""
    code = (
        START
        + """
import atexit
def slow():
    enter(flow.flags(mock="h2d=160B/s"))  # 100 s
    xs = [flow.tensor(np.ones(2000)).to("mock:0") + 1]
    return xs + [xs[0] + i for i in range(30)]
atexit.register(lambda: (atexit.unregister(flow.lifecycle._leave), leave()))
def leave():
    interrupt_soon()
    try:
        flow.lifecycle._leave()
    except KeyboardInterrupt:
        os.write(1, b"interrupted")
"""
    )
    done = run_program(code + busy, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "interrupted"


# Name -> (program, last line of stderr, return code).
LOUD = {
    "exception with work in flight": (
        "x = work()\n1 / 0",
        "ZeroDivisionError: division by zero",
        1,
    ),
    "exception of a failed operation": (
        "enter(flow.flags(fail='launch:3')); work().numpy()",
        "add: issued at ",
        1,
    ),
    "exception in a thread": (
        "def f():\n    work()\n    raise ValueError('in a thread')\n"
        "t = threading.Thread(target=f); t.start(); t.join()",
        "ValueError: in a thread",
        0,
    ),
    "Ctrl-C in a look": (
        "x = flow.zeros(3); flow.vm.host_func(never, writes=[x], name='n')\n"
        "interrupt_soon()\ntry: x.numpy()\n"
        "except KeyboardInterrupt: os.write(2, b'caught'); os._exit(9)",
        "caught",
        9,
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_leaves_quietly(run_program: Callable[..., Any], name: str) -> None:
    code, expected = QUIET[name]
    for _ in range(REPEAT):
        done = run_program(START + code, timeout=60)
        assert (done.returncode, done.stderr) == (expected, "")


@pytest.mark.parametrize("name", LOUD)
def test_leaves_with_its_own_words_only(run_program: Callable[..., Any], name: str) -> None:
    code, last, expected = LOUD[name]
    for _ in range(REPEAT):
        done = run_program(START + code, timeout=60)
        assert done.returncode == expected
        lines = done.stderr.splitlines()
        assert lines[-1].startswith(last)
        assert "terminate" not in done.stderr
        assert sum(line.startswith(("Traceback", "Exception in thread")) for line in lines) <= 2


# A program that is interrupted and does nothing about it ends by the signal, or with 130.
WAITS = {
    "item": "x = slow(); x[0].item()",
    "numpy": "x = slow(); x.numpy()",
    "synchronize": "x = slow(); flow.synchronize()",
    "result of a host function": "flow.vm.host_func(lambda: pause()).result()",
    "host function in naive mode": "enter(flow.flags(sync=True)); flow.vm.host_func(pause)",
    "full window": "x = slow()\nwhile True: x = x + 1",
    "naive mode": "enter(flow.flags(sync=True))\nwhile True: work(count=10)",
    "issuing": "while True: work(count=10)",
}


@pytest.mark.parametrize("name", WAITS)
def test_ctrl_c_ends_a_program(run_program: Callable[..., Any], name: str) -> None:
    """The device needs 2 s for the copy; the program ends by the interrupt, and then at its end."""
    code = (
        START
        + """
import time
def pause(): time.sleep(2)
def slow():
    enter(flow.flags(mock="h2d=8kB/s"))
    return flow.tensor(np.ones(2000)).to("mock:0") + 1
interrupt_soon()
"""
        + WAITS[name]
    )
    done = run_program(code, timeout=60)
    assert done.returncode in (-2, 130)
    lines = done.stderr.splitlines()
    assert "KeyboardInterrupt" in lines[-2:]  # the note of a failed operation may follow
    assert lines[0] == "Traceback (most recent call last):"
    assert "terminate" not in done.stderr


def test_what_a_function_held_uses_the_machine_at_the_end(run_program: Callable[..., Any]) -> None:
    """The function has returned and never completes, and only it holds the tensor."""
    code = """
import threading
import numpy as np, oneflow_lite as flow
from oneflow_lite import engine
class Owner:
    def __init__(self):
        self.memory = np.ones(100)
        self.__array_interface__ = self.memory.__array_interface__
    def __del__(self):
        print((flow.ones(3) + 1).tolist(), engine.push(lambda: 7).result())
kept, begun = [], threading.Event()
def later(run, on_complete, x):
    kept.append(on_complete)
    begun.set()
x = flow.from_dlpack(np.asarray(Owner()))
call = engine.push_async(later, reads=[x])
begun.wait()
del x, call
"""
    done = run_program(code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "[2.0, 2.0, 2.0] 7\n"
