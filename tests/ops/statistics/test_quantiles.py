"""median, quantile, percentile: NumPy's dtypes and bits, on every device."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.numpy.statistics.quantile_methods import METHODS
from tests.support.oracle import DTYPES, same, values

pytestmark = pytest.mark.usefixtures("no_warnings")

REAL = [d for d in DTYPES if not d.startswith(("bool", "complex"))]
SHAPES = ((1,), (2,), (9,), (400,), (7, 10), (4, 5, 6), ())


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Without negative zeros: which of the zeros is in the middle is not said."""
    x = values(shape, dtype, seed)
    return x + np.zeros((), x.dtype) if x.dtype.kind in "fc" else x


def axes_of(shape: tuple[int, ...]) -> list[Any]:
    return [None, *range(len(shape)), *([(0, -1)] if len(shape) > 1 else [])]


@pytest.mark.parametrize("dtype", DTYPES)
def test_median(dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = numbers(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for axis in axes_of(shape):
            for keepdims in (False, True):
                expected = np.median(x, axis=axis, keepdims=keepdims)
                same(expected, flow.median(t, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", REAL)
def test_quantiles(dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = numbers(shape, dtype, seed + 9)
        t = flow.tensor(x, device=device)
        for q in (0.5, 0.0, 1.0, 0.3, 1, [0.1, 0.95], np.array([[0.25]]), []):
            for axis in axes_of(shape):
                same(np.quantile(x, q, axis=axis), flow.quantile(t, q, axis=axis))
        kept = np.quantile(x, [0.2, 0.4], axis=axis, keepdims=True)
        same(kept, flow.quantile(t, [0.2, 0.4], axis=axis, keepdims=True))
        for q in (50, 33.3, 100, [5, 95]):
            same(np.percentile(x, q), flow.percentile(t, q))


def test_parts_of_a_tensor(device: flow.Device) -> None:
    x, q = numbers((50,), "float64", 1), np.array([0.1, 0.6])
    t, parts = flow.tensor(x, device=device), flow.tensor(q, device=device)
    same(np.quantile(x, q), flow.quantile(t, parts))
    same(np.percentile(x, q), flow.percentile(t, parts))


@pytest.mark.parametrize("dtype", REAL)
def test_numpys_scalars_are_not_weak(dtype: str, device: flow.Device) -> None:
    x = (np.arange(40) * 7 % 40).astype(dtype)  # no NaN: NumPy would change the dtype for it
    t = flow.tensor(x, device=device)
    for q in (np.float32(0.7), np.float64(0.3), np.int64(1), np.float16(0.25)):
        same(np.quantile(x, q), flow.quantile(t, q))
        same(np.percentile(x, q * 9), flow.percentile(t, q * 9))


def test_views_stay_as_they_are(device: flow.Device) -> None:
    x = numbers((20, 30), "float32", 2)
    t = flow.tensor(x, device=device)
    for axis in (None, 0, 1):
        same(np.median(x[::2, ::-3].T, axis), flow.median(t[::2, ::-3].T, axis))
        same(np.quantile(x.T, 0.2, axis), flow.quantile(t.T, 0.2, axis))
    same(x, t)


def test_no_elements(device: flow.Device) -> None:
    t = flow.ones((0, 2), device=device)
    same(np.full(2, np.nan), flow.median(t, axis=0))
    same(np.empty(0), flow.median(t, axis=1))
    same(np.array(np.nan), flow.median(t))
    same(np.empty(0), flow.quantile(t, 0.5, axis=1))
    with pytest.raises(IndexError, match=r"\[quantile\] expected at least one element"):
        flow.quantile(t, 0.5)


def test_wrong_arguments() -> None:
    x = flow.ones((2, 3))
    for call, error, text in (
        (lambda: flow.quantile(x, 1.5), ValueError, r"\[quantile\] expected q in the range \[0, 1"),
        (lambda: flow.quantile(x, np.nan), ValueError, "range"),
        (
            lambda: flow.percentile(x, 101),
            ValueError,
            r"\[percentile\] .* range \[0, 100\], got 101",
        ),
        (lambda: flow.quantile(x, 0.5, method="next"), ValueError, "method 'linear'"),
        (lambda: flow.quantile(x + 1j, 0.5), TypeError, "real numbers, got complex128"),
        (lambda: flow.quantile(x, "a"), TypeError, "q to be real"),
        (lambda: flow.quantile(x, np.ones((1, 1, 1))), ValueError, "two dimensions"),
        (lambda: flow.median(x, axis=2), IndexError, r"\[median\] .*axis 2"),
        (lambda: flow.median(x, axis=(0, 0)), ValueError, r"\[median\] repeated axis"),
    ):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.parametrize("method", [m for m in METHODS if m != "linear"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "uint8", "bool"])
def test_methods(dtype: str, method: str, device: flow.Device) -> None:
    """As in NumPy 2.4; 2.3 rounds places of float32 otherwise."""
    if dtype == "float32" and np.lib.NumpyVersion(np.__version__) < "2.4.0":
        pytest.skip("places of float32 are those of NumPy 2.4")

    def numpys(x: np.ndarray, q: Any, axis: int | None = None) -> Any:
        given: Any = method
        return np.quantile(x, q, axis=axis, method=given)

    parts: tuple[Any, ...] = (0, 1, 0.3, 0.5, [0.1, 0.5, 0.9], [[0.0, 1.0], [0.25, 0.75]])
    for seed, shape in enumerate(((1,), (2,), (5,), (8,), (3, 7))):
        x = numbers(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for q in (*parts, np.linspace(0, 1, 11)):
            for axis in (None, -1):
                try:
                    expected = numpys(x, q, axis)
                except TypeError:  # of bool, which cannot be subtracted
                    with pytest.raises(TypeError):
                        flow.quantile(t, q, axis=axis, method=method)
                    continue
                same(flow.quantile(t, q, axis=axis, method=method), expected)
    if dtype[0] == "f":
        x[0, 0] = np.nan
        seen = flow.percentile(flow.tensor(x, device=device), 30, axis=1, method=method)
        dispatched: Any = np.percentile
        same(seen, dispatched(x, 30, axis=1, method=method))
        same(dispatched(t, 30, method=method), dispatched(t.numpy(), 30, method=method))


@pytest.mark.parametrize("method", METHODS)
def test_methods_in_programs(method: str, device: flow.Device) -> None:
    x = numbers((5, 4), "float64", 4)
    x[1, 2] = np.nan
    t = flow.tensor(x, device=device)
    of_number = flow.jit(lambda t: flow.quantile(t, 0.4, axis=0, method=method))
    of_parts = flow.jit(lambda t, q: flow.quantile(t, q, axis=0, method=method))
    given: Any = method
    for _ in range(2):
        same(of_number(t), np.quantile(x, 0.4, axis=0, method=given))
        for q in (np.array(0.4), np.array([0.1, 0.5, 1.0]), np.array([0, 1])):
            expected = np.quantile(x, q, axis=0, method=given)
            same(of_parts(t, flow.tensor(q, device=device)), expected)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32"])
@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_methods_beside_nan(dtype: str, method: str, device: flow.Device) -> None:
    random = np.random.default_rng(6)
    given: Any = method
    for shape, axis in (((7,), None), ((5, 6), 0), ((5, 6), 1), ((2, 3, 4), (0, 2))):
        x = numbers(shape, dtype, 5)
        if dtype != "int32":
            x[random.random(shape) < 0.25] = np.nan
        t = flow.tensor(x, device=device)
        for q in (0.3, 0, 1, [0.1, 0.25, 0.999], [0, 1]):
            expected = np.nanquantile(x, q, axis=axis, method=given)
            same(flow.nanquantile(t, q, axis=axis, method=method), expected)
        expected = np.nanpercentile(x, [30, 60], axis=axis, method=given)
        same(flow.nanpercentile(t, [30, 60], axis=axis, method=method), expected)
    x[...] = np.nan if dtype != "int32" else 1
    same(flow.nanquantile(t * 0 + x, 0.4, method=method), np.nanquantile(x, 0.4, method=given))


def test_quantiles_of_truths(device: flow.Device) -> None:
    x = np.array([True, False, True])
    t = flow.tensor(x, device=device)
    for q in (0, 1, [0, 1]):
        for name in ("quantile", "nanquantile"):
            same(getattr(flow, name)(t, q), getattr(np, name)(x, q))
    with pytest.raises(TypeError, match="expected real numbers, got bool"):
        flow.quantile(t, 0.5)
    with pytest.raises(ValueError, match=r"\[quantile\] expected method .* got 'other'"):
        flow.quantile(t, 0.4, method="other")
