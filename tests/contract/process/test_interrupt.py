"""Ctrl-C in every wait: it arrives long before the wait would end, and the machine goes on."""

import os
import re
from collections.abc import Callable
from typing import Any

import pytest

START = """
import _thread, os, signal, sys, threading, time
import numpy as np
import oneflow_lite as flow

opened = threading.Event()

def hold(*_):
    assert opened.wait(100)

x = flow.zeros(2000)
call = flow.vm.host_func(hold, writes=[x])

def interrupt():
    time.sleep(0.1)  # the main thread waits by now, or will: the signal stays pending
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

sent = []
threading.Thread(target=interrupt).start()
try:
    {wait}
    print("not interrupted")
except KeyboardInterrupt:
    late = time.monotonic() - sent[0]
opened.set()
# The host function would have held everything for 100 s. The promise is 0.2 s, on a quiet machine.
print("interrupted" if late < 20 else "late")
print((x.mock(0) + 1).tolist()[0], (x + 1).tolist()[0], call.result())
flow.synchronize()
print(flow.vm.stats()["in_flight"])
"""

WAITS = {
    "numpy": "x.numpy()",
    "item": "x[0].item()",
    "tolist": "x.tolist()",
    "bool": "bool(x[0] == 0)",
    "repr": "repr(x)",
    "look at a device": "(x.mock(0) + 1).numpy()",
    "synchronize": "flow.synchronize()",
    "synchronize of a device": "y = x.mock(1); flow.synchronize('mock:1')",
    "result": "call.result()",
    "wait": "call.wait()",
    "full window, cpu": "\n    while True: y = x + 1",
    "full window, mock": "y = x.mock(0)\n    while True: y = y + 1",
    "barrier": "flow.vm.barrier(); y = flow.ones(3) + 1; y.numpy()",
    "profile": "\n    with flow.profiler.profile(): x + 1",
    "naive mode behind others": "\n    with flow.flags(sync=True): x + 1",
}


@pytest.mark.parametrize("name", WAITS)
def test_ctrl_c(run_program: Callable[..., Any], name: str) -> None:
    done = run_program(START.replace("{wait}", WAITS[name]), timeout=150)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["interrupted", "1.0 1.0 None", "0"]


def test_ctrl_c_beside_a_slow_device(run_program: Callable[..., Any]) -> None:
    code = """
import os, signal, threading, numpy as np, oneflow_lite as flow
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
with flow.flags(mock="h2d=160B/s"):  # 100 s
    x = flow.tensor(np.ones(2000)).mock(0)
    try:
        x.numpy()
    except KeyboardInterrupt:
        print("interrupted", x.is_ready(), flow.ones(2, device="mock:1").tolist(), flush=True)
os._exit(0)
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "interrupted False [1.0, 1.0]\n"


def test_a_handler_that_raises_something_else(run_program: Callable[..., Any]) -> None:
    code = """
import os, signal, threading, oneflow_lite as flow
class Stop(Exception): pass
def handler(*_): raise Stop("now")
signal.signal(signal.SIGALRM, handler)
opened = threading.Event()
x = flow.zeros(3)
flow.vm.host_func(lambda _: opened.wait(100), writes=[x])
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    x.numpy()
except Stop as error:
    print("stopped", error)
opened.set()
print(x.tolist())
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "stopped now\n[0.0, 0.0, 0.0]\n"


def test_a_handler_that_returns_does_not_end_a_wait(run_program: Callable[..., Any]) -> None:
    code = """
import signal, threading, oneflow_lite as flow
opened, count = threading.Event(), [0]
def handler(*_):
    count[0] += 1
    if count[0] == 3: opened.set()
signal.signal(signal.SIGALRM, handler)
x = flow.zeros(3)
flow.vm.host_func(lambda _: opened.wait(100), writes=[x])
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
print(x.tolist(), count[0] >= 3)
signal.setitimer(signal.ITIMER_REAL, 0)
"""
    done = run_program(code)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"\[0.0, 0.0, 0.0\] True\n", done.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize("by", ["ctrl_c", "another exception"])
