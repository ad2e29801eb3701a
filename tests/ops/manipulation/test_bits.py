"""packbits and unpackbits: NumPy's bytes."""

from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

import oneflow_lite as flow
from tests.support.oracle import same, values

SHAPES = [(), (0,), (1,), (8,), (13,), (3, 17), (0, 3), (3, 0), (2, 9, 3)]
# Of many elements along the axis, beside it, or both, in all orders of axes.
LARGE = [(2500,), (19, 130), (1100, 3), (9, 1030), (5, 40, 33)]


def axes(shape: tuple[int, ...]) -> list[int | None]:
    return [None, *range(-len(shape), len(shape))]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_packbits(shape: tuple[int, ...], bitorder: Any, device: flow.Device) -> None:
    for dtype in ("bool", "uint8", "int8", "int64", "uint32"):
        x = values(shape, dtype, 1)
        if dtype != "bool":
            x = x * (values(shape, "bool", 2))  # zeros among them
        t = flow.tensor(x, device=device)
        for axis in axes(shape):
            expected = np.packbits(x, axis, bitorder)
            seen = flow.packbits(t, axis, bitorder)
            assert seen.device == device
            assert seen.strides == expected.strides or not expected.size
            same(expected, seen)
            same(expected, np.packbits(t, axis=axis, bitorder=bitorder))
            same(np.packbits(x.T, axis), flow.packbits(t.T, axis))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("bitorder", ["big", "little"])
def test_unpackbits(shape: tuple[int, ...], bitorder: Any, device: flow.Device) -> None:
    x = np.random.default_rng(3).integers(0, 256, shape).astype("uint8")
    t = flow.tensor(x, device=device)
    for axis in axes(shape):
        size = x.size if axis is None else x.shape[axis]
        for count in (None, 0, 1, 5, 8 * size, 8 * size + 3, -8 * size, -min(3, 8 * size)):
            expected = np.unpackbits(x, axis, count, bitorder)
            if not x.size:
                expected[...] = 0  # NumPy leaves them as they were in memory
            seen = flow.unpackbits(t, axis, count, bitorder)
            assert seen.strides == expected.strides or not expected.size
            same(expected, seen)
            same(expected, np.unpackbits(t, axis=axis, count=count, bitorder=bitorder))
        same(np.unpackbits(x.T, axis), flow.unpackbits(t.T, axis))


def views(x: Any) -> list[Any]:
    """Of an array or a tensor."""
    moved = x.transpose(*range(1, x.ndim), 0)
    return [x, x.T, x[::-1], x[..., ::-2], moved]


@pytest.mark.parametrize("shape", LARGE, ids=str)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64"])
def test_many_elements(shape: tuple[int, ...], dtype: str, device: flow.Device) -> None:
    x = values(shape, dtype, 1) * values(shape, "bool", 2)
    moved = flow.tensor(x, device=device)
    for seen, t in zip(views(x), views(moved), strict=True):
        for axis in axes(shape):
            for order in ("big", "little"):
                expected = np.packbits(seen, axis, order)
                packed = flow.packbits(t, axis, order)
                same(expected, packed)
                size = seen.size if axis is None else seen.shape[axis]
                for count in (None, size, -3, 8 * expected.shape[axis or 0] + 5):
                    bits = np.unpackbits(expected, axis, count, order)
                    same(bits, flow.unpackbits(packed, axis, count, order))


def test_any_byte_of_a_bool_is_true(device: flow.Device) -> None:
    for n in (5, 100):
        x = (np.arange(n) % 3 * 87).astype("uint8")
        t = flow.tensor(x, device=device)
        same(np.packbits(x.view(bool)), flow.packbits(t.view(bool)))
        columns = np.broadcast_to(x, (9, n)).copy()
        t = flow.tensor(columns, device=device).view(bool)
        same(np.packbits(columns.view(bool), axis=0), flow.packbits(t, axis=0))


def test_results_lie_as_numpys() -> None:
    for shape in ((6, 40), (40, 6), (3, 20, 5)):
        x = values(shape, "uint8", 1)
        for seen, t in zip(views(x), views(flow.tensor(x)), strict=True):
            for axis in range(len(shape)):
                packed, bits = np.packbits(seen, axis), np.unpackbits(seen, axis, 7)
                assert flow.packbits(t, axis).strides == packed.strides, (shape, axis)
                assert flow.unpackbits(t, axis, 7).strides == bits.strides, (shape, axis)


def test_one_number(device: flow.Device) -> None:
    for axis in (None, 0, -1):
        same(np.packbits(np.array(5), axis), flow.packbits(flow.tensor(5, device=device), axis))
        byte = np.array(5, "uint8")
        same(np.unpackbits(byte, axis), flow.unpackbits(flow.tensor(byte, device=device), axis))
    same(
        np.packbits(np.eye(3, dtype=int)[::-1, ::2]),
        flow.packbits(flow.eye(3, dtype=int)[::-1, ::2]),
    )


def test_wrong_input() -> None:
    bits, bytes_ = flow.ones(9, dtype="bool"), flow.ones(3, dtype="uint8")
    with pytest.raises(TypeError, match=r"\[packbits\] expected integers or bools, got float64"):
        flow.packbits(flow.ones(3))
    with pytest.raises(TypeError, match=r"\[unpackbits\] expected uint8, got bool"):
        flow.unpackbits(bits)
    for function, x in ((flow.packbits, bits), (flow.unpackbits, bytes_)):
        with pytest.raises(ValueError, match="expected bitorder 'big' or 'little', got 'middle'"):
            function(x, bitorder="middle")
        with pytest.raises(AxisError, match="axis 1 is out of bounds"):
            function(x, axis=1)
    with pytest.raises(ValueError, match=r"\[unpackbits\] expected a count of at least -24"):
        flow.unpackbits(bytes_, count=-25)


def test_recorded(device: flow.Device) -> None:
    x = values((3, 11), "bool", 1)
    t = flow.tensor(x, device=device)
    packed = flow.jit(lambda t: flow.packbits(t, axis=1))
    unpacked = flow.jit(lambda t: flow.unpackbits(t, axis=1, count=11))
    for _ in range(3):
        same(np.packbits(x, axis=1), packed(t))
        same(x.astype("uint8"), unpacked(packed(t)))
