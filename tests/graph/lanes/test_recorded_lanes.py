"""Programs record the compute lanes of blocks, and run their operations there."""

from dataclasses import replace
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable, Program, passes
from tests.support.graphs import plans

DEVICES = ("cpu", "mock:0")


def branches(x: Any) -> Any:
    """A product on the caller's lane, another one on lane 1, and their sum."""
    y = x @ x
    with flow.vm.lane(1):
        z = flow.tanh(x) @ x
    return y + z


def traced(device: str = "cpu", size: int = 40) -> tuple[Program, flow.Tensor]:
    x = flow.full((size, size), 0.1, device=device)
    return flow.graph.trace(branches, x).program, x


def lanes_of(program: Program) -> list[int | None]:
    return [op.lane for op in program.main.ops]


def streams(run: Any, *arguments: flow.Tensor) -> set[str]:
    """Where the kernels of a call run."""
    with flow.profiler.profile() as trace:
        run(*arguments)
        flow.synchronize()
    return {r.lane for r in trace.records if r.kind == "run" and " compute" in r.lane}


def test_operations_have_the_lanes_of_their_blocks() -> None:
    program, _ = traced()
    assert lanes_of(program) == [None, 1, 1, None]
    program.verify()


def test_views_have_none() -> None:
    def work(x: Any) -> Any:
        with flow.vm.lane(2):
            return x[1:] * 2

    program = flow.graph.trace(work, flow.ones(3)).program
    assert [(op.is_view, op.lane) for op in program.main.ops] == [(True, None), (False, 2)]


def test_text_and_equality() -> None:
    program, x = traced()
    lines = [line for line in str(program).splitlines() if " lane " in line]
    assert len(lines) == 2
    assert all(line.split("  # ")[0].endswith(" lane 1") for line in lines)
    again = Program.parse(str(program))
    assert (again, again.digest, lanes_of(again)) == (program, program.digest, lanes_of(program))

    def on_no_lane(x: Any) -> Any:
        return x @ x + flow.tanh(x) @ x

    other = flow.graph.trace(on_no_lane, x).program
    assert other != program
    assert other.digest != program.digest


def test_text_with_all_that_an_operation_may_have() -> None:
    def work(x: Any, host: Any) -> Any:
        with flow.vm.lane(3):
            flow.vm.host_func(print, [x], [host])
            x += 1
        return x

    program = flow.graph.trace(work, flow.ones(3), flow.ones(2)).program
    assert Program.parse(str(program)) == program
    assert lanes_of(Program.parse(str(program))) == [3, 3]


@pytest.mark.parametrize("lane", [-1, 4, 99])
def test_a_lane_that_there_is_not(lane: int) -> None:
    program, _ = traced()
    ops = (replace(program.main.ops[0], lane=lane), *program.main.ops[1:])
    wrong = Program("wrong", {"main": replace(program.main, ops=ops)})
    with pytest.raises(ValueError, match=rf"\[matmul\].* is on lane {lane}, expected 0 to 3"):
        flow.graph.compile(wrong)


def test_the_lane_of_the_trace_does_not_count() -> None:
    """What is in no block runs on the lane of whoever calls it."""
    with flow.vm.lane(2):
        program, x = traced("mock:0")
        assert lanes_of(program) == [None, 1, 1, None]
        run = flow.graph.compile(program)
        assert streams(run, x) == {"mock:0 compute2", "mock:0 compute1"}
    assert streams(run, x) == {"mock:0 compute", "mock:0 compute1"}
    step = flow.jit(branches)
    with flow.vm.lane(3):
        assert streams(step, x) >= {"mock:0 compute3", "mock:0 compute1"}
    assert streams(step, x) == {"mock:0 compute", "mock:0 compute1"}
    assert step.report()["traces"] == 1


@pytest.mark.parametrize("mode", ["auto", "serial", "parallel", "sequential", "naive"])
def test_each_mode_uses_them(mode: str) -> None:
    program, x = traced("mock:0")
    run = flow.graph.compile(program, mode=mode)
    expected = branches(x).numpy().tobytes()
    assert streams(run, x) == {"mock:0 compute", "mock:0 compute1"}
    assert run(x)[0].numpy().tobytes() == expected
    with flow.flags(sync=True):
        assert streams(run, x) == {"mock:0 compute", "mock:0 compute1"}


def test_copies_inside_a_device_and_to_peers() -> None:
    def work(x: Any) -> Any:
        with flow.vm.lane(1):
            return x.to("mock:1")

    x = flow.ones(3, device="mock:0")
    run = flow.graph.compile(flow.graph.trace(work, x).program)
    assert streams(run, x) == {"mock:1 compute1"}
    assert run.report()["lanes"] == ["mock:1 compute1"]


@pytest.mark.parametrize("device", DEVICES)
def test_segments_of_a_lane_have_its_operations_only(device: str) -> None:
    program, _ = traced(device)
    run = flow.graph.compile(program, mode="serial")
    plans.check(run)
    report = run.report()
    compute, other = f"{device} compute", f"{device} compute1"
    assert sorted(report["lanes"]) == [compute, other]
    rows = [(each["lane"], each["steps"]) for each in report["segments"]]
    first = [(other, ["tanh", "matmul"]), (compute, ["matmul"])]
    assert (sorted(rows[:2]), rows[2:]) == (sorted(first), [(compute, ["add"])])
    assert report["waits"] == [(rows.index(first[0]), 2)]
    assert f"3 segments on {report['lanes'][0]}, {report['lanes'][1]}; 1 waits" in str(report)


