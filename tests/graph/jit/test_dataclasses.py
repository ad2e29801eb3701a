"""Dataclasses as arguments and results: all fields count, and nothing of the class is called."""

from dataclasses import InitVar, dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow


@dataclass
class Counted:
    a: Any
    m: int = field(init=False, default=4)


@dataclass
class Derived:
    a: Any
    b: Any = field(init=False)

    def __post_init__(self) -> None:
        self.b = self.a * 2


@dataclass
class Scaled:
    a: Any
    k: InitVar[int]
    scale: float = 0.5

    def __post_init__(self, k: int) -> None:
        self.scale *= k


@dataclass(frozen=True, slots=True)
class Frozen:
    a: Any
    b: Any = field(init=False, default=None)


@dataclass
class Slotted:
    __slots__ = ("a", "other")
    a: Any


@dataclass
class Unset:
    a: Any
    b: Any = field(init=False)


@dataclass
class Cached:
    a: Any

    @cached_property
    def square(self) -> Any:
        return self.a * self.a


@dataclass
class Stepped:
    a: Any

    @flow.jit
    def doubled(self) -> Any:
        return self.a * 2


@dataclass
class Point:
    x: int
    y: int


class Corner(Point, Enum):
    FIRST = (0, 0)
    LAST = (1, 1)


@dataclass(frozen=True)
class Rate:
    value: Any

    def __init__(self, value: Any) -> None:
        object.__setattr__(self, "_value", value)

    @property
    def value(self) -> Any:
        return self._value  # type: ignore[attr-defined]


@dataclass
class Failure(ValueError):
    a: Any


def test_fields_that_are_no_arguments_of_the_class() -> None:
    f = flow.jit(lambda d: d.a * d.m)
    d = Counted(flow.ones(2))
    for m in (4, 9, 9, 9, 5, 5):
        d.m = m
        assert f(d).tolist() == [m, m]
    assert f.report()["traces"] == 3
    assert f.explain()[1].startswith("d.m int 4 -> int 9 (")


def test_tensors_that_the_class_makes() -> None:
    f = flow.jit(lambda d: d.a + d.b)
    for value in (1.0, 2.0, 3.0):
        assert f(Derived(flow.full(2, value))).tolist() == [3 * value] * 2
    d = Derived(flow.ones(2))
    d.b = flow.full(2, 7.0)
    assert f(d).tolist() == [8, 8]
    assert f.report()["traces"] == 1
    gradient = flow.grad(lambda d: (d.a * d.b).sum())(d)
    assert (gradient.a.tolist(), gradient.b.tolist()) == ([7, 7], [1, 1])


def test_arguments_that_are_no_fields() -> None:
    f = flow.jit(lambda d: Scaled(d.a * d.scale, 4))
    for _ in range(3):
        found = f(Scaled(flow.ones(2), 3))
        assert (found.a.tolist(), found.scale) == ([1.5, 1.5], 2.0)


@pytest.mark.parametrize("kind", [Frozen, Slotted, Unset, Failure])
def test_every_kind_of_class(kind: Any) -> None:
    f = flow.jit(lambda d: kind(d.a * 2))
    for value in (1.0, 2.0, 3.0):
        found = f(kind(np.full(2, value)))
        assert type(found) is kind
        assert found.a.tolist() == [2 * value] * 2
    assert f.report()["traces"] == 1


def test_other_attributes_come_along() -> None:
    d, other = Counted(flow.ones(2)), Slotted(flow.ones(2))
    d.scale, other.other = 3.0, 5.0  # type: ignore[attr-defined]
    run = flow.jit(lambda d, other: d.a * d.scale + other.other)
    assert [run(d, other).tolist() for _ in range(3)] == [[8, 8]] * 3


