"""Reports of executables and jitted functions: what they tell, as numbers, texts and pages."""

import json
from typing import Any

import oneflow_lite as flow
from oneflow_lite.graph import passes


def softmax(x: Any) -> Any:
    y = flow.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


def compiled(function: Any, *given: Any, level: int = 3) -> Any:
    return flow.graph.compile(flow.graph.trace(function, *given).program, opt_level=level)


def test_each_pass_has_a_row() -> None:
    run = compiled(lambda x: flow.exp(x + 1) * flow.exp(x + 1), flow.ones(3))
    rows = run.report()["passes"]
    assert rows[0] == {"pass": "", "operations": 5, "groups": 0}
    left = {row["pass"]: (row["operations"], row["groups"]) for row in rows}
    assert left["FoldConstant"] == (5, 0)
    assert left["EliminateCommonSubexpr"] == (3, 0)
    assert left["FuseOps"] == (1, 1)
    assert "sequential" not in left
    text = "operations: 5; after EliminateCommonSubexpr 3; after FuseOps 1 (1 of them groups)"
    assert text in str(run.report())


def test_levels_have_the_rows_of_their_passes() -> None:
    names = [
        [row["pass"] for row in compiled(softmax, flow.ones((3, 4)), level=k).report()["passes"]]
        for k in range(4)
    ]
    assert names[0] == [""]
    assert names[1] == ["", "DeadCode", "OrderByMemory", "FuseOps"]
    assert names[2] == ["", "FoldConstant", *names[1][1:]]
    assert {*names[3]} == {*names[2], "EliminateCommonSubexpr", "AlterOpLayout", "WidenGroups"}


def test_functions_have_their_kernels() -> None:
    x = flow.ones((300, 400))
    steps = ["max", "subtract", "exp", "sum", "divide"]
    (one,) = compiled(softmax, x).report()["functions"]
    assert one["name"] == "fused_max_subtract_exp_sum_divide"
    assert (one["operations"], one["kernels"]) == (5, [steps])
    assert one["saved_bytes"] == 2 * 8 * 300 * 400 + 2 * 8 * 300
    (two,) = compiled(softmax, x, level=2).report()["functions"]
    assert (two["kernels"], two["saved_bytes"]) == ([["subtract", "exp"]], 8 * 300 * 400)
    (small,) = compiled(softmax, flow.ones((3, 4)), level=2).report()["functions"]
    assert (small["kernels"], small["saved_bytes"]) == ([["subtract"], ["exp"]], 0)
    assert compiled(softmax, x, level=0).report()["functions"] == []


def test_kernels_of_programs_that_draw() -> None:
    """Draws of the host are no operations of a run."""
    random = flow.random.default_rng(0)

    def draws(x: Any) -> Any:
        return (flow.exp(x + random.normal(size=(300, 400))) * 2).argsort(axis=1)

    (row,) = compiled(draws, flow.ones((300, 400))).report()["functions"]
    assert row["kernels"] == [["add", "exp", "multiply"]]


def test_a_report_is_a_plain_dict_and_a_page() -> None:
    f = flow.jit(softmax)
    f(flow.ones((300, 400)))
    f(flow.ones((30, 400)))
    with passes.PassContext(opt_level=0):
        f(flow.ones((30, 400)))
    report = f.report()
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain == report.to_dict()
    assert [len(run["functions"]) for run in plain["runs"]] == [1, 1, 0]
    page = report.page()
    assert page.startswith("<!DOCTYPE html>")
    for text in ("softmax", "program 2", "EliminateCommonSubexpr", "x.shape", "1,924,800"):
        assert text in page, text
    alone = compiled(softmax, flow.ones((3, 4))).report()
    assert json.loads(json.dumps(alone.to_dict()))["passes"] == alone["passes"]
    assert "report of softmax" in alone.page()


def test_the_text_of_a_jitted_function_has_its_programs() -> None:
    f = flow.jit(softmax)
    f(flow.ones((300, 400)))
    text = str(f.report())
    assert "program 0:\n    5 steps, mode auto" in text
    assert "fused_max_subtract_exp_sum_divide in 1 kernel: " in text