def test_groups_take_operations_of_their_lane_only() -> None:
    """As in eager (contract/test_lanes.py)."""

    def work(x: Any) -> Any:
        a = x * 2
        with flow.vm.lane(1):
            b = flow.tanh(a + 1)
        return b + (a - 1) * 3

    x = flow.ones(300_000)
    with flow.flags(fusion="always", inline="0"):
        run = flow.graph.compile(flow.graph.trace(work, x).program, mode="serial")
        expected = work(x).numpy().tobytes()
    plans.check(run)
    groups = [each["steps"] for each in run.report()["groups"]]
    assert ["add", "tanh"] in groups
    assert all(steps == ["add", "tanh"] or "tanh" not in steps for steps in groups)
    assert run(x)[0].numpy().tobytes() == expected


@pytest.mark.parametrize("device", DEVICES)
def test_a_segment_ends_behind_what_another_lane_waits_for(device: str) -> None:
    """Work of the lane that comes later holds the other one up no longer than to hand it over."""

    def work(x: Any) -> Any:
        first = x @ x
        rest = first
        for _ in range(3):
            rest = rest @ x
        with flow.vm.lane(1):
            other = flow.tanh(x @ first)
        return rest + other

    x = flow.full((100, 100), 0.1, device=device)
    run = flow.graph.compile(flow.graph.trace(work, x).program, mode="serial")
    plans.check(run)
    report = run.report()
    assert report["segments"][0]["steps"] == ["matmul"]
    before, after = report["waits"][0]
    assert (before, report["segments"][after]["lane"]) == (0, f"{device} compute1")
    assert run(x)[0].numpy().tobytes() == work(x).numpy().tobytes()


def test_passes_keep_them() -> None:
    class Plain(passes.Rewriter):
        def visit_op(self, op: Any) -> Any:
            return self.emit(flow.tanh, *op.operands) if op.name == "tanh" else op

    program, _ = traced()
    main = Plain().rewritten(program.main)
    assert [(op.name, op.lane) for op in main.ops] == [
        *(("matmul", None), ("tanh", 1), ("matmul", 1), ("add", None))
    ]
    fewer = passes.Sequential([passes.FoldConstant(), passes.DeadCode()])(program)
    assert lanes_of(fewer) == lanes_of(program)


def test_programs_by_hand() -> None:
    main = Program("main")
    with flow.graph.building(main):
        y = branches(flow.graph.data("x", (8, 8)).T)
    run = flow.graph.compile(main, {"x": (8, 8)}, [y])
    report = run.executable.report()
    assert {"cpu compute", "cpu compute1"} == set(report["lanes"])
    (found,) = run({"x": flow.ones((8, 8))})
    assert found.numpy().tobytes() == branches(flow.ones((8, 8)).T).numpy().tobytes()


# --- divided by the executable


def wide(x: Any) -> Any:
    """Three products that do not need each other."""
    return (x @ x) + (x.T @ x) @ flow.tanh(x.T @ x)


def divided(device: str, lanes: int, **options: Any) -> tuple[Executable, flow.Tensor]:
    x = flow.full((120, 120), 0.01, device=device)
    return flow.graph.compile(flow.graph.trace(wide, x).program, lanes=lanes, **options), x


@pytest.mark.parametrize("device", DEVICES)
def test_independent_operations_go_to_other_lanes(device: str) -> None:
    run, x = divided(device, 2, mode="serial")
    plans.check(run)
    assert set(run.report()["lanes"]) == {f"{device} compute", f"{device} compute1"}
    assert streams(run, x) == {f"{device} compute", f"{device} compute1"}
    assert run(x)[0].numpy().tobytes() == wide(x).numpy().tobytes()
    one, _ = divided(device, 1, mode="serial")
    assert one.report()["lanes"] == [f"{device} compute"]


def test_small_work_is_not_divided() -> None:
    """To hand it over takes longer."""
    x = flow.ones((4, 4))
    run = flow.graph.compile(flow.graph.trace(wide, x).program, lanes=4, mode="serial")
    assert run.report()["lanes"] == ["cpu compute"]


def test_lanes_of_blocks_stay() -> None:
    def work(x: Any) -> Any:
        with flow.vm.lane(3):
            y = x @ x
        return y + x.T @ x

    x = flow.full((120, 120), 0.01)
    run = flow.graph.compile(flow.graph.trace(work, x).program, lanes=2, mode="serial")
    assert {"cpu compute", "cpu compute3"} == set(run.report()["lanes"])


def test_jit_and_the_executor_take_lanes() -> None:
    x = flow.full((120, 120), 0.01, device="mock:0")
    step = flow.jit(wide, lanes=2)
    step(x)
    assert streams(step, x) == {"mock:0 compute", "mock:0 compute1"}
    main = Program("main")
    with flow.graph.building(main):
        y = wide(flow.graph.data("x", (120, 120)))
    exe = flow.graph.Executor("mock:0", lanes=2)
    assert streams(lambda: exe.run(main, {"x": x}, [y])) >= {"mock:0 compute", "mock:0 compute1"}


@pytest.mark.parametrize(
    ("lanes", "kind", "message"),
    [
        (0, ValueError, "lanes: expected 1 to 4, got 0"),
        (5, ValueError, "lanes: expected 1 to 4, got 5"),
        ("2", TypeError, "lanes: expected an integer, got '2'"),
        (True, TypeError, "lanes: expected an integer, got True"),
    ],
)
def test_bad_numbers_of_lanes(lanes: Any, kind: type[Exception], message: str) -> None:
    program, _ = traced()
    with pytest.raises(kind, match=rf"\[compile\] {message}"):
        flow.graph.compile(program, lanes=lanes)
    with pytest.raises(kind, match=rf"\[jit\] {message}"):
        flow.jit(branches, lanes=lanes)
    with pytest.raises(kind, match=message):
        flow.graph.Executor(lanes=lanes)
