"""The kernels of long sorts by themselves: indices of 64 bits, which calls reach only beyond 2**31
elements, and any division of a lane.
"""

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from cuda.bindings import driver

from oneflow_lite.cuda.kernels import Request
from tests.support.launching import Device, ok
from tests.support.oracle import values

DIGITS = 256


class SortArgs(ctypes.Structure):
    """``SortArgs`` of layout/sort.h."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("elements", "out", "places_in", "places_out")),
        *((name, ctypes.c_uint64) for name in ("order", "counts", "totals")),
        *((name, ctypes.c_int64) for name in ("lanes", "length", "chunks", "chunk")),
        *((name, ctypes.c_int32) for name in ("digit", "descending", "padded", "row_threads")),
    )


def request(op: str, dtype: str, wide: bool) -> Request:
    return Request("sort", op, (dtype,), (), (), True, wide, args_bytes=ctypes.sizeof(SortArgs))


def read(pointer: int, array: np.ndarray) -> np.ndarray:
    ok(driver.cuMemcpyDtoH(array.ctypes.data, pointer, array.nbytes))
    return array


class Passes:
    """A lane after the other, each in chunks of so many tiles."""

    def __init__(self, device: Device, dtype: str, wide: bool) -> None:
        self._device, self._index = device, np.dtype(np.uint64 if wide else np.uint32)
        plain = request("counts", dtype, wide)
        operations = ("counts", "scan", "elements", "places")
        self._kernels = dict(
            zip(
                operations,
                device.compile([replace(plain, op=op) for op in operations]),
                strict=True,
            )
        )

    def run(self, x: np.ndarray, tiles: int, row_threads: int) -> tuple[np.ndarray, np.ndarray]:
        """The sorted elements, and the order."""
        lanes, length = x.shape
        chunk = tiles * 256 * (16 if x.itemsize <= 4 else 8)
        chunks = -(-length // chunk)
        counts = self._device.put(np.zeros(lanes * DIGITS * chunks, self._index))
        totals = self._device.put(np.zeros(lanes * DIGITS, self._index))
        order = self._device.put(np.zeros(x.shape, np.int64))
        elements = [self._device.put(x) for _ in range(3)]
        places = [self._device.put(np.zeros(x.shape, self._index)) for _ in range(2)]
        args = SortArgs(lanes=lanes, length=length, chunks=chunks, chunk=chunk)
        args.counts, args.totals, args.row_threads = counts, totals, row_threads
        for with_places in (False, True):
            args.elements, args.places_in = elements[2], 0
            for args.digit in range(x.itemsize):
                is_last = with_places and args.digit == x.itemsize - 1
                args.out = 0 if is_last else elements[args.digit % 2]
                args.places_out, args.order = places[args.digit % 2], order if is_last else 0
                self._launch("counts", args, lanes * chunks)
                self._launch("scan", args, lanes * row_threads)
                self._launch("places" if with_places else "elements", args, lanes * chunks)
                args.elements, args.places_in = args.out, args.places_out
            if not with_places:
                result = read(args.out, np.empty_like(x))
        return result, read(order, np.empty(x.shape, np.int64))

    def _launch(self, name: str, args: SortArgs, blocks: int) -> None:
        self._device.launch(self._kernels[name], args, blocks)


@pytest.mark.parametrize("wide", [False, True], ids=["narrow", "wide"])
@pytest.mark.parametrize("dtype", ["int16", "complex64"])
def test_divisions(device: Device, dtype: str, wide: bool) -> None:
    passes = Passes(device, dtype, wide)
    x = values((2, 5000), dtype, 1)
    order = np.argsort(x, kind="stable")
    for tiles, row_threads in ((1, 1), (2, 4)):
        result, seen = passes.run(x, tiles, row_threads)
        np.testing.assert_array_equal(seen, order)
        np.testing.assert_array_equal(result, np.take_along_axis(x, order, -1))
