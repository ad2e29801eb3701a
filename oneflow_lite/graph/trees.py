"""Arguments and results as trees of dict, list, tuple, None and dataclasses."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

MOST_LEVELS = 100


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
        names = [field.name for field in fields(tree) if field.init]
        named = {name: below(getattr(tree, name), f".{name}") for name in names}
        return replace(tree, **named)
    return function(tree, path)
