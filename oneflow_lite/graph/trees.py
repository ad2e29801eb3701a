"""Arguments and results as trees of dict, list, tuple, None and dataclasses."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any


class Leaf:
    """No container, whatever else it is."""

    __slots__ = ()


def mapped(tree: Any, function: Callable[[Any, str], Any], path: str = "") -> Any:
    """Return the tree with ``function(leaf, path)`` in the place of each leaf.

    Containers are new ones, so that the function may change them. A path is what one writes behind
    the tree's name to get at the leaf: ``["w"][0].bias``.
    """
    if tree is None:
        return None
    if type(tree) is dict:
        return {key: mapped(x, function, f"{path}[{key!r}]") for key, x in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        parts = zip(tree._fields, tree, strict=True)
        return type(tree)(*(mapped(x, function, f"{path}.{name}") for name, x in parts))
    if type(tree) in (list, tuple):
        return type(tree)(mapped(x, function, f"{path}[{i}]") for i, x in enumerate(tree))
    if is_dataclass(tree) and not isinstance(tree, type | Leaf):
        names = [field.name for field in fields(tree) if field.init]
        named = {name: mapped(getattr(tree, name), function, f"{path}.{name}") for name in names}
        return replace(tree, **named)
    return function(tree, path)
