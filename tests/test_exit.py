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
