"""Steps from an object to what it holds, on which captured tensors are looked for.

                 all of it                          what the code in reach names
    function     closure, globals that it names
    container    items
    object       attributes, slots                  its class's attributes
    module, class                                   attributes

Modules and classes may hold anything: only names that stand in the code lead on from them. Those of
Python, NumPy and this library are left out.
"""

import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from types import (
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import KnownCalls
from oneflow_lite.graph.trees import IS_MADE_BY_PYTHON, KeptMethod

MISSING = object()
_LIBRARIES = {*sys.stdlib_module_names, "numpy", "oneflow_lite"} - {"__main__"}
_CODE = (FunctionType, staticmethod, classmethod, property, cached_property, KnownCalls)
_PLAIN = (str, bytes, int, float, bool, type(None))
_MOST_BITS = 4096  # of an integer that is written out
_NO_HOLDERS = (str, bytes, int, float, complex, CodeType, KeptMethod, type(None))


@dataclass(frozen=True, slots=True)
class Step:
    """From a holder to what it holds: an attribute, an item, a cell of a closure or a global."""

    kind: str
    key: Any

    def __call__(self, holder: Any) -> Any:
        """Return what is there, or MISSING. No code of the holder's runs."""
        return _C.taken(self.kind, self.key, holder, MISSING)


NamedStep = tuple[str, Step]  # how it is written
Members = dict[type, list[tuple[str, bool]]]


@dataclass(slots=True)
class Call:
    """Where the steps begin."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def is_a(x: Any, *kinds: type) -> bool:
    """Tell whether an object is of one of these classes. Its ``__class__`` may be code: it is not
    asked.
    """
    return issubclass(type(x), kinds)


def attribute(holder: Any, name: str, default: Any = None) -> Any:
    """Return an attribute of an object or its class, or the default. No code of theirs runs."""
    return _C.taken("attribute", name, holder, default)


def written(key: Any) -> str:
    """Return the text of a key of a dict: of an object of another class, only that."""
    is_short = type(key) is not int or key.bit_length() <= _MOST_BITS
    return repr(key) if type(key) in _PLAIN and is_short else type(key).__name__


def may_hold(x: Any) -> bool:
    """Return whether steps may lead on from an object."""
    if is_a(x, ModuleType):
        return not is_of_a_library(attribute(x, "__name__"))
    if is_a(x, type):
        return is_of_the_user(x)
    return not is_a(x, *_NO_HOLDERS)


def steps_from(holder: Any, with_items: bool = True) -> Iterator[NamedStep]:
    """Return the steps that lead on from an object, whatever the code names."""
    if is_a(holder, Call):
        yield "", Step("attribute", "function")
        yield "args", Step("attribute", "args")
        yield "kwargs", Step("attribute", "kwargs")
    elif is_a(holder, FunctionType):
        yield from _steps_of_function(holder)
    elif is_a(holder, MethodType):
        yield ".self", Step("attribute", "__self__")
        yield "", Step("attribute", "__func__")
    elif is_a(holder, partial):
        yield "", Step("attribute", "func")
        yield ".args", Step("attribute", "args")
        yield ".keywords", Step("attribute", "keywords")
    elif is_a(holder, KnownCalls):  # not its programs
        yield "", Step("attribute", "__wrapped__")
    elif is_a(holder, property):
        yield "", Step("attribute", "fget")
    elif not is_a(holder, ModuleType, type):
        if with_items:
            yield from _items(holder)
        yield from _attributes(holder)


def named_steps(
    holder: Any, names: set[str], is_first: bool, members: Members
) -> Iterator[NamedStep]:
    """Return the steps to attributes of a module or class, or to those of an object's class.

    Parameters
    ----------
    names
        those that lead on.
    is_first
        no other names led on from there before: special methods do, which no code has to name.
    members
        those of the classes that were asked for before.
    """
    if is_a(holder, ModuleType):
        for name in sorted(names & holder.__dict__.keys()):
            yield f".{name}", Step("attribute", name)
        return
    is_class = is_a(holder, type)
    for kind in (holder if is_class else type(holder)).__mro__:
        if kind not in members:
            members[kind] = _members(kind)
        for name, is_code in members[kind]:
            is_special = is_code and is_first and name.startswith("__")
            if (name in names or is_special) and (is_class or not is_code):  # the class has code
                yield f".{name}", Step("attribute", name)


def _members(kind: type) -> list[tuple[str, bool]]:
    """Return the names of a class that lead on, each with whether it is one of code."""
    if not is_of_the_user(kind):
        return []
    return [
        (name, is_a(x, *_CODE))
        for name, x in list(vars(kind).items())
        if is_a(x, *_CODE) or attribute(type(x), "__get__") is None
    ]


def names_in(code: CodeType) -> set[str]:
    """Return the names in a function's code, with those of the functions in it.

    A text may be one, too: ``getattr(model, "w")``, ``for name in ("w", "b")``.
    """
    names = set(code.co_names)
    constants = list(code.co_consts)
    for constant in constants:  # which grows
        if isinstance(constant, CodeType):
            names |= names_in(constant)
        elif isinstance(constant, tuple | frozenset):
            constants += constant
        elif isinstance(constant, str) and constant.isidentifier():
            names.add(constant)
    return names


def is_of_a_library(module: Any) -> bool:
    """Tell whether a module of this name is Python's, NumPy's or one of this library."""
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


def is_of_the_user(kind: type) -> bool:
    """Tell whether a class is one of the user's code."""
    return bool(kind.__flags__ & IS_MADE_BY_PYTHON) and not is_of_a_library(kind.__module__)


def _items(holder: Any) -> Iterator[NamedStep]:
    """Return the steps to a container's items, without numbers and texts."""
    if is_a(holder, MappingProxyType):
        for key in list(holder):
            yield f"[{written(key)}]", Step("item", key)
    elif is_a(holder, dict):
        # No list of pairs: while they are made, the garbage collector may change the dict.
        for key, x in zip(list(dict.keys(holder)), list(dict.values(holder)), strict=False):
            if type(x) not in _PLAIN:
                yield f"[{written(key)}]", Step("item", key)
    for kind in (list, tuple, deque):
        if is_a(holder, kind):
            for i, x in enumerate(list(kind.__iter__(holder))):
                if type(x) not in _PLAIN:
                    yield f"[{i}]", Step("item", i)


def _attributes(holder: Any) -> Iterator[NamedStep]:
    """Return the steps to an object's own attributes, and to its class."""
    own = attribute(holder, "__dict__")
    for name in list(own) if type(own) is dict else ():
        yield f".{name}", Step("attribute", name)
    for kind in type(holder).__mro__:
        for name, slot in list(vars(kind).items()) if "__slots__" in vars(kind) else ():
            if is_a(slot, MemberDescriptorType):
                yield f".{name}", Step("attribute", name)
    if is_of_the_user(type(holder)):
        yield "", Step("attribute", "__class__")


def _steps_of_function(function: FunctionType) -> Iterator[NamedStep]:
    for name, place in zip(function.__code__.co_freevars, range(1 << 16), strict=False):
        yield f".{name}", Step("cell", place)
    for name in sorted(names_in(function.__code__)):
        if name in function.__globals__:
            yield f".{name}", Step("global", name)
    if function.__defaults__:
        yield ".__defaults__", Step("attribute", "__defaults__")
    if function.__kwdefaults__:
        yield ".__kwdefaults__", Step("attribute", "__kwdefaults__")
    for name in list(function.__dict__):
        yield f".{name}", Step("attribute", name)
