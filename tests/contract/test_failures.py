"""What a look at a failed tensor raises: an exception of its own, that may go anywhere."""

import copy
import errno
import gc
import pickle
import traceback
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow


class WithAnInit(Exception):
    def __init__(self, code: int, *, text: str) -> None:
        super().__init__(f"{code}: {text}")
        self.code = code
        inits.append(self)


class WithSlots(Exception):
    __slots__ = ("__private", "value")

    def __init__(self, value: int) -> None:
        self.value = value
        self.__private = value + 1

    def __str__(self) -> str:
        return f"{self.value} {self.__private}"


class WithANew(KeyError):
    def __new__(cls, *_: Any) -> "WithANew":
        inits.append(cls)
        return super().__new__(cls, "made")


@dataclass(frozen=True)
class Frozen(Exception):
    value: int


inits: list[object] = []


def imported() -> Exception:
    return ImportError("no such thing", name="thing", path="there")


def missing() -> Exception:
    try:
        return object().nothing  # type: ignore[attr-defined, no-any-return]
    except AttributeError as error:
        return error


MAKERS: dict[str, Callable[[], BaseException]] = {
    "none": Exception,
    "a text": lambda: ValueError("on purpose"),
    "several arguments": lambda: RuntimeError("a", 2, None),
    "an init": lambda: WithAnInit(3, text="on purpose"),
    "a new": lambda: WithANew(1, 2, 3),
    "slots": lambda: WithSlots(4),
    "frozen": lambda: Frozen(5),
    "of a file": lambda: FileNotFoundError(errno.ENOENT, "no file", "name", None, "other"),
    "of the system": lambda: OSError(errno.EPIPE, "broken"),
    "of an import": imported,
    "of an attribute": missing,
    "of a decoder": lambda: UnicodeDecodeError("utf8", b"abc", 1, 2, "on purpose"),
    "of the syntax": lambda: SyntaxError("bad", ("file", 3, 4, "text")),
    "of an iterator": lambda: StopIteration(7),
    "of an axis": lambda: np.exceptions.AxisError(3, 2, "prefix"),
    "of linear algebra": lambda: np.linalg.LinAlgError("singular"),
    "out of memory": lambda: flow.OutOfMemoryError("none left"),
    "exit": lambda: SystemExit(3),
    "interrupt": lambda: KeyboardInterrupt("now"),
}


def failed(error: BaseException) -> flow.Tensor:
    x = flow.zeros(4)

    def fail(_: object) -> None:
        raise error

    flow.vm.host_func(fail, writes=[x])
    return x


