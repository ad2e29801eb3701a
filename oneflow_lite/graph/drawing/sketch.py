"""What a picture of a program shows, before it is laid out: boxes, arrows between them, groups.

Function, groups of operations ─► Sketch ─► SVG, DOT
                                    └─► folded, where it has too many boxes to be looked at
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from oneflow_lite.graph.drawing.marks import shortened
from oneflow_lite.graph.ir import Function, Op, Scalar, Site, Slot, Value
from oneflow_lite.graph.text import lines_of, type_text

MOST_BOXES = 10_000  # more are folded
_FOLDED = 400  # boxes of a picture that is folded
_COLUMNS = 44
_MOST_VALUES = 3  # that a box names

# Kind of a call -> what it is coloured and explained as; a kind that is not here is "other".
COLOURS = {
    **dict.fromkeys(("elementwise", "where", "copy"), "elementwise"),
    **dict.fromkeys(("reduce", "arg_reduce"), "reduction"),
    "matmul": "product",
    "view": "view",
    **dict.fromkeys(("array", "concat"), "array"),
    "transfer": "transfer",
    **dict.fromkeys(("fill", "empty", "source"), "creation"),
    "host": "host",
}
KINDS = {
    "input": "argument, capture, constant, number",
    "elementwise": "elementwise",
    "reduction": "reduction",
    "product": "product",
    "array": "kernel of its own: sort, scan, convolution, ...",
    "view": "view: no work",
    "transfer": "copy between devices",
    "creation": "creation",
    "host": "Python function",
    "other": "other",
    "folded": "several operations",
}


class Box(NamedTuple):
    """One thing in the picture: an input or an operation."""

    lines: tuple[str, ...]
    kind: str  # of KINDS
    title: str  # all of its text
    values: tuple[int, ...]  # the numbers of what it makes, as in the program's text
    operation: int = -1  # its number among the operations; -1: an input
    marks: tuple[str, ...] = ()  # what becomes of its values at the end


class Arrow(NamedTuple):
    """From a box to one that uses what it makes, or to the next one that a token orders."""

    before: int
    after: int
    token: str = ""  # that both write; "": a value goes from one to the other


class Sketch(NamedTuple):
    """Boxes in a topological order, arrows from lower to higher ones, groups of boxes."""

    name: str
    boxes: list[Box]
    arrows: list[Arrow]
    groups: list[tuple[str, list[int]]]  # title, boxes
    is_folded: bool = False


def sketch_of(
    name: str, function: Function, groups: Iterable[tuple[str, Sequence[int]]] = ()
) -> Sketch:
    """Return what a picture of a function shows; groups have numbers of its operations."""
    return _Sketching(function).made(name, groups)


class _Sketching:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.numbers: dict[Value, int] = {}
        self.makers: dict[Value | Slot, int] = {}
        self.boxes: list[Box] = []
        self.arrows: dict[Arrow, None] = {}
        self.last_writer: dict[str, int] = {}  # of a token
        ends = 1 + len(function.assigns)
        lines = lines_of(function)
        self.op_lines = lines[len(lines) - ends - len(function.ops) : len(lines) - ends]
        devices = {x.type.device for x in function.inputs()}
        devices |= {x.type.device for op in function.ops for x in op.results}
        self.shows_device = len(devices) > 1
        self.marks = self._marks()

    def made(self, name: str, groups: Iterable[tuple[str, Sequence[int]]]) -> Sketch:
        function = self.function
        for value in function.params:
            self._input(value, function.names.get(value, ""), "argument")
        for bound in function.captures:
            self._input(bound.value, "", "capture")
        for bound in function.constants:
            self._input(bound.value, "", "constant")
        for k, slot in enumerate(function.slots):
            self._slot(k, slot)
        first = len(self.boxes)
        for k, op in enumerate(function.ops):
            self._op(k, op)
        members = [(title, [first + k for k in row]) for title, row in groups]
        return Sketch(name, self.boxes, list(self.arrows), members)

    def _marks(self) -> dict[Value, list[str]]:
        """Return what becomes of values at the end."""
        marks: dict[Value, list[str]] = {}
        for k, value in enumerate(self.function.results):
            marks.setdefault(value, []).append(f"result {k}")
        inputs = {value: k for k, value in enumerate(self.function.inputs())}
        for target, last in self.function.assigns:
            name = self.function.names.get(target) or f"%{inputs[target]}"
            marks.setdefault(last, []).append(f"assigned to {name}")
        return marks

    def _type(self, value: Value) -> str:
        text = type_text(value.type, self.function.extents)
        return text if self.shows_device else text.rpartition(" ")[0]

    def _input(self, value: Value, name: str, what: str) -> None:
        number = self.numbers[value] = len(self.numbers)
        self.makers[value] = len(self.boxes)
        head = f"%{number} = {what} {name}".rstrip()
        self._add(head, [self._type(value)], "input", (number,), -1, [value])

    def _slot(self, number: int, slot: Slot) -> None:
        for x in slot.operands:
            if isinstance(x, Slot):
                self.arrows[Arrow(self.makers[x], len(self.boxes))] = None
        self.makers[slot] = len(self.boxes)
        what = slot.operation or f"number {self.function.names.get(slot, '')}".rstrip()
        self._add(f"%s{number} = {what}", [slot.kind.__name__], "input", (), -1, [])

    def _op(self, number: int, op: Op) -> None:
        for x in _used(op):
            self.arrows[Arrow(self.makers[x], len(self.boxes))] = None
        for token in dict.fromkeys(op.effects):
            if token in self.last_writer:
                self.arrows[Arrow(self.last_writer[token], len(self.boxes), token)] = None
            self.last_writer[token] = len(self.boxes)
        numbers = []
        for value in op.results:
            numbers.append(self.numbers.setdefault(value, len(self.numbers)))
            self.makers[value] = len(self.boxes)
        head = _call_text(self.op_lines[number], op.site)
        made = ", ".join(f"%{k}" for k in numbers[:_MOST_VALUES])
        made += ", ..." if len(numbers) > _MOST_VALUES else ""
        types = [self._type(value) for value in op.results[:_MOST_VALUES]]
        rest = [*types, *([_site_text(op.site)] if op.site else [])]
        kind = COLOURS.get(op.call.kind, "other")
        text = f"{made} = {head}" if made else head
        title = self.op_lines[number]
        self._add(text, rest, kind, tuple(numbers), number, op.results, title)

    def _add(
        self,
        head: str,
        rest: list[str],
        kind: str,
        numbers: tuple[int, ...],
        operation: int,
        values: Iterable[Value],
        title: str = "",
    ) -> None:
        marks = tuple(mark for value in values for mark in self.marks.get(value, ()))
        shown = tuple(shortened(line, _COLUMNS) for line in (head, *rest))
        title = title or ": ".join((head, *rest))
        self.boxes.append(Box(shown, kind, title, numbers, operation, marks))


def _used(op: Op) -> Iterator[Value | Slot]:
    yield from op.values()
    for x in op.operands:
        if isinstance(x, Scalar) and isinstance(x.value, Slot):
            yield x.value


def _call_text(line: str, site: Site | None) -> str:
    """Return the call in the line of an operation."""
    call = line.partition(" = ")[2]
    return call.removesuffix(f"  # {site[0]}:{site[1]}") if site else call


def _site_text(site: Site) -> str:
    return f"{os.path.basename(site[0])}:{site[1]}"


def folded(sketch: Sketch, most: int = MOST_BOXES) -> Sketch:
    """Return a sketch that can be looked at: with too many boxes, runs of them become one.

    Operations that follow each other are folded, so that arrows still go from lower to higher
    boxes; groups are not shown then.
    """
    if len(sketch.boxes) <= most:
        return sketch
    size = -(-len(sketch.boxes) // _FOLDED)
    inputs = [k for k, box in enumerate(sketch.boxes) if box.operation < 0]
    first = len(inputs)  # inputs come before operations
    runs = [inputs[k : k + size] for k in range(0, first, size)]
    runs += [
        list(range(k, min(k + size, len(sketch.boxes))))
        for k in range(first, len(sketch.boxes), size)
    ]
    run_of = [0] * len(sketch.boxes)
    for number, run in enumerate(runs):
        for box in run:
            run_of[box] = number
    arrows = dict.fromkeys(
        Arrow(run_of[a], run_of[b], token)
        for a, b, token in sketch.arrows
        if run_of[a] != run_of[b]
    )
    boxes = [_run_box(sketch.boxes, run) for run in runs]
    return Sketch(sketch.name, boxes, list(arrows), [], True)


def _run_box(boxes: list[Box], run: list[int]) -> Box:
    members = [boxes[k] for k in run]
    values = tuple(x for box in members for x in box.values)
    is_input = members[0].operation < 0
    if is_input:
        head = f"{len(members)} inputs"
    else:
        head = f"operations {members[0].operation} to {members[-1].operation}"
    kinds = Counter(box.kind for box in members)
    counts = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
    made = f"%{values[0]} to %{values[-1]}" if values else "no values"
    marks = [mark for box in members for mark in box.marks]
    shown = (*marks[:2], f"... and {len(marks) - 2} more") if len(marks) > 2 else tuple(marks)
    lines = tuple(shortened(line, _COLUMNS) for line in (head, made, counts))
    kind = "input" if is_input else "folded"
    return Box(lines, kind, ": ".join((head, made, counts)), values, members[0].operation, shown)
