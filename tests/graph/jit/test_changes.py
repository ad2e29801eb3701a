"""Changes beside a function: those that bring no other program are no reason for a trace."""

import enum
import fractions
import pathlib
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow


def w(value: float = 1.0) -> Any:
    return flow.full(2, value)


class Space:
    def __init__(self, **named: Any) -> None:
        self.__dict__.update(named)

    def on(self) -> None:
        pass


class Color(enum.Enum):
    RED = 1


def traces(space: Any, change: Callable[[int], object], calls: int = 10) -> int:
    """Return how often a function is traced that reads an attribute ``log`` and multiplies by w."""
    space.w = w()

    @flow.jit
    def run(x: Any) -> Any:
        return x if space.log == 0 else x * space.w

    for k in range(calls):
        assert run(w(3)).tolist() == [3, 3]
        change(k)
    return run.report()["traces"]


RECORDS: dict[str, Callable[[int], Any]] = {
    "objects": lambda k: Space(loss=0.5, step=k),
    "nested": lambda k: {"a": 1, "b": (1, 2, (3, (4,)))},
    "numbers": lambda k: [0.5] * 20,
    "times": lambda k: {"loss": [0.5] * k, "shape": (1, 2)},
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_log_of_records_is_no_reason(name: str) -> None:
    space = Space(log=[])
    assert traces(space, lambda k: space.log.append(RECORDS[name](k)), 40) == 1


def test_a_window_of_numbers_that_is_cleared() -> None:
    space = Space(log={"window": []})

    def change(k: int) -> None:
        window = space.log["window"]
        window.clear() if len(window) == 20 else window.append(k)

    assert traces(space, change, 100) == 1


def test_a_history_of_an_object_that_grows() -> None:
    space = Space(log=Space(losses=[], last=[]))
    space.log.w = w()

    def change(k: int) -> None:
        space.log.losses.append(0.5)
        space.log.last.append(0.5)

    assert traces(space, change, 60) == 1


PLAIN: dict[str, Any] = {
    "enum": Color.RED,
    "path": pathlib.Path("a"),
    "set": {1, 2},
    "frozenset": frozenset([1]),
    "slice": slice(1),
    "fraction": fractions.Fraction(1, 2),
    "lock": threading.Lock(),
    "generator": np.random.default_rng(0),
    "array": np.array([None]),
}


@pytest.mark.parametrize("name", PLAIN)
def test_what_leads_to_no_tensor_comes_and_goes(name: str) -> None:
    space = Space(log=None)
    assert traces(space, lambda k: setattr(space, "log", PLAIN[name] if k % 2 else None)) == 1


def test_a_method_that_is_made_anew_is_the_same() -> None:
    space = Space()
    numbers = [1]
    space.log, space.on_end = space.on, numbers.append
    assert traces(space, lambda k: setattr(space, "log", space.on)) == 1
    space.log = numbers.append
    assert traces(space, lambda k: setattr(space, "log", numbers.append)) == 1


def test_a_function_that_changes_the_program_is_watched_on() -> None:
    space = Space()
    run = flow.jit(lambda x: space.act(x))
    for k in range(6):
        space.act = lambda x, k=k: x * k
        assert [run(w()).tolist() for _ in range(3)] == [[k, k]] * 3
    space.mask = None
    run = flow.jit(lambda x: x if space.mask is None else x * space.mask)
    for k in range(7):
        space.mask = w(k) if k % 2 else None
        assert run(w()).tolist() == [k if k % 2 else 1] * 2


class Trainer:
    def __init__(self) -> None:
        self.w, self.losses = w(), []
        self.run = flow.jit(self.forward)

    def __iter__(self) -> Any:
        return iter(self.losses)

    def __getitem__(self, k: int) -> Any:
        return self.losses[k]

    def forward(self, x: Any) -> Any:
        return x * self.w


def test_special_methods_do_not_count() -> None:
    trainer = Trainer()
    for _ in range(6):
        trainer.losses.append(trainer.run(w()))
    assert trainer.run.report()["traces"] == 1


LONG: dict[str, tuple[Any, Callable[[Any], object]]] = {
    "list": ([1.0] * 100, lambda x: (x.pop(0), x.append(w(5)))),
    "deque": (deque([1.0] * 1000), lambda x: (x.popleft(), x.append(w(5)))),
    "dict": (dict.fromkeys(range(100), 1.0), lambda x: (x.pop(5), x.update(t=w(5)))),
}


@pytest.mark.parametrize("name", LONG)
def test_a_tensor_in_a_long_container_of_the_same_size(name: str) -> None:
    held, put = LONG[name]
    run = flow.jit(lambda x: x + sum(held.values() if name == "dict" else held))
    first = run(w()).tolist()
    assert [run(w()).tolist() for _ in range(2)] == [first] * 2
    put(held)
    assert [run(w()).tolist() for _ in range(3)] == [[first[0] + 4] * 2] * 3


def test_another_container_in_the_place_of_a_long_one() -> None:
    space = Space()
    for make in (lambda x: [x] * 100, lambda x: dict.fromkeys(range(100), x)):
        space.held = make(None)
        run = flow.jit(lambda x: x if space.held[1] is None else x + space.held[1])
        for _ in range(3):
            run(w())
        space.held = None
        space.held = make(w(4))
        assert run(w()).tolist() == [5, 5]


class Loader:
    def __init__(self) -> None:
        self.w = w(2)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> int:
        return 1


class Modules(dict[str, Any]):
    __hash__ = object.__hash__  # type: ignore[assignment]


def test_models_that_are_iterators_or_dicts() -> None:
    run = flow.jit(lambda model, x: x * (model.w if isinstance(model, Loader) else model["w"]))
    modules = Modules(w=w(3))
    for _ in range(3):
        assert run(Loader(), w()).tolist() == [2, 2]
        assert run(modules, w()).tolist() == [3, 3]
    modules["w"] = w(4)
    assert run(modules, w()).tolist() == [4, 4]


def test_a_function_that_is_taken_away() -> None:
    """The reference to it is dead then, which is no None."""
    space = Space(w=w(2), act=lambda x: x * 10)
    run = flow.jit(lambda x: (x if space.act is None else space.act(x)) * space.w)
    for _ in range(3):
        assert run(w()).tolist() == [20, 20]
    space.act = None
    assert run(w()).tolist() == [2, 2]


def test_results_of_another_structure() -> None:
    space = Space(mask=None, w=w())
    run = flow.jit(lambda x: [x] if space.mask is None else (x, None))
    for k in range(7):  # one more is warned about
        space.mask = w() if k % 2 else None
        assert type(run(w())) is (tuple if k % 2 else list)


def test_generators_that_change() -> None:
    first, second = flow.random.default_rng(1), flow.random.default_rng(2)
    expected = flow.random.default_rng(1), flow.random.default_rng(2)
    space = Space(mask=None, w=w())
    run = flow.jit(lambda x: x * (first if space.mask is None else second).random(2))
    for k in range(7):  # one more is warned about
        space.mask = w() if k % 2 else None
        assert run(w()).tolist() == expected[k % 2].random(2).tolist()


@pytest.mark.parametrize("key", [-1, -(10**6), 10**30, 10**5000], ids=["-1", "far", "wide", "huge"])
def test_a_list_in_the_place_of_a_dict_with_such_a_key(key: int) -> None:
    space = Space(held={key: w(2)})
    run = flow.jit(lambda x: x * (space.held[key] if type(space.held) is dict else w(7)))
    for _ in range(3):
        assert run(w()).tolist() == [2, 2]
    space.held = [w(3), w(4)]
    assert run(w()).tolist() == [7, 7]


@pytest.mark.parametrize("make", [types.SimpleNamespace, lambda mask: ValueError(mask)])
def test_plain_objects_of_python_that_hold_tensors(make: Callable[..., Any]) -> None:
    space = Space(w=w(), held=None)

    def masked(x: Any) -> Any:
        if space.held is None:
            return x * space.w
        return x * (space.held.args[0] if isinstance(space.held, ValueError) else space.held.mask)

    run = flow.jit(masked)
    for _ in range(3):
        assert run(w()).tolist() == [1, 1]
    space.held = make(mask=w(5))
    assert run(w()).tolist() == [5, 5]


def test_a_weak_reference_that_stays() -> None:
    layer = Space(w=w(3))
    space = Space(held=weakref.ref(layer))
    run = flow.jit(lambda x: x * space.held().w)
    for _ in range(6):
        assert run(w()).tolist() == [3, 3]
    assert run.report()["traces"] == 1
