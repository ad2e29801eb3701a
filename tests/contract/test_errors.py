"""Errors belong to tensors: who is poisoned, who is not, when and how often the error is raised."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed.errors import in_one_line
from oneflow_lite.graph.sites import user_site
from tests.support.machine import Gate, here, line_of


class Broken(Exception):
    pass


def broken(size: int = 4) -> flow.Tensor:
    """A cpu tensor whose writer fails."""
    x = flow.zeros(size)

    def fail(_: object) -> None:
        raise Broken("on purpose")

    flow.vm.host_func(fail, writes=[x])
    return x


@pytest.fixture(autouse=True)
def _nothing_left() -> None:
    yield
    for _ in range(2):
        try:
            flow.synchronize()
        except Exception:
            continue
        return
    pytest.fail("synchronize raised twice")


def test_what_follows_is_poisoned_and_the_rest_is_not(device: flow.Device, naive: bool) -> None:
    sound = flow.ones(4, device=device)
    bad = broken().to(device)
    derived = (bad + sound) * 2
    also = sound * 3
    for poisoned in (bad, derived, derived + also):
        with pytest.raises(Broken, match="on purpose"):
            poisoned.numpy()
    assert also.tolist() == [3] * 4
    assert sound.tolist() == [1] * 4


def test_every_look_raises_and_synchronize_once(device: flow.Device) -> None:
    bad = broken().to(device) + 1
    for look in (bad.numpy, bad.tolist, bad.cpu().numpy, bad.sum().item, lambda: bool(bad[0])):
        for _ in range(2):
            with pytest.raises(Broken):
                look()
    with pytest.raises(Broken):
        flow.synchronize()
    flow.synchronize()
    with pytest.raises(Broken):
        bad.numpy()


def test_the_note_says_where_it_was_issued() -> None:
    x = flow.zeros(4)

    def divide(_: object) -> None:
        raise ZeroDivisionError

    line = here() + 1
    flow.vm.host_func(divide, writes=[x])
    y = x + 1
    z = y.mock(0)
    for poisoned in (x, y, z):
        with pytest.raises(ZeroDivisionError) as caught:
            poisoned.numpy()
        assert line_of(caught.value).endswith(f"issued at {__file__}:{line}")


@pytest.mark.parametrize("package", [flow, np])
def test_a_program_may_be_beside_the_package(package: Any) -> None:
    file = f"{os.path.dirname(package.__file__)}_tools/step.py"
    text = """
