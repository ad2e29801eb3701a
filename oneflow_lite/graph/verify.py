"""Checks of programs: each value is made once, before it is used, and has the type it should."""

from collections.abc import Mapping
from typing import Any

from oneflow_lite import _C
from oneflow_lite.graph.arguments.slots import ARITHMETIC
from oneflow_lite.graph.calls import verify_core
from oneflow_lite.graph.effects import is_token, missing_effect, missing_object
from oneflow_lite.graph.ir import Function, GroupCall, Op, Scalar, Slot, Type, Value
from oneflow_lite.graph.primitives import verify_call, verify_primitive
from oneflow_lite.graph.text import type_text


def place_of(op: Op) -> str:
    """Return the operation and its line, for errors."""
    line = f" ({op.site[0]}:{op.site[1]})" if op.site else ""
    return f"[{op.name}]{line}"


def verify(function: Function, functions: Mapping[str, Function]) -> None:
    """Raise ValueError unless values are defined before use, once, and types are right.

    ``functions`` are those of the program, which calls may name.
    """
    known: set[Value] = set()
    for value in function.inputs():
        if value in known:
            raise ValueError(f"[{function.name}] an input stands there twice")
        known.add(value)
    for op in function.ops:
        for value in op.values():
            if value not in known:
                raise ValueError(f"{place_of(op)} uses a value that is not made before it")
        for value in op.results:
            if value in known:
                raise ValueError(f"{place_of(op)} makes a value that is there already")
            known.add(value)
    _verify_effects(function)
    _verify_lanes(function)
    inputs = {*function.params, *(bound.value for bound in function.captures)}
    targets = [target for target, _ in function.assigns]
    if len(set(targets)) < len(targets):
        raise ValueError(f"[{function.name}] assigns to the same value twice")
    for target, last in function.assigns:
        if target not in inputs:
            raise ValueError(f"[{function.name}] assigns to what is no parameter and no capture")
        if last not in known or last.type != target.type:
            raise ValueError(f"[{function.name}] assigns a value of another type, or none")
    for value in function.results:
        if value not in known:
            raise ValueError(f"[{function.name}] returns a value that nothing makes")
    _verify_slots(function)
    for op in function.ops:
        if isinstance(op.call, GroupCall):
            verify_call(op, function, functions)
    if function.primitive:
        verify_primitive(function)
    _verify_types(function)


def _verify_effects(function: Function) -> None:
    """Operations name objects of the function, and what has effects says so."""
    for op in function.ops:
        wanted = missing_object(op)
        if wanted:
            raise ValueError(f"{place_of(op)} uses no {wanted}")
        if op.object is not None and op.object not in function.objects:
            raise ValueError(f"{place_of(op)} uses an object that is not of the function")
        for token in op.effects:
            if not is_token(token):
                raise ValueError(f"{place_of(op)} has the effect {token}, which there is not")
        missing = missing_effect(op)
        if missing:
            raise ValueError(f"{place_of(op)} of kind {op.call.kind} has no effect {missing}")


def _verify_lanes(function: Function) -> None:
    for op in function.ops:
        if op.lane is not None and not 0 <= op.lane < _C.COMPUTE_LANES:
            raise ValueError(
                f"{place_of(op)} is on lane {op.lane}, expected 0 to {_C.COMPUTE_LANES - 1}"
            )


def _verify_slots(function: Function) -> None:
    known: set[Slot] = set()
    are_given = True
    for slot in function.slots:
        are_given = are_given and slot.operation is None
        used = [x for x in slot.operands if isinstance(x, Slot)]
        is_sound = slot.operation in ARITHMETIC if used else are_given and not slot.operands
        if slot.kind not in (float, complex) or not is_sound or not known.issuperset(used):
            raise ValueError(f"[{function.name}] a number is computed from what is not there")
        known.add(slot)
    for op in function.ops:
        for x in op.operands:
            if isinstance(x, Scalar) and isinstance(x.value, Slot) and x.value not in known:
                raise ValueError(f"{place_of(op)} uses a number that the function does not have")


def _verify_types(function: Function) -> None:
    """Make every call again on tensors without memory, and compare what comes out."""
    whole: dict[Value, Value] = {value: value for value in function.inputs()}
    for op in function.ops:
        is_call = isinstance(op.call, GroupCall)  # whose types are looked at with its function
        expected = [value.type for value in op.results] if is_call else _expected(op)
        targets = iter(op.targets)
        for k, value in enumerate(op.results):
            is_written = op.call.targets >> k & 1
            wanted = whole[next(targets)].type if is_written else expected[k]
            if value.type != wanted:
                raise ValueError(
                    f"{place_of(op)} makes {type_text(wanted)}, the program says "
                    f"{type_text(value.type)}"
                )
            whole[value] = whole[op.values()[0]] if op.is_view else value


def _expected(op: Op) -> list[Type]:
    """Return the types of the results that an operation has; errors name it and its line."""
    try:
        expected = infer(op)
        verify_core(op)
    except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError) as error:
        raise ValueError(f"{place_of(op)} cannot be made again: {error}") from error
    if len(expected) != len(op.results):
        raise ValueError(
            f"{place_of(op)} makes {len(expected)} results, the program has {len(op.results)}"
        )
    return expected


def infer(op: Op) -> list[Type]:
    """Return the types of the results of a call on operands of their types; of a target its own."""
    recorder = _C.Recorder(op.name)
    with recorder:
        operands = [
            _number(x) if isinstance(x, Scalar) else _made(recorder, x) for x in op.operands
        ]
        results = op.call.replay(operands, [_made(recorder, target) for target in op.targets])
        numbers = [recorder.value_of(x) for x in results]
    values = recorder.values()
    return [Type(*values[number][1:5]) for number in numbers]


def _number(scalar: Scalar) -> Any:
    return scalar.value.kind(1) if isinstance(scalar.value, Slot) else scalar.value


def _made(recorder: _C.Recorder, value: Value) -> _C.Tensor:
    given = value.type
    return recorder.parameter_of(given.dtype, given.shape, given.strides, given.device)
