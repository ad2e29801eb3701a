"""The buffer protocol: the memory of cpu tensors for memoryview, NumPy, files and compiled code."""

import gc
import io
import struct
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate
from tests.support.oracle import DTYPES, laid_out, same, values


@pytest.mark.parametrize("dtype", DTYPES)
def test_as_numpys(dtype: str) -> None:
    for shape in [(), (1,), (0, 2), (3, 4), (2, 3, 4)]:
        for layout in ("plain", "strided", "negative"):
            x = laid_out(values(shape, dtype, 1), layout)
            t = flow.from_dlpack(x)
            ours, theirs = memoryview(t), memoryview(x)
            for name in ("format", "itemsize", "ndim", "shape", "strides", "nbytes", "readonly"):
                if name != "strides" or x.size > 1:
                    assert getattr(ours, name) == getattr(theirs, name), name
            assert ours.c_contiguous == theirs.c_contiguous or not x.size
            assert ours.tobytes() == theirs.tobytes()
            same(x, np.asarray(ours))
            assert ours.obj is t


def test_the_memory_is_the_tensors() -> None:
    t = flow.arange(6).reshape(2, 3)
    view = memoryview(t)
    view[1, 2] = 50
    t += 1
    assert view.tolist() == [[1, 2, 3], [4, 5, 51]]
    a = np.asarray(t)
    assert np.shares_memory(a, np.asarray(view))
    del t, view
    gc.collect()
    assert a.tolist() == [[1, 2, 3], [4, 5, 51]]


def test_consumers_that_read() -> None:
    t = flow.tensor([1, 2, 3], dtype="int16")
    raw = struct.pack("3h", 1, 2, 3)
    assert bytes(t) == bytearray(t) == b"".join([t]) == raw
    assert bytes(flow.tensor([[1, 2], [3, 4]], dtype="int8").T) == bytes([1, 3, 2, 4])
    assert np.frombuffer(t, "int16").tolist() == [1, 2, 3]
    assert hash(bytes(t)) == hash(raw)
    file = io.BytesIO()
    file.write(t)
    assert file.getvalue() == raw


def test_consumers_that_write() -> None:
    t = flow.zeros(3, dtype="int32")
    assert io.BytesIO(struct.pack("3i", 7, 8, 9)).readinto(t) == 12
    struct.pack_into("i", t, 4, -1)
    assert t.tolist() == [7, -1, 9]


def test_what_cannot_be_given(device: flow.Device) -> None:
    t = flow.arange(6, device=device).reshape(2, 3)
    if device.type != "cpu":
        for consumer in (memoryview, bytes, np.frombuffer):
            with pytest.raises(BufferError, match=rf"{device} cannot be looked into; use .cpu\(\)"):
                consumer(t)
        same(t.numpy(), np.asarray(t))
        return
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        np.frombuffer(t.T)
    with pytest.raises(BufferError, match="needs contiguous memory, got strides"):
        io.BytesIO().write(t[:, ::2])
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"12").readinto(flow.broadcast_to(t, (2, 2, 3)))


def test_a_released_view_is_no_longer_shared() -> None:
    t = flow.zeros(4)
    with memoryview(t) as view:
        view[0] = 1.0
    with pytest.raises(ValueError, match="released"):
        view[0]
    assert t.tolist() == [1, 0, 0, 0]


def test_lists_of_tensors(device: flow.Device) -> None:
    rows = [flow.arange(3, device=device), flow.ones(3, device=device)]
    assert np.array(rows).tolist() == [[0, 1, 2], [1, 1, 1]]
    assert flow.tensor(rows).tolist() == [[0, 1, 2], [1, 1, 1]]


@pytest.mark.parametrize("dtype", ["float32", *(["bfloat16"] if hasattr(flow, "bfloat16") else [])])
def test_an_array_of_what_has_no_memory_yet(dtype: str) -> None:
    """The memory of a result comes with its first writer; a view of it begins further on."""
    exports = (np.asarray, lambda x: x.__array__(), lambda x: x.__array__(copy=False))
    for export in exports:
        for key in (np.s_[:], np.s_[1:], np.s_[::2]):
            with Gate(1000) as gate:
                pending = (gate.tensor.astype(dtype) + 3)[key]
                gate.open()
                seen = export(pending)
            assert not seen.flags.owndata
            assert (seen.astype("float32") == 3).all()
            pending[...] = 5
            flow.synchronize()
            assert (seen.astype("float32") == 5).all()


INTERRUPTED = """
import io
import os
import signal
import threading
import time

import numpy as np

import oneflow_lite as flow

asks = {"asarray": np.asarray, "view": memoryview, "array": lambda x: x.__array__()}
asks |= {"copy": np.array, "cast": lambda x: np.asarray(x, dtype="float64")}
ask = asks.get(NAME, io.BytesIO().write)
a = flow.zeros(100_000, dtype="float32")
opened = threading.Event()
flow.vm.host_func(lambda _: opened.wait(60), writes=[a])
b = a.astype(DTYPE) + 1
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    ask(b)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted")
opened.set()
print(b.__array__()[:2].astype("float32"), np.asarray(b)[:2].astype("float32"))
"""

CASES = [(name, "float32") for name in ("asarray", "view", "array", "copy", "cast", "write")]
if hasattr(flow, "bfloat16"):
    CASES += [("asarray", "bfloat16"), ("write", "bfloat16")]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_ctrl_c_ends_the_wait_for_an_array(name: str, dtype: str, run_program: Any) -> None:
    """NumPy lets go of what the buffer protocol raises, and asks for __array__.

    The interrupt is raised once: the program that goes on gets its array.
    """
    done = run_program(f"NAME, DTYPE = {name!r}, {dtype!r}\n{INTERRUPTED}")
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert first == "interrupted", done.stdout
    assert last == "[1. 1.] [1. 1.]"
