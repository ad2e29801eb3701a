"""Python's integers that no 64 bits hold, in functions of truths and comparisons, as NumPy's."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

LONG = [2**63 - 1, 2**63, 2**63 + 1, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, -(2**64), 10**30]
NUMBERS = [*LONG, 0, 1, -1, True]
COMPARISONS = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGICAL = ["logical_and", "logical_or", "logical_xor"]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return np.asarray(call()).tolist()
    except (OverflowError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("name", [*COMPARISONS, *LOGICAL])
def test_two_integers(name: str) -> None:
    ours, theirs = getattr(flow, name), getattr(np, name)
    for a in NUMBERS:
        for b in NUMBERS:
            seen = outcome(lambda a=a, b=b: ours(a, b).numpy())
            assert seen == outcome(lambda a=a, b=b: theirs(a, b)), (a, b)


@pytest.mark.parametrize("name", [*COMPARISONS, *LOGICAL])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float64"])
def test_integers_beside_tensors(name: str, dtype: str, device: flow.Device) -> None:
    ends = np.iinfo(dtype) if dtype not in ("bool", "float64") else np.iinfo("int8")
    x = np.array([0, 1, ends.min, ends.max]).astype(dtype)
    t = flow.tensor(x, device=device)
    for number in LONG:
        for swapped in (False, True):
            ours: Any = outcome(lambda n=number, s=swapped: called(flow, name, t, n, s).numpy())
            theirs: Any = outcome(lambda n=number, s=swapped: called(np, name, x, n, s))
            assert ours == theirs, (number, swapped)


def called(xp: Any, name: str, x: Any, number: int, swapped: bool) -> Any:
    return getattr(xp, name)(*((number, x) if swapped else (x, number)))


def test_one_integer() -> None:
    for number in LONG:
        assert operator.not_(number) is flow.logical_not(number).item() is False
    for name in ("isnan", "isinf", "isfinite", "signbit", "sign", "abs", "square", "bitwise_count"):
        expected = getattr(np, name)(2**63)
        seen = getattr(flow, name)(2**63).numpy()
        assert (seen.dtype, seen.tolist()) == (expected.dtype, expected.tolist()), name
        with pytest.raises(OverflowError):
            getattr(flow, name)(2**64)
