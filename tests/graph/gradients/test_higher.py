"""Second derivatives, and gradients of functions that take gradients."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.graphs.differences import assert_gradients

FUNCTIONS = {
    "powers": lambda x: (x**3 + 2 * x**2).sum(),
    "exp": lambda x: flow.exp(x * x).sum(),
    "tanh of a product": lambda x: flow.tanh(x @ x.T).sum(),
    "log of a sum": lambda x: flow.log(flow.exp(x).sum()),
    "sin over x": lambda x: (flow.sin(x) / (x * x + 1)).sum(),
    "softmax": lambda x: (flow.exp(x) / flow.exp(x).sum(axis=1, keepdims=True))[:, 0].sum(),
    "product": lambda x: x.prod(axis=1).sum(),
    "norm": lambda x: flow.sqrt((x * x).sum()),
    "views": lambda x: (x[1:] * x[:-1] * x.T[:2]).sum(),
    "writes": lambda x: writes(x),
    "maximum": lambda x: (flow.maximum(x, 0.1) ** 3).sum() + x.max() ** 2,
    "matrices": lambda x: ((x @ x) ** 2).mean(),
}


def writes(x):
    z = x * x
    z[1] = z[0] * x[2]
    z[:, 1] *= x[:, 0]
    return (z**2).sum()


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_second_derivatives(function):
    array = np.random.default_rng(0).normal(size=(3, 3)) / 2
    weights = flow.tensor(np.random.default_rng(1).normal(size=(3, 3)))
    assert_gradients(lambda x: (flow.grad(function)(x) * weights).sum(), array, atol=1e-7)


def test_third_derivative():
    third = flow.grad(flow.grad(flow.grad(lambda x: flow.sin(x) * x)))
    x = 0.7
    assert third(x).item() == pytest.approx(-3 * np.sin(x) - x * np.cos(x), rel=1e-12)


def test_what_an_inner_gradient_takes_from_outside_is_constant():
    assert flow.grad(lambda x: x * flow.grad(lambda y: x + y)(x))(3.0).item() == 1.0
    assert flow.grad(lambda x: x * flow.grad(lambda y: x * y * y)(x))(3.0).item() == 54.0


def test_a_gradient_of_a_jitted_function():
    assert flow.grad(flow.jit(lambda x: (x**3).sum()))(flow.tensor([2.0])).tolist() == [12.0]
    assert flow.grad(flow.jit(flow.grad(lambda x: x**3)))(2.0).item() == 12.0
