"""Reductions and roundings into an ``out`` of another dtype than the operand's, as NumPy's."""

import itertools
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.rounding import has_own_kernels

pytestmark = [
    pytest.mark.usefixtures("no_warnings"),
    pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning"),
]

DTYPES = ["bool", "int8", "int64", "uint64", "float16", "float32", "float64", "complex64"]
TARGETS = [*DTYPES, "uint8", "complex128"]
AVERAGES = ["mean", "var", "std", "nanmean", "nanvar", "nanstd", "ptp", "median", "sum", "nansum"]


def is_kept(given: str, target: str) -> bool:
    """Complex numbers become real ones nowhere in this package."""
    return not (given.startswith("complex") and not target.startswith("complex"))


def outcome(xp: Any, call: Any, x: Any, target: Any) -> Any:
    with np.errstate(all="ignore"):
        try:
            made = call(xp, x, target)
        except TypeError:
            return TypeError
    assert made is target
    array = np.asarray(target)
    return array.dtype, array.astype(str).tolist()


def check(call: Any, x: Any, target: Any, device: flow.Device, what: Any) -> None:
    expected = outcome(np, call, x, target.copy())
    out = flow.tensor(target, device=device)
    seen = outcome(flow, call, flow.tensor(x, device=device), out)
    assert seen == expected, what
    array = target.copy()
    assert outcome(flow, call, flow.tensor(x, device=device), array) == expected, what


@pytest.mark.parametrize("name", AVERAGES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_averages_go_to_other_dtypes(name: str, dtype: str, device: flow.Device) -> None:
    if has_own_kernels(device):
        pytest.skip("its kernels add in another order")
    rng = np.random.default_rng(5)
    numbers = rng.normal(size=(3, 4)) * 100
    # Extrema that the target cannot hold differ from NumPy's: docs/numpy.md says how.
    x = (np.abs(numbers) % 50 if name == "ptp" else numbers).astype(dtype)
    for target, axis in itertools.product(TARGETS, (None, 0)):
        if not is_kept(dtype, target) and name not in ("var", "std"):
            continue
        check(
            lambda xp, x, out, axis=axis: getattr(xp, name)(x, axis=axis, out=out),
            x,
            np.zeros(() if axis is None else 4, target),
            device,
            (target, axis),
        )


@pytest.mark.parametrize("dtype", DTYPES[:-1])
def test_rounded_numbers_go_to_other_dtypes(dtype: str, device: flow.Device) -> None:
    x = np.array([127.046, -128, 55, 15, 25, -25, 0]).astype(dtype)
    for target, decimals in itertools.product(TARGETS, (-3, -1, 0, 1, 2)):
        check(
            lambda xp, x, out, decimals=decimals: xp.round(x, decimals, out=out),
            x,
            np.zeros(7, target),
            device,
            (target, decimals),
        )
    with pytest.raises(TypeError, match=r"\[round\] cannot cast float64 to int8"):
        flow.round(flow.tensor([15, 25]), -1, out=flow.zeros(2, dtype="int8"))
