"""Executables: programs that are lowered to kernel calls, ready to run any number of times.

Program ─► each operation planned once, memory laid out ─► Executable ─► run, run, run
"""

from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Executable
from oneflow_lite.graph import made
from oneflow_lite.graph.effects import Draws, word_places
from oneflow_lite.graph.ir import Function, Op, Scalar, Slot, Type, Value
from oneflow_lite.graph.ordering import ordered
from oneflow_lite.graph.program import Program


def compile(
    program: Program,
    mode: str = "auto",
    release: str = "plan",
    lanes: int = 1,
    addto: bool = False,
) -> Executable:
    """Return a traced program ready to run, as ``flow.graph.compile`` does, whose text has more."""
    program.verify()
    run = lowered(program.main, program.name, mode, release, lanes, addto)
    run.program = program
    return run


def check_lanes(name: str, lanes: int) -> None:
    """Raise TypeError or ValueError where an option of ``name`` is no number of compute lanes."""
    if type(lanes) is not int:
        raise TypeError(f"[{name}] lanes: expected an integer, got {lanes!r}")
    if not 1 <= lanes <= _C.COMPUTE_LANES:
        raise ValueError(f"[{name}] lanes: expected 1 to {_C.COMPUTE_LANES}, got {lanes}")


def lowered(
    function: Function,
    name: str,
    mode: str = "auto",
    release: str = "plan",
    lanes: int = 1,
    addto: bool = False,
) -> Executable:
    """Return a function that is known to be sound, ready to run."""
    check_lanes("compile", lanes)
    if mode != "naive":
        function = ordered(function)
    bound = (*function.captures, *function.constants)
    if any(capture.tensor is None for capture in bound):
        raise ValueError(f"[compile] {name}: a captured tensor is not known")
    draws = Draws(function)
    sources = [op for op in function.ops if op.call.kind == "source"]
    hidden = [value for op in sources for value in op.results]
    numbers: dict[Value, int] = {}
    for value in (*function.params, *hidden, *(x.value for x in bound)):
        numbers[value] = len(numbers)
    inputs = [_parts(value.type) for value in numbers]
    slots = {slot: k for k, slot in enumerate(function.slots)}
    operations = _operations(function, numbers, slots)
    run = _C.compile_program(
        name,
        [function.names.get(value, str(k)) for k, value in enumerate(function.params)],
        inputs,
        [capture.tensor for capture in bound],
        len(function.constants),
        len(numbers),
        operations,
        [numbers[value] for value in function.results],
        [(numbers[target], numbers[last]) for target, last in function.assigns],
        [(*_slot(slot, slots), function.names.get(slot, str(k))) for slot, k in slots.items()],
        len(hidden),
        draws or None,
        mode,
        release,
        lanes,
        addto,
    )
    run.name, run.function = name, function
    made.note(run)
    return run


def _operations(
    function: Function, numbers: dict[Value, int], slots: dict[Slot, int]
) -> list[tuple[Any, ...]]:
    """Return what runs; sources of random numbers are asked before."""
    rows, draws = [], 0
    for op in function.ops:
        if op.call.kind == "source":
            continue
        words = []
        if op.object is not None and op.object.kind == "philox":
            words = word_places(draws)
            draws += 1
        rows.append((*_operation(op, numbers, slots), words, op.lane))
    return rows


def _slot(slot: Slot, slots: dict[Slot, int]) -> tuple[Any, ...]:
    operands = tuple((slots[x],) if isinstance(x, Slot) else x for x in slot.operands)
    return slot.kind is complex, slot.operation, operands, slot.site


def _operation(op: Op, numbers: dict[Value, int], slots: dict[Slot, int]) -> tuple[Any, ...]:
    def operand(x: Value | Scalar) -> Any:
        if isinstance(x, Value):
            return numbers[x]
        return (None, slots[x.value]) if isinstance(x.value, Slot) else (x.value,)

    operands = tuple(map(operand, op.operands))
    targets = [numbers[target] for target in op.targets]
    for value in op.results:
        numbers[value] = len(numbers)
    return op.call, operands, targets, [numbers[value] for value in op.results], op.site


def _parts(given: Type) -> tuple[Any, ...]:
    return given.dtype, given.shape, given.strides, given.device
