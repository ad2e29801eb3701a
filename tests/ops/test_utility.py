"""Differences and likeness: NumPy's answers."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

pytestmark = pytest.mark.usefixtures("no_warnings")


@pytest.mark.parametrize("dtype", DTYPES)
def test_diff(dtype: str, device: flow.Device) -> None:
    for shape in ((5,), (1,), (0,), (3, 4), (2, 3, 2)):
        x = values(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        for axis in range(-len(shape), len(shape)):
            for n in (0, 1, 2, 5):
                same(np.diff(x, n=n, axis=axis), flow.diff(t, n=n, axis=axis))
            if shape != (0,):
                same(np.diff(x.T[::-1], axis=axis), flow.diff(t.T[::-1], axis=axis))
                same(np.diff(x[::2], axis=axis), flow.diff(t[::2], axis=axis))
    same(np.diff(x, 1, 0), flow.diff(t, 1, 0))


def test_diff_with_ends(device: flow.Device) -> None:
    x, y = values((2, 4), "int32", 1), values((2, 2), "int64", 2)
    a, b = flow.tensor(x, device=device), flow.tensor(y, device=device)
    same(np.diff(x, prepend=y), flow.diff(a, prepend=b))
    same(np.diff(x, append=y, n=3), flow.diff(a, append=b, n=3))
    same(np.diff(x, prepend=7, append=y), flow.diff(a, prepend=7, append=b))
    same(np.diff(x, axis=0, prepend=np.int32(7)), flow.diff(a, axis=0, prepend=np.int32(7)))
    with pytest.raises(ValueError, match=r"\[concat\]"):
        flow.diff(a, axis=0, prepend=b)


def test_bad_diff() -> None:
    with pytest.raises(ValueError, match=r"\[diff\].*-1"):
        flow.diff(flow.zeros(3), n=-1)
    with pytest.raises(ValueError, match=r"\[diff\].*0-d"):
        flow.diff(flow.tensor(3.0))
    with pytest.raises(IndexError, match=r"\[diff\] axis 1"):
        flow.diff(flow.zeros(3), axis=1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("equal_nan", [False, True])
def test_likeness(dtype: str, equal_nan: bool, device: flow.Device) -> None:
    x = values((40, 5), dtype, 1)
    for seed in (1, 2):
        y = np.where(values((40, 5), "bool", seed), x, values((40, 5), dtype, seed)).astype(dtype)
        a, b = flow.tensor(x, device=device), flow.tensor(y, device=device)
        same(np.isclose(x, y, equal_nan=equal_nan), flow.isclose(a, b, equal_nan=equal_nan))
        same(np.isclose(x, y, 0.5, 0.1, equal_nan), flow.isclose(a, b, 0.5, 0.1, equal_nan))
        for name in ("allclose", "array_equal"):
            for one, two in ((x, y), (x, x), (x[:3], y)):
                u, v = flow.tensor(one, device=device), flow.tensor(two, device=device)
                if name == "allclose" and one.shape != two.shape:
                    continue
                expected = getattr(np, name)(one, two, equal_nan=equal_nan)
                seen = getattr(flow, name)(u, v, equal_nan=equal_nan)
                assert type(seen) is bool
                assert seen == expected


def test_likeness_of_other_things(device: flow.Device) -> None:
    a = flow.tensor([1.0, 1.0 + 1e-7], device=device)
    assert flow.allclose(a, 1.0)
    assert flow.allclose(1, a)
    assert flow.allclose(a, np.ones(2))
    assert not flow.allclose(a, 1.0, rtol=0, atol=1e-9)
    assert flow.array_equiv(a[:1], flow.ones((3, 1), device=device))
    assert not flow.array_equiv(a, flow.ones(3, device=device))
    assert flow.array_equal(a, a.numpy())
    assert not flow.array_equal(a, 1.0)
    assert not flow.array_equal(a, a[:1])
    assert not flow.array_equal(a, flow.ones((1, 2), device=device))
    assert flow.array_equal(a[:0], flow.zeros(0, device=device))
    same(
        np.isclose([np.inf, -np.inf, np.nan], np.inf),
        flow.isclose(flow.tensor([flow.inf, -flow.inf, flow.nan]), flow.inf),
    )
    with pytest.raises(ValueError, match=r"do not broadcast"):
        flow.allclose(a, flow.ones(3, device=device))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_to_num(dtype: str, device: flow.Device) -> None:
    x = values((30, 40), dtype, 3)
    if x.dtype.kind in "fc":
        x[:3], x[3:5], x[5] = np.nan, np.inf, -np.inf
    t = flow.tensor(x, device=device)
    same(np.nan_to_num(x), flow.nan_to_num(t))
    same(np.nan_to_num(x, nan=7, posinf=8, neginf=9), flow.nan_to_num(t, nan=7, posinf=8, neginf=9))
    same(np.nan_to_num(x, posinf=2.5), flow.nan_to_num(t, posinf=2.5))
    same(np.nan_to_num(x, neginf=np.nan), flow.nan_to_num(t, neginf=np.nan))
    other = np.float64(3)  # of a dtype of its own, which is cast
    same(np.nan_to_num(x, nan=other, posinf=other), flow.nan_to_num(t, nan=other, posinf=other))
    assert not flow.nan_to_num(t).shares_storage(t)
    assert flow.nan_to_num(t.copy()[::-1], copy=False).shape == t.shape
    same(np.nan_to_num(x.T), flow.nan_to_num(t.T))
    same(x, t)
    assert flow.nan_to_num(t, copy=False) is t
    same(np.nan_to_num(x), t)
    same(np.nan_to_num(x[0, 0]), flow.nan_to_num(flow.tensor(x[0, 0], device=device)))


def test_a_number_takes_the_dtype_of_what_it_is_close_to(device: flow.Device) -> None:
    """As NumPy's: 2.1 is float32's 2.1, and next to nothing is allowed."""
    x = np.array([2.1, 3, np.inf, np.nan], "f4")
    t = flow.tensor(x, device=device)
    for number in (2.1, 3, np.inf, 2.1j, True, np.float64(2.1)):
        for tolerance in (0, 1e-9):
            same(np.isclose(x, number, tolerance, 0), flow.isclose(t, number, tolerance, 0))
            same(np.isclose(number, x, tolerance, 0), flow.isclose(number, t, tolerance, 0))
    assert flow.allclose(t[:1], 2.1, rtol=1e-9, atol=0)
    assert flow.isclose(1, 1.0).item()
    assert not flow.isclose(1, 2).item()
    recorded = flow.jit(lambda x, number: flow.isclose(x, number, rtol=0, atol=0))
    for number in (2.1, 4.2, 2.1):
        same(np.isclose(x, number, rtol=0, atol=0), recorded(t, number))
