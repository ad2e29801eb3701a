"""Copies: of rows a few bytes behind their source, of transposed arrays, of few rows."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same, values


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("nbytes", [2047, 2048, 2049, 4096 + 48, 70_001])
def test_rows_at_small_distances(dtype: type, nbytes: int) -> None:
    count = max(1, nbytes // np.dtype(dtype).itemsize)
    bits = np.random.default_rng(7).integers(0, 2, count)
    source = flow.tensor(bits.astype(dtype))
    target = flow.zeros(count + 70, dtype=dtype)
    for behind in (0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 65):
        target[...] = 2
        target[behind : behind + count] = source
        expected = np.full(count + 70, 2, dtype)
        expected[behind : behind + count] = bits
        assert target.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float32", "int64", "complex128"])
def test_transposed_copies_of_all_widths(dtype: str, device: flow.Device) -> None:
    """Wide enough for blocks, with edges; a short last axis lies within the lines across."""
    shapes = ((300, 331), (257, 16), (316, 158, 2), (270, 21, 2), (300, 7, 3), (2, 290, 33, 2))
    for shape in shapes:
        x = values(shape, dtype, 7)
        t = flow.tensor(x, device=device)
        same(np.ascontiguousarray(x.T), flow.ascontiguousarray(t.T))
        same(x.T.reshape(-1), flow.reshape(t.T, -1))
        same(x[::-1].T.copy(), t[::-1].T.copy())
        same(x[..., ::-1].T.copy(), t[..., ::-1].T.copy())


@pytest.mark.parametrize("dtype", ["bool", "float16", "float32", "int64", "complex128"])
def test_small_transposed_copies(dtype: str, device: flow.Device, naive: bool) -> None:
    """Around the sides of blocks, and with an axis that is short; into gaps, too."""
    sides = (1, 2, 3, 4, 7, 8, 9, 12, 15, 16, 17, 23, 33, 100, 700)
    for n, m in [(a, b) for a in sides for b in sides if a * b < 3000]:
        x = values((n, m), dtype, n)
        t = flow.tensor(x, device=device)
        same(x.T.copy(), t.T.copy(), f"{n} x {m}")
        same(x[::-1].T.copy(), t[::-1].T.copy(), f"{n} x {m}")
        own, seen = np.zeros((m, 2 * n), dtype), flow.zeros((m, 2 * n), dtype=dtype, device=device)
        own[:, ::2], seen[:, ::2] = x.T, t.T
        own[:, n:], seen[:, n:] = x.T, t.T
        same(own, seen, f"{n} x {m}")


@pytest.mark.parametrize("dtype", ["bool", "float32", "complex128"])
def test_copies_of_few_rows(dtype: str, device: flow.Device) -> None:
    """Their own order is NumPy's too, whether rows are dense, repeated or empty."""
    x = values((4, 5, 40), dtype, 3)
    t = flow.tensor(x, device=device)
    for key in (np.s_[:, ::2], np.s_[::-1, :, 3:], np.s_[..., ::3], np.s_[:, :2, :0], np.s_[1:, 0]):
        same(np.array(x[key]), flow.array(t[key]))
        same(np.array(x[key].T), flow.array(t[key].T))
    rows = np.broadcast_to(x[0, 0], (60, 40))
    same(np.array(rows), flow.array(flow.broadcast_to(t[0, 0], (60, 40))))


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
def test_lines_of_a_few_bytes(dtype: str, device: flow.Device, naive: bool) -> None:
    """From views, into views that keep what lies between, over each other, and as operands."""
    for columns in (*range(1, 20), *range(30, 35), 63, 64, 65, 127, 128, 129):
        x = values((2, 23, columns + 3), dtype, columns)
        t = flow.tensor(x, device=device)
        for rows in (np.s_[:, :], np.s_[:, ::-3], np.s_[1, ::2], np.s_[:, 4:5]):
            view = (*rows, slice(2, columns + 2))
            same(x[view].copy(), flow.copy(t[view]), f"{columns}")
            same(x[view] + x[view], t[view] + t[view], f"{columns}")
        same(np.tile(x[:, :, :columns], (1, 1, 2)), flow.tile(t[:, :, :columns], (1, 1, 2)))
        own, seen = x.copy(), flow.copy(t)
        own[:, ::2, 1 : columns + 1] = x[:, 1::2, :columns][:, :1]
        seen[:, ::2, 1 : columns + 1] = t[:, 1::2, :columns][:, :1]
        same(own, seen, f"{columns}")
        own[:, :, 1:], seen[:, :, 1:] = own[:, :, :-1].copy(), seen[:, :, :-1]
        same(own, seen, f"{columns}")
        own[:, 1:], seen[:, 1:] = own[:, :-1].copy(), seen[:, :-1]
        same(own, seen, f"{columns}")