def test_an_interrupt_of_a_fork_that_waits(run_program: Callable[..., Any], by: str) -> None:
    """The child leaves the function to the parent, which is interrupted after the fork."""
    code = """
import faulthandler, os, signal, sys, threading, oneflow_lite as flow
class Stop(BaseException): pass
def handler(*_): raise Stop
expected = KeyboardInterrupt
if sys.argv[1] != "ctrl_c":
    signal.signal(signal.SIGINT, handler)
    expected = Stop
opened = threading.Event()
x, old = flow.zeros(3), flow.ones(20_000, device="mock:0") + 1
old.numpy()
call = flow.vm.host_func(lambda _: opened.wait(100), writes=[x])
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

parent, told = os.getpid(), os.pipe()
def in_child():
    faulthandler.dump_traceback_later(30, exit=True)
    try:
        x.tolist()
    except RuntimeError as error:
        told_of = "in flight in another thread" in str(error)
    new = flow.vm.host_func(lambda: (old * 3)[0].item()).result()
    os.write(told[1], b"right" if told_of and new == 6 else b"wrong")
    sys.exit(0)

try:
    if os.fork() == 0:
        in_child()
    print("not interrupted")
except expected:
    print("interrupted", os.getpid() == parent)
print(os.read(told[0], 100), os.wait()[1])
opened.set()
print(x.tolist(), (x.mock(0) + 1).tolist())
"""
    done = run_program("import warnings; warnings.simplefilter('ignore')" + code, by, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "interrupted True",
        "b'right' 0",
        "[0.0, 0.0, 0.0] [1.0, 1.0, 1.0]",
    ]


# Name -> the block whose begin or end waits. Within it, or before it, `hold()` holds it up.
SCOPES = {
    "begin of a profile": "hold()\nwith flow.profiler.profile() as prof: pass",
    "end of a profile": "with flow.profiler.profile() as prof: x + 1; hold()",
    "begin of a benchmark": "hold()\nwith flow.flags(benchmark=True): pass",
    "end of a benchmark": (
        "with flow.flags(benchmark=True):\n"
        "    thread = threading.Thread(target=hold); thread.start(); begun.wait()"
    ),
}


@pytest.mark.parametrize("name", SCOPES)
def test_ctrl_c_leaves_nothing_switched_on(run_program: Callable[..., Any], name: str) -> None:
    code = """
import faulthandler, os, signal, threading, oneflow_lite as flow
faulthandler.dump_traceback_later(50, exit=True)
opened, begun = threading.Event(), threading.Event()
def wait():
    begun.set()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    opened.wait(100)
def hold(): flow.vm.host_func(wait)
x, prof = flow.ones(3), None
with flow.profiler.profile() as outer:
    try:
        SCOPE
    except KeyboardInterrupt:
        print("interrupted", prof is None or any(r.name == "add" for r in prof.records))
    opened.set()
    flow.synchronize()
    x * 2
    records = 0 if prof is None else len(prof.records)
print([r.name for r in outer.records if r.kind == "run"].count("multiply"))
print(records == (0 if prof is None else len(prof.records)))
x + 1
with flow.profiler.profile() as later: x + 1
print([r.name for r in later.records if r.kind == "run"])
flow.vm.benchmark_report(clear=True)
x - 1
print("subtract" in flow.vm.benchmark_report(), flow.flags.benchmark)
# In naive mode it would be ready.
begun.clear()
flow.vm.host_func(lambda _: begun.wait(100), writes=[x])
y = x.mock() + 1
print(y.is_ready())
begun.set()
"""
    done = run_program(code.replace("SCOPE", SCOPES[name].replace("\n", "\n        ")), timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "interrupted True",
        "1",
        "True",
        "['add']",
        "False False",
        "False",
    ]
