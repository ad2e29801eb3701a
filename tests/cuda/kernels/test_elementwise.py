"""Every row of the op table with CUDA text, on every loop's dtypes: NumPy's values."""

import numpy as np
import pytest

from oneflow_lite.ops.table import PARTS, ROWS as TABLE, Row
from tests.support.kernel_cases import in_bfloat16, operands, served
from tests.support.launching import Device
from tests.support.precision import agrees, is_exact

ROWS = TABLE | PARTS


def reference(row: Row, loop: tuple[str, ...], inputs: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        results = row.ufunc(*inputs)
    result: np.ndarray = results[row.result] if row.ufunc.nout > 1 else results
    assert result.dtype.name == loop[-1]
    return result


def kept(row: Row, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """Without what has no value: negative integer powers."""
    if inputs[0].dtype.kind in "iu" and row.name == "pow":
        keep = inputs[-1] >= 0
        return [x[keep] for x in inputs]
    return inputs


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
        bad = ~agrees(name, inputs, expected, result)
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
        x, y = expected.astype(np.float32), result.astype(np.float32)
        good = ((x == y) & (np.signbit(x) == np.signbit(y))) | (np.isnan(x) & np.isnan(y))
        if not is_exact(name, *request.loop):  # rounded once, of what is nearly the same
            good |= np.isclose(
                x, y, rtol=2.0**-7, atol=1e-6 if name.startswith("logadd") else 1e-40
            )
        bad = ~good
        places = np.flatnonzero(bad)[:4]
        assert not bad.any(), [([x[i] for x in inputs], result[i], expected[i]) for i in places]
