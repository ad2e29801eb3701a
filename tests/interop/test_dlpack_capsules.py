"""Capsules as a producer may make them: taken whole and freed once, or left alone."""

import ctypes
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.capsules import DataType, HandMade
from tests.support.oracle import same


def test_a_capsule_without_strides_and_with_an_offset() -> None:
    x = HandMade(byte_offset=8)
    t = flow.from_dlpack(x)
    same(np.arange(2, 8, dtype="float32").reshape(2, 3), t.numpy())
    assert x.deleted == 0
    del t
    assert x.deleted == 1


def test_flags() -> None:
    read_only = flow.from_dlpack(HandMade(flags=1))
    with pytest.raises(ValueError, match="read-only"):
        read_only[0] = 1
    ours = flow.from_dlpack(HandMade(flags=2))
    ours[0] = 1
    assert ours.sum().item() == 3 + 3 + 4 + 5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"major": 2}, "version 1, got 2.0"),
        ({"dtype": DataType(4, 8, 1)}, "unsupported dtype bfloat8"),
        ({"dtype": DataType(2, 32, 4)}, "float32 with 4 lanes"),
        ({"dtype": DataType(10, 8, 1)}, "type 10"),
        ({"dtype": DataType(0, 4, 1)}, "unsupported dtype int4"),
        ({"device_type": 2}, "memory of the host, got DLPack device type 2"),
        ({"ndim": 33}, "at most 32 dimensions, got 33"),
        ({"byte_offset": 2}, "aligned to 4 bytes for float32"),
        ({"shape": (ctypes.c_int64 * 2)(2, -3)}, "negative dimension"),
        ({"shape": None}, "expected a shape"),
        ({"ndim": -1}, "at most 32 dimensions, got -1"),
        ({"data": None}, "expected memory, got address 0"),
        ({"byte_offset": (1 << 64) - 4}, "an offset of 18446744073709551612 bytes"),
        ({"strides": (ctypes.c_int64 * 2)(1 << 62, 1)}, "does not fit in 64 bits"),
        ({"strides": (ctypes.c_int64 * 2)(1, -(1 << 63))}, "does not fit in 64 bits"),
        ({"strides": (ctypes.c_int64 * 2)(1 << 60, 1 << 60)}, "beyond the memory"),
        ({"strides": (ctypes.c_int64 * 2)(-(1 << 60), 1)}, "beyond the memory"),
        ({"strides": (ctypes.c_int64 * 2)((1 << 61) - 1, 1)}, "beyond the memory"),
    ],
)
def test_a_refused_capsule_is_left_alone(fields: dict[str, Any], message: str) -> None:
    x = HandMade(**fields)
    with pytest.raises(BufferError, match=message):
        flow.from_dlpack(x)
    assert x.deleted == 0
    assert '"dltensor_versioned"' in repr(x.capsule)


def test_an_empty_array_is_freed_at_once() -> None:
    x = HandMade(shape=(ctypes.c_int64 * 2)(0, 3), data=None)
    assert flow.from_dlpack(x).shape == (0, 3)
    assert x.deleted == 1
