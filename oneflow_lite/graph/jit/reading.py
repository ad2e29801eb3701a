"""Places that a function reads by name, where tensors or functions may be put later.

                    what is watched there
None, a number      no tensor, no function, and nothing that leads to one, is put there
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
from itertools import islice, pairwise
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
    attribute,
    is_a,
    is_of_a_library,
    is_of_the_user,
    may_hold,
    named_steps,
    steps_from,
    written,
)
from oneflow_lite.graph.jit.watch import PLAIN, Watch
from oneflow_lite.graph.trees import has_fields

_MOST_STEPS = 2_000
_MOST_PLACES = 500
_MOST_VISITS = 10_000  # of items, and of what they refer to, at each call
_CONTAINERS = (list, tuple, deque, dict)
_VARIABLES = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE")
_ADDS = ("append", "appendleft", "extend", "insert", "add", "update")
_TAKE_ANY_NAME = {"vars", "__dict__", "__getattribute__", "attrgetter", "asdict", "astuple"}
_LOADS = ("LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_GLOBAL")
_ALL_ARE_READ = (Call, MethodType, partial, KnownCalls, property)
_STRUCTURE = ("__class__", "__wrapped__")


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


@lru_cache(maxsize=1024)
def names_taken_in(code: CodeType) -> frozenset[str]:
    """Return the names and texts in a function's code but for those that it only sets."""
    names = {
        x.argval
        for x in dis.get_instructions(code)
        if isinstance(x.argval, str) and not x.opname.startswith(("STORE_", "DELETE_", "LOAD_FAST"))
    }
    return frozenset(names).union(
        *(names_taken_in(x) for x in code.co_consts if isinstance(x, CodeType))
    )


@lru_cache(maxsize=1024)
def takes_any_name(code: CodeType) -> bool:
    """Tell whether a function may read attributes by names that its code does not contain."""
    if not _TAKE_ANY_NAME.isdisjoint(code.co_names):
        return True
    found = [x for x in dis.get_instructions(code) if x.opname not in ("PUSH_NULL", "PRECALL")]
    if any(x.opname == "MATCH_CLASS" for x in found):
        return True
    if "getattr" in code.co_names:
        uses = [k for k, x in enumerate(found) if x.argval == "getattr"]
        if not all(_takes_constant_name(found[k + 1 :]) for k in uses):
            return True
    return any(takes_any_name(x) for x in code.co_consts if isinstance(x, CodeType))


