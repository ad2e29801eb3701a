"""Where a function has its captured tensors and generators from, so that a new one in their place
is seen, or one that is added to them.

A path begins at the function (a variable of a closure, a global that the code names, ``self``) or
at an argument that is no tensor, such as a model. It goes on in steps: through attributes, items of
containers, other functions, modules and classes.
"""

from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.graph.arguments.sharing import sharing_with
from oneflow_lite.graph.jit.reading import places
from oneflow_lite.graph.jit.steps import (
    Call,
    Members,
    NamedStep,
    Step,
    is_a,
    may_hold,
    named_steps,
    names_in,
    steps_from,
)
from oneflow_lite.graph.jit.watch import Watch

_MOST_OBJECTS = 20_000
_MOST_NAMED = 2_000  # of them behind modules and classes, which may lead far into other libraries


def watches(
    call: Call,
    captures: Iterable[Tensor],
    arguments: Iterable[Tensor],
    generators: Iterable[Any],
    also_places: bool,
) -> list[Watch]:
    """Return a watch for what a program captures, where it is in reach of a call.

    That is each of the generators, and each tensor that shares memory with a capture. Others are
    for places that the function reads, where tensors may be put later: with ``also_places``.
    ``arguments`` are tensors that each call brings along: they are not watched.
    """
    found = _captured(call, list(captures), list(arguments), {id(x) for x in generators})
    return found + (places(call, {id(watch.x) for watch in found}) if also_places else [])


def _captured(
    call: Call, captures: list[Tensor], arguments: list[Tensor], generators: set[int]
) -> list[Watch]:
    if not captures and not generators:
        return []
    brought = {id(x) for x in arguments}
    found = [
        Watch(text, steps, "same", x, is_captured=True)
        for text, steps, x in _Walk(call, generators).found()
        if not isinstance(x, Tensor) or id(x) not in brought
    ]
    tensors = [watch.x for watch in found if isinstance(watch.x, Tensor)]
    alike = {id(tensors[k]) for k in sharing_with(tensors, captures)}
    return [x for x in found if not isinstance(x.x, Tensor) or id(x.x) in alike]


Way = tuple[str, tuple[Step, ...], Any]


class _Walk:
    """A walk to the tensors and generators that a call can get at, the nearest first.

    Names that stand in the code in reach lead on from modules and classes. A function behind them
    brings more names, so these are looked at again, until there are no new ones.
    """

    def __init__(self, call: Call, generators: set[int]) -> None:
        self._generators = generators
        self._seen = {id(call)}
        self._most = _MOST_OBJECTS
        self._ways: list[Way] = [("", (), call)]
        self._names: set[str] = set()  # in the code of all functions so far

    def found(self) -> Iterator[Way]:
        """Return the ways."""
        walked = looked_at = 0
        known: set[str] = set()  # the names that the ways which were looked at had
        members: Members = {}
        while walked < len(self._ways) or known != self._names:
            while walked < len(self._ways):
                way = self._ways[walked]
                walked += 1
                if is_a(way[2], FunctionType):
                    self._names |= names_in(way[2].__code__)
                yield from self._beyond(way, steps_from(way[2]))
            if not looked_at:
                self._most = min(self._most, len(self._seen) + _MOST_NAMED)
            names, new = set(self._names), self._names - known
            for number, way in enumerate(self._ways[:walked]):
                is_first = number >= looked_at
                steps = named_steps(way[2], names if is_first else new, is_first, members)
                yield from self._beyond(way, steps)
            known, looked_at = names, walked

    def _beyond(self, way: Way, steps: Iterable[NamedStep]) -> Iterator[Way]:
        text, before, holder = way
        for name, step in steps:
            x = step(holder)
            next_way = (_joined(text, name), (*before, step), x)
            if is_a(x, Tensor) or id(x) in self._generators:
                yield next_way
            elif id(x) not in self._seen and len(self._seen) < self._most and may_hold(x):
                self._seen.add(id(x))
                self._ways.append(next_way)


def _joined(text: str, name: str) -> str:
    return text + name if text else name.lstrip(".")
