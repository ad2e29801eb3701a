"""Indexing by arrays and masks, by kernels of the device: NumPy's values, nothing on the host."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
import sim
from tests.support.oracle import DTYPES, same, values

CUDA = "cuda:0"


@pytest.fixture(autouse=True)
def host_operations() -> Iterator[set[str]]:
    """What may run on the host: nothing, but for what a test adds."""
    allowed = set(flow.cuda.host_operations())
    yield allowed
    assert set(flow.cuda.host_operations()) <= allowed


def on_device(x: Any) -> flow.Tensor:
    return flow.tensor(x, device=CUDA)


def placed(x: np.ndarray, key: Any) -> tuple[np.ndarray, flow.Tensor]:
    """A view, and the same of a tensor."""
    return x[key], on_device(x)[key]


def random_places(shape: tuple[int, ...], size: int, seed: int, dtype: str = "int64") -> np.ndarray:
    low = 0 if dtype.startswith("u") else -size
    return np.random.default_rng(seed).integers(low, size, shape).astype(dtype)


# --- gather


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_and_rows_of_all_sizes(dtype: str) -> None:
    """Words of 1 to 16 bytes: by the size of an element, of a row, and where a view begins."""
    rows = random_places((23,), 9, 1)
    for columns in (1, 2, 3, 4, 7, 8, 16, 33, 64):
        x = values((9, columns + 2), dtype, columns)
        for key in ((slice(None), slice(k, k + columns)) for k in range(3)):
            expected, t = placed(x, key)
            same(expected[rows], t[on_device(rows)])
        same(x[:, 0][rows], on_device(x)[:, 0][on_device(rows)])
        dense = np.ascontiguousarray(x[:, :columns])
        same(dense[rows], on_device(dense)[on_device(rows)])


VIEWS: list[Any] = [
    (slice(None),),
    (slice(None, None, -1),),
    (slice(1, None, 2), ..., slice(None, None, -1)),
    (..., slice(3, 4)),
]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint64"])
def test_indices_of_any_layout(dtype: str) -> None:
    x = values((11, 6, 5), "float32", 2)
    table = random_places((6, 8), 6, 3, dtype)
    for view in VIEWS:
        expected, t = placed(x, view)
        size = expected.shape[0]
        for index in (table % size, table[::-1, ::2] % size, table.T % size, table[1] % size):
            keys = [(index,), (slice(None), index % expected.shape[1]), (..., index * 0)]
            for key in keys:
                mine = tuple(on_device(k) if k is index else k for k in key)
                mine = tuple(on_device(k) if isinstance(k, np.ndarray) else k for k in mine)
                same(expected[key], t[mine])
        whole, part = placed(table, (slice(None, None, -1), slice(1, None, 3)))
        same(expected[whole % size], t[part % size])


@pytest.mark.parametrize("arrays", range(1, 9))
def test_several_index_arrays(arrays: int) -> None:
    x = values((3, 2, 4, 2, 3, 2, 2, 3), "int16", 4)
    full, thin = random_places((4, 5), 2, 5), random_places((5,), 2, 6, "uint8")
    for view in (x, x[::-1], x.T, x[..., ::-1]):
        t = on_device(view)
        for key in (
            tuple(full if k % 2 else thin for k in range(arrays)),
            (*(full[:, :1] if k % 2 else thin for k in range(arrays - 1)), full),
        ):
            same(view[key], t[tuple(on_device(k) for k in key)])
        last = (..., *(thin if k % 2 else full for k in range(arrays)))
        same(view[last], t[(..., *map(on_device, last[1:]))])


@pytest.mark.parametrize("arrays", [10, 32])
def test_an_index_array_for_each_of_many_axes(arrays: int) -> None:
    x = values((2,) * 10 + (1,) * (arrays - 10), "float64", 7)
    key = tuple(random_places((40,), size, k) for k, size in enumerate(x.shape))
    on_both = tuple(map(on_device, key))
    t = on_device(x)
    same(x[key], t[on_both])
    x[key], t[on_both] = 5, 5
    same(x, t)
    given = values((40,), "float64", 8)
    x[key], t[on_both] = given, on_device(given)
    same(x, t)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_what_is_out_of_range_counts_on_or_is_the_nearest(mode: Any) -> None:
    x = values((7, 3), "int32", 8)
    near = np.array([-15, -8, -7, -1, 0, 6, 7, 8, 14])
    same(np.take(x, near, 0, mode=mode), flow.take(on_device(x), on_device(near), 0, mode=mode))
    far = np.array([2**62, -(2**62), 2**63 - 1, -(2**63)])  # NumPy counts on step by step
    places = far % 7 if mode == "wrap" else np.clip(far, 0, 6)
    same(x[places], flow.take(on_device(x), on_device(far), 0, mode=mode))
    for size in (near.size, 4, 1):
        expected, t = x.copy(), on_device(x)
        np.put(expected, near, np.arange(size), mode=mode)
        flow.put(t, on_device(near), np.arange(size), mode=mode)
        same(expected, t)


@pytest.mark.parametrize("axis", [0, 1, 2, None])
def test_along_an_axis(axis: int | None) -> None:
    x = values((5, 6, 7), "float64", 9)
    order = np.argsort(x, axis=axis)
    same(np.take_along_axis(x, order, axis), flow.take_along_axis(on_device(x), order, axis))
    if axis is None:
        return
    some = order.take([2, 0], axis)
    for view, other in ((x, some), (x[::-1, :, ::-1], some), (x.transpose(0, 1, 2)[:, ::-1], some)):
        expected, t = view.copy(), on_device(view)
        same(np.take_along_axis(view, other, axis), flow.take_along_axis(t, other, axis))
        np.put_along_axis(expected, other, other, axis)
        flow.put_along_axis(t, on_device(other), on_device(other), axis)
        same(expected, t)


# --- scatter


def both(x: np.ndarray, key: Any, value: Any) -> None:
    """Written twice, as the second result must be that of the first."""
    expected = x.copy()  # NumPy goes through index arrays in the order of their memory
    expected[tuple(k.copy() if isinstance(k, np.ndarray) else k for k in key)] = value
    mine = tuple(on_device(k) if isinstance(k, np.ndarray) else k for k in key)
    for _ in range(2):
        t = on_device(x)
        t[mine] = on_device(value) if isinstance(value, np.ndarray) else value
        same(expected, t)


@pytest.mark.parametrize("size", [1, 5, 400, 3000, 10**5])
def test_the_last_of_many_writes_stays(size: int) -> None:
    """With a table of all positions, and with one of fewer slots."""
    for count in (1, 2, 1000, 5000):
        index = random_places((count,), size, count)
        both(np.zeros(size), (index,), np.arange(1.0, count + 1))
        both(np.zeros((size, 3), "int16"), (index,), values((count, 3), "int16", 1))
        pair = index.reshape(-1, 2) if count % 2 == 0 else index[:, None]
        number = np.arange(count).reshape(pair.shape)
        both(np.zeros(size, int), (pair.T,), number.T)
        both(np.zeros(size, int), (pair[::-1],), number)
    same_place = np.full(4000, size - 1)
    both(np.zeros(size), (same_place,), np.arange(4000.0))


def test_the_last_of_several_arrays_stays() -> None:
    for shape in ((3, 4, 5), (40, 30, 50)):
        x = np.zeros(shape, "float32")
        first, second = random_places((30, 1), 3, 1), random_places((40,), 4, 2, "int8")
        value = values((30, 40, shape[2]), "float32", 3)
        both(x, (first, second), value)
        both(x, (first, second), value[:1])
        both(x, (first, second), value[:, :1])
        both(x, (first, second), value[0, 0])
        both(x, (first, slice(None), second), values((30, 40, shape[1]), "float32", 4))
        both(x, (slice(None), second), values((shape[0], 40, shape[2]), "float32", 5))
        both(x.T, (..., second, first), values((shape[2], 30, 40), "float32", 6))
        both(x, (first, second), 7)


def test_more_places_than_claim_together() -> None:
    count = 2**22 + 1000
    index = np.random.default_rng(1).integers(0, 3 * 10**6, count)
    index[-500:] = index[:500]  # the last writes of all, to places of the first
    value = np.arange(count, dtype="int32")
    both(np.zeros(3 * 10**6, "int32"), (index,), value)
    both(np.zeros((2, 10**7), "int32"), (1, index), value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scalars_and_rows_of_all_sizes(dtype: str) -> None:
    rows = random_places((6,), 9, 1)
    for columns in (1, 3, 4, 16):
        for shift in (0, 1):
            x = values((9, columns + 1), dtype, 2)
            expected, t = x.copy(), on_device(x)
            part, mine = (y[:, shift : shift + columns] for y in (expected, t))
            part[rows] = x[0, 0]
            mine[on_device(rows)] = x[0, 0]
            same(expected, t)
            part[rows] = value = values((6, columns), dtype, 3)
            mine[on_device(rows)] = on_device(value)
            same(expected, t)


# --- masks

SHARES = (0.0, 0.02, 0.5, 1.0)


def masks_of(shape: tuple[int, ...]) -> Iterator[np.ndarray]:
    for share in SHARES:
        yield np.random.default_rng(5).random(shape) < share


def check_mask(x: np.ndarray, t: flow.Tensor, mask: np.ndarray, m: flow.Tensor) -> None:
    """Reads and writes; x and t are written to."""
    same(x[mask], t[m])
    same(np.nonzero(mask), flow.nonzero(m))
    same(np.count_nonzero(mask), flow.count_nonzero(m))
    x[mask], t[m] = 7, 7
    same(x, t)
    other = values(x[mask].shape, x.dtype.name, 6)
    x[mask], t[m] = other, on_device(other)
    same(x, t)


@pytest.mark.parametrize("shape", [(1,), (16,), (4095,), (4096,), (4097,), (30000,), (31, 401)])
def test_masks_of_any_length(shape: tuple[int, ...]) -> None:
    for mask in masks_of(shape):
        check_mask(x := values(shape, "float32", 1), on_device(x), mask, on_device(mask))
        x, wide = values(shape, "float64", 1), np.resize(mask, (*shape[:-1], 2 * shape[-1]))
        half, m = wide[..., 1::2], on_device(wide)[..., 1::2]
        check_mask(x, on_device(x), half, m)
        check_mask(x[::-1], on_device(x)[::-1], half[..., ::-1], m[..., ::-1])
        if len(shape) > 1:
            check_mask(x.T, on_device(x).T, half.T, m.T)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "int64", "complex128"])
def test_masks_of_rows(dtype: str) -> None:
    """A place has a row, or more; the mask stands before it or behind. One dtype of each width."""
    x = values((20, 6, 9), dtype, 2)
    for view in (x, x[..., 1:], x[::-1, :, ::2], x.transpose(2, 1, 0)):
        for dims in (1, 2):
            for mask in masks_of(view.shape[:dims]):
                check_mask(np.array(view), on_device(view), mask, on_device(mask))
        mask = np.arange(view.shape[-1]) % 3 == 1
        key, mine = (..., mask), (..., on_device(mask))
        expected, t = view.copy(), on_device(view.copy())
        same(expected[key], t[mine])
        value = values(expected[key].shape, dtype, 3)
        expected[key], t[mine] = value, on_device(value)
        same(expected, t)


def test_long_rows_are_shared_by_blocks() -> None:
    x = values((12, 20001), "int16", 3)
    mask = np.arange(12) % 5 == 1
    check_mask(x, on_device(x), mask, on_device(mask))
    check_mask(x[:, 1:], on_device(x)[:, 1:], mask, on_device(mask))


def test_a_mask_of_many_tiles() -> None:
    """More than the block that sums their counts takes at once."""
    mask = np.random.default_rng(7).random(9 * 10**6) < 0.001
    m = on_device(mask)
    same(np.flatnonzero(mask), flow.flatnonzero(m))
    x = np.arange(mask.size, dtype="int32")
    same(x[mask], on_device(x)[m])


@pytest.mark.parametrize("dtype", DTYPES)
def test_what_is_not_zero(dtype: str) -> None:
    """NaN and subnormal numbers are not, zeros of both signs are."""
    kind = np.dtype(dtype).kind
    x = np.zeros((67, 70), dtype)
    x.ravel()[::3] = values((x.ravel()[::3].size,), dtype, 4)
    if kind in "fc":
        x[1], x[2], x[3] = -0.0, np.nan, np.finfo(dtype).smallest_subnormal
    if kind == "c":
        x[4].imag, x[5].imag, x[5].real = -0.0, 1, 0
    for view in ((slice(None),), (slice(None, None, -1), slice(1, None, 2)), (..., slice(0, 0))):
        expected, t = placed(x, view)
        same(np.nonzero(expected), flow.nonzero(t))
        same(np.count_nonzero(expected), flow.count_nonzero(t))
        same(np.argwhere(expected.T), flow.argwhere(t.T))
    same(np.count_nonzero(x[6, 6]), flow.count_nonzero(on_device(x)[6, 6]))


def test_bytes_of_bool_that_are_neither_0_nor_1() -> None:
    mask = (np.arange(9000, dtype="uint32") * 7 % 256).astype("uint8")
    mask[::5] = 0
    m = on_device(mask.view(bool))
    same(np.flatnonzero(mask), flow.flatnonzero(m))
    same(np.arange(9000)[mask != 0], flow.arange(9000, device=CUDA)[m])


def test_nothing() -> None:
    t = on_device(values((3, 0, 4), "float32", 1))
    assert t[on_device([0, 2])].shape == (2, 0, 4)
    assert t[on_device(np.zeros((3, 0), bool))].shape == (0, 4)
    assert [len(x) for x in flow.nonzero(t)] == [0, 0, 0]
    assert flow.count_nonzero(t).item() == 0
    t[on_device([0, 2])] = 1
    t[on_device(np.zeros((3, 0), bool))] = 1
    x = flow.zeros(3, device=CUDA)
    x[flow.zeros(0, dtype="int64", device=CUDA)] = flow.zeros(0, device=CUDA)
    assert x.tolist() == [0, 0, 0]
    scalar = flow.zeros((), device=CUDA)
    assert scalar[on_device(np.array(True))].shape == (1,)
    scalar[on_device(np.array(True))] = 3
    assert scalar.item() == 3


# --- what is wrong, and what is looked at


def test_faults_of_indices() -> None:
    x = flow.zeros((3, 4, 5), device=CUDA)
    good, bad = on_device([0, 1]), on_device([1, 9])
    for key, axis, size in (((bad,), 0, 3), ((good, bad), 1, 4), ((slice(None), good, bad), 2, 5)):
        text = rf"index 9 is out of bounds for axis {axis} with size {size}"
        with pytest.raises(IndexError, match=rf"\[getitem\] {text}"):
            x[key].numpy()
        written = x.copy()
        written[key] = flow.ones((), device=CUDA)
        with pytest.raises(IndexError, match=rf"\[setitem\] {text}"):
            written.numpy()
        many = x.copy()
        many[key] = flow.ones(
            many[tuple(k if k is not bad else good for k in key)].shape, device=CUDA
        )
        with pytest.raises(IndexError, match=rf"\[setitem\] {text}"):
            many.numpy()
    for wrong in (-(2**63), 2**63 - 1, -4, 3):
        index = on_device(np.array([[wrong]]))
        with pytest.raises(IndexError, match=rf"\[take_along_axis\] index {wrong} is out"):
            flow.take_along_axis(x[:, 0], index, 0).numpy()
    with pytest.raises(IndexError):
        flow.synchronize()
    same(np.zeros((3, 4, 5), "float32"), x.astype("float32"))


def test_of_a_mask_its_count_is_looked_at() -> None:
    x = flow.arange(50000, device=CUDA)
    mask = x % 7 == 3
    x[mask].numpy()
    before = sim.counters()["run"]["copies"]
    part = x[mask]
    assert sim.counters()["run"]["copies"] == before + 1
    assert part.size == 7143
    assert np.count_nonzero(mask) == 7143


def test_offsets_of_more_than_32_bits() -> None:
    """Of memory that is hardly touched."""
    x = flow.empty(2**31 + 4096, dtype="uint8", device=CUDA)
    last = x.size - 1
    x[:10], x[-10:] = flow.arange(10, device=CUDA), flow.arange(100, 110, device=CUDA)
    index = on_device([3, last, -1, last - 5, -x.size])
    assert x[index].tolist() == [3, 109, 109, 104, 0]
    x[index] = flow.arange(5, device=CUDA)
    assert x[index].tolist() == [0, 2, 2, 3, 4]
    far, numbers = x[:: 2**20], np.arange(2049, dtype="uint8") % 5
    far[...] = on_device(numbers)
    mask = numbers == 3
    same(np.flatnonzero(numbers), flow.flatnonzero(far))
    same(numbers[mask], far[on_device(mask)])
    numbers[mask], far[on_device(mask)] = (
        np.arange(mask.sum()),
        flow.arange(mask.sum(), device=CUDA),
    )
    same(numbers, far)
