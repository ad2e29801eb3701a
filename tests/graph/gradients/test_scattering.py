"""The gradient of reads by index arrays: sums by index."""

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph.gradients.scattering import add_rows
from tests.support.graphs.row_sums import SIZES, check


@pytest.mark.parametrize("where", ["cpu", "mock:0"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_added_in_order(dtype: str, where: str) -> None:
    for size in SIZES:
        check(*size, dtype, where)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_any_number_of_threads_gives_the_same_bits(threads: int) -> None:
    with flow.flags(num_threads=threads):
        check(500, 600, 3000, "float32", "cpu")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_are_added_in_double(dtype: str) -> None:
    rows = flow.full((4096, 3), 0.1, dtype=dtype)
    summed = add_rows(2, flow.zeros(4096, dtype="int64"), rows).astype("float64").numpy()
    exact = 4096 * rows[0].astype("float64").numpy()
    np.testing.assert_allclose(summed[0], exact, rtol=1e-2)
    assert (summed[1] == 0).all()


def test_the_gradient_of_an_embedding() -> None:
    rng = np.random.default_rng(0)
    table, words = rng.normal(size=(50, 16)).astype("f4"), rng.integers(0, 50, (8, 12))
    weights = rng.normal(size=(8, 12, 16)).astype("f4")

    def loss(table: flow.Tensor, words: flow.Tensor, weights: flow.Tensor) -> flow.Tensor:
        return (table[words] * weights).sum()

    step = flow.jit(flow.grad(loss))
    expected = np.zeros_like(table)
    np.add.at(expected, words, weights)
    for _ in range(3):
        found = step(*map(flow.tensor, (table, words, weights)))
        assert found.numpy().tobytes() == expected.tobytes()
