"""Arguments and results as trees of dict, list, tuple, None and dataclasses."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from types import MemberDescriptorType
from typing import Any

MOST_LEVELS = 100
IS_MADE_BY_PYTHON = 1 << 9  # Py_TPFLAGS_HEAPTYPE


class TooDeepError(ValueError):
    """Containers stand in containers without an end."""

    def __init__(self, path: str) -> None:
        where = f"{path[:40]}...: " if path else ""
        super().__init__(
            f"{where}expected at most {MOST_LEVELS} levels of containers: does one contain itself?"
        )


class Leaf:
    """No container, whatever else it is."""

    __slots__ = ()


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

    if type(tree) is dict:
        return {key: below(x, f"[{key!r}]") for key, x in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        parts = zip(tree._fields, tree, strict=True)
        return type(tree)(*(below(x, f".{name}") for name, x in parts))
    if type(tree) in (list, tuple):
        return type(tree)(below(x, f"[{i}]") for i, x in enumerate(tree))
    if is_dataclass(tree) and not isinstance(tree, type | Leaf):
        named = {name: below(x, f".{name}") for name, x in fields_of(tree).items()}
        return _with_fields(tree, named)
    return function(tree, path)


def fields_of(tree: Any) -> dict[str, Any]:
    """Return the fields of a dataclass that are set, also those that are no arguments of it."""
    names = (field.name for field in fields(tree))
    return {name: getattr(tree, name) for name in names if hasattr(tree, name)}


def _with_fields(tree: Any, named: dict[str, Any]) -> Any:
    """Return a copy of a dataclass with these fields. Nothing of its class is called."""
    kind = type(tree)
    base: Any = kind
    while base.__flags__ & IS_MADE_BY_PYTHON:
        base = base.__base__
    made = base.__new__(kind)
    others = dict(getattr(tree, "__dict__", ()))
    for part in kind.__mro__:
        for name, slot in vars(part).items() if "__slots__" in vars(part) else ():
            if isinstance(slot, MemberDescriptorType) and hasattr(tree, name):
                others[name] = getattr(tree, name)
    for name, x in (others | named).items():
        object.__setattr__(made, name, x)  # of a frozen one, too
    return made
