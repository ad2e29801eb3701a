"""Functions that meet what programs seldom have: no result and no error."""

from collections.abc import Callable
from typing import Any

import pytest

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
