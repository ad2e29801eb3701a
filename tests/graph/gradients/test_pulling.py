"""flow.vjp: values and the functions that pull gradients back, eagerly and while tracing."""

import numpy as np
import pytest

import oneflow_lite as flow


def normal(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape)


def tree(p, y):
    """Return a tree of results, one of which is an integer."""
    hidden = flow.tanh(p["w"] @ y)
    return {"hidden": hidden, "rest": [(hidden * p["b"]).T, flow.argmax(y), y[1:]]}


PARAMETERS = {"w": normal(0, 3, 4), "b": normal(1, 3, 1)}
Y = normal(2, 4, 2)
SEEDS = {"hidden": normal(3, 3, 2), "rest": [normal(4, 2, 3), None, normal(5, 3, 2)]}


def given():
    return {name: flow.tensor(x) for name, x in PARAMETERS.items()}, flow.tensor(Y)


def expected():
    """Return the gradients of the sum of all results times their seeds."""

    def weighted(p, y):
        value = tree(p, y)
        found = (value["hidden"] * flow.tensor(SEEDS["hidden"])).sum()
        found += (value["rest"][0] * flow.tensor(SEEDS["rest"][0])).sum()
        return found + (value["rest"][2] * flow.tensor(SEEDS["rest"][2])).sum()

    return flow.grad(weighted, (0, 1))(*given())


def assert_equal(found, wanted):
    for name in PARAMETERS:
        np.testing.assert_allclose(found[0][name].numpy(), wanted[0][name].numpy(), rtol=1e-13)
    np.testing.assert_allclose(found[1].numpy(), wanted[1].numpy(), rtol=1e-13)


def test_names():
    assert flow.vjp is flow.graph.vjp


def test_trees():
    value, pull = flow.vjp(tree, *given())
    eager = tree(*given())
    assert value["hidden"].numpy().tobytes() == eager["hidden"].numpy().tobytes()
    assert value["rest"][1].item() == eager["rest"][1].item()
    for _ in range(2):  # it may be called again
        assert_equal(pull(SEEDS), expected())


def test_in_a_function_that_is_traced():
    seeds = {"hidden": flow.tensor(SEEDS["hidden"]), "rest": SEEDS["rest"]}

    def function(p, y, seeds):
        value, pull = flow.vjp(tree, p, y)
        return value, pull(seeds), pull(seeds)

    _, found, again = flow.jit(function)(*given(), seeds)
    assert_equal(found, expected())
    assert_equal(again, expected())


def test_a_gradient_of_what_is_pulled():
    def function(x):
        _, pull = flow.vjp(lambda x: x**3, x)
        return (pull(x)[0] * 2).sum()  # 6 x**3

    assert flow.grad(function)(flow.tensor([1.0, 2.0])).tolist() == [18.0, 72.0]


def test_rows_of_a_jacobian():
    x = flow.tensor(normal(6, 3))
    matrix = flow.tensor(normal(7, 4, 3))
    _, pull = flow.vjp(lambda x: matrix @ x, x)
    for k in range(4):
        np.testing.assert_allclose(pull(np.eye(4)[k])[0].numpy(), matrix[k].numpy(), rtol=1e-15)


def test_later_writes_change_nothing():
    x, y = flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0])
    value, pull = flow.vjp(lambda x: flow.exp(x) * y, x)
    wanted = (flow.exp(x) * y).tolist()
    for written in (x, y, value):
        written += 7
    assert pull(np.ones(2))[0].tolist() == wanted
    (found,) = pull(np.ones(2))
    found += 1
    assert pull(np.ones(2))[0].tolist() == wanted


@pytest.mark.parametrize(
    "function",
    [
        *(lambda x: x * x, lambda x: flow.exp(x).T, lambda x: flow.tanh(x)[1:], lambda x: x.T**2),
        *(lambda x: [x, x * x], lambda x: (x[1] * x[2], flow.sqrt(x), x * x)),
    ],
)
def test_nobody_sees_what_is_kept(function):
    x = flow.tensor(np.random.default_rng(8).uniform(0.5, 1.0, (3, 3)))
    value, pull = flow.vjp(function, x)
    seeds = [v * 0 + 1 for v in value] if isinstance(value, list | tuple) else value * 0 + 1
    seeds = tuple(seeds) if isinstance(value, tuple) else seeds
    wanted = pull(seeds)[0].tolist()
    for written in (x, *(value if isinstance(value, list | tuple) else (value,))):
        written *= 3
    assert pull(seeds)[0].tolist() == wanted


