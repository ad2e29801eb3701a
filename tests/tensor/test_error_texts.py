"""Errors of wrong numbers name the operation and the argument."""

import numpy as np
import pytest

import oneflow_lite as flow


def test_numbers_that_do_not_fit(device: flow.Device) -> None:
    x, i = flow.ones(2, device=device), flow.ones(2, dtype="int64", device=device)
    with pytest.raises(ValueError, match=r"\[sum\] initial: expected a number of float64, got 'a'"):
        flow.sum(x, initial="a")
    with pytest.raises(OverflowError, match=r"\[max\] initial: expected a number of int64, got 11"):
        flow.max(i, initial=2**70)
    with pytest.raises(ValueError, match=r"\[fill\] value: expected a number of float64, got 'a'"):
        x.fill("a")
    with pytest.raises(OverflowError, match=r"\[fill\] value: expected a number of int64, got 19"):
        i.fill(2**64 + 10**18)
    assert x.tolist() == i.tolist() == [1, 1]


def test_shapes_that_are_none() -> None:
    for wrong in ("3", (1, "a"), (1.5,)):
        with pytest.raises(TypeError, match=r"\[\w+\] expected integers, got (str|float)"):
            flow.zeros(wrong)  # type: ignore[arg-type]
    with pytest.raises(OverflowError, match=r"\[\w+\] expected integers .* cannot fit"):
        flow.zeros(2**63)


def test_repeats_that_are_too_many(device: flow.Device) -> None:
    x = flow.ones(2, device=device)
    for times, error in ((2**62, ValueError), (2**63, OverflowError)):
        with pytest.raises(error):
            np.repeat(np.ones(2), times)
        with pytest.raises(error, match=r"\[repeat\] repeats: .* too many"):
            flow.repeat(x, times)


def test_lengths_of_tensors_without_dimensions(device: flow.Device) -> None:
    x = flow.ones((), device=device)
    with pytest.raises(TypeError, match=r"\[len\] expected a dimension, got a 0-d tensor"):
        len(x)
    with pytest.raises(TypeError, match=r"\[iter\] expected a dimension, got a 0-d tensor"):
        iter(x)


def test_integers_beyond_those_of_numpy() -> None:
    x = flow.ones(1)
    assert np.isnan(flow.round(x, 400).item())
    with pytest.raises(OverflowError, match=r"\[round\] decimals: expected an integer of 32 bits"):
        flow.round(x, 2**31)
    with pytest.raises(OverflowError):
        np.add(x, 2**70, dtype="?", casting="unsafe")
