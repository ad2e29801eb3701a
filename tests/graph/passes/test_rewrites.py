"""FoldConstant, EliminateCommonSubexpr, DeadCode, Rewriter: texts before and after."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Function, Op, Program, Value, passes, trace
from oneflow_lite.graph.passes import DeadCode, EliminateCommonSubexpr, FoldConstant, PassContext

NAN = float("nan")
X = flow.tensor([1.0, 2.0, 3.0], dtype="float32")


def names(program: Program) -> list[str]:
    return [op.name for op in program.main.ops]


def run(program: Program, *arguments: flow.Tensor) -> list[bytes]:
    return [x.numpy().tobytes() for x in flow.graph.compile(program)(*arguments)]


# --- FoldConstant


def test_what_is_known_is_computed_once() -> None:
    def f(x: flow.Tensor) -> flow.Tensor:
        c = flow.tensor(np.float32([1, 2, 3]))
        return x + (c + c) * 2

    program = trace(f, X).program
    made = FoldConstant()(program)
    made.verify()
    assert names(program) == ["add", "multiply", "add"]
    assert names(made) == ["add"]
    constant = made.main.constants[-1]
    assert constant.tensor.numpy().tolist() == [4, 8, 12]  # type: ignore[union-attr]
    assert run(made, X) == run(program, X)


def test_of_two_results_both_are_computed_or_none() -> None:
    def f() -> Any:
        q, r = flow.linalg.qr(flow.tensor([[1.0, 2.0], [3.0, 4.0]]))
        return q, r * 2

    program = trace(f).program
    assert run(FoldConstant()(program)) == run(program)


def test_a_folded_result_is_a_fresh_tensor_at_each_run() -> None:
    made = FoldConstant()(trace(lambda: flow.tensor([1.0, 2.0]) * 2 + 0).program)
    assert names(made) == ["add"]
    compiled = flow.graph.compile(made)
    (first,) = compiled()
    first += 1
    (second,) = compiled()
    assert second.numpy().tolist() == [2, 4]


@pytest.mark.parametrize("fill", [lambda n: flow.zeros(n), lambda n: flow.full(n, 3.0)])
def test_large_allocations_stay(fill: Any) -> None:
    small = trace(lambda x: fill(1024) + 1 + x[0], X).program
    large = trace(lambda x: fill(1025) + 1 + x[0], X).program
    assert names(FoldConstant()(small)) == ["view", "getitem", "add"]
    assert names(FoldConstant()(large)) == names(large)


def test_what_draws_writes_or_has_effects_stays() -> None:
    def f() -> Any:
        x = flow.tensor([1.0, 2.0, 3.0])
        x[1:] *= 2
        drawn = flow.random.normal(size=3)
        flow.vm.host_func(lambda: None)
        return x, drawn + flow.tensor([1.0, 2.0, 3.0])

    program = trace(f).program
    made = FoldConstant()(program)
    made.verify()
    assert names(made) == names(program)


def test_numbers_of_a_run_are_not_known() -> None:
    seen: list[Any] = []

    @flow.jit
    def f(x: flow.Tensor, rate: float) -> flow.Tensor:
        return x + flow.tensor(np.float32([1, 1, 1])) * rate

    f(X, 0.5)
    seen.append(FoldConstant()(f.program(X, 0.5)))
    assert names(seen[0]) == ["multiply", "add"]


def test_views_of_what_the_caller_sees_stay_views() -> None:
    def f() -> Any:
        c = flow.tensor([1.0, 2.0, 3.0]) * 1
        return c, c[1:] * 2, c[1:]

    made = FoldConstant()(trace(f).program)
    whole, _, part = flow.graph.compile(made)()
    whole += 1
    assert part.numpy().tolist() == [3, 4]


def test_what_fails_stays_and_fails_in_the_run_at_its_line() -> None:
    def f(x: flow.Tensor) -> Any:
        return x + flow.linalg.inv(flow.zeros((3, 3)))[0]

    program = trace(f, X).program
    made = FoldConstant()(program)
    assert "inv" in names(made)
    (result,) = flow.graph.compile(made)(X)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        result.numpy()
    assert "test_rewrites.py" in "".join([str(caught.value), *caught.value.__notes__])


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_constants_stay_on_their_device(device: str) -> None:
    def f(x: flow.Tensor) -> flow.Tensor:
        return x + flow.tensor(np.float32([1, 2, 3]), device=device) * 2

    x = X.to(device)
    made = FoldConstant()(trace(f, x).program)
    assert [str(bound.value.type.device) for bound in made.main.constants][-1:] == [
        str(flow.Device(device))
    ]
    assert run(made, x) == run(trace(f, x).program, x)


def test_strides_of_constants_stay() -> None:
    def f(x: flow.Tensor) -> flow.Tensor:
        return x + flow.tensor(np.asfortranarray(np.arange(9.0).reshape(3, 3))) * 2

    program = trace(f, X).program
    made = FoldConstant()(program)
    made.verify()
    assert run(made, X) == run(program, X)


# --- EliminateCommonSubexpr


def test_equal_calls_are_one() -> None:
    program = Program.parse("""program p
