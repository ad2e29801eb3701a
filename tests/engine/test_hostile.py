"""Functions that meet what programs seldom have: no result and no error, errors of generators that
go on, names that are no strings, and no memory.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import engine

START = """
import _testcapi, faulthandler, gc, threading
import oneflow_lite as flow
from oneflow_lite import engine
faulthandler.dump_traceback_later(50, exit=True)

def told(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__
"""


@pytest.mark.parametrize("name", ["return_null_without_error", "return_result_with_error"])
def test_a_function_that_gives_neither_result_nor_error_or_both(
    run_program: Callable[..., Any], name: str
) -> None:
    """It fails as a call of it does, and the next one on its thread goes on."""
    pytest.importorskip("_testcapi")
    code = f"""
def function(*_): return _testcapi.{name}()
var = engine.Var()
for one in (_testcapi.{name}, function):
    done = engine.push(one, writes=[var])
    print(repr(done.exception()))
    print(told(engine.wait_all), engine.push(int).result())
    print(told(flow.vm.host_func(one).result), told(engine.wait_all), engine.push(int).result())
    var.clear_error()
    done = None
    gc.collect()
print(engine.push(int, reads=[var]).result())
"""
    done = run_program(START + code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    words = "NULL without setting" if "null" in name else "a result with"
    for first, *rest in (said[:3], said[3:6]):
        assert first.startswith("SystemError(")
        assert f"returned {words} an exception" in first
        assert rest == ["SystemError 0", "SystemError SystemError 0"]
    assert said[6:] == ["0"]


def test_a_function_that_raises_an_error_of_a_suspended_generator() -> None:
    """The frame in its traceback is the generator's, which goes on."""
    kept: list[BaseException] = []

    def fail() -> Any:
        raise kept[0]

    def numbers() -> Iterator[int]:
        try:
            yield 1 // 0
        except ZeroDivisionError as error:
            kept.append(error)
        yield from (1, 2)

    generator = numbers()
    assert next(generator) == 1
    assert isinstance(engine.push(fail).exception(60), ZeroDivisionError)
    assert list(generator) == [2]

    async def numbers_too() -> AsyncIterator[int]:
        try:
            int("x")
        except ValueError as error:
            kept[0] = error
        with pytest.raises(ValueError, match="invalid literal"):
            await engine.push(fail)
        yield 3
        yield 4

    async def main() -> list[int]:
        return [number async for number in numbers_too()]

    assert asyncio.run(main()) == [3, 4]


def test_the_frames_of_a_generator_that_has_failed_are_let_go() -> None:
    class Held:
        pass

    alive: list[weakref.ref[Held]] = []

    def fails() -> Iterator[int]:
        held = Held()
        alive.append(weakref.ref(held))
        yield 1
        raise KeyError("k")

    done = engine.push(lambda: list(fails()))
    assert isinstance(done.exception(60), KeyError)
    assert alive[0]() is None


# --- names and devices


class Proxy:
    """Has every attribute, as the proxies of xmlrpc do."""

    def __getattr__(self, name: str) -> "Proxy":
        if name.startswith("__") and name != "__qualname__":
            raise AttributeError(name)
        return Proxy()

    def __call__(self, *_: object) -> int:
        return 7


@pytest.mark.parametrize(
    "push",
    [
        engine.push,
        flow.vm.host_func,
        lambda fn: engine.Operator(fn).push(),
        lambda fn: engine.delete(engine.Var(), fn),
        lambda fn: engine.push(fn, device="mock:0"),
        lambda fn: engine.push_async(lambda run, end: end(fn())),
    ],
)
def test_a_function_whose_name_is_no_string(push: Callable[..., engine.Completion]) -> None:
    assert push(Proxy()).result(60) == 7


@pytest.mark.parametrize(
    ("op", "push"),
    [
        ("push", engine.push),
        ("push_async", engine.push_async),
        ("Operator", engine.Operator),
        ("host_func", flow.vm.host_func),
    ],
)
@pytest.mark.parametrize("name", [5, b"name", Proxy()])
def test_a_name_that_is_no_string(op: str, push: Callable[..., Any], name: Any) -> None:
    with pytest.raises(TypeError, match=rf"^\[{op}\] name: expected a string, got"):
        push(int, name=name)


def test_names_of_devices() -> None:
    def run_of(device: Any) -> Any:
        return engine.push(lambda *run: run, device=device).result(60)

    assert run_of("cpu") == run_of("cpu:0") == run_of(flow.device("cpu")) == ()
    for device in ("mock", "mock:0", flow.device("mock:0")):
        assert run_of(device)[0].device == "mock:0"
    for device, error in ((5, TypeError), ("nope", ValueError), ("\ud800", UnicodeEncodeError)):
        with pytest.raises(error):
            run_of(device)
    assert flow.device("cpu") != "\ud800"


# --- without memory


def test_a_push_that_raises_has_not_run(run_program: Callable[..., Any]) -> None:
    """Python's allocator refuses one request after the other."""
    pytest.importorskip("_testcapi")
    code = """
import collections
ran = []
def function(): ran.append(1)
variables = [engine.Var() for _ in range(40)]
step = engine.Operator(function)
for push in (
    lambda: engine.push(function),
    step.push,
    lambda: flow.vm.host_func(function),
    lambda: engine.delete(variables[-1], function),
):
    outcomes = collections.Counter()
    for start in range(30):
        ran.clear()
        _testcapi.set_nomemory(start, start + 1)
        try:
            push()
        except MemoryError:
            is_refused = True
        else:
            is_refused = False
        finally:
            _testcapi.remove_mem_hooks()
        told(engine.wait_all)
        outcomes[is_refused, bool(ran), variables[-1].deleted] += 1
        if variables[-1].deleted: variables.pop()
    print(sorted(outcomes))
"""
    done = run_program(START + code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    kept, gone = [(False, True, False), (True, False, False)], (False, True, True)
    assert done.stdout == 3 * f"{kept}\n" + f"{[gone, kept[1]]}\n"


@pytest.mark.parametrize("where", ["here", "in a function"])
@pytest.mark.parametrize(
    "call",
    [
        "engine.push(int).add_done_callback(seen.append)",
        "engine.push(fail).exception()",
        "engine.push_async(lambda run, end: end(3)).result()",
        "engine.push(lambda run: run.device, device='mock:0').result()",
    ],
)
def test_calls_without_memory_end(run_program: Callable[..., Any], call: str, where: str) -> None:
    """They raise, and the machine goes on."""
    pytest.importorskip("_testcapi")
    code = f"""
class Failed(Exception): pass
def fail(): raise Failed("no")
seen, kinds = [], set()

def attempt(start):
    _testcapi.set_nomemory(start, start + 1)
    try:
        {call}
    except BaseException as error:
        kinds.add(type(error).__name__)
    finally:
        _testcapi.remove_mem_hooks()

{call}
for start in range(1, 60):
    if {where == "here"}: attempt(start)
    else: engine.push(lambda: attempt(start), blocking=True).result()
    told(engine.wait_all)
assert kinds
kinds -= {{"MemoryError", "OutOfMemoryError"}}
print(*sorted(kinds))
print(engine.push(lambda: 4).result())
"""
    done = run_program(START + code, timeout=60)
    assert done.returncode == 0, done.stderr
    kinds, result = done.stdout.splitlines()
    assert result == "4"
    # Python's own where it has no memory for a lock, or for the traceback of an error.
    assert set(kinds.split()) <= {"RuntimeError", "SystemError"}
