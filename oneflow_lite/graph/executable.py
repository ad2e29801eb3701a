"""Executables: programs that are lowered to kernel calls, ready to run any number of times.

Program ─► each operation planned once, memory laid out ─► Executable ─► run, run, run
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Executable
from oneflow_lite.graph import made
from oneflow_lite.graph.effects import Draws, word_places
from oneflow_lite.graph.ir import Function, Op, Scalar, Slot, Type, Value


def check_lanes(name: str, lanes: int) -> None:
    """Raise TypeError or ValueError where an option of ``name`` is no number of compute lanes."""
    if type(lanes) is not int:
        raise TypeError(f"[{name}] lanes: expected an integer, got {lanes!r}")
    if not 1 <= lanes <= _C.COMPUTE_LANES:
        raise ValueError(f"[{name}] lanes: expected 1 to {_C.COMPUTE_LANES}, got {lanes}")


def check_addto(name: str, addto: bool) -> None:
    """Raise TypeError where an option of ``name`` does not say whether products add to sums."""
    if not isinstance(addto, bool | np.bool_):
        raise TypeError(f"[{name}] addto: expected True or False, got {addto!r}")


def check_cuda_graph(name: str, cuda_graph: bool | None) -> None:
    """Raise TypeError where an option of ``name`` is no choice about graphs of devices."""
    if cuda_graph is not None and type(cuda_graph) is not bool:
        raise TypeError(f"[{name}] cuda_graph: expected True, False or None, got {cuda_graph!r}")


def check_ways(
    name: str, mode: str, release: str, lanes: int, addto: bool, cuda_graph: bool | None
) -> None:
    """Raise TypeError or ValueError where options of ``name`` are no way to run a program."""
    for option, given in (("mode", mode), ("release", release)):
        if not isinstance(given, str):
            raise TypeError(f"[{name}] {option}: expected a string, got {given!r}")
    check_lanes(name, lanes)
    check_addto(name, addto)
    check_cuda_graph(name, cuda_graph)


def lowered(
    function: Function,
    name: str,
    mode: str = "auto",
    release: str = "plan",
    lanes: int = 1,
    addto: bool = False,
    cuda_graph: bool | None = None,
    groups: Sequence[int] = (),
    places: Sequence[int] = (),
) -> Executable:
    """Return a function that is known to be sound, ready to run.

    ``groups`` has the number of each operation's group: those of one may run as one, those of -1
    run by themselves. Empty: what the machine would run as one does. ``places`` has the place of
    each operation in the order of issue, by which failures are told; empty: the function's order.
    """
    check_ways("compile", mode, release, lanes, addto, cuda_graph)
    bound = (*function.captures, *function.constants)
    if any(capture.tensor is None for capture in bound):
        raise ValueError(f"[compile] {name}: a captured tensor is not known")
    draws = Draws(function)
    rows = _Rows(function, places)
    run = _C.compile_program(
        name,
        [function.names.get(value, str(k)) for k, value in enumerate(function.params)],
        rows.inputs,
        [capture.tensor for capture in bound],
        *rows.parts,
        len(rows.hidden),
        draws or None,
        mode,
        release,
        lanes,
        addto,
        cuda_graph,
        _of_steps(groups, function) if groups else [],
    )
    run.name, run.function = name, function
    made.note(run)
    return run


def report_without_run(function: Function, groups: Sequence[int]) -> dict[str, Any]:
    """Return the report of a function that is known to be sound, as ``lowered`` would make it.

    Nothing is compiled for devices, and the captured tensors need not be known.
    """
    bound = (x.value for x in (*function.captures, *function.constants))
    given = replace(function, params=(*function.params, *bound), captures=(), constants=())
    rows = _Rows(given)
    run = _C.compile_program(
        function.name,
        [],
        rows.inputs,
        [],
        *rows.parts,
        len(rows.hidden),
        None,
        "naive",
        "plan",
        1,
        False,
        None,
        _of_steps(groups, function),
    )
    return run.report()


def _of_steps(groups: Sequence[int], function: Function) -> list[int]:
    """Return the groups of the operations that are steps of a run: of all but sources."""
    ops = zip(groups, function.ops, strict=True)
    return [group for group, op in ops if op.call.kind != "source"]


def units_of(function: Function) -> list[int]:
    """Return, for each operation, the number of what would run as one with it; -1: it is alone."""
    rows = _Rows(function)
    units = iter(_C.program_units(rows.inputs, *rows.parts))
    return [-1 if op.call.kind == "source" else next(units) for op in function.ops]


class _Rows:
    """A function as the rows that are lowered. Sources of random numbers are hidden parameters."""

    def __init__(self, function: Function, places: Sequence[int] = ()) -> None:
        sources = [op for op in function.ops if op.call.kind == "source"]
        self.hidden = [value for op in sources for value in op.results]
        bound = (x.value for x in (*function.captures, *function.constants))
        numbers: dict[Value, int] = {}
        for value in (*function.params, *self.hidden, *bound):
            numbers[value] = len(numbers)
        self.inputs = [_parts(value.type) for value in numbers]
        slots = {slot: k for k, slot in enumerate(function.slots)}
        operations = _operations(function, places, numbers, slots)
        self.parts = (
            len(function.constants),
            len(numbers),
            operations,
            [numbers[value] for value in function.results],
            [(numbers[target], numbers[last]) for target, last in function.assigns],
            [(*_slot(slot, slots), function.names.get(slot, str(k))) for slot, k in slots.items()],
        )


def _operations(
    function: Function,
    places: Sequence[int],
    numbers: dict[Value, int],
    slots: dict[Slot, int],
) -> list[tuple[Any, ...]]:
    """Return what runs; sources of random numbers are asked before."""
    rows, draws = [], 0
    for place, op in zip(places or range(len(function.ops)), function.ops, strict=True):
        if op.call.kind == "source":
            continue
        words = []
        if op.object is not None and op.object.kind == "philox":
            words = word_places(draws)
            draws += 1
        rows.append((*_operation(op, numbers, slots), words, op.lane, place))
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
