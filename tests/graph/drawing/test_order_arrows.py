"""The order by tokens, read back from pictures: each arrow is there once, and looks as no other."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable, Program
from tests.support.graphs.pictures import SVG, dot_tokens, root_of

FAR = 15  # layers: more than a whole arrow goes through
ALL_TOKENS = """program p
@0 = function
%0: f64[4] cpu = parameter x
none = host[name='a'](%0) from @0 ! io, comm:world
%1: f64[4] cpu = negative(%0)
none = host[name='b'](%1) from @0 ! io, reader:3
none = host[name='c'](%0) from @0 ! io, comm:world, reader:3
return %1"""


ONE, OTHER = flow.random.default_rng(1), flow.random.default_rng(2)


def seen(array: Any) -> None:
    array.sum()


def ordered(x: Any, w: Any) -> Any:
    """Two generators, drawn from in turns, and host functions, the last of them far away."""
    y = x + ONE.normal(size=4)
    flow.vm.host_func(seen, reads=[y])
    y = y * OTHER.normal(size=4) - ONE.normal(size=4)
    flow.vm.host_func(seen, reads=[x])
    for _ in range(FAR):
        y = y @ w
    flow.vm.host_func(seen, reads=[y])
    return y + OTHER.normal(size=4)


def traced() -> Program:
    return flow.graph.trace(ordered, flow.ones(4), flow.ones((4, 4))).program


def programs() -> list[Program | Executable]:
    return [traced(), flow.graph.compile(traced()), Program.parse(ALL_TOKENS)]


def wanted(program: Program | Executable) -> list[tuple[int, int, str]]:
    """The pairs of operations that follow each other with a token."""
    function = program.main if isinstance(program, Program) else program.function
    rows: dict[str, list[int]] = {}
    for number, op in enumerate(function.ops):
        for token in op.effects:
            rows.setdefault(token, []).append(number)
    found = [(a, b, token) for token, row in rows.items() for a, b in pairwise(row)]
    assert len(found) >= 4
    return sorted(found)


def arrows(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [x for x in root.iter(f"{SVG}path") if x.get("data-token")]


@pytest.mark.parametrize("suffix", ["html", "svg"])
@pytest.mark.parametrize("which", range(3))
def test_each_arrow_is_there_once(which: int, suffix: str, tmp_path: Path) -> None:
    program = programs()[which]
    path = tmp_path / f"p.{suffix}"
    program.draw(path)
    root = root_of(path)
    found = []
    for arrow in arrows(root):
        before, after = map(int, str(arrow.get("data-order")).split())
        token = str(arrow.get("data-token"))
        found.append((before, after, token))
        assert "order" in str(arrow.get("class")).split()
        title = arrow.findtext(f"{SVG}title")
        assert title == f"order by {token}: operation {before} before operation {after}"
    assert sorted(found) == wanted(program)
    texts = [x.text or "" for x in root.iter(f"{SVG}text")]
    (legend,) = (x for x in texts if x.startswith("order by "))
    assert sorted(legend.removeprefix("order by ").split(", ")) == sorted({x[2] for x in found})
    assert ".order{stroke-width:1.5;stroke-dasharray:6 4}" in path.read_text()


@pytest.mark.parametrize("which", range(3))
def test_each_arrow_is_in_dot_once(which: int, tmp_path: Path) -> None:
    program = programs()[which]
    path = tmp_path / "p.dot"
    program.draw(path)
    text = path.read_text()
    assert dot_tokens(text)
    function = program.main if isinstance(program, Program) else program.function
    inputs = len(list(function.inputs()))
    found = re.findall(r'n(\d+) -> n(\d+) \[style=dashed, label="(.+?)", tooltip="(.+?)"\];', text)
    assert sorted((int(a) - inputs, int(b) - inputs, x) for a, b, x, _ in found) == wanted(program)
    assert all(tip == f"order by {token}" for _, _, token, tip in found)


def test_arrows_go_down_to_their_operation(tmp_path: Path) -> None:
    """One that goes too far is drawn at its end only."""
    program = traced()
    program.draw(tmp_path / "p.svg")
    short = 0
    for arrow in arrows(root_of(tmp_path / "p.svg")):
        points = [tuple(map(int, x.split())) for x in re.split("[ML]", arrow.get("d") or "") if x]
        assert all(a[1] <= b[1] for a, b in pairwise(points))
        short += len(points) == 2 and points[1][1] - points[0][1] == 12
    assert 0 < short < len(wanted(program))


def test_without_tokens_there_is_no_order(tmp_path: Path) -> None:
    program = flow.graph.trace(lambda x: flow.tanh(x) * flow.random.normal(size=3), flow.ones(3))
    for suffix in ("html", "svg", "dot"):
        path = tmp_path / f"p.{suffix}"
        program.program.draw(path)
        text = path.read_text()
        assert "order by" not in text
        assert "data-token" not in text
        assert "dashed" not in text or suffix != "dot"


def test_folded_boxes_keep_the_order(tmp_path: Path) -> None:
    lines = ["program long", "@0 = function", "%0: f32[4] cpu = parameter x"]
    count = 12_000
    for k in range(1, count):
        lines.append(f"%{k}: f32[4] cpu = negative(%{k - 1})")
        if k % 3000 == 0:
            lines.append(f"none = host[name='f'](%{k}) from @0 ! io")
    program = Program.parse("\n".join([*lines, f"return %{count - 1}"]))
    program.draw(tmp_path / "p.svg")
    ends = [x.get("data-order") for x in arrows(root_of(tmp_path / "p.svg"))]
    assert len(ends) == len(set(ends)) == 2
