"""Indices, order, running sums and convolutions agree with central differences."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.graphs.differences import assert_gradients

INDICES = flow.tensor([2, 0, -1, 2, 1])
WEIGHTS = np.random.default_rng(0).normal(size=600)


def weighted(y):
    """Return a number that each element counts in, differently."""
    return (flow.reshape(y, -1) ** 2 * flow.tensor(WEIGHTS[: y.size], device=y.device)).sum()


def array(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape)


READS = {
    "rows": lambda x: x[INDICES],
    "columns": lambda x: x[:, INDICES],
    "elements": lambda x: x[INDICES, flow.tensor([0, 1, 2, 0, -1])],
    "a matrix of rows": lambda x: x[flow.tensor([[0, 2], [2, 2]])],
    "with a slice between": lambda x: flow.reshape(x, (3, 2, 2))[INDICES, :, flow.tensor([1])],
    "take": lambda x: flow.take(x, INDICES, axis=1),
    "take from the flattened": lambda x: flow.take(x, INDICES),
    "take, from the other end": lambda x: flow.take(x, INDICES * 3, mode="wrap"),
    "take, the nearest": lambda x: flow.take(x, INDICES * 9, axis=0, mode="clip"),
    "along an axis": lambda x: flow.take_along_axis(x, flow.tensor([[0], [3], [-1]]), axis=1),
    "of nothing": lambda x: x[flow.tensor([], dtype="int64")],
    "a part": lambda x: x.T[1:][INDICES],
    "choose": lambda x: flow.choose(INDICES[:2] % 2, [x[0, :2], x[1, :2]]),
    "diff": lambda x: flow.diff(x, axis=1),
    "roll": lambda x: flow.roll(x, 2, axis=1),
    "repeat": lambda x: flow.repeat(x, 2, axis=0),
    "tile": lambda x: flow.tile(x, (2, 1)),
    "pad": lambda x: flow.pad(x, 1),
    "stack": lambda x: flow.stack([x, x * 2], axis=1),
    "concat": lambda x: flow.concat([x[:1], x, x[:2] * x[1:]], axis=0),
    "tril": flow.tril,
    "diag": lambda x: flow.diag(x[:, :3]),
    "select": lambda x: flow.where(x > 0, x, x[::-1]),
    "to another dtype": lambda x: (x.astype("float32") * 1).astype("float64") * 0 + x,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS.keys())
class TestReads:
    def test_of_an_argument(self, read):
        assert_gradients(lambda x: weighted(read(x)) + weighted(x), array(3, 4))

    def test_of_what_lies_turned(self, read):
        assert_gradients(lambda x: weighted(read(flow.sin(x.T))), array(4, 3))


def test_indices_that_are_out_of_range_fail_as_in_eager():
    g = flow.grad(lambda x, k: x[k].sum())(flow.ones(3), flow.tensor([1, 5]))
    assert g.shape == (3,)  # the gradient of a sum needs no element
    value, _ = flow.value_and_grad(lambda x, k: x[k].sum())(flow.ones(3), flow.tensor([1, 5]))
    with pytest.raises(IndexError, match="5 is out of bounds"):
        value.item()


def writes_rows(x, y):
    z = x * 1
    z[INDICES[:3]] = y
    return weighted(z)


def writes_the_same_row_again(x, y):
    z = x * y
    z[flow.tensor([1, 1, 0])] = y * y
    return weighted(z) + z[1, 1]


def writes_elements(x, y):
    z = x * 1
    z[INDICES[:2], flow.tensor([1, 3])] = y[0, :2]
    z[flow.tensor([0, 1])] += y[:2]
    return weighted(z)


def writes_numbers(x, y):
    z = x * y
    z[INDICES[:2]] = 2.5
    z[x > 0.5] = 1.5
    return weighted(z)


def writes_by_masks(x, y):
    z = x * 1
    z[y > 0] = y[1, 1]
    z[flow.tensor([True, False, True])] = y[:2]
    z[flow.tensor([False, True, True])] = x[1]
    return weighted(z)


def writes_one_number_to_many(x, y):
    z = x * y
    z[INDICES[:2]] = y[1, 1]
    return weighted(z)


def writes_along_an_axis(x, y):
    z = x * 1
    flow.put_along_axis(z, flow.tensor([[0], [3], [2]]), y[:, :1], axis=1)
    flow.put(z, flow.tensor([0, 5]), y[0, 1:3])
    return weighted(z)


def writes_to_columns(x, y):
    z = (x * 1).T
    z[INDICES[:2]] = y.T[:2]
    return weighted(z)


WRITES = [
    *(writes_rows, writes_the_same_row_again, writes_elements, writes_numbers, writes_by_masks),
    *(writes_one_number_to_many, writes_along_an_axis, writes_to_columns),
]


@pytest.mark.parametrize("function", WRITES)
def test_writes_by_index(function):
    assert_gradients(function, array(3, 4), array(3, 4)[::-1].copy())


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("descending", [False, True])
def test_sorted_elements(axis, descending):
    assert_gradients(
        lambda x: weighted(flow.sort(x, axis=axis, descending=descending)), array(2, 5, 3)
    )


@pytest.mark.parametrize("function", [flow.median, lambda x: flow.quantile(x, 0.3)])
def test_order_statistics(function):
    assert_gradients(function, array(3, 5))


@pytest.mark.parametrize("size", [7, 2000])
def test_partitioned_elements(size):
    x, w = np.random.default_rng(3).permutation(size) * 1.0, np.arange(size) * 0.5
    found = flow.grad(lambda x: (flow.partition(x, size // 3) * w).sum())(flow.tensor(x))
    places = np.argsort(flow.partition(flow.tensor(x), size // 3).numpy())
    assert found.tolist() == w[places][x.astype(int)].tolist()
    found = flow.grad(flow.nanmedian)(flow.tensor(np.where(x == 1, np.nan, x)))
    middle = np.nanmedian(np.where(x == 1, np.nan, x))
    near = np.abs(x - middle) <= 0.5 if size > 7 else np.abs(x - middle) <= 1
    assert found.tolist() == (near / near.sum()).tolist()


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_sums_and_products(axis, name):
    assert_gradients(lambda x: weighted(getattr(flow, name)(x, axis=axis)), array(2, 5, 3))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("row", [flow.maximum, flow.fmin])
def test_running_extrema(axis, row):
    assert_gradients(lambda x: weighted(row.accumulate(x, axis)), array(2, 5, 3))


@pytest.mark.parametrize(
    ("row", "values", "expected"),
    [
        (flow.maximum, [1, np.nan, 2, np.nan], [1, 3, 0, 0]),
        (flow.fmin, [np.nan, np.nan, 3, np.nan, 1], [2, 0, 2, 0, 1]),
    ],
)
def test_running_extrema_that_are_nan_are_those_of_the_first_nan(row, values, expected):
    found = flow.grad(lambda x: row.accumulate(x).sum())(flow.tensor(values, dtype="float64"))
    assert found.tolist() == expected


@pytest.mark.parametrize(("shape", "axis"), [((0,), 0), ((2, 0), 1), ((0, 3), 0), ((0, 3), 1)])
def test_running_extrema_of_nothing(shape, axis):
    assert_gradients(lambda x: flow.maximum.accumulate(x, axis).sum(), np.ones(shape))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_convolutions_of_rows(name, mode):
    def function(x, w):
        return weighted(getattr(flow, name)(x, w, mode))

    assert_gradients(function, array(6), array(3, 3)[0].copy())
    assert_gradients(function, array(3, 3)[0].copy(), array(6))
    assert_gradients(lambda x: function(x, x), array(4))


def test_running_products_of_zeros():
    x = array(2, 7)
    x[0, 3] = x[1, 0] = x[1, 5] = x[1, 6] = 0
    assert_gradients(lambda x: weighted(flow.cumprod(x, axis=1)), x)
    assert_gradients(lambda x: weighted(flow.grad(lambda x: flow.cumprod(x).sum())(x)), x[1])


WINDOWS = [
    {},
    {"stride": 2, "padding": 1},
    {"stride": (1, 2), "padding": ((1, 0), (2, 1)), "dilation": (2, 1)},
    {"groups": 2, "padding": 1},
    {"groups": 4, "padding": 1, "stride": 2},
]


@pytest.mark.parametrize("how", WINDOWS, ids=str)
class TestConvolutions:
    def arrays(self, how):
        return array(2, 4, 5, 6) / 2, array(4, 4 // how.get("groups", 1), 2, 3) / 3

    def test_first_derivatives(self, how):
        assert_gradients(lambda x, w: weighted(flow.conv2d(x, w, **how)), *self.arrays(how))

    def test_gradients_of_gradients(self, how):
        x, w = self.arrays(how)

        def function(x, w):
            inner = flow.grad(lambda x, w: (flow.conv2d(x, w, **how) ** 3).sum(), (0, 1))
            return sum((g * g).sum() for g in inner(x, w)) / 100

        given = flow.tensor(x[:1]), flow.tensor(w)
        found = flow.grad(function, (0, 1))(*given)
        rng = np.random.default_rng(3)
        for k in range(2):  # along one direction
            along = flow.tensor(rng.normal(size=given[k].shape))
            values = []
            for sign in (1, -1):
                moved = list(given)
                moved[k] = given[k] + sign * 1e-6 * along
                values.append(function(*moved).item())
            expected = (values[0] - values[1]) / 2e-6
            assert (found[k] * along).sum().item() == pytest.approx(expected, rel=1e-6)


def test_convolutions_in_blocks_of_channels():
    x, w = array(1, 16, 3, 3) / 2, array(16, 16, 2, 2) / 3

    def function(x, w):
        blocks = flow.layout_transform(x, "NCHW", "NCHW16c")
        y = flow.conv2d(blocks, w, data_layout="NCHW16c")
        return weighted(flow.layout_transform(y, "NCHW16c", "NCHW"))

    found = flow.grad(function, (0, 1))(flow.tensor(x), flow.tensor(w))
    expected = flow.grad(lambda x, w: weighted(flow.conv2d(x, w)), (0, 1))(
        flow.tensor(x), flow.tensor(w)
    )
    for g, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(g.numpy(), wanted.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        *(lambda x: weighted(x[INDICES.to(x.device)]), lambda x: weighted(flow.sort(x, axis=1))),
        *(lambda x: weighted(flow.cumprod(x, axis=1)), lambda x: weighted(x.T[1:, ::2])),
        lambda x: weighted(flow.conv2d(flow.reshape(x, (1, 1, 3, 4)), x[None, None, :2, :2])),
    ],
)
def test_each_device_has_those_of_the_cpu(function, device):
    found = flow.grad(function)(flow.tensor(array(3, 4), device=device))
    assert found.device == device
    expected = flow.grad(function)(flow.tensor(array(3, 4)))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)


MASK = np.array([[True, False, True], [False, False, True]])


@pytest.mark.parametrize(
    "function",
    [
        *(lambda x: x[MASK], lambda x: x[MASK[:, 0]]),
        *(lambda x: x[:, MASK[1]], lambda x: x[np.zeros((2, 3), bool)] + x.sum()),
        *(lambda x: flow.extract(MASK, x), lambda x: flow.compress([False, True], x)),
        lambda x: flow.compress([True, False, True], x, axis=1),
    ],
)
def test_reads_by_masks(function):
    assert_gradients(lambda x: weighted(function(x)), array(2, 3))


def test_errors_name_the_function_that_chooses():
    with pytest.raises(flow.graph.TraceError, match=r"\[extract\] needs the values"):
        flow.jit(lambda x: flow.extract(x > 0, x))(flow.ones(3))
