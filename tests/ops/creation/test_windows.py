"""Windows and the Bessel function that one of them is made of: NumPy's numbers, on every device."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, computes_itself, same, values

COSINES = ("bartlett", "blackman", "hamming", "hanning")


def as_good(expected: Any, seen: flow.Tensor) -> None:
    """NumPy's bits, or as good where a device has cosines and powers of its own."""
    if not computes_itself(seen.device):
        return same(expected, seen)
    wanted, array = np.asarray(expected), seen.numpy()
    assert (wanted.dtype, wanted.shape) == (array.dtype, array.shape)
    precision = 4e-3 if wanted.dtype == np.float16 else np.finfo(wanted.dtype).eps * 8
    np.testing.assert_allclose(array, wanted, rtol=precision, atol=precision)


@pytest.mark.parametrize("name", COSINES)
def test_windows(name: str, device: flow.Device) -> None:
    for count in (-3, 0, 1, 2, 3, 12, 51, 1000, 5.5, np.int8(7), True):
        expected = getattr(np, name)(count)
        as_good(expected, getattr(flow, name)(count, device=device))
        with flow.device(device):
            as_good(expected, getattr(flow, name)(flow.tensor(count)))
    assert getattr(flow, name)(5, device=device).device == device


@pytest.mark.parametrize("beta", [0, 1.5, 14, -5.0, np.float32(0.1)])
def test_kaiser(beta: Any, device: flow.Device) -> None:
    for count in (-3, 0, 1, 2, 3, 12, 51, 1000, 5.5):
        expected = np.kaiser(count, beta)
        as_good(expected, flow.kaiser(count, beta, device=device))
        shape = flow.tensor(beta, device=device)
        seen = flow.kaiser(count, shape)
        assert seen.device == device
        as_good(expected, seen)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d[0] != "c"])
def test_bessel(dtype: str, device: flow.Device) -> None:
    for shape in ((), (0,), (300,), (4, 5, 6)):
        x = values(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        with np.errstate(all="ignore"):
            as_good(np.i0(x), flow.i0(t))
            as_good(
                np.i0(x.T[..., ::-1] if x.ndim else x), flow.i0(t.T[..., ::-1] if x.ndim else t)
            )
            as_good(np.i0(x), np.i0(t))
    edges = np.asarray([0, -0.0, 8, -8, np.nextafter(8, 9), 700, 800, np.inf, np.nan])
    with np.errstate(all="ignore"):
        as_good(np.i0(edges), flow.i0(flow.tensor(edges, device=device)))


def test_wrong_input(device: flow.Device) -> None:
    with pytest.raises(TypeError, match=r"\[i0\] expected real numbers, got complex128"):
        flow.i0(flow.tensor([1j], device=device))
    with pytest.raises(ValueError, match=r"\[kaiser\] expected beta to be a number"):
        flow.kaiser(5, flow.ones(2, device=device))


def test_programs_and_gradients() -> None:
    @flow.jit
    def weighed(x: flow.Tensor) -> flow.Tensor:
        return flow.hanning(4) * x + flow.i0(x) * flow.kaiser(4, x[0])

    for factor in (1.0, 3.0):
        x = factor * np.arange(4.0)
        same(np.hanning(4) * x + np.i0(x) * np.kaiser(4, x[0]), weighed(flow.tensor(x)))
    slope = flow.grad(lambda x: flow.i0(x).sum())(flow.tensor([0.5, 2.0, 9.0, 30.0]))
    step = 1e-6
    at = np.array([0.5, 2.0, 9.0, 30.0])
    near = (np.i0(at + step) - np.i0(at - step)) / (2 * step)
    np.testing.assert_allclose(slope.numpy(), near, rtol=1e-6)
