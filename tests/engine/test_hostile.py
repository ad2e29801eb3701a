"""Functions that meet what programs seldom have: no result and no error, errors of generators that
go on, names that are no strings, and no memory.
"""

import asyncio
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

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
