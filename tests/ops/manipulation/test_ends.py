"""ediff1d, unwrap, trim_zeros, diagflat: NumPy's results, on every device."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError, trace
from tests.support.oracle import DTYPES, same, values

NUMBERS = [d for d in DTYPES if d != "bool"]
SHAPES = ((), (0,), (1,), (7,), (3, 4), (2, 0, 3))


@pytest.mark.parametrize("dtype", NUMBERS)
def test_differences(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = values(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        with np.errstate(all="ignore"):
            for ends in ((), (3,), (None, [[1, 2], [3, 4]]), ([], 5), (np.uint8([1]), True)):
                try:
                    expected = np.ediff1d(x, *ends)
                except TypeError:  # they do not cast to the dtype of x
                    with pytest.raises(TypeError, match=r"\[ediff1d\]"):
                        flow.ediff1d(t, *ends)
                    continue
                same(expected, flow.ediff1d(t, *ends))
                same(expected, np.ediff1d(t, *ends))
            if shape:
                same(np.ediff1d(x.T[..., ::-1]), flow.ediff1d(t.T[..., ::-1]))
    end = flow.tensor(np.uint8([1, 2]), device=device)
    same(np.ediff1d(x, np.uint8([1, 2])), flow.ediff1d(t, end))
    assert flow.ediff1d(t, end).device == device


def test_wrong_differences(device: flow.Device) -> None:
    t = flow.tensor([1, 2, 3], device=device)
    for ends in ((1.5,), (None, [2.5])):
        with pytest.raises(TypeError, match=r"\[ediff1d\]"):
            flow.ediff1d(t, *ends)
    with pytest.raises(TypeError, match=r"\[subtract\]"):
        flow.ediff1d(t > 1)


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "float16", "float32", "float64"])
def test_angles(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(1)
    for shape in ((1,), (50,), (6, 7), (3, 4, 5), (0, 3)):
        x = (rng.normal(0, 9, shape) * 1.5).astype(dtype)
        if dtype[0] != "f":
            x //= 3
        t = flow.tensor(x, device=device)
        calls: list[dict[str, Any]] = [{}, {"discont": 4.5}, {"period": 5.5}, {"period": 180.0}]
        if dtype[0] != "u":
            calls += [{"period": 4}, {"period": 5}, {"period": 4, "discont": 3}]
        for how in calls:
            for axis in range(-len(shape), len(shape)):
                expected = np.unwrap(x, axis=axis, **how)
                same(expected, flow.unwrap(t, axis=axis, **how), f"{how}")
                same(expected, np.unwrap(t, axis=axis, **how))
        same(np.unwrap(x[..., ::-2].T), flow.unwrap(t[..., ::-2].T))
    halves = np.array([0.0, np.pi, 0.0, -np.pi, 0.0, 3 * np.pi])
    same(np.unwrap(halves), flow.unwrap(flow.tensor(halves, device=device)))
    steps = np.array([0, 2, 0, -2, 0, 6, 2, 7])
    same(np.unwrap(steps, period=4), flow.unwrap(flow.tensor(steps, device=device), period=4))


def test_wrong_angles(device: flow.Device) -> None:
    t = flow.ones((2, 3), device=device)
    with pytest.raises(ValueError, match=r"\[unwrap\] expected at least one dimension"):
        flow.unwrap(t[0, 0])
    with pytest.raises(np.exceptions.AxisError, match=r"\[unwrap\]"):
        flow.unwrap(t, axis=2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_at_the_ends(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(1)
    arrays = [np.zeros(0), np.zeros(3), np.zeros((2, 3)), np.zeros((0, 2)), np.ones(3), np.array(0)]
    arrays += [np.array([0, 0, 1, 0, 2, 0, 0, 0]), rng.random((9, 8)) > 0.97, np.zeros((4, 5, 6))]
    arrays[-1][1, 2:4, 3:] = 5
    for x in (one.astype(dtype) for one in arrays):
        t = flow.tensor(x, device=device)
        for trim in ("fb", "f", "b", "BF"):
            every = [None, *range(-x.ndim, x.ndim), tuple(range(x.ndim)), ()]
            for axis in every:
                expected = np.trim_zeros(x, trim, axis)
                same(expected, flow.trim_zeros(t, trim, axis))
                same(expected, np.trim_zeros(t, trim, axis))
    seen = flow.trim_zeros(t, axis=0)
    assert seen.shares_storage(t)
    special = np.array([-0.0, np.nan, 0.0])
    same(np.trim_zeros(special), flow.trim_zeros(flow.tensor(special, device=device)))
    for trim in ("x", "", None):
        with pytest.raises(ValueError, match=r"\[trim_zeros\] expected trim"):
            flow.trim_zeros(t, trim)
    with pytest.raises(np.exceptions.AxisError):
        flow.trim_zeros(t, axis=3)


@pytest.mark.parametrize("dtype", DTYPES)
def test_diagonals(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = values(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        for k in (0, 2, -1):
            same(np.diagflat(x, k), flow.diagflat(t, k))
            same(np.diagflat(x.T, k), np.diagflat(t.T, k))


def test_programs_and_gradients() -> None:
    x = np.array([0.5, 3.0, -2.5, 1.0])

    @flow.jit
    def several(t: flow.Tensor) -> Any:
        return flow.ediff1d(t, 3, [1, 2]), flow.unwrap(t), flow.diagflat(t, -1)

    for factor in (1.0, -3.0):
        y = factor * x
        same((np.ediff1d(y, 3, [1, 2]), np.unwrap(y), np.diagflat(y, -1)), several(flow.tensor(y)))
    with pytest.raises(TraceError, match="needs the values of"):
        trace(flow.trim_zeros, flow.tensor(x))
    slope = flow.grad(lambda t: (flow.ediff1d(t) ** 2).sum() + flow.unwrap(t)[-1])
    d = np.diff(x)
    expected = np.array([-2 * d[0], 2 * (d[0] - d[1]), 2 * (d[1] - d[2]), 2 * d[2] + 1])
    np.testing.assert_allclose(slope(flow.tensor(x)).numpy(), expected)
