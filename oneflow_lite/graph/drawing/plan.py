"""Where the values of a program lie, as its picture shows it.

executable ─► its report ──────────────────────────► Plan ─► rectangles
program    ─► lowered as it is, without a run ─► report ─┘
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oneflow_lite.graph.executable import report_without_run
from oneflow_lite.graph.ir import Function, Value
from oneflow_lite.graph.primitives import inlined
from oneflow_lite.graph.verify import verify


class Plan(NamedTuple):
    """The report that has the bases of a run, and the first value in each base.

    ``what`` is the name of its pictures. ``reason`` says why there is none; the report is empty.
    """

    report: Mapping[str, Any]
    values: Mapping[int, str]
    what: str = "memory"
    reason: str = ""


def steps_of(function: Function) -> list[int]:
    """Return the operations that are steps of a run; sources are asked before."""
    return [k for k, op in enumerate(function.ops) if op.call.kind != "source"]


def plan_of_run(function: Function, report: Mapping[str, Any]) -> Plan:
    """Return the plan of an executable."""
    return Plan(report, _values(function, function, report))


def plan_of(functions: Mapping[str, Function]) -> Plan:
    """Return the plan of a program as it stands: in its order, and with the groups that it has."""
    what = "memory of these operations"
    main = functions["main"]
    if main.extents:
        names = ", ".join(x for x in main.extents.values() if x.isidentifier())
        return Plan({}, {}, what, f"not planned: these extents are not known: {names}")
    try:
        for function in functions.values():
            verify(function, functions)
        flat, groups = inlined(main, functions)
        report = report_without_run(flat, groups)
    except (OverflowError, RuntimeError, TypeError, ValueError) as error:
        return Plan({}, {}, what, f"not planned: {error}")
    return Plan(report, _values(main, flat, report), what)


def _values(main: Function, flat: Function, report: Mapping[str, Any]) -> dict[int, str]:
    """Return the name of the value that is in each base first, with its number in ``main``."""
    numbers: dict[Value, int] = {value: k for k, value in enumerate(main.inputs())}
    for op in main.ops:
        for value in op.results:
            numbers[value] = len(numbers)
    places: Sequence[int] = steps_of(flat)
    found: dict[int, str] = {}
    for row in report["memory"]["operations"]:
        for base in row["writes"]:
            if row["operation"] < 0:
                found.setdefault(base, row["step"])
                continue
            results = flat.ops[places[row["operation"]]].results
            name = f"%{numbers[results[0]]} " if results and results[0] in numbers else ""
            found.setdefault(base, f"{name}{row['step']}")
    return found
