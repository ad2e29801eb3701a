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


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_products_with_an_initial_value(axis, keepdims):
    mask = flow.tensor(array(2, 3, 4) > 0)
    for where in (True, mask):

        def function(x, where=where):
            return (flow.prod(x, axis, None, None, keepdims, -2.5, where) ** 2).sum()

        assert_gradients(function, array(2, 3, 4))


def test_an_initial_value_that_each_call_is_given():
    step = flow.jit(flow.grad(lambda x, start: flow.prod(x, initial=start)))
    for start in (10.0, 2.5):
        assert step(flow.tensor([2.0, 3.0]), start).tolist() == [3 * start, 2 * start]


@pytest.mark.parametrize("axis", [None, 1, ()], ids=str)
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_with_an_initial_value(name, axis):
    function = getattr(flow, name)
    assert_gradients(lambda x: (function(x, axis=axis, initial=0.1) ** 2).sum(), array(2, 3))
    assert_gradients(lambda x: (function(x, axis=axis, initial=-0.1) ** 2).sum(), array(2, 3))


def test_an_initial_value_that_is_the_result_has_a_second_derivative():
    def inner(x, scale):
        return scale * flow.max(x, initial=10.0)

    x = flow.tensor([2.0, 3.0])
    found = flow.grad(lambda scale: flow.grad(inner)(x, scale).sum())(flow.tensor(3.0))
    assert found.item() == 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_many_equal_extrema_of_short_floats(dtype):
    x = flow.zeros(70000, dtype=dtype)
    found = flow.grad(lambda x: x.max() * 60000)(x)
    assert found.dtype == x.dtype
    np.testing.assert_allclose(found.astype("float64").numpy(), 6 / 7, rtol=5e-3)


def test_what_is_reduced_in_another_dtype():
    x = flow.tensor([1e20, 1e20, 1e20, 2.0], dtype="float32")
    found = flow.grad(lambda x: flow.prod(x, dtype="float64") * 1e-50)(x)
    assert found.dtype == flow.float32
    np.testing.assert_allclose(found.numpy(), [2e-10, 2e-10, 2e-10, 1e10], rtol=1e-6)
    y = flow.tensor([0.1, 0.2, 0.2 + 1e-12])  # two are one in float32
    assert flow.grad(lambda y: flow.maximum.reduce(y, dtype="float32"))(y).tolist() == [0, 0.5, 0.5]


@pytest.mark.parametrize(("shape", "axis"), [((0, 3), 1), ((3, 0), 0), ((3, 0), 1), ((0,), None)])
def test_products_of_nothing(shape, axis):
    assert_gradients(lambda x: flow.prod(x, axis=axis).sum(), np.ones(shape))


EMPTY = [((2, 3, 0), (0, 4)), ((2, 3, 4), (4, 0)), ((2, 0, 3), (3, 4)), ((0, 2, 3), (3, 4))]


@pytest.mark.parametrize(("one", "other"), EMPTY, ids=str)
def test_matrix_products_of_nothing(one, other):
    assert_gradients(lambda a, b: (a @ b).sum(), np.ones(one), np.ones(other))
