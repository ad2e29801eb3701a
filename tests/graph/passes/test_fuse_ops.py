"""FuseOps and WidenGroups: groups as primitive functions, and programs that run by them."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, passes, trace
from oneflow_lite.graph.primitives import inlined

N = 100_000  # elements, so that groups pay


def program_of(function: Callable[..., Any], *given: Any) -> Program:
    return trace(function, *given).program


def names(program: Program) -> list[str]:
    return [op.name for op in program.main.ops]


def bits(results: Sequence[flow.Tensor]) -> list[bytes]:
    return [x.numpy().tobytes() for x in results]


def fused(program: Program, **config: Any) -> Program:
    with passes.PassContext(opt_level=2, config=config):
        made = passes.FuseOps()(program)
    made.verify()
    return made


def widened(program: Program) -> Program:
    made = passes.WidenGroups()(fused(program))
    made.verify()
    return made


X, W, B = flow.ones((64, 64)), flow.ones((64, 64)), flow.ones(64)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x, w, b: flow.tanh(x @ w + x), ["fused_matmul_add_tanh"]),
        (lambda x, w, b: flow.tanh(x @ w + b), ["fused_matmul_add_tanh"]),
        (lambda x, w, b: (x @ w).sum(axis=0) + b, ["matmul", "sum", "add"]),
        (lambda x, w, b: flow.exp(x + 1).sum(), ["fused_add_exp_sum"]),
        (lambda x, w, b: (x + 1) @ flow.tanh(w), ["add", "tanh", "matmul"]),
        (lambda x, w, b: (y := x + 1, flow.exp(y)), ["add", "exp"]),
        (lambda x, w, b: (x + 1) * (x - 1), ["fused_add_subtract_multiply"]),
        (lambda x, w, b: flow.sort(x + 1) * 2, ["add", "sort", "multiply"]),
    ],
)
def test_groups_are_those_of_tvm(function: Any, expected: list[str]) -> None:
    assert names(fused(program_of(function, X, W, B))) == expected


def test_views_are_made_where_they_are_used() -> None:
    def function(x: flow.Tensor) -> Any:
        y = (x + 1).T
        return flow.exp(y), y

    made = fused(program_of(function, flow.ones((2, 3))))
    assert [op.call.kind for op in made.main.ops].count("view") == 1
    run, plain = flow.graph.compile(made), function(flow.ones((2, 3)))
    results = run(flow.ones((2, 3)))
    assert bits(results) == bits(plain)
    assert results[1].strides == plain[1].strides


def test_level_zero_has_a_function_for_each_operation() -> None:
    program = program_of(lambda x, w, b: flow.tanh(x @ w + b), X, W, B)
    made = passes.FuseOps(0)(program)
    made.verify()
    assert names(made) == ["fused_matmul", "fused_add", "fused_tanh"]
    with passes.PassContext(opt_level=0):
        assert passes.FuseOps()(program) == made
    with pytest.raises(ValueError, match=r"\[FuseOps\] fuse_opt_level"):
        passes.FuseOps(-2)


def test_groups_are_no_longer_than_the_setting() -> None:
    def chain(x: flow.Tensor) -> flow.Tensor:
        for _ in range(9):
            x = x + 1
        return x

    program = program_of(chain, flow.ones(3))
    assert len(names(fused(program))) == 1
    made = fused(program, **{"FuseOps.max_depth": 3})
    assert len(names(made)) == 3
    with pytest.raises(ValueError, match=r"no setting FuseOps.depth.*max_depth"):
        passes.PassContext(config={"FuseOps.depth": 3})


def test_numbers_of_a_run_are_operands() -> None:
    step = flow.jit(lambda x, rate: flow.tanh(x * rate) + rate * 2)
    program = step.program(flow.ones(4), 0.5)
    made = fused(program)
    assert len(names(made)) == 1
    assert Program.parse(str(made)) == made
    run = flow.graph.compile(made)
    for rate in (0.5, 2.0):
        expected = step(flow.ones(4), rate)
        assert bits(run(flow.ones(4), rate)) == bits([expected])


def test_text_and_hash() -> None:
    program = program_of(lambda x, w, b: flow.tanh(x @ w + b), X, W, B)
    made = fused(program)
    again = Program.parse(str(made))
    assert again == made
    assert again.digest == made.digest != program.digest
    assert again.functions["fused_matmul_add_tanh"].primitive
    assert str(again) == str(made)
    flat, groups = inlined(again.main, again.functions)
    assert Program("flat", {"main": flat}) == program
    assert groups.count(0) == 3


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("call.fused_add_exp(", "call.fused_add(", "no primitive function of this name"),
        ("primitive fused_add_exp", "function fused_add_exp", "no primitive function"),
        ("call.fused_add_exp(%0)", "call.fused_add_exp(%0, %0)", "its operands are not those"),
        ("= exp(%1)", "= call.fused_add_exp(%1)", "calls the function"),
        ("f64[3] cpu = call", "f64[4] cpu = call", "its results are not those"),
        ("cpu = call.fused_add_exp(%0)", "cpu = call.fused_add_exp(%0) into %0", "writes to other"),
        ("f64[3] cpu = exp(%1)", "f64[4] cpu = exp(%1)", "makes|not those"),
        (
            "_exp\n%0: f64[3] cpu = parameter",
            "_exp\n%0: f64[3] cpu = capture",
            "not those of|more than",
        ),
    ],
)
def test_a_text_that_was_tampered_with(old: str, new: str, message: str) -> None:
    made = fused(program_of(lambda x: flow.exp(x + 1), flow.ones(3)))
    text = str(made)
    assert text.count(old) >= 1
    with pytest.raises(ValueError, match=message):
        Program.parse(text.replace(old, new)).verify()
    made.verify()


def softmax(x: flow.Tensor) -> flow.Tensor:
    y = flow.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


def test_wide_groups_are_those_of_the_machine() -> None:
    program = program_of(softmax, flow.ones((300, 400)))
    assert names(widened(program)) == ["fused_max_subtract_exp_sum_divide"]


def test_products_come_with_the_group_of_their_users() -> None:
    x = flow.ones((400, 400))
    program = program_of(lambda x, w: flow.tanh(x @ w + 1).sum(), x, x)
    assert names(fused(program)) == ["fused_matmul_add_tanh", "sum"]
    assert names(widened(program)) == ["fused_matmul_add_tanh_sum"]


def test_writes_are_in_wide_groups() -> None:
    def step(w: flow.Tensor, g: flow.Tensor) -> flow.Tensor:
        w -= 0.1 * g
        return flow.exp(w)

    program = program_of(step, flow.ones(N), flow.ones(N))
    made = widened(program)
    assert len(names(made)) == 1
    assert Program.parse(str(made)) == made
    eager, run = flow.ones(N), flow.graph.compile(made)
    mine = flow.ones(N)
    for _ in range(2):
        assert bits(run(mine, flow.ones(N))) == bits([step(eager, flow.ones(N))])
        assert bits([mine]) == bits([eager])


def test_writes_to_parts_are_in_wide_groups() -> None:
    def step(w: flow.Tensor) -> flow.Tensor:
        w[1:] *= 2
        w[:-1] += 1
        return flow.exp(w)

    program = program_of(step, flow.ones(N))
    made = widened(program)
    assert Program.parse(str(made)) == made
    eager, mine = flow.ones(N), flow.ones(N)
    assert bits(flow.graph.compile(made)(mine)) == bits([step(eager)])
    assert bits([mine]) == bits([eager])


def with_new_and_written(w: flow.Tensor, g: flow.Tensor) -> Any:
    u = g * 0.1
    w -= u
    return u


def with_written_and_new(w: flow.Tensor, g: flow.Tensor) -> Any:
    w -= g
    return w * 0.1


def with_written_ones_around(w: flow.Tensor, g: flow.Tensor) -> Any:
    w -= g
    u = w * 0.1
    g += u
    return u, flow.exp(g)


@pytest.mark.parametrize(
    ("function", "targets"),
    [
        (with_new_and_written, 0b10),
        (with_written_and_new, 0b01),
        (with_written_ones_around, 0b101),
    ],
)
def test_text_says_which_results_of_a_group_are_writes(function: Any, targets: int) -> None:
    made = widened(program_of(function, flow.ones(N), flow.ones(N)))
    assert [op.call.targets for op in made.main.ops] == [targets]
    again = Program.parse(str(made))
    again.verify()
    assert [op.call.targets for op in again.main.ops] == [targets]
    assert (again, again.digest, str(again)) == (made, made.digest, str(made))
    given = [[flow.full(N, 3.0), flow.full(N, 0.7)] for _ in range(2)]
    expected = function(*given[0])
    results = flow.graph.compile(again)(*given[1])
    assert bits([*results, *given[1]]) == bits(
        [*(expected if isinstance(expected, tuple) else (expected,)), *given[0]]
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[targets=2]", "", "writes to other values than the function"),
        ("targets=2", "targets=1", "writes to other values than the function"),
        ("targets=2", "targets=-2", "writes to other values than the function"),
        ("targets=2", "targets=6", "writes to other values than the function"),
        ("targets=2", "targets='a'", "line 4: .*'str' object cannot be interpreted as an integer"),
        ("targets=2", "targets=2, more=1", "line 4: fused_multiply_subtract has no attributes mo"),
    ],
)
def test_a_text_with_other_writes(old: str, new: str, message: str) -> None:
    text = str(widened(program_of(with_new_and_written, flow.ones(N), flow.ones(N))))
    assert text.count(old) == 1
    with pytest.raises(ValueError, match=message):
        Program.parse(text.replace(old, new)).verify()


def test_programs_are_unlike_where_groups_write_other_results() -> None:
    made = widened(program_of(with_new_and_written, flow.ones(N), flow.ones(N)))
    other = Program.parse(str(made).replace("targets=2", "targets=1"))
    assert other != made
    assert other.digest != made.digest


def counted(level: int, function: Callable[..., Any], *given: Any) -> tuple[int, int]:
    """How many groups there are, and how many steps outside of them."""
    report = flow.graph.compile(program_of(function, *given), opt_level=level, mode="serial")
    groups = report.report()["groups"]
    return len(groups), report.report()["steps"] - sum(len(x["steps"]) for x in groups)


def test_a_level_fuses_what_its_passes_say() -> None:
    assert counted(0, softmax, flow.ones((300, 400))) == (0, 5)
    assert counted(1, softmax, flow.ones((300, 400))) == (1, 3)
    assert counted(2, softmax, flow.ones((300, 400))) == (1, 3)
    assert counted(3, softmax, flow.ones((300, 400))) == (1, 0)


@pytest.mark.slow
def test_large_programs() -> None:
    """No recursion, and no table of all pairs."""
    count = 100_000
    lines = ["program long", "%0: f32[4] cpu = parameter"]
    lines += [f"%{i + 1}: f32[4] cpu = negative(%{i})" for i in range(count)]
    program = Program.parse("\n".join([*lines, f"return %{count}"]))
    names = ("FoldConstant", "EliminateCommonSubexpr", "DeadCode", "FuseOps")
    with passes.PassContext(opt_level=3):
        row = passes.Sequential([passes.find_pass(x) for x in (*names, "WidenGroups")])
        made = row(program)
    flat, groups = inlined(made.main, made.functions)
    assert len(flat.ops) == count
    assert max(groups.count(k) for k in range(3)) == 256
