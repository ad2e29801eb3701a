"""Captured tensors, and objects that lead to them, which are in two places: one of them changes."""

import operator
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

import oneflow_lite as flow


def full(value: float) -> Any:
    return flow.full(3, float(value))


def _attribute(y: Any) -> Any:
    m = SimpleNamespace(w=y)
    return lambda x: x + 10 * m.w, lambda w: setattr(m, "w", w)


def _item(y: Any) -> Any:
    held = [y]
    return lambda x: x + 10 * held[0], lambda w: held.__setitem__(0, w)


def _variable(y: Any) -> Any:
    held = y

    def put(w: Any) -> None:
        nonlocal held
        held = w

    return lambda x: x + 10 * held, put


PLACES: dict[str, Callable[[Any], tuple[Any, Callable[[Any], None]]]] = {
    "attribute": _attribute,
    "item": _item,
    "variable": _variable,
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("is_grad", [False, True])
def test_a_captured_tensor_that_is_an_argument(name: str, is_grad: bool) -> None:
    y, z = full(1), full(2)
    function, put = PLACES[name](y)

    def product(x: Any) -> Any:
        return (x * function(x)).sum()

    def calls() -> list[Any]:
        return [run(x).tolist() for x in (y, y, z, y)]

    run = flow.grad(product) if is_grad else flow.jit(function)
    expected = (lambda x: 2 * x + 10 * held) if is_grad else (lambda x: x + 10 * held)
    for held in (y, z, full(5), y):
        put(held)
        assert calls() == [expected(x).tolist() for x in (y, y, z, y)]


def test_writes_to_a_captured_tensor_that_was_an_argument() -> None:
    y = full(1)
    m = SimpleNamespace(w=y)

    def update(x: Any) -> Any:
        m.w -= 0.5 * x
        return m.w * 1

    run = flow.jit(update)
    assert run(y).tolist() == [0.5] * 3
    m.w = full(5)
    assert run(y).tolist() == [4.75] * 3
    assert (y.tolist(), m.w.tolist()) == ([0.5] * 3, [4.75] * 3)
    traces = run.report()["traces"]
    for _ in range(3):
        run(y)
    assert run.report()["traces"] == traces


def test_an_argument_of_an_object_that_is_one() -> None:
    y = full(1)
    s = SimpleNamespace(w=y)
    held = Key(s)
    run = flow.jit(lambda held, x: held.s.w + x)
    assert run(held, y).tolist() == [2] * 3
    s.w = full(4)
    assert run(held, y).tolist() == [5] * 3


class Key:
    """Counts by its identity."""

    def __init__(self, s: Any) -> None:
        self.s = s


def test_parameters_that_are_arguments_too() -> None:
    """They are the same ones at each call: there is one trace."""
    layers = [SimpleNamespace(w=full(k)) for k in range(3)]
    given = [layer.w for layer in layers]
    run = flow.jit(lambda given, x: sum(given[k] * layers[k].w for k in range(3)) * x)
    for k in range(3):
        assert run(given, full(k)).tolist() == [5 * k] * 3
        assert run([*given], full(k)).tolist() == [5 * k] * 3
    assert run.report()["traces"] == 1


def test_an_argument_that_is_another_one_each_time() -> None:
    """Nothing is watched in the arguments themselves, nor in a place of one that nobody reads."""
    model = SimpleNamespace(w=full(2), last=None)

    def step(x: Any, more: Any) -> Any:
        return x * model.w + more["y"]

    run = flow.jit(step)
    for k in range(4):
        model.last = x = full(k)
        assert run(x, {"y": x}).tolist() == [3 * k] * 3
    assert run.report()["traces"] == 1


def test_a_container_that_is_an_argument() -> None:
    held = SimpleNamespace(items=[full(1)])
    given = held.items
    run = flow.jit(lambda given: given[0] + held.items[0])
    assert run(given).tolist() == [2] * 3
    held.items = [full(7)]
    assert run(given).tolist() == [8] * 3


@pytest.mark.parametrize("what", ["tensor", "function"])
def test_an_object_in_two_places(what: str) -> None:
    def holder(value: float) -> Any:
        if what == "tensor":
            return SimpleNamespace(get=SimpleNamespace(w=full(value)))
        return SimpleNamespace(get=SimpleNamespace(w=lambda: full(value)))

    def value_in(a: Any) -> Any:
        return a.get.w if what == "tensor" else a.get.w()

    one, other = SimpleNamespace(h=holder(1)), SimpleNamespace(h=None)
    other.h = one.h
    run = flow.jit(lambda x: value_in(one.h) * x + value_in(other.h))
    for _ in range(2):
        assert run(full(2)).tolist() == [3] * 3
    assert run.report()["traces"] == 1
    other.h = holder(5)
    assert run(full(2)).tolist() == [7] * 3
    other.h = one.h
    one.h = holder(6)
    assert run(full(2)).tolist() == [13] * 3


def _model(value: float) -> Any:
    return SimpleNamespace(w=full(value))


def test_what_no_code_reads_may_change() -> None:
    model, other = _model(1), _model(2)
    trainer = SimpleNamespace(model=model, history={}, pool=[model, other], hooks=[])

    def step(x: Any, rate: Any = 1.0) -> Any:
        held = getattr(trainer, "model"), getattr(trainer.model, "b", None)  # noqa: B009
        return held[0].w * x * getattr(trainer.model, "rate", rate)

    run = flow.jit(step)
    for k in range(4):
        trainer.history = {k: model}
        trainer.pool.reverse()
        trainer.hooks = [SimpleNamespace(model=model)] * 2
        assert run(full(3)).tolist() == [3] * 3
    assert run.report()["traces"] == 1


def test_what_no_code_but_init_sets_may_change() -> None:
    class Trainer:
        def __init__(self) -> None:
            self.model = _model(1)
            self.history: Any = {}

        @flow.jit
        def step(self, x: Any) -> Any:
            return self.model.w * x

    trainer = Trainer()
    for k in range(4):
        trainer.history = {k: trainer.model}
        assert trainer.step(full(3)).tolist() == [3] * 3
    assert trainer.step.report()["traces"] == 1


def test_an_object_in_two_places_that_a_pattern_reads() -> None:
    class Pair:
        __match_args__ = ("a", "b")

        def __init__(self) -> None:
            self.a = self.b = _model(2)

    pair = Pair()

    def product(x: Any) -> Any:
        match pair:
            case Pair(a, b):
                return x * a.w * b.w

    run = flow.jit(product)
    assert run(full(1)).tolist() == [4] * 3
    pair.b = _model(5)
    assert run(full(1)).tolist() == [10] * 3


def test_a_list_of_which_only_the_second_name_is_read() -> None:
    layers = [_model(2)] * 2
    model = SimpleNamespace(backup=layers, layers=layers)
    run = flow.jit(lambda x: x * model.layers[0].w * model.layers[1].w)
    assert run(full(1)).tolist() == [4] * 3
    layers[1] = _model(5)
    assert run(full(1)).tolist() == [10] * 3


def itself(x: Any, _: str) -> Any:
    return x


def call(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)


NUMBERED = ["layer0", "layer1"]
READERS: dict[str, Callable[[Any], list[Any]]] = {
    "getattr": lambda model: [getattr(model, f"layer{i}") for i in range(2)],
    "of a call": lambda model: [getattr(itself(model, "w"), name) for name in NUMBERED],
    "of calls": lambda model: [call(getattr, model, name) for name in NUMBERED],
    "vars": lambda model: list(vars(model).values()),
    "__dict__": lambda model: list(model.__dict__.values()),
    "attrgetter": lambda model: [operator.attrgetter(name)(model) for name in NUMBERED],
    "of names": lambda model: [get(model) for get in GETTERS],
    "partial": lambda model: list(map(partial(getattr, model), NUMBERED)),
    "texts": lambda model: [getattr(model, name) for name in ("layer0", "layer1")],
}
GETTERS = [operator.attrgetter(name) for name in NUMBERED]


@pytest.mark.parametrize("name", READERS)
def test_an_object_in_two_places_of_computed_names(name: str) -> None:
    read, model = READERS[name], SimpleNamespace()
    model.layer0 = model.layer1 = _model(2)

    def product(x: Any) -> Any:
        for layer in read(model):
            x = x * layer.w
        return x

    run = flow.jit(product)
    for _ in range(2):
        assert run(full(1)).tolist() == [4] * 3
    assert run.report()["traces"] == 1
    model.layer1 = _model(5)
    assert run(full(1)).tolist() == [10] * 3
