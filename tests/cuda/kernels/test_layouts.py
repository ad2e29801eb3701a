"""Which loop operands get by how they lie, as the machine launches it; and NumPy's results."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.cuda import kernels
from oneflow_lite.cuda.kernels import Request
from oneflow_lite.cuda.kernels.elementwise.elementwise import (
    ROWS_OF_VECTORS,
    STRIDED,
    TILES,
    Options,
)

FLAT = -1


@pytest.fixture
def forms(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The form and the lanes of each kernel that is asked for, the first time in this process.

    It is asked for when a call is issued, and again when the call runs.
    """
    asked: list[tuple[int, int]] = []
    seen: list[Request] = []

    class Recording(kernels._Made):
        def get(self, wanted: tuple[Request, str, str]) -> bytes:
            request = wanted[0]
            options = Options(*request.options)
            if request not in seen:
                seen.append(request)
                asked.append((FLAT if request.flat else options.form, options.lanes))
            return super().get(wanted)

    monkeypatch.setattr(kernels, "_made", Recording())
    return asked


def numbers(dtype: str, *shape: int) -> np.ndarray:
    """Small whole numbers, whose sums are exact in every dtype."""
    return (np.arange(np.prod(shape, dtype=int)) % 11).reshape(shape).astype(dtype)


def on_device(x: np.ndarray) -> Any:
    return flow.tensor(x, device="cuda:0")


def check_sum(x: np.ndarray, y: np.ndarray, key: Any = ...) -> None:
    result = (on_device(x)[key] + on_device(y)).numpy()
    np.testing.assert_array_equal(result, x[key] + y)
    assert result.dtype == (x[key] + y).dtype


# What lies in memory; what is added to it; the key of what is taken of the first one.
ROWS = {
    "a row": ((12, 64), (64,), ...),
    "a column": ((12, 64), (12, 1), ...),
    "a plane": ((5, 12, 64), (5, 1, 64), ...),
    "part of the rows": ((12, 128), (12, 64), np.s_[:, 32:96]),
    "backwards": ((12, 64), (12, 64), np.s_[::-1]),
    "every other row": ((24, 64), (12, 64), np.s_[::2]),
    "row and column": ((1, 64), (12, 1), ...),
}


@pytest.mark.parametrize(("whole", "other", "key"), ROWS.values(), ids=ROWS)
def test_rows_of_vectors(whole: Any, other: Any, key: Any, forms: list[tuple[int, int]]) -> None:
    for dtype in ("int8", "float16", "int32", "float64", "complex64", "bool"):
        check_sum(numbers(dtype, *whole), numbers(dtype, *other), key)
    assert {form for form, _ in forms} <= {ROWS_OF_VECTORS}


def test_vectors_are_of_16_bytes_and_fewer_where_rows_are_short(
    forms: list[tuple[int, int]],
) -> None:
    for width in (16, 24, 20, 6, 5):
        check_sum(numbers("uint8", 9, width), numbers("uint8", width))
    assert forms == [(ROWS_OF_VECTORS, n) for n in (16, 8, 4, 2)] + [(STRIDED, 1)]


def test_vectors_start_where_they_may(forms: list[tuple[int, int]]) -> None:
    check_sum(numbers("uint32", 6, 9), numbers("uint32", 6, 8), np.s_[:, 1:])
    check_sum(numbers("uint32", 6, 12), numbers("uint32", 6, 8), np.s_[:, 2:10])
    assert forms == [(STRIDED, 1), (ROWS_OF_VECTORS, 2)]


def test_narrow_operands_beside_wide_ones(forms: list[tuple[int, int]]) -> None:
    x = numbers("float64", 1003)
    np.testing.assert_array_equal((on_device(x) > 5).numpy(), x > 5)
    y = numbers("int8", 40, 32)
    np.testing.assert_array_equal(on_device(y).astype("complex128").numpy(), y)
    y = y.astype("float32")
    np.testing.assert_array_equal((on_device(y) > 5).numpy(), y > 5)
    assert forms == [(FLAT, 4), (FLAT, 2), (FLAT, 8)]


