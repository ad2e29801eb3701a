"""Gradients by central differences, in float64: what flow.grad is compared with."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import oneflow_lite as flow

STEP = 1e-5


def differences(
    function: Callable[..., Any], arrays: Sequence[np.ndarray], k: int, step: float = STEP
) -> np.ndarray:
    """Return the gradient of a function of tensors to a number by its argument k."""
    found = np.zeros(arrays[k].shape)
    for index in np.ndindex(arrays[k].shape):
        values = []
        for sign in (1, -1):
            moved = [x.copy() for x in arrays]
            moved[k][index] += sign * step
            values.append(function(*map(flow.tensor, moved)).item())
        found[index] = (values[0] - values[1]) / (2 * step)
    return found


def assert_gradients(
    function: Callable[..., Any], *arrays: np.ndarray, rtol: float = 1e-6, atol: float = 1e-8
) -> None:
    """Compare all gradients of a function of tensors to a number, eagerly called and jitted."""
    places = tuple(range(len(arrays)))
    given = [flow.tensor(x) for x in arrays]
    found = flow.grad(function, places)(*given)
    jitted = flow.jit(flow.value_and_grad(function, places))(*given)
    assert jitted[0].item() == function(*given).item()
    for k in places:
        expected = differences(function, arrays, k)
        assert found[k].shape == arrays[k].shape
        assert found[k].dtype == arrays[k].dtype
        np.testing.assert_allclose(found[k].numpy(), expected, rtol=rtol, atol=atol)
        assert found[k].numpy().tobytes() == jitted[1][k].numpy().tobytes()
