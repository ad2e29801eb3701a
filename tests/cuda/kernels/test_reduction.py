"""Reductions, searches, running sums and counts: every way in which they are shared by threads."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.kernel_cases import DTYPES

DEVICE = "cuda:0"
REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "count_nonzero")

# One output of many elements, in one and in two launches; few and many outputs of long and short
# rows; narrow and wide columns, in one and in two launches; several axes.
WORK: tuple[tuple[tuple[int, ...], Any], ...] = (
    ((1,), None),
    ((5000,), None),
    ((40_003,), None),
    ((3, 30_001), 1),
    ((700, 3), 1),
    ((90, 130), 1),
    ((30_001, 3), 0),
    ((3, 700), 0),
    ((2100, 64), 0),
    ((5, 6, 7, 8), (0, 2)),
    ((5, 6, 7, 8), (1, 3)),
    ((20, 9, 40, 8), (0, 2, 3)),
)


def whole(shape: tuple[int, ...], dtype: str = "int64") -> np.ndarray:
    return np.random.default_rng(1).integers(0, 100, shape).astype(dtype)


def views(x: np.ndarray) -> list[Any]:
    """The same selections of an array and of a tensor: off by one, backwards, with steps."""
    return [
        (Ellipsis,),
        (slice(1, None),),
        (slice(None, None, -1),),
        (Ellipsis, slice(1, None)),
        (Ellipsis, slice(None, None, -2)),
    ]


@pytest.mark.parametrize("dtype", ["int64", "uint8"])
@pytest.mark.parametrize(("shape", "axis"), WORK, ids=str)
def test_shared_work(shape: tuple[int, ...], axis: Any, dtype: str) -> None:
    x = whole(shape, dtype)
    t = flow.tensor(x, device=DEVICE)
    for key in views(x):
        if x[key].size == 0:
            continue
        np.testing.assert_array_equal(flow.sum(t[key], axis).numpy(), x[key].sum(axis))
        np.testing.assert_array_equal(flow.max(t[key], axis).numpy(), x[key].max(axis))
        if not isinstance(axis, tuple):
            np.testing.assert_array_equal(flow.argmax(t[key], axis).numpy(), x[key].argmax(axis))
    np.testing.assert_array_equal(flow.sum(t.T).numpy(), x.sum())
    np.testing.assert_array_equal(flow.argmin(t.T).numpy(), x.T.argmin())
    np.testing.assert_array_equal(flow.count_nonzero(t[1:]).numpy(), np.count_nonzero(x[1:]))


@pytest.mark.parametrize("shape", [(2000,), (40_003,), (3, 9000), (9000, 3), (300, 64), (4, 5, 60)])
def test_shared_scans(shape: tuple[int, ...]) -> None:
    x = whole(shape)
    t = flow.tensor(x, device=DEVICE)
    for key in views(x):
        for axis in range(x.ndim):
            seen, expected = flow.cumsum(t[key], axis), np.cumsum(x[key], axis)
            np.testing.assert_array_equal(seen.numpy(), expected)
    halves = (x % 3).astype("float16")
    seen = flow.cumsum(flow.tensor(halves, device=DEVICE), 0).numpy()
    expected = np.cumsum(halves.astype("float64"), 0).astype("float16")
    np.testing.assert_array_equal(seen, expected)


def test_broadcast_and_empty() -> None:
    x = whole((1, 50, 1))
    t = flow.broadcast_to(flow.tensor(x, device=DEVICE), (40, 50, 60))
    y = np.broadcast_to(x, (40, 50, 60))
    for axis in (None, 0, 1, 2, (0, 1), (0, 2)):
        np.testing.assert_array_equal(flow.sum(t, axis).numpy(), y.sum(axis))
    assert flow.cumsum(t, 0)[-1, 7, 0].item() == 40 * x[0, 7, 0]
    empty = flow.zeros((0, 4), device=DEVICE)
    assert flow.sum(empty, 0).tolist() == [0] * 4
    assert flow.prod(empty, 0).tolist() == [1] * 4
    assert flow.all(empty).item()
    assert flow.cumsum(empty, 0).shape == (0, 4)
    assert flow.sum(flow.ones(3, device=DEVICE), initial=4).item() == 7


def test_the_first_of_many() -> None:
    """In every chunk, and whichever way memory lies."""
    for dtype in ("bool", "float16", "complex128"):
        x = np.zeros((151, 101), dtype)
        for places in ((), (15_000,), (7_001, 7_000), (100, 15_200)):
            x.flat[list(places)] = np.nan if x.dtype.kind in "fc" else True
            t = flow.tensor(x, device=DEVICE)
            for a, b in ((x, t), (x.T, t.T), (x[::-1], t[::-1])):
                for axis in (None, 0, 1):
                    for name in ("argmax", "argmin"):
                        seen, expected = getattr(flow, name)(b, axis), getattr(np, name)(a, axis)
                        np.testing.assert_array_equal(seen.numpy(), expected)


def test_extremes_of_complex_numbers() -> None:
    rng = np.random.default_rng(2)
    parts = rng.choice([0.0, -0.0, 1.0, 2.0, np.inf, -np.inf, np.nan], (2, 40, 300))
    x = np.asarray(np.where(rng.random((40, 300)) < 0.9, 1, parts[0]) + 1j * parts[1])
    t = flow.tensor(x, device=DEVICE)
    for ours, numpys in ((flow.max, np.maximum), (flow.nanmin, np.fmin)):
        for axis in (0, 1, None):
            seen, expected = ours(t, axis).numpy(), numpys.reduce(x, axis)
            np.testing.assert_array_equal(seen.real, expected.real)
            np.testing.assert_array_equal(seen.imag, expected.imag)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_sums_are_accurate_and_always_the_same(dtype: str) -> None:
    """The bound is that of short chains; NumPy's own error is not far below it."""
    rng = np.random.default_rng(3)
    for shape, axis in (((60_001,), None), ((4, 9001), 1), ((9001, 5), 0)):
        x = rng.normal(1, 1, shape).astype(dtype)
        t = flow.tensor(x, device=DEVICE)
        exact = x.astype(np.result_type(x, np.longdouble)).sum(axis)
        seen = flow.sum(t, axis).numpy()
        size = np.abs(x.astype("clongdouble")).sum(axis)
        eps = np.finfo(np.float32 if dtype == "float16" else x.dtype).eps
        rounding = np.spacing(np.abs(exact).astype(seen.real.dtype)) / 2
        assert (np.abs(seen - exact) <= 2 * eps * size + rounding).all()
        for _ in range(3):
            assert np.array_equal(flow.sum(t + 0, axis).numpy(), seen)


