"""Ctrl-C, fork and exit while runs of programs are in flight."""

import sys
from collections.abc import Callable
from typing import Any

import pytest

START = """
import os, signal, sys, threading, time, warnings
import numpy as np
import oneflow_lite as flow

warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
device, mode, release = sys.argv[1:4]

def work(x, y):
    for _ in range(4):
        x = flow.tanh(x @ y) + flow.sin(x)
    return x, flow.sum(x)

x, y = (flow.full((300, 300), 0.01, device=device) for _ in range(2))
wanted = work(x, y)[1].item()
if mode == "jit":
    run = flow.jit(work)
elif mode == "executor":
    main = flow.graph.Program("main")
    with flow.graph.building(main):
        fetched = work(*(flow.graph.data(name, (300, 300)) for name in "xy"))
    executor = flow.graph.Executor(device, release=release)
    run = lambda x, y: executor.run(main, {"x": x, "y": y}, fetched)
else:
    run = flow.graph.compile(flow.graph.trace(work, x, y).program, mode=mode, release=release)

def is_right(results):
    return all(total.item() == wanted for _, total in results)

results = [run(x, y) for _ in range(5)]
"""

LEAVING = {
    "at the end": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "os._exit": ("print('left', flush=True); os._exit(4)", 4),
    "an exception": ("sys.stderr = open(os.devnull, 'w'); raise ValueError", 1),
    "a thread that runs in a loop": (
        "def loop():\n    while True: run(x, y)\n"
        "threading.Thread(target=loop, daemon=True).start(); assert is_right(results)",
        0,
    ),
    "a thread that looks in a loop": (
        "def loop():\n    while True: run(x, y)[1].item()\n"
        "threading.Thread(target=loop, daemon=True).start(); assert is_right(results)",
        0,
    ),
    "without its program": ("del run", 0),
    "in a cycle": ("class Kept: pass\nkept = Kept(); kept.self, kept.run = kept, run; del run", 0),
    "fork": (
        "child = os.fork()\n"
        "right = is_right(results) and (device != 'cpu' or is_right([run(x, y)]))\n"
        "if child == 0: os._exit(0 if right else 3)\n"
        "assert right and os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0\n"
        "assert is_right([run(x, y)])",
        0,
    ),
    "fork, both leave": (
        "child = os.fork()\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
        "assert device != 'cpu' or is_right([run(x, y)])",
        0,
    ),
}
WAYS = [("jit", "plan"), ("executor", "plan"), ("serial", "event"), ("parallel", "plan")]


@pytest.mark.parametrize("name", LEAVING)
@pytest.mark.parametrize(
    ("device", "mode", "release"), [("mock:0", "jit", "plan"), *(("cpu", *way) for way in WAYS)]
)
def test_leaving(
    run_program: Callable[..., Any], device: str, mode: str, release: str, name: str
) -> None:
    if "fork" in name and sys.platform == "win32":
        pytest.skip("needs os.fork")
    code, returned = LEAVING[name]
    done = run_program(START + code, device, mode, release)
    assert (done.returncode, done.stderr) == (returned, "")


INTERRUPTED = """
opened, inside = threading.Event(), threading.Event()
held = x + 0
flow.vm.host_func(lambda *_: opened.wait(100), writes=[held])

def interrupt():
    inside.wait()
    time.sleep(0.1)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

sent = []
threading.Thread(target=interrupt).start()
try:
    inside.set()
    {wait}
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted" if time.monotonic() - sent[0] < 20 else "late")
opened.set()
assert is_right([run(x, y)])
assert is_right([run(held, y)])
flow.synchronize()
print(flow.vm.stats()["in_flight"])
"""
WAITS = {
    "a result": "run(held, y)[1].item()",
    "synchronize": "run(held, y); flow.synchronize()",
    "many runs": "\n    while True: run(held, y)",
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize(
    ("mode", "release"), [*WAYS, ("sequential", "plan"), ("naive", "plan")], ids=str
)
def test_ctrl_c(run_program: Callable[..., Any], mode: str, release: str, wait: str) -> None:
    done = run_program(START + INTERRUPTED.replace("{wait}", WAITS[wait]), "cpu", mode, release)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["interrupted", "0"]


CTRL_C_IN_A_TRACE = """
calls = []

@flow.jit
def slow(x):
    calls.append(len(calls))
    if len(calls) == 1:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000): time.sleep(0.01)
    return x + 1

try:
    slow(x)
except KeyboardInterrupt:
    print("interrupted", slow(flow.ones(2)).tolist(), slow(flow.ones(2)).tolist(), calls)
"""


def test_ctrl_c_in_a_trace(run_program: Callable[..., Any]) -> None:
    done = run_program(START + CTRL_C_IN_A_TRACE, "cpu", "jit", "plan")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["interrupted [2.0, 2.0] [2.0, 2.0] [0, 1]"]
