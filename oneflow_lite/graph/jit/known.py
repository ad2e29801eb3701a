"""What KnownCalls is told of a call that has run, so that it finds the next one of its kind."""

from collections.abc import Collection, Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np

from oneflow_lite._C import Executable, Tensor
from oneflow_lite.graph.jit.keys import WRITTEN_KINDS
from oneflow_lite.graph.tracing import NumberResult, Result
from oneflow_lite.graph.trees import MAPPINGS, fields_of, has_fields, mapped, others_of, visit

Pattern = tuple[Any, ...]


class UnknownKindError(Exception):
    """A call that is always looked up by its key."""


def patterns_of(
    args: Sequence[Any],
    kwargs: dict[str, Any],
    static: Collection[int | str],
    static_numbers: Collection[int],
) -> tuple[Pattern, Pattern]:
    """Return what a call's arguments must be, as the key has it.

    Raises
    ------
    UnknownKindError
        Among them is an array or a dict of a derived class, or a dataclass with a field that is not
        set, or with an attribute that is no field; or a value whose text is a part of the key.
    """
    tensors: dict[int, int] = {}
    numbers = 0

    def pattern(x: Any, is_static: bool) -> Pattern:
        nonlocal numbers
        kind = type(x)
        if not is_static:
            if kind is Tensor:
                return "tensor", tensors.setdefault(id(x), len(tensors)), x
            if kind is float or kind is complex:
                numbers += 1
                return ("value", x) if numbers - 1 in static_numbers else ("number", kind)
            if kind is np.ndarray:
                return "array", tensors.setdefault(id(x), len(tensors)), x.dtype, x.shape
            if isinstance(x, np.ndarray):
                raise UnknownKindError
        if kind in MAPPINGS and kind is not dict:
            raise UnknownKindError
        if _has_text(x) or (kind is dict and any(map(_has_text, x))):
            raise UnknownKindError
        if kind is dict:
            return "dict", tuple(x), tuple(pattern(item, is_static) for item in x.values())
        if isinstance(x, tuple) and hasattr(x, "_fields"):
            names = list(x._fields)
        elif kind is list or kind is tuple:
            return "sequence", kind, tuple(pattern(item, is_static) for item in x)
        elif has_fields(x):
            names = [field.name for field in fields(x)]
            if len(fields_of(x)) < len(names) or others_of(x):
                raise UnknownKindError
        else:
            return "value", x
        items = tuple(pattern(getattr(x, name), is_static) for name in names)
        return "fields", kind, tuple(names), items

    places = tuple(pattern(x, i in static) for i, x in enumerate(args))
    named = tuple(pattern(x, name in static) for name, x in kwargs.items())
    return ("sequence", tuple, places), ("dict", tuple(kwargs), named)


def _has_text(x: Any) -> bool:
    """Tell whether the text of a value is a part of the key; KnownCalls has that of ranges."""
    return isinstance(x, WRITTEN_KINDS) and type(x) is not range


def arranger_of(tree: Any, run: Executable) -> tuple[Any, bool]:
    """Return how results are arranged: the number of the only one, or a function of their list.

    Also returns whether the function takes the numbers of the call behind the list: some of the
    results are computed from those.
    """
    if type(tree) is Result:
        return tree.number, False
    leaves: list[Any] = []
    visit(tree, lambda leaf, _: leaves.append(leaf))
    is_flat = type(tree) in (list, tuple) and leaves == list(tree)
    if any(type(leaf) is NumberResult for leaf in leaves):
        return partial(_flat_with_numbers if is_flat else _with_numbers, tree, run), True
    if is_flat and leaves == [Result(i) for i in range(len(leaves))]:
        return type(tree), False
    return partial(_arranged, tree), False


def _arranged(tree: Any, results: list[Tensor]) -> Any:
    return mapped(tree, lambda leaf, _: results[leaf.number] if type(leaf) is Result else leaf)


def _with_numbers(tree: Any, run: Executable, results: list[Tensor], *numbers: Any) -> Any:
    values = run._slots(*numbers)

    def leaf(x: Any, _: str) -> Any:
        if type(x) is Result:
            return results[x.number]
        return values[x.slot] if type(x) is NumberResult else x

    return mapped(tree, leaf)


def _flat_with_numbers(tree: Any, run: Executable, results: list[Tensor], *numbers: Any) -> Any:
    """Return the same of a list or tuple of leaves."""
    values = run._slots(*numbers)
    return type(tree)(
        [
            results[x.number]
            if type(x) is Result
            else values[x.slot]
            if type(x) is NumberResult
            else x
            for x in tree
        ]
    )
