"""Places that a function reads by name, where tensors or functions may be put later.

                    what is watched there
None, a number      no tensor, and nothing that may hold one, is put there
a function          it is the same one, but for methods of classes
a tensor, an object it is none of the other kinds
a container         its items are of the same kinds; plain ones may come and go

Captured tensors are watched wherever they are. Here only names count that the code in reach loads:
a list of losses beside the model, which no code of the program reads, may change.
"""

import dis
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import KnownCalls, Tensor
from oneflow_lite.graph.jit.steps import (
    MISSING,
    Call,
    Members,
    NamedStep,
    Step,
    is_of_a_library,
    is_of_the_user,
    may_hold,
    named_steps,
    steps_from,
)
from oneflow_lite.graph.jit.watch import PLAIN, Watch
from oneflow_lite.graph.trees import has_fields

_MOST_OBJECTS = 2_000
_MOST_PLACES = 500
_CONTAINERS = (list, tuple, deque, dict)
_VARIABLES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")
_ADDS = ("append", "appendleft", "extend", "insert", "add", "update")
_ALL_ARE_READ = (Call, MethodType, partial, KnownCalls, property)
_STRUCTURE = ("__class__", "__wrapped__")
# Methods that make an object or tell of it: what they read need not be what the function reads.
_NOT_RUN = {
    *(
        "__init__",
        "__new__",
        "__post_init__",
        "__init_subclass__",
        "__del__",
        "__repr__",
        "__str__",
    ),
    *("__setattr__", "__delattr__", "__getstate__", "__setstate__", "__reduce__", "__len__"),
    *("__eq__", "__hash__", "__bool__", "__enter__", "__exit__"),
}


@dataclass(frozen=True)
class Names:
    """What a function's code loads by name."""

    variables: frozenset[str]  # globals, and those of closures
    attributes: frozenset[str]
    asked: frozenset[str]  # by hasattr() and getattr(), which a missing attribute does not stop


@lru_cache(maxsize=1024)
def names_read_in(code: CodeType) -> Names:
    """Return the names that a function's code reads, with those of the functions in it."""
    variables, attributes, asked = set(), set(), set()
    instructions = list(dis.get_instructions(code))  # the last one loads nothing
    for instruction, following in pairwise(instructions):
        kind, name = instruction.opname, instruction.argval
        if not kind.startswith("LOAD_") or _only_adds(following):
            continue
        if kind in _VARIABLES:
            variables.add(name)
        elif "ATTR" in kind or "METHOD" in kind:
            attributes.add(name)
        elif isinstance(name, str) and name.isidentifier():
            asked.add(name)
    asked &= {x for x in code.co_consts if isinstance(x, str)}
    if not {"hasattr", "getattr"} & variables:
        asked = set()
    names = [Names(*map(frozenset, (variables, attributes | asked, asked)))]
    names += [names_read_in(x) for x in code.co_consts if isinstance(x, CodeType)]
    kinds = ("variables", "attributes", "asked")
    return Names(*(frozenset().union(*(getattr(x, kind) for x in names)) for kind in kinds))


def _only_adds(instruction: dis.Instruction) -> bool:
    """Tell whether a container is loaded to add to it: ``log.append(x)``, which a trace does."""
    return instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and instruction.argval in _ADDS


def places(call: Call, known: set[int]) -> list[Watch]:
    """Return a watch for each place that the functions in reach of a call read.

    ``known`` are identities of tensors and generators that are watched anyhow.
    """
    return _Places(call, known).found()


@dataclass(slots=True)
class _Way:
    text: str
    steps: tuple[Step, ...]
    x: Any
    is_given: bool  # a container in the arguments, whose items are a part of the key


