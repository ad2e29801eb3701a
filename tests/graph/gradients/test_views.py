"""One rule for all views: each agrees with central differences, and so do writes through views."""

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.lib.stride_tricks import as_strided, sliding_window_view
from tests.support.graphs.differences import assert_gradients

WEIGHTS = np.random.default_rng(0).normal(size=500)


def weighted(y):
    """Return a number that each element counts in, differently."""
    return (flow.reshape(y, -1) ** 2 * flow.tensor(WEIGHTS[: y.size], device=y.device)).sum()


def array(*shape):
    return np.random.default_rng(1).normal(size=shape)


VIEWS = {
    "itself": lambda x: x[...],
    "a row": lambda x: x[1],
    "an element": lambda x: x[1, 2],
    "a slice": lambda x: x[1:3],
    "with steps": lambda x: x[::2, 1::2],
    "backwards": lambda x: x[::-1, ::-2],
    "turned": lambda x: x.T,
    "turned, then a part": lambda x: x.T[1:, 2],
    "reshaped": lambda x: flow.reshape(x, (2, 2, 4)),
    "reshaped and turned": lambda x: flow.permute_dims(flow.reshape(x, (2, 2, 4)), (2, 0, 1)),
    "turned and reshaped": lambda x: flow.reshape(x.T, (2, 8)),
    "with an axis more": lambda x: x[:, None, 1:],
    "broadcast": lambda x: flow.broadcast_to(x, (3, 4, 4)),
    "a part, broadcast": lambda x: flow.broadcast_to(x[1:2, 1:], (2, 4, 3)),
    "the diagonal": flow.diagonal,
    "empty": lambda x: x[2:2],
    "squeezed": lambda x: flow.squeeze(x[:1], axis=0),
    "windows": lambda x: sliding_window_view(x, (2, 3)),
    "windows of a part, backwards": lambda x: sliding_window_view(x[1:, ::-2], 2, axis=0),
    "by strides": lambda x: as_strided(x[:, 1], (3, 2), (x.strides[0], x.strides[0])),
    "windows, broadcast": lambda x: flow.broadcast_to(sliding_window_view(x[0], 3), (4, 2, 3)),
    "split": lambda x: flow.concat([part * k for k, part in enumerate(flow.unstack(x), 1)]),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
class TestViews:
    def test_a_view(self, view):
        assert_gradients(lambda x: weighted(view(x)), array(4, 4))

    def test_the_view_and_the_whole(self, view):
        assert_gradients(
            lambda x: weighted(view(x * 2)) + weighted(x) + weighted(x[1]), array(4, 4)
        )

    def test_a_view_of_what_lies_turned(self, view):
        assert_gradients(lambda x: weighted(view(x.T + 1)), array(4, 4))

    def test_of_an_argument_that_lies_otherwise(self, view):
        whole = flow.tensor(array(4, 12))
        for x in (whole[:, ::3], whole[:, :4].T, flow.broadcast_to(whole[0, :4], (4, 4))):
            found = flow.grad(lambda x: weighted(view(x)))(x)
            expected = flow.grad(lambda x: weighted(view(x)))(flow.tensor(x.numpy()))
            assert found.tolist() == expected.tolist()


def test_elements_that_are_read_twice():
    assert_gradients(
        lambda x: weighted(x[1:]) + weighted(x[:-1]) + weighted(x[1:, 1:]), array(4, 4)
    )


def writes_a_row(x, y):
    z = x * 1
    z[1] = y[0]
    return weighted(z)


def adds_in_place(x, y):
    z = x * 1
    z += y
    z[:, 1] *= 2
    z[1:] -= y[1:] * z[1:]
    return weighted(z)


def reads_before_and_after(x, y):
    z = x * 1
    before = weighted(z[1])
    z[1] = y[1] * z[2]
    return before * weighted(z[1]) + weighted(z)


def writes_all(x, y):
    z = x * 1
    w = weighted(z)
    z[...] = flow.exp(y)
    return weighted(z) + w


def writes_to_out(x, y):
    z = flow.zeros((6, 4))
    flow.add(x, y, out=z[1:5])
    flow.multiply(x[0], y[0], out=z[0])
    flow.exp(z[0], out=z[5])
    return weighted(z)


def writes_numbers(x, y):
    z = x * y
    z[1:3, ::2] = 3
    return weighted(z)


def writes_over_what_it_reads(x, y):
    z = x * y
    flow.exp(z, out=z)
    z *= z
    return weighted(z)


def writes_another_dtype(x, y):
    z = flow.zeros((4, 4), dtype="float32")
    z[1:] = x[1:] * y[1:]
    return weighted(z).astype("float64")


def writes_what_is_broadcast(x, y):
    z = x * 1
    z[1:3] = y[0]
    z[:, 0] = y[1, 1]
    return weighted(z)


UPDATES = [
    *(writes_a_row, adds_in_place, reads_before_and_after, writes_all, writes_to_out),
    *(writes_numbers, writes_over_what_it_reads, writes_what_is_broadcast),
]


@pytest.mark.parametrize("function", UPDATES)
def test_writes_in_place(function):
    assert_gradients(function, array(4, 4) / 2, array(4, 4)[::-1].copy() / 2)


def test_writes_of_another_dtype():
    found = flow.grad(writes_another_dtype, (0, 1))(flow.ones((4, 4)), flow.ones((4, 4)))
    weights = WEIGHTS[:16].reshape(4, 4).astype(np.float32) * 2.0
    weights[0] = 0
    for g in found:
        assert g.dtype == flow.float64
        np.testing.assert_allclose(g.numpy(), weights, rtol=1e-6)
