"""Passes and rules of users that do what they should not: each is an error, and the next is not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Function, Program, passes, trace
from oneflow_lite.graph.ir import Bound, GroupCall, Value
from oneflow_lite.graph.passes import alter_layout, device_rules

PROGRAM = trace(lambda x, y: flow.exp(x) + y, flow.ones(3), flow.ones(3)).program
MAIN = PROGRAM.main
EXP, ADD = MAIN.ops
FRESH = Value(EXP.results[0].type)
SHORT = Value(replace(FRESH.type, shape=(2,)))


def with_exp(**changes: Any) -> Callable[[Any], Function]:
    return lambda main: replace(main, ops=(replace(EXP, **changes), ADD))


def with_main(**changes: Any) -> Callable[[Any], Function]:
    return lambda main: replace(main, **changes)


WRONG = {
    "nothing": (lambda main: None, TypeError, "expected a Function .* got NoneType"),
    "no operations": (with_main(ops=None), TypeError, "ops of main: expected tuple or list, got"),
    "numbers": (with_main(ops=(3,)), TypeError, "ops of main: expected Op, got int"),
    "no maker": (with_main(ops=(ADD,)), ValueError, r"\[add\] \(.*py:\d+\) uses a value that is"),
    "no user": (with_main(ops=(EXP,)), ValueError, "returns a value that nothing makes"),
    "a cycle": (with_exp(operands=ADD.results), ValueError, r"\[exp\] .* not made before it"),
    "itself": (with_exp(operands=EXP.results), ValueError, r"\[exp\] .* not made before it"),
    "twice": (with_main(ops=(EXP, EXP, ADD)), ValueError, "makes a value that is there already"),
    "a type": (with_exp(results=(SHORT,)), ValueError, r"\[add\] .* uses a value that is not made"),
    "a shape": (
        lambda main: replace(
            main,
            ops=(
                replace(EXP, results=(SHORT,)),
                replace(ADD, operands=(SHORT, ADD.operands[1])),
            ),
        ),
        ValueError,
        r"\[exp\] \(.*py:\d+\) makes f64\[3\] cpu, the program says f64\[2\] cpu",
    ),
    "an operand": (
        with_exp(operands=("x",)),
        TypeError,
        r"py:\d+\): expected Value or Scalar, got",
    ),
    "no tuple": (with_exp(operands=None), TypeError, "operands of .*: expected tuple or list, got"),
    "no operand": (with_exp(operands=()), ValueError, r"\[exp\] .* expected 1 operands, got 0"),
    "a call": (with_exp(call=None), TypeError, r"py:\d+\): expected OpCall or GroupCall, got"),
    "a function": (with_exp(call=GroupCall("lost")), ValueError, "no primitive function of this"),
    "a lane": (with_exp(lane=99), ValueError, r"\[exp\] .* is on lane 99, expected 0 to"),
    "a lane's name": (with_exp(lane="1"), TypeError, "lane of .*: expected int or None, got str"),
    "an effect": (with_exp(effects=("rain",)), ValueError, "has the effect rain"),
    "results": (with_main(results=(3,)), TypeError, "results of main: expected Value, got int"),
    "a parameter": (with_main(params=MAIN.params * 2), ValueError, "an input stands there twice"),
    "an assign": (with_main(assigns=((FRESH, FRESH),)), ValueError, "assigns to what is no"),
    "half an assign": (with_main(assigns=((FRESH,),)), TypeError, "expected two values, got 1"),
    "constants": (with_main(constants=(flow.ones(3),)), TypeError, "expected Bound, got Tensor"),
    "a constant": (
        with_main(constants=(Bound(MAIN.params[0], None),)),
        ValueError,
        "an input stands there twice",
    ),
    "names": (with_main(names=None), TypeError, "names of main: expected Mapping, got NoneType"),
}


@pytest.mark.parametrize(("make", "error", "text"), WRONG.values(), ids=WRONG)
def test_what_a_pass_makes_is_looked_at(make: Any, error: Any, text: str) -> None:
    wrong = passes.function_pass(lambda function, program, context: make(function), name="Wrong")
    row = passes.Sequential([wrong, passes.DeadCode()])
    with passes.PassContext(opt_level=3) as context:
        with pytest.raises(error, match=text) as caught:
            row(PROGRAM)
        assert passes.PassContext.current() is context
    assert str(caught.value).startswith("[Wrong] ")
    assert passes.DeadCode()(PROGRAM) == PROGRAM


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda program: None, TypeError, "expected a Program from the pass, got NoneType"),
        (lambda program: program.main, TypeError, "expected a Program from the pass, got Function"),
        (lambda program: Program("p", {}), ValueError, "p has no function main"),
        (lambda program: Program("p", {"main": 3}), TypeError, "main: expected Function, got int"),
    ],
)
def test_what_a_pass_of_programs_makes_is_looked_at(make: Any, error: Any, text: str) -> None:
    wrong = passes.module_pass(lambda program, context: make(program), name="Wrong")
    with pytest.raises(error, match=text) as caught:
        wrong(PROGRAM)
    named = [str(caught.value), *getattr(caught.value, "__notes__", [])]
    assert any("Wrong" in line for line in named)


def test_a_group_that_needs_itself_is_refused() -> None:
    body = replace(MAIN, name="fused", primitive=True)
    call = replace(EXP, call=GroupCall("fused"), operands=MAIN.params)
    main = replace(MAIN, ops=(call, ADD))
    inner = replace(body, ops=(replace(call, results=EXP.results), ADD))
    wrong = passes.module_pass(
        lambda program, context: Program("p", {"main": main, "fused": inner}), name="Wrong"
    )
    with pytest.raises(ValueError, match=r"\[Wrong\] .* calls the function fused"):
        wrong(PROGRAM)


def test_calls_that_meet_a_wrong_rule_raise_and_later_ones_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_rules, "_RULES", {})
    monkeypatch.setattr(alter_layout, "_RULES", {})

    @passes.register_alter_op_layout("exp")
    def wrong(op: Any) -> Any:
        return passes.Altered(passes.NCHW16c, (0,), lambda x: x.sum())

    @passes.register_device_rule("tanh", "cpu")
    def broken(rewriter: Any, op: Any) -> Any:
        raise KeyError("lost")

    f = flow.jit(lambda x: flow.tanh(flow.exp(x)))
    x = flow.zeros((1, 16, 2, 2), dtype="float32")
    expected = flow.tanh(flow.exp(x)).tolist()
    with pytest.raises(ValueError, match="AlterOpLayout"):
        f(x)
    required = passes.PassContext(1, required_pass=["DeviceRules"])
    with required, pytest.raises(KeyError) as caught:
        f(x)
    notes = " ".join(caught.value.__notes__)
    assert "at the operation tanh (" in notes
    assert "in the pass DeviceRules" in notes
    for _ in range(3):
        with passes.PassContext(2):
            assert f(x).tolist() == expected
    with pytest.raises(ValueError, match="AlterOpLayout"):
        f(x)


def test_instruments_that_raise_stop_a_call_alone() -> None:
    @passes.pass_instrument
    class Refuses:
        def run_before_pass(self, program: Program, info: passes.PassInfo) -> None:
            raise RuntimeError(f"not {info.name}")

    f = flow.jit(lambda x: flow.exp(x) + 1)
    with passes.PassContext(3, instruments=[Refuses()]):
        with pytest.raises(RuntimeError, match="not sequential"):
            f(flow.zeros(3))
        assert len(passes.PassContext.current().instruments) == 1
    assert f(flow.zeros(3)).tolist() == [2, 2, 2]
