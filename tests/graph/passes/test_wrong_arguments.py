"""What is given to passes, contexts and rules and cannot be: the error names function and argument,
and comes when it is given."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Function, Program, passes, trace
from oneflow_lite.graph.ir import Value

WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: passes.PassContext(instruments=["x"]),
        TypeError,
        r"\[PassContext\] instruments: .*'x'",
    ),
    (
        lambda: passes.PassContext(instruments=3),
        TypeError,
        r"\[PassContext\] instruments: .* got 3",
    ),
    (
        lambda: passes.PassContext(instruments=[passes.PassTiming]),
        TypeError,
        r"\[PassContext\] instruments: expected objects",
    ),
    (lambda: passes.PassContext(config=3), TypeError, r"\[PassContext\] config: .*, got 3"),
    (lambda: passes.PassContext(required_pass=None), TypeError, r"required_pass: .*, got None"),
    (
        lambda: passes.PassContext(disabled_pass=["FuseOp"]),
        ValueError,
        r"\[PassContext\] disabled_pass: there is no pass FuseOp so far; did you mean FuseOps\?",
    ),
    (
        lambda: passes.PassContext(required_pass=["nope"]),
        ValueError,
        "there is no pass nope so far",
    ),
    (lambda: passes.pass_instrument(3), TypeError, r"\[pass_instrument\] expected a class, got 3"),
    (lambda: passes.Sequential(3), TypeError, r"\[Sequential\] passes: .*, got 3"),
    (lambda: passes.Sequential([], "a"), TypeError, r"\[Sequential\] opt_level: .*, got 'a'"),
    (lambda: passes.register_config("my.x", 3), TypeError, r"\[register_config\] kind: .* got 3"),
    (lambda: passes.register_config(3, int), TypeError, r"\[register_config\] key: .* got 3"),
    (
        lambda: passes.function_pass(lambda f, p, c: f, opt_level="a"),
        TypeError,
        r"\[function_pass\] opt_level: expected an integer, got 'a'",
    ),
    (lambda: passes.module_pass(3), TypeError, r"\[module_pass\] transform: .*, got 3"),
    (lambda: passes.module_pass(name=3), TypeError, r"\[module_pass\] name: .*, got 3"),
    (lambda: passes.module_pass(required="DeadCode"), TypeError, r"required: .* list of names"),
    (
        lambda: passes.register_device_rule("tanh", "cpuu"),
        ValueError,
        r"\[register_device_rule\] device_type: there is no cpuu; did you mean cpu\?",
    ),
    (
        lambda: passes.register_device_rule("tanh", "cpu", "a"),
        TypeError,
        r"\[register_device_rule\] level: expected an integer, got 'a'",
    ),
    (
        lambda: passes.register_alter_op_layout("tanh", level="a"),
        TypeError,
        r"\[register_alter_op_layout\] level: expected an integer, got 'a'",
    ),
]


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_wrong_arguments(call: Callable[[], Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    "required",
    [iter(["DeadCode"]), (x for x in ("DeadCode",)), {"DeadCode": 1}.keys()],
    ids=["iterator", "generator", "keys"],
)
def test_prerequisites_are_any_strings(required: Any) -> None:
    made = passes.Sequential([], np.int64(2), required=required)
    assert (made.info.level, type(made.info.level)) == (2, int)
    assert made.info.required == ("DeadCode",)


def test_levels_are_any_integers() -> None:
    level = np.int64(2)
    assert passes.function_pass(lambda f, p, c: f, opt_level=level).info.level == 2
    assert passes.PassContext(level).key == passes.PassContext(2).key
    program = trace(lambda x: x + 1, flow.ones(3)).program
    run = flow.graph.compile(program, opt_level=level)  # type: ignore[arg-type]
    assert run(flow.ones(3))[0].tolist() == [2.0] * 3
    with pytest.raises(TypeError, match=r"opt_level: expected an integer, got True"):
        passes.Sequential([], True)


def test_a_pass_of_a_user_has_a_name_once_it_is_made() -> None:
    with pytest.raises(ValueError, match="there is no pass tested_later so far"):
        passes.PassContext(disabled_pass=["tested_later"])
    made = passes.function_pass(lambda f, p, c: f, name="tested_later")
    assert not passes.PassContext(disabled_pass=["tested_later"]).is_enabled(made.info)


class Wrong(passes.Rewriter):
    def visit_constant(self, bound: Any) -> Any:
        return "x"


def test_a_constant_that_becomes_no_constant() -> None:
    program = trace(lambda x: flow.tanh(x) + flow.tensor([1.0, 2.0]), flow.ones(2)).program

    @passes.function_pass
    def wrong(function: Function, program: Program, context: Any) -> Function:
        return Wrong().rewritten(function)

    with pytest.raises(TypeError, match="expected a Bound or a Tensor, got str") as caught:
        wrong(program)
    notes = "\n".join(caught.value.__notes__)
    assert "at an operand of add (" in notes
    assert "test_wrong_arguments.py:" in notes
    assert "in the pass wrong" in notes


def test_a_pass_that_makes_a_function_of_other_parameters_or_results() -> None:
    program = trace(lambda x: flow.tanh(x), flow.ones(2)).program
    other = trace(lambda x: flow.tanh(x), flow.ones(3)).program
    several = trace(lambda x, y: flow.tanh(x), flow.ones(2), flow.ones(2)).program

    @passes.function_pass
    def wider(function: Function, program: Program, context: Any) -> Function:
        return other.main

    @passes.module_pass
    def more(program: Program, context: Any) -> Program:
        return several

    @passes.function_pass
    def twice(function: Function, program: Program, context: Any) -> Function:
        return replace(function, results=function.results * 2)

    words = r"the parameters of <lambda> are f64\[2\] cpu, and became "
    with pytest.raises(ValueError, match=rf"^\[wider\] .*{words}f64\[3\] cpu$"):
        wider(program)
    with pytest.raises(ValueError, match=rf"^\[more\] .*{words}f64\[2\] cpu, f64\[2\] cpu$"):
        more(program)
    with pytest.raises(ValueError, match=r"^\[twice\] .* <lambda> returns 1 values, and then 2$"):
        twice(program)


@pytest.mark.parametrize("method", ["visit_param", "visit_capture"])
def test_inputs_that_become_none(method: str) -> None:
    class Junk(passes.Rewriter):
        pass

    setattr(Junk, method, lambda self, x: np.float64(3))
    w = flow.ones(2)
    program = trace(lambda x: x + w, flow.ones(2)).program
    wanted = Value.__name__ if method == "visit_param" else "Bound"
    with pytest.raises(TypeError, match=rf"\[{method}\] expected a {wanted}, got float64"):
        Junk().rewritten(program.main)
