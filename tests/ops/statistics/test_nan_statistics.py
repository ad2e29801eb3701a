"""Statistics of what is not NaN: NumPy's results, on every device."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same
from tests.support.rounding import agrees, has_own_kernels, of_products

pytestmark = pytest.mark.usefixtures("no_warnings")

SHAPES = ((1,), (9,), (40,), (7, 10), (3, 4, 6), ())
FLOATS = ("float32", "float64")


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Small numbers, a fourth of the floats NaN, and a lane of NaN only in matrices."""
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.normal(0, 4, shape)).astype(dtype)
    if x.dtype.kind in "fc":
        x[rng.random(shape) < 0.25] = np.nan
        if x.ndim > 1 and x.size:
            x[(-1,) * (x.ndim - 1)] = np.nan  # not the first: NumPy takes the dtype from there
    return x


def axes_of(shape: tuple[int, ...]) -> list[Any]:
    return [None, *range(len(shape)), *([(0, -1)] if len(shape) > 1 else [])]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
@pytest.mark.parametrize("name", ["nanvar", "nanstd"])
def test_variances(name: str, dtype: str, device: flow.Device) -> None:
    ours, numpys = getattr(flow, name), getattr(np, name)
    for seed, shape in enumerate(SHAPES):
        x = numbers(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for axis in axes_of(shape):
            for keywords in ({}, {"ddof": 1}, {"keepdims": True}):
                seen = ours(t, axis=axis, **keywords)
                expected = np.asarray(numpys(x, axis=axis, **keywords))
                assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape)
                tolerance = 1e-2 if dtype == "float16" else 1e-5
                np.testing.assert_allclose(seen.numpy(), expected, rtol=tolerance)
        if dtype in FLOATS:
            agrees(name, numpys(x), ours(t), x)
    with pytest.raises(ValueError, match="are the same"):
        ours(t, correction=1, ddof=1)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.startswith(("bool", "complex"))])
def test_medians(dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate((*SHAPES, (0, 2))):
        x = numbers(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for axis in axes_of(shape):
            for keepdims in (False, True):
                seen = flow.nanmedian(t, axis=axis, keepdims=keepdims)
                same(np.nanmedian(x, axis=axis, keepdims=keepdims), seen)
    largest = np.finfo("float64").max
    same(np.nanmedian([largest, np.nan]), flow.nanmedian(flow.tensor([largest, np.nan])))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [*FLOATS, "int16"])
def test_quantiles(dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = numbers(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for q in (0.5, 0.0, 1.0, 0.3, 1, True, [False, True], [0.1, 0.95], []):
            for axis in axes_of(shape):
                expected = np.asarray(np.nanquantile(x, q, axis=axis))
                seen = flow.nanquantile(t, q, axis=axis)
                assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype)
                assert np.array_equal(seen.numpy(), expected, equal_nan=True)
        kept = np.nanpercentile(x, [20, 40], axis=axis, keepdims=True)
        same(kept, flow.nanpercentile(t, [20, 40], axis=axis, keepdims=True))
    for call in (
        lambda: flow.nanquantile(t, 1.5),
        lambda: flow.nanpercentile(t, -1),
        lambda: flow.nanquantile(t, 0.5, method="other"),
    ):
        with pytest.raises(ValueError, match=r"\[nan(quantile|percentile)\] expected"):
            call()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int16"])
def test_quantiles_of_no_elements(dtype: str, device: flow.Device) -> None:
    """NumPy's NaN; but each part has its own, as where there are elements."""
    shapes: list[tuple[tuple[int, ...], Any]] = [((0,), None), ((0, 3), None), ((0, 3), 0)]
    shapes += [((0, 3), 1), ((3, 0), 1), ((2, 0, 3), (0, 1)), ((0, 0), 0)]
    for shape, axis in shapes:
        x, t = np.zeros(shape, dtype), flow.zeros(shape, dtype, device=device)
        for keepdims in (False, True):
            given: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
            expected = np.nanquantile(x, 0.5, **given)
            for q in (0.5, 1, 0):
                same(expected, flow.nanquantile(t, q, **given))
                same(expected, flow.nanpercentile(t, q * 10, **given))
            parts = flow.nanquantile(t, [0.5, 0.25], **given)
            assert parts.shape == (2, *expected.shape)
            assert parts.device == device
            assert np.isnan(parts.numpy()).all()
            same(expected, flow.jit(lambda a, k=given: flow.nanquantile(a, 0.5, **k))(t))
    for call in (lambda: flow.nanquantile(t, 1.5), lambda: flow.nanquantile(t, 1, method="other")):
        with pytest.raises(ValueError, match=r"\[nanquantile\] expected"):
            call()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["nanquantile", "quantile"])
def test_more_elements_than_float16_counts(name: str, device: flow.Device) -> None:
    for size in (2051, 65504, 65519, 65520, 65521, 70000):
        x = np.random.default_rng(size).normal(size=size)
        t = flow.tensor(x, device=device)
        for part in (0, 0.25, 0.999, 1):
            q = np.float16(part)
            expected = getattr(np, name)(x, q)
            same(expected, getattr(flow, name)(t, q))
            traced = flow.jit(getattr(flow, name))(t, flow.tensor(q, device=device))
            same(expected, traced)
        last = flow.tensor(np.sort(x)[:2052], device=device)
        assert getattr(flow, name)(last, np.float16(1)).item() == last[-1].item()


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_and_running_results(dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = numbers(shape, dtype, seed)
        x = x[1:] if x.ndim > 1 else x
        x = np.where(np.isnan(x).all(), np.ones((), x.dtype), x)
        t = flow.tensor(x, device=device)
        for axis in [None, *range(x.ndim)]:
            for name in ("nanargmax", "nanargmin"):
                if axis is not None and np.isnan(x).all(axis).any():
                    with pytest.raises(ValueError, match=name):
                        getattr(flow, name)(t, axis=axis)
                else:
                    same(getattr(np, name)(x, axis=axis), getattr(flow, name)(t, axis=axis))
            expected = np.nancumsum(x, axis=axis)
            agrees("nancumsum", expected, flow.nancumsum(t, axis=axis), x, axis=axis)
            y = of_products(x) if has_own_kernels(device) else x
            expected = np.nancumprod(y, axis=axis)
            if not dtype.startswith("complex"):
                seen = flow.nancumprod(flow.tensor(y, device=device), axis=axis)
                agrees("nancumprod", expected, seen, y, axis=axis)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_views(device: flow.Device) -> None:
    x = numbers((20, 30), "float64", 2)
    t = flow.tensor(x, device=device)
    same(np.nanmedian(x[1::2, ::-3].T, 0), flow.nanmedian(t[1::2, ::-3].T, 0))
    view = x[::2, ::-3].T
    agrees("nancumsum", np.nancumsum(view, 0), flow.nancumsum(t[::2, ::-3].T, 0), view, axis=0)
    same(np.nanargmax(x[1::2, ::-3]), flow.nanargmax(t[1::2, ::-3]))
    seen = flow.nanvar(t[1::2, ::-3].T, 0).numpy()
    np.testing.assert_allclose(seen, np.nanvar(x[1::2, ::-3].T, 0))


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_a_complex_infinity_alone(device: flow.Device) -> None:
    x = np.array([[1 + 1j, complex(-np.inf, 0), np.nan]])
    t = flow.tensor(x, device=device)
    for axis in (0, 1, ()):
        expected, seen = np.nanmedian(x, axis=axis), flow.nanmedian(t, axis=axis).numpy()
        assert str(seen.tolist()) == str(expected.tolist())
