"""cov, gradient, trapezoid, convolve, interp and their like: NumPy's results, on every device."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same
from tests.support.rounding import has_own_kernels

pytestmark = pytest.mark.usefixtures("no_warnings")

NUMBERS = [d for d in DTYPES if d != "bool"]


def near(expected: Any, seen: flow.Tensor, device: Any = None) -> None:
    wanted = np.asarray(expected)
    assert (seen.shape, seen.dtype) == (wanted.shape, wanted.dtype)
    single = wanted.dtype in ("float32", "complex64")
    rtol = 1e-5 if single else 2e-2 if wanted.dtype == "float16" else 1e-12
    np.testing.assert_allclose(seen.numpy(), wanted, rtol=rtol, atol=rtol)
    assert device is None or seen.device == device


def numbers(shape: Any, dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.integers(0, 9, shape)).astype(dtype)
    return x + rng.normal(0, 1, shape).astype(dtype) if x.dtype.kind in "fc" else x


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", NUMBERS)
def test_covariances(dtype: str, device: flow.Device) -> None:
    counts, shares = [1, 2, 3, 1, 1], [0.5, 1.0, 0.25, 2.0, 1.0]
    for shape in ((5,), (3, 5), (1, 5), (0, 5)):
        x = numbers(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        near(np.cov(x), flow.cov(t), device)
        near(np.cov(x, bias=True), flow.cov(t, bias=True))
        near(np.cov(x, ddof=0, dtype="complex128"), flow.cov(t, ddof=0, dtype="complex128"))
        if 0 in shape:
            continue
        near(np.cov(x, numbers((2, 5), "float32", 2)), flow.cov(t, numbers((2, 5), "float32", 2)))
        for keywords in (
            {"fweights": counts},
            {"aweights": shares},
            {"fweights": counts, "aweights": shares},
            {"aweights": shares, "ddof": 0},
        ):
            given = {k: flow.tensor(w, device=device) for k, w in keywords.items()}
            near(np.cov(x, **keywords), flow.cov(t, **keywords))
            near(np.cov(x, **keywords), flow.cov(t, **(given | {"ddof": keywords.get("ddof")})))
        near(np.corrcoef(x), flow.corrcoef(t))
        near(np.cov(x.T, rowvar=False), flow.cov(t.T, rowvar=False))
        near(np.cov(x.T, x.T, rowvar=False), flow.cov(t.T, t.T, rowvar=False))


def test_wrong_covariances() -> None:
    x = flow.ones((2, 3))
    for call, error in (
        (lambda: flow.cov(flow.ones((1, 1, 1))), ValueError),
        (lambda: flow.cov(x, ddof=0.5), ValueError),
        (lambda: flow.cov(x, fweights=[1, 2]), RuntimeError),
        (lambda: flow.cov(x, fweights=[1.5, 2, 2]), TypeError),
        (lambda: flow.cov(x, aweights=[-1, 2, 2]), ValueError),
    ):
        with pytest.raises(error, match=r"\[cov\]"):
            call()


@pytest.mark.parametrize("dtype", NUMBERS)
def test_gradients(dtype: str, device: flow.Device) -> None:
    places = np.asarray([0.0, 1.0, 3.0, 3.5, 7.0])
    for shape in ((5,), (5, 4), (3, 5, 4)):
        x = numbers(shape, dtype, 3)
        t = flow.tensor(x, device=device)
        axis = shape.index(5)
        for edge in (1, 2):
            keywords = {"axis": axis, "edge_order": edge}
            for spacing in ((), (2.0,), (places,), (np.arange(5),)):
                same(np.gradient(x, *spacing, **keywords), flow.gradient(t, *spacing, **keywords))
        many, seen = np.gradient(x), flow.gradient(t)
        for e, s in zip(many, seen, strict=True) if len(shape) > 1 else [(many, seen)]:
            same(e, s)
    flow_places = flow.tensor(places, device=device)
    same(np.gradient(x, places, axis=1), flow.gradient(t, flow_places, axis=1))
    same(np.gradient(x[:, ::-1].T, axis=1), flow.gradient(t[:, ::-1].T, axis=1))


def test_wrong_gradients() -> None:
    x = flow.ones((2, 3))
    for call, error in (
        (lambda: flow.gradient(x, edge_order=2), ValueError),
        (lambda: flow.gradient(x, edge_order=3), ValueError),
        (lambda: flow.gradient(x, 1, 2, 3), TypeError),
        (lambda: flow.gradient(x, [1, 2, 3], axis=0), ValueError),
        (lambda: flow.gradient(x, axis=2), IndexError),
    ):
        with pytest.raises(error, match=r"\[gradient\]"):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
def test_integrals(dtype: str, device: flow.Device) -> None:
    alike = near if has_own_kernels(device) else same  # sums in another order
    for shape in ((5,), (5, 4), (0,), (3, 0)):
        x = numbers(shape, dtype, 3)
        t = flow.tensor(x, device=device)
        alike(np.trapezoid(x), flow.trapezoid(t))
        alike(np.trapezoid(x, dx=2, axis=0), flow.trapezoid(t, dx=2, axis=0))
        if shape[0] == 5:
            at = [0.0, 1.0, 3.0, 3.5, 7.0]
            alike(np.trapezoid(x, at, axis=0), flow.trapezoid(t, at, axis=0))
            alike(np.trapezoid(x, x, axis=0), flow.trapezoid(t, t, axis=0))
    with pytest.raises(IndexError, match="axis 3"):
        flow.trapezoid(t, axis=3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_convolutions(dtype: str, device: flow.Device) -> None:
    for n, m in ((6, 3), (3, 6), (4, 4), (7, 1), (1, 1), (5, 2), (2, 5), (6, 4)):
        a, v = numbers(n, dtype, 4), numbers(m, dtype, 5)
        t, u = flow.tensor(a, device=device), flow.tensor(v, device=device)
        for mode in ("full", "same", "valid"):
            near(np.convolve(a, v, mode), flow.convolve(t, u, mode), device)
            near(np.correlate(a, v, mode), flow.correlate(t, u, mode), device)
    near(np.convolve(a[::-1], [1.5, 2]), flow.convolve(t[::-1], [1.5, 2]))
    for call in (
        lambda: flow.convolve(t, u, "most"),
        lambda: flow.convolve(t, []),
        lambda: flow.correlate(flow.ones((2, 2)), u),
    ):
        with pytest.raises(ValueError, match=r"\[(convolve|correlate)\] expected"):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
def test_long_convolutions(dtype: str, device: flow.Device) -> None:
    """NumPy's bits but on cuda: of narrow and of wide windows, at the edges, of any strides."""
    alike = near if device.type == "cuda" else same
    for n, m in ((300, 3), (300, 11), (300, 12), (300, 40), (40, 300), (70, 70), (5000, 200)):
        a, v = numbers(2 * n, dtype, 4)[::2], numbers(m, dtype, 5)[::-1]
        t = flow.tensor(numbers(2 * n, dtype, 4), device=device)[::2]
        u = flow.tensor(v[::-1], device=device)[::-1]
        for mode in ("full", "same", "valid") if n < 1000 else ("same",):
            alike(np.convolve(a, v, mode), flow.convolve(t, u, mode), device)
            alike(np.correlate(a, v, mode), flow.correlate(t, u, mode), device)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_interpolation_of_many(dtype: str, device: flow.Device) -> None:
    """NumPy's bits but on cuda: in any order, of points that are equal, of any strides."""
    alike = near if device.type == "cuda" else same
    rng = np.random.default_rng(7)
    for n in (1, 2, 5, 400):
        points = np.sort(rng.integers(0, 200, 2 * n) / 8)[::2]
        values = numbers(n, dtype, 6)[::-1]
        t, u = flow.tensor(points, device=device), flow.tensor(values, device=device)
        for x in (rng.uniform(-3, 28, 3000), np.linspace(-3, 28, 300)[::-1], points, np.zeros(0)):
            w = flow.tensor(np.repeat(x, 2), device=device)[::2]
            alike(np.interp(x, points, values), flow.interp(w, t, u), device)
            alike(np.interp(x, points, values, 2, 7), flow.interp(w, t, u, 2, 7), device)
    if dtype == "float64":
        odd = [np.nan, -np.inf, np.inf, 1.0, 3.0]
        for few, y in (([1.0], [5.0]), ([1.0, 3.0], [np.inf, np.inf]), ([1.0, 3.0], [0.0, np.nan])):
            w = flow.tensor(odd, device=device)
            same(np.interp(odd, few, y), flow.interp(w, few, y), device)
        with pytest.raises(TypeError, match=r"\[interp\] expected real ends"):
            flow.interp(w, few, y, left=1j)


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex128"])
def test_interpolation(dtype: str, device: flow.Device) -> None:
    points = np.asarray([0.0, 1.0, 2.5, 4.0])
    values = numbers(4, dtype, 6)
    x = np.asarray([[-1.0, 0.0, 0.5, 1.0], [3.0, 4.0, 9.0, np.nan]])
    t, u = flow.tensor(points, device=device), flow.tensor(values, device=device)
    w = flow.tensor(x, device=device)
    same(np.interp(x, points, values), flow.interp(w, t, u))
    finite = x[:, :3]
    for keywords in ({}, {"left": -5.0}, {"right": 7, "left": 2}, {"period": 3.0}):
        expected = np.interp(finite, points, values, **keywords)
        same(expected, flow.interp(w[:, :3], t, u, **keywords))
    same(np.interp(finite, points[:1], values[:1]), flow.interp(w[:, :3], t[:1], u[:1]))
    infinite = np.asarray([1.0, np.inf, 2.0, np.inf])
    if dtype == "float64":
        same(np.interp(x, points, infinite), flow.interp(w, t, infinite))
    assert flow.interp(2.0, t, u).shape == ()
    for call, error in (
        (lambda: flow.interp(w, t, u[1:]), ValueError),
        (lambda: flow.interp(w, [], []), ValueError),
        (lambda: flow.interp(w, t, u, period=0), ValueError),
        (lambda: flow.interp(w + 1j, t, u), TypeError),
    ):
        with pytest.raises(error, match=r"\[interp\]"):
            call()


