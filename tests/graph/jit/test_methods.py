"""jit of methods: which one an object's attribute is, whatever the functions are called."""

import copy
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest

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


class Scaled:
    def __init__(self, value: float) -> None:
        self.w = flow.full(2, value)

    @flow.jit
    def scaled(self, x: Any) -> Any:
        return x * self.w

    of_another_name = flow.jit(lambda self, x: x + self.w)

    def loss(self, x: Any) -> Any:
        return (x * self.w).sum()


class OfAClass:
    w = 3.0

    @classmethod
    @flow.jit
    def scaled(cls, x: Any) -> Any:
        return x * cls.w


class DerivedOfAClass(OfAClass):
    w = 4.0


class HiddenOfAClass(OfAClass):
    scaled = None  # type: ignore[assignment]
    base = OfAClass.scaled


class WithSlots:
    __slots__ = ("w",)

    def __init__(self, value: float) -> None:
        self.w = flow.full(2, value)

    @flow.jit
    def scaled(self, x: Any) -> Any:
        return x * self.w


class Overriding(Scaled):
    def scaled(self, x: Any) -> Any:
        return super().scaled(x) + 1

    def base(self) -> Any:
        return super().scaled


@pytest.mark.parametrize("kind", [Scaled, WithSlots])
@pytest.mark.parametrize("is_called", [False, True])
def test_methods_are_pickled_and_copied_with_their_objects(kind: Any, is_called: bool) -> None:
    model = kind(3.0)
    if is_called:
        model.scaled(flow.ones(2))
    assert copy.copy(model.scaled) is model.scaled
    assert pickle.loads(pickle.dumps(model.scaled))(flow.ones(2)).tolist() == [3, 3]
    for made in (
        pickle.loads(pickle.dumps((model, model.scaled))),
        pickle.loads(pickle.dumps((model.scaled, model)))[::-1],
        copy.deepcopy((model, model.scaled)),
    ):
        other, scaled = made
        assert scaled is other.scaled
        other.w = flow.full(2, 10.0)
        assert scaled(flow.ones(2)).tolist() == [10, 10]
        assert model.scaled(flow.ones(2)).tolist() == [3, 3]


def test_an_attribute_that_is_a_method_of_the_object() -> None:
    model = Scaled(3.0)
    model.call = model.of_another_name  # type: ignore[attr-defined]
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        other.w = flow.full(2, 10.0)
        assert other.call(flow.ones(2)).tolist() == [11, 11]
        assert other.call is other.of_another_name


def test_methods_of_classes_are_pickled() -> None:
    for kind in (OfAClass, DerivedOfAClass):
        made = pickle.loads(pickle.dumps([kind.scaled]))[0]
        assert made(flow.ones(2)).tolist() == [kind.w] * 2
        assert made == kind.scaled
    assert pickle.loads(pickle.dumps(HiddenOfAClass.base))(flow.ones(2)).tolist() == [3, 3]


def test_a_deep_copy_does_not_keep_its_original() -> None:
    model = Scaled(3.0)
    model.scaled(flow.ones(2))
    original, other = weakref.ref(model), copy.deepcopy(model)
    del model
    gc.collect()
    assert original() is None
    assert other.scaled(flow.ones(2)).tolist() == [3, 3]


def test_a_method_that_another_one_overrides_is_not_pickled() -> None:
    base = Overriding(3.0).base()
    assert base(flow.ones(2)).tolist() == [3, 3]
    with pytest.raises(pickle.PicklingError, match=r"\[jit\] Scaled\.scaled is no attribute of"):
        pickle.dumps(base)


def test_wrappers_of_methods_are_copied_with_their_objects() -> None:
    for wrap in (flow.jit, flow.grad, flow.value_and_grad):
        model = Scaled(3.0)
        model.made = wrap(model.loss)  # type: ignore[attr-defined]
        other = copy.deepcopy(model)
        other.w = flow.full(2, 10.0)
        expected = wrap(other.loss)(flow.ones(2))
        assert str(other.made(flow.ones(2))) == str(expected)
        made, other = copy.deepcopy((model.made, model))  # type: ignore[attr-defined]
        assert made is other.made


@flow.grad
def slope(x: Any) -> Any:
    return x**3


@flow.value_and_grad
def value_and_slope(x: Any) -> Any:
    return x**3


def test_differentiated_functions_are_pickled_by_name() -> None:
    for made in (slope, value_and_slope):
        assert pickle.loads(pickle.dumps(made)) is made
        assert copy.copy(made) is copy.deepcopy(made) is made


def test_wrappers_of_objects_are_not_pickled() -> None:
    class Called:
        def __call__(self, x: Any) -> Any:
            return x * 1

    for wrap in (flow.jit, flow.grad):
        with pytest.raises(pickle.PicklingError, match=r"\] the wrapper of an object of Called is"):
            pickle.dumps(wrap(Called()))
