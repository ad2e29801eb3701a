"""real_if_close, asarray_chkfinite, sort_complex, mask_indices: NumPy's results."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError, trace
from tests.support.oracle import DTYPES, same, values

SHAPES = ((), (0,), (5,), (40, 3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_parts(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = np.nan_to_num(values(shape, dtype, 1))
        t = flow.tensor(x, device=device)
        same(np.real_if_close(x), flow.real_if_close(t))
        if dtype[0] == "c":
            x = np.asarray(x.real + x.dtype.type(2e-6j if dtype == "complex64" else 5e-15j))
            t = flow.tensor(x, device=device)
            for tol in (100, 1, 10, 0.5, 1e-6, 30.0):
                expected = np.real_if_close(x, tol)
                same(expected, flow.real_if_close(t, tol))
                same(expected, np.real_if_close(t, tol))
            assert flow.real_if_close(t).shares_storage(t) or not t.size
        else:
            assert flow.real_if_close(t) is t


@pytest.mark.parametrize("dtype", DTYPES)
def test_finite_numbers(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = np.nan_to_num(values(shape, dtype, 1))
        t = flow.tensor(x, device=device)
        assert flow.asarray_chkfinite(t) is t
        same(np.asarray_chkfinite(x), flow.asarray_chkfinite(x, device=device))
        same(np.asarray_chkfinite(x, "complex128"), flow.asarray_chkfinite(t, "complex128"))
    if dtype[0] in "fc":
        for bad in (np.nan, np.inf, -np.inf):
            t[3, 1] = bad
            with pytest.raises(ValueError, match=r"\[asarray_chkfinite\] expected finite numbers"):
                flow.asarray_chkfinite(t)
    with pytest.raises(ValueError, match=r"\[asarray_chkfinite\] expected order"):
        flow.asarray_chkfinite(t, order="F")


@pytest.mark.parametrize("dtype", DTYPES)
def test_complex_order(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES[1:]:
        x = values(shape, dtype, 3) + np.zeros((), dtype)  # NumPy may change the order of zeros
        t = flow.tensor(x, device=device)
        same(np.sort_complex(x), flow.sort_complex(t))
        same(np.sort_complex(x.T[::-1]), np.sort_complex(t.T[::-1]))
    with pytest.raises(np.exceptions.AxisError, match=r"\[sort_complex\]"):
        flow.sort_complex(flow.tensor(1, dtype=dtype, device=device))


def test_masks(device: flow.Device) -> None:
    for n in (0, 1, 5):
        for k in (0, 2, -1):
            for ours, theirs in ((flow.triu, np.triu), (flow.tril, np.tril)):
                seen = flow.mask_indices(n, ours, k, device=device)
                same(np.mask_indices(n, theirs, k), seen)
                assert all(one.device == device for one in seen)
                same(np.mask_indices(n, theirs, k), flow.mask_indices(n, theirs, k, device=device))
    edge = lambda m, k: (m * k) % 2  # noqa: E731
    same(np.mask_indices(3, edge, 3), flow.mask_indices(3, edge, 3, device=device))


def test_programs() -> None:
    x = np.array([3.0, 1.0, 2.0])
    sort = flow.jit(flow.sort_complex)
    for factor in (1.0, -1.0):
        same(np.sort_complex(factor * x), sort(flow.tensor(factor * x)))
    looks: list[Any] = [
        flow.asarray_chkfinite,
        lambda x: flow.real_if_close(x + 0j),
        lambda x: flow.mask_indices(3, lambda m, k: m * x),
    ]
    for look in looks:
        with pytest.raises(TraceError, match="needs the values of"):
            trace(look, flow.tensor(x))
