"""Completions: what they tell where that meets an error, and what they keep alive."""

import concurrent.futures
import ctypes
import gc
import logging
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import engine
from tests.support.machine import here, run_in_threads

C_TYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))


# Ctrl-C comes while the call waits for room.
INTERRUPT = """
import concurrent.futures, faulthandler, signal, threading
import oneflow_lite as flow
from oneflow_lite import engine
faulthandler.dump_traceback_later(50, exit=True)
go_on = threading.Event()

def interrupt(*_):
    signal.setitimer(signal.ITIMER_REAL, 0)
    raise KeyboardInterrupt

def interrupted(call):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
        call()
    except KeyboardInterrupt:
        print("interrupted")

signal.signal(signal.SIGALRM, interrupt)
with flow.flags(max_in_flight=1):
    first = engine.push(go_on.wait)
"""


# --- callbacks and waits


def test_a_function_adds_a_callback_to_its_own_completion() -> None:
    pushed, called, calls = threading.Event(), threading.Event(), []

    def function() -> None:
        assert pushed.wait(60)
        calls[0].add_done_callback(lambda done: called.set())

    calls.append(engine.push(function))
    pushed.set()
    calls[0].wait(60)
    assert called.wait(60)
    assert concurrent.futures.wait(calls, 60).not_done == set()


def test_an_interrupted_wait_does_not_lose_the_next_one(run_program: Callable[..., Any]) -> None:
    code = """
    interrupted(lambda: concurrent.futures.wait([first], 60))
    go_on.set()
    first.wait()
    called = threading.Event()
    first.add_done_callback(lambda done: called.set())
    print(called.wait(20), concurrent.futures.wait([first], 20).not_done)
"""
    done = run_program(INTERRUPT + code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "interrupted\nTrue set()\n"


def test_several_threads_ask_at_once() -> None:
    """Each callback is called once, whichever thread begins to watch."""
    for _ in range(50):
        go_on, called = threading.Event(), []
        done = engine.push(go_on.wait)

        def ask(k: int, of: Any = done, to: Any = called) -> None:
            of.add_done_callback(lambda _: to.append(k))

        run_in_threads(ask, 4)
        go_on.set()
        engine.wait_all()
        assert sorted(called) == [0, 1, 2, 3]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, ValueError])
def test_a_callback_that_raises_is_logged_and_the_others_are_called(
    caplog: pytest.LogCaptureFixture, error: type[BaseException]
) -> None:
    go_on, called = threading.Event(), threading.Event()

    def callback(_: object) -> None:
        raise error("on purpose")

    done = engine.push(go_on.wait)
    done.add_done_callback(callback)
    done.add_done_callback(lambda _: called.set())
    with caplog.at_level(logging.ERROR):
        go_on.set()
        assert called.wait(60)
        engine.wait_all()
    assert "a callback of <Completion returned> failed" in caplog.text
    assert "on purpose" in caplog.text
    if issubclass(error, Exception):
        done.add_done_callback(callback)
    else:  # the caller's own
        with pytest.raises(error):
            done.add_done_callback(callback)


# --- variables


def test_a_deletion_that_was_refused_can_be_done() -> None:
    var, ran = engine.Var("file"), []

    def delete() -> engine.Completion:
        with pytest.raises(RuntimeError, match="wait for itself"):
            engine.delete(var, lambda: ran.append("closed"))
        return engine.push(int)

    engine.push(delete, writes=[var]).result(60).wait(60)
    assert (var.deleted, ran) == (False, [])
    engine.delete(var, lambda: ran.append("closed")).wait(60)
    assert (var.deleted, ran) == (True, ["closed"])


def test_a_deletion_that_was_interrupted_can_be_done(run_program: Callable[..., Any]) -> None:
    code = """
    var, ran = engine.Var("file"), []
    interrupted(lambda: engine.delete(var, lambda: ran.append("closed")))
    go_on.set()
    engine.wait_all()
    print(var.deleted, ran)
    engine.delete(var, lambda: ran.append("closed")).wait()
    print(var.deleted, ran)
"""
    done = run_program(INTERRUPT + code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "interrupted\nFalse []\nTrue ['closed']\n"


def test_a_deletion_that_has_run_counts() -> None:
    """In naive mode its function has run when what interrupted it is raised."""
    var, ran = engine.Var("file"), []

    def close() -> None:
        ran.append("closed")
        raise KeyboardInterrupt

    with flow.flags(sync=True):
        with pytest.raises(KeyboardInterrupt):
            engine.delete(var, close)
        assert var.deleted
        with pytest.raises(RuntimeError, match='"file" has been deleted'):
            engine.delete(var, close)
    assert ran == ["closed"]


# --- lifetimes


def check_let_go(make: Callable[[], weakref.ref[Any]]) -> None:
    alive = make()
    engine.wait_all()
    engine.push(int).wait(60)
    gc.collect()
    assert alive() is None


def test_a_result_that_holds_its_on_complete_is_let_go() -> None:
    class Fetch:
        def __init__(self, error: type[Exception] | None) -> None:
            self.error = error

        def __call__(self, run: engine.Run, on_complete: Callable[..., None]) -> None:
            self.on_complete = on_complete
            if self.error is not None:
                failed = self.error("on purpose")
                failed.fetch = self  # type: ignore[attr-defined]
                on_complete(error=failed)
            else:
                on_complete(self)
            with pytest.raises(RuntimeError, match="had completed before"):
                on_complete(self)

    def make(error: type[Exception] | None) -> weakref.ref[Any]:
        fetch = Fetch(error)
        done = engine.push_async(fetch)
        if error is None:
            assert done.result(60) is fetch
        else:
            assert isinstance(done.exception(60), error)
            with pytest.raises(error):
                engine.wait_all()
        return weakref.ref(fetch)

    check_let_go(lambda: make(None))
    check_let_go(lambda: make(KeyError))


@pytest.mark.parametrize("keeps_code", [False, True])
def test_an_operator_of_a_c_function_is_let_go(keeps_code: bool) -> None:
    class State(ctypes.Structure):
        _fields_ = [("n", ctypes.c_int)]

    function = C_TYPE(lambda argument, memory: None)

    def make() -> weakref.ref[Any]:
        state: Any = State()
        code = engine.CFunction(function, state)
        state.step = engine.Operator(code)
        if keeps_code:
            state.code = code
        state.step.push().wait(60)
        return weakref.ref(state)

    check_let_go(make)


def test_an_operator_keeps_its_c_function() -> None:
    called = []
    step = engine.Operator(engine.CFunction(C_TYPE(lambda argument, memory: called.append(here()))))
    gc.collect()
    for _ in range(3):
        step.push()
    del step
    engine.wait_all()
    assert len(called) == 3
