"""Special values: NumPy's, or the standard's where a flag asks for it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

inf, nan = np.inf, np.nan

# dividend, divisor, NumPy's value, the standard's
DIVISIONS = [
    (inf, 2.0, nan, inf),
    (inf, -2.0, nan, -inf),
    (-inf, 2.0, nan, -inf),
    (-inf, -2.0, nan, inf),
    (2.0, -inf, -1.0, -0.0),
    (-2.0, inf, -1.0, -0.0),
    (2.0, inf, 0.0, 0.0),
    (inf, inf, nan, nan),
    (inf, 0.0, inf, inf),
    (0.0, -inf, -0.0, -0.0),
    (7.0, 2.0, 3.0, 3.0),
]
# The standard's.
EXPM1 = [
    (complex(0.0, 0.0), complex(0.0, 0.0)),
    (complex(-0.0, 0.0), complex(0.0, 0.0)),
    (complex(inf, 0.0), complex(inf, 0.0)),
    (complex(inf, -0.0), complex(inf, -0.0)),
    (complex(-inf, inf), complex(-1.0, 0.0)),
    (complex(-inf, nan), complex(-1.0, 0.0)),
    (complex(inf, inf), complex(inf, nan)),
    (complex(inf, nan), complex(inf, nan)),
    (complex(nan, 0.0), complex(nan, 0.0)),
]
TANH = [
    (complex(inf, 2.0), complex(1.0, 0.0)),
    (complex(inf, -2.0), complex(1.0, -0.0)),
    (complex(-inf, 2.0), complex(-1.0, 0.0)),
]


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Equal with the signs of zeros; a NaN is a NaN."""
    if got.dtype.kind == "c":
        return same(got.real.copy(), wanted.real) and same(got.imag.copy(), wanted.imag)
    numbers = ~np.isnan(wanted)
    return bool(
        (np.isnan(got) == np.isnan(wanted)).all()
        and (got[numbers] == wanted[numbers]).all()
        and (np.signbit(got[numbers]) == np.signbit(wanted[numbers])).all()
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floor_division(device: flow.Device, dtype: str) -> None:
    columns = np.array(DIVISIONS, dtype).repeat(31, axis=0)  # several blocks, and a rest
    a, b, numpys, standards = columns.T
    with flow.flags(array_api="2024.12"):
        for x, y in ((a, b), (a.copy(), b.copy()), (a[::-2], b[::-2])):
            step = 1 if len(x) == len(a) else -2
            got = flow.tensor(x, device=device) // flow.tensor(y, device=device)
            assert same(got.numpy(), standards[::step])
        t = flow.tensor(a, device=device)
        t //= flow.tensor(b, device=device)
        assert same(t.numpy(), standards)
        assert same((flow.tensor(a[:31], device=device) // 2.0).numpy(), standards[:31])
    assert same(flow.floor_divide(flow.tensor(a), flow.tensor(b)).numpy(), numpys)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(("name", "rows"), [("expm1", EXPM1), ("tanh", TANH)])
def test_complex_functions(
    device: flow.Device, name: str, rows: list[tuple[complex, complex]], dtype: str
) -> None:
    function: Callable[..., Any] = getattr(flow, name)
    x, wanted = (np.array(column, dtype).repeat(29) for column in zip(*rows, strict=True))
    ordinary = np.array([0.5 - 2j, -3 + 0.25j], dtype)
    with flow.flags(array_api="2025.12"):
        assert same(function(flow.tensor(x, device=device)).numpy(), wanted)
        assert same(function(flow.tensor(x[::-3], device=device)).numpy(), wanted[::-3])
        t = flow.tensor(x, device=device)
        assert same(function(t, out=t).numpy(), wanted)
        got = function(flow.tensor(ordinary, device=device)).numpy()
        assert got.tobytes() == getattr(np, name)(ordinary).tobytes()
    with np.errstate(all="ignore"):
        numpys = getattr(np, name)(x)
    assert same(function(flow.tensor(x, device=device)).numpy(), numpys)


def test_reductions_divide_one_by_one() -> None:
    x = flow.tensor(np.array([inf, 2.0, 3.0]))
    with flow.flags(array_api="2024.12"):
        assert np.floor_divide.reduce(x).item() == inf
    assert np.isnan(np.floor_divide.reduce(x).item())