def raised(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except BaseException as error:
        return error.with_traceback(None)
    pytest.fail("nothing was raised")


@pytest.fixture(autouse=True)
def _nothing_left() -> Iterator[None]:
    yield
    for _ in range(2):
        try:
            flow.synchronize()
        except BaseException:
            continue
        return
    pytest.fail("synchronize raised twice")


def fields(error: BaseException) -> dict[str, object]:
    """All that one can see of it, but for what belongs to the raising."""
    belonging = {"__traceback__", "__context__", "__cause__", "__suppress_context__", "__notes__"}
    shown = {name: getattr(error, name, None) for name in dir(error) if name not in belonging}
    return {name: value for name, value in shown.items() if not callable(value)}


@pytest.mark.parametrize("name", MAKERS)
def test_each_look_raises_one_of_its_own(name: str) -> None:
    original = MAKERS[name]()
    x = failed(original)
    y = x + 1
    inits.clear()
    errors = [raised(look) for look in (x.numpy, x.numpy, y.tolist, y.mock(0).numpy)]
    assert len({id(error) for error in [original, *errors]}) == 5
    for error in errors:
        assert type(error) is type(original)
        assert error.args == original.args
        assert str(error) == str(original)
        assert repr(error) == repr(original)
        assert fields(error).keys() == fields(original).keys()
        assert error.__cause__ is original
        assert len(error.__notes__) == 1
    assert inits == []
    assert not hasattr(original, "__notes__")


def test_notes_are_copied() -> None:
    original = ValueError("inner")
    original.add_note("a note")
    error = raised(failed(original).numpy)
    assert len(error.__notes__) == 2
    assert error.__notes__[0] == "a note"
    assert original.__notes__ == ["a note"]


def test_a_group_has_the_same_members() -> None:
    group = BaseExceptionGroup("several", [ValueError(), KeyboardInterrupt()])
    error: Any = raised(failed(group).numpy)
    assert type(error) is BaseExceptionGroup
    assert error.exceptions == group.exceptions
    assert error is not group


def test_what_cannot_be_made_again_is_raised_itself() -> None:
    class Odd(UnicodeDecodeError):
        def __init__(self) -> None:
            self.args = ("too", "few")

    original = Odd.__new__(Odd, "too", "few")
    x = failed(original)
    assert raised(x.numpy) is original
    assert raised(x.numpy) is original


@pytest.mark.slow
def test_looks_do_not_grow_it(device: flow.Device) -> None:
    x = failed(ValueError("on purpose")).to(device)

    def look() -> list[int]:
        with pytest.raises(ValueError, match="on purpose") as caught:
            x.numpy()
        depths = []
        for error in (caught.value, caught.value.__cause__):
            assert error is not None
            depths.append(len(traceback.extract_tb(error.__traceback__)))
        return depths

    def grown(looks: int) -> int:
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(looks):
            assert look() == first
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before

    first = look()
    tracemalloc.start()
    try:
        grown(100)
        assert grown(1000) < 5_000
    finally:
        tracemalloc.stop()


def test_the_frames_of_a_look_are_let_go() -> None:
    class Held:
        pass

    x = failed(ValueError("on purpose"))
    alive: list[object] = []

    def look() -> None:
        held = Held()
        alive.append(id(held))
        with pytest.raises(ValueError, match="on purpose"):
            x.numpy()
        del held

    for _ in range(10):
        look()
    gc.collect()
    assert not [each for each in gc.get_objects() if type(each) is Held]


def test_the_host_function_is_in_the_traceback() -> None:
    def culprit() -> None:
        raise ValueError("on purpose")

    def call(_: object) -> None:
        culprit()

    x = flow.zeros(3)
    flow.vm.host_func(call, writes=[x])
    for _ in range(2):
        text = "".join(traceback.format_exception(raised(x.numpy)))
        assert "in culprit" in text
        assert "direct cause" in text


# --- in other processes


def failing(kind: str) -> object:
    """Run in a process of a pool; each fails by another way of the machine."""
    x = flow.zeros(4)
    if kind == "host":
        return failed(ValueError("on purpose")).numpy()
    if kind == "injected":
        with flow.flags(fail="launch:1"):
            return (flow.ones(4, device="mock:0") + 1).numpy()
    if kind == "memory":
        with flow.flags(memory_limit=flow.memory_stats("cpu")["in_use"] + (1 << 20)):
            return (flow.ones(1 << 20) + 1).numpy()
    if kind == "singular":
        return flow.linalg.inv(flow.ones((2, 2))).numpy()
    if kind == "index":
        return x[flow.tensor([9])].numpy()
    if kind == "axis":
        return flow.sum(x, axis=5)
    return failed(ValueError("on purpose"))  # the tensor itself, which cannot be pickled


KINDS = {
    "host": ValueError,
    "injected": RuntimeError,
    "memory": flow.OutOfMemoryError,
    "singular": np.linalg.LinAlgError,
    "index": IndexError,
    "axis": np.exceptions.AxisError,
}


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_pickled_and_copied(kind: str) -> None:
    error = raised(lambda: failing(kind))
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is type(error) is KINDS[kind]
        assert str(other) == str(error)
        assert getattr(other, "__notes__", None) == getattr(error, "__notes__", None)


@pytest.mark.process
def test_they_come_back_from_other_processes() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        for kind, expected in KINDS.items():
            with pytest.raises(expected) as caught:
                pool.submit(failing, kind).result(timeout=100)
            if kind != "axis":
                assert f"issued at {__file__}:" in caught.value.__notes__[-1]


def test_a_failed_result_does_not_hang_a_pool(run_program: Callable[..., Any]) -> None:
    code = """
import multiprocessing, oneflow_lite as flow

def fail(_): raise ValueError("on purpose")

def work(i):
    x = flow.zeros(3)
    flow.vm.host_func(fail, writes=[x])
    return x

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        try:
            pool.map(work, range(2))
        except multiprocessing.pool.MaybeEncodingError as error:
            print(error)
"""
    done = run_program(code, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")
    assert "<failed: ValueError: on purpose; fail: issued at" in done.stdout


def test_an_exception_whose_end_uses_the_machine(run_program: Callable[..., Any]) -> None:
    code = """
import oneflow_lite as flow
class Held:
    def __del__(self):
        print(flow.vm.stats()["in_flight"], (flow.ones(3) + 1).mock().tolist())
        flow.synchronize()
class Failed(Exception): pass
def fail():
    error = Failed("no")
    error.held = Held()
    raise error
for _ in range(2):
    flow.vm.host_func(fail)
try:
    flow.synchronize()
except Failed as error:
    print(error)
"""
    done = run_program(code, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("[2.0, 2.0, 2.0]") == 2
    assert "no\n" in done.stdout
