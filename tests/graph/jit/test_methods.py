"""jit of methods: which one an object's attribute is, whatever the functions are called."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import oneflow_lite as flow


def _times(factor: float) -> Callable[..., Any]:
    def wrapper(self: Any, x: Any) -> Any:
        return x * factor

    return wrapper


def _twice(self: Any, x: Any) -> Any:
    return x * 2


class Several:
    one = flow.jit(lambda self, x: x * 2)
    two = flow.jit(lambda self, x: x * 3)
    three = flow.jit(_times(4))
    four = flow.jit(_times(5))
    _twice = _twice
    run = flow.jit(_twice)


class Slotted:
    __slots__ = ()
    one = flow.jit(lambda self, x: x * 2)
    two = flow.jit(lambda self, x: x * 3)


def test_methods_of_one_name_are_apart() -> None:
    x = flow.ones(2)
    many = Several()
    for _ in range(3):
        got = [f(x).tolist()[0] for f in (many.one, many.two, many.three, many.four, many.run)]
        assert got == [2, 3, 4, 5, 2]
        assert many._twice(x).tolist() == [2, 2]
        assert type(many._twice) is not type(many.run)
    slotted = Slotted()
    assert [slotted.one(x).tolist(), slotted.two(x).tolist()] == [[2, 2], [3, 3]]
    assert many.one.report()["traces"] == 1


def test_copies_have_these_methods_too() -> None:
    many = Several()
    assert (many.one(flow.ones(1)).item(), many.two(flow.ones(1)).item()) == (2, 3)
    for other in (copy.copy(many), copy.deepcopy(many), pickle.loads(pickle.dumps(many))):
        assert (other.two(flow.ones(1)).item(), other.one(flow.ones(1)).item()) == (3, 2)


def test_attributes_are_called_as_functions_are() -> None:
    class Model:
        def __init__(self) -> None:
            self.scale = flow.full(2, 3.0)

        def scaled(self, x: Any) -> Any:
            return x * self.scale

        scaled.__name__ = "scale"
        call = flow.jit(scaled)

    model = Model()
    assert model.call(flow.ones(2)).tolist() == [3, 3]
    assert model.scale.tolist() == [3, 3]
    model.call = lambda x: 5  # type: ignore[method-assign, assignment]
    assert model.call(1) == 5
    del model.call
    assert model.call(flow.ones(2)).tolist() == [3, 3]


def test_an_overriding_method_calls_the_one_that_it_overrides() -> None:
    class Base:
        @flow.jit
        def step(self, x: Any) -> Any:
            return x + 1

    class Derived(Base):
        @flow.jit
        def step(self, x: Any) -> Any:
            return super().step(x) * 10

    class Eager(Base):
        def step(self, x: Any) -> Any:
            return super().step(x) * 100

    for _ in range(2):
        derived = Derived()
        assert [derived.step(flow.ones(2)).tolist() for _ in range(2)] == [[20, 20]] * 2
        assert super(Derived, derived).step(flow.ones(2)).tolist() == [2, 2]
        assert derived.step(flow.ones(2)).tolist() == [20, 20]
        eager = Eager()
        assert [eager.step(flow.ones(2)).tolist() for _ in range(2)] == [[200, 200]] * 2
    assert derived.step.report()["traces"] == 1
