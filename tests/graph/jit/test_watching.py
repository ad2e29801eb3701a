"""Captured tensors that are replaced: jit sees it wherever they are in reach."""

import types
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import oneflow_lite as flow


class Slotted:
    __slots__ = ("w",)
    w: Any

    @flow.jit
    def method(self, x: Any) -> Any:
        return x * self.w


class Derived(Slotted):
    """With a __dict__ beside the slots."""


@dataclass(slots=True)
class Record:
    w: Any


class Private:
    __slots__ = ("__w",)

    def put(self, w: Any) -> None:
        self.__w = w

    def __call__(self, x: Any) -> Any:
        return x * self.__w


class Shared:
    w: Any = None

    def forward(self, x: Any) -> Any:
        return x * self.w


class Config:
    w: Any = None
    nested: Any = types.SimpleNamespace(w=None)

    @staticmethod
    def scaled(x: Any) -> Any:
        return x * Config.w


MODULE: Any = types.ModuleType("settings")
MODULE.inner = types.ModuleType("settings.inner")
INNER: Any = {}
exec("def scaled(x):\n    return x * w\n", INNER)
MODULE.scaled = INNER["scaled"]


def _deque(w: Any) -> None:
    RECENT[-1] = w


RECENT: Any = deque([0, None])
SLOTTED, DERIVED, SHARED, PRIVATE = Slotted(), Derived(), Shared(), Private()
RECORD: Any = Record(None)
PROXY_OF: Any = {}
PROXY = types.MappingProxyType(PROXY_OF)


def _of_a_function(x: Any) -> Any:
    return x * _of_a_function.w  # type: ignore[attr-defined]


class Looked:
    @property
    def w(self) -> Any:
        return Config.w

    def __call__(self, x: Any) -> Any:
        return x * self.w


LOOKED = Looked()
Put = Callable[[Any], None]
PLACES: dict[str, tuple[Put, Callable[[Any], Any]]] = {
    "slot": (lambda w: setattr(SLOTTED, "w", w), lambda x: x * SLOTTED.w),
    "slot of a base": (lambda w: setattr(DERIVED, "w", w), lambda x: x * DERIVED.w),
    "slot with a private name": (PRIVATE.put, lambda x: PRIVATE(x)),
    "slot of a dataclass": (lambda w: setattr(RECORD, "w", w), lambda x: x * RECORD.w),
    "slot of a method's object": (lambda w: setattr(SLOTTED, "w", w), SLOTTED.method),
    "attribute of a class": (lambda w: setattr(Config, "w", w), lambda x: x * Config.w),
    "behind a class": (lambda w: setattr(Config.nested, "w", w), lambda x: x * Config.nested.w),
    "attribute of its class": (lambda w: setattr(Shared, "w", w), lambda x: SHARED.forward(x)),
    "class of a static method": (lambda w: setattr(Config, "w", w), lambda x: Config.scaled(x)),
    "property": (lambda w: setattr(Config, "w", w), lambda x: LOOKED(x)),
    "module": (lambda w: setattr(MODULE, "w", w), lambda x: x * MODULE.w),
    "inner module": (lambda w: setattr(MODULE.inner, "w", w), lambda x: x * MODULE.inner.w),
    "function of a module": (lambda w: INNER.update(w=w), lambda x: MODULE.scaled(x)),
    "attribute of a function": (
        lambda w: setattr(_of_a_function, "w", w),
        lambda x: _of_a_function(x),
    ),
    "deque": (_deque, lambda x: x * RECENT[-1]),
    "mapping": (lambda w: PROXY_OF.update(w=w), lambda x: x * PROXY["w"]),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_tensor_in_the_place_of_a_captured_one_is_seen(name: str) -> None:
    put, function = PLACES[name]
    run = function if hasattr(function, "report") else flow.jit(function)
    x = flow.ones(2)
    for value in (2.0, 3.0, 3.0):
        put(flow.full(2, value))
        for _ in range(3):  # the third call is a known one
            assert run(x).tolist() == [value] * 2
    assert "another tensor" in run.explain()[1]


def test_an_attribute_that_hides_that_of_the_class_is_seen() -> None:
    class Layer:
        w = flow.full(2, 2.0)

        @flow.jit
        def step(self, x: Any) -> Any:
            return x * self.w

    layer = Layer()
    x = flow.ones(2)
    assert [layer.step(x).tolist() for _ in range(3)] == [[2, 2]] * 3
    layer.w = flow.full(2, 7.0)
    assert [layer.step(x).tolist() for _ in range(3)] == [[7, 7]] * 3
    assert layer.step.explain()[1].startswith("self.w is another tensor (")
    assert layer.step.report()["captures"] == [["self.w"]]


def test_programs_of_other_jitted_functions_are_not_walked() -> None:
    inner = flow.jit(lambda x: x * SHARED.w)
    outer = flow.jit(lambda x: inner(x) + 1)
    x = flow.ones(2)
    Shared.w = flow.full(2, 2.0)
    assert inner(x).tolist() == [2, 2]
    assert outer(x).tolist() == [3, 3]
    inner.clear()
    assert outer(x).tolist() == [3, 3]
    assert outer.report()["captures"] == [["inner.SHARED.w"]]
    assert outer.report()["traces"] == 1


def test_names_of_functions_behind_modules_lead_on() -> None:
    """A module's function names an attribute of a class that was looked at before it."""
    space: Any = {"Config": Config}
    exec("def late(x):\n    return x * getattr(Config, 'nested').w\n", space)
    exec("def early(x):\n    return MODULE.late(x)\n", space)
    space["MODULE"] = MODULE
    MODULE.late = space["late"]
    run = flow.jit(lambda x, kind=Config: space["early"](x))
    x = flow.ones(2)
    for value in (2.0, 3.0):
        Config.nested = types.SimpleNamespace(w=flow.full(2, value))
        assert run(x).tolist() == [value] * 2


def test_a_holder_of_another_kind_is_seen() -> None:
    w = flow.full(2, 2.0)

    def scaled(x: Any) -> Any:
        return x * w

    settings = types.SimpleNamespace(of={"w": w}, at=[w], act=scaled, inner=MODULE.scaled)
    INNER["w"] = w

    def function(x: Any) -> Any:
        x = settings.act(settings.inner(x))
        x = x * settings.of["w"] if settings.of is not None else x
        return x * settings.at[0] if settings.at is not None else x

    for name, other, value in (
        ("of", None, 8),
        ("at", None, 4),
        ("act", flow.negative, -2),
        ("inner", flow.negative, 1),
    ):
        run = flow.jit(function)
        before = run(flow.ones(2)).tolist()
        assert [run(flow.ones(2)).tolist() for _ in range(2)] == [before] * 2
        setattr(settings, name, other)
        assert [run(flow.ones(2)).tolist() for _ in range(3)] == [[value] * 2] * 3
        assert run.report()["traces"] == 2

    again = flow.jit(function)  # whose calls are not known yet
    settings.of = {"w": w}
    again(flow.ones(2))
    settings.of = None
    assert again(flow.ones(2)).tolist() == [1, 1]
