"""flow.grad, flow.value_and_grad, flow.graph.gradients: what they take and return."""

from dataclasses import dataclass

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError


@dataclass
class Layer:
    w: flow.Tensor
    b: flow.Tensor | None = None


def loss(parameters, x, power=2):
    y = x @ parameters["w"] + parameters["layers"][0].b
    return (y**power).sum()


def parameters():
    return {"w": flow.ones((3, 2)), "layers": [Layer(flow.ones(1), flow.zeros(2))]}


def test_names():
    assert flow.grad is flow.graph.grad
    assert flow.value_and_grad is flow.graph.value_and_grad
    assert flow.grad(loss).__name__ == "loss"


def test_trees():
    found = flow.grad(loss)(parameters(), flow.ones((4, 3)), power=3)
    assert found["w"].tolist() == [[108.0] * 2] * 3
    assert found["layers"][0].b.tolist() == [108.0] * 2
    assert found["layers"][0].w.tolist() == [0.0]  # it is not used


def test_positions():
    x, y = flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0])
    product = flow.value_and_grad(lambda x, y: (x * y).sum(), 1)
    assert product(x, y)[1].tolist() == [1.0, 2.0]
    both = flow.grad(lambda x, y: (x * y).sum(), (1, 0))(x, y)
    assert [g.tolist() for g in both] == [[1.0, 2.0], [3.0, 4.0]]
    same = flow.grad(lambda x, y: (x * y * y).sum(), [0, 1])(x, x)
    assert [g.tolist() for g in same] == [[1.0, 4.0], [2.0, 8.0]]


def test_auxiliary_results():
    function = flow.value_and_grad(lambda x: ((x * x).sum(), {"twice": x * 2}), has_aux=True)
    (value, aux), g = function(flow.tensor([1.0, 3.0]))
    assert (value.item(), aux["twice"].tolist(), g.tolist()) == (10.0, [2.0, 6.0], [2.0, 6.0])
    g, aux = flow.grad(lambda x: ((x * x).sum(), 5), has_aux=True)(flow.tensor([1.0]))
    assert (g.tolist(), aux) == ([2.0], 5)


def with_parts(w):
    return (w * w).sum(), {"all": w, "part": w[1:], "turned": w[::-1], "new": w * 2}


WAYS = [lambda f: f, flow.jit, lambda f: flow.jit(f, check=1)]


@pytest.mark.parametrize("run", WAYS)
def test_auxiliary_results_that_are_the_argument(run):
    def step(w):
        (v, aux), g = flow.value_and_grad(with_parts, has_aux=True)(w)
        w -= 0.25 * g
        aux["part"] += 1
        aux["new"] += 100
        return v, aux["all"] + 0, aux["turned"] + 0, aux["new"]

    step = run(step)
    for _ in range(3):
        w = flow.tensor([1.0, 2.0, 4.0])
        found = [x.tolist() for x in step(w)]
        assert found == [21.0, [0.5, 2.0, 3.0], [3.0, 2.0, 0.5], [102.0, 104.0, 108.0]]
        assert w.tolist() == [0.5, 2.0, 3.0]


@pytest.mark.parametrize("run", WAYS)
def test_a_value_that_is_the_argument(run):
    def step(x):
        value, g = flow.value_and_grad(lambda x: x)(x)
        value += g
        return x * 1

    x = flow.tensor(3.0)
    assert run(step)(x).item() == x.item() == 4.0


@pytest.mark.parametrize("run", WAYS)
def test_an_argument_that_several_gradients_return(run):
    def inner(x):
        g, aux = flow.grad(lambda x: ((x**3).sum(), x), has_aux=True)(x)
        return (g * aux).sum(), aux

    def step(x):
        g, aux = flow.grad(inner, has_aux=True)(x)
        aux[0] = 0
        return g, x + 0

    x = flow.tensor([1.0, 2.0])
    g, seen = run(step)(x)
    assert g.tolist() == [9.0, 36.0]  # of 3 x ** 3
    assert seen.tolist() == x.tolist() == [0.0, 2.0]


