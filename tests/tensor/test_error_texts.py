"""Errors of wrong numbers name the operation and the argument."""

import inspect

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


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_a_function_that_fills_is_named(name: str) -> None:
    for wrong in ([[]], (2, -1), 2**63):
        with pytest.raises((TypeError, ValueError, OverflowError), match=rf"^\[{name}\] "):
            getattr(flow, name)(wrong)
    with pytest.raises(TypeError, match=rf"^\[{name}_like\] unsupported dtype"):
        getattr(flow, f"{name}_like")(flow.ones(2), dtype="x")
    with pytest.raises(TypeError, match=r"^\[full_like\] unsupported dtype"):
        flow.full_like(flow.ones(2), 3, dtype="x")


def test_a_device_is_named_by_a_text_and_an_integer() -> None:
    assert flow.Device("mock", np.int64(1)) == flow.Device(spec="mock", index=1) == "mock:1"
    for wrong in (None, 3, b"cpu"):
        with pytest.raises(TypeError, match=r"^\[device\] expected a string or a device, got"):
            flow.Device(wrong)
    x = flow.ones(2)
    for index in ("a", 1.5):
        for call in (x.mock, x.cuda, lambda i: flow.Device("mock", i)):
            with pytest.raises(TypeError, match=r"^\[device\] expected an integer as index, got"):
                call(index)
    for index in (-1, 2**70):
        with pytest.raises(ValueError, match=rf'^\[device\] no device "mock:{index}"; expected'):
            x.mock(index)


def test_every_public_method_tells_its_parameters() -> None:
    """So that help(), editors and docs/api.md show them."""
    for name, method in vars(flow.Tensor).items():
        if callable(method) and (name == "__complex__" or not name.startswith("_")):
            assert inspect.signature(method).parameters, name
    assert str(inspect.signature(flow.Tensor.item)) == "(self, /, *indices)"
    assert str(inspect.signature(flow.Device)) == "(spec, index=None)"
    assert flow.Tensor.ready.__doc__ == "A Completion that is over when its last write is."


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