def test_a_field_that_is_set_or_taken_away() -> None:
    f = flow.jit(lambda d: d.a * getattr(d, "b", 1))
    d = Unset(flow.ones(2))
    assert f(d).tolist() == [1, 1]
    d.b = flow.full(2, 3.0)
    assert [f(d).tolist() for _ in range(3)] == [[3, 3]] * 3
    del d.b
    assert [f(d).tolist() for _ in range(3)] == [[1, 1]] * 3


def test_cached_properties_are_computed_in_each_trace() -> None:
    def made(a: Any) -> Any:
        cached = Cached(a)
        assert cached.square is cached.square
        return cached

    f = flow.jit(lambda d: d.square + d.a)
    for value in (1.0, 2.0, 3.0):
        d = flow.jit(made)(flow.full(2, value))
        assert vars(d).keys() == {"a"}
        assert d.square.tolist() == [value**2] * 2
        assert f(d).tolist() == [value**2 + value] * 2
    assert f.report()["traces"] == 1


def test_a_jitted_method_of_an_object_that_is_made_inside() -> None:
    def made(a: Any) -> Any:
        d = Stepped(a)
        d.doubled()
        return d

    found = flow.jit(made)(flow.ones(2))
    assert found.doubled().tolist() == [2, 2]


def test_members_of_an_enum_are_values() -> None:
    def first(x: Any, corner: Any) -> Any:
        return x + 1 if corner is Corner.FIRST else x * 100

    f = flow.jit(first)
    x = flow.ones(2)
    for _ in range(3):
        assert f(x, Corner.FIRST).tolist() == [2, 2]
        assert f(x, Corner.LAST).tolist() == [100, 100]
    assert f.report()["traces"] == 2
    assert flow.jit(lambda x, corner: corner)(x, Corner.LAST) is Corner.LAST


def test_a_field_that_is_a_property_without_a_setter() -> None:
    f = flow.jit(lambda x, rate: x * rate.value)
    x = flow.ones(2)
    for value in (0.5, 3, 0.5):
        assert f(x, Rate(value)).tolist() == [value, value]
    g = flow.jit(lambda x, rate: x * len(rate.value))
    assert g(x, Rate(["a", "b"])).tolist() == [2, 2]
    wanted = r"\[<lambda>\] rate\.value: expected a field that can be set, got a property of Rate"
    with pytest.raises(TypeError, match=wanted):
        f(x, Rate(flow.ones(2)))


@dataclass
class Holder:
    __slots__ = ("a", "factor")
    a: Any


class Kept:
    """Which object it is, is all that is known of it."""

    def __init__(self, factor: int) -> None:
        self.factor = factor


ATTRIBUTES: dict[str, tuple[Any, Any]] = {
    "a number": (2, 3),
    "another kind of number": (2, 2.5),
    "a NumPy array": (np.float64(2), np.array([1.0, 3.0])),
    "a list": ([2], [3]),
    "a dict": ({0: 2}, {0: 3}),
    "a list of lists": ([[2]], [[3]]),
    "an object": (Kept(2), Kept(3)),
    "nothing": (None, 3),
}


def value_of(held: Any) -> Any:
    while isinstance(held, list | dict | Kept):
        held = held.factor if isinstance(held, Kept) else held[0]
    return 1 if held is None else held


@pytest.mark.parametrize("kind", [Counted, Holder])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_values_of_attributes_that_are_no_fields_count(kind: Any, name: str) -> None:
    run = flow.jit(lambda x: x.a * value_of(x.factor))
    tensor = flow.tensor([1.0, 2.0])
    for held in ATTRIBUTES[name] * 2:
        x = kind(tensor)
        x.factor = held
        np.testing.assert_array_equal(run(x).numpy(), tensor.numpy() * value_of(held))
    assert run.report()["traces"] == 2
    assert run.explain()[1].startswith("x.factor is another one (")


def test_equal_attributes_share_a_program() -> None:
    run = flow.jit(lambda x: x.a * x.factor[0])
    for _ in range(3):
        x: Any = Counted(flow.ones(2))
        x.factor = [2, "a", None]
        run(x)
    assert run.report()["traces"] == 1