def test_numbers_and_arrays():
    assert flow.grad(lambda x: x**3)(2.0).item() == 12.0
    assert flow.grad(lambda x: flow.sum(x * x))(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert flow.grad(lambda x: x * x)(np.float32(3)).dtype == flow.float32
    assert (
        flow.jit(flow.grad(lambda x, rate: (x * rate).sum() * rate))(flow.ones(2), 3.0).tolist()
        == [9.0] * 2
    )
    assert flow.jit(flow.grad(lambda x, rate: (x**rate).sum(), 1))(
        flow.ones(2) * 2, 3.0
    ).item() == (pytest.approx(16 * np.log(2)))


def test_a_value_that_is_a_view():
    assert flow.grad(lambda x: flow.reshape(x, ()))(flow.tensor([5.0])).tolist() == [1.0]


def test_operations_have_the_lines_of_those_that_they_are_of():
    def function(x):
        y = flow.sin(x)
        with flow.vm.lane(1):
            z = flow.exp(y)
        return z.sum()

    program = flow.graph.trace(flow.grad(function), flow.ones(3)).program
    first = function.__code__.co_firstlineno
    lines = {op.name: (op.site[1] - first, op.lane) for op in program.main.ops if not op.is_view}
    assert lines["cos"] == lines["sin"] == (1, None)
    at_exp = {op.name: op.lane for op in program.main.ops if op.site[1] == first + 3}
    assert at_exp == {"exp": 1, "multiply": 1, "view": None}


def test_programs_have_no_operations_for_arguments():
    traced = flow.graph.trace(flow.grad(lambda x: (x * x).sum()), flow.ones(3))
    x = traced.program.main.params[0]
    assert next(op.operands for op in traced.program.main.ops if op.name == "multiply") == (x, x)
    assert "alias" not in [op.name for op in traced.program.main.ops]


def test_it_is_traced_once():
    traces = []

    def function(x, rate):
        traces.append(1)
        return (x * rate).sum()

    g = flow.grad(function)
    for rate in (1.0, 2.0, 3.0):
        assert g(flow.ones(2), rate).tolist() == [rate, rate]
    assert len(traces) == 1


def test_captured_tensors_are_read_at_each_call():
    state = {"w": flow.ones(2)}
    g = flow.grad(lambda x: (x * x * state["w"]).sum())
    assert g(flow.ones(2)).tolist() == [2.0, 2.0]
    state["w"] += 1
    assert g(flow.ones(2)).tolist() == [4.0, 4.0]
    state["w"] = flow.tensor([5.0, 6.0])
    assert g(flow.ones(2)).tolist() == [10.0, 12.0]


def test_methods():
    class Model:
        def __init__(self):
            self.w = flow.tensor([2.0])

        @flow.grad
        def by_itself(self):
            return (self.w * 3).sum()

        def loss(self, x):
            return (self.w * x).sum()

    model = Model()
    g = flow.grad(model.loss)
    assert g(flow.ones(1)).tolist() == [2.0]
    model.w = flow.tensor([7.0])
    assert g(flow.ones(1)).tolist() == [7.0]
    with pytest.raises(TypeError, match=r"args\[0\]: expected tensors .*, got Model"):
        model.by_itself()


def test_gradients_have_memories_of_their_own():
    x, y = flow.ones(3), flow.ones(3) * 2
    one, other = flow.grad(lambda x, y: (x + y).sum(), (0, 1))(x, y)
    one += 1
    assert other.tolist() == [1.0] * 3
    one, other = flow.grad(lambda x, y: ((x + y) ** 2).sum(), (0, 1))(x, y)
    one += 1
    assert other.tolist() == [6.0] * 3
    g, same = flow.grad(lambda x, y: (x * y).sum(), (0, 1))(x, y)
    g += 1
    assert (x.tolist(), y.tolist(), same.tolist()) == ([1.0] * 3, [2.0] * 3, [1.0] * 3)


def test_what_the_value_does_not_depend_on_has_zeros():
    x = flow.ones((2, 3), dtype="float32")
    for function in (
        lambda x: flow.sum(flow.ones(3)),
        lambda x: 1.5,
        lambda x: (x > 0).sum() * 1.0,
    ):
        g = flow.grad(function)(x)
        assert (g.dtype, g.tolist()) == (flow.float32, [[0.0] * 3] * 2)


def test_a_gradient_that_is_stopped():
    x = flow.tensor([1.0, 2.0])
    assert flow.grad(lambda x: (x * flow.stop_gradient(x * x)).sum())(x).tolist() == [1.0, 4.0]
    kept = flow.stop_gradient(x)
    kept += 1
    assert x.tolist() == [1.0, 2.0]


def test_writes_to_other_tensors_are_seen():
    seen, steps = flow.zeros(2), flow.zeros(())

    def function(x):
        seen[...] = x
        steps.__iadd__(1)
        return (x * seen).sum()

    g = flow.grad(function)
    assert g(flow.tensor([1.0, 2.0])).tolist() == [2.0, 4.0]  # also through what was written
    assert g(flow.tensor([3.0, 4.0])).tolist() == [6.0, 8.0]
    assert (seen.tolist(), steps.item()) == ([3.0, 4.0], 2.0)


def test_random_numbers_are_drawn_once():
    def function(x):
        mask = flow.random.uniform(size=x.shape)
        return (x * mask).sum()

    flow.random.seed(3)
    expected = flow.random.uniform(size=5)
    flow.random.seed(3)
    assert flow.grad(function)(flow.ones(5)).tolist() == expected.tolist()


def test_in_a_jitted_training_step():
    w = flow.zeros((3, 1))
    x, y = flow.tensor(np.eye(3)), flow.tensor([[1.0], [2.0], [3.0]])

    @flow.jit
    def step(rate):
        value, g = flow.value_and_grad(lambda w: ((x @ w - y) ** 2).sum())(w)
        w.__isub__(rate * g)
        return value

    losses = [step(0.25).item() for _ in range(20)]
    assert losses[0] == 14.0
    np.testing.assert_allclose(w.numpy(), y.numpy(), rtol=1e-5)


def test_on_devices_with_memory_of_their_own():
    x, y = flow.tensor([1.0, 2.0]).mock(), flow.tensor([3.0, 4.0])
    one, other = flow.grad(lambda x, y: (x * y.mock()).sum().cpu(), (0, 1))(x, y)
    assert (one.device.type, one.tolist()) == ("mock", [3.0, 4.0])
    assert (other.device.type, other.tolist()) == ("cpu", [1.0, 2.0])


def double(x):
    return x * 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: flow.grad(5), TypeError, r"\[grad\] expected a function, got int"),
        (lambda: flow.grad(double, "x"), TypeError, "argnums: expected positions .*, got 'x'"),
        (lambda: flow.grad(double, -1), TypeError, "argnums: expected positions .*, got -1"),
        (lambda: flow.grad(double, True), TypeError, "argnums: expected positions .*, got True"),
        (lambda: flow.grad(double, ()), TypeError, r"argnums: expected positions .*, got \(\)"),
        (
            lambda: flow.grad(double, (0, 0)),
            ValueError,
            r"expected each position once, got \(0, 0\)",
        ),
        (lambda: flow.grad(double)(), TypeError, "expected an argument at position 0.*, got 0"),
        (lambda: flow.grad(double, 1)(1.0), TypeError, "an argument at position 1.*, got 1 pos"),
        (lambda: flow.grad(double)(3), TypeError, r"args\[0\]: expected tensors .*, got int"),
        (
            lambda: flow.grad(double)(flow.tensor([1, 2])),
            TypeError,
            r"\[grad\] args\[0\]: expected real floating-point numbers, got int64 of shape \(2,\)",
        ),
        (
            lambda: flow.grad(lambda p: p["w"])({"w": flow.tensor(1j)}),
            TypeError,
            r"args\[0\]\['w'\]: expected real floating-point numbers, got complex128",
        ),
        (
            lambda: flow.value_and_grad(double)(flow.ones(3)),
            ValueError,
            r"\[value_and_grad\] the result of .*: expected one number, .* got shape \(3,\)",
        ),
        (
            lambda: flow.grad(lambda x: (x > 0).sum())(flow.ones(3)),
            TypeError,
            "the result of the function: expected real floating-point numbers, got int64",
        ),
        (
            lambda: flow.grad(lambda x: None)(flow.ones(3)),
            TypeError,
            "expected the function to return a tensor of one number, got NoneType",
        ),
        (
            lambda: flow.grad(lambda x: x.sum(), has_aux=True)(flow.ones(3)),
            TypeError,
            "has_aux: expected the function to return a pair, got Tensor",
        ),
        (
            lambda: flow.grad(lambda x: x.__iadd__(1).sum())(flow.ones(3)),
            ValueError,
            r"the function writes to args\[0\], which it is differentiated by",
        ),
        (
            lambda: flow.grad(lambda x: (x + 1j).real.sum())(flow.ones(3)),
            NotImplementedError,
            r"(add|view) \(.*test_functions.py:\d+\) (makes|is a part of) complex numbers",
        ),
        (
            lambda: flow.grad(lambda x: flow.linalg.lstsq(x, x[0]).x.sum())(flow.ones((2, 2))),
            NotImplementedError,
            r"\[gradients\] lstsq \(.*test_functions.py:\d+\) is not differentiable: .* no rule",
        ),
        (
            lambda: flow.grad(lambda x: flow.nextafter(x, 1.0).sum())(flow.ones(2)),
            NotImplementedError,
            r"nextafter \(.*test_functions.py:\d+\) is not differentiable: its row has no vjp",
        ),
        (
            lambda: flow.grad(lambda x: x if x > 0 else -x)(1.0),
            TraceError,
            "needs the values",
        ),
        (lambda: flow.graph.gradients(flow.ones(()), []), TraceError, r"\[gradients\] is for rec"),
    ],
)
def test_errors_say_what_was_expected(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert flow.grad(lambda x: x * x)(1.0).item() == 2.0  # the next call works


class TestPrograms:
    def build(self, block):
        main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
        with flow.graph.building(main, startup):
            x = flow.graph.data("x", (None, 3))
            w = flow.graph.parameter("w", (3, 2), init=1.0)
            b = flow.graph.parameter("b", (2,), init=0.5)
            fetched = block(x, w, b)
        exe, scope = flow.graph.Executor(), flow.graph.Scope()
        exe.run(startup, scope=scope)
        return lambda *a: exe.run(main, {"x": a[0]}, fetched, scope=scope), scope

    def test_gradients_of_parameters_and_feeds(self):
        def block(x, w, b):
            loss = (flow.tanh(x @ w + b) ** 2).mean()
            return [loss, *flow.graph.gradients(loss, [w, b, x])]

        run, _ = self.build(block)
        for n in (1, 4):
            array = np.random.default_rng(n).normal(size=(n, 3))
            found = run(array)
            w, b = flow.ones((3, 2)), flow.ones(2) / 2
            expected = flow.grad(lambda w, b, x: (flow.tanh(x @ w + b) ** 2).mean(), (0, 1, 2))(
                w, b, flow.tensor(array)
            )
            for g, wanted in zip(found[1:], expected, strict=True):
                np.testing.assert_allclose(g.numpy(), wanted.numpy(), rtol=1e-12)

    def test_a_step_of_gradient_descent(self):
        def block(x, w, b):
            loss = ((x @ w + b) ** 2).sum()
            gw, gb = flow.graph.gradients(loss, (w, b))
            w -= 0.01 * gw
            b -= 0.01 * gb
            return [loss]

        run, scope = self.build(block)
        losses = [run(np.eye(3))[0].item() for _ in range(5)]
        assert losses == sorted(losses, reverse=True)
        assert scope["w"].shape == (3, 2)

    def test_of_an_intermediate_value(self):
        def block(x, w, b):
            hidden = x @ w
            loss = (hidden**2).sum() + (hidden * b).sum()
            return [flow.graph.gradients(loss, hidden), hidden]

        run, _ = self.build(block)
        g, hidden = run(np.eye(3))
        np.testing.assert_allclose(g.numpy(), 2 * hidden.numpy() + 0.5)

    def test_of_a_value_that_a_part_was_written_to(self):
        def block(x, w, b):
            z = x * 1
            z[0] = x[1] * 3
            loss = (z**2).sum()
            return [flow.graph.gradients(loss, z), flow.graph.gradients(loss, x)]

        run, _ = self.build(block)
        of_z, of_x = run(np.eye(3))
        assert of_z.tolist() == [[0.0, 6.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
        assert of_x.tolist() == [[0.0, 0.0, 0.0], [0.0, 20.0, 0.0], [0.0, 0.0, 2.0]]

    @pytest.mark.parametrize(
        ("block", "error", "message"),
        [
            (
                lambda x, w, b: flow.graph.gradients((x @ w).sum(), [w, b]),
                ValueError,
                r"loss does not depend on values\[1\] of shape \(2,\)",
            ),
            (
                lambda x, w, b: flow.graph.gradients(x @ w, w),
                ValueError,
                "expected one number",
            ),
            (
                lambda x, w, b: flow.graph.gradients(1.0, w),
                TypeError,
                "expected a tensor, got fl",
            ),
            (
                lambda x, w, b: flow.graph.gradients(w.sum(), [w, w > 0]),
                TypeError,
                r"values\[1\]: expected real floating-point numbers, got bool",
            ),
        ],
    )
    def test_errors(self, block, error, message):
        with pytest.raises(error, match=message):
            self.build(block)

    def test_a_value_that_was_written_to_since(self):
        def block(x, w, b):
            loss = (x @ w).sum()
            w -= 1
            return flow.graph.gradients(loss, w)

        with pytest.raises(ValueError, match="loss does not depend on values.0.* as it is now"):
            self.build(block)
