"""Running sums and their like: NumPy's dtypes and bits, along every axis and on every device."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values
from tests.support.rounding import agrees, has_own_kernels, of_products

pytestmark = pytest.mark.usefixtures("no_warnings")

SHAPES = ((1,), (7,), (0,), (2000,), (5, 9), (40, 130), (3, 0, 4), (6, 5, 17))


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Mostly finite sums and products, so that their order shows."""
    x = values(shape, dtype, seed)
    if x.dtype.kind in "fc" and seed % 2:
        x = np.asarray(np.where(np.abs(x) < 100, x / 2, 1.25), dtype)
    return x


def given_to(device: flow.Device, name: str, x: np.ndarray) -> np.ndarray:
    """On a device that adds in another order, nothing that overflows on the way only."""
    if x.dtype.kind not in "fc" or not has_own_kernels(device):
        return x
    if "prod" in name:
        return of_products(x)
    return np.asarray(np.where(np.isfinite(x) & (np.abs(x) > 1e4), 1, x), x.dtype)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_standards(name: str, dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = given_to(device, name, numbers(shape, dtype, seed))
        t = flow.tensor(x, device=device)
        for axis in range(-len(shape), len(shape)):
            for initial in (False, True):
                keywords = {"axis": axis, "include_initial": initial}
                expected = getattr(np, name)(x, **keywords)
                agrees(name, expected, getattr(flow, name)(t, **keywords), x, **keywords)
        if len(shape) == 1:
            agrees(name, getattr(np, name)(x), getattr(flow, name)(t), x)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpys(name: str, dtype: str, device: flow.Device) -> None:
    for shape in ((), (30,), (8, 33)):
        x = given_to(device, name, numbers(shape, dtype, 3))
        t = flow.tensor(x, device=device)
        for axis in (None, *range(len(shape))):
            expected = getattr(np, name)(x, axis)
            agrees(name, expected, getattr(flow, name)(t, axis), x, axis=axis)
            agrees(name, expected, getattr(t, name)(axis=axis), x, axis=axis)


@pytest.mark.parametrize("dtype", ["int8", "uint32", "float16", "float64", "complex64"])
def test_views(dtype: str, device: flow.Device) -> None:
    x = numbers((30, 20, 10), dtype, 5)
    t = flow.tensor(x, device=device)
    for array, view in (
        (x[::-2, :, ::3], t[::-2, :, ::3]),
        (x.transpose(2, 0, 1), t.transpose(2, 0, 1)),
        (np.broadcast_to(x[:1], (4, 20, 10)), flow.broadcast_to(t[:1], (4, 20, 10))),
        (np.broadcast_to(x[:, :1], (30, 4, 10)), flow.broadcast_to(t[:, :1], (30, 4, 10))),
    ):
        for axis in range(3):
            agrees("cumsum", np.cumsum(array, axis), flow.cumsum(view, axis), array, axis=axis)
            expected = np.cumprod(array, axis)
            if expected.dtype.kind not in "fc" or not has_own_kernels(device):
                same(expected, flow.cumprod(view, axis))


@pytest.mark.parametrize("source", ["bool", "int8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float64", "complex128", "bool"])
def test_dtype_argument(source: str, dtype: str, device: flow.Device) -> None:
    x = (np.arange(60) % 3).astype(source)
    t = flow.tensor(x, device=device)
    for name in ("cumsum", "cumprod"):
        expected, seen = getattr(np, name)(x, dtype=dtype), getattr(flow, name)(t, dtype=dtype)
        agrees(name, expected, seen, x, dtype=dtype)


@pytest.mark.parametrize(
    "name", ["maximum", "minimum", "subtract", "logical_or", "bitwise_and", "divide", "add"]
)
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint8", "float16", "float32", "complex128"])
def test_accumulate(name: str, dtype: str, device: flow.Device) -> None:
    x = given_to(device, name, numbers((9, 80), dtype, 4))
    t = flow.tensor(x, device=device)
    for axis in (0, 1, -1):
        try:
            expected = getattr(np, name).accumulate(x, axis)
        except TypeError:
            with pytest.raises(TypeError, match=rf"\[{name}(.accumulate)?\]"):
                getattr(flow, name).accumulate(t, axis)
        else:
            seen = getattr(flow, name).accumulate(t, axis)
            if (
                has_own_kernels(device)
                and expected.dtype.kind in "fc"
                and name in ("add", "divide")
            ):
                agrees_with_ufunc(name, expected, seen, x.astype(expected.dtype), axis)
            else:
                same(expected, seen)


def agrees_with_ufunc(
    name: str, expected: np.ndarray, seen: flow.Tensor, x: np.ndarray, axis: int
) -> None:
    if name == "add":
        agrees("cumsum", expected, seen, x, axis=axis)
    else:  # one after the other, as NumPy's, but for how complex numbers are divided
        tolerance = 1000 * float(np.finfo(x.dtype).eps)
        np.testing.assert_allclose(seen.numpy(), expected, rtol=tolerance)


def test_what_cannot_be_accumulated() -> None:
    x = flow.tensor([3, 2])
    with pytest.raises(ValueError, match=r"\[exp.accumulate\] expected a binary operation"):
        flow.exp.accumulate(x)
    with pytest.raises(TypeError, match=r"\[less.accumulate\]"):
        flow.less.accumulate(x)
    with pytest.raises(TypeError, match=r"\[maximum.accumulate\] cannot accumulate a 0-d tensor"):
        flow.maximum.accumulate(flow.tensor(1))
    with pytest.raises(ValueError, match=r"\[cumulative_sum\] expected an axis, for 2 dimensions"):
        flow.cumulative_sum(flow.ones((2, 2)))
    for function in (flow.cumsum, flow.cumprod, flow.cumulative_sum, flow.cumulative_prod):
        with pytest.raises(IndexError, match=r"\[\w+\] axis 2 is out of bounds for 2 dim"):
            function(flow.ones((2, 2)), axis=2)
        with pytest.raises(TypeError):
            function(flow.ones((2, 2)), axis=0.5)
        with pytest.raises(TypeError, match="unsupported dtype"):
            function(flow.ones(2), dtype="U3")


def test_scalars_count_as_one_dimension(device: flow.Device) -> None:
    t = flow.tensor(3, device=device)
    same(np.array([3]), flow.cumulative_sum(t))
    same(np.array([0, 3]), flow.cumulative_sum(t, include_initial=True))
    same(np.array([1, 3]), flow.cumulative_prod(t, axis=0, include_initial=True))


def test_in_both_modes(device: flow.Device, naive: bool) -> None:
    x = numbers((300_001,), "float32", 1)
    t = flow.tensor(x, device=device)
    agrees("cumsum", np.cumsum(x), flow.cumsum(t), x)
    sums = flow.cumsum(t)
    t += flow.cumsum(t)
    same(x + sums.numpy(), t)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_special_values_on_the_way(dtype: str) -> None:
    """The sign of a NaN is NumPy's, too: compared by bytes."""
    random = np.random.default_rng(1)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0]
    with np.errstate(all="ignore"):
        for size in (2, 9, 1000):
            for _ in range(30):
                x = random.normal(0, 3, size).astype(dtype)
                x[random.integers(size, size=3)] = random.choice(special, 3)
                t = flow.tensor(x)
                for name in ("cumsum", "cumprod", "nancumsum", "nancumprod"):
                    expected, seen = getattr(np, name)(x), getattr(flow, name)(t)
                    assert expected.tobytes() == seen.numpy().tobytes(), (name, x)
