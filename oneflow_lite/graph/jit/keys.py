"""What a program depends on: the key of a call, and what a call brings along.

Tensors and NumPy arrays count by their types, floats and complex numbers as numbers that each call
gives, all else by its value.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import is_dataclass
from datetime import datetime, time, timezone
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from types import UnionType
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor, TraceError
from oneflow_lite.device import resolve
from oneflow_lite.dtypes import SUPPORTED
from oneflow_lite.flags import flags
from oneflow_lite.graph.arguments.parameters import Parameters
from oneflow_lite.graph.arguments.sharing import Sharing, sharing_of
from oneflow_lite.graph.literals import literal
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.tracing import GLOBAL_TENSOR, Spec
from oneflow_lite.graph.trees import (
    MAPPINGS,
    MOST_LEVELS,
    TooDeepError,
    fields_of,
    has_fields,
    others_of,
    visit,
)
from oneflow_lite.ops.creation.data import asarray

Part = tuple[Any, ...]


class Brought:
    """What a call brings along: tensors, without those that come again, and numbers, in order.

    ``given`` are the numbers that are no part of the key, ``inputs`` the tensors that a run gets:
    those of the call, or what they are views of. ``is_shared_anew``: the captured tensors that
    share memory are those of a trace of this call.
    """

    __slots__ = ("given", "inputs", "is_shared_anew", "known", "numbers", "sharing", "tensors")

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.inputs = self.tensors
        self.sharing: Sharing | None = None
        self.is_shared_anew = False
        self.numbers: list[float | complex] = []
        self.given = self.numbers
        self.known: dict[int, int] = {}  # places of tensors and arrays, by identity

    def share(self, captures: Sequence[Tensor], is_anew: bool = False) -> bool:
        """Find which tensors share memory, also with these; return whether any does."""
        self.is_shared_anew = is_anew
        self.sharing = sharing_of(self.tensors, captures)
        self.inputs = self.tensors
        if self.sharing is not None:
            self.inputs = self.sharing.inputs(self.tensors)
        return self.sharing is not None

    def share_nothing(self) -> None:
        """Take each tensor for itself."""
        self.sharing, self.inputs = None, self.tensors

    def place_of(self, x: Any) -> int:
        """Return which tensor this one is."""
        place = self.known.setdefault(id(x), len(self.tensors))
        if place == len(self.tensors):
            if type(x) is not Tensor:
                x = asarray(np.asarray(_C.held(x, "jit"), order="C"), copy=True)
            self.tensors.append(x)
        return place


def key_of(
    args: Sequence[Any], kwargs: dict[str, Any], static: Collection[int | str], brought: Brought
) -> Part:
    """Return what the program of a call depends on; it can be hashed unless a value cannot."""
    context = PassContext.entered()
    parts: list[Any] = [resolve(None), flags.array_api, context and context.key]
    for i, x in enumerate(args):
        if type(x) is Tensor and i not in static:
            parts.append((brought.place_of(x), x.dtype, x.shape, x.strides, x.device))
        else:
            _add(x, parts, brought, i in static)
    for name, x in kwargs.items():
        parts.append(name)
        _add(x, parts, brought, name in static)
    return tuple(parts)


def _add(
    x: Any, parts: list[Any], brought: Brought, static: bool, levels: int = MOST_LEVELS
) -> None:
    if levels < 0:
        raise TooDeepError("")
    part, items = _part(x, brought, static)
    parts.append(part)
    for _, item in items:
        _add(item, parts, brought, static, levels - 1)


def described(
    args: Sequence[Any], kwargs: dict[str, Any], static: Collection[int | str]
) -> dict[str, Part]:
    """Return the part of each argument, and of each item of a container, by its path."""
    found: dict[str, Part] = {}
    brought = Brought()

    def describe(x: Any, path: str, is_static: bool) -> None:
        found[path], items = _part(x, brought, is_static)
        for step, item in items:
            describe(item, path + step, is_static)

    for i, x in enumerate(args):
        describe(x, f"args[{i}]", i in static)
    for name, x in kwargs.items():
        describe(x, name, name in static)
    return found


def with_sharing(key: Part, brought: Brought) -> Part:
    """Return the key of a call whose tensors share memory."""
    assert brought.sharing is not None
    return "shared", key, brought.sharing.pattern


def is_number(part: Part) -> bool:
    """Tell whether a part is of a number that each call gives."""
    return part in ((float,), (complex,))


def _part(x: Any, brought: Brought, static: bool) -> tuple[Part, Iterator[tuple[str, Any]]]:
    """Return what the key has of an object, and its items, each with the step to it."""
    kind = type(x)
    if not static:
        if kind is Tensor:
            return (brought.place_of(x), x.dtype, x.shape, x.strides, x.device), iter(())
        if kind is float or kind is complex:
            brought.numbers.append(x)
            return (kind,), iter(())
        if isinstance(x, np.ndarray):
            return (brought.place_of(x), x.dtype, x.shape), iter(())
    if kind in MAPPINGS:
        keys = ((f"[{key!r}]", item) for key, item in x.items())
        made = (_Same(x.default_factory),) if kind is defaultdict else ()
        return (kind, *map(_exact, x), *made), keys
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return (kind, len(x)), ((f".{name}", getattr(x, name)) for name in x._fields)
    if kind is list or kind is tuple:
        return (kind, len(x)), ((f"[{i}]", item) for i, item in enumerate(x))
    if has_fields(x):
        named = fields_of(x)
        held = ((name, _held(item)) for name, item in others_of(x).items())
        part = (kind, len(named), *named, *held)
        return part, ((f".{name}", item) for name, item in named.items())
    return _exact(x), iter(())


class _Same:
    """An object that is equal to itself alone, and lives as long as the key."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


