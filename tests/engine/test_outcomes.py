"""What happens to a pushed function that does not just return: the last table of docs/engine.md.

Each program runs in a process of its own. OFL_TEST_REPEAT=20 runs each that many times.
"""

import concurrent.futures
import gc
import os
import threading
from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import engine

REPEAT = int(os.environ.get("OFL_TEST_REPEAT", "1"))

START = """
import gc, os, signal, sys, threading, time, types, warnings
import oneflow_lite as flow
from oneflow_lite import engine

# Python's own words at each fork of a process with threads, from 3.12.
warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)

var, kept = engine.Var("table"), []

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

def told(call):
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

def begun(**how):
    # A function that has begun, and completes later; its on_complete is kept.
    done = engine.push_async(lambda _, end: kept.append(end), **how)
    while not kept: time.sleep(0)
    return done

def at_the_very_end(call):
    # Called by the last finalizers of the interpreter.
    class Last:
        def __del__(self): call()
    sys.modules["holder"] = types.ModuleType("holder")
    sys.modules["holder"].last = Last()

def interrupt_soon():
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.daemon = True
    timer.start()
"""

# Name -> (program, lines of its output, return code); nothing is written to stderr.
QUIET: dict[str, tuple[str, list[str], int]] = {
    "exit with functions in flight": (
        "for k in range(3):\n"
        "    engine.push(lambda k=k: (time.sleep(0.05), say(k)), writes=[var], blocking=k == 1)",
        ["0", "1", "2"],
        0,
    ),
    "sys.exit with a function in flight": (
        "engine.push(lambda: (time.sleep(0.2), say('ran'))); sys.exit(3)",
        ["ran"],
        3,
    ),
    "os._exit with a function in flight": (
        "engine.push(lambda: (time.sleep(60), say('ran'))); os._exit(4)",
        [],
        4,
    ),
    "os._exit in a function": ("engine.push(lambda: os._exit(6)); time.sleep(60)", [], 6),
    "sys.exit in a function is the waiting thread's": (
        "engine.push(lambda: sys.exit(5)).result(); say('not here')",
        [],
        5,
    ),
    "failed and nobody looked": ("engine.push(lambda: 1 / 0)", [], 0),
    "cancelled and nobody looked": (
        "engine.push(lambda: time.sleep(0.2), writes=[var])\n"
        "say(engine.push(lambda: say('ran'), writes=[var]).cancel())",
        ["True"],
        0,
    ),
    "a callback that is called at the end": (
        "done = engine.push(lambda: time.sleep(0.2))\n"
        "done.add_done_callback(lambda done: say(done))",
        ["<Completion returned>"],
        0,
    ),
    "one that never completes": (
        "done = begun(writes=[var])\n"
        "behind = engine.push(lambda: say('ran'), reads=[var])\n"
        "say(told(lambda: done.result(0.01)))\n"
        "at_the_very_end(lambda: say(repr(done.exception()), repr(behind.exception())))",
        [
            "TimeoutError: the function is not over after 0.01 s",
            "RuntimeError('had not completed when the process ended') "
            "RuntimeError('had not completed when the process ended')",
        ],
        0,
    ),
    "others beside one that never completes": (
        "begun(writes=[var]); engine.push(lambda: say('ran'))",
        ["ran"],
        0,
    ),
    "one that completes after the exit": (
        "begun(); at_the_very_end(lambda: say(told(kept[0])))",
        ["RuntimeError: [on_complete] the function had completed before"],
        0,
    ),
    "one that a thread completes in time": (
        "done = begun()\n"
        "def later():\n    time.sleep(0.2); kept[0](3); say(done.result())\n"
        "threading.Thread(target=later).start()",
        ["3"],
        0,
    ),
    "a push in a function while the process ends": (
        "import atexit\n"
        "def late():\n"
        "    at_end.wait(); push = lambda: engine.push(int)\n"
        "    while isinstance(found := told(push), engine.Completion): time.sleep(0.001)\n"
        "    say(found)\n"
        "at_end = threading.Event(); atexit.register(at_end.set); engine.push(late)",
        ["RuntimeError: [int] a function cannot issue another one while the process ends"],
        0,
    ),
    "a function of a device that pushes itself for ever": (
        "def again(run): engine.push(again, device='mock:0')\nengine.push(again, device='mock:0')",
        [],
        0,
    ),
    "functions that push each other for ever": (
        "def again(): engine.push(again)\nengine.push(again)",
        [],
        0,
    ),
    "pushes at the end": (
        "import atexit\natexit.register(lambda: say(engine.push(lambda: 4).result()))\n"
        "at_the_very_end(lambda: say(engine.push(lambda: 5).result()))",
        ["4", "5"],
        0,
    ),
    "daemon threads that push": (
        "def loop():\n    while True: engine.push(lambda: time.sleep(0.001)).result()\n"
        "for _ in range(3): threading.Thread(target=loop, daemon=True).start()\ntime.sleep(0.2)",
        [],
        0,
    ),
    "Ctrl-C while a function runs": (
        "go_on = threading.Event()\n"
        "done = engine.push(lambda: (go_on.wait(60), 7)[1])\ninterrupt_soon()\n"
        "try: done.result()\n"
        "except KeyboardInterrupt: say('interrupted', done)\n"
        "go_on.set(); say(done.result()); engine.wait_all()",
        ["interrupted <Completion running>", "7"],
        0,
    ),
    "Ctrl-C while a function runs in naive mode": (
        "with flow.flags(sync=True):\n"
        "    interrupt_soon()\n"
        "    try: engine.push(lambda: time.sleep(60), writes=[var])\n"
        "    except KeyboardInterrupt: say('interrupted')\n"
        "    var.clear_error(); say(engine.push(int, reads=[var]).result())",
        ["interrupted", "0"],
        0,
    ),
    "a program in a function": (
        "import subprocess\n"
        "say(engine.push(lambda: subprocess.check_output(['echo', 'hello'])).result())",
        [r"b'hello\n'"],
        0,
    ),
    "a fork waits for functions": (
        "done = engine.push(lambda: (time.sleep(0.3), 7)[1], blocking=True)\n"
        "pid = os.fork()\n"
        "if not pid: os._exit(done.result(0))\n"
        "say(done.result(0), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))",
        ["7 7"],
        0,
    ),
    "a fork while another thread adds a callback": (
        "done = begun(); inside = threading.Event()\n"
        "def add():\n"
        "    with done._condition: inside.set(); time.sleep(0.3); done.add_done_callback(int)\n"
        "threading.Thread(target=add).start(); inside.wait()\n"
        "pid = os.fork()\n"
        "if not pid: done.add_done_callback(bool); os._exit(engine.push(lambda: 5).result())\n"
        "say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])); os._exit(0)",
        ["5"],
        0,
    ),
    "a fork beside one that completes later": (
        "done = begun(writes=[var]); behind = engine.push(lambda: 8, reads=[var])\n"
        "pid = os.fork()\n"
        "if not pid:\n"
        "    for call in (done.result, behind.result, kept[0]): say(told(call))\n"
        "    var.clear_error(); os._exit(engine.push(lambda: 9, reads=[var]).result())\n"
        "say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        "kept[0](7); say(done.result(), behind.result())",
        [
            *["RuntimeError: was in flight in another thread when the process forked"] * 2,
            "RuntimeError: [on_complete] the function had completed before",
            "9",
            "7 8",
        ],
        0,
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_it_is_quiet(run_program: Callable[..., Any], name: str) -> None:
    code, lines, status = QUIET[name]
    for _ in range(REPEAT):
        done = run_program(START + code, timeout=60)
        assert (done.returncode, done.stderr) == (status, "")
        assert done.stdout.splitlines() == lines


def test_ctrl_c_ends_the_wait_for_one_that_never_returns(run_program: Callable[..., Any]) -> None:
    done = run_program(START + "engine.push(threading.Event().wait); interrupt_soon()", timeout=60)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1].startswith("KeyboardInterrupt")
    assert done.stderr.count("Traceback") == 1


LEAVES = {
    "os._exit": ("os._exit(7)", "", 7),
    "return": ("say('child'); return", "child\n", 0),
    "sys.exit": ("sys.exit(5)", "", 5),
    "exception": ("raise KeyError('mine')", "", 1),
}


@pytest.mark.parametrize("where", ["engine", "blocking", "host_func", "mock:0"])
@pytest.mark.parametrize("way", LEAVES)
def test_a_function_that_forks(run_program: Callable[..., Any], where: str, way: str) -> None:
    """Its child has a machine that works, and ends with the function."""
    leave, said, status = LEAVES[way]
    code = f"""
import sys, warnings
warnings.simplefilter("ignore")
x = flow.ones(20_000, device="mock:0")
for _ in range(50): x += 1
other = engine.push(lambda: 3)
def function(*_):
    pid = os.fork()
    if pid: return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    y = flow.ones(20_000, device="mock:1")
    assert (y + 1).sum().item() == 40_000
    assert engine.push(lambda: 4).result() == 4
    {leave}
push = dict(
    engine=lambda: engine.push(function),
    blocking=lambda: engine.push(function, blocking=True),
    host_func=lambda: flow.vm.host_func(function),
).get({where!r}, lambda: engine.push(function, device={where!r}))
say(push().result(60), engine.push(lambda: 8).result(), other.result())
say((x + 1)[0].item())
"""
    done = run_program(START + code, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"{said}{status} 8 3\n52.0\n"), done
    assert done.stderr.count("KeyError: 'mine'") == (way == "exception"), done.stderr
    assert done.stderr == "" or way == "exception"


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_a_function_of_c_that_forks(run_program: Callable[..., Any], device: str) -> None:
    code = f"""
import ctypes, warnings
warnings.simplefilter("ignore")
@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
def function(*_):
    pid = os.fork()
    if pid: say(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
for _ in range(3): engine.push(engine.CFunction(function), device={device!r}).wait(60)
"""
    done = run_program(START + code, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n" * 3, "")


def test_a_fork_while_functions_of_a_device_are_pushed(run_program: Callable[..., Any]) -> None:
    """They run in the parent alone."""
    code = """
import warnings
warnings.simplefilter("ignore")
stop, parent, wrong = threading.Event(), os.getpid(), []
def function(*_):
    if os.getpid() != parent: os._exit(3)
def push():
    while not stop.is_set():
        [engine.push(function, device="mock:0") for _ in range(20)][-1].wait()
threads = [threading.Thread(target=push) for _ in range(2)]
for each in threads: each.start()
for _ in range(60):
    pid = os.fork()
    if not pid:
        y = flow.ones(9, device="mock:0") + 1
        os._exit(engine.push(lambda: 7).result() if y.sum().item() == 18 else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 7: wrong.append(status)
stop.set()
for each in threads: each.join()
say(wrong)
"""
    done = run_program(START + code, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[]\n", "")


def test_an_interrupt_of_a_function_is_the_waiting_threads(naive: bool) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.push(interrupt).result(60)
    if not naive:  # there the push has raised it
        with pytest.raises(KeyboardInterrupt):
            engine.wait_all()
    engine.wait_all()


def test_the_first_completion_counts() -> None:
    def twice(run: engine.Run, on_complete: Callable[..., None]) -> None:
        on_complete(1)
        with pytest.raises(RuntimeError, match="had completed before"):
            on_complete(2)

    assert engine.push_async(twice).result(60) == 1

    def raises_after(run: engine.Run, on_complete: Callable[..., None]) -> None:
        on_complete(3)
        raise ValueError("after it")

    with pytest.raises(ValueError, match="after it"):
        engine.push_async(raises_after).result(60)


def test_what_has_begun_is_not_cancelled() -> None:
    begun, go_on, kept = threading.Event(), threading.Event(), []
    running = engine.push(lambda: (begun.set(), go_on.wait(60), 5)[2])
    assert begun.wait(60)
    assert (running.cancel(), running.running()) == (False, True)
    go_on.set()
    assert running.result(60) == 5
    begun.clear()
    later = engine.push_async(lambda _, end: (kept.append(end), begun.set()))
    assert begun.wait(60)
    assert (later.cancel(), later.running()) == (False, True)
    kept[0](6)
    assert later.result(60) == 6


def test_cancelled_ones_are_skipped_by_their_dependents_only() -> None:
    var, go_on, ran = engine.Var(), threading.Event(), []
    engine.push(lambda: go_on.wait(60), writes=[var])
    assert engine.push(lambda: ran.append(1), writes=[var]).cancel()
    behind = engine.push(lambda: ran.append(2), reads=[var])
    var.clear_error()
    after = engine.push(lambda: ran.append(3), reads=[var])
    go_on.set()
    after.result(60)
    with pytest.raises(concurrent.futures.CancelledError):
        behind.result(60)
    assert ran == [3]


@pytest.mark.parametrize("kind", ["itself", "wait_all", "behind", "each other"])
def test_waits_that_could_not_end_are_told(kind: str) -> None:
    var, pushed, calls = engine.Var(), threading.Event(), []

    def wait_for(number: int) -> Any:
        assert pushed.wait(60)
        return calls[number].result()

    if kind == "wait_all":
        calls = [engine.push(engine.wait_all)]
    elif kind == "itself":
        calls = [engine.push(lambda: wait_for(0))]
    elif kind == "behind":
        calls = [engine.push(lambda: wait_for(1), writes=[var]), engine.push(int, reads=[var])]
    else:
        calls = [engine.push(lambda: wait_for(1)), engine.push(lambda: wait_for(0))]
    pushed.set()
    for call in calls:
        error = call.exception(60)
        assert isinstance(error, RuntimeError)
        assert "itself" in str(error)


@pytest.mark.parametrize("threads", [1, 2])
def test_one_waits_for_another(threads: int) -> None:
    with flow.flags(engine_threads=threads):
        inner = [engine.push(lambda k=k: k) for k in range(20)]
        assert engine.push(lambda: sum(done.result() for done in inner)).result(60) == 190


def test_the_last_reference_of_a_tensor_goes_in_another_thread() -> None:
    held, go_on = [flow.ones(100_000)], threading.Event()
    done = engine.push(lambda a: (go_on.wait(60), float(a.sum()))[1], reads=[held[0]])
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    gc.collect()
    go_on.set()
    assert done.result(60) == 100_000


def test_a_deleted_variable_gives_back_what_it_stands_for() -> None:
    """Also when a use has failed; a push that comes later is refused at its line."""
    var, closed = engine.Var("file"), []
    engine.push(lambda: 1 / 0, writes=[var])
    engine.delete(var, lambda: closed.append(1)).wait(60)
    assert closed == [1]
    for push in (engine.push, engine.push_async, engine.Operator):
        with pytest.raises(RuntimeError, match='"file" has been deleted'):
            push(int, writes=[var])