def looked_up(x): return x[flow.tensor([7])]
def line(): return user_site()
def broken(): raise Broken
"""
    names = {"flow": flow, "user_site": user_site, "Broken": Broken}
    exec(compile(text, file, "exec"), names)
    x = flow.zeros(4)
    with pytest.raises(IndexError) as caught:
        names["looked_up"](x).numpy()
    assert line_of(caught.value).endswith(f"issued at {file}:2")
    assert names["line"]() == (file, 3)
    with pytest.raises(Broken) as broken_there:
        names["broken"]()
    assert in_one_line(broken_there.value) == f"Broken, at {file}:4"


def test_the_earliest_of_several_errors_is_raised() -> None:
    first, second = broken(), flow.zeros(4)

    def other(_: object) -> None:
        raise KeyError("second")

    flow.vm.host_func(other, writes=[second])
    with pytest.raises(Broken):
        (second + first).numpy()
    with pytest.raises(KeyError):
        second.numpy()
    with pytest.raises(Broken):
        flow.synchronize()


def test_synchronize_of_one_device_raises_its_own_errors() -> None:
    broken().mock(0)
    flow.synchronize("mock:1")
    with pytest.raises(Broken):
        flow.synchronize("cpu")
    flow.synchronize("cpu")


def test_a_failed_write_through_a_view_poisons_the_storage(device: flow.Device) -> None:
    base = flow.ones(8, device=device)
    view = base[2:4]
    view[...] = broken(2).to(device)
    with pytest.raises(Broken):
        base.numpy()
    with pytest.raises(Broken):
        base[6:].numpy()


@pytest.mark.parametrize("way", ["eager", "jit"])
@pytest.mark.parametrize("where", ["cpu", "mock:0"])
def test_a_kernel_without_host_memory(where: str, way: str) -> None:
    """The call returns, and the result has the same error on every way to run the kernel."""
    x, w = flow.ones((1, 1, 3, 3), device=where), flow.ones((1, 1, 2, 2), device=where)
    line = here() + 3

    def padded(x: flow.Tensor, w: flow.Tensor) -> flow.Tensor:
        return flow.conv2d(x, w, padding=2**28, dilation=2**29)

    call = flow.jit(padded) if way == "jit" else padded
    for _ in range(2):
        made = call(x, w)
        derived = made + 1
        for poisoned in (made, derived):
            with pytest.raises(flow.OutOfMemoryError, match="^out of host memory") as caught:
                poisoned.numpy()
            assert f"conv2d: issued at {__file__}:{line}" in caught.value.__notes__
    with pytest.raises(flow.OutOfMemoryError, match="out of host memory"):
        flow.synchronize()
    assert flow.conv2d(x, w).tolist() == [[[[4, 4], [4, 4]]]]


def test_an_earlier_reader_is_not_harmed(device: flow.Device) -> None:
    with Gate() as gate:
        x = gate.on(device)
        before = x + 5
        x += broken().to(device)
    assert before.tolist() == [5] * 4
    with pytest.raises(Broken):
        x.numpy()


def test_poisoned_host_function_is_skipped() -> None:
    ran: list[int] = []
    call = flow.vm.host_func(lambda _: ran.append(1), reads=[broken()])
    with pytest.raises(Broken):
        call.result()
    assert ran == []


def test_the_original_exception_object_is_the_cause() -> None:
    error = Broken("this one")
    x = flow.zeros(2)

    def fail(_: object) -> None:
        raise error

    flow.vm.host_func(fail, writes=[x])
    with pytest.raises(Broken) as caught:
        x.numpy()
    assert caught.value is not error
    assert caught.value.__cause__ is error


def test_many_failures_do_not_grow_without_bound() -> None:
    for _ in range(3000):
        broken(1)
    with pytest.raises(Broken, match="on purpose"):
        flow.synchronize()
    assert (flow.ones(3) + 1).tolist() == [2] * 3


def test_integer_division_is_no_error_as_in_numpy(device: flow.Device) -> None:
    x = flow.tensor(np.array([1, 2, 3]), device=device)
    assert (x // flow.zeros(3, dtype=flow.int64, device=device)).tolist() == [0, 0, 0]


def test_negative_integer_power_belongs_to_its_tensor(device: flow.Device) -> None:
    big = flow.full((50_000,), 2, device=device)
    bad = big ** flow.full((50_000,), -1, device=device)
    good = big + 1
    assert good[0].item() == 3
    with pytest.raises(ValueError, match="power"):
        bad.numpy()


def test_an_axis_error_of_a_host_function_has_its_text_at_each_look() -> None:
    def fail(target: np.ndarray) -> None:
        raise np.exceptions.AxisError(5, 2)

    x = flow.zeros(3)
    flow.vm.host_func(fail, reads=[], writes=[x])
    for _ in range(2):
        with pytest.raises(np.exceptions.AxisError, match="axis 5 is out of bounds") as caught:
            x.numpy()
        assert (caught.value.axis, caught.value.ndim) == (5, 2)


def test_a_call_without_memory_raises_memory_error_and_nothing_else(
    run_program: Callable[..., Any],
) -> None:
    """Python's allocator refuses one request after the other."""
    pytest.importorskip("_testcapi")
    code = """
import _testcapi, faulthandler, oneflow_lite as flow
from oneflow_lite import engine
faulthandler.dump_traceback_later(50, exit=True)
class Failed(Exception): pass
def fail(): raise Failed("no")
def push(): engine.push(int, writes=[engine.Var()]).result()
def host_func(): flow.vm.host_func(int).result()
def look():
    engine.push(fail).exception()
seen = set()
for body in (push, host_func, look):
    body()
    for start in range(1, 40):
        _testcapi.set_nomemory(start, start + 1)
        try:
            body()
        except BaseException as error:
            # OutOfMemoryError, if the request was one of a new thread of the machine.
            seen.add(MemoryError if isinstance(error, MemoryError) else type(error))
        finally:
            _testcapi.remove_mem_hooks()
        try:
            flow.synchronize()
        except (MemoryError, Failed):
            seen.add(MemoryError)
print(seen)
"""
    done = run_program(code, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "{<class 'MemoryError'>}\n"


def test_a_thread_without_memory_for_its_state(run_program: Callable[..., Any]) -> None:
    """Python's allocator refuses one request after the other, each time with a new thread. In
    few runs they all meet the main thread. The hooks change while no thread asks for memory without
    the GIL.
    """
    pytest.importorskip("_testcapi")
    code = """
import _testcapi, _thread, faulthandler, oneflow_lite as flow
from oneflow_lite import engine
faulthandler.dump_traceback_later(50, exit=True)
ends, failures = [], set()
for start in 3 * list(range(30)):
    begun, end = _thread.allocate_lock(), _thread.allocate_lock()
    begun.acquire()
    end.acquire()
    ends.append(end)
    def work(begun=begun, end=end):
        begun.release()
        end.acquire()
    done = None
    _testcapi.set_nomemory(start, start + 1)
    try:
        done = engine.push(work, blocking=True)
        while begun.locked() and not done.done():
            pass
    except MemoryError:
        pass
    finally:
        _testcapi.remove_mem_hooks()
    if done and done.done():
        failures.add(str(done.exception()))
for end in ends:
    end.release()
print(failures)
"""
    done = run_program(code, timeout=60)
    assert done.returncode == 0, done.stderr
    refused = '{"no memory for Python\'s state of a thread"}'
    assert done.stdout.strip() in (refused, "set()")


def test_an_error_needs_no_import_of_the_program(run_program: Callable[..., Any]) -> None:
    """Its class comes from a module, at its first use; the frame that runs may have no import."""
    code = """
import numpy as np, oneflow_lite as flow
names = {"__builtins__": {}, "flip": flow.flip, "x": flow.ones((2, 3))}
try:
    eval("flip(x, 9)", names)
except np.exceptions.AxisError as error:
    print(error)
"""
    done = run_program(code)
    assert done.returncode == 0, done.stderr
    assert "axis 9 is out of bounds for 2 dimensions" in done.stdout
