"""jit looks at what stands beside a function, and runs no code of it that eager would not run."""

import gc
import threading
import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C


def w(value: float = 1.0) -> Any:
    return flow.full(2, value)


class Space:
    def __init__(self, **named: Any) -> None:
        self.__dict__.update(named)


def refuse(*_: Any) -> Any:
    raise RuntimeError("not to be run")


class Guarded:
    """An object whose attributes are code that fails."""

    __class__ = property(refuse)  # type: ignore[assignment]
    device = property(refuse)
    here = property(refuse)

    def __init__(self) -> None:
        vars(self)["here"] = 1


class Meta(type):
    __getattr__ = refuse


class Field:
    __get__ = refuse


class Named(metaclass=Meta):
    w = None
    device = Field()


class Device(Space):
    device = property(refuse)


class Key:
    def __hash__(self) -> int:
        return 1

    __eq__ = refuse
    __repr__ = refuse


class Rows(deque[Any]):
    __len__ = __getitem__ = refuse


class Items(dict[Any, Any]):
    __getitem__ = __iter__ = keys = refuse


GUARDS: dict[str, Callable[[], Any]] = {
    "__class__": Guarded,
    "property": lambda: Device(k=1),
    "metaclass": Named,
    "key": lambda: {Key(): w()},
    "deque": lambda: Rows([w()]),
    "dict": lambda: Items(a=w()),
}


@pytest.mark.parametrize("with_tensor", [False, True])
@pytest.mark.parametrize("name", GUARDS)
def test_code_of_what_is_read_is_not_run(name: str, with_tensor: bool) -> None:
    space = Space(guard=GUARDS[name](), w=w())

    @flow.jit
    def run(x: Any) -> Any:
        if space.guard is not None and hasattr(space, "device"):
            return x
        return x * space.w if with_tensor else x + 1

    assert [run(w()).tolist() for _ in range(4)] == [[1, 1] if with_tensor else [2, 2]] * 4
    space.guard = GUARDS[name]()
    assert run(w()).tolist() == [1, 1] if with_tensor else [2, 2]


def test_a_defaultdict_makes_no_item() -> None:
    named: Any = defaultdict(list, a=[w()], b=[w()])
    run = flow.jit(lambda x: x + sum(x for ws in named.values() for x in ws))
    assert [run(w()).tolist() for _ in range(3)] == [[3, 3]] * 3
    del named["b"]
    assert [run(w()).tolist() for _ in range(3)] == [[2, 2]] * 3
    assert list(named) == ["a"]


def test_a_dict_that_the_collector_changes() -> None:
    class Cyclic:
        def __init__(self, named: Any) -> None:
            self.me = self
            self.named = named

        def __del__(self) -> None:
            self.named.clear()

    for _ in range(50):
        named = {Space(): Space(w=w) for _ in range(5_000)}
        gc.collect()
        Cyclic(named)
        _C.contents_of(named)
        run = flow.jit(lambda x, named=named: x if named is None else x + 1)
        Cyclic(named)
        assert run(w()).tolist() == [2, 2]


class Computed:
    """Its attributes are in another object, as a program's own code has it."""

    def __init__(self, space: Space) -> None:
        self.space = space

    def __getattr__(self, name: str) -> Any:
        return getattr(self.space, name)


HOLDERS: dict[str, Callable[[Space], Any]] = {
    "local": lambda space: threading.local(),
    "proxy": weakref.proxy,
    "computed": Computed,
}


@pytest.mark.parametrize("name", HOLDERS)
def test_tensors_in_objects_with_attributes_of_their_own(name: str) -> None:
    space = Space()
    held = HOLDERS[name](space)
    run = flow.jit(lambda x: x * held.w)
    for value in (2, 3, 4):
        (held if name == "local" else space).w = w(value)
        assert [run(w()).tolist() for _ in range(3)] == [[value] * 2] * 3


def test_functions_are_held_weakly() -> None:
    space = Space(w=w())
    big = Space(w=w)

    def function(big: Any = big) -> Any:
        return big

    space.call = function
    held = weakref.ref(big)
    run = flow.jit(lambda x: x if space.call is None else x * space.w)
    for _ in range(3):
        run(w())
    del big, function
    space.call = None
    gc.collect()
    assert held() is None
    assert run(w(3)).tolist() == [3, 3]
