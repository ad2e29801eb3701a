"""Every row of the op table with CUDA text, on every loop's dtypes: NumPy's values."""

import numpy as np
import pytest
from launching import Device

from kernel_cases import operands, served
from oneflow_lite.ops.table import ROWS, Row
from precision import agrees


def reference(row: Row, loop: tuple[str, ...], inputs: list[np.ndarray]) -> np.ndarray:
    with np.errstate(all="ignore"):
        result: np.ndarray = row.ufunc(*inputs)
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