def test_counts() -> None:
    rng = np.random.default_rng(4)
    for bins, n in ((1, 3), (90, 20_000), (5000, 9000)):
        x = rng.integers(0, bins, n)
        weights = rng.normal(size=n)
        t, w = flow.tensor(x, device=DEVICE), flow.tensor(weights, device=DEVICE)
        np.testing.assert_array_equal(flow.bincount(t).numpy(), np.bincount(x))
        np.testing.assert_array_equal(flow.bincount(t[::-2]).numpy(), np.bincount(x[::-2]))
        seen = flow.bincount(t, w).numpy()
        np.testing.assert_allclose(seen, np.bincount(x, weights), rtol=1e-12, atol=1e-12)
        assert np.array_equal(flow.bincount(t, w).numpy(), seen)


UFUNCS = (np.add, np.multiply, np.maximum, np.logical_and, np.logical_xor)
UFUNCS += (np.bitwise_and, np.bitwise_or, np.bitwise_xor)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64"])
def test_ufuncs_that_reduce(dtype: str) -> None:
    """By the names of rows."""
    x = whole((70, 90)).astype(dtype)
    t = flow.tensor(x, device=DEVICE)
    for ufunc in UFUNCS:
        for axis in (0, 1, None):
            expected = ufunc.reduce(x, axis=axis)
            np.testing.assert_array_equal(ufunc.reduce(t, axis=axis).numpy(), expected)
    assert flow.cuda.host_operations() == []


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_of_this_runs_on_the_host(dtype: str) -> None:
    t = flow.tensor(whole((6, 7)) % 2, device=DEVICE).astype(dtype)
    for name in REDUCTIONS:
        getattr(flow, name)(t).numpy()
    for name in ("mean", "var", "std", "nansum", "nanmax", "nanmean", "cumsum", "cumprod"):
        getattr(flow, name)(t, axis=0).numpy()
    flow.subtract.accumulate(t).numpy() if dtype != "bool" else flow.logical_or.accumulate(t)
    shifted = flow.exp(t - flow.max(t, axis=1, keepdims=True)) if dtype[0] == "f" else t
    (shifted / flow.sum(shifted, axis=1, keepdims=True)).numpy()
    assert flow.cuda.host_operations() == []