@pytest.mark.parametrize("shape", [(7, 11, 13), (3, 70001), (65537, 3), (2, 3, 5, 7, 11), (1, 31)])
def test_strides_of_any_dimensions(shape: tuple[int, ...]) -> None:
    """Of every other element: division by numbers of any kind."""
    key = tuple(slice(None, None, 2) for _ in shape)
    x = np.arange(np.prod([2 * n for n in shape])).reshape([2 * n for n in shape])
    t = on_device(x)
    np.testing.assert_array_equal((-t[key]).numpy(), -x[key])
    t[key] = 7
    x[key] = 7
    np.testing.assert_array_equal(t.numpy(), x)


@pytest.mark.parametrize("count", [8, 9, 12, 16])
def test_more_dimensions_than_most(count: int) -> None:
    """No two of which step together."""
    x = np.arange(3 * 2 ** (count - 1)).reshape((3,) + (2,) * (count - 1))
    order = np.random.default_rng(count).permutation(count).tolist()
    t, view = on_device(x), np.ascontiguousarray(x.transpose(order))
    moved = flow.permute_dims(t, order)
    np.testing.assert_array_equal((moved + on_device(view)).numpy(), 2 * view)
    np.testing.assert_array_equal(moved.copy().numpy(), view)
    moved[...] = 5
    np.testing.assert_array_equal(t.numpy(), np.full_like(x, 5))
    assert not {"add", "copy", "full"} & set(flow.cuda.host_operations())


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64", "complex128"])
def test_transposed_copies(dtype: str) -> None:
    for shape in ((16, 16), (32, 32), (33, 65), (100, 70), (17, 200)):
        x = numbers(dtype, *shape)
        np.testing.assert_array_equal(on_device(x).T.copy().numpy(), x.T)
    x = numbers(dtype, 18, 40, 50)
    for order in permutations(range(3)):
        moved = flow.permute_dims(on_device(x), order)
        np.testing.assert_array_equal(moved.copy().numpy(), x.transpose(order))


def test_transposed_copies_are_made_of_tiles(forms: list[tuple[int, int]]) -> None:
    x = numbers("uint16", 40, 50)
    t = flow.tensor(x, device="cuda:0")
    np.testing.assert_array_equal(flow.astype(t.T, "int16").numpy(), x.T.astype("int16"))
    target = flow.zeros((50, 64), dtype="uint64", device="cuda:0")
    target[:, 3:43] = t.T
    np.testing.assert_array_equal(target.numpy()[:, 3:43], x.T)
    assert target.numpy()[:, 43:].sum() == target.numpy()[:, :3].sum() == 0
    assert [form for form, _ in forms if form != FLAT] == [TILES, TILES]


def test_short_or_broadcast_rows_are_no_tiles(forms: list[tuple[int, int]]) -> None:
    x = numbers("uint16", 400, 3)
    np.testing.assert_array_equal(on_device(x).T.copy().numpy(), x.T)
    y = flow.broadcast_to(on_device(x)[:, :1], (400, 300))
    np.testing.assert_array_equal(y.T.copy().numpy(), np.broadcast_to(x[:, :1], (400, 300)).T)
    assert TILES not in {form for form, _ in forms}


@pytest.mark.parametrize("size", [200, 300_000])
def test_operands_that_overlap_the_result(size: int) -> None:
    """Threads take elements in no order, where a host's loop may read ahead of what it writes."""
    for target, source in (("[:-1]", "[1:]"), ("[1:]", "[:-1]"), ("[::2]", "[: size // 2]")):
        x = np.arange(size)
        names = {"x": x, "t": on_device(x), "size": size}
        exec(f"x{target} += x{source}; t{target} += t{source}", names)
        np.testing.assert_array_equal(names["t"].numpy(), x)