class _Places:
    def __init__(self, call: Call, known: set[int]) -> None:
        self._call = call
        self._known = known
        self._names: set[str] = set()
        self._asked: set[str] = set()

    def found(self) -> list[Watch]:
        """Walk until no function in reach brings new names."""
        while True:
            before = len(self._names), len(self._asked)
            found = list(self._walk())
            if (len(self._names), len(self._asked)) == before:
                return found[:_MOST_PLACES]

    def _walk(self) -> Iterator[Watch]:
        seen: set[Any] = {id(self._call)}  # objects, and globals
        ways = [_Way("", (), self._call, True)]
        members: Members = {}
        for way in ways:  # which grows
            self._note_names(way.x)
            for name, step in self._steps(way.x, members):
                if step.kind == "global":
                    if (id(way.x.__globals__), step.key) in seen:
                        continue
                    seen.add((id(way.x.__globals__), step.key))
                x = step(way.x)
                text = way.text + name if way.text else name.lstrip(".")
                is_given = way.is_given and (isinstance(x, _CONTAINERS) or has_fields(x))
                next_way = _Way(text, (*way.steps, step), x, is_given)
                if not way.is_given:
                    yield from self._watch(way.x, next_way)
                leads_on = x is not MISSING and not isinstance(x, Tensor) and may_hold(x)
                if leads_on and id(x) not in seen and len(seen) < _MOST_OBJECTS:
                    seen.add(id(x))
                    ways.append(next_way)

    def _note_names(self, x: Any) -> None:
        if isinstance(x, FunctionType) and not is_of_a_library(x.__module__):
            names = names_read_in(x.__code__)
            self._names |= names.attributes
            self._asked |= names.asked

    def _steps(self, holder: Any, members: Members) -> Iterator[NamedStep]:
        if isinstance(holder, FunctionType):
            yield from _steps_of_function(holder, self._names)
            return
        contents = _C.contents_of(holder)
        if contents is not None:
            yield from _steps_to_items(*contents)
        for name, step in steps_from(holder, with_items=contents is None):
            is_structure = isinstance(holder, _ALL_ARE_READ) or step.key in _STRUCTURE
            if step.kind != "attribute" or is_structure or step.key in self._names:
                yield name, step
        names = self._names - _NOT_RUN
        for name, step in named_steps(holder, names, True, members):
            if step.key not in _NOT_RUN:
                yield name, step
        if _may_lack(holder):
            for name in sorted(self._asked):
                if getattr(holder, name, MISSING) is MISSING:
                    yield f".{name}", Step("attribute", name)

    def _watch(self, holder: Any, way: _Way) -> Iterator[Watch]:
        """Return what is to be watched at the end of a way."""
        x, step = way.x, way.steps[-1]
        if id(x) in self._known or isinstance(x, type | ModuleType) or not _is_place(holder, step):
            return
        sort = PLAIN if x is MISSING else _C.sort_of(x)
        is_code = callable(x) and not is_of_the_user(type(x))
        if is_code and not isinstance(x, Tensor):
            if not isinstance(holder, type):
                yield Watch(way.text, way.steps, "same", x)
            return
        contents = _C.contents_of(x)
        if contents is not None:
            yield Watch(way.text, way.steps, "contents", contents)
        elif step.kind != "item":  # which the container tells of
            yield Watch(way.text, way.steps, "sort", sort)


def _is_place(holder: Any, step: Step) -> bool:
    """Tell whether something else may be put there."""
    if isinstance(holder, FunctionType):
        return not is_of_a_library(holder.__module__)
    is_of_ours = is_of_a_library(type(holder).__module__) and hasattr(holder, "__wrapped__")
    return not (is_of_ours or isinstance(holder, _ALL_ARE_READ) or step.key in _STRUCTURE)


def _may_lack(holder: Any) -> bool:
    """Tell whether a missing attribute may be set, and no code of the holder's makes it."""
    if not type(holder).__dictoffset__ or hasattr(type(holder), "__getattr__"):
        return False
    return not (isinstance(holder, ModuleType) and "__getattr__" in vars(holder))


def _steps_to_items(kind: str, items: tuple[Any, ...]) -> Iterator[NamedStep]:
    """Return the steps to the items that are not plain."""
    found = items if kind == "mapping" else enumerate(items)
    for key, sort in found:
        if sort != PLAIN:
            yield f"[{key!r}]", Step("item", key)


def _steps_of_function(function: FunctionType, names: set[str]) -> Iterator[NamedStep]:
    is_foreign = is_of_a_library(function.__module__)
    read = names_read_in(function.__code__).variables
    for name, step in steps_from(function):
        if step.kind == "global":
            is_read = step.key in read and not is_foreign
        elif step.kind == "cell":
            is_read = function.__code__.co_freevars[step.key] in read
        else:
            is_read = step.key in ("__defaults__", "__kwdefaults__") or step.key in names
        if is_read:
            yield name, step
