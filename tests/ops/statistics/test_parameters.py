"""What reductions take beside an axis: ``where``, ``initial``, ``mean``, ``out``; as in NumPy."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

STARTING = ("sum", "prod", "max", "min", "nansum", "nanprod", "nanmax", "nanmin")
SPREADS = ("var", "std", "nanvar", "nanstd")
NAMES = (*STARTING, *SPREADS, "mean", "nanmean", "any", "all")
SHAPES = ((), (5,), (3, 4), (0,), (3, 0), (2, 3, 4))


def numbers(name: str, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng = np.random.default_rng(len(shape))
    x = np.asarray(rng.integers(0, 2 if dtype == "bool" else 5, shape)).astype(dtype)
    if name.startswith("nan") and x.dtype.kind in "fc" and x.size > 2:
        x.flat[::3] = np.nan
    return x


def choices(name: str, x: np.ndarray) -> Iterator[dict[str, Any]]:
    """Keywords of a call; ``out`` is the dtype of a target."""
    rng = np.random.default_rng(9)
    axes = [None, *range(x.ndim), *([(0, 1)] if x.ndim > 1 else [])]
    masks = [None, rng.integers(0, 2, x.shape).astype(bool)]
    if x.ndim:
        masks.append(rng.integers(0, 2, x.shape[-1:]).astype(bool))
    more: list[dict[str, Any]] = [{}]
    if name in STARTING:
        more.append({"initial": 1})
    if name in SPREADS:
        more += [{"ddof": 1}, {"mean": 2.0}, {"mean": np.full((1,) * x.ndim, 2.0)}]
    for axis, keep, mask, extra in itertools.product(axes, (False, True), masks, more):
        named = {"axis": axis, "keepdims": keep, **extra}
        if mask is not None:
            named["where"] = mask
        yield named
        yield named | {"out": "complex128" if x.dtype.kind == "c" else "float32"}


def outcome(name: str, x: Any, named: dict[str, Any], device: flow.Device | None) -> Any:
    """The result as an array, or TypeError or ValueError; NumPy's where there is no device."""
    given = dict(named)
    if device is not None:
        x = flow.tensor(x, device=device)
        arrays = {key: v for key, v in given.items() if isinstance(v, np.ndarray)}
        given |= {key: flow.tensor(v, device=device) for key, v in arrays.items()}
    if "out" in given:
        shape = np.sum(np.empty(x.shape), axis=named["axis"], keepdims=named["keepdims"]).shape
        target = np.full(shape, 7, given["out"])
        given["out"] = target if device is None else flow.tensor(target, device=device)
    function = getattr(np if device is None else flow, name)
    try:
        made = function(x, **given)
    except (TypeError, ValueError) as error:
        return TypeError if isinstance(error, TypeError) else ValueError
    assert "out" not in given or made is given["out"]
    return made.numpy() if isinstance(made, flow.Tensor) else np.asarray(made)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "bool", "complex64", "uint8"])
@pytest.mark.parametrize("name", NAMES)
def test_as_numpy(name: str, dtype: str, device: flow.Device) -> None:
    shapes = SHAPES if device.type == "cpu" else SHAPES[2:4]
    for shape in shapes:
        x = numbers(name, shape, dtype)
        for named in choices(name, x):
            expected = outcome(name, x, named, None)
            seen = outcome(name, x, named, device)
            if isinstance(expected, type):
                assert seen is expected, named
                continue
            assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape), named
            np.testing.assert_allclose(seen, expected, rtol=1e-5, err_msg=str(named))


@pytest.mark.parametrize("name", NAMES)
def test_masks_have_the_shape_of_the_operand(name: str, device: flow.Device) -> None:
    x, start = flow.ones(3, device=device), {"initial": 1} if name in STARTING else {}
    with pytest.raises(ValueError, match=r"where of shape \(2, 3\) does not broadcast to \(3,\)"):
        getattr(flow, name)(x, where=np.ones((2, 3), bool), **start)
    with pytest.raises(TypeError, match="expected a mask of dtype bool, got int64"):
        getattr(flow, name)(x, where=np.array([1, 0, 1]), **start)
    truths = getattr(flow, name)(x, where=[1, 0, 1], **start)  # of numbers, as NumPy
    masked = getattr(flow, name)(x, where=np.array([True, False, True]), **start)
    assert truths.item() == masked.item()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("any", "all")])
