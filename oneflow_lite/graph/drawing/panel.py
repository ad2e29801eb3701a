"""Parts of a picture: each has a size and SVG elements; they stand below each other."""

from collections.abc import Sequence
from typing import NamedTuple

from oneflow_lite.graph.drawing.marks import LINE, element, label, text_width
from oneflow_lite.graph.drawing.style import STYLE

EDGE = 12  # of a picture, around it
_TITLE = 26


class Panel(NamedTuple):
    """A part of a picture, from (0, 0) on."""

    title: str
    width: int
    height: int
    body: str  # SVG elements

    def svg(self) -> str:
        """Return the part as a picture, without its title."""
        return _svg(self.width, self.height, moved(self.body, 0, 0))


def note(title: str, text: str) -> Panel:
    """Return a part that is a line of text: why there is no picture."""
    return Panel(title, text_width(text), LINE, label(0, LINE - 3, text))


def moved(body: str, x: int, y: int) -> str:
    """Return elements at another place."""
    return element("g", body, transform=f"translate({x},{y})")


def whole(panels: Sequence[Panel]) -> str:
    """Return all parts as one picture, with their titles and what colours them."""
    y, bodies, width = 0, [], 0
    for panel in panels:
        bodies.append(label(0, y + 14, panel.title, "title"))
        bodies.append(moved(panel.body, 0, y + _TITLE))
        y += _TITLE + panel.height + 2 * _TITLE
        width = max(width, panel.width, text_width(panel.title) * 13 // 11 + 4)
    return _svg(width, max(y - 2 * _TITLE, 0), element("style", STYLE) + "".join(bodies))


def _svg(width: int, height: int, body: str) -> str:
    width, height = width + 2 * EDGE, height + 2 * EDGE
    paper = element("rect", width=width, height=height, class_="paper")
    marker = element(
        "marker",
        element("path", d="M0 0L8 4L0 8z", class_="head"),
        id="arrow",
        viewBox="0 0 8 8",
        refX=8,
        refY=4,
        markerWidth=7,
        markerHeight=7,
        orient="auto",
    )
    return element(
        "svg",
        element("defs", marker) + paper + moved(body, EDGE, EDGE),
        xmlns="http://www.w3.org/2000/svg",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        class_="picture",
        font_family="ui-monospace, 'DejaVu Sans Mono', monospace",
        font_size=11,
    )
