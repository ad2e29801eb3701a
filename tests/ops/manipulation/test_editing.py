"""append, insert, delete, block and their like: NumPy's results, on every device."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, compare, values

SHAPES = ((5,), (4, 3), (2, 5, 3))


def same(expected: Any, seen: flow.Tensor, device: Any = None) -> None:
    difference = compare(np.asarray(expected), seen.numpy())
    assert difference is None, difference
    assert device is None or seen.device == device


@pytest.mark.parametrize("dtype", DTYPES)
def test_append(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = values(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        same(np.append(x, [1, 0]), flow.append(t, [1, 0]), device)
        for axis in range(-1, len(shape)):
            same(np.append(x, x[::-1], axis), flow.append(t, t[::-1], axis))


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex128"])
def test_delete(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = values(shape, dtype, 2)
        t = flow.tensor(x, device=device)
        for axis in (None, *range(-1, len(shape))):
            for obj in (0, -1, [0, 1], [0, 0], slice(None, None, 2), slice(0, 0), []):
                same(np.delete(x, obj, axis), flow.delete(t, obj, axis), device)
    same(np.delete(x[:, ::-2], [0], 1), flow.delete(t[:, ::-2], [0], 1))
    mask = np.asarray([True, False, True])
    same(np.delete(x, mask, -1), flow.delete(t, flow.tensor(mask, device=device), -1))
    for wrong in (lambda: flow.delete(t, 9, 0), lambda: flow.delete(t, 0, 7)):
        with pytest.raises(IndexError, match=r"\[delete\]"):
            wrong()


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "complex128"])
def test_insert(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = values(shape, dtype, 3)
        t = flow.tensor(x, device=device)
        for axis in (None, *range(-1, len(shape))):
            for obj in (0, -1, 2, [1], [0, 2], [2, 0, 0], slice(0, 2)):
                same(np.insert(x, obj, 1, axis), flow.insert(t, obj, 1, axis), device)
    x = values((4, 3), dtype, 3)
    t = flow.tensor(x, device=device)
    for obj, new, axis in (
        (1, [1, 0, 1], 0),
        (1, [1, 0, 1, 0], 1),
        ([1], [[1], [0], [1], [0]], 1),
        ([1, 3], [[1, 0], [0, 1], [0, 0], [1, 1]], 1),
        ([0, 2], x[:2], 0),
        (2, [1, 0, 1], None),
        ([], 1, None),
    ):
        same(np.insert(x, obj, new, axis), flow.insert(t, obj, new, axis), device)
    same(np.insert(x.T, 1, 1, 0), flow.insert(t.T, 1, 1, 0))
    where = flow.tensor([1, 3], device=device)
    same(np.insert(x, [1, 3], 1, 1), flow.insert(t, where, 1, 1))
    for wrong in (lambda: flow.insert(t, 9, 1, 0), lambda: flow.insert(t, [0, 9], 1, 0)):
        with pytest.raises(IndexError, match=r"\[insert\]"):
            wrong()


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks(dtype: str, device: flow.Device) -> None:
    x = values((2, 3), dtype, 4)
    t = flow.tensor(x, device=device)
    for make in (
        lambda y: y,
        lambda y: [y, y],
        lambda y: [y[0], 1, [1, 2][0]],
        lambda y: [[y, y[:, :1]], [y[:1], y[:1, 2:]]],
        lambda y: [[[y]], [[y]]],
    ):
        same(np.block(make(x)), flow.block(make(t)), device)
    assert not flow.block(t).shares_storage(t)
    for wrong, error in (([], ValueError), ([[t], t], ValueError), ((t, t), TypeError)):
        with pytest.raises(error, match=r"\[block\]"):
            flow.block(wrong)


def test_shapes(device: flow.Device) -> None:
    x = values((2, 3, 4), "float32", 5)
    t = flow.tensor(x, device=device)
    for new in (5, (2, 2), (40,), (0, 3), ()):
        same(np.resize(x, new), flow.resize(t, new), device)
    same(np.resize(x[:0], (2, 2)), flow.resize(t[:0], (2, 2)))
    for axis in range(-3, 3):
        for start in range(-3, 4):
            same(np.rollaxis(x, axis, start), flow.rollaxis(t, axis, start))
    assert (flow.shape(t), flow.ndim(t), flow.size(t), flow.size(t, -1)) == ((2, 3, 4), 3, 24, 4)
    assert (flow.shape([[1, 2]]), flow.ndim(3), flow.size([1, 2])) == ((1, 2), 0, 2)
    same(x[::-1], flow.copy(t[::-1]))
    same(np.around(x, 1), flow.around(t, 1))
    for wrong, error in (
        (lambda: flow.resize(t, -1), ValueError),
        (lambda: flow.rollaxis(t, 3), IndexError),
        (lambda: flow.rollaxis(t, 0, 4), IndexError),
        (lambda: flow.size(t, 3), IndexError),
    ):
        with pytest.raises(error, match=r"\[(resize|rollaxis|size)\]"):
            wrong()


EDITS: list[Any] = [3, -1, [3], [7, 2, 2, -4], np.arange(0, 9, 2, "int16"), [], np.asarray(4)]
EDITS += [slice(None), slice(1, 7, 2), slice(7, 1, -3), slice(2, 6), slice(4, 4), slice(3, 4)]
EDITS += [np.arange(9) % 4 == 1, np.arange(9) == 5, np.zeros(9, bool)]


@pytest.mark.parametrize("length", [9, 3000])
def test_edits_of_long_axes(length: int, device: flow.Device) -> None:
    """Whatever is named, and however: one slice, neighbours, places in any order, a mask."""
    x = np.arange(2 * length, dtype="float32").reshape(2, length)
    for step in (1, -1, max(length // 10, 1)):
        array, t = x[:, ::step], flow.tensor(x, device=device)[:, ::step]
        for obj in EDITS:
            if isinstance(obj, np.ndarray) and obj.dtype == bool and array.shape[1] != 9:
                obj = np.resize(obj, array.shape[1])
            same(np.delete(array, obj, 1), flow.delete(t, obj, 1), device)
            for new in (5, [[1.5], [2.5]]):
                same(np.insert(array, obj, new, 1), flow.insert(t, obj, new, 1), device)
            if isinstance(obj, np.ndarray):
                where = flow.tensor(obj, device=device)
                same(np.insert(array[0], obj, 7), flow.insert(t[0], where, 7), device)
                same(np.delete(array[0], obj), flow.delete(t[0], where), device)
        for new in ([1, 2, 3], [[[7]]], x[0, :4]):
            same(np.insert(array[0], 2, new), flow.insert(t[0], 2, new), device)


def test_edits_make_nothing_long_on_the_host(device: flow.Device) -> None:
    """What stays around one place is joined; no places are written down."""
    t = flow.ones(100_000, dtype="int8", device=device)

    def peak(call: Any) -> int:
        call()
        tracemalloc.start()
        try:
            call()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    for call in (
        lambda: flow.insert(t, 5, 1),
        lambda: flow.insert(t, [-1], t),
        lambda: flow.delete(t, 5),
        lambda: flow.delete(t, slice(3, 99_000)),
        lambda: flow.resize(t, 250_000),
        lambda: flow.resize(t[:3], (200, 300)),
    ):
        assert peak(call) < 50_000
    # A mask is a byte for each slice; indices are eight.
    for call in (lambda: flow.insert(t, slice(None), 1), lambda: flow.delete(t, [1, 5, 9])):
        assert peak(call) < 300_000


def test_wrong_edits(device: flow.Device) -> None:
    t = flow.ones((3, 4), dtype="int8", device=device)
    for call, error in (
        (lambda: flow.insert(t, 5, 1, 1), IndexError),
        (lambda: flow.insert(t, -6, 1, 1), IndexError),
        (lambda: flow.insert(t, [0, 5], 1, 1), IndexError),
        (lambda: flow.insert(t, [0, -6], 1, 1), IndexError),
        (lambda: flow.insert(t, [[1]] * 2, 1, 1), ValueError),
        (lambda: flow.insert(t, [0.5, 1.5], 1, 1), IndexError),
        (lambda: flow.insert(t, 1, [1, 2], 1), ValueError),
        (lambda: flow.insert(t, 1, flow.ones((2, 3, 4), device=device), 1), ValueError),
        (lambda: flow.insert(t, [0, 1], [1, 2, 3], 1), ValueError),
        (lambda: flow.delete(t, 4, 1), IndexError),
        (lambda: flow.delete(t, [0, -5], 1), IndexError),
        (lambda: flow.delete(t, [True, False], 1), ValueError),
        (lambda: flow.delete(t, True, 1), ValueError),
        (lambda: flow.delete(t, [0.5, 1.5], 1), IndexError),
        (lambda: flow.block([[t, t[:2]]]), ValueError),
        (lambda: flow.block([[t], [t[:, :2]]]), ValueError),
    ):
        with pytest.raises(error, match=r"\[(insert|delete|block)\]"):
            call()
    with pytest.raises(OverflowError):
        flow.insert(t, 1, 300)


@pytest.mark.parametrize("shift", [0, 1, -2, (1, 2)])
def test_what_is_rolled_lies_as_before(shift: Any) -> None:
    x = np.random.default_rng(8).random((3, 40, 50), np.float32)
    for view in (lambda x: x, lambda x: x.T, lambda x: x[:, ::-1].mT):
        for axis in (0, -1, (0, 2)):
            if isinstance(shift, tuple) and not isinstance(axis, tuple):
                continue
            expected, found = (
                np.roll(view(x), shift, axis),
                flow.roll(view(flow.tensor(x)), shift, axis),
            )
            assert found.strides == expected.strides
            same(expected, found)
            same(expected.sum(), found.sum())  # in the order of memory
