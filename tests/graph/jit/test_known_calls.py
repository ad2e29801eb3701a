"""Calls of jitted functions that are found without a key: when they are, and when they must not."""

import gc
import math
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph.jit.entry import Entry
from tests.support.graphs.known_calls import is_known, make_known, only_known, row


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class State:
    w: Any
    rate: Any


KINDS: dict[str, Any] = {
    "a tensor": (row, lambda x: x + 1),
    "a list": (lambda: [row(), [row()]], lambda x: x[0] + x[1][0]),
    "a dict": (lambda: {"a": row(), "b": 2}, lambda x: x["a"] * x["b"]),
    "a named tuple": (lambda: Pair(row(), 1.5), lambda x: x.left * x.right),
    "a dataclass": (lambda: State(row(), 0.5), lambda x: x.w * x.rate),
    "none": (lambda: None, lambda x: row() + 1),
    "a number": (lambda: 2.5, lambda x: row() * x),
    "a complex number": (lambda: 2.5j, lambda x: row() * x),
    "a string": (lambda: "ab", lambda x: row() * len(x)),
    "an array": (lambda: np.arange(3.0), lambda x: flow.asarray(x) + 1),
    "an array inside": (lambda: {"a": [np.ones(3)]}, lambda x: flow.asarray(x["a"][0]) + 1),
    "an element": (lambda: np.array(2), lambda x: flow.asarray(x) + row()),
    "an array of columns": (lambda: np.ones((3, 2)).T, lambda x: flow.asarray(x) * 2),
    "a reversed array": (lambda: np.arange(3)[::-1], lambda x: flow.asarray(x) * 2),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_third_call_is_known(kind: str) -> None:
    make, function = KINDS[kind]
    f = flow.jit(function)
    make_known(f, make())
    with only_known():
        assert f(make()).tolist() == function(make()).tolist()


def test_numbers_are_those_of_the_call() -> None:
    f = flow.jit(lambda x, rate: (x * rate, rate))
    make_known(f, row(), 0.5)
    g = flow.jit(lambda x, rate: x * rate)
    make_known(g, row(), 0.5)
    with only_known():
        assert g(row(), 4.0).tolist() == [4.0] * 3
        y, rate = f(row(), 4.0)
        assert (y.tolist(), rate) == ([4.0] * 3, 4.0)


ARRANGED: dict[str, Callable[[Any, Any], Any]] = {
    "a list": lambda x, rate: [rate * 2, x * rate, "a", rate],
    "a number alone": lambda x, rate: rate * 2 + 1,
    "a dict": lambda x, rate: {"a": [rate**2, x], "b": (x + rate, None)},
    "a named tuple": lambda x, rate: Pair(x * rate, rate / 2),
}


@pytest.mark.parametrize("kind", ARRANGED)
def test_numbers_among_the_results(kind: str) -> None:
    f = flow.jit(ARRANGED[kind])
    make_known(f, row(), 0.5)
    with only_known():
        for rate in (0.5, 3.0):
            assert str(f(row(), rate)) == str(ARRANGED[kind](row(), rate))


def test_a_number_that_cannot_be_computed_any_more() -> None:
    f = flow.jit(lambda x, rate: (x, 1 / rate))
    make_known(f, row(), 0.5)
    with pytest.raises(ZeroDivisionError):
        f(row(), 0.0)
    assert f(row(), 4.0)[1] == 0.25
    g = flow.jit(lambda x, base: (x, base**0.5))
    make_known(g, row(), 4.0)
    assert g(row(), -4.0)[1] == (-4.0) ** 0.5


@pytest.mark.parametrize(
    "other",
    [
        row(4),
        row(dtype="float32"),
        row(6)[::2],
        row(device="mock:0"),
        1.5,
        np.ones(3),
        np.ma.ones(3),
        [row()],
        None,
    ],
    ids=str,
)
def test_other_kinds_are_looked_up(other: Any) -> None:
    f = flow.jit(lambda x: x if x is None or isinstance(x, list) else x + row())
    make_known(f, row())
    assert is_known(f, row())
    assert not is_known(f, other)


def test_tensors_that_come_twice() -> None:
    f = flow.jit(lambda x, y: x + 2 * y)
    x, y = row(), row() * 5
    make_known(f, x, y)
    assert not is_known(f, x, x)
    make_known(f, x, x)
    f(x, y)  # a new program makes all others be looked up once
    with only_known():
        assert f(y, y).tolist() == [15.0] * 3
        assert f(x, y).tolist() == [11.0] * 3


def test_values_that_are_equal_and_of_another_kind() -> None:
    f = flow.jit(lambda x, n: x * n, static="n")
    for n in (1, True, 0.0, "1"):
        if isinstance(n, str):
            continue
        make_known(f, row(), n)
        assert is_known(f, row(), n)
    assert f.report()["traces"] == 3
    assert not is_known(f, row(), -0.0)
    assert math.copysign(1, f(row(), -0.0)[0].item()) == -1


def test_names_and_their_order_count() -> None:
    f = flow.jit(lambda **named: sum(named.values()) + row())
    make_known(f, a=row(), b=row())
    assert is_known(f, a=row(), b=row())
    assert not is_known(f, b=row(), a=row())
    assert not is_known(f, a=row(), c=row())
    assert not is_known(f, a=row())
    assert not is_known(f)


class Model:
    def __init__(self) -> None:
        self.w, self.parts = row(), {"b": [row() * 2]}

    @flow.jit
    def step(self, x: Any) -> Any:
        return x * self.w + self.parts["b"][0]


def test_captured_tensors_are_watched() -> None:
    model = Model()
    make_known(model.step, row())
    with only_known():
        assert model.step(row()).tolist() == [3.0] * 3
        model.w += 1  # a write is no other tensor
        assert model.step(row()).tolist() == [4.0] * 3
    model.parts["b"][0] = row() * 5
    assert not is_known(model.step, row())
    make_known(model.step, row())
    with only_known():
        assert model.step(row()).tolist() == [7.0] * 3
    del model.parts["b"]
    assert not is_known(model.step, row())
    with pytest.raises(KeyError):
        model.step(row())


shift = flow.ones(3) * 2


def test_a_variable_of_a_closure_and_a_global(monkeypatch: pytest.MonkeyPatch) -> None:
    w = row()

    @flow.jit
    def f(x: Any) -> Any:
        return x + w + shift

    make_known(f, row())
    assert is_known(f, row())
    w = row() * 7
    assert not is_known(f, row())
    make_known(f, row())
    with only_known():
        assert f(row()).tolist() == [10.0] * 3
    monkeypatch.setitem(globals(), "shift", row() * 3)
    assert not is_known(f, row())
    assert f(row()).tolist() == [11.0] * 3
    monkeypatch.delitem(globals(), "shift")
    with pytest.raises(NameError):
        f(row())


def test_default_device_and_the_version_of_the_standard() -> None:
    f = flow.jit(lambda x: x + flow.zeros(3).to(x.device))
    make_known(f, row())
    assert is_known(f, row())
    with flow.device("mock:0"):
        assert not is_known(f, row(device="cpu"))
    with flow.flags(array_api="2024.12"):
        assert not is_known(f, row())
        make_known(f, row())
        assert is_known(f, row())
    assert not is_known(f, row())


@pytest.mark.filterwarnings("ignore:.*retraced")
def test_the_last_64_kinds_are_known() -> None:
    f = flow.jit(lambda x: x + 1, max_programs=80)
    for _ in range(2):  # traced, looked up
        for n in range(1, 71):
            f(row(n))
    assert [n for n in range(1, 71) if is_known(f, row(n))] == list(range(7, 71))
    assert f(row(1)).tolist() == [2.0]


@pytest.mark.filterwarnings("ignore:.*retraced")
def test_a_call_among_too_many_is_known_when_it_comes_often() -> None:
    f = flow.jit(lambda x: x + 1, max_programs=80)
    for _ in range(12):
        for n in range(1, 71):
            f(row(n))
    for _ in range(12):
        f(row(70))
    assert is_known(f, row(70))


def test_what_is_never_found_is_noted_ever_more_seldom() -> None:
    entry = Entry({})
    assert [n for n in range(1, 70) if entry.is_to_be_noted()] == [1, 2, 4, 8, 16, 32, 64]
    entry.forget_notes()
    assert [n for n in range(1, 6) if entry.is_to_be_noted()] == [1, 2, 4]


class Setting:
    """A value by its text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        if self.text == "odd":
            raise ArithmeticError("odd")
        return isinstance(other, Setting) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


EQUAL: dict[str, Callable[[], Any]] = {
    "a value": lambda: Setting("a"),
    "bytes": lambda: bytes([1, 2]),
    "a set": lambda: frozenset({"a", "b"}),
    "a fraction": lambda: Fraction(1, 3),
    "a device": lambda: flow.Device("mock:1"),
    "a number of NumPy": lambda: np.int64(300),
    "a float of NumPy": lambda: np.float64(0.5),
    "a range": lambda: range(3),
    "a static number": lambda: complex(1, 2),
}


@pytest.mark.parametrize("kind", EQUAL)
def test_values_that_are_equal_are_known(kind: str) -> None:
    make = EQUAL[kind]
    f = flow.jit(lambda x, value, named: x + 1, static=("value", "named"))
    make_known(f, row(), make(), named={make(): make()})
    with only_known():
        for _ in range(20):
            assert f(row(), make(), named={make(): make()}).tolist() == [2.0] * 3


def test_values_that_are_not_equal_are_looked_up() -> None:
    f = flow.jit(lambda x, value: x * 2, static="value")
    pairs = [(Setting("a"), Setting("b")), (np.float64(0.0), np.float64(-0.0)), (0j, -0j)]
    for one, other in pairs:
        make_known(f, row(), one)
        assert is_known(f, row(), one)
        assert not is_known(f, row(), other)


def test_comparisons_that_raise_or_cannot_be_made() -> None:
    f = flow.jit(lambda x, value: x * 2, static="value")
    make_known(f, row(), Setting("odd"))
    with pytest.raises(ArithmeticError, match="odd"):
        f(row(), Setting("odd"))
    with pytest.raises(TypeError, match=r"\[jit\] .*value is a set, which is not hashable"):
        f(row(), {1})
    f.clear()
    make_known(f, row(), Setting("a"))
    assert is_known(f, row(), Setting("a"))


def test_what_is_forgotten_is_not_known() -> None:
    f = flow.jit(lambda x: x + 1, max_programs=1)
    make_known(f, row())
    make_known(f, row(4))
    assert not is_known(f, row())
    f.clear()
    assert not is_known(f, row(4))


def test_options_that_need_more_than_a_run() -> None:
    checks = flow.jit(lambda w: w + 1, check=3)
    make_known(checks, row())
    assert not is_known(checks, row())
    for _ in range(3):
        checks(row())
    assert is_known(checks, row())


def test_memory_that_is_shared_since() -> None:
    def fill(x: Any, y: Any) -> Any:
        x += 1
        return y * 2

    f = flow.jit(fill)
    make_known(f, row(), row())
    whole = flow.zeros(5)
    expected = whole.copy()
    y = fill(expected[:3], expected[2:])
    assert f(whole[:3], whole[2:]).tolist() == y.tolist()
    assert whole.tolist() == expected.tolist()
    assert not is_known(f, row(), row())  # it has to be asked each time now


@dataclass
class Lively:
    """An argument that does something when its attribute is looked at."""

    x: Any

    def __post_init__(self) -> None:
        self.todo: Any = None

    def __getattribute__(self, name: str) -> Any:
        if name == "x" and (todo := object.__getattribute__(self, "__dict__").get("todo")):
            todo()
        return object.__getattribute__(self, name)


def test_an_attribute_that_forgets_all_calls_or_raises() -> None:
    f = flow.jit(lambda given, y: given[0].x + y)
    lively = Lively(row())
    given = [lively, [row(), row()]]
    make_known(f, given, row())
    lively.todo = f.clear
    assert f(given, row()).tolist() == [2.0] * 3
    make_known(f, given, row())
    lively.todo = given[1].clear
    assert f(given, row()).tolist() == [2.0] * 3

    def fail() -> None:
        raise KeyboardInterrupt

    lively.todo = fail
    with pytest.raises(KeyboardInterrupt):
        f(given, row())
    lively.todo = None
    assert f(given, row()).tolist() == [2.0] * 3


def test_rings_of_references_are_collected() -> None:
    model = Model()
    make_known(model.step, row())
    assert is_known(model.step, row())
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_inside_a_recording_the_function_is_called() -> None:
    f = flow.jit(lambda x: flow.tanh(x))
    make_known(f, row())
    traced = flow.graph.trace(lambda x: f(x) * 2, row())
    assert [op.name for op in traced.program.main.ops] == ["tanh", "multiply"]


def test_errors_of_a_run_are_those_of_the_long_way() -> None:
    f = flow.jit(lambda x: x.__iadd__(1))
    make_known(f, row())
    view = flow.broadcast_to(row(1), (3,))
    with pytest.raises(ValueError, match="broadcast view"):
        f(view)
    fixed = flow.tensor(np.arange(3.0))
    fixed_view = np.asarray(fixed)
    fixed_view.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(flow.from_dlpack(fixed_view))
    assert is_known(f, row())


@pytest.mark.filterwarnings("ignore:.*retraced")
def test_several_threads() -> None:
    f = flow.jit(lambda x, rate: flow.tanh(x) * rate)
    sizes = [3, 4, 5]
    for n in sizes:
        make_known(f, row(n), 0.5)
    wrong: list[Any] = []

    def call(seed: int) -> None:
        for k in range(300):
            n, rate = sizes[(k + seed) % 3], float(k)
            expected = flow.tanh(row(n)) * rate
            if f(row(n), rate).tolist() != expected.tolist():
                wrong.append((n, rate))
            if k % 100 == 99:
                f.clear()

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_known_call_counts_as_a_use() -> None:
    f = flow.jit(lambda x: x + 1, max_programs=2)
    make_known(f, row(1))
    f(row(2))
    for _ in range(3):
        f(row(1))
    f(row(3))  # in the place of two, which was used longest ago
    traces = f.report()["traces"]
    f(row(1))
    assert f.report()["traces"] == traces
