"""Small reads and writes by index arrays and masks, which take no instruction."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate, run_in_threads

# --- gathers


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_gather(dtype: str, device: flow.Device, naive: bool) -> None:
    base = (np.arange(60) % 7).astype(dtype)
    places = np.array([[0, 2], [-1, -4], [1, 1]])
    for array in (base, base.reshape(5, 12), base.reshape(5, 3, 4).transpose(0, 2, 1), base[::3]):
        t = flow.tensor(base, device=device)
        t = {60: t, 20: t[::3]}.get(array.shape[0], t.reshape(5, 12))
        if array.ndim == 3:
            t = t.reshape(5, 3, 4).permute_dims(0, 2, 1)
        for index in (places, places[0], places[:, 0], places[:0], np.array(3), np.arange(4)[::2]):
            item = t[flow.tensor(index, device=device)]
            assert item.numpy().tobytes() == array[index].tobytes()
            assert item.shape == array[index].shape
            assert not item.shares_storage(t)


@pytest.mark.parametrize("wrong", [4, -5, 2**62, -(2**63)])
def test_an_index_out_of_range_poisons_the_result(wrong: int, naive: bool) -> None:
    x = flow.arange(4)
    item = x[flow.tensor([0, wrong, 1])]
    with pytest.raises(IndexError, match="out of bounds"):
        item.numpy()
    with pytest.raises(IndexError, match="out of bounds"):
        flow.synchronize()
    assert x[flow.tensor([3])].tolist() == [3]


def test_gathers_from_nothing() -> None:
    empty = flow.tensor(np.zeros(0, np.int64))
    assert flow.zeros(0)[empty].shape == (0,)
    assert flow.zeros((3, 0))[flow.tensor([1, 2])].shape == (2, 0)
    with pytest.raises(IndexError):
        flow.zeros(0)[flow.tensor([0])].numpy()
    with pytest.raises(IndexError):
        flow.zeros(())[flow.tensor([0])]


# --- what index arrays and masks select


def selectors(array: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Masks of the leading dimensions, and index arrays along the first one."""
    for ndim in range(1, array.ndim + 1):
        yield from (rng.random(array.shape[:ndim]) < part for part in (0, 0.3, 1))
    yield np.zeros((2, 0), np.int64)
    if rows := len(array):
        yield from (rng.integers(-rows, rows, size) for size in (1, 5, (2, 3), 1000, 1025))


def layouts(base: Any) -> list[Any]:
    """A dense array or tensor as it is, with steps, turned round, and with its axes turned."""
    turned = base.permute_dims if isinstance(base, flow.Tensor) else base.transpose
    return [base, base[::2], base[::-1], base[1:], turned(tuple(range(base.ndim))[::-1])]


SHAPES = ((1,), (9,), (700,), (1100,), (5, 12), (40, 3, 2), (4, 0), (0,))


@pytest.mark.parametrize("dtype", ["bool", "float32", "float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
def test_selected(dtype: str, shape: tuple[int, ...], device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(7)
    base = rng.integers(0, 99, shape).astype(dtype)
    for k, array in enumerate(layouts(base)):
        for selector in selectors(array, rng):
            expected, t = base.copy(), flow.tensor(base, device=device)
            there, view = layouts(expected)[k], layouts(t)[k]
            index = flow.tensor(selector, device=device)
            item = view[index]
            assert item.dtype == dtype
            assert item.shape == there[selector].shape
            assert item.numpy().tobytes() == there[selector].tobytes()
            assert not item.shares_storage(t)
            values = rng.integers(0, 99, item.shape).astype(dtype)
            for value in (values, values.real.astype("int16"), values[:1], 3, True):
                there[selector] = value
                view[index] = value if isinstance(value, int) else flow.tensor(value, device=device)
                assert t.numpy().tobytes() == expected.tobytes()


def test_what_is_written_may_be_what_is_read(device: flow.Device) -> None:
    x = np.array([3, 0, 2, 1, 4])
    t, view = flow.tensor(x, device=device), x
    t[t] = t[::-1]
    view[x.copy()] = x[::-1].copy()
    assert t.tolist() == x.tolist()
    t[t[:3]] = t[2:]
    x[x[:3].copy()] = x[2:].copy()
    assert t.tolist() == x.tolist()


def test_memory_of_others_is_written_in_order() -> None:
    shared = np.arange(6)
    left, right = flow.from_dlpack(shared), flow.from_dlpack(shared[1:])
    left[flow.tensor([0, 1, 2, 3, 4])] = right
    assert shared.tolist() == [1, 2, 3, 4, 5, 5]
    right[left[:2]] = 0
    assert left.tolist() == [1, 2, 0, 0, 5, 5]


def test_what_may_not_be_written() -> None:
    places = flow.tensor([0, 1])
    wide, locked = flow.broadcast_to(flow.zeros(1), (3,)), np.zeros(3)
    locked.flags.writeable = False
    for x in (wide, flow.from_dlpack(locked)):
        for key in (places, flow.ones(3, dtype="bool")):
            for value in (
                1,
                flow.ones(()),
                flow.ones(key.sum().item() if key is not places else 2),
            ):
                with pytest.raises(ValueError, match=r"\[setitem\] cannot write"):
                    x[key] = value
    x = flow.zeros(3, dtype="uint8")
    for wrong in (256, -1):
        with pytest.raises(OverflowError):
            x[places] = wrong
    with pytest.raises(TypeError):
        x[places] = 1j
    assert x.tolist() == [0] * 3


@pytest.mark.parametrize("wrong", [4, -5, 2**62, -(2**63)])
def test_a_place_out_of_range_poisons_what_is_written(wrong: int, naive: bool) -> None:
    for value in (7, flow.ones(3, dtype="int64")):
        x = flow.arange(4)
        x[flow.tensor([0, wrong, 1])] = value
        with pytest.raises(IndexError, match=r"\[setitem\] index .* out of bounds"):
            x.numpy()
    with pytest.raises(IndexError):
        flow.synchronize()


def test_selected_of_what_is_written_later() -> None:
    x = flow.arange(4.0)
    with Gate() as gate:
        y = gate.tensor + x[0]
        taken, mask = y[flow.tensor([1, 0])], y < 1
        x[flow.tensor([0])] = 5  # reads of x are done
        x[1:2][mask[:1]] = y[:1]
        y[flow.tensor([1])] = 8
    assert taken.tolist() == [0, 0]
    assert x.tolist() == [5, 0, 2, 3]
    assert y.tolist() == [0, 8, 0, 0]


def test_threads_write_to_places_of_one_tensor() -> None:
    x, all_places = flow.zeros(8), flow.arange(8)
    mine = [flow.tensor([place]) for place in range(8)]

    def work(place: int) -> None:
        for i in range(300):
            x[mine[place]] = i
            assert x[all_places][place].item() == i
            x[x < 0] = 1

    run_in_threads(work, 8)
    assert x.tolist() == [299] * 8