class _Written:
    """An object with its text, where equal ones are not alike: Decimal("0") and Decimal("-0")."""

    __slots__ = ("held", "text")

    def __init__(self, held: Any) -> None:
        self.held = held
        self.text = repr(held)

    def __eq__(self, other: object) -> bool:
        if type(other) is not _Written or other.text != self.text:
            return False
        is_nan = self.held != self.held
        return bool(is_nan or other.held == self.held)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


# Equal: numbers with signs and places of their own, empty ranges, moments in different time zones,
# time zones of one offset, Windows's paths in capitals, and unions of types in any order.
WRITTEN_KINDS = (Decimal, range, datetime, time, timezone, PurePath, UnionType)
_CONTAINERS = (list, tuple, set, frozenset, dict)
_MOST_HELD = 100  # items of a container that are looked at


def _held(x: Any) -> Part:
    """Return what the key has of an attribute that is no field: plain values, in small containers,
    too, and which object any other is. Tensors are watched.
    """
    kind = type(x)
    if kind is Tensor:
        return (kind,)
    if x is None or isinstance(x, bool | int | float | complex | str | bytes | np.generic | Enum):
        return _exact(x)
    if kind in _CONTAINERS and len(x) <= _MOST_HELD:
        items = (item for pair in x.items() for item in pair) if kind is dict else iter(x)
        parts = (_Same(item) if type(item) in _CONTAINERS else _held(item) for item in items)
        return kind, *parts
    return kind, _Same(x)


def _exact(x: Any) -> Part:
    """Return a value with its type: 0.0 and -0.0 differ, so do 1 and True, and NaN is itself."""
    kind = type(x)
    if kind is str or kind is int:
        return kind, x
    if isinstance(x, float | complex | np.generic):
        return kind, literal(x)
    if isinstance(x, Enum) and is_dataclass(x):  # which may not be hashable
        return kind, x.name
    if isinstance(x, tuple | frozenset):  # a loop over a set is in its own order
        return kind, tuple(map(_exact, x))
    return kind, _Written(x) if isinstance(x, WRITTEN_KINDS) else x


_ACCEPTED = (
    "pass tensors, NumPy arrays, numbers, strings, or dicts (also OrderedDict and defaultdict), "
    "lists, tuples and dataclasses of them"
)


def refuse_unhashable(
    label: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    static: Collection[int | str],
    paths: Parameters,
) -> None:
    """Raise TypeError where an argument of a call has a value that cannot be compared."""
    given = {f"args[{i}]": i in static for i in range(len(args))}
    given |= {key: key in static for key in kwargs}
    is_static = False
    for path, part in described(args, kwargs, static).items():
        is_static = given.get(path, is_static)  # items follow their argument
        try:
            hash(part)
        except TypeError:
            way_out = _ACCEPTED
            if is_static:
                way_out = (
                    "a static argument counts by its value: leave it out of static, or pass "
                    "numbers, strings and tuples"
                )
            what = f"a {part[0].__name__}, which is not hashable; {way_out}"
            if part[0] is GlobalTensor:
                what = GLOBAL_TENSOR
            raise TypeError(f"{label}: {paths.path(path)} is {what}") from None


def refused_array(
    args: Sequence[Any], kwargs: dict[str, Any], static: Collection[int | str]
) -> str | None:
    """Return the path of an array of a dtype that tensors do not have."""
    found: list[str] = []

    def leaf(x: Any, path: str) -> None:
        if isinstance(x, np.ndarray) and x.dtype not in SUPPORTED:
            found.append(path)

    for i, x in enumerate(args):
        if i not in static:
            visit(x, leaf, f"args[{i}]")
    for name, x in kwargs.items():
        if name not in static:
            visit(x, leaf, name)
    return found[0] if found else None


_OF_PYTHON = ("builtins", "itertools", "collections", "_collections", "_csv")


def refuse_iterators(label: str, parts: dict[str, Part], parameters: Parameters) -> None:
    """Raise TraceError where an argument of a call is used up by it: the next one traces nothing.

    Those of other classes are passed as they are: files, and models that are iterators, too.
    """
    for path, part in parts.items():
        kind = part[0]
        if not isinstance(kind, type) or kind.__module__ not in _OF_PYTHON:
            continue
        if issubclass(kind, Iterator):
            raise TraceError(
                f"{label}: {parameters.path(path)} is a {kind.__name__}, which a call uses "
                "up: only the trace would do so, and later calls would repeat it. Pass a list or "
                "tuple of its items"
            )


def refuse_specs(label: str, parts: dict[str, Part], parameters: Parameters) -> None:
    """Raise TypeError where an argument of a call is a spec."""
    for path, part in parts.items():
        if part[0] is Spec:
            raise TypeError(
                f"{label}: {parameters.path(path)} is a spec, which has no value; give a "
                "tensor. program() takes specs"
            )
