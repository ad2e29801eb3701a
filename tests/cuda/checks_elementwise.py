"""Every row of the op table with CUDA text, on every loop's dtypes: NumPy's values."""

import numpy as np
import pytest
from launching import Device

from kernel_cases import in_bfloat16, operands, served
from oneflow_lite.ops.table import ROWS, Row

# Rows whose values IEEE 754 does not say: units in the last place that libraries may differ by.
# Complex division and products are made with multiply-add by some of NumPy's loops.
ULPS = {
    **dict.fromkeys(("exp", "exp2", "expm1", "log", "log1p", "log2", "log10"), 4),
    **dict.fromkeys(("logaddexp", "logaddexp2", "pow", "float_power", "cbrt", "hypot"), 4),
    **dict.fromkeys(("sin", "cos", "tan", "asin", "acos", "atan", "atan2"), 4),
    **dict.fromkeys(("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"), 4),
}
COMPLEX_ULPS = {
    **{name: 2 * ulps for name, ulps in ULPS.items()},
    **dict.fromkeys(("abs", "sqrt", "multiply", "divide", "reciprocal", "square", "sign"), 4),
}
# Which of -0 and 0 wins is open, in NumPy too.
ANY_ZERO = {"maximum", "minimum", "fmax", "fmin", "clip"}


def reference(row: Row, loop: tuple[str, ...], inputs: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        result: np.ndarray = row.ufunc(*inputs)
    assert result.dtype.name == loop[-1]
    return result


def kept(row: Row, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Without what has no value: negative integer powers, the integer 1 / 0, infinite powers."""
    if inputs[0].dtype.kind in "iu" and row.name in ("pow", "reciprocal"):
        keep = inputs[-1] >= 0 if row.name == "pow" else inputs[0] != 0
        return [x[keep] for x in inputs]
    if inputs[0].dtype.kind == "c" and row.name in ("pow", "float_power"):
        keep = np.isfinite(inputs[0]) & np.isfinite(inputs[1])
        return [x[keep] for x in inputs]
    return inputs


def wrong_places(result: np.ndarray, expected: np.ndarray, ulps: int) -> np.ndarray:
    """Where results have other bits, or are too far off; NaN is NaN."""
    if result.dtype.kind == "c" and ulps:
        return wrong_complex(result, expected, ulps)
    same = (result == expected) & (sign_of(result) == sign_of(expected))
    if ulps:
        same |= is_near(result, expected, ulps) & (expected != 0)
    return ~(same | (np.isnan(result) & np.isnan(expected)))


def is_near(result: np.ndarray, expected: np.ndarray, ulps: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.abs(result - expected) <= ulps * np.spacing(np.abs(expected))


def sign_of(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "c":
        return np.signbit(values.real) * 2 + np.signbit(values.imag)
    return np.signbit(values) if values.dtype.kind in "fV" else np.zeros(values.shape, bool)


def wrong_complex(result: np.ndarray, expected: np.ndarray, ulps: int) -> np.ndarray:
    """By the distance, in units of the modulus; what is not finite part by part.

    Beside NaN, an infinite part has any sign.
    """
    same = np.ones(result.shape, bool)
    has_nan = np.isnan(expected)
    for part, wanted in ((result.real, expected.real), (result.imag, expected.imag)):
        equal = (part == wanted) | (has_nan & (np.abs(part) == np.abs(wanted)))
        same &= equal | is_near(part, wanted, ulps) | (np.isnan(part) & np.isnan(wanted))
    finite = np.isfinite(result) & np.isfinite(expected)
    return ~(same | (finite & is_near(result, expected, ulps)))


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if served(row)])
def test_row(device: Device, name: str) -> None:
    row = ROWS[name]
    requests = served(row)
    wrong = []
    for request, kernel in zip(requests, device.compile(requests), strict=True):
        inputs = kept(row, operands(request.loop))
        expected = reference(row, request.loop, inputs)
        result = np.empty_like(expected)
        device.run(kernel, inputs, result)
        is_complex = any(dtype.startswith("complex") for dtype in request.loop)
        ulps = (COMPLEX_ULPS if is_complex else ULPS).get(name, 0)
        bad = wrong_places(result, expected, ulps)
        if name in ANY_ZERO:
            bad &= result != expected
        wrong += [
            f"{name}{request.loop}: {[x[i] for x in inputs]} -> {result[i]!r}, not {expected[i]!r}"
            for i in np.flatnonzero(bad)[:4]
        ]
        if bad.any():
            wrong.append(f"{name}{request.loop}: {bad.sum()} of {bad.size}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if in_bfloat16(row)])
def test_row_in_bfloat16(device: Device, name: str) -> None:
    """The result of float32, rounded once."""
    for request, kernel in zip(
        requests := in_bfloat16(ROWS[name]), device.compile(requests), strict=True
    ):
        inputs = operands(request.dtypes)
        wide = [x.astype(loop) for x, loop in zip(inputs, request.loop, strict=False)]
        expected = reference(ROWS[name], request.loop, wide).astype(request.dtypes[-1])
        result = np.empty_like(expected)
        device.run(kernel, inputs, result)
        bad = wrong_places(result, expected, 1 if name in ULPS else 0)
        if name in ANY_ZERO:
            bad &= result != expected
        places = np.flatnonzero(bad)[:4]
        assert not bad.any(), [([x[i] for x in inputs], result[i], expected[i]) for i in places]
