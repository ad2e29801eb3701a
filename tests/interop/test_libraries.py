"""Libraries written against the array API standard give NumPy's results, on the tensor's device."""

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

RNG = np.random.default_rng(0)
GIVEN = {
    "x": RNG.normal(size=(2, 3, 4)),
    "m": RNG.normal(size=(5, 6)),
    "v": np.array([3.0, -1.0, np.nan, 2.0, -1.0, 0.5]),
    "w": RNG.random(6),
    "i": np.array([4, 0, 2, 2, 1]),
    "z": RNG.normal(size=4) + 1j * RNG.normal(size=4),
}
Call = Callable[..., Any]


def leaves(result: Any) -> Iterable[Any]:
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from leaves(item)
    else:
        yield result


def check(call: Call, device: flow.Device) -> None:
    """``call(xp, **arrays)`` gives the same on NumPy's arrays and on tensors."""
    tensors = {name: flow.tensor(array, device=device) for name, array in GIVEN.items()}
    expected = list(leaves(call(np, **{name: array.copy() for name, array in GIVEN.items()})))
    seen = list(leaves(call(flow, **tensors)))
    assert len(expected) == len(seen)
    for array, other in zip(expected, seen, strict=True):
        if isinstance(array, (np.ndarray, np.generic)):
            assert isinstance(other, flow.Tensor)
            assert other.device == device
            assert (other.shape, other.dtype) == (array.shape, array.dtype)
            # A library may have a way of its own for NumPy's arrays, which rounds otherwise.
            np.testing.assert_allclose(other.numpy(), array, rtol=1e-13, atol=1e-15)
        else:
            assert array == other


# --- einops

EINOPS: list[Call] = [
    lambda e, x: e.rearrange(x, "a b c -> c (b a)"),
    lambda e, x: e.rearrange(x, "a b (c1 c2) -> (a c1) b c2", c1=2),
    lambda e, x: e.rearrange([x, x], "n a b c -> a (n b) c"),
    lambda e, x: e.rearrange(x, "a ... -> ... a"),
    lambda e, x: e.reduce(x, "a b c -> b", "max"),
    lambda e, x: e.reduce(x, "a b (c 2) -> a c", "mean"),
    lambda e, x: e.reduce(x, "a b c -> ", "sum"),
    lambda e, x: e.reduce(x, "a b c -> 1 b 1", "min"),
    lambda e, x: e.repeat(x, "a b c -> a (b 2) c k", k=3),
    lambda e, x: e.pack([x, x[:, 0], x[:, :2]], "a * c"),
    lambda e, x: e.unpack(x, [[1], [2]], "a * c"),
]


@pytest.mark.parametrize("number", range(len(EINOPS)))
def test_einops(number: int, device: flow.Device) -> None:
    einops = pytest.importorskip("einops.array_api")
    check(lambda xp, x, **_: EINOPS[number](einops, x), device)


# --- array-api-compat


@pytest.fixture
def compat() -> ModuleType:
    module: ModuleType = pytest.importorskip("array_api_compat")
    return module


@pytest.mark.parametrize("version", [None, "2021.12", "2022.12", "2023.12", "2024.12"])
def test_compat_finds_the_namespace(
    version: str | None, compat: ModuleType, device: flow.Device
) -> None:
    x = flow.ones((2, 3), device=device)
    assert compat.is_array_api_obj(x)
    assert compat.array_namespace(x, 1.0, None, api_version=version) is flow
    assert not compat.is_numpy_namespace(flow)
    with pytest.raises(TypeError, match="Multiple namespaces"):
        compat.array_namespace(x, np.ones(3))


def test_compat_helpers(compat: ModuleType, device: flow.Device) -> None:
    x = flow.ones((2, 3), device=device)
    assert compat.device(x) == device
    assert compat.size(x) == 6
    assert compat.is_writeable_array(x)
    assert not compat.is_lazy_array(x)
    for other in flow.devices():
        assert compat.to_device(x, other).device == other


# --- array-api-extra


@pytest.fixture
def xpx() -> ModuleType:
    module: ModuleType = pytest.importorskip("array_api_extra")
    return module


