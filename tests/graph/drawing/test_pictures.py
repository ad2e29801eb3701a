"""Pictures of programs, read back from their files."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.graph import Program
from oneflow_lite.graph.drawing.sketch import COLOURS, KINDS
from tests.support.graphs.pictures import (
    Box,
    attention,
    check_memory,
    dot_tokens,
    drawn,
    of_kind,
    products,
    root_of,
)

SUFFIXES = ("html", "svg")
HOSTILE = "</text><script>alert(\"1)</script>&amp;]]>\\\x00\ud800'"


def layer(x: Any, w: Any, rate: Any) -> Any:
    h = flow.tanh(x @ w) * rate
    w -= x.T @ h
    return flow.exp(h - h.sum(axis=0)), h[1:]


def traced(device: str = "cpu") -> Program:
    x = flow.ones((64, 32), device=device)
    return flow.graph.trace(layer, x, flow.ones((32, 10), device=device), 0.5).program


def check_operations(boxes: list[Box], program: Program) -> None:
    """All operations and values are there, each with its name, types and line."""
    main = program.main
    operations = {int(box.data["op"]): box for box in of_kind(boxes, "op")}
    inputs = len(list(main.inputs()))
    values = sorted(int(x) for box in of_kind(boxes, "op") for x in box.data["values"].split())
    assert values == list(range(inputs + sum(len(op.results) for op in main.ops)))
    assert operations.keys() - {-1} == set(range(len(main.ops)))
    for number, op in enumerate(main.ops):
        text = "\n".join(operations[number].texts)
        assert op.name in operations[number].title
        if op.site:
            assert f"{Path(op.site[0]).name}:{op.site[1]}" in text
        for value in op.results[:1]:
            assert f"[{','.join(map(str, value.type.shape))}]" in text
    for a, b in combinations(of_kind(boxes, "op"), 2):
        assert not a.overlaps(b)
    for box in of_kind(boxes, "op"):  # texts are inside: letters are at most 6.7 wide
        assert max(map(len, box.texts)) * 6.7 <= box.right - box.left


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_all_operations_and_values_of_a_program(suffix: str, device: str, tmp_path: Path) -> None:
    program = traced(device)
    boxes = drawn(program, tmp_path / f"p.{suffix}")
    check_operations(boxes, program)
    texts = "\n".join(line for box in boxes for line in box.texts)
    for mark in ("result 0", "result 1", "assigned to", "%0 = argument x"):
        assert mark in texts


def test_uses_stand_below_what_they_use(tmp_path: Path) -> None:
    program = traced()
    boxes = of_kind(drawn(program, tmp_path / "p.svg"), "op")
    maker = {int(x): box for box in boxes for x in box.data["values"].split()}
    numbers = {value: k for k, value in enumerate(program.main.inputs())}
    for number, op in enumerate(program.main.ops):
        box = next(box for box in boxes if box.data["op"] == str(number))
        for value in op.values():
            assert maker[numbers[value]].bottom < box.top
        for value in op.results:
            numbers[value] = len(numbers)


@pytest.mark.parametrize("release", ["plan", "fast"])
@pytest.mark.parametrize("fusion", ["0", "always"])
@pytest.mark.parametrize("device", ["cpu", "mock:0"])
@pytest.mark.parametrize("function", [attention, products])
def test_executables(function: Any, device: str, fusion: str, release: str, tmp_path: Path) -> None:
    arguments = (flow.ones((64, 32), device=device), flow.ones((32, 32), device=device))
    with flow.flags(fusion=fusion):
        program = flow.graph.trace(function, *arguments).program
        run = flow.graph.compile(program, release=release)
        report = run.report()
        path = tmp_path / "run.html"
        boxes = drawn(run, path)
    check_operations(boxes, Program(program.name, {"main": run.function}))
    check_memory(boxes, report)
    segments = of_kind(boxes, "segment")
    assert len(segments) == len(report["segments"])
    for a, b in combinations(segments, 2):
        assert not a.overlaps(b)
    frames = [x for x in root_of(path).iter() if x.get("data-group")]
    assert len(frames) == len(report["groups"])
    assert ("lower bound" in path.read_text()) == bool(report["memory"]["arenas"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_reference_to_a_network(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"p.{suffix}"
    for program in (traced(), flow.graph.compile(traced())):
        program.draw(path)
        text = path.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|//\w|<script|<link|<img|@import|url\((?!#)", text)


@pytest.mark.parametrize("suffix", [*SUFFIXES, "dot"])
def test_hostile_names_are_text(suffix: str, tmp_path: Path) -> None:
    program = flow.graph.trace(lambda x: x + 1, flow.ones(2)).program
    main = program.main
    named = type(main)(
        main.name,
        main.params,
        main.captures,
        main.constants,
        main.ops,
        main.results,
        names={main.params[0]: HOSTILE},
    )
    path = tmp_path / f"p.{suffix}"
    Program(HOSTILE, {"main": named}).draw(path)
    if suffix == "dot":
        assert dot_tokens(path.read_text())[:1] == ["digraph"]
        return
    tags = {x.tag.rpartition("}")[2] for x in root_of(path).iter()}
    assert "script" not in tags
    assert any("<script>" in text for text in root_of(path).itertext())


def test_dot_has_nodes_clusters_and_edges(tmp_path: Path) -> None:
    path = tmp_path / "p.dot"
    with flow.flags(fusion="always"):
        run = flow.graph.compile(traced())
        run.draw(path)
    tokens = dot_tokens(path.read_text())
    nodes = {x for x in tokens if re.fullmatch(r"n\d+", x)}
    assert len(nodes) == len(list(run.function.inputs())) + len(run.function.ops)
    assert sum(x == "subgraph" for x in tokens) == len(run.report()["groups"]) > 0
    assert "->" in tokens


def test_programs_with_little_in_them(tmp_path: Path) -> None:
    sink = flow.zeros(2)

    def writes() -> None:
        sink.__setitem__(..., 1)

    empty = Program("empty")
    same = flow.graph.trace(lambda x: x, flow.ones(2)).program
    for k, program in enumerate((empty, same, flow.graph.trace(writes).program)):
        for suffix in ("html", "svg", "dot"):
            program.draw(tmp_path / f"{k}.{suffix}")
            flow.graph.compile(program).draw(tmp_path / f"run{k}.{suffix}")
    assert "assigned to" in (tmp_path / "2.svg").read_text()


def test_several_devices_are_named(tmp_path: Path) -> None:
    def there(x: Any) -> Any:
        return (x.mock() @ x.mock()).cpu() + 1

    run = flow.graph.compile(flow.graph.trace(there, flow.ones((4, 4))).program, mode="serial")
    boxes = drawn(run, tmp_path / "p.svg")
    texts = "\n".join(line for box in boxes for line in box.texts)
    assert "f64[4,4] mock:0" in texts
    assert "f64[4,4] cpu" in texts
    report = run.report()
    arrows = [x.get("data-wait") for x in root_of(tmp_path / "p.svg").iter() if x.get("data-wait")]
    assert arrows == [f"{before} {after}" for before, after in report["waits"]]
    assert arrows


def test_unknown_extents_and_numbers(tmp_path: Path) -> None:
    main = Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", (None, 3))
        y = x * flow.graph.number("rate")
    boxes = drawn(main, tmp_path / "p.svg")
    texts = "\n".join(line for box in boxes for line in box.texts)
    assert "f64[N0,3]" in texts
    assert "number rate" in texts
    flow.graph.compile(main, {"x": (2, 3)}, [y]).draw(tmp_path / "run.html")


@pytest.mark.slow
def test_large_programs_are_folded(tmp_path: Path) -> None:
    lines = ["program long", "%0: f32[4] cpu = parameter x"]
    count = 12_000
    lines += [f"%{k}: f32[4] cpu = negative(%{k - 1})" for k in range(1, count)]
    program = Program.parse("\n".join([*lines, f"return %{count - 1}"]))
    boxes = of_kind(drawn(program, tmp_path / "p.html"), "op")
    values = sorted(int(x) for box in boxes for x in box.data["values"].split())
    assert values == list(range(count))
    assert len(boxes) <= 500
    assert f"%{count - 1}: f32[4] cpu = negative(%{count - 2})" in (tmp_path / "p.html").read_text()


def test_a_page_has_the_report(tmp_path: Path) -> None:
    path = tmp_path / "p.html"
    run = flow.graph.compile(traced())
    run(flow.ones((64, 32)), flow.ones((32, 10)))
    run.draw(path)
    text = " ".join(root_of(path).itertext())
    for words in ("saved bytes", "in place", "reason", "lower bound", "release", "segments"):
        assert words in text
    assert str(run.program.main.ops[0].site[1]) in text
    rows = [[*row.itertext()] for row in root_of(path).iter("tr")]
    in_place = [row for row in rows if row[-1:] == ["the value lies in the other one's memory"]]
    assert in_place
    assert all(re.match(r"%\d+ \w+", name) for row in in_place for name in row[:2])


def test_jitted_functions_draw_a_program_that_they_keep(tmp_path: Path) -> None:
    step = flow.jit(lambda x: flow.tanh(x) + 1)
    with pytest.raises(ValueError, match="no program so far"):
        step.draw(tmp_path / "p.html")
    step.draw(tmp_path / "p.html", flow.ones(3))
    step(flow.ones(5))
    step.draw(tmp_path / "newest.html")
    assert "f64[3]" in (tmp_path / "p.html").read_text()
    text = (tmp_path / "newest.html").read_text()
    assert "f64[5]" in text
    assert "x.shape[0] 3 -&gt; 5" in text


def test_each_kind_of_call_has_a_colour() -> None:
    assert set(_C.CALL_KINDS) == set(COLOURS)
    assert set(COLOURS.values()) <= set(KINDS)


@pytest.mark.parametrize("path", ["p.png", "p", "html", "p.html.gz"])
def test_other_suffixes_are_refused(path: str, tmp_path: Path) -> None:
    program = traced()
    for draw in (program.draw, flow.graph.compile(program).draw):
        with pytest.raises(ValueError, match=r"ends in \.html, \.svg, \.dot, got"):
            draw(tmp_path / path)
    with pytest.raises(TypeError, match="expected a path, got int"):
        program.draw(3)  # type: ignore[arg-type]