def test_methods_and_records(name: str) -> None:
    x, mask = numbers(name, (3, 4), "float64"), np.arange(4) % 2 == 0
    named: dict[str, Any] = {"axis": 0, "where": mask}
    if name in ("max", "min", "nanmax", "nanmin"):
        named["initial"] = 2
    expected = outcome(name, x, named, None)

    @flow.jit
    def reduced(t: flow.Tensor, out: flow.Tensor, where: flow.Tensor) -> flow.Tensor:
        getattr(flow, name)(t, **(named | {"where": where}), out=out)
        return out * 2

    for _ in range(2):
        out = flow.zeros(4)
        doubled = reduced(flow.tensor(x), out, flow.tensor(mask))
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-12)
        np.testing.assert_allclose(doubled.numpy(), expected * 2, rtol=1e-12)
    if not name.startswith("nan"):
        method = getattr(flow.tensor(x), name)
        np.testing.assert_allclose(method(**named).numpy(), expected, rtol=1e-12)


def test_range_into_a_target(device: flow.Device) -> None:
    x, out = flow.tensor([[3, 1], [7, 2]], device=device), flow.zeros(2, device=device)
    assert flow.ptp(x, 0, out=out) is x.ptp(axis=0, out=out) is out
    assert out.tolist() == [4, 1]
    with pytest.raises(TypeError, match=r"\[ptp\] cannot cast int64 to bool"):
        flow.ptp(x, out=flow.zeros((), dtype=bool, device=device))


def test_an_array_as_out_waits() -> None:
    array = np.zeros(2, "int32")
    assert flow.mean(flow.tensor([[1.0, 4.0], [3.0, 5.0]]), axis=0, out=array) is array
    assert array.tolist() == [2, 4]


@pytest.mark.parametrize("name", ["nanmean", "nanvar", "nanstd"])
def test_results_of_floats_go_into_floats(name: str) -> None:
    with pytest.raises(TypeError, match=rf"\[{name}\] expected out of an inexact dtype"):
        getattr(flow, name)(flow.ones(3), out=flow.zeros((), dtype="int32"))


@pytest.mark.parametrize("x", [np.arange(5) % 3, np.array([1, np.nan, 4, 2]), np.array([True])])
@pytest.mark.parametrize("dtype", [None, "bool", "float32", "complex64", "complex128"])
def test_spreads_in_other_dtypes(x: np.ndarray, dtype: Any, device: flow.Device) -> None:
    for name in ("nanvar", "nanstd"):
        try:
            expected = getattr(np, name)(x, dtype=dtype)
        except TypeError:
            with pytest.raises(TypeError):
                getattr(flow, name)(flow.tensor(x, device=device), dtype=dtype)
            continue
        seen = getattr(flow, name)(flow.tensor(x, device=device), dtype=dtype)
        assert seen.dtype == expected.dtype
        np.testing.assert_allclose(seen.numpy(), expected, rtol=1e-6)
    with pytest.raises(TypeError, match=r"\[(nan)?std\]"):
        flow.nanstd(flow.tensor(x, device=device), out=flow.zeros((), "int64", device=device))


@pytest.mark.parametrize("name", ["max", "min", "nanmax", "nanmin"])
def test_extrema_begin_with_a_number_of_out(name: str, device: flow.Device) -> None:
    x, initial = np.array([3, 1, 2]), 0.5 if "min" in name else 3.5
    out = flow.zeros((), device=device)
    assert getattr(flow, name)(flow.tensor(x, device=device), out=out, initial=initial) is out
    assert out.item() == getattr(np, name)(x, out=np.zeros(()), initial=initial) == initial
