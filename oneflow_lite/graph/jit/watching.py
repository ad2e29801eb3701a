"""Where a function has its captured tensors and generators from, so that a new one in their place
is seen.

A path begins at the function (a variable of a closure, a global that the code names, ``self``) or
at an argument that is no tensor, such as a model. It goes on through attributes, items of dicts,
lists and tuples, and other functions.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.graph.arguments.sharing import sharing_with

_MOST_OBJECTS = 20_000
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Step:
    """From a holder to what it holds: an attribute, an item, a cell of a closure or a global."""

    kind: str
    key: Any

    def __call__(self, holder: Any) -> Any:
        """Return what is there, or _MISSING."""
        if self.kind == "attribute":
            return getattr(holder, self.key, _MISSING)
        if self.kind == "global":
            return holder.__globals__.get(self.key, _MISSING)
        try:
            if self.kind == "item":
                return holder[self.key]
            cell: CellType = holder.__closure__[self.key]
            return cell.cell_contents
        except (KeyError, IndexError, ValueError):  # ValueError: the cell is empty
            return _MISSING


NamedStep = tuple[str, Step]  # how it is written


@dataclass(slots=True)
class Call:
    """Where the steps begin."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


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
            if found is _MISSING:
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
        for way in _reachable(call, known)
        if not isinstance(way[2], Tensor) or id(way[2]) not in brought
    ]
    tensors = [watch.captured for watch in found if watch.kind == "tensor"]
    alike = {id(tensors[k]) for k in sharing_with(tensors, wanted)}
    return [watch for watch in found if watch.kind != "tensor" or id(watch.captured) in alike]


def _reachable(call: Call, generators: set[int]) -> Iterator[tuple[str, tuple[Step, ...], Any]]:
    """Walk to the tensors and generators that the call can get at, the nearest first."""
    seen: set[int] = {id(call)}
    queue: list[tuple[str, tuple[Step, ...], Any]] = [("", (), call)]
    for text, steps, holder in queue:
        for name, step in _steps(holder):
            x = step(holder)
            if isinstance(x, Tensor) or id(x) in generators:
                yield _joined(text, name), (*steps, step), x
            elif id(x) not in seen and len(seen) < _MOST_OBJECTS and _may_hold(x):
                seen.add(id(x))
                queue.append((_joined(text, name), (*steps, step), x))


def _joined(text: str, name: str) -> str:
    return text + name if text else name.lstrip(".")


def _may_hold(x: Any) -> bool:
    if isinstance(x, ModuleType | type | str | bytes | int | float | complex | CodeType):
        return False
    return x is not None


def _steps(holder: Any) -> Iterator[NamedStep]:
    """Return the steps that lead on from an object."""
    if isinstance(holder, Call):
        yield "", Step("attribute", "function")
        yield "args", Step("attribute", "args")
        yield "kwargs", Step("attribute", "kwargs")
    elif isinstance(holder, FunctionType):
        yield from _steps_of_function(holder)
    elif isinstance(holder, MethodType):
        yield ".self", Step("attribute", "__self__")
        yield "", Step("attribute", "__func__")
    elif isinstance(holder, partial):
        yield "", Step("attribute", "func")
        yield ".args", Step("attribute", "args")
        yield ".keywords", Step("attribute", "keywords")
    elif isinstance(holder, dict):
        for key in list(holder):
            yield f"[{key!r}]", Step("item", key)
    elif isinstance(holder, list | tuple):
        for i in range(len(holder)):
            yield f"[{i}]", Step("item", i)
    else:
        for name in list(getattr(holder, "__dict__", ())):
            yield f".{name}", Step("attribute", name)


def _steps_of_function(function: FunctionType) -> Iterator[NamedStep]:
    for name, place in zip(function.__code__.co_freevars, range(1 << 16), strict=False):
        yield f".{name}", Step("cell", place)
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield f".{name}", Step("global", name)
    if function.__defaults__:
        yield ".__defaults__", Step("attribute", "__defaults__")
    if function.__kwdefaults__:
        yield ".__kwdefaults__", Step("attribute", "__kwdefaults__")


def _names(code: CodeType) -> set[str]:
    """Return the names in a function's code, with those of the functions in it."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
