"""Sums, products, extrema and matrix products agree with central differences."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.graphs.differences import assert_gradients


def array(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


AXES = [None, 0, 1, -1, (0, 2), (0, 1, 2), ()]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "var", "std"])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(name, axis, keepdims):
    if name == "std" and axis == ():
        pytest.skip("the root of 0")

    def function(x):
        found = getattr(flow, name)(x, axis=axis, keepdims=keepdims) ** 2
        return (found * x).sum() if keepdims else found.sum() * x[0, 1, 2]

    assert_gradients(function, array(2, 3, 4))


@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_products_of_zeros(zeros):
    x = array(2, 5)
    x[0, :zeros] = 0
    assert_gradients(lambda x: (flow.prod(x, axis=1) ** 2 + flow.prod(x, axis=1)).sum(), x)


def test_equal_extrema_have_equal_parts():
    x = flow.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    found = flow.grad(lambda x: x.max(axis=1).sum())(x)
    np.testing.assert_allclose(found.numpy(), [[0, 0.5, 0.5], [1 / 3] * 3])
    assert flow.grad(lambda x: x.min())(flow.tensor([5.0, 4.0])).tolist() == [0.0, 1.0]


def test_sums_in_another_dtype():
    x = flow.ones((2, 3), dtype="float32")
    found = flow.grad(lambda x: flow.sum(x, dtype="float64") * 3)(x)
    assert found.dtype == flow.float32
    assert found.tolist() == [[3.0] * 3] * 2


SHAPES = [
    *(((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)), ((5, 2, 3), (3, 4))),
    *(
        ((5, 2, 3), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
    ),
    *(((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((0, 3), (3, 2))),
]


@pytest.mark.parametrize(("one", "other"), SHAPES, ids=str)
def test_matrix_products(one, other):
    assert_gradients(lambda a, b: ((a @ b) ** 2).sum(), array(*one), array(*other))


@pytest.mark.parametrize(
    "function",
    [
        *(lambda a, b: flow.einsum("ij,kj->ik", a, b).sum(), lambda a, b: (a @ b.T @ a).mean()),
        *(lambda a, b: flow.tensordot(a, b, axes=2) ** 2, lambda a, b: flow.vecdot(a, b).prod()),
        *(lambda a, b: flow.outer(a[0], b[0]).std(), lambda a, b: flow.linalg.norm(a - b)),
        *(lambda a, b: flow.kron(a, b).max(), lambda a, b: flow.inner(a, b).sum()),
        *(lambda a, b: flow.trace(a @ b), lambda a, b: flow.linalg.matrix_power(a @ b, 3).sum()),
        *(lambda a, b: flow.matmul(a[None], b[::-1]).sum(), lambda a, b: (a[0] @ b[:, 1]) ** 3),
    ],
)
def test_products_of_products(function):
    assert_gradients(function, array(3, 3), array(3, 3)[::-1].copy())


@pytest.mark.parametrize("name", ["max", "min"])
def test_a_result_that_is_nan_is_that_of_the_nan(name):
    function = getattr(flow, name)
    x = flow.tensor([[1.0, np.nan, 3.0], [np.nan, np.nan, 1.0], [2.0, 2.0, 2.0]])
    found = flow.grad(lambda x: function(x, axis=1).sum())(x)
    assert found.tolist() == [[0, 1, 0], [0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3]]
    assert flow.grad(function)(x[0]).tolist() == [0, 1, 0]
