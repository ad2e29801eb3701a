"""Averages: of no elements, by weights of some axes, and with the sums of the weights."""

import warnings

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)], ids=str)
def test_average_of_nothing(shape: tuple[int, ...], device: flow.Device) -> None:
    """NumPy's ZeroDivisionError, where the shapes show it."""
    x, t = np.zeros(shape), flow.zeros(shape, device=device)
    for axis in (None, *range(len(shape))):
        for weights in (None, np.ones(shape), np.ones(shape[axis or 0])):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    expected = np.average(x, axis, weights)
            except (ZeroDivisionError, TypeError) as error:
                with pytest.raises(type(error), match=r"\[average\]"):
                    flow.average(t, axis, weights)
            else:
                same(expected, flow.average(t, axis, weights))


@pytest.mark.parametrize("axis", [0, -1, (1,), (0, 2), (2, 0), (-1, 1), (2, 1, 0), (0, 1, 2), ()])
def test_weights_of_some_axes(axis: int | tuple[int, ...], device: flow.Device) -> None:
    """Their extents are in the order of the axes."""
    x = np.arange(24.0).reshape(2, 3, 4) % 7
    axes = axis if isinstance(axis, tuple) else (axis,)
    weights = np.arange(1.0, 1 + np.prod([x.shape[a] for a in axes], dtype=int))
    weights = weights.reshape([x.shape[a] for a in axes])
    t, w = flow.tensor(x, device=device), flow.tensor(weights, device=device)
    for keepdims in (False, True):
        expected = np.average(x, axis, weights, returned=True, keepdims=keepdims)
        for ours, numpys in zip(
            flow.average(t, axis, w, returned=True, keepdims=keepdims), expected, strict=True
        ):
            np.testing.assert_allclose(ours.numpy(), numpys, rtol=1e-14)
            assert ours.shape == numpys.shape


def test_sums_of_weights(device: flow.Device) -> None:
    x = np.arange(6, dtype="float32").reshape(2, 3)
    t = flow.tensor(x, device=device)
    for axis in (None, 0, 1):
        for numpys, ours in zip(
            np.average(x, axis, None, True), flow.average(t, axis, None, True), strict=True
        ):
            same(np.asarray(numpys), ours)


def test_weights_that_do_not_fit() -> None:
    x = flow.ones((5, 40))
    with pytest.raises(TypeError, match=r"\[average\].*\(5, 40\).*\(40,\)"):
        flow.average(x, None, x[0])
    with pytest.raises(ValueError, match=r"\[average\].*\(5,\), got \(40,\)"):
        flow.average(x, 0, x[0])
    with pytest.raises(ValueError, match=r"\[average\].*\(40, 5\), got \(40,\)"):
        flow.average(x, (1, 0), x[0])
    with pytest.raises(np.exceptions.AxisError, match="average"):
        flow.average(x, 2, x[0])
