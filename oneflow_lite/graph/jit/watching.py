"""Where a function has its captured tensors and generators from, so that a new one in their place
is seen.

A path begins at the function (a variable of a closure, a global that the code names, ``self``) or
at an argument that is no tensor, such as a model. It goes on in steps: through attributes, items of
containers, other functions, modules and classes.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.graph.arguments.sharing import sharing_with
from oneflow_lite.graph.jit.steps import (
    MISSING,
    Call,
    Members,
    NamedStep,
    Step,
    may_hold,
    named_steps,
    names_in,
    steps_from,
)

_MOST_OBJECTS = 20_000
_MOST_NAMED = 2_000  # of them behind modules and classes, which may lead far into other libraries


@dataclass(frozen=True)
class Watch:
    """A captured tensor or generator, and the steps that lead to it from a call."""

    text: str
    steps: tuple[Step, ...]
    captured: Any

    @property
    def kind(self) -> str:
        """What stands there."""
        return "tensor" if isinstance(self.captured, Tensor) else "generator"

    def is_there(self, call: Call) -> bool:
        """Return whether the steps still lead to the same one."""
        found: Any = call
        for step in self.steps:
            found = step(found)
            if found is MISSING:
                return False
        return found is self.captured


def watches(
    call: Call, captures: Iterable[Tensor], arguments: Iterable[Tensor], generators: Iterable[Any]
) -> list[Watch]:
    """Return a watch for what a program captures, where it is in reach of a call.

    That is each of the generators, and each tensor that shares memory with a capture. ``arguments``
    are tensors that each call brings along: they are not watched.
    """
    wanted = list(captures)
    known = {id(x) for x in generators}
    if not wanted and not known:
        return []
    brought = {id(x) for x in arguments}
    found = [
        Watch(*way)
        for way in _Walk(call, known).found()
        if not isinstance(way[2], Tensor) or id(way[2]) not in brought
    ]
    tensors = [watch.captured for watch in found if watch.kind == "tensor"]
    alike = {id(tensors[k]) for k in sharing_with(tensors, wanted)}
    return [watch for watch in found if watch.kind != "tensor" or id(watch.captured) in alike]


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
                if isinstance(way[2], FunctionType):
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
            if isinstance(x, Tensor) or id(x) in self._generators:
                yield next_way
            elif id(x) not in self._seen and len(self._seen) < self._most and may_hold(x):
                self._seen.add(id(x))
                self._ways.append(next_way)


def _joined(text: str, name: str) -> str:
    return text + name if text else name.lstrip(".")
