"""A program as a picture: operations by layers, groups as boxes around them.

A group is laid out by itself, and is one box of the whole; an arrow between two such boxes stands
for all between their operations, which name their operands. Dashed arrows are the order by tokens.
"""

from collections.abc import Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from oneflow_lite.graph.drawing.layers import Edge, Layout, Point, layered
from oneflow_lite.graph.drawing.marks import (
    LINE,
    box_size,
    element,
    label,
    plain,
    shortened,
    text_width,
)
from oneflow_lite.graph.drawing.panel import Panel, moved
from oneflow_lite.graph.drawing.sketch import KINDS, Arrow, Box, Sketch

_PAD = 10  # of a group, around its operations
_LEGEND = 30
_TOKEN_COLUMNS = 60  # of the legend
_STUB = 12


class _Unit(NamedTuple):
    """What is one box of the whole: an operation, an input, or a group."""

    boxes: list[int]
    title: str  # of a group; "": it is none


class _Part(NamedTuple):
    """A unit that is laid out: its own size, and where its boxes are in it."""

    width: int
    height: int
    body: str


def program_panel(sketch: Sketch) -> Panel:
    """Return the picture of the operations."""
    units, arrows = ordered_units(len(sketch.boxes), sketch.arrows, sketch.groups)
    inner = _inner_edges(sketch, units)
    parts = [_part(sketch, unit, inner[k], k) for k, unit in enumerate(units)]
    drawn = layered([(part.width, part.height) for part in parts], [x[:2] for x in arrows])
    operations = [sketch.boxes[unit.boxes[0]].operation for unit in units]
    lines = "".join(
        _line(drawn, arrow, path, operations)
        for arrow, path in zip(arrows, drawn.paths, strict=True)
    )
    boxes = "".join(
        moved(part.body, x, y) for part, x, y in zip(parts, drawn.lefts, drawn.tops, strict=True)
    )
    legend, width = _legend(sketch)
    body = legend + moved(lines + boxes, 0, _LEGEND)
    title = f"{sketch.name}: operations" + (" (folded)" if sketch.is_folded else "")
    return Panel(title, max(drawn.width, width), drawn.height + _LEGEND, body)


# --- units


def ordered_units(
    count: int, arrows: Sequence[Arrow], groups: Sequence[tuple[str, list[int]]]
) -> tuple[list[_Unit], list[Arrow]]:
    """Return groups and single boxes in a topological order, and the arrows between them.

    A group on whose operations one of its own depends through others is taken apart.
    """
    while True:
        units, unit_of = _units(count, groups)
        between = dict.fromkeys(
            Arrow(unit_of[a], unit_of[b], token)
            for a, b, token in arrows
            if unit_of[a] != unit_of[b]
        )
        order = _topological(len(units), [x[:2] for x in between])
        if len(order) == len(units):
            break
        placed = set(order)
        apart = {u for u in range(len(units)) if u not in placed}
        groups = [row for row in groups if unit_of[row[1][0]] not in apart]
    place = {unit: k for k, unit in enumerate(order)}
    placed_arrows = sorted(Arrow(place[a], place[b], token) for a, b, token in between)
    return [units[u] for u in order], placed_arrows


def _units(count: int, groups: Sequence[tuple[str, list[int]]]) -> tuple[list[_Unit], list[int]]:
    group_of = {box: k for k, (_, members) in enumerate(groups) for box in members}
    units: list[_Unit] = []
    numbers: dict[int, int] = {}  # of groups
    unit_of = []
    for box in range(count):
        group = group_of.get(box)
        if group is None:
            units.append(_Unit([box], ""))
            unit_of.append(len(units) - 1)
            continue
        if group not in numbers:
            numbers[group] = len(units)
            units.append(_Unit([], groups[group][0]))
        units[numbers[group]].boxes.append(box)
        unit_of.append(numbers[group])
    return units, unit_of


