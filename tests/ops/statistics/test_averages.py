"""Averages of no elements."""

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
