"""Integers that int64 does not hold as indices: NumPy's errors, and nothing is written."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

LARGE = [2**63, 2**64 - 1, -(2**63) - 1, 2**70]


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("index", LARGE)
def test_take_and_put(index: int, mode: Any, device: flow.Device) -> None:
    x = flow.tensor([1, 2, 3, 4, 5], device=device)
    for given in (index, [index], [[index]], (np.uint64(2), index)):
        with pytest.raises(OverflowError):
            np.take(np.arange(5), given, mode=mode)
        with pytest.raises(OverflowError, match=r"\[take\] an index does not fit in 64 bits"):
            flow.take(x, given, mode=mode)
        with pytest.raises(OverflowError, match=r"\[put\] an index does not fit in 64 bits"):
            flow.put(x, given, 9, mode=mode)
    assert x.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("index", [*LARGE, np.uint64(2**63), np.array(2**64 - 1, "uint64")])
def test_between_brackets(index: Any, device: flow.Device) -> None:
    array = np.arange(6).reshape(2, 3)
    x = flow.tensor(array, device=device)
    for key in (index, (0, index), (..., index)):
        with pytest.raises((IndexError, OverflowError)) as expected:
            array[key]
        with pytest.raises(expected.type, match=r"\[getitem\] .* does not fit"):
            x[key]
        with pytest.raises(expected.type, match=r"\[setitem\] .* does not fit"):
            x[key] = 7
    assert x.tolist() == array.tolist()


def test_a_tensor_of_uint64_without_dimensions(device: flow.Device) -> None:
    """NumPy raises at the call, where it knows the integer; a tensor's is known when it is used."""
    x = flow.tensor([1, 2, 3], device=device)
    for number in (2**63, 2**64 - 1):
        index = flow.tensor(np.array(number, "uint64"), device=device)
        late, written = x[index], x.copy()
        written[index] = 7
        for failed in (late, written):
            with pytest.raises(IndexError, match="out of bounds for axis 0 with size 3"):
                failed.numpy()
        with pytest.raises(IndexError):
            flow.synchronize()
    assert x[flow.tensor(np.array(2, "uint64"), device=device)].item() == 3


def test_item(device: flow.Device) -> None:
    x = flow.tensor([1, 2], device=device)
    for index in LARGE:
        with pytest.raises(OverflowError, match=r"\[item\] an index does not fit"):
            x.item(index)
    with pytest.raises(TypeError, match=r"\[item\] expected an integer, got str"):
        x.item("a")