def _topological(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the nodes in an order that the edges allow, lower ones first; cycles are left out."""
    after: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for a, b in edges:
        after[a].append(b)
        missing[b] += 1
    ready = [node for node in range(count) if not missing[node]]
    heapify(ready)
    order = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for b in after[node]:
            missing[b] -= 1
            if not missing[b]:
                heappush(ready, b)
    return order


def _inner_edges(sketch: Sketch, units: Sequence[_Unit]) -> list[list[Edge]]:
    """Return the edges inside each unit, by the places of its boxes."""
    place = {box: (u, k) for u, unit in enumerate(units) for k, box in enumerate(unit.boxes)}
    inner: list[list[Edge]] = [[] for _ in units]
    for a, b, _ in sketch.arrows:
        (one, first), (other, second) = place[a], place[b]
        if one == other:
            inner[one].append((first, second))
    return inner


# --- drawing


def _part(sketch: Sketch, unit: _Unit, edges: list[Edge], number: int) -> _Part:
    boxes = [sketch.boxes[k] for k in unit.boxes]
    sizes = [_size(box) for box in boxes]
    if not unit.title:
        return _Part(*sizes[0], _box(boxes[0], sizes[0], unit.boxes[0]))
    drawn = layered(sizes, edges, gaps=(10, 22), most=6)
    width = max(drawn.width, text_width(unit.title)) + 2 * _PAD
    height = drawn.height + LINE + 2 * _PAD
    frame = element(
        "rect", width=width, height=height, rx=7, class_="group field", data_group=number
    )
    title = label(_PAD, LINE, unit.title, "soft")
    lines = "".join(_path(path, data_edge="") for path in drawn.paths)
    inside = "".join(
        moved(_box(box, size, k), x, y)
        for box, size, k, x, y in zip(
            boxes, sizes, unit.boxes, drawn.lefts, drawn.tops, strict=True
        )
    )
    left = (width - drawn.width) // 2
    return _Part(width, height, frame + title + moved(lines + inside, left, LINE + _PAD))


def _shown(box: Box) -> tuple[str, ...]:
    return (*box.lines, *(f"\N{RIGHTWARDS ARROW} {mark}" for mark in box.marks))


def _size(box: Box) -> tuple[int, int]:
    return box_size(_shown(box))


def _box(box: Box, size: tuple[int, int], number: int) -> str:
    frame = element(
        "rect",
        width=size[0],
        height=size[1],
        rx=12 if box.operation < 0 else 3,
        class_=f"box {box.kind}",
    )
    styles = ["bold", *["soft"] * (len(box.lines) - 1), *["bold"] * len(box.marks)]
    lines = "".join(
        label(8, LINE * (k + 1), line, style)
        for k, (line, style) in enumerate(zip(_shown(box), styles, strict=True))
    )
    return element(
        "g",
        element("title", plain("; ".join((box.title, *box.marks)))) + frame + lines,
        class_="op",
        data_box=number,
        data_op=box.operation,
        data_values=" ".join(map(str, box.values)),
    )


def _line(drawn: Layout, arrow: Arrow, path: list[Point], operations: Sequence[int]) -> str:
    """Return the line of an arrow; of one that is too long, the end of it."""
    if not path:
        x, y = drawn.lefts[arrow.after] + _STUB, drawn.tops[arrow.after]
        path = [(x, y - _STUB), (x, y)]
    if not arrow.token:
        return _path(path, data_edge=f"{arrow.before} {arrow.after}")
    before, after = operations[arrow.before], operations[arrow.after]
    text = f"order by {arrow.token}: operation {before} before operation {after}"
    return _path(
        path,
        element("title", plain(text)),
        "edge order",
        data_order=f"{before} {after}",
        data_token=arrow.token,
    )


def _path(points: Sequence[Point], title: str = "", class_: str = "edge", **data: str) -> str:
    if not points:
        return ""
    text = "M" + "L".join(f"{x} {y}" for x, y in points)
    return element("path", title, d=text, class_=class_, marker_end="url(#arrow)", **data)


def _legend(sketch: Sketch) -> tuple[str, int]:
    """Return what colours and dashes stand for, where there are any, and how wide that is."""
    x, rows = 0, []
    used = {box.kind for box in sketch.boxes}
    for kind, text in KINDS.items():
        if kind in used:
            rows.append(element("rect", x=x, y=2, width=14, height=12, rx=2, class_=f"box {kind}"))
            rows.append(label(x + 19, 12, text))
            x += 19 + text_width(text) + 18
    tokens = dict.fromkeys(arrow.token for arrow in sketch.arrows if arrow.token)
    if tokens:
        text = shortened(f"order by {', '.join(tokens)}", _TOKEN_COLUMNS)
        line = f"M{x} 8L{x + 30} 8"
        rows.append(element("path", d=line, class_="edge order", marker_end="url(#arrow)"))
        rows.append(label(x + 36, 12, text))
        x += 36 + text_width(text) + 18
    return "".join(rows), x
