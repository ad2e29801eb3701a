"""vander, polyval, polyfit, tensorinv, tensorsolve, and methods of Tensor: NumPy's results."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, compare, values


def same(expected: Any, seen: flow.Tensor, device: Any = None) -> None:
    difference = compare(np.asarray(expected), seen.numpy())
    assert difference is None, difference
    assert device is None or seen.device == device


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d[0] != "c"])
def test_values(dtype: str, device: flow.Device) -> None:
    x = np.asarray([0, 1, 1, 3, 2]).astype(dtype)
    t = flow.tensor(x, device=device)
    for arguments in ((), (3,), (1,), (0,), (4, True), (5000,)):
        same(np.vander(x, *arguments), flow.vander(t, *arguments), device)
        same(np.vander(x[::-2], *arguments), flow.vander(t[::-2], *arguments), device)
    same(np.vander(x[:0], 3), flow.vander(t[:0], 3), device)
    for p in ([3, 0, 1], [1.5], []):
        same(np.polyval(p, x), flow.polyval(p, t), device)
    same(np.polyval(x, x[::-1]), flow.polyval(t, t[::-1]))
    with pytest.raises(ValueError, match=r"\[vander\]"):
        flow.vander(t[None])


def test_fits(device: flow.Device) -> None:
    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=9), rng.normal(size=(9, 2)), rng.random(9) + 0.5
    t, u, v = (flow.tensor(one, device=device) for one in (x, y, w))
    for deg in (0, 1, 3):
        for given, numbers in ((u, y), (u[:, 0], y[:, 0])):
            seen = flow.polyfit(t, given, deg)
            assert seen.device == device
            np.testing.assert_allclose(seen.numpy(), np.polyfit(x, numbers, deg), rtol=1e-9)
            expected = np.polyfit(x, numbers, deg, w=w)
            np.testing.assert_allclose(
                flow.polyfit(t, given, deg, w=v).numpy(), expected, rtol=1e-9
            )
    for one, other in zip(
        flow.polyfit(t, u, 2, full=True), np.polyfit(x, y, 2, full=True), strict=True
    ):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-9)
    for call, error in (
        (lambda: flow.polyfit(t, u, -1), ValueError),
        (lambda: flow.polyfit(t[None], u, 1), TypeError),
        (lambda: flow.polyfit(t, u[1:], 1), TypeError),
        (lambda: flow.polyfit(t, u, 1, w=v[1:]), TypeError),
        (lambda: flow.polyfit(t, u, 1, w=v[:, None]), TypeError),
        (lambda: flow.polyfit(t, u[:, 0], 1, w=v[:, None]), TypeError),
        (lambda: flow.polyfit(t, u, 1, w=v[0]), TypeError),
    ):
        with pytest.raises(error, match=r"\[polyfit\]"):
            call()


@pytest.mark.parametrize("cov", [True, "unscaled", 1])
def test_covariances_of_fits(cov: Any, device: flow.Device) -> None:
    rng = np.random.default_rng(6)
    for dtype in ("float64", "float32", "int64"):
        x = (np.arange(12) * 2 - 5).astype(dtype)
        for y in ((rng.normal(size=12) * 9).astype(dtype), (rng.normal(size=(12, 3)) * 9)):
            for deg in (0, 1, 3):
                for w in (None, np.linspace(0.5, 1.5, 12)):
                    t, u = (flow.tensor(one, device=device) for one in (x, y))
                    wanted = np.polyfit(x, y, deg, w=w, cov=cov)
                    for one, other in zip(
                        wanted, flow.polyfit(t, u, deg, w=w, cov=cov), strict=True
                    ):
                        assert (other.shape, other.device) == (one.shape, device)
                        assert other.dtype == one.dtype
                        rtol = 1e-3 if one.dtype == np.float32 else 1e-8
                        np.testing.assert_allclose(other.numpy(), one, rtol=rtol, atol=rtol)
    assert len(flow.polyfit(t, u, 1, full=True, cov=cov)) == 5
    few = (t[:3], u[:3], 2)
    if cov == "unscaled":
        assert flow.polyfit(*few, cov=cov)[1].shape == (3, 3, 1)
    else:
        with pytest.raises(ValueError, match=r"\[polyfit\] cov: expected more samples"):
            flow.polyfit(*few, cov=cov)


def test_tensors(device: flow.Device) -> None:
    a = np.random.default_rng(2).normal(size=(2, 3, 6))
    t = flow.tensor(a, device=device)
    same(np.linalg.tensorinv(a), flow.linalg.tensorinv(t), device)
    b = np.ones((2, 3))
    same(np.linalg.tensorsolve(a, b), flow.linalg.tensorsolve(t, b), device)
    turned = np.moveaxis(a, 2, 0)
    seen = flow.linalg.tensorsolve(flow.moveaxis(t, 2, 0), b, axes=(0,))
    same(np.linalg.tensorsolve(turned, b, axes=(0,)), seen)
    with pytest.raises(ValueError, match=r"\[tensorinv\]"):
        flow.linalg.tensorinv(t, 0)
    with pytest.raises(np.linalg.LinAlgError, match=r"\[tensorsolve\]"):
        flow.linalg.tensorsolve(t, np.ones(2))


@pytest.mark.parametrize("dtype", DTYPES)
def test_methods(dtype: str, device: flow.Device) -> None:
    x = values((3, 4), dtype, 3)
    t = flow.tensor(x, device=device)
    assert t.T.tobytes() == x.T.tobytes()
    same(x.compress([True, False, True], axis=0), t.compress([True, False, True], axis=0))
    x.put([1, 5], [1, 0])
    t.put([1, 5], [1, 0])
    same(x, t)
    t.partition(0)
    same(np.sort(x)[:, 0], flow.sort(t)[:, 0])


def test_ranges_go_where_their_ends_are(device: flow.Device) -> None:
    end = flow.tensor(3.0, device=device)
    for made in (
        flow.arange(end),
        flow.linspace(0, end, 3),
        flow.logspace(0, end, 3),
        flow.geomspace(1, end, 3),
    ):
        assert made.device == device
    assert flow.linspace(0, end, device="cpu").device == "cpu"


def test_lists_of_tensors_are_stacked(device: flow.Device) -> None:
    x, y = values((3,), "float32", 1), values((3,), "int64", 2)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    with flow.flags(implicit_sync="error"):
        made = [flow.asarray([t, u]), flow.asarray([[t], [u]]), flow.asarray((t[0], 2, u[1]))]
        cast = flow.tensor([t, t], dtype="float16", device="cpu")
    same(np.array([x, y]), made[0], device)
    same(np.array([[x], [y]]), made[1], device)
    same(np.array((x[0], 2, y[1])), made[2], device)
    same(np.array([x, x], "float16"), cast)
    assert cast.device == "cpu"
    with pytest.raises(ValueError, match=r"\[tensor\] inhomogeneous"):
        flow.asarray([t, t[1:]])


@pytest.mark.parametrize("degree", [1.0, np.float64(2), np.array(1), True, 1.5])
def test_a_degree_of_any_type(degree: Any, device: flow.Device) -> None:
    x = np.arange(5.0)
    expected: Any = np.polyfit(x, x**2, degree)
    seen = flow.polyfit(flow.tensor(x, device=device), flow.tensor(x**2, device=device), degree)
    assert seen.shape == expected.shape
    assert np.allclose(seen.numpy(), expected)
    with pytest.raises(TypeError):
        flow.polyfit(x, x, [1])
