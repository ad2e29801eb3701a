"""searchsorted: NumPy's positions, for every dtype and on every device."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_positions(dtype: str, side: str, device: flow.Device) -> None:
    for n in (0, 1, 2, 7, 64, 1000):
        x = values((n,), dtype, n)
        ordered = np.sort(x)
        needles = np.concatenate([values((40,), dtype, n + 1), x[:37]])
        t, u = flow.tensor(ordered, device=device), flow.tensor(needles, device=device)
        same(np.searchsorted(ordered, needles, side), flow.searchsorted(t, u, side=side))
        order = np.argsort(x)
        unordered = flow.tensor(x, device=device)
        same(
            np.searchsorted(x, needles, side, sorter=order),
            flow.searchsorted(unordered, u, side=side, sorter=flow.argsort(unordered)),
        )


def test_shapes_and_views(device: flow.Device) -> None:
    x = np.sort(values((90,), "float32", 1))
    needles = values((6, 7, 8), "float32", 2)
    t, u = flow.tensor(x, device=device), flow.tensor(needles, device=device)
    for array, view in ((x, t), (x[::3], t[::3]), (x[:1], t[:1])):
        for wanted, given in (
            (needles, u),
            (needles.T, u.T),
            (needles[::-1, 1:1], u[::-1, 1:1]),
            (needles[0, 0, 0], u[0, 0, 0]),
        ):
            same(np.searchsorted(array, wanted), flow.searchsorted(view, given))
    order = np.arange(90, dtype="int8")[::-1]
    backwards = flow.tensor(x[::-1], device=device)
    seen = flow.searchsorted(backwards, u, sorter=flow.tensor(order, device=device))
    same(np.searchsorted(x[::-1], needles, sorter=order), seen)


@pytest.mark.parametrize("value", [3, -1, 2.5, True, np.nan, np.float32(4), 300, [1, 7]])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float16", "float32", "bool"])
def test_scalars_and_lists(dtype: str, value: Any, device: flow.Device) -> None:
    x = np.sort(values((30,), dtype, 3))
    seen = flow.searchsorted(flow.tensor(x, device=device), value)
    same(np.searchsorted(x, value), seen)
    assert seen.device == device


def test_promotion_is_numpys(device: flow.Device) -> None:
    x = np.array([0.1, 0.5], "float32")
    same(np.searchsorted(x, 0.1), flow.searchsorted(flow.tensor(x, device=device), 0.1))
    for first in ("int8", "uint64", "float16", "complex64", "bool"):
        for second in ("int64", "uint8", "float64", "complex64"):
            a, b = np.sort(values((50,), first, 1)), values((50,), second, 2)
            seen = flow.searchsorted(*(flow.tensor(v, device=device) for v in (a, b)))
            same(np.searchsorted(a, b), seen)


def test_wrong_arguments(device: flow.Device) -> None:
    t = flow.tensor([1.0, 2.0, 3.0], device=device)
    with pytest.raises(ValueError, match=r"\[searchsorted\] expected side"):
        flow.searchsorted(t, t, side="middle")
    with pytest.raises(ValueError, match="one dimension"):
        flow.searchsorted(flow.ones((2, 2), device=device), t)
    with pytest.raises(ValueError, match=r"sorter of shape \(3,\), got \(2,\)"):
        flow.searchsorted(t, t, sorter=[0, 1])
    with pytest.raises(TypeError, match="sorter of integers"):
        flow.searchsorted(t, t, sorter=[0.0, 1.0, 2.0])
    for bad in ([0, 1, 3], [-1, 0, 1]):
        poisoned = flow.searchsorted(t, t, sorter=bad) + 1
        with pytest.raises(ValueError, match=r"\[searchsorted\] expected a sorter of positions"):
            poisoned.numpy()
    with pytest.raises(ValueError, match="sorter of positions"):
        flow.synchronize()


def test_large_in_both_modes(device: flow.Device, naive: bool) -> None:
    x, needles = np.sort(values((50_000,), "float64", 1)), values((30_001,), "float64", 2)
    seen = flow.searchsorted(*(flow.tensor(v, device=device) for v in (x, needles)))
    same(np.searchsorted(x, needles), seen)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64"]
)
def test_needles_that_ascend(dtype: str, side: str) -> None:
    """Close to each other, apart, equal, with NaN behind, and such that fall back in between."""
    random = np.random.default_rng(3)
    for size in (0, 1, 7, 8, 9, 100, 3000):
        for count in (1, 8, 17, 100, 5000):
            spread = random.choice([1, 30, 1e4])
            x = np.sort((random.random(size) * spread).astype(dtype))
            needles = np.sort((random.random(count) * spread).astype(dtype))
            with_nan = needles.copy()
            if np.dtype(dtype).kind in "fc":
                with_nan[-count // 3 :] = np.nan
                x[size - size // 4 :] = np.nan
            fallen = needles.copy()
            fallen[count // 2 :] = needles[: count - count // 2]
            descending = needles[::-1]
            for wanted in (needles, with_nan, fallen, descending, np.repeat(needles, 3)):
                seen = flow.searchsorted(flow.asarray(x), flow.asarray(wanted), side=side)
                assert np.array_equal(seen.numpy(), np.searchsorted(x, wanted, side)), (size, count)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_nan_among_needles_that_ascend(dtype: str, device: flow.Device) -> None:
    """Groups of needles are searched from the places of those before, unless one is a NaN."""
    random = np.random.default_rng(29)
    parts = np.array([0, 1, 2, -1, np.nan, np.inf, -np.inf, -0.0, 0.5])
    for _ in range(40):
        x, needles = np.empty(40, dtype), np.empty(25, dtype)
        for given in (x, needles):
            given.real = random.choice(parts, given.size)
            if given.dtype.kind == "c":
                given.imag = random.choice(parts, given.size)
        x = np.sort(x[: random.integers(1, 40)])
        for wanted in (needles, np.sort(needles), np.sort(needles)[::-1]):
            for side in ("left", "right"):
                seen = flow.searchsorted(
                    *(flow.tensor(v, device=device) for v in (x, wanted)), side
                )
                same(np.searchsorted(x, wanted, side), seen)


def test_sorted_elements_with_gaps(device: flow.Device) -> None:
    x, needles = np.sort(values((2000,), "float64", 5)), values((1000,), "float64", 6)
    t, u = (flow.tensor(values, device=device) for values in (x, needles))
    same(np.searchsorted(x[::3], needles), flow.searchsorted(t[::3], u))
    same(np.searchsorted(x[::3], needles[::2]), flow.searchsorted(t[::3], u[::2]))
    same(np.interp(needles, x[::2], x[1::2]), flow.interp(u, t[::2], t[1::2]))
    same(np.interp(needles, x[:1000], needles[::-1]), flow.interp(u, t[:1000], u[::-1]))