%0: f32[3] cpu = parameter
%1: f32[3] cpu = exp(%0)
%2: f32[3] cpu = exp(%0)
%3: f32[3] cpu = multiply(%1, 2.0)
%4: f32[3] cpu = multiply(%2, 2.0)
%5: f32[3] cpu = add(%3, %4)
return %5
""")
    wanted = Program.parse("""program p
%0: f32[3] cpu = parameter
%1: f32[3] cpu = exp(%0)
%2: f32[3] cpu = multiply(%1, 2.0)
%3: f32[3] cpu = add(%2, %2)
return %3
""")
    made = EliminateCommonSubexpr()(program)
    made.verify()
    assert made == wanted


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda x: x + 1, lambda x: 1 + x),
        (lambda x: x * 0.0, lambda x: x * -0.0),
        (lambda x: x + 1, lambda x: x + 1.0),
        (lambda x: x + 1, lambda x: x + np.float32(1)),
        (lambda x: x.sum(), lambda x: x.sum(keepdims=True)),
        (lambda x: x.astype("int32"), lambda x: x.astype("int64")),
        (lambda x: x[1:] * 2, lambda x: x[:2] * 2),
        (lambda x: flow.argmax(x), lambda x: flow.argmin(x)),
        (lambda x: flow.copysign(x, NAN), lambda x: flow.copysign(x, -NAN)),
        (lambda x: x * complex(1, NAN), lambda x: x * complex(1, -NAN)),
        (lambda x: x * np.float32(NAN), lambda x: x * np.float32(-NAN)),
    ],
)
def test_other_calls_are_not(one: Any, other: Any) -> None:
    program = trace(lambda x: (one(x) + 1, other(x) + 1), X).program
    made = EliminateCommonSubexpr()(program)
    assert names(made) == names(program)


def test_numbers_of_a_run_are_each_its_own() -> None:
    run = flow.jit(lambda x, a, b, c: (x * a + x * b, x * (a + b) + x * (a + c), x * a - x * a))
    for a, b, c in ((2.0, 5.0, 9.0), (3.0, 3.0, -1.0)):
        found = [y.tolist() for y in run(flow.ones(2), a, b, c)]
        assert found == [[a + b] * 2, [a + b + a + c] * 2, [0.0] * 2]
    made = EliminateCommonSubexpr()(run.program(flow.ones(2), 1.0, 2.0, 3.0))
    assert names(made).count("multiply") == 4  # of a, b, a + b, a + c


def test_two_results_are_two_memories() -> None:
    made = EliminateCommonSubexpr()(trace(lambda x: (x + 1, x + 1, x + 1), X).program)
    results = flow.graph.compile(made)(X)
    results[0].fill(0)
    assert [x.numpy().tolist() for x in results[1:]] == [[2, 3, 4], [2, 3, 4]]


def test_a_result_and_a_temporary_may_be_one() -> None:
    def f(x: flow.Tensor) -> Any:
        a = x + 1
        b = x + 1
        c = x + 1
        return a * 2, b, c

    made = EliminateCommonSubexpr()(trace(f, X).program)
    assert names(made) == ["add", "add", "multiply"]
    doubled, b, c = flow.graph.compile(made)(X)
    b.fill(0)
    assert (doubled.numpy().tolist(), c.numpy().tolist()) == ([4, 6, 8], [2, 3, 4])


def test_views_of_results_are_of_their_own_memory() -> None:
    def f(x: flow.Tensor) -> Any:
        return (x + 1)[1:], (x + 1)[1:]

    one, two = flow.graph.compile(EliminateCommonSubexpr()(trace(f, X).program))(X)
    one.fill(0)
    assert two.numpy().tolist() == [3, 4]


def test_what_is_written_to_afterwards_keeps_its_old_value() -> None:
    def f(x: flow.Tensor) -> Any:
        a = x + 1
        b = x + 1
        a *= 10
        return a + b

    program = trace(f, X).program
    made = EliminateCommonSubexpr()(program)
    assert len(names(made)) == len(names(program)) - 1
    assert run(made, X) == run(program, X)


def test_assigned_values_are_apart() -> None:
    y, z = flow.zeros(3, dtype="float32"), flow.zeros(3, dtype="float32")

    def f(x: flow.Tensor) -> None:
        y[...] = x + 1
        z[...] = x + 1

    program = EliminateCommonSubexpr()(trace(f, X).program)
    flow.graph.compile(program)(X)
    assert (y.numpy().tolist(), z.numpy().tolist()) == ([2, 3, 4], [2, 3, 4])


def test_draws_are_not_merged() -> None:
    stream = flow.random.Philox(3)
    program = trace(lambda: stream.normal(size=3) - stream.normal(size=3)).program
    assert names(EliminateCommonSubexpr()(program)) == names(program)


# --- DeadCode


def test_what_nobody_needs_goes() -> None:
    def f(x: flow.Tensor) -> flow.Tensor:
        flow.exp(flow.tensor(np.float32([5, 5, 5])) + x)
        return x * 2

    made = DeadCode()(trace(f, X).program)
    made.verify()
    assert names(made) == ["multiply"]
    assert made.main.constants == ()


def test_effects_and_writes_stay() -> None:
    y = flow.zeros(3, dtype="float32")
    called: list[int] = []

    def f(x: flow.Tensor) -> None:
        flow.vm.host_func(lambda: called.append(1))
        y[:2] = flow.exp(x)[:2]
        flow.tanh(x)

    program = trace(f, X).program
    made = DeadCode()(program)
    assert [name for name in names(program) if name not in names(made)] == ["tanh"]
    flow.graph.compile(made)(X)
    flow.synchronize()
    assert called == [1]
    assert y.numpy().tobytes() == np.array([*np.exp(X.numpy()[:2]), 0], np.float32).tobytes()


def test_draws_that_go_leave_the_stream_where_eager_does() -> None:
    def f(stream: flow.random.Philox) -> flow.Tensor:
        stream.normal(size=5)
        return stream.normal(size=3)

    one, other = flow.random.Philox(7), flow.random.Philox(7)
    made = DeadCode()(trace(lambda: f(one)).program)
    (x,) = flow.graph.compile(made)()
    assert x.numpy().tobytes() == f(other).numpy().tobytes()
    assert one.normal(size=2).numpy().tobytes() == other.normal(size=2).numpy().tobytes()


# --- Rewriter


class Doubled(passes.Rewriter):
    """Constants times two."""

    def visit_constant(self, bound: Any) -> Any:
        return bound.tensor * 2


def test_constants_are_multiplied() -> None:
    @passes.function_pass(opt_level=1)
    def doubles(function: Function, program: Program, context: PassContext) -> Function:
        return Doubled().rewritten(function)

    program = trace(lambda x: x + flow.tensor(np.float32([1, 2, 3])), X).program
    assert run(doubles(program), X) == [np.float32([3, 6, 9]).tobytes()]


class Wider(passes.Rewriter):
    """Parameters of float64, and of another number of elements."""

    def visit_param(self, value: Value) -> Value:
        shape = (5, *value.type.shape[1:])
        return Value(flow.graph.Type(np.dtype(np.float64), shape, (8,), value.type.device))


def test_users_of_another_type_are_made_again() -> None:
    program = trace(lambda x: (flow.exp(x) * 2 > 1, (x + 1).sum(), flow.where(x > 1, x, x)), X)
    made = Program("wider", {"main": Wider().rewritten(program.program.main)})
    made.verify()
    x = flow.arange(5.0)
    wanted = [(np.exp(x.numpy()) * 2 > 1), np.float64((x.numpy() + 1).sum())]
    assert [value.type.shape for value in made.main.results] == [(5,), (), (5,)]
    assert run(made, x)[:1] == [wanted[0].tobytes()]


def test_what_cannot_be_made_again_says_so() -> None:
    program = trace(lambda x: x[1:] * 2, X).program
    with pytest.raises(TypeError, match="cannot take operands of other types") as caught:
        Wider().rewritten(program.main)
    assert caught.value is not None


class Powers(passes.Rewriter):
    """x * x in the place of square, with what emit() can do."""

    def visit_op(self, op: Op) -> Any:
        if op.name != "square":
            return op
        (x,) = op.operands
        return self.emit(lambda a: flow.multiply(a, a) + flow.tensor(np.float32([0, 0, 1])), x)


def test_operations_that_are_put_in_have_the_line_of_what_they_replace() -> None:
    program = trace(lambda x: flow.square(x) - 1, X).program
    made = Program("p", {"main": Powers().rewritten(program.main)})
    made.verify()
    assert names(made) == ["multiply", "add", "subtract"]
    assert {op.site for op in made.main.ops} == {op.site for op in program.main.ops}
    assert run(made, X) == [np.float32([0, 3, 9]).tobytes()]


@pytest.mark.parametrize(
    ("rewrite", "error", "text"),
    [
        (lambda self, op: None, TypeError, "expected an Op or its values, got NoneType"),
        (lambda self, op: (), ValueError, "expected 1 values in the place of exp, got 0"),
        (
            lambda self, op: self.emit(lambda x: x[0].item(), op.operands[0]),
            flow.graph.TraceError,
            "item",
        ),
        (
            lambda self, op: self.emit(lambda x: flow.random.normal(size=3), op.operands[0]),
            ValueError,
            "only compute",
        ),
    ],
)
def test_wrong_rewrites_name_the_operation(rewrite: Any, error: Any, text: str) -> None:
    program = trace(lambda x: flow.exp(x), X).program
    rewriter = type("Wrong", (passes.Rewriter,), {"visit_op": rewrite})()
    with pytest.raises(error, match=text) as caught:
        rewriter.rewritten(program.main)
    assert any("at the operation exp (" in note for note in caught.value.__notes__)
    assert run(program, X)  # the recorder is left


def test_primitive_functions_are_left_alone() -> None:
    def f(x: flow.Tensor) -> flow.Tensor:
        flow.exp(x)
        return x * 2

    main = trace(f, X).program.main
    body = replace(main, name="fused", primitive=True)
    made = DeadCode()(Program("p", {"main": main, "fused": body}))
    assert (len(made.functions["main"].ops), made.functions["fused"]) == (1, body)


@pytest.mark.slow
def test_large_programs_take_linear_time() -> None:
    def f(x: flow.Tensor) -> flow.Tensor:
        for _ in range(20_000):
            x = x + 1
        return x

    program = trace(f, X).program
    with PassContext(opt_level=3):
        row = [FoldConstant(), EliminateCommonSubexpr(), DeadCode(), passes.ToANormalForm()]
        made = passes.Sequential(row)(program)
    assert len(made.main.ops) == 20_000
