"""The memory plan as a picture: time goes to the right, addresses go up.

    bytes ┤      ┌────┐ ─ ─ ─ ─ lower bound       a rectangle is a value (or several, one written
          │┌─────┤ b  │                           over the other): from the step that makes it to
          ││  a  ├────┤                           the last that uses it
          ┴┴─────┴────┴──► steps and groups, in the order in which they are issued

Bytes that are written over an operand change hands in the middle of a step.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oneflow_lite.graph.drawing.marks import element, fitting, label, plain, text_width
from oneflow_lite.graph.drawing.panel import Panel, moved, note
from oneflow_lite.graph.drawing.plan import Plan
from oneflow_lite.graph.drawing.style import hue

_HEIGHT = 320  # of an arena
_ROW = 24  # of a memory of its own
_LEFT = 96  # of the axis of addresses
_FOOT = 34  # below it: of times
_MOST_ROWS = 400
_WIDEST = 6000


class Rectangle(NamedTuple):
    """Bytes of a memory during some time, in halves of a step of the run."""

    base: int
    begin: int
    end: int
    offset: int
    bytes: int
    is_in_place: bool
    is_assigned: bool
    is_result: bool


def rectangles(report: Mapping[str, Any]) -> dict[int, list[Rectangle]]:
    """Return what lies in each memory of a run, by the memory's number."""
    memory = report["memory"]
    over = {x["result"]: x["operand"] for x in memory["in_place"] if x["is_in_place"]}
    under = {operand: result for result, operand in over.items()}
    places = _places(report)
    last = 2 * len(places)
    found: dict[int, list[Rectangle]] = {}
    for number, (home, offset, size, is_input, uses, is_result, *_) in enumerate(memory["bases"]):
        times = [places[unit] for unit, _ in uses if unit in places]
        is_assigned = is_input and any(is_written for _, is_written in uses)
        if home < 0 or not size or not times or (is_input and not is_assigned):
            continue
        begin, end = 2 * min(times), 2 * max(times) + 2
        if number in over:
            begin += 1
        if number in under:
            end -= 1
        if is_result or is_assigned:
            end = max(end, last)
        begin = 0 if is_input else begin
        row = Rectangle(number, begin, end, offset, size, number in over, is_assigned, is_result)
        found.setdefault(home, []).append(row)
    return found


def _places(report: Mapping[str, Any]) -> dict[int, int]:
    """Return when each unit of a run is issued."""
    order = dict.fromkeys(row["unit"] for row in report["memory"]["operations"])
    return {unit: place for place, unit in enumerate(order)}


def memory_panels(plan: Plan) -> Iterator[Panel]:
    """Yield a picture for each arena, and one of the memories besides; or why there is none."""
    if plan.reason:
        yield note(plan.what, plan.reason)
        return
    report = plan.report
    found = rectangles(report)
    steps = _step_names(report)
    arenas = [arena for arena in report["memory"]["arenas"] if arena["memory"] in found]
    for arena in arenas:
        yield _arena(plan, arena, found[arena["memory"]], steps)
    besides = sorted(found.keys() - {arena["memory"] for arena in arenas})
    if besides:
        yield _besides(plan, {k: found[k] for k in besides}, steps)
    if not found:
        yield note(plan.what, "none: the program needs none besides its inputs")


def _step_names(report: Mapping[str, Any]) -> list[str]:
    """Return what stands at each time: a step, or those of a group."""
    names: dict[int, list[str]] = {}
    for row in report["memory"]["operations"]:
        names.setdefault(row["unit"], []).append(row["step"])
    return [" ".join(row) for row in names.values()]


