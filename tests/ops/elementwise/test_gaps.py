"""Elements with gaps between them, or that are repeated: NumPy's bits, whether they are put beside
each other first or not.
"""

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


@pytest.mark.parametrize("dtype", DTYPES)
def test_choices_of_narrow_rows(dtype: str, device: flow.Device, naive: bool) -> None:
    views: tuple[Callable[[Any], Any], ...] = (
        lambda x: x,
        lambda x: x[..., :1],
        lambda x: x[..., :1, :],
        lambda x: x[:1, :1, :1],
        lambda x: x[::-1, :, :1],
        lambda x: x[..., ::-1],
    )
    for shape in ((1, 3000, 2), (3, 700, 7), (40, 50, 8), (2, 30, 40), (2, 90, 63), (5, 4, 64)):
        a, b, mask = values(shape, dtype, 1), values(shape, dtype, 2), values(shape, "bool", 3)
        s, t, n = (flow.tensor(array, device=device) for array in (a, b, mask))
        for k, first in enumerate(views):
            for j, second in enumerate(views):
                x, y, m = second(a), first(b), views[(k + 2 * j) % len(views)](mask)
                u, v, c = second(s), first(t), views[(k + 2 * j) % len(views)](n)
                same(np.where(m, x, y), flow.where(c, u, v))


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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name",
    [
        *("less_equal", "not_equal", "logical_and", "logical_xor", "bitwise_or", "multiply"),
        *("subtract", "maximum", "floor_divide", "remainder", "hypot", "bitwise_left_shift"),
    ],
)
def test_long_rows_that_are_repeated(
    name: str, dtype: str, device: flow.Device, naive: bool
) -> None:
    """Rows from 128 elements on are computed where they lie, if every loop gives the same bits."""
    expected, function = getattr(np, name), getattr(flow, name)
    for rows, columns in ((3, 127), (3, 128), (5, 1732)):
        a, b = values((rows, 1), dtype, 1), values((1, columns), dtype, 2)
        if "shift" in name:
            b = np.asarray(b % 5 if b.dtype.kind in "iu" else b).astype(dtype)
            a = np.asarray(a % 5 if a.dtype.kind in "iu" else a).astype(dtype)
        b[:, ::3] = a[0, 0]
        for x, y in ((a, b), (b, a), (b, b[:, :1])):
            s, t = flow.tensor(x, device=device), flow.tensor(y, device=device)
            try:
                wanted = expected(x, y)
            except TypeError:
                with pytest.raises(TypeError, match=name):
                    function(s, t)
                continue
            same(wanted, function(s, t))
            spread = flow.zeros((*wanted.shape, 2), dtype=str(wanted.dtype), device=device)[..., 1]
            function(s, t, out=spread)
            same(wanted, flow.copy(spread))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_layouts_of_choices_by_numbers(dtype: str, device: flow.Device) -> None:
    """The condition's layout counts for the result, of whichever dtype it is."""
    x = values((40, 30), dtype, 4).T
    t = flow.tensor(x.T, device=device).T
    expected, seen = np.where(x, x, 1), flow.where(t, t, 1)
    same(expected, seen)
    assert expected.strides == seen.strides
    same(np.sinc(x.astype("float32")), flow.sinc(flow.astype(t, "float32")))


@pytest.mark.parametrize("dtype", [*DTYPES, "int16 beside float64"])
@pytest.mark.parametrize(
    "shape", [(9000, 2), (4000, 3), (700, 33), (90, 127), (3, 70, 9), (2, 9, 1)]
)
def test_columns_beside_rows(
    shape: tuple[int, ...], dtype: str, device: flow.Device, naive: bool
) -> None:
    """Each item of a column is repeated for a row, of any length; so are whole rows."""
    other, one = (dtype.split(" beside ") * 2)[:2]
    x = values(shape, one, 1)
    wide = values((*shape[:-1], 5), other, 2)
    t, w = flow.tensor(x, device=device), flow.tensor(wide, device=device)
    for column in (np.s_[..., :1], np.s_[..., 2:3], np.s_[::-1, ..., 4:3:-1]):
        same(x + wide[column], t + w[column])
        same(wide[column] * x, w[column] * t)
    if len(shape) == 3:
        same(x + wide[:, :1, :1], t + w[:, :1, :1])
        same(x + wide[:1, :, :1], t + w[:1, :, :1])
        same(wide[:, :, :1] + x[:, :1], w[:, :, :1] + t[:, :1])
    x += x[..., :1].copy()
    t += t[..., :1]
    same(x, t)


BACKWARDS: dict[str, Callable[[Any], Any]] = {
    "reversed": lambda x: x[::-1],
    "every other": lambda x: x[::-2],
    "both axes": lambda x: x.reshape(40, 50)[::-1, ::-1],
    "transposed": lambda x: x.reshape(40, 50)[::-1, ::-1].T,
    "one axis": lambda x: x.reshape(40, 50)[:, ::-1],
}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", BACKWARDS)
def test_written_backwards(name: str, dtype: str, naive: bool) -> None:
    """NumPy goes forward where all operands go back: some loops round by the sign of steps."""
    view = BACKWARDS[name]
    for ufunc in (np.exp, np.log, np.log10, np.cbrt, np.power, np.arctan2, np.subtract):
        x, y, z = (values((2000,), dtype, seed) for seed in (1, 2, 3))
        s, t, u = (flow.tensor(a) for a in (x, y, z))
        with np.errstate(all="ignore"):
            arrays, tensors = (x, y, z), (s, t, u)
            for first, second, out in ((0, 1, 2), (0, 1, 0), (1, 2, 2)):
                for given in (arrays, tensors):
                    operands = (given[first], given[second])[: ufunc.nin]
                    ufunc(*map(view, operands), out=view(given[out]))
                same(arrays[out], tensors[out])
            if ufunc.nin == 2:
                ufunc(view(x), 2.5, out=view(y))
                ufunc(view(s), 2.5, out=view(t))
                same(y, t)
