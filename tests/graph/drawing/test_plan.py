"""Memory plans of programs that are not compiled, read back from pictures."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable, Program, passes
from oneflow_lite.graph.drawing.plan import plan_of
from oneflow_lite.graph.made import watched
from tests.support.graphs.pictures import (
    Box,
    attention,
    check_memory,
    drawn,
    of_kind,
    products,
    root_of,
)


def noisy(x: Any, w: Any) -> Any:
    """Draws of the host, a captured tensor, and one that is written."""
    noise = flow.random.default_rng(3)
    h = flow.tanh(x @ w) + noise.normal(size=w.shape[1])
    SUM.__iadd__(h.sum())
    return h * SUM + noise.uniform(size=(len(x), 1))


SUM = flow.zeros(())


def places(boxes: list[Box]) -> list[tuple[str, ...]]:
    """When and where rectangles are, without the numbers of inputs."""
    keys = ("memory", "begin", "end", "offset", "bytes")
    return sorted((box.title, *(box.data[key] for key in keys)) for box in of_kind(boxes, "base"))


def words(path: Path) -> str:
    return " ".join(root_of(path).itertext())


@pytest.mark.parametrize("suffix", ["html", "svg"])
@pytest.mark.parametrize(
    ("function", "device"),
    [(noisy, "cpu"), *product((attention, products), ("cpu", "mock:0"))],
)
def test_the_plan_is_that_of_a_run_without_passes(
    function: Any, device: str, suffix: str, tmp_path: Path
) -> None:
    arguments = (flow.ones((64, 32), device=device), flow.ones((32, 32), device=device))
    program = flow.graph.trace(function, *arguments).program
    run: Executable = flow.graph.compile(program, opt_level=0)
    report = run.report()
    assert sum(arena["bytes"] for arena in report["memory"]["arenas"]) > 0
    boxes = drawn(program, tmp_path / f"p.{suffix}")
    check_memory(boxes, plan_of(program.functions).report)
    assert places(boxes) == places(drawn(run, tmp_path / f"run.{suffix}"))
    text = words(tmp_path / f"p.{suffix}")
    for arena in report["memory"]["arenas"]:
        assert f"{arena['bytes']:,} bytes, lower bound {arena['lower_bound']:,}" in text
    assert not of_kind(boxes, "segment")


def test_groups_of_a_program_run_as_groups(tmp_path: Path) -> None:
    """What a primitive function computes for itself is never in memory."""
    program = flow.graph.trace(lambda x: flow.tanh(x) @ (x * 2 + 1), flow.ones((200, 200))).program
    fused = passes.FuseOps()(program)
    assert len(fused.functions) > 1
    sizes = []
    for k, each in enumerate((program, fused)):
        boxes = of_kind(drawn(each, tmp_path / f"{k}.svg"), "base")
        sizes.append(len(boxes))
        assert all(box.texts == () or box.texts[0][0] == "%" for box in boxes)
    assert sizes == [4, 3]


def test_captured_tensors_need_not_be_known(tmp_path: Path) -> None:
    w = flow.ones((32, 32))
    traced = flow.graph.trace(lambda x: flow.tanh(x @ w) @ w, w).program
    parsed = Program.parse(str(traced))
    with pytest.raises(ValueError, match="is not known"):
        flow.graph.compile(parsed)
    found = [places(drawn(each, tmp_path / "p.svg")) for each in (traced, parsed)]
    assert found[0] == found[1] != []


def test_what_is_drawn_is_not_noted_as_made(tmp_path: Path) -> None:
    program = flow.graph.trace(lambda x: x @ x, flow.ones((2, 2))).program
    with watched() as made:
        program.draw(tmp_path / "p.svg")
    assert made == []


def test_programs_by_hand(tmp_path: Path) -> None:
    main = Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", (8, 3))
        w = flow.graph.parameter("w", (3, 3), init=0.0)
        w -= flow.tanh(x.T @ (x @ w)) * flow.graph.number("rate")
    boxes = of_kind(drawn(main, tmp_path / "p.svg"), "base")
    assert any("assigned" in box.title for box in boxes)
    assert "lower bound" in words(tmp_path / "p.svg")


@pytest.mark.parametrize("suffix", ["html", "svg"])
def test_unknown_extents_have_no_plan(suffix: str, tmp_path: Path) -> None:
    main = Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", ("batch", 3))
        y = flow.tanh(x @ x.T) @ x
    boxes = drawn(main, tmp_path / f"p.{suffix}")
    assert of_kind(boxes, "op")
    assert not of_kind(boxes, "base")
    assert "not planned: these extents are not known: batch" in words(tmp_path / f"p.{suffix}")
    flow.graph.compile(main, {"x": (2, 3)}, [y]).draw(tmp_path / f"run.{suffix}")
    assert "not planned" not in words(tmp_path / f"run.{suffix}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("%1: f32[5] cpu = negative(%0)", "the program says f32[5] cpu"),
        ("%1: f32[4] mock:9 = negative(%0)", "mock:9"),
        ("%1: f32[4] cpu = call.nothing(%0)", "no primitive function of this name"),
    ],
)
def test_what_cannot_run_has_no_plan(text: str, reason: str, tmp_path: Path) -> None:
    device = "mock:9" if "mock" in text else "cpu"
    lines = ("program p", f"%0: f32[4] {device} = parameter x", text, "return %1")
    program = Program.parse("\n".join(lines))
    assert not of_kind(drawn(program, tmp_path / "p.svg"), "base")
    (found,) = (x for x in root_of(tmp_path / "p.svg").itertext() if x.startswith("not planned: "))
    assert reason in found


def test_programs_that_need_no_memory_say_so(tmp_path: Path) -> None:
    same = flow.graph.trace(lambda x: x, flow.ones(2)).program
    for k, each in enumerate((Program("empty"), same, flow.graph.compile(same))):
        each.draw(tmp_path / f"{k}.svg")
        assert "none: the program needs none" in words(tmp_path / f"{k}.svg")