def _takes_constant_name(after: list[dis.Instruction]) -> bool:
    """Tell whether code after a load of getattr is that of ``(x.y, "name")``, maybe with a default.

    No more than that: of other code, this does not tell what the arguments are.
    """
    end = next((k for k, x in enumerate(after) if x.opname == "CALL"), 0)
    if end < 2 or after[end].argval not in (2, 3):
        return False
    *loads, name = after[: end - (after[end].argval == 3)]
    default = after[end - 1].opname
    return (
        (default == "LOAD_CONST" or default in _LOADS)
        and (name.opname == "LOAD_CONST" and isinstance(name.argval, str))
        and bool(loads and loads[0].opname in _LOADS)
        and all(x.opname == "LOAD_ATTR" for x in loads[1:])
    )


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
        self._visits = 0

    def found(self) -> list[Watch]:
        """Walk until no function in reach brings new names."""
        while True:
            before = len(self._names), len(self._asked)
            found = list(self._walk())
            if (len(self._names), len(self._asked)) == before:
                return found[:_MOST_PLACES]

    def _walk(self) -> Iterator[Watch]:
        self._visits = 0
        seen = {id(self._call)}
        known: set[Any] = set()  # places
        ways = [_Way("", (), self._call, True)]
        steps_left = _MOST_STEPS
        members: Members = {}
        for way in ways:  # which grows
            self._note_names(way.x)
            for name, step in islice(self._steps(way.x, members), steps_left):
                steps_left -= 1
                place = place_of(way.x, step)
                is_known = place in known
                if is_known and step.kind == "global":
                    continue
                known.add(place)
                x = step(way.x)
                text = way.text + name if way.text else name.lstrip(".")
                is_given = way.is_given and (is_a(x, *_CONTAINERS) or has_fields(x))
                next_way = _Way(text, (*way.steps, step), x, is_given)
                if not way.is_given:
                    yield from self._watch(way.x, next_way)
                leads_on = x is not MISSING and not is_a(x, Tensor) and may_hold(x)
                if leads_on and id(x) not in seen:
                    seen.add(id(x))
                    ways.append(next_way)
                elif leads_on and not is_known and not way.is_given:
                    yield from _watch_of_object(way.x, next_way)

    def _note_names(self, x: Any) -> None:
        if is_a(x, FunctionType) and not is_of_a_library(x.__module__):
            names = names_read_in(x.__code__)
            self._names |= names.attributes
            self._asked |= names.asked

    def _steps(self, holder: Any, members: Members) -> Iterator[NamedStep]:
        if is_a(holder, FunctionType):
            yield from _steps_of_function(holder, self._names)
            return
        found = _C.contents_of(holder)
        if found is not None:
            yield from _steps_to_items(*found[0])
        for name, step in steps_from(holder, with_items=found is None):
            is_structure = is_a(holder, *_ALL_ARE_READ) or _is_structure(step)
            if step.kind != "attribute" or is_structure or step.key in self._names:
                yield name, step
        for name, step in named_steps(holder, self._names, True, members):
            if not _is_special(step.key) or step.key == "__call__":
                yield name, step
        if _may_lack(holder):
            for name in sorted(self._asked):
                step = Step("attribute", name)
                if step(holder) is MISSING:
                    yield f".{name}", step

    def _watch(self, holder: Any, way: _Way) -> Iterator[Watch]:
        """Return what is to be watched at the end of a way."""
        x, step = way.x, way.steps[-1]
        if id(x) in self._known or is_a(x, type, ModuleType) or not is_place(holder, step):
            return
        is_code = callable(x) and not is_of_the_user(type(x))
        if is_code and not is_a(x, Tensor):
            if not is_a(holder, type):
                yield Watch(way.text, way.steps, "function", _C.function_of(x))
            return
        found = _C.contents_of(x)
        if found is not None:
            contents, visits = found
            self._visits += visits
            if self._visits <= _MOST_VISITS:
                yield Watch(way.text, way.steps, "contents", contents)
        elif step.kind != "item":  # which the container tells of
            sort = PLAIN if x is MISSING else _C.sort_of(x)
            yield Watch(way.text, way.steps, "sort", sort)


def _watch_of_object(holder: Any, way: _Way) -> Iterator[Watch]:
    """Return a watch for an object that another way leads to: one of the two may change alone."""
    x = way.x
    is_code = callable(x) and not is_of_the_user(type(x))  # which is watched as a function
    if is_code or is_a(x, type, ModuleType) or not is_place(holder, way.steps[-1]):
        return
    if _C.sort_of(x) != PLAIN:
        yield Watch(way.text, way.steps, "function", _C.function_of(x), noun="object")


def place_of(holder: Any, step: Step) -> tuple[int, Step]:
    """Return what tells a place apart: functions of one module have the same globals."""
    return id(holder.__globals__ if step.kind == "global" else holder), step


def is_place(holder: Any, step: Step) -> bool:
    """Tell whether something else may be put there."""
    if is_a(holder, FunctionType):
        return not is_of_a_library(holder.__module__)
    is_wrapper = attribute(holder, "__wrapped__") is not None
    is_of_ours = is_wrapper and is_of_a_library(type(holder).__module__)
    return not (is_of_ours or is_a(holder, *_ALL_ARE_READ) or _is_structure(step))


def _is_structure(step: Step) -> bool:
    return step.kind == "attribute" and step.key in _STRUCTURE


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _may_lack(holder: Any) -> bool:
    """Tell whether a missing attribute may be set, and no code of the holder's makes it."""
    kind = type(holder)
    if not kind.__dictoffset__ or attribute(kind, "__getattr__", MISSING) is not MISSING:
        return False
    return not (is_a(holder, ModuleType) and attribute(holder, "__getattr__") is not None)


def _steps_to_items(keys: tuple[Any, ...] | None, sorts: bytes) -> Iterator[NamedStep]:
    """Return the steps to the items that are not plain."""
    found = range(len(sorts)) if keys is None else keys
    for key, sort in zip(found, sorts, strict=True):
        if sort != PLAIN:
            yield f"[{written(key)}]", Step("item", key)


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
