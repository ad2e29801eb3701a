"""What programs are made of, by type: passes of users may put anything in its place."""

from collections.abc import Iterable, Mapping
from typing import Any

from oneflow_lite._C import OpCall
from oneflow_lite.graph.ir import (
    Bound,
    Function,
    GroupCall,
    HostObject,
    Op,
    Scalar,
    Slot,
    Value,
)
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.sites import at
from oneflow_lite.graph.text import type_text

Types = type | tuple[type, ...]
_OF_FUNCTIONS: dict[str, Types] = {
    "params": Value,
    "captures": Bound,
    "constants": Bound,
    "ops": Op,
    "results": Value,
    "slots": Slot,
    "objects": HostObject,
}
_OF_OPS: dict[str, Types] = {
    "operands": (Value, Scalar),
    "targets": Value,
    "results": Value,
    "effects": str,
}


def check_parts(program: Program) -> None:
    """Raise TypeError where a part of a program is not of the type that it should be."""
    for name, function in program.functions.items():
        _check(f"the function {name}", function, Function)
        for field, kinds in _OF_FUNCTIONS.items():
            _check_all(f"{field} of {name}", getattr(function, field), kinds)
        for field in ("names", "extents"):
            _check(f"{field} of {name}", getattr(function, field), Mapping)
        _check(f"assigns of {name}", function.assigns, (tuple, list))
        for pair in function.assigns:
            _check_all(f"an assign of {name}", pair, Value)
            if len(pair) != 2:
                raise TypeError(f"an assign of {name}: expected two values, got {len(pair)}")
        for op in function.ops:
            _check_op(op, name)


def check_ends(made: Function, function: Function) -> None:
    """Raise ValueError where callers of a function could not call what was made of it."""
    given, wanted = ([x.type for x in each.params] for each in (made, function))
    if given != wanted:
        texts = [", ".join(map(type_text, types)) or "none" for types in (wanted, given)]
        raise ValueError(f"the parameters of {function.name} are {texts[0]}, and became {texts[1]}")
    if len(made.results) != len(function.results):
        raise ValueError(
            f"{function.name} returns {len(function.results)} values, and then {len(made.results)}"
        )


def _check_op(op: Op, function: str) -> None:
    place = f"an operation of {function}{at(op.site)}"
    _check(f"call of {place}", op.call, (OpCall, GroupCall))
    _check(f"lane of {place}", op.lane, (int, type(None)))
    _check(f"object of {place}", op.object, (HostObject, type(None)))
    for field, kinds in _OF_OPS.items():
        _check_all(f"{field} of {place}", getattr(op, field), kinds)


def _check_all(what: str, given: Any, kinds: Types) -> None:
    _check(what, given, (tuple, list))
    for each in given:
        _check(what, each, kinds)


def _check(what: str, given: Any, kinds: Types) -> None:
    if not isinstance(given, kinds):
        wanted = _names(kinds if isinstance(kinds, tuple) else (kinds,))
        raise TypeError(f"{what}: expected {wanted}, got {type(given).__name__}")


def _names(kinds: Iterable[type]) -> str:
    return " or ".join("None" if kind is type(None) else kind.__name__ for kind in kinds)
