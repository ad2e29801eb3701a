"""Running sums and their like: NumPy's dtypes and bits, along every axis and on every device."""

import numpy as np
import pytest

import oneflow_lite as flow
from oracle import DTYPES, same, values

pytestmark = pytest.mark.usefixtures("no_warnings")

SHAPES = ((1,), (7,), (0,), (2000,), (5, 9), (40, 130), (3, 0, 4), (6, 5, 17))


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Mostly finite sums and products, so that their order shows."""
    x = values(shape, dtype, seed)
    if x.dtype.kind in "fc" and seed % 2:
        x = np.asarray(np.where(np.abs(x) < 100, x / 2, 1.25), dtype)
    return x


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_standards(name: str, dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = numbers(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for axis in range(-len(shape), len(shape)):
            for initial in (False, True):
                keywords = {"axis": axis, "include_initial": initial}
                same(getattr(np, name)(x, **keywords), getattr(flow, name)(t, **keywords))
        if len(shape) == 1:
            same(getattr(np, name)(x), getattr(flow, name)(t))


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numpys(name: str, dtype: str, device: flow.Device) -> None:
    for shape in ((), (30,), (8, 33)):
        x = numbers(shape, dtype, 3)
        t = flow.tensor(x, device=device)
        for axis in (None, *range(len(shape))):
            same(getattr(np, name)(x, axis), getattr(flow, name)(t, axis))
            same(getattr(x, name)(axis=axis), getattr(t, name)(axis=axis))


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
            same(np.cumsum(array, axis), flow.cumsum(view, axis))
            same(np.cumprod(array, axis), flow.cumprod(view, axis))


@pytest.mark.parametrize("source", ["bool", "int8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float64", "complex128", "bool"])
def test_dtype_argument(source: str, dtype: str, device: flow.Device) -> None:
    x = (np.arange(60) % 3).astype(source)
    t = flow.tensor(x, device=device)
    for name in ("cumsum", "cumprod"):
        same(getattr(np, name)(x, dtype=dtype), getattr(flow, name)(t, dtype=dtype))


@pytest.mark.parametrize(
    "name", ["maximum", "minimum", "subtract", "logical_or", "bitwise_and", "divide", "add"]
)
@pytest.mark.parametrize("dtype", ["bool", "int16", "uint8", "float16", "float32", "complex128"])
def test_accumulate(name: str, dtype: str, device: flow.Device) -> None:
    x = numbers((9, 80), dtype, 4)
    t = flow.tensor(x, device=device)
    for axis in (0, 1, -1):
        try:
            expected = getattr(np, name).accumulate(x, axis)
        except TypeError:
            with pytest.raises(TypeError, match=rf"\[{name}\]"):
                getattr(flow, name).accumulate(t, axis)
        else:
            if expected.dtype != x.dtype and name == "divide":
                with pytest.raises(TypeError, match=r"\[divide\] cannot accumulate in"):
                    flow.divide.accumulate(t, axis)
            else:
                same(expected, getattr(flow, name).accumulate(t, axis))


def test_what_cannot_be_accumulated() -> None:
    x = flow.tensor([3, 2])
    with pytest.raises(ValueError, match=r"\[exp\] expected a binary operation"):
        flow.exp.accumulate(x)
    with pytest.raises(TypeError, match=r"\[pow\] cannot accumulate integers"):
        flow.pow.accumulate(x)
    with pytest.raises(TypeError, match=r"\[less\] cannot accumulate in int64"):
        flow.less.accumulate(x)
    with pytest.raises(TypeError, match=r"\[maximum\] cannot accumulate a 0-d tensor"):
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
    same(np.cumsum(x), flow.cumsum(t))
    t += flow.cumsum(t)
    same(x + np.cumsum(x), t)
