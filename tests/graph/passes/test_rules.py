"""Rules that users register: for operations of a device, and for layouts."""

from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, passes, trace
from oneflow_lite.graph.passes import alter_layout, device_rules

IMAGE = (2, 32, 3, 5)


@pytest.fixture(autouse=True)
def own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_rules, "_RULES", {})
    monkeypatch.setattr(alter_layout, "_RULES", {})


def names(program: Program) -> list[str]:
    return [op.name for op in program.main.ops if not op.is_view]


def images(*shape: int) -> flow.Tensor:
    return flow.arange(flow.zeros(shape or IMAGE).size, dtype="float32").reshape(shape or IMAGE)


def check_bits(program: Program, made: Program, *given: Any) -> None:
    made.verify()
    assert Program.parse(str(made)) == made
    for a, b in zip(
        flow.graph.compile(program)(*given), flow.graph.compile(made)(*given), strict=True
    ):
        assert a.numpy().tobytes() == b.numpy().tobytes()
        assert a.strides == b.strides


# --- Devices


def test_rules_are_of_a_device() -> None:
    @passes.register_device_rule("negative", "mock")
    def negative(rewriter: passes.Rewriter, op: Any) -> Any:
        return rewriter.emit(flow.multiply, op.operands[0], -1)

    for device, expected in (("mock", ["multiply"]), ("cpu", ["negative"])):
        program = trace(lambda x: -x, flow.ones(3, device=device)).program
        assert names(passes.DeviceRules()(program)) == expected


def test_the_rule_of_the_highest_level_is_asked_first() -> None:
    asked = []

    def rule(name: str, level: int, makes: bool) -> None:
        @passes.register_device_rule("negative", "cpu", level)
        def negative(rewriter: passes.Rewriter, op: Any) -> Any:
            asked.append(name)
            return rewriter.emit(flow.multiply, op.operands[0], -1) if makes else None

    rule("low", 1, True)
    rule("high", 20, False)
    rule("middle", 10, True)
    program = trace(lambda x: -x, flow.ones(3)).program
    assert names(passes.DeviceRules()(program)) == ["multiply"]
    assert asked == ["high", "middle"]


def test_jit_applies_rules_where_they_are_required() -> None:
    @passes.register_device_rule("exp", "cpu")
    def exp(rewriter: passes.Rewriter, op: Any) -> Any:
        return rewriter.emit(flow.multiply, op.operands[0], 3)

    f = flow.jit(lambda x: flow.exp(x))
    x = flow.zeros(2)
    assert f(x).tolist() == [1, 1]
    with passes.PassContext(required_pass=["DeviceRules"]):
        for _ in range(3):
            assert f(x).tolist() == [0, 0]
    for _ in range(3):
        assert f(x).tolist() == [1, 1]
    assert f.report()["programs"] == 2


def test_a_wrong_rule_is_named() -> None:
    @passes.register_device_rule("exp", "cpu")
    def exp(rewriter: passes.Rewriter, op: Any) -> Any:
        return op.name

    program = trace(lambda x: flow.exp(x) + 1, flow.ones(3)).program
    with pytest.raises(TypeError, match="expected an Op or its values, got str") as raised:
        passes.DeviceRules()(program)
    notes = " ".join(raised.value.__notes__)
    assert "exp" in notes
    assert "DeviceRules" in notes
    assert "test_rules.py" in notes


# --- Layouts


def cube_roots() -> None:
    @passes.register_alter_op_layout("cbrt")
    def cbrt(op: Any) -> Any:
        return passes.Altered(passes.NCHW16c, (0,), flow.cbrt)


def test_elementwise_operations_follow_and_values_are_packed_once() -> None:
    cube_roots()
    c = images()

    def function(x: flow.Tensor) -> flow.Tensor:
        y = flow.cbrt(x)
        return (y + c) * (flow.cbrt(y) - c) + 1

    program = trace(function, images()).program
    made = passes.AlterOpLayout()(program)
    assert names(made).count("layout_transform") == 3  # x, c, and the result
    assert [op.results[0].type.shape for op in made.main.ops if op.name == "cbrt"] == [
        (2, 2, 3, 5, 16)
    ] * 2
    check_bits(program, made, images())


def test_others_and_results_get_what_they_had() -> None:
    cube_roots()

    def function(x: flow.Tensor) -> Any:
        y = flow.cbrt(x)
        return y, y.sum(axis=1), y + flow.ones((32, 1, 1), dtype="float32")

    program = trace(function, images()).program
    made = passes.AlterOpLayout()(program)
    assert names(made).count("layout_transform") == 2
    check_bits(program, made, images())


def test_shapes_that_cannot_be_packed_stay() -> None:
    cube_roots()
    for shape in ((2, 8, 3, 3), (32,), (2, 32, 3)):
        program = trace(lambda x: flow.cbrt(x) + 1, images(*shape)).program
        assert passes.AlterOpLayout()(program) == program


def test_assigned_values_get_what_they_had() -> None:
    cube_roots()

    def function(x: flow.Tensor) -> None:
        x[...] = flow.cbrt(x)

    program = trace(function, images()).program
    made = passes.AlterOpLayout()(program)
    made.verify()
    one, other = images(), images()
    flow.graph.compile(program)(one)
    flow.graph.compile(made)(other)
    assert one.numpy().tobytes() == other.numpy().tobytes()


def test_packed_constants_are_folded() -> None:
    cube_roots()
    program = trace(
        lambda x: flow.cbrt(x) + flow.tensor([[[[2.0]]]] * 1, dtype="float32").copy(), images()
    ).program
    made = passes.AlterOpLayout()(program)
    check_bits(program, made, images())


def test_the_rule_of_the_highest_level_wins() -> None:
    cube_roots()

    @passes.register_alter_op_layout("cbrt", level=11)
    def stays(op: Any) -> Any:
        return None

    program = trace(lambda x: flow.cbrt(x), images()).program
    assert passes.AlterOpLayout()(program) == program


def test_a_rule_has_to_return_what_it_should() -> None:
    @passes.register_alter_op_layout("cbrt")
    def wrong(op: Any) -> Any:
        return "NCHW"

    program = trace(lambda x: flow.cbrt(x), images()).program
    with pytest.raises(TypeError, match="rule for cbrt, got str"):
        passes.AlterOpLayout()(program)
