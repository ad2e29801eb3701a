"""Each differentiable row of the op table agrees with central differences."""

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.elementwise import _clip
from oneflow_lite.ops.table import ROWS
from tests.support.graphs.differences import assert_gradients

ROWS_WITH_GRADIENTS = [  # of floats
    row for row in ROWS.values() if row.vjp is not None and row.name != "ldexp"
]
DOMAINS = {"acosh": (1.2, 3.0), "atanh": (-0.8, 0.8), "asin": (-0.8, 0.8), "acos": (-0.8, 0.8)}
SIGNED = {
    *("add", "subtract", "multiply", "negative", "positive", "abs", "square", "maximum", "minimum"),
    *("sign", "fmax", "fmin", "fabs", "cbrt", "heaviside", "conj", "exp", "exp2", "expm1"),
    *("logaddexp", "logaddexp2", "sin", "cos", "tan", "atan", "atan2", "sinh", "cosh", "tanh"),
    *("asinh", "deg2rad", "rad2deg", "copysign", "clip", "hypot", "divide", "reciprocal"),
}


def operands(row, rng, *shapes):
    low, high = DOMAINS.get(row.name, (-2.0, 2.0) if row.name in SIGNED else (0.3, 2.7))
    return [rng.uniform(low, high, shape) for shape in shapes]


def function_of(row):
    return _clip if row.name == "clip" else getattr(flow, row.name)


@pytest.mark.parametrize("row", ROWS_WITH_GRADIENTS, ids=lambda row: row.name)
class TestRows:
    def test_of_one_shape(self, row):
        arrays = operands(row, np.random.default_rng(1), *[(2, 3)] * row.ufunc.nin)
        assert len(row.vjp) == row.ufunc.nin
        assert_gradients(lambda *x: (function_of(row)(*x) * 1.5).sum(), *arrays)

    def test_of_operands_that_are_broadcast(self, row):
        shapes = [(2, 3), (3,), (2, 1)][: row.ufunc.nin]
        arrays = operands(row, np.random.default_rng(2), *shapes)
        assert_gradients(lambda *x: flow.sum(function_of(row)(*x) ** 2), *arrays)

    def test_of_views(self, row):
        arrays = operands(row, np.random.default_rng(3), *[(4, 3)] * row.ufunc.nin)
        assert_gradients(lambda *x: function_of(row)(*(y.T[1:, ::2] for y in x)).sum(), *arrays)

    def test_of_one_operand_again_and_again(self, row):
        (array,) = operands(row, np.random.default_rng(4), (2, 3))

        def function(x):
            return (function_of(row)(*[x, x * 0.9, x * 0.8][: row.ufunc.nin]) + x).sum()

        assert_gradients(function, array)


@pytest.mark.parametrize(
    "function",
    [
        *(lambda x: 2 * x, lambda x: x / 3, lambda x: 3 / x, lambda x: x**2, lambda x: x**-1.5),
        *(lambda x: 2**x, lambda x: x**0, lambda x: flow.maximum(x, 0.5), lambda x: 1 - x),
        *(lambda x: flow.copysign(x, -1), lambda x: flow.clip(x, 0.4, 0.9)),
        *(lambda x: flow.hypot(3.0, x), lambda x: x % 0.7, lambda x: flow.atan2(2.0, x)),
        *(lambda x: flow.where(x > 0.5, x, 2.0), lambda x: flow.pow(x, flow.tensor([0, 1, 2]))),
        *(lambda x: np.float64(2) * x, lambda x: flow.power(0.0, x)),
    ],
)
def test_numbers_as_operands(function):
    array = np.random.default_rng(5).uniform(0.1, 1.1, (2, 3))
    assert_gradients(lambda x: (function(x) * x).sum(), array)


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_of_two_that_are_equal_the_second_gets_it(name):
    x = flow.tensor([1.0, 2.0])
    found = flow.grad(lambda x, y: getattr(flow, name)(x, y).sum(), (0, 1))(x, x.copy())
    assert [g.tolist() for g in found] == [[0.0, 0.0], [1.0, 1.0]]
    assert flow.grad(lambda x: flow.maximum(x, 0).sum())(flow.zeros(2)).tolist() == [0.0, 0.0]


def test_clip_passes_on_what_is_at_a_bound():
    x = flow.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])
    found = flow.grad(lambda x: flow.clip(x, 0.0, 1.0).sum())(x)
    assert found.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_nan_is_passed_over_by_fmax():
    x, y = flow.tensor([flow.nan, 2.0]), flow.tensor([1.0, flow.nan])
    found = flow.grad(lambda x, y: flow.fmax(x, y).sum(), (0, 1))(x, y)
    assert [g.tolist() for g in found] == [[0.0, 1.0], [1.0, 0.0]]


def test_gradients_have_the_dtypes_of_their_operands():
    x, y = flow.ones(3, dtype="float32"), flow.ones(3) * 2
    one, other = flow.grad(lambda x, y: (x * y).sum(), (0, 1))(x, y)
    assert (one.dtype, other.dtype) == (flow.float32, flow.float64)
    half = flow.grad(lambda x: (x * 2.0).sum())(flow.ones(3, dtype="float16"))
    assert half.dtype == flow.float16
    assert half.tolist() == [2.0, 2.0, 2.0]


def test_rules_compute_in_the_dtype_of_the_operation():
    x, y = flow.tensor(np.float32([0.1, 0.7])), flow.tensor([0.3, 1.1])
    found = flow.grad(lambda x, y: flow.atan2(x, y).sum(), (0, 1))(x, y)[1]
    wide = flow.grad(lambda x, y: flow.atan2(x, y).sum(), (0, 1))(x.astype("float64"), y)[1]
    assert found.tolist() == wide.tolist()


def test_powers_of_zero():
    x = flow.tensor([0.0, 2.0])
    assert flow.grad(lambda x: (x**2).sum())(x).tolist() == [0.0, 4.0]
    assert flow.grad(lambda x: (x ** flow.zeros(2)).sum())(x).tolist() == [0.0, 0.0]
    assert flow.grad(lambda y: (flow.zeros(2) ** y).sum())(x + 1).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_sums_of_powers_at_infinity(name):
    both = flow.grad(lambda x, y: getattr(flow, name)(x, y), (0, 1))
    one, two = np.inf, 1.0
    for x, y in ((one, two), (two, -one), (one, -one)):
        assert [g.item() for g in both(x, y)] == [1, 0]
        assert [g.item() for g in both(y, x)] == [0, 1]
    second = flow.grad(flow.grad(lambda x: getattr(flow, name)(x, 2000.0)))
    assert (second(0.0).item(), second(4000.0).item()) == (0, 0)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("float16", 300), ("float32", 1e20), ("float64", 1e200), ("float64", 1e-200)],
)
def test_angles_of_points_that_are_far_away_or_near(dtype, size):
    x = flow.tensor(size, dtype=dtype)
    found = flow.grad(lambda x, y: flow.atan2(x, y), (0, 1))(x, x)
    wanted = 0.5 / float(x)
    rtol = 4 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose([g.item() for g in found], [wanted, -wanted], rtol=rtol)
