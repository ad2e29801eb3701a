"""Primitive functions: operations that run as one, and the calls of them in a program.

main: %4 = call.fused_add_tanh(%0, %1)     inlined ─►  %3 = add(%0, %1)    group 0
                                                       %4 = tanh(%3)       group 0
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from oneflow_lite.graph.ir import Function, GroupCall, Op, Scalar, Slot, Value
from oneflow_lite.graph.sites import at

ALONE = -1  # the group of an operation that no other one runs with


def inlined(function: Function, functions: Mapping[str, Function]) -> tuple[Function, list[int]]:
    """Return a function with the bodies in the place of calls, and the group of each operation."""
    if not any(isinstance(op.call, GroupCall) for op in function.ops):
        return function, [ALONE] * len(function.ops)
    ops: list[Op] = []
    groups: list[int] = []
    known = {*function.inputs(), *(value for op in function.ops for value in op.results)}
    group = 0
    for op in function.ops:
        if isinstance(op.call, GroupCall):
            body = list(_body(op, functions[op.name], known))
            groups += [group] * len(body)
            ops += body
            group += 1
        else:
            groups.append(ALONE)
            ops.append(op)
    return replace(function, ops=tuple(ops)), groups


def _body(op: Op, function: Function, known: set[Value]) -> Iterator[Op]:
    """Return the operations of a called function on the operands of the call."""
    values = [x for x in op.operands if isinstance(x, Value)]
    numbers = [x.value for x in op.operands if isinstance(x, Scalar)]
    new = dict(zip(function.params, values, strict=True))
    new |= zip(function.results, op.results, strict=True)
    slots = dict(zip(function.slots, numbers, strict=True))
    for each in function.ops:
        for value in each.results:
            if value not in new:
                new[value] = Value(value.type) if value in known else value
                known.add(new[value])
        yield _moved(each, new, slots)


def _moved(op: Op, new: Mapping[Value, Value], slots: Mapping[Slot, Slot]) -> Op:
    """Return the operation on other values and numbers."""
    values = (*op.values(), *op.results)
    if not slots and all(new.get(value, value) is value for value in values):
        return op

    def operand(x: Value | Scalar) -> Value | Scalar:
        if isinstance(x, Value):
            return new.get(x, x)
        return Scalar(x.dtype, slots[x.value], x.weak) if x.value in slots else x

    return Op(
        op.call,
        tuple(map(operand, op.operands)),
        tuple(new.get(x, x) for x in op.targets),
        tuple(new.get(x, x) for x in op.results),
        op.site,
        op.object,
        op.effects,
        op.lane,
    )


def verify_primitive(function: Function) -> None:
    """Raise ValueError unless a primitive function only computes from its operands."""
    op = f"[{function.name}] is a primitive function, and"
    if function.captures or function.constants or function.assigns or function.objects:
        raise ValueError(f"{op} has more than parameters, operations and results")
    made = {value for each in function.ops for value in each.results}
    if len(set(function.results)) < len(function.results) or not made.issuperset(function.results):
        raise ValueError(f"{op} returns what it does not make, or the same value twice")
    if any(slot.operation is not None for slot in function.slots):
        raise ValueError(f"{op} computes numbers")
    for each in function.ops:
        if isinstance(each.call, GroupCall):
            raise ValueError(f"{op} calls the function {each.name}")
        if each.object is not None or each.effects:
            raise ValueError(f"{op} has an effect: {each.name}{at(each.site)}")


def verify_call(op: Op, caller: Function, functions: Mapping[str, Function]) -> None:
    """Raise ValueError unless the function is there, and takes and makes what the call has."""
    place = f"[{op.name}]{at(op.site)} in {caller.name}:"
    if op.name not in functions or not functions[op.name].primitive:
        raise ValueError(f"{place} the program has no primitive function of this name")
    function = functions[op.name]
    given = [x.type for x in op.operands if isinstance(x, Value)]
    if given != [value.type for value in function.params]:
        raise ValueError(f"{place} its operands are not those of the function")
    numbers = [x.value for x in op.operands if isinstance(x, Scalar)]
    kinds = [x.kind if isinstance(x, Slot) else None for x in numbers]
    if kinds != [slot.kind for slot in function.slots]:
        raise ValueError(f"{place} its numbers are not those of the function")
    if [x.type for x in op.results] != [value.type for value in function.results]:
        raise ValueError(f"{place} its results are not those of the function")
    new = dict(zip(function.params, (x for x in op.operands if isinstance(x, Value)), strict=True))
    written = written_params(function)
    targets = [new[x] for x in written if x is not None]
    bits = sum(1 << k for k, x in enumerate(written) if x is not None)
    if list(op.targets) != targets or op.call.targets != bits:
        raise ValueError(f"{place} it writes to other values than the function")


def written_params(function: Function) -> list[Value | None]:
    """Return, for each result, the parameter that it is the next version of; None: of none."""
    root: dict[Value, Value] = {}
    for op in function.ops:
        if op.is_view:
            operand = op.values()[0]
            root[op.results[0]] = root.get(operand, operand)
        targets = iter(op.targets)
        for k, value in enumerate(op.results):
            if op.call.targets >> k & 1:
                target = next(targets)
                root[value] = root.get(target, target)
    params = set(function.params)
    found = (root.get(value, value) for value in function.results)
    return [value if value in params else None for value in found]