def test_where_of_a_condition(device: flow.Device) -> None:
    x = np.asarray([[0, 5], [7, 0]])
    t = flow.tensor(x, device=device)
    for expected, seen in zip(np.where(x > 1), flow.where(t > 1), strict=True):
        same(expected, seen)
    for expected, seen in zip(np.where(x), np.where(t), strict=True):
        same(expected, seen)
    with pytest.raises(ValueError, match=r"\[where\] expected both"):
        flow.where(t, 1)


def test_gradients_lie_as_their_operand_does() -> None:
    x = np.random.default_rng(6).random((3, 40, 50), np.float32)
    for view in (lambda x: x, lambda x: x.T, lambda x: x[:, ::-1].mT):
        for expected, found in zip(
            np.gradient(view(x)), flow.gradient(view(flow.tensor(x))), strict=True
        ):
            assert found.strides == expected.strides
            same(expected, found)
            same(expected.sum(), found.sum())  # in the order of memory


def test_std_in_a_dtype_of_integers(device: flow.Device) -> None:
    for given in ([1, 2, 9], [1.0, 2.5, 9.0]):
        x = np.array(given)
        t = flow.tensor(x, device=device)
        for dtype in ("int64", "int8", "float32"):
            same(np.std(x, dtype=dtype), flow.std(t, dtype=dtype))
            same(np.std(x, dtype=dtype), np.std(t, dtype=dtype))
        with pytest.raises(TypeError, match=r"\[std\] cannot cast float64 to int64"):
            flow.std(t, axis=0, dtype="int64", keepdims=True)
