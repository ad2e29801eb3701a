"""Containers among the arguments of a traced function, and whether the function changes them.

It gets containers of its own, so the caller would not see it: writes to tensors are a part of a
program, other changes are not.

    before the function   each container's items
    after it              the same ones, at the same places? else the path of the first that differs

Attributes of a dataclass that are no fields are the caller's own objects: whether they are others
is looked at, what they hold is not.
"""

from collections.abc import Iterator
from typing import Any

from oneflow_lite.graph.trees import MAPPINGS, fields_of, has_fields, own_attributes

_WAY_OUT = (
    "The caller's own is not changed by a program: return the new value, or write into the tensor "
    "that was there before"
)
_WAY_OUT_OF_MEMOS = (
    "; or, where the value is computed from the fields, make it a functools.cached_property"
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
            self._known.append((path, tree, items | _attributes(tree)))
        for step, x in items.items():
            self.add(x, path + step)

    def changed(self) -> tuple[str, str] | None:
        """Return the path of an item that is not as it was, and a sentence about that."""
        for path, tree, before in self._known:
            now = (_items(tree) or {}) | _attributes(tree)
            for step, what in _differences(before, now):
                more = _WAY_OUT_OF_MEMOS if has_fields(tree) else ""
                return path + step, f"{what} after the function. {_WAY_OUT}{more}"
        return None


def _items(tree: Any) -> Items | None:
    """Return what a container holds; None: it is no container."""
    if type(tree) in MAPPINGS:
        return {f"[{key!r}]": x for key, x in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return {f".{name}": x for name, x in zip(tree._fields, tree, strict=True)}
    if type(tree) in (list, tuple):
        return {f"[{i}]": x for i, x in enumerate(tree)}
    if has_fields(tree):
        return {f".{name}": x for name, x in fields_of(tree).items()}
    return None


def _attributes(tree: Any) -> Items:
    """Return the attributes of a dataclass."""
    if not has_fields(tree):
        return {}
    return {f".{name}": x for name, x in own_attributes(tree).items()}


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
