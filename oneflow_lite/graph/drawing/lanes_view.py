"""Lanes of a run as a picture: its segments from left to right, and what they wait for.

    cpu compute     ┌ 0 matmul ┐      ┌ 2 add sum ┐
                    └────┬─────┘      └─────▲─────┘
    mock:0 compute       └──►┌ 1 copy ┐─────┘

A segment begins where its lane has ended, and behind what it waits for; widths are estimates.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oneflow_lite.graph.drawing.marks import element, fitting, label, plain, text_width
from oneflow_lite.graph.drawing.panel import Panel
from oneflow_lite.graph.drawing.style import hue

_LEFT = 130
_HEIGHT, _GAP = 40, 26
_LEAST, _WIDEST = 72, 260  # of a segment
_BETWEEN = 18  # two segments of a lane
_MOST = 3000  # segments


class Bar(NamedTuple):
    """A segment in the picture."""

    lane: int
    begin: int
    end: int


def bars(
    lanes: Sequence[int], microseconds: Sequence[float], waits: Sequence[tuple[int, int]]
) -> list[Bar]:
    """Return where segments are: behind those of their lane, and behind what they wait for."""
    waited: dict[int, list[int]] = {}
    for before, after in waits:
        waited.setdefault(after, []).append(before)
    longest = max(microseconds, default=0) or 1
    free: dict[int, int] = {}
    found: list[Bar] = []
    for number, (lane, time) in enumerate(zip(lanes, microseconds, strict=True)):
        earliest = [found[k].end for k in waited.get(number, ()) if k < number]
        begin = max([free.get(lane, -_BETWEEN), *earliest]) + _BETWEEN
        width = _LEAST + round((_WIDEST - _LEAST) * time / longest)
        found.append(Bar(lane, begin, begin + width))
        free[lane] = begin + width
    return found


def lanes_panel(report: Mapping[str, Any]) -> Panel:
    """Return the picture of the lanes."""
    names = list(report["lanes"])
    segments = report["segments"][:_MOST]
    more = len(report["segments"]) - len(segments)
    waits = [(a, b) for a, b in report["waits"] if max(a, b) < len(segments)]
    lanes = [names.index(each["lane"]) for each in segments]
    found = bars(lanes, [each["us"] for each in segments], waits)
    width = max((bar.end for bar in found), default=0)
    left = max([_LEFT, *(text_width(name) + 12 for name in names)])
    bodies = []
    for lane, name in enumerate(names):
        y = _top(lane)
        bodies.append(label(0, y + 24, name, "bold"))
        frame = element("rect", x=left, y=y, width=width, height=_HEIGHT, class_="field")
        bodies.append(frame)
    bodies += [_segment(k, segments[k], bar, left) for k, bar in enumerate(found)]
    bodies += _waits(waits, found, left)
    title = f"lanes: {len(report['segments'])} segments, {len(report['waits'])} waits"
    title += f" (... and {more} more)" if more else ""
    return Panel(title, left + width, max(_top(len(names)) - _GAP, 0), "".join(bodies))


def _top(lane: int) -> int:
    return lane * (_HEIGHT + _GAP)


def _time(microseconds: float) -> str:
    """Return a time that was estimated."""
    size, unit = (microseconds / 1e3, "ms") if microseconds >= 1e3 else (microseconds, "us")
    return f"~{size:.0f} {unit}" if size >= 10 else f"~{size:.2g} {unit}"


def _segment(number: int, segment: Mapping[str, Any], bar: Bar, left: int) -> str:
    x, y, width = left + bar.begin, _top(bar.lane), bar.end - bar.begin
    steps = " ".join(segment["steps"])
    head, time = f"segment {number}", _time(segment["us"])
    lines = label(x + 6, y + 16, fitting(f"{number} {steps}", width - 12))
    lines += label(x + 6, y + 31, fitting(time, width - 12), "soft")
    frame = element(
        "rect", x=x, y=y, width=width, height=_HEIGHT, rx=3, class_=f"box {hue(bar.lane)}"
    )
    title = element("title", plain(f"{head}, {time}: {steps}"))
    return element("g", title + frame + lines, class_="op", data_segment=number)


def _waits(waits: Sequence[tuple[int, int]], found: Sequence[Bar], left: int) -> Iterator[str]:
    """Yield an arrow from the end of each segment to the one that waits for it."""
    for before, after in waits:
        one, other = found[before], found[after]
        is_down = other.lane > one.lane
        y = _top(one.lane) + (_HEIGHT if is_down else 0)
        to = _top(other.lane) + (0 if is_down else _HEIGHT)
        if one.lane == other.lane:
            y = to = _top(one.lane) + _HEIGHT // 2
        path = f"M{left + one.end - 4} {y}L{left + other.begin + 4} {to}"
        yield element(
            "path", d=path, class_="wait", marker_end="url(#arrow)", data_wait=f"{before} {after}"
        )
