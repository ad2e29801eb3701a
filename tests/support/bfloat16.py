"""Numbers of bfloat16, and float32 as their oracle: every result is float32's, rounded once."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same, values

ml_dtypes = pytest.importorskip("ml_dtypes")  # without it, the tests that import this are skipped
B = np.dtype(ml_dtypes.bfloat16)
ALL = np.arange(65536, dtype=np.uint16).view(B)  # every number there is


def numbers(shape: Any, seed: int = 0) -> np.ndarray:
    """Numbers of any size, the special ones among them."""
    return values(np.atleast_1d(shape), "float32", seed).astype(B).reshape(shape)


def wide(x: Any) -> Any:
    """The same numbers in float32, exactly."""
    return x.astype(np.float32) if getattr(x, "dtype", None) == B else x


def rounded(x: Any) -> np.ndarray:
    """What becomes of a result of float32."""
    array = np.asarray(x)
    return array.astype(B) if array.dtype == np.float32 else array


def bits(x: Any) -> np.ndarray:
    array = x.numpy() if isinstance(x, flow.Tensor) else np.asarray(x)
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")


def check(expected: np.ndarray, seen: flow.Tensor, exact: bool = True) -> None:
    """Dtype, shape and bits, but for those of NaN; or one unit in the last place more or less."""
    assert seen.dtype == expected.dtype
    if exact or seen.dtype != B:
        return same(wide(expected), wide(seen.numpy()))
    np.testing.assert_allclose(wide(seen.numpy()), wide(expected), rtol=2.0**-7, atol=1e-38)


def is_exact(device: flow.Device) -> bool:
    """CUDA's functions of float32 may differ in the last bits."""
    return device.type != "cuda"
