"""Pictures as text for Graphviz's programs, in the language DOT."""

from collections.abc import Iterator, Sequence

from oneflow_lite.graph.drawing.marks import clean
from oneflow_lite.graph.drawing.sketch import Box, Sketch
from oneflow_lite.graph.drawing.style import fill_of


def dot_of(sketches: Sequence[Sketch]) -> str:
    """Return a graph for each sketch: a node for each box, a cluster for each group."""
    return "".join("\n".join(_graph(sketch)) + "\n" for sketch in sketches)


def _graph(sketch: Sketch) -> Iterator[str]:
    yield f"digraph {_quoted(sketch.name)} {{"
    yield '  node [shape=box, style=filled, fontname="monospace", fontsize=10];'
    grouped: set[int] = set()
    for number, (title, members) in enumerate(sketch.groups):
        grouped.update(members)
        yield f"  subgraph cluster_{number} {{"
        yield f"    label={_quoted(title)};"
        for member in members:
            yield f"    {_node(member, sketch.boxes[member])}"
        yield "  }"
    for number, box in enumerate(sketch.boxes):
        if number not in grouped:
            yield f"  {_node(number, box)}"
    for a, b, token in sketch.arrows:
        yield f"  n{a} -> n{b}{_order(token)};"
    yield "}"


def _order(token: str) -> str:
    """Return how the arrow of a token looks; nothing for one of a value."""
    if not token:
        return ""
    return f" [style=dashed, label={_quoted(token)}, tooltip={_quoted(f'order by {token}')}]"


def _node(number: int, box: Box) -> str:
    lines = "\\n".join(map(_escaped, (*box.lines, *box.marks)))
    attributes = f'label="{lines}", fillcolor="{fill_of(box.kind)}", tooltip={_quoted(box.title)}'
    shape = ", shape=ellipse" if box.operation < 0 else ""
    return f"n{number} [{attributes}{shape}];"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
