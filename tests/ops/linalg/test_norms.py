"""Euclidean norms in every layout: NumPy's order of sums, and its bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import computes_itself, same

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


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float64", "complex128", "int32"])
@pytest.mark.parametrize("order", ["fro", "nuc", 1, -1, np.inf, -np.inf])
def test_cond_has_the_bits_of_numpy(order: Any, dtype: str, device: flow.Device) -> None:
    """The inverse is one of double precision, and so is its norm."""
    rng = np.random.default_rng(5)
    whole = rng.normal(size=(50, 3, 3)) * 10.0 ** rng.integers(0, 3, (50, 1, 3))
    x = (whole + 1j * whole[::-1] if dtype[0] == "c" else whole).astype(dtype)
    x[np.linalg.det(x) == 0] = np.eye(3)
    if order != "nuc":  # of an inverse that is not there, NumPy has no singular values
        x[7] = 0
    with np.errstate(all="ignore"):
        expected = np.linalg.cond(x, order)
    is_rounded_anyhow = order in ("fro", "nuc") and dtype[0] == "c"
    check = near if is_rounded_anyhow or computes_itself(device) else same
    check(expected, flow.linalg.cond(flow.tensor(x, device=device), order))


@pytest.mark.parametrize("size", [1e-39, 1e-30, 1e30])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_cond_where_the_inverse_is_beyond_float32(size: float, dtype: str) -> None:
    x = np.diag([size, size]).astype(dtype)
    for order in (1, -1, np.inf, -np.inf):
        same(np.linalg.cond(x, order), flow.linalg.cond(flow.tensor(x), order))


def test_cond_refuses_float16() -> None:
    with pytest.raises(TypeError, match=r"\[cond\] unsupported dtype float16; cast to float32"):
        flow.linalg.cond(flow.ones((2, 2), dtype="float16"), 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64"])
def test_an_order_of_numpy_keeps_the_dtype(dtype: str, device: flow.Device) -> None:
    x = np.array([[1, -9, 3], [2, 0.5, -7]]).astype(dtype)
    t = flow.tensor(x, device=device)
    check = near if computes_itself(device) else same
    for order in (np.float64(2.5), np.int64(3), np.float32(0.5), np.float64(-1.5)):
        check(np.linalg.norm(x, order, 1), flow.linalg.norm(t, order, 1))
        expected = np.linalg.vector_norm(x, axis=0, ord=order)
        check(expected, flow.linalg.vector_norm(t, axis=0, ord=order))