def _scale(count: int) -> int:
    """Return how many pixels half a step takes."""
    return max(2, min(28, _WIDEST // (2 * max(count, 1))))


def _arena(
    plan: Plan, arena: Mapping[str, Any], rows: Sequence[Rectangle], steps: Sequence[str]
) -> Panel:
    size = max(arena["bytes"], 1)
    half = _scale(len(steps))
    width = 2 * len(steps) * half
    bodies = [element("rect", x=0, y=0, width=width, height=_HEIGHT, class_="field")]
    for row in rows:
        place = _upright(row, 0, size, _HEIGHT)
        bodies.append(_rectangle(row, arena["memory"], half, place, plan.values))
    bound = _HEIGHT - arena["lower_bound"] * _HEIGHT // size
    line = element("line", x1=0, x2=width, y1=bound, y2=bound, class_="bound")
    bodies += [line, *_times(steps, half, _HEIGHT)]
    texts = [
        label(0, 10, f"{arena['bytes']:,}"),
        label(0, _HEIGHT, "0 bytes"),
    ]
    if _HEIGHT - 16 > bound > 24:
        texts.append(label(0, bound + 4, f"{arena['lower_bound']:,}"))
    title = (
        f"{plan.what}: arena of {arena['device']}, {arena['bytes']:,} bytes, "
        f"lower bound {arena['lower_bound']:,} (dashed line), by {arena['plan']}"
    )
    body = "".join(texts) + moved("".join(bodies), _LEFT, 0)
    return Panel(title, _LEFT + width, _HEIGHT + _FOOT, body)


def _besides(plan: Plan, found: Mapping[int, Sequence[Rectangle]], steps: Sequence[str]) -> Panel:
    """Return the picture of results, of memories of one value, and of inputs that are written."""
    half = _scale(len(steps))
    width = 2 * len(steps) * half
    memories = list(found)[:_MOST_ROWS]
    bodies = []
    for place, number in enumerate(memories):
        rows = found[number]
        low = min(row.offset for row in rows)
        size = max(max(row.offset + row.bytes for row in rows) - low, 1)
        y = place * (_ROW + 8)
        bodies.append(element("rect", x=_LEFT, y=y, width=width, height=_ROW, class_="field"))
        what = "input" if rows[0].is_assigned else _kind_of(plan.report, number)
        bodies.append(label(0, y + 10, what))
        bodies.append(label(0, y + 22, f"{size:,} B", "soft"))
        for row in rows:
            body = _rectangle(row, number, half, _upright(row, low, size, _ROW), plan.values)
            bodies.append(moved(body, _LEFT, y))
    height = len(memories) * (_ROW + 8)
    bodies.append(moved("".join(_times(steps, half, height)), _LEFT, 0))
    more = len(found) - len(memories)
    title = f"{plan.what}: results, inputs that are assigned, and values by themselves"
    title += f" (... and {more} more)" if more else ""
    return Panel(title, _LEFT + width, height + _FOOT, "".join(bodies))


def _kind_of(report: Mapping[str, Any], number: int) -> str:
    _, is_result, *_ = report["memory"]["memories"][number]
    return "result" if is_result else "by itself"


def _upright(row: Rectangle, low: int, size: int, height: int) -> tuple[float, float]:
    """Return the top and the height of bytes, where ``size`` of them are ``height`` pixels."""
    top = height - (row.offset + row.bytes - low) * height / size
    return round(top, 3), round(row.bytes * height / size, 3)


def _rectangle(
    row: Rectangle,
    memory: int,
    half: int,
    upright: tuple[float, float],
    values: Mapping[int, str],
) -> str:
    top, height = upright
    x, width = row.begin * half, (row.end - row.begin) * half
    value = values.get(row.base, "temporary")
    marks = [
        text
        for text, is_marked in (
            ("in place", row.is_in_place),
            ("assigned", row.is_assigned),
            ("result", row.is_result),
        )
        if is_marked
    ]
    text = ", ".join((value, *marks))
    classes = ["box", hue(row.base)]
    classes += ["inplace"] if row.is_in_place else []
    classes += ["assigned"] if row.is_assigned else []
    frame = element("rect", x=x, y=top, width=width, height=height, class_=" ".join(classes))
    title = element("title", plain(f"{text}: {row.bytes:,} bytes at {row.offset:,}"))
    shown = fitting(text, width - 8) if height >= 13 else ""
    name = label(x + 4, round(top + height / 2) + 4, shown) if shown else ""
    return element(
        "g",
        title + frame + name,
        class_="op",
        data_memory=memory,
        data_base=row.base,
        data_begin=row.begin,
        data_end=row.end,
        data_offset=row.offset,
        data_bytes=row.bytes,
    )


def _times(steps: Sequence[str], half: int, y: int) -> Iterator[str]:
    """Yield the numbers of steps below a picture, as many as there is room for."""
    room = text_width(str(len(steps))) + 6
    every = max(1, -(-room // (2 * half)))
    for k in range(0, len(steps), every):
        tip = element("title", plain(f"{k}: {steps[k]}"))
        yield element("g", tip + label((2 * k + 1) * half - 3, y + 14, k, "soft"))
    yield label(0, y + 29, "steps and groups, in the order of issue", "soft")