EXTRA: dict[str, Call] = {
    "angle": lambda f, z, **_: (f(z), f(z, deg=True)),
    "apply_where": lambda f, m, w, **_: (
        f(m > 0, m, lambda a: a * 2, lambda a: -a),
        f(m > w, (m, m * 0 + w), lambda a, b: a / b, fill_value=7.0),
    ),
    "argpartition": lambda f, w, i, **_: w[f(w, 2)][2],
    "atleast_nd": lambda f, v, **_: f(v, ndim=3),
    "cov": lambda f, m, **_: f(m),
    "create_diagonal": lambda f, w, m, **_: (f(w), f(w, offset=-2), f(m)),
    "deg2rad": lambda f, v, **_: f(v),
    "expand_dims": lambda f, m, **_: f(m, axis=(0, 2)),
    "isclose": lambda f, v, w, **_: (f(v, w), f(v, v, equal_nan=True), f(v, 2.0)),
    "isin": lambda f, i, w, **_: f(i, i[1:3]),
    "kron": lambda f, m, w, **_: f(m, w[:2]),
    "nan_to_num": lambda f, v, **_: f(v, fill_value=-1.0),
    "nanmax": lambda f, v, **_: f(v),
    "nanmean": lambda f, v, **_: f(v),
    "nanmin": lambda f, v, **_: f(v),
    "nansum": lambda f, v, **_: f(v),
    "nunique": lambda f, i, **_: f(i),
    "one_hot": lambda f, i, **_: (f(i, 5), f(i, 6, axis=0)),
    "pad": lambda f, m, **_: f(m, ((1, 2), (0, 3)), constant_values=5),
    "partition": lambda f, w, **_: f(w, 3)[3],
    "rad2deg": lambda f, v, **_: f(v),
    "searchsorted": lambda f, w, v, **_: f(w[:1], w),
    "setdiff1d": lambda f, i, **_: f(i, i[:2]),
    "sinc": lambda f, m, **_: f(m),
    "union1d": lambda f, i, **_: f(i, i + 2),
    "unravel_index": lambda f, i, **_: f(i, (3, 2)),
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # names that the standard has by now
@pytest.mark.parametrize("name", EXTRA)
def test_extra(name: str, xpx: ModuleType, device: flow.Device) -> None:
    if not hasattr(xpx, name):
        pytest.skip(f"this array-api-extra has no {name}")
    check(lambda xp, **arrays: EXTRA[name](getattr(xpx, name), **arrays), device)


def test_extra_of_no_array(xpx: ModuleType, device: flow.Device) -> None:
    assert xpx.default_dtype(flow) == flow.float64
    assert xpx.default_dtype(flow, "integral", device=device) == flow.int64
    for name in ("tril_indices", "triu_indices", "diag_indices"):
        if hasattr(xpx, name):
            seen = getattr(xpx, name)(4, device=device, xp=flow)
            for one, other in zip(getattr(np, name)(4), seen, strict=True):
                assert other.device == device
                np.testing.assert_array_equal(other.numpy(), one)


@pytest.mark.parametrize("method", ["set", "add", "subtract", "multiply", "divide", "min", "max"])
@pytest.mark.parametrize("copy", [None, True, False])
def test_extra_at(method: str, copy: bool | None, xpx: ModuleType, device: flow.Device) -> None:
    def update(xp: ModuleType, m: Any, **_: Any) -> tuple[Any, Any]:
        changed = getattr(xpx.at(m)[1:4:2, ::-1], method)(2.5, copy=copy)
        masked = getattr(xpx.at(m, m > 0), method)(0.5, copy=copy)
        assert (changed is m) == (copy is not True)
        return changed, masked

    with flow.device(device):  # where array-api-extra puts the number
        check(update, device)


def test_extra_lazy_apply(xpx: ModuleType, device: flow.Device) -> None:
    def apply(xp: ModuleType, m: Any, w: Any, **_: Any) -> Any:
        return xpx.lazy_apply(lambda a, b: a + b, m, w, xp=xp)

    check(apply, device)
