"""Arguments and results as trees of dict, list, tuple, None and dataclasses.

OrderedDict and defaultdict are dicts, too. Other classes that are derived from containers are not.
"""

import operator
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property
from types import MemberDescriptorType
from typing import Any

MOST_LEVELS = 100
MAPPINGS = (dict, OrderedDict, defaultdict)
IS_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE


class TooDeepError(ValueError):
    """Containers stand in containers without an end."""

    def __init__(self, path: str) -> None:
        where = f"{path[:40]}...: " if path else ""
        super().__init__(
            f"{where}expected at most {MOST_LEVELS} levels of containers: does one contain itself?"
        )


class FieldError(TypeError):
    """A copy of a dataclass cannot get a field of its own: a property without a setter has it."""

    def __init__(self, path: str, kind: str) -> None:
        self.path, self.kind = path, kind
        super().__init__(
            f"{path}: expected a field that can be set, got a property of {kind} without a setter: "
            "give it a setter, or pass the tensors in it as arguments of their own"
        )


class ContainerError(TypeError):
    """A container is of a class that trees do not have."""

    def __init__(self, path: str, kind: str) -> None:
        self.path, self.kind = path, kind
        super().__init__(
            f"{path} is a {kind}, whose tensors are not seen: containers are dicts (also "
            "OrderedDict and defaultdict), lists, tuples and dataclasses, and no other classes "
            "that are derived from them"
        )


class Leaf:
    """No container, whatever else it is."""

    __slots__ = ()


class KeptMethod:
    """What an object keeps a jitted method in, under a name that is no identifier.

    Deep copies of the object and pickles have none there: they make their methods anew. A shallow
    copy has this one until it makes its own, and keeps the original alive until then.
    """

    __slots__ = ("method",)

    def __init__(self, method: Any) -> None:
        self.method = method

    def __deepcopy__(self, memo: Any) -> "KeptMethod":
        return KeptMethod(None)

    def __reduce__(self) -> Any:
        return type(None), ()


def mapped(
    tree: Any, function: Callable[[Any, str], Any], path: str = "", levels: int = MOST_LEVELS
) -> Any:
    """Return the tree with ``function(leaf, path)`` in the place of each leaf.

    Containers are new ones, so that the function may change them. A path is what one writes behind
    the tree's name to get at the leaf: ``["w"][0].bias``. TooDeepError: there are more levels.
    """
    if tree is None:
        return None
    if levels < 0:
        raise TooDeepError(path)

    def below(x: Any, step: str) -> Any:
        return mapped(x, function, path + step, levels - 1)

    if type(tree) in MAPPINGS:
        return _like(tree, {key: below(x, f"[{key!r}]") for key, x in tree.items()})
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        parts = zip(tree._fields, tree, strict=True)
        return type(tree)(*(below(x, f".{name}") for name, x in parts))
    if type(tree) in (list, tuple):
        return type(tree)(below(x, f"[{i}]") for i, x in enumerate(tree))
    if has_fields(tree):
        before = fields_of(tree)
        named = {name: below(x, f".{name}") for name, x in before.items()}
        return _with_fields(tree, before, named, path)
    return function(tree, path)


def _like(tree: dict[Any, Any], items: dict[Any, Any]) -> dict[Any, Any]:
    """Return a dict of the class of another one."""
    if type(tree) is dict:
        return items
    if isinstance(tree, defaultdict):
        return defaultdict(tree.default_factory, items)
    return OrderedDict(items)


def visit(tree: Any, function: Callable[[Any, str], object], path: str = "") -> None:
    """Call ``function(leaf, path)`` for each leaf."""

    def leaf(x: Any, path: str) -> Any:
        function(x, path)
        return x

    mapped(tree, leaf, path)


def has_fields(x: Any) -> bool:
    """Tell whether an object is a container of fields. Members of an Enum are leaves."""
    return is_dataclass(x) and not isinstance(x, type | Leaf | Enum)


def holds_any(x: Any, kinds: tuple[type, ...]) -> bool:
    """Tell whether a leaf is a container of another class, with one of these in it.

    What counts by its identity is none: a model that is derived from dict.
    """
    if not isinstance(x, dict | list | tuple | deque) or type(x).__hash__ is object.__hash__:
        return False
    return any(isinstance(item, kinds) for item in (x.values() if isinstance(x, dict) else x))


def fields_of(tree: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are set, also those that are no arguments of it."""
    names = (field.name for field in fields(tree))
    return {name: getattr(tree, name) for name in names if hasattr(tree, name)}


def own_attributes(x: Any) -> dict[str, Any]:
    """Return what an object's dict and its slots have, but for what is made on first use.

    That is the value of a cached property, and a jitted method.
    """
    return _in_dict(x) | {name: slot.__get__(x) for name, slot in _slots(x)}


def others_of(x: Any) -> dict[str, Any]:
    """Return the attributes of a dataclass that are no fields of it."""
    named = {field.name for field in fields(x)}
    return {name: held for name, held in own_attributes(x).items() if name not in named}


def _in_dict(x: Any) -> dict[str, Any]:
    return {
        name: held
        for name, held in getattr(x, "__dict__", {}).items()
        if not isinstance(_of_class(type(x), name), cached_property)
        and type(held) is not KeptMethod
    }


def _slots(x: Any) -> Iterator[tuple[str, MemberDescriptorType]]:
    """The slots of an object that are set."""
    for part in type(x).__mro__:
        for name, slot in vars(part).items() if "__slots__" in vars(part) else ():
            if isinstance(slot, MemberDescriptorType):
                with suppress(AttributeError):  # it is not set
                    slot.__get__(x)
                    yield name, slot


def _of_class(kind: type, name: str) -> Any:
    return next((vars(part)[name] for part in kind.__mro__ if name in vars(part)), None)


def _with_fields(tree: Any, before: dict[str, Any], named: dict[str, Any], path: str) -> Any:
    """Return a copy of a dataclass with these fields. Its class is not called."""
    kind = type(tree)
    base: Any = kind
    while base.__flags__ & IS_MADE_BY_PYTHON:
        base = base.__base__
    made = base.__new__(kind)
    if hasattr(made, "__dict__"):
        made.__dict__.update(_in_dict(tree))
    for _, slot in _slots(tree):
        slot.__set__(made, slot.__get__(tree))
    for name, x in named.items():
        if x is before[name]:
            continue
        try:
            object.__setattr__(made, name, x)  # of a frozen one, too
        except AttributeError:
            if not _has_same_leaves(x, before[name]):
                raise FieldError(f"{path}.{name}", kind.__name__) from None
    return made


def _has_same_leaves(x: Any, y: Any) -> bool:
    found: tuple[list[Any], list[Any]] = ([], [])
    for tree, leaves in zip((x, y), found, strict=True):
        visit(tree, lambda leaf, _, leaves=leaves: leaves.append(leaf))  # type: ignore[misc]
    return len(found[0]) == len(found[1]) and all(map(operator.is_, *found))
