"""Containers among the arguments of a traced function, and whether the function changes them.

It gets containers of its own, so the caller would not see it: writes to tensors are a part of a
program, other changes are not.

    before the function   each container's items
    after it              the same ones, at the same places? else the path of the first that differs
"""

from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import cached_property
from typing import Any

from oneflow_lite._C import KnownCalls
from oneflow_lite.graph.trees import Leaf, fields_of

_WAY_OUT = (
    "The caller's own is not changed by a program: return the new value, or write into the tensor "
    "that was there before"
)
_PLAIN = (bool, int, float, complex, str, bytes)
Items = dict[str, Any]  # by the steps to them


class Containers:
    """The containers in what a function gets, as they are before it is called."""

    def __init__(self) -> None:
        self._known: list[tuple[str, Any, Items]] = []

    def add(self, tree: Any, path: str) -> None:
        """Note the containers in an argument. They are made for this call, and so no rings."""
        items = _items(tree)
        if items is None:
            return
        if not isinstance(tree, tuple):
            self._known.append((path, tree, items))
        for step, x in items.items():
            self.add(x, path + step)

    def changed(self) -> tuple[str, str] | None:
        """Return the path of an item that is not as it was, and a sentence about that."""
        for path, tree, before in self._known:
            for step, what in _differences(before, _items(tree) or {}):
                return path + step, f"{what} after the function. {_WAY_OUT}"
        return None


def _items(tree: Any) -> Items | None:
    """Return what a container holds; None: it is no container."""
    if type(tree) is dict:
        return {f"[{key!r}]": x for key, x in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return {f".{name}": x for name, x in zip(tree._fields, tree, strict=True)}
    if type(tree) in (list, tuple):
        return {f"[{i}]": x for i, x in enumerate(tree)}
    if is_dataclass(tree) and not isinstance(tree, type | Leaf):
        return {f".{name}": x for name, x in (_others(tree) | fields_of(tree)).items()}
    return None


def _others(tree: Any) -> Items:
    """Return the attributes that are no fields, but for those that are kept on first use."""
    kept = {name: getattr(type(tree), name, None) for name in getattr(tree, "__dict__", ())}
    return {
        name: x
        for name, x in getattr(tree, "__dict__", {}).items()
        if not isinstance(x, KnownCalls) and not isinstance(kept[name], cached_property)
    }


def _differences(before: Items, now: Items) -> Iterator[tuple[str, str]]:
    for step, x in now.items():
        if step not in before:
            yield step, "is new"
        elif not _is_same(before[step], x):
            yield step, "is another one"
    for step in before:
        if step not in now:
            yield step, "is gone"
    if list(before) != list(now):
        yield "", "has another order"


def _is_same(x: Any, y: Any) -> bool:
    return x is y or (type(x) is type(y) and type(x) in _PLAIN and bool(x == y))
