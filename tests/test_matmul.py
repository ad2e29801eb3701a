"""Matrix products: NumPy's shapes and dtypes; integers exactly."""

import operator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oracle import DTYPES, same

SHAPES = [
    *(
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((1, 1), (1, 1)),
        ((5, 2, 3), (3, 4)),
    ),
    *(
        ((2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)),
        ((2, 0), (0, 3)),
        ((0, 3), (3, 2)),
        ((0,), (0,)),
    ),
    *(((4, 0, 3), (3, 2)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)), ((70, 80), (80, 90))),
]
BAD = [
    ((2, 3), (2, 3)),
    ((3,), (4,)),
    ((2, 3), (4,)),
    ((2, 2, 3), (3, 3, 4)),
    ((), (3,)),
    ((3,), ()),
    ((), ()),
]


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 5, shape).astype(dtype)


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
def test_small_integers_are_exact_in_every_dtype(a: Any, b: Any, device: flow.Device) -> None:
    for dtype in DTYPES:
        x, y = numbers(a, dtype, 1), numbers(b, dtype, 2)
        same(x @ y, flow.tensor(x, device=device) @ flow.tensor(y, device=device))
        same(
            np.matmul(x, y),
            flow.matmul(flow.tensor(x, device=device), flow.tensor(y, device=device)),
        )


@pytest.mark.parametrize(("a", "b"), BAD, ids=str)
def test_bad_shapes(a: Any, b: Any) -> None:
    with pytest.raises(ValueError, match=r"\[matmul\]"):
        flow.matmul(flow.ones(a), flow.ones(b))


@pytest.mark.parametrize("a", DTYPES)
def test_promotion(a: str) -> None:
    for b in DTYPES:
        x, y = numbers((3, 4), a, 1), numbers((4, 2), b, 2)
        same(x @ y, flow.tensor(x) @ flow.tensor(y))


def test_views(device: flow.Device) -> None:
    x, y = numbers((40, 60), "float32", 1), numbers((40, 60), "float32", 2)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    same(x @ y.T, t @ u.T)
    same(x.T @ y, t.T @ u)
    same(x[::2, ::-3] @ y.T[::3, 1:9], t[::2, ::-3] @ u.T[::3, 1:9])
    same(np.broadcast_to(x[:1], (7, 60)) @ y.T, flow.broadcast_to(t[:1], (7, 60)) @ u.T)
    same(x @ x.T, t @ t.T)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_floats_are_close(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(65, 130)).astype(dtype), rng.normal(size=(130, 33)).astype(dtype)
    result = flow.tensor(x, device=device) @ flow.tensor(y, device=device)
    assert result.dtype == dtype
    assert np.allclose(result.numpy(), x @ y, rtol=1e-4, atol=1e-4)


def test_operators(device: flow.Device) -> None:
    x = np.arange(9.0).reshape(3, 3)
    t = flow.tensor(x, device=device)
    same(x @ x, t @ x)
    same(x @ x, x @ t)
    for other in (2, 2.0, "a", None):
        with pytest.raises((TypeError, ValueError)):
            operator.matmul(t, other)
    alias = t
    t @= x + 1
    same(x @ (x + 1), alias)
    t @= t
    expected = (x @ (x + 1)) @ (x @ (x + 1))
    same(expected, alias)


def test_special_values() -> None:
    x = np.array([[np.nan, 1], [0, np.inf]])
    with np.errstate(all="ignore"):
        same(x @ np.eye(2), flow.tensor(x) @ flow.eye(2))


def test_a_product_of_something_not_ready(device: flow.Device) -> None:
    with flow.flags(mock="jitter=100us"):
        t = flow.eye(50, device=device)
        for i in range(10):
            product = t @ (flow.full((50, 50), i, dtype="float64", device=device) + 1)
            t[0, 0] = 5
            t[0, 0] = 1
            same(np.full((50, 50), i + 1.0), product)
