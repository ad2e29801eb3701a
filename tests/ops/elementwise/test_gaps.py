"""Elements with gaps between them, that are put beside each other first: NumPy's bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

VIEWS: dict[str, Callable[[Any], Any]] = {
    "one dimension": lambda x: x[0],
    "strided": lambda x: x[:, ::2],
    "reversed": lambda x: x[::-1, ::-3],
    "transposed": lambda x: x.T,
    "one column": lambda x: x[:, 3],
}
SIZES = ((3, 70), (5, 5000), (130, 9), (9000, 4))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_choices(dtype: str, view: str, device: flow.Device, naive: bool) -> None:
    for shape in SIZES:
        a, b, mask = values(shape, dtype, 1), values(shape, dtype, 2), values(shape, "bool", 3)
        x, y, m = (VIEWS[view](array) for array in (a, b, mask))
        s, t, n = (VIEWS[view](flow.tensor(array, device=device)) for array in (a, b, mask))
        together = np.ascontiguousarray(m)
        k = flow.tensor(together, device=device)
        zero = np.zeros((), dtype)
        for given, seen in ((m, n), (together, k)):
            same(np.where(given, x, y), flow.where(seen, s, t))
            same(np.where(given, x, zero), flow.where(seen, s, flow.tensor(zero, device=device)))
            same(np.where(given, zero, y), flow.where(seen, flow.tensor(zero, device=device), t))


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "greater_equal", "logical_or"])
def test_comparisons(name: str, dtype: str, view: str, device: flow.Device, naive: bool) -> None:
    for shape in SIZES:
        a, b = values(shape, dtype, 1), values(shape, dtype, 2)
        b[:, ::3] = a[:, ::3]
        x, y = VIEWS[view](a), VIEWS[view](b)
        s, t = (VIEWS[view](flow.tensor(array, device=device)) for array in (a, b))
        expected, function = getattr(np, name), getattr(flow, name)
        same(expected(x, y), function(s, t))
        same(expected(x, np.ascontiguousarray(y)), function(s, flow.copy(t)))
        same(expected(x, np.inf), function(s, np.inf))
        same(np.isneginf(x), flow.isneginf(s))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_layouts_of_choices_by_numbers(dtype: str, device: flow.Device) -> None:
    """The condition's layout counts for the result, of whichever dtype it is."""
    x = values((40, 30), dtype, 4).T
    t = flow.tensor(x.T, device=device).T
    expected, seen = np.where(x, x, 1), flow.where(t, t, 1)
    same(expected, seen)
    assert expected.strides == seen.strides
    same(np.sinc(x.astype("float32")), flow.sinc(flow.astype(t, "float32")))