def test_writes_to_what_is_assigned_change_nothing():
    state, other = flow.ones(2), flow.ones((2, 2))

    def function(x):
        nonlocal state
        state += x
        other[1] = x * state
        before = state * 1
        other[0] += state
        return (before * x * other[0] * other[1]).sum()

    x = flow.tensor([1.0, 2.0])
    _, pull = flow.vjp(function, x)
    wanted = pull(1.0)[0].tolist()
    state[...] = 1000.0
    other[...] = -1000.0
    assert pull(1.0)[0].tolist() == wanted


@pytest.mark.parametrize("run", [lambda f: f, flow.jit, lambda f: flow.jit(f, check=1)])
def test_a_function_that_returns_its_argument(run):
    def step(w, x):
        (v, (rest, same)), pull = flow.vjp(lambda w: (w, [w[1:], {"w": w}]), w)
        same["w"][0] = 5
        rest += x[:1]
        w *= 2
        return v + 0, pull((x + 0, [x[1:], {"w": x}]))[0]

    step = run(step)
    for _ in range(3):
        w, x = flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0])
        value, g = step(w, x)
        assert w.tolist() == value.tolist() == [10.0, 10.0]
        assert g.tolist() == [6.0, 12.0]


def test_random_numbers_are_drawn_once():
    def dropped(x):
        return x * (flow.random.uniform(size=x.shape) > 0.5)

    value, pull = flow.vjp(dropped, flow.ones(100))
    assert pull(np.ones(100))[0].tolist() == value.tolist()


def test_numbers_views_and_zeros():
    value, pull = flow.vjp(lambda x, y: flow.reshape(x, (1,)).T, 2.0, flow.ones((2, 2))[:, ::-1])
    assert value.tolist() == [2.0]
    one, other = pull(np.ones(1))
    assert (one.item(), other.tolist()) == (1.0, [[0.0, 0.0], [0.0, 0.0]])


def test_none_stands_for_what_has_no_gradient():
    value, pull = flow.vjp(lambda x: (x > 0, x * 2), flow.ones(2))
    assert pull((None, value[1]))[0].tolist() == [4.0, 4.0]


def double(x):
    return x * 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: flow.vjp(3, 1.0), TypeError, r"\[vjp\] expected a function, got int"),
        (lambda: flow.vjp(double, 3), TypeError, r"args\[0\]: expected tensors of real"),
        (lambda: flow.vjp(lambda x: x > 0, 1.0), TypeError, "to return tensors of real floating"),
        (
            lambda: flow.vjp(double, flow.ones(3))[1](flow.ones(2)),
            ValueError,
            r"gradient: expected shape \(3,\), as the value has it, got \(2,\)",
        ),
        (
            lambda: flow.vjp(lambda x: [x, x * x], flow.ones(3))[1]([flow.ones(3)]),
            ValueError,
            "expected gradients of 2 tensors of the value, got 1",
        ),
        (
            lambda: flow.vjp(double, flow.ones(3))[1]([flow.ones(3)]),
            ValueError,
            r"gradient\[0\]: the value has no such part",
        ),
        (
            lambda: flow.vjp(lambda x: (x > 0, x), 1.0)[1]((1.0, 1.0)),
            ValueError,
            r"gradient\[0\]: expected None, as .* is of dtype bool, which has no gradient",
        ),
        (
            lambda: flow.vjp(lambda x: {"n": 3, "x": x}, 1.0)[1]({"x": 1.0, "n": 1.0}),
            ValueError,
            r"gradient\['n'\]: expected None, as .* is of type int, which has no gradient",
        ),
        (
            lambda: flow.vjp(lambda x: flow.linalg.qr(x, mode="raw")[0], flow.ones((2, 2))),
            NotImplementedError,
            r"qr_raw \(.*test_pulling.py:\d+\) is not differentiable",
        ),
    ],
)
def test_errors_say_what_was_expected(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert flow.vjp(double, 1.0)[1](1.0)[0].item() == 2.0


@pytest.mark.parametrize(
    "lies",
    [
        lambda x: x[:, :1, None],
        lambda x: x[None],
        lambda x: x[:1].T,
        lambda x: x[:0].T,
        lambda x: flow.permute_dims(x[:, None, :], (2, 1, 0)),
    ],
)
def test_arguments_with_axes_of_one_element(lies):
    """Steps along such an axis are never taken, and a copy of the argument has others."""
    x = lies(flow.tensor(normal(1, 5, 3)))
    value, pull = flow.vjp(lambda a: a * a, x)
    (found,) = pull(flow.ones(x.shape))
    assert found.tolist() == (2 * x).tolist()
    assert value.tolist() == (x * x).tolist()
