"""Pictures of programs in files: the suffix says which kind.

.html   pictures, the report and the program's text, on a page
.svg    the pictures
.dot    operations, groups and order, for Graphviz
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from oneflow_lite._C import Executable
from oneflow_lite.graph.drawing.dot import dot_of
from oneflow_lite.graph.drawing.lanes_view import lanes_panel
from oneflow_lite.graph.drawing.memory_view import memory_panels
from oneflow_lite.graph.drawing.page import Chapter, page_of
from oneflow_lite.graph.drawing.panel import Panel, whole
from oneflow_lite.graph.drawing.plan import Plan, plan_of, plan_of_run, steps_of
from oneflow_lite.graph.drawing.program_view import program_panel
from oneflow_lite.graph.drawing.sketch import Sketch, folded, sketch_of
from oneflow_lite.graph.ir import Function
from oneflow_lite.graph.text import text_of

SUFFIXES = (".html", ".svg", ".dot")
PathLike = str | os.PathLike[str]


class Picture(NamedTuple):
    """A program, and what is known of its executable."""

    name: str
    functions: Mapping[str, Function]
    groups: Sequence[tuple[str, Sequence[int]]]  # title, operations of main
    plan: Plan
    report: Mapping[str, Any]  # empty: it is not compiled

    def sketches(self) -> list[Sketch]:
        """Return what is drawn of each function."""
        others = (x for key, x in self.functions.items() if key != "main")
        found = [sketch_of(self.name, self.functions["main"], self.groups)]
        found += [sketch_of(f"{self.name}, function {x.name}", x) for x in others]
        return [folded(sketch) for sketch in found]

    def named_report(self) -> dict[str, Any]:
        """Return the report with names of values in the place of bases."""
        if not self.report:
            return {}
        memory = self.report["memory"]
        rows = [
            {
                **row,
                **{key: self.plan.values.get(row[key], "input") for key in ("operand", "result")},
            }
            for row in memory["in_place"]
        ]
        return {**self.report, "memory": {**memory, "in_place": rows}}

    def panels(self) -> list[Panel]:
        """Return all that is drawn."""
        found = [program_panel(sketch) for sketch in self.sketches()]
        found += memory_panels(self.plan)
        if self.report:
            found.append(lanes_panel(self.report))
        return found


def checked(op: str, path: PathLike) -> Path:
    """Return where a picture is written to; ValueError: no picture ends so."""
    try:
        found = Path(path)
    except TypeError:
        raise TypeError(f"[{op}] path: expected a path, got {type(path).__name__}") from None
    if found.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"[{op}] path: expected a file that ends in {', '.join(SUFFIXES)}, got {str(path)!r}"
        )
    return found


def write(path: Path, title: str, pictures: Sequence[Picture], notes: Mapping[str, Any]) -> None:
    """Write pictures to a file; ``notes`` stand before the first report of a page."""
    kind = path.suffix.lower()
    if kind == ".dot":
        text = dot_of([sketch for each in pictures for sketch in each.sketches()])
    elif kind == ".svg":
        text = whole([panel for each in pictures for panel in each.panels()]) + "\n"
    else:
        chapters = [
            Chapter(
                each.name,
                each.panels(),
                {**({} if k else notes), **each.named_report()},
                text_of(each.name, each.functions),
            )
            for k, each in enumerate(pictures)
        ]
        text = page_of(title, chapters)
    path.write_text(text, encoding="utf-8")


def picture_of_run(run: Executable) -> Picture:
    """Return the picture of an executable: with groups, memory and lanes."""
    report = run.report()
    function = run.function
    groups = _groups(report, steps_of(function))
    return Picture(run.name, {"main": function}, groups, plan_of_run(function, report), report)


def _groups(report: Mapping[str, Any], places: Sequence[int]) -> list[tuple[str, Sequence[int]]]:
    """Return the groups, with the operations whose last step is in each."""
    unit_of: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for row in report["memory"]["operations"]:
        sizes[row["unit"]] = sizes.get(row["unit"], 0) + 1
        if row["operation"] >= 0:
            unit_of[places[row["operation"]]] = row["unit"]
    members: dict[int, list[int]] = {}
    for operation, unit in sorted(unit_of.items()):
        members.setdefault(unit, []).append(operation)
    saved = iter(report["groups"])
    found: list[tuple[str, Sequence[int]]] = []
    for unit in sorted(sizes):
        if sizes[unit] > 1:
            bytes_ = next(saved)["saved_bytes"]
            title = f"group {len(found)}: {bytes_:,} bytes never in memory"
            found.append((title, members.get(unit, [])))
    return [row for row in found if row[1]]


def draw_run(run: Executable, path: PathLike) -> None:
    """Write the picture of an executable: what ``Executable.draw`` does."""
    place = checked("Executable.draw", path)
    write(place, run.name, [picture_of_run(run)], {})


def draw_functions(name: str, functions: Mapping[str, Function], path: PathLike) -> None:
    """Write the picture of a program that is not compiled: what ``Program.draw`` does."""
    place = checked("Program.draw", path)
    write(place, name, [Picture(name, functions, (), plan_of(functions), {})], {})


def draw_newest(
    path: PathLike, name: str, runs: Sequence[Executable | None], report: Mapping[str, Any]
) -> None:
    """Write the picture of the last executable, with a jitted function's report."""
    place = checked("jit.draw", path)
    run = next((run for run in reversed(runs) if run is not None), None)
    if run is None:
        raise ValueError(f"[jit] {name} has no program so far: call it, or give its arguments")
    notes = {key: x for key, x in report.items() if key not in ("runs", "captures")}
    write(place, name, [picture_of_run(run)], notes)
