"""Products with arrays of one element: their zeros, infinities and NaN are NumPy's."""

import itertools
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

DTYPES = ["int8", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (1,), (2,), (1, 1), (2, 1), (1, 2), (2, 2), (0, 1), (1, 0), (1, 1, 1), (2, 1, 1)]
FINITE = [0.0, -0.0, 1.0, -1.0]


def drawn(rng: Any, values: list[float], shape: tuple[int, ...], dtype: str) -> Any:
    x = np.asarray(rng.choice(values, size=shape)).astype(dtype)
    return (
        x + 1j * rng.choice(values, size=shape).astype(x.real.dtype) if x.dtype.kind == "c" else x
    )


def words(x: Any) -> list[str]:
    """The numbers with the signs of zeros, where all NaNs are one."""
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
    return [str(number).replace("-nan", "nan") for part in parts for number in part.ravel()]


def check(calls: dict[str, Any], a: Any, b: Any) -> None:
    for name, call in calls.items():
        with np.errstate(all="ignore"):
            try:
                expected = np.asarray(call(np, a, b))
            except ValueError:
                with pytest.raises(ValueError, match=r"\["):
                    call(flow, flow.tensor(a), flow.tensor(b))
                continue
        seen = call(flow, flow.tensor(a), flow.tensor(b)).numpy()
        what = (name, a, b)
        assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape), what
        assert words(seen) == words(expected), what


@pytest.mark.parametrize("dtype", DTYPES)
def test_zeros_of_products(dtype: str) -> None:
    rng = np.random.default_rng(1)
    calls = {
        "dot": lambda xp, a, b: xp.dot(a, b),
        "inner": lambda xp, a, b: xp.inner(a, b),
        "outer products": lambda xp, a, b: xp.tensordot(a, b, 0),
    }
    for left, right in itertools.product(SHAPES, SHAPES):
        for _ in range(4):
            a, b = drawn(rng, FINITE, left, dtype), drawn(rng, FINITE, right, dtype)
            check(calls, a, b)
            if left and right and left[-1] == right[0]:
                check({"tensordot": lambda xp, a, b: xp.tensordot(a, b, 1)}, a, b)
            if left == right:
                check({"vdot": lambda xp, a, b: xp.vdot(a, b)}, a, b)
            if left[-1:] == right[:1] and max(len(left), len(right)) == 2:
                check({"multi_dot": lambda xp, a, b: xp.linalg.multi_dot([a, b])}, a, b)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_a_factor_of_zero_beside_infinities(dtype: str) -> None:
    row = np.array([[np.inf, np.nan, 0.0, -1.0]]).astype(dtype)
    for factor in (0.0, -0.0, 2.0):
        for single in (np.array(factor, dtype), np.array([factor], dtype)):
            check({"dot": lambda xp, a, b: xp.dot(a, b)}, single, row)
            check({"dot": lambda xp, a, b: xp.dot(b, a)}, single, row.T.copy())


def test_products_of_two_without_dimensions() -> None:
    for a, b in ((np.array(2.0), np.ones(3)), (np.ones((1, 1, 1)), np.ones((1, 2)))):
        check({"multi_dot": lambda xp, a, b: xp.linalg.multi_dot([a, b])}, a, b)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sequences_of_one_element(name: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    values = FINITE if dtype == "int8" else [*FINITE, 2.5, np.inf, -np.inf, np.nan]
    for n, m in itertools.product((1, 2, 5, 13), repeat=2):
        for mode in ("full", "same", "valid"):
            a, b = drawn(rng, values, (n,), dtype), drawn(rng, values, (m,), dtype)
            check({name: lambda xp, a, b, mode=mode: getattr(xp, name)(a, b, mode)}, a, b)
