"""A program run one operation at a time by the eager path: slow, and plainly right.

No memory is shared between values: an operation that writes gets a copy of what it writes to. What
other ways to run a program give has to be equal, bit for bit.
"""

from collections.abc import Sequence
from typing import Any

from oneflow_lite._C import OpCall, Tensor
from oneflow_lite.graph.arguments.sharing import memories, sharing_with
from oneflow_lite.graph.arguments.slots import computed
from oneflow_lite.graph.copies import assign, copied, type_of
from oneflow_lite.graph.effects import Draws, philox_of
from oneflow_lite.graph.ir import Function, Op, Scalar, Slot, Type, Value
from oneflow_lite.graph.text import type_text


def run(
    function: Function, arguments: Sequence[Tensor], numbers: Sequence[float | complex] = ()
) -> list[Tensor]:
    """Return the results of the function on these arguments, and write to what it assigns.

    Parameters
    ----------
    arguments
        a tensor for each parameter, of its dtype, shape, strides and device.
    numbers
        one for each slot that the caller gives.

    Raises
    ------
    ValueError
        There are more or fewer arguments than parameters, or one has another type; one
        that is written to has memory in common with another one, or with a captured tensor.
    """
    tensors: dict[Value, Tensor] = {}
    for bound in (*function.captures, *function.constants):
        if bound.tensor is None:
            raise ValueError(f"[{function.name}] a captured tensor is not known")
        tensors[bound.value] = bound.tensor
    _check_types(function, arguments)
    tensors |= zip(function.params, arguments, strict=True)
    _check_overlaps(function, tensors)
    for bound in function.constants:
        tensors[bound.value] = copied(tensors[bound.value], bound.value.type)
    views: dict[Value, Op] = {}
    values = computed(function.slots, numbers)
    places = iter(Draws(function).places())
    for op in function.ops:
        call = op.call
        if op.object is not None and op.object.kind == "philox":
            call = philox_of(call, *next(places))
        _run(op, call, tensors, views, values)
        if op.is_view:
            views[op.results[0]] = op
    sources = _sources(function, tensors)
    for (target, _), source in zip(function.assigns, sources, strict=True):
        assign(tensors[target], source)
    assigned = {last: target for target, last in function.assigns}
    return [_result(value, tensors, views, assigned) for value in function.results]


def _check_types(function: Function, arguments: Sequence[Tensor]) -> None:
    name = function.name
    if len(arguments) != len(function.params):
        raise ValueError(
            f"[{name}] expected {len(function.params)} arguments, got {len(arguments)}"
        )
    for k, (value, x) in enumerate(zip(function.params, arguments, strict=True)):
        given = type_of(x)
        if not _is_of(given, value.type):
            raise ValueError(
                f"[{name}] {_name(function, k)}: expected {type_text(value.type)}, "
                f"got {type_text(given)}"
            )


def _check_overlaps(function: Function, tensors: dict[Value, Tensor]) -> None:
    written = {target for target, _ in function.assigns}
    if not written:
        return
    named = {value: _name(function, k) for k, value in enumerate(function.params)}
    named |= {bound.value: "a captured tensor" for bound in function.captures}
    values = list(named)
    for numbers in memories([tensors[value] for value in values]):
        sharing = [values[k] for k in numbers]
        target = next((value for value in sharing if value in written), None)
        if target is None or len(sharing) == 1:
            continue
        other = next(value for value in sharing if value is not target)
        raise ValueError(
            f"[{function.name}] {named[target]} is written to, and {named[other]} has memory in "
            "common with it"
        )


def _name(function: Function, number: int) -> str:
    """Return how errors name a parameter."""
    name = function.names.get(function.params[number])
    return f"argument {number}" if name is None else f"argument {name}"


def _is_of(given: Type, wanted: Type) -> bool:
    """Elements are of the same type, and at the same distances."""
    if (given.dtype, given.shape, given.device) != (wanted.dtype, wanted.shape, wanted.device):
        return False
    steps = zip(given.shape, given.strides, wanted.strides, strict=True)
    return given.size == 0 or all(n == 1 or one == other for n, one, other in steps)


def _run(
    op: Op,
    call: OpCall,
    tensors: dict[Value, Tensor],
    views: dict[Value, Op],
    numbers: dict[Slot, Any],
) -> None:
    if call.kind == "source":
        drawn = call.object.call()
        tensors |= zip(op.results, () if drawn is None else (drawn,), strict=True)
        return
    written = [_writable(target, tensors, views) for target in op.targets]
    operands = [tensors[x] if isinstance(x, Value) else _number(x, numbers) for x in op.operands]
    made = call.replay(operands, [place for place, _ in written])
    wholes = iter(written)
    for k, value in enumerate(op.results):
        tensors[value] = next(wholes)[1] if call.targets >> k & 1 else made[k]


def _number(scalar: Scalar, numbers: dict[Slot, Any]) -> Any:
    return numbers[scalar.value] if isinstance(scalar.value, Slot) else scalar.value


def _writable(
    target: Value, tensors: dict[Value, Tensor], views: dict[Value, Op]
) -> tuple[Tensor, Tensor]:
    """Return a place to write to, in a copy of the whole that it is a view of; and the copy."""
    path = []
    while target in views:
        path.append(views[target])
        (target,) = views[target].values()
    whole = place = copied(tensors[target], target.type)
    for view in reversed(path):
        (place,) = view.call.replay([place])
    return place, whole


def _sources(function: Function, tensors: dict[Value, Tensor]) -> list[Tensor]:
    """Return what is assigned; copies, where an assignment may overwrite it before."""
    sources = [tensors[last] for _, last in function.assigns]
    targets = [tensors[target] for target, _ in function.assigns]
    overwritten = set(sharing_with(sources, targets))
    return [copied(x, type_of(x)) if k in overwritten else x for k, x in enumerate(sources)]


def _result(
    value: Value,
    tensors: dict[Value, Tensor],
    views: dict[Value, Op],
    assigned: dict[Value, Value],
) -> Tensor:
    """Return a result; where it is what was assigned, or a view of it, a view of the target."""
    path = []
    while value in views:
        path.append(views[value])
        (value,) = views[value].values()
    x = tensors[assigned.get(value, value)]
    for view in reversed(path):
        (x,) = view.call.replay([x])
    return x
