"""Euclidean norms in every layout: NumPy's order of sums, and its bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same

LAYOUTS: dict[str, Callable[[Any, Any], Any]] = {
    "together": lambda x, xp: x,
    "strided": lambda x, xp: x[:, ::2],
    "reversed": lambda x, xp: x[::-1, ::-1],
    "transposed": lambda x, xp: x.T,
    "broadcast": lambda x, xp: xp.broadcast_to(x[:1], (9, x.shape[1])),
    "of a column": lambda x, xp: xp.broadcast_to(x.T[:1].T, (x.shape[0], min(9, 9 * x.shape[1]))),
    "one dimension": lambda x, xp: x[0, ::2],
}
SHAPES = [(3, 5), (31, 40), (64, 301), (1, 2), (4, 1), (2, 0)]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "complex128"])
def test_norms_of_layouts(dtype: str, layout: str, device: flow.Device) -> None:
    for shape in SHAPES:
        whole = np.random.default_rng(3).normal(size=shape)
        base = (whole + 1j * whole[::-1] if dtype[0] == "c" else whole).astype(dtype)
        x = LAYOUTS[layout](base, np)
        t = LAYOUTS[layout](flow.tensor(base, device=device), flow)
        check = same if dtype[0] == "f" else near
        check(np.linalg.norm(x), flow.linalg.norm(t))
        check(np.linalg.norm(x, keepdims=True), flow.linalg.norm(t, keepdims=True))
        for keepdims in (False, True):
            for axis in (0, -1, None):
                given: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
                check(np.linalg.vector_norm(x, **given), flow.linalg.vector_norm(t, **given))
                if axis is not None:
                    for order in (None, 2):
                        expected = np.linalg.norm(x, order, **given)
                        check(expected, flow.linalg.norm(t, order, **given))
            if x.ndim == 2:
                for axes in ((0, 1), (1, 0), (-1, 0)):
                    given = {"axis": axes, "keepdims": keepdims}
                    expected = np.linalg.norm(x, "fro", **given)
                    check(expected, flow.linalg.norm(t, "fro", **given))
                given = {"keepdims": keepdims}
                check(np.linalg.matrix_norm(x, **given), flow.linalg.matrix_norm(t, **given))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_norms_of_many(dtype: str, device: flow.Device) -> None:
    """The same bits with any number of threads."""
    whole = np.random.default_rng(5).normal(size=(3, 70_003))
    x = (whole + 1j * whole[::-1] if dtype[0] == "c" else whole).astype(dtype)
    for view in (lambda a: a, lambda a: a[0], lambda a: a.T, lambda a: a[:, ::2]):
        seen = []
        for threads in (1, 2, 3, 7):
            with flow.flags(num_threads=threads):
                seen.append(flow.linalg.norm(view(flow.tensor(x, device=device))).numpy())
        near(np.linalg.norm(view(x)), flow.tensor(seen[0]))
        assert len({one.tobytes() for one in seen}) == 1


def near(expected: Any, seen: flow.Tensor) -> None:
    """Products of complex numbers are rounded as the loop at hand does it."""
    wanted = np.asarray(expected)
    assert (seen.dtype, seen.shape) == (wanted.dtype, wanted.shape)
    assert np.allclose(seen.numpy(), wanted, rtol=1e-5)
