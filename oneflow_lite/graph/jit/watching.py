"""Where a function has its captured tensors and generators from, so that a new one in their place
is seen, or one that is added to them.

A path begins at the function (a variable of a closure, a global that the code names, ``self``) or
at an argument that is no tensor, such as a model. It goes on in steps: through attributes, items of
containers, other functions, modules and classes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from operator import attrgetter
from types import FunctionType, ModuleType
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.graph.arguments.sharing import sharing_with
from oneflow_lite.graph.jit.reading import (
    is_place,
    names_taken_in,
    place_of,
    places,
    takes_any_name,
)
from oneflow_lite.graph.jit.steps import (
    Call,
    Members,
    NamedStep,
    Step,
    is_a,
    is_of_a_library,
    may_hold,
    named_steps,
    names_in,
    steps_from,
)
from oneflow_lite.graph.jit.watch import Watch
from oneflow_lite.graph.trees import MAPPINGS, has_fields

_MOST_OBJECTS = 20_000
_MOST_NAMED = 2_000  # of them behind modules and classes, which may lead far into other libraries
_STRUCTURE = {"function", "args", "kwargs", "func", "keywords", "fget"}  # and special names


def watches(
    call: Call,
    captures: Iterable[Tensor],
    generators: Iterable[Any],
    also_places: bool,
) -> list[Watch]:
    """Return a watch for what a program captures, where it is in reach of a call.

    That is each of the generators, and each tensor that shares memory with a capture. Others are
    for places that the function reads, where tensors may be put later: with ``also_places``.
    Each call brings the tensors in its arguments along: they are not watched there. One of them
    that is somewhere else as well is a capture where the function gets it from there.
    """
    found = _captured(call, list(captures), {id(x) for x in generators})
    return found + (places(call, {id(watch.x) for watch in found}) if also_places else [])


def in_reach(call: Call) -> Iterator[tuple[str, Tensor]]:
    """Return the tensors that a call can get at, but for its arguments, with where they are.

    Those are left out that only an exception or a log has.
    """
    walk = _Walk(call, set(), _is_walked_to)
    return ((way.text, way.x) for way in walk.found())


def _is_walked_to(x: Any) -> bool:
    is_log = any(kind.__module__ == "logging" for kind in type(x).__mro__)
    return may_hold(x) and not is_log and not is_a(x, BaseException)


def _captured(call: Call, captures: list[Tensor], generators: set[int]) -> list[Watch]:
    if not captures and not generators:
        return []
    walk = _Walk(call, generators)
    ways = list(walk.found())
    tensors = [way.x for way in ways if isinstance(way.x, Tensor)]
    alike = {id(tensors[k]) for k in sharing_with(tensors, captures)}
    ways = [way for way in ways if not isinstance(way.x, Tensor) or id(way.x) in alike]
    found = [Watch(way.text, way.steps, "same", way.x, is_captured=True) for way in ways]
    others = walk.other_ways({way.holder for way in ways})
    return found + [
        Watch(way.text, way.steps, "function", _C.function_of(way.x), noun="object")
        for way in others
    ]


Known = tuple[int, bool]  # an object by its identity, and whether the arguments give it


@dataclass(slots=True)
class _Way:
    text: str
    steps: tuple[Step, ...]
    x: Any
    is_given: bool  # by the arguments, as the key of the call has it
    holder: Known  # that of the last step

    def known(self) -> Known:
        return id(self.x), self.is_given


class _Walk:
    """A walk to the tensors and generators that a call can get at, the nearest first.

    Names that stand in the code in reach lead on from modules and classes. A function behind them
    brings more names, so these are looked at again, until there are no new ones.
    """

    def __init__(
        self, call: Call, generators: set[int], leads_on: Callable[[Any], bool] = may_hold
    ) -> None:
        self._generators = generators
        self._leads_on = leads_on
        start = _Way("", (), call, True, (0, True))
        self._seen = {start.known()}
        self._most = _MOST_OBJECTS
        self._ways = [start]
        self._others: list[_Way] = []  # to objects that an earlier way leads to
        self._places: set[Any] = set()  # that steps lead to
        self._holders: dict[Known, list[tuple[Known, Step]]] = {}  # of each object
        self._names: set[str] = set()  # in the code of all functions so far
        self._taken: set[str] = set()  # those that are not only set
        self._takes_any_name = False  # that code makes names of attributes, maybe

    def found(self) -> Iterator[_Way]:
        """Return the ways, but for those to the tensors of arguments."""
        walked = looked_at = 0
        known: set[str] = set()  # the names that the ways which were looked at had
        members: Members = {}
        while walked < len(self._ways) or known != self._names:
            while walked < len(self._ways):
                way = self._ways[walked]
                walked += 1
                self._note_names(way.x)
                yield from self._beyond(way, steps_from(way.x))
            if not looked_at:
                self._most = min(self._most, len(self._seen) + _MOST_NAMED)
            names, new = set(self._names), self._names - known
            for number, way in enumerate(self._ways[:walked]):
                is_first = number >= looked_at
                steps = named_steps(way.x, names if is_first else new, is_first, members)
                yield from self._beyond(way, steps)
            known, looked_at = names, walked

    def _note_names(self, x: Any) -> None:
        if is_a(x, FunctionType):
            self._names |= names_in(x.__code__)
            self._taken |= names_taken_in(x.__code__)
            takes_any = not is_of_a_library(x.__module__) and takes_any_name(x.__code__)
        else:
            takes_any = x is getattr or x is vars or is_a(x, attrgetter)
        self._takes_any_name |= takes_any

    def _beyond(self, way: _Way, steps: Iterable[NamedStep]) -> Iterator[_Way]:
        for name, step in steps:
            x = step(way.x)
            is_given = way.is_given and _is_given(way.x, step)
            text, before = _joined(way.text, name), way.steps
            next_way = _Way(text, (*before, step), x, is_given, way.known())
            if is_a(x, Tensor) or id(x) in self._generators:
                if not is_given:
                    yield next_way
            elif self._leads_on(x):
                self._note(next_way, way.x)

    def _note(self, way: _Way, holder: Any) -> None:
        known, place = way.known(), place_of(holder, way.steps[-1])
        if known in self._seen:
            self._holders.setdefault(known, []).append((way.holder, way.steps[-1]))
            is_other = place not in self._places and is_place(holder, way.steps[-1])
            is_other &= not way.is_given and not is_a(way.x, type, ModuleType)
            if is_other and len(self._others) < self._most:
                self._others.append(way)
        elif len(self._seen) < self._most:
            self._seen.add(known)
            self._ways.append(way)
            self._holders[known] = [(way.holder, way.steps[-1])]
        self._places.add(place)

    def other_ways(self, holders: Iterable[Known]) -> list[_Way]:
        """Return other ways to these holders, and to what leads to them, that code names.

        An object that is put there leads to other tensors, though the first way is as it was.
        """
        leading = _reached(holders, lambda x: (holder for holder, _ in self._holders.get(x, ())))
        read = self._read()
        return [
            way
            for way in self._others
            if way.known() in leading and way.holder in read and self._is_named(way.steps[-1])
        ]

    def _read(self) -> set[Known]:
        """Return the objects that steps lead to which code names, each of them."""
        held: dict[Known, list[Known]] = {}
        for known, holders in self._holders.items():
            for holder, step in holders:
                if self._is_named(step):
                    held.setdefault(holder, []).append(known)
        return _reached([self._ways[0].known()], lambda x: held.get(x, ()))

    def _is_named(self, step: Step) -> bool:
        if step.kind != "attribute" or self._takes_any_name or step.key in self._taken:
            return True
        return step.key in _STRUCTURE or (step.key.startswith("__") and step.key.endswith("__"))


def _reached(starts: Iterable[Known], beyond: Callable[[Known], Iterable[Known]]) -> set[Known]:
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        for known in beyond(waiting.pop()):
            if known not in reached:
                reached.add(known)
                waiting.append(known)
    return reached


def _is_given(holder: Any, step: Step) -> bool:
    """Tell whether a step from an argument leads to what is an argument, too."""
    if is_a(holder, Call):
        return bool(step.key != "function")
    if type(holder) in (list, tuple, *MAPPINGS) or is_a(holder, tuple):
        return step.kind == "item"
    return has_fields(holder) and any(x.name == step.key for x in fields(holder))


def _joined(text: str, name: str) -> str:
    return text + name if text else name.lstrip(".")
