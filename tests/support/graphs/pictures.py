"""Reads pictures back from their files; and programs that are drawn."""

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import oneflow_lite as flow
from oneflow_lite.graph import Executable, Program

_ROUNDED = 0.01  # of a pixel
SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Box:
    """A box of the picture, where it is on it."""

    left: float
    top: float
    right: float
    bottom: float
    texts: tuple[str, ...]
    title: str
    data: dict[str, str]

    def overlaps(self, other: "Box") -> bool:
        return (
            self.left < other.right - _ROUNDED
            and other.left < self.right - _ROUNDED
            and self.top < other.bottom - _ROUNDED
            and other.top < self.bottom - _ROUNDED
        )


def root_of(path: Path) -> ElementTree.Element:
    return ElementTree.fromstring(path.read_text(encoding="utf-8"))


def boxes_of(root: ElementTree.Element) -> list[Box]:
    """All operations, inputs, rectangles of memory and segments."""
    found: list[Box] = []
    stack = [(root, 0.0, 0.0)]
    while stack:
        at, x, y = stack.pop()
        moved = at.get("transform", "").removeprefix("translate(").rstrip(")")
        if moved:
            dx, dy = moved.split(",")
            x, y = x + float(dx), y + float(dy)
        if at.tag == f"{SVG}svg":
            x = y = 0
        if at.get("class") == "op":
            found.append(_box(at, x, y))
        stack += [(child, x, y) for child in at]
    return found


def _box(at: ElementTree.Element, x: float, y: float) -> Box:
    frame = at.find(f"{SVG}rect")
    assert frame is not None
    left, top = x + float(frame.get("x", 0)), y + float(frame.get("y", 0))
    return Box(
        left,
        top,
        left + float(frame.get("width", 0)),
        top + float(frame.get("height", 0)),
        tuple(each.text or "" for each in at.findall(f"{SVG}text")),
        at.findtext(f"{SVG}title") or "",
        {key.removeprefix("data-"): value for key, value in at.items()},
    )


def drawn(program: Program | Executable, path: Path) -> list[Box]:
    program.draw(path)
    return boxes_of(root_of(path))


def of_kind(boxes: list[Box], key: str) -> list[Box]:
    return [box for box in boxes if key in box.data]


def check_memory(boxes: list[Box], report: dict[str, Any]) -> None:
    """All that is in memory is in the picture, and what lives at one time is apart."""
    rectangles = of_kind(boxes, "base")
    assert len({box.data["base"] for box in rectangles}) == len(rectangles)
    bases = report["memory"]["bases"]
    for base, row in enumerate(bases):
        is_shown = row[0] >= 0 and row[1] >= 0 and row[2] and row[4]
        if is_shown and not row[3]:
            assert any(box.data["base"] == str(base) for box in rectangles)
    for a, b in combinations(rectangles, 2):
        if a.data["memory"] == b.data["memory"]:
            assert not a.overlaps(b)
            one, other = ({k: int(x) for k, x in box.data.items() if x.isdigit()} for box in (a, b))
            shares_time = one["begin"] < other["end"] and other["begin"] < one["end"]
            shares_bytes = (
                one["offset"] < other["offset"] + other["bytes"]
                and other["offset"] < one["offset"] + one["bytes"]
            )
            assert not (shares_time and shares_bytes)


def dot_tokens(text: str) -> list[str]:
    """The words of a text in DOT; AssertionError: a quote or a brace is not closed."""
    tokens: list[str] = []
    depth, k = 0, 0
    while k < len(text):
        if text[k] == '"':
            end = k + 1
            while text[end] != '"':
                assert text[end] != "\n"
                end += 2 if text[end] == "\\" else 1
            tokens.append(text[k : end + 1])
            k = end + 1
        elif text[k].isspace():
            k += 1
        elif text[k] in "{}[];,=":
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(text[k], 0)
            assert depth >= 0
            tokens.append(text[k])
            k += 1
        else:
            end = k
            while end < len(text) and not text[end].isspace() and text[end] not in '{}[];,="':
                end += 1
            tokens.append(text[k:end])
            k = end
    assert depth == 0
    return tokens


def attention(x: Any, w: Any) -> Any:
    query, key = x @ w, (x * 2) @ w
    scores = query @ key.mT / 4
    exponents = flow.exp(scores - scores.max(axis=-1, keepdims=True))
    h = exponents / exponents.sum(axis=-1, keepdims=True) @ x
    return flow.where(h > 0, h, 0.1 * h) @ w, scores[0]


def products(x: Any, w: Any) -> Any:
    """Sizes and lifetimes for which no order of offsets is the best at once."""
    parts = [x[: 6 * k + 3] @ w @ w for k in range(1, 9)]
    total = sum(flow.sum(part @ w) for part in parts[::2])
    w *= 0.5
    return total + sum(flow.sum(flow.sin(part)) for part in parts)
