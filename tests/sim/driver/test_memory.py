"""Allocation, copies and fills of the simulated driver."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import sim
from tests.support.gpu import Code, Gate, Gpu, code, driver, launch, ok

MB = 1 << 20


def test_fresh_memory_is_poison(gpu: Gpu) -> None:
    stream = gpu.stream()
    like = np.empty(1000, np.uint8)
    assert (gpu.get(int(ok(driver.cuMemAlloc(1000))), like) == 0xCD).all()
    pointer = int(ok(driver.cuMemAllocAsync(1000, stream)))
    assert (gpu.get(pointer, like, stream) == 0xCD).all()


def test_the_capacity_is_kept(gpu: Gpu, other: Gpu) -> None:
    pointer = ok(driver.cuMemAlloc(10 * MB))
    assert ok(driver.cuMemGetInfo()) == (6 * MB, 16 * MB)
    assert code(driver.cuMemAlloc(7 * MB)) == Code.CUDA_ERROR_OUT_OF_MEMORY
    assert code(driver.cuMemAllocAsync(7 * MB, 0)) == Code.CUDA_ERROR_OUT_OF_MEMORY
    ok(driver.cuMemFree(pointer))
    ok(driver.cuMemFree(ok(driver.cuMemAlloc(16 * MB))))
    other.use()
    assert ok(driver.cuMemGetInfo()) == (16 * MB, 16 * MB)
    for size in (0, 1 << 50):
        assert code(driver.cuMemAlloc(size)) != Code.CUDA_SUCCESS


def test_a_stream_reuses_at_once_what_it_frees(gpu: Gpu) -> None:
    first, second = gpu.stream(), gpu.stream()
    pointer = ok(driver.cuMemAllocAsync(10 * MB, first))
    gate = Gate(first)
    ok(driver.cuMemFreeAsync(pointer, first))
    assert code(driver.cuMemAllocAsync(10 * MB, second)) == Code.CUDA_ERROR_OUT_OF_MEMORY
    again = ok(driver.cuMemAllocAsync(10 * MB, first))
    gate.open()
    ok(driver.cuStreamSynchronize(first))
    assert ok(driver.cuMemGetInfo())[0] == 6 * MB
    ok(driver.cuMemFreeAsync(again, second))
    ok(driver.cuStreamSynchronize(second))
    assert ok(driver.cuMemGetInfo())[0] == 16 * MB


def test_pointers_are_checked(gpu: Gpu) -> None:
    pointer = int(ok(driver.cuMemAlloc(100)))
    host = np.zeros(200, np.uint8)
    address = host.ctypes.data
    freed = int(ok(driver.cuMemAlloc(100)))
    ok(driver.cuMemFree(freed))
    for result in (
        driver.cuMemFree(freed),
        driver.cuMemFree(pointer + 1),
        driver.cuMemFree(address),
        driver.cuMemcpyHtoD(pointer, address, 101),
        driver.cuMemcpyHtoD(pointer + 50, address, 51),
        driver.cuMemcpyHtoD(address, address, 10),
        driver.cuMemcpyHtoD(pointer, pointer, 10),
        driver.cuMemcpyDtoH(address, freed, 1),
        driver.cuMemcpyDtoH(0, pointer, 1),
        driver.cuMemcpyDtoD(pointer, freed, 1),
        driver.cuMemsetD8(pointer, 0, 101),
        driver.cuMemsetD32(pointer + 1, 0, 1),
        driver.cuMemFreeHost(address),
    ):
        assert code(result) == Code.CUDA_ERROR_INVALID_VALUE
    ok(driver.cuMemcpyHtoD(pointer, address, 100))
    ok(driver.cuMemcpyHtoD(pointer, address, 0))
    ok(driver.cuMemFree(0))


def test_pageable_memory_is_copied_at_the_call(gpu: Gpu) -> None:
    stream = gpu.stream()
    source = np.arange(1000, dtype=np.int32)
    pointer = gpu.put(np.zeros_like(source))
    gate = Gate(stream)
    ok(driver.cuMemcpyHtoDAsync(pointer, source.ctypes.data, source.nbytes, stream))
    source[:] = -1
    threading.Timer(0.05, gate.open).start()  # whenever it opens, the next call waits for it
    assert (gpu.get(pointer, source, stream) == np.arange(1000)).all()


def test_pinned_memory_is_copied_when_the_stream_comes_to_it(gpu: Gpu) -> None:
    stream = gpu.stream()
    source, target = gpu.pinned(10, np.int32), gpu.pinned(10, np.int32)
    source[:], target[:] = 1, 0
    pointer = gpu.put(source)
    gate = Gate(stream)
    ok(driver.cuMemcpyHtoDAsync(pointer, source.ctypes.data, source.nbytes, stream))
    ok(driver.cuMemcpyDtoHAsync(target.ctypes.data, pointer, source.nbytes, stream))
    source[:] = 2
    assert (target == 0).all()
    gate.open()
    ok(driver.cuStreamSynchronize(stream))
    assert (target == 2).all()


def test_a_missing_wait_reads_poison(gpu: Gpu) -> None:
    first, second = gpu.stream(), gpu.stream()
    source = gpu.pinned(100, np.uint8)
    source[:] = 1
    gate = Gate(first)
    pointer = ok(driver.cuMemAllocAsync(100, second))
    ok(driver.cuMemcpyHtoDAsync(pointer, source.ctypes.data, 100, first))
    assert (gpu.get(int(pointer), np.empty(100, np.uint8), second) == 0xCD).all()
    gate.open()


def test_jitter_shows_a_missing_wait(gpu: Gpu) -> None:
    sim.configure("jitter=1ms,seed=5")
    streams, target = (gpu.stream(), gpu.stream()), gpu.pinned(1, np.int32)
    event = gpu.event()
    wrong = {True: 0, False: 0}
    for waits in (False, True):
        for _ in range(20):
            pointer = ok(driver.cuMemAlloc(4))
            ok(driver.cuMemsetD32Async(pointer, 1, 1, streams[0]))
            if waits:
                ok(driver.cuEventRecord(event, streams[0]))
                ok(driver.cuStreamWaitEvent(streams[1], event, 0))
            ok(driver.cuMemcpyDtoHAsync(target.ctypes.data, pointer, 4, streams[1]))
            ok(driver.cuCtxSynchronize())
            wrong[waits] += int(target[0] != 1)
    assert wrong[False] > 0
    assert wrong[True] == 0


def test_registered_memory_is_pinned(gpu: Gpu) -> None:
    array = np.zeros(1000, np.uint8)
    address = array.ctypes.data
    not_registered = Code.CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
    already = Code.CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
    assert code(driver.cuMemHostUnregister(address)) == not_registered
    ok(driver.cuMemHostRegister(address, 1000, 0))
    assert code(driver.cuMemHostRegister(address + 10, 10, 0)) == already
    kind = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE
    assert int(ok(driver.cuPointerGetAttribute(kind, address))) == 1
    assert int(ok(driver.cuMemHostGetDevicePointer(address, 0))) == address
    ok(driver.cuMemHostUnregister(address))
    assert code(driver.cuPointerGetAttribute(kind, address)) == Code.CUDA_ERROR_INVALID_VALUE


def test_pointers_know_where_they_are(gpu: Gpu, other: Gpu) -> None:
    other.use()
    pointer = int(ok(driver.cuMemAlloc(100)))
    attribute = driver.CUpointer_attribute
    for name, value in (
        ("MEMORY_TYPE", 2),
        ("DEVICE_ORDINAL", 1),
        ("RANGE_SIZE", 100),
        ("RANGE_START_ADDR", pointer),
    ):
        number = getattr(attribute, f"CU_POINTER_ATTRIBUTE_{name}")
        assert int(ok(driver.cuPointerGetAttribute(number, pointer + 7))) == value
    base, size = ok(driver.cuMemGetAddressRange(pointer + 99))
    assert (int(base), size) == (pointer, 100)


def test_rectangles(gpu: Gpu) -> None:
    source = np.arange(48, dtype=np.uint8).reshape(6, 8)
    pointer = gpu.put(np.zeros((6, 16), np.uint8))
    copy = driver.CUDA_MEMCPY2D()
    copy.srcMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_HOST
    copy.srcHost, copy.srcPitch, copy.srcXInBytes, copy.srcY = source.ctypes.data, 8, 1, 2
    copy.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
    copy.dstDevice, copy.dstPitch, copy.dstXInBytes, copy.dstY = pointer, 16, 4, 1
    copy.WidthInBytes, copy.Height = 5, 3
    ok(driver.cuMemcpy2DAsync(copy, gpu.stream()))
    expected = np.zeros((6, 16), np.uint8)
    expected[1:4, 4:9] = source[2:5, 1:6]
    ok(driver.cuCtxSynchronize())
    assert (gpu.get(pointer, expected) == expected).all()
    copy.Height = 6
    assert code(driver.cuMemcpy2D(copy)) == Code.CUDA_ERROR_INVALID_VALUE


@pytest.mark.parametrize(("bits", "dtype"), [(8, np.uint8), (16, np.uint16), (32, np.uint32)])
def test_fills(gpu: Gpu, bits: int, dtype: type) -> None:
    like = np.zeros(10, dtype)
    pointer = gpu.put(like)
    fill = getattr(driver, f"cuMemsetD{bits}Async")
    ok(fill(pointer + 2 * like.itemsize, 77, 5, gpu.stream()))
    ok(driver.cuCtxSynchronize())
    assert (gpu.get(pointer, like) == [0, 0, *[77] * 5, 0, 0, 0]).all()


def test_unified_copies_and_peers(gpu: Gpu, other: Gpu) -> None:
    array = np.arange(10)
    here = gpu.put(array)
    other.use()
    there = other.put(np.zeros_like(array))
    gpu.use()
    ok(driver.cuMemcpy(there, here, array.nbytes))
    assert (gpu.get(there, array) == array).all()
    wrong = driver.cuMemcpyPeer(there, gpu.context, here, gpu.context, array.nbytes)
    assert code(wrong) == Code.CUDA_ERROR_INVALID_VALUE
    back = np.zeros_like(array)
    ok(driver.cuMemcpyAsync(back.ctypes.data, there, array.nbytes, gpu.stream()))
    assert (back == array).all()


def test_copies_take_their_time(gpu: Gpu) -> None:
    sim.configure("h2d=100MB/s")
    stream, begin, end = gpu.stream(), gpu.event(0), gpu.event(0)
    source = gpu.pinned(MB)
    pointer = ok(driver.cuMemAlloc(MB))
    ok(driver.cuEventRecord(begin, stream))
    ok(driver.cuMemcpyHtoDAsync(pointer, source.ctypes.data, MB, stream))
    ok(driver.cuEventRecord(end, stream))
    ok(driver.cuEventSynchronize(end))
    assert ok(driver.cuEventElapsedTime(begin, end)) >= MB / 100e6 * 1e3


def test_writing_behind_a_block_is_found_when_it_is_freed(gpu: Gpu) -> None:
    kernel = gpu.kernel('extern "C" __global__ void far(char* p) { p[100] = 1; }', "far")
    pointer = int(ok(driver.cuMemAlloc(100)))
    assert launch(kernel, 1, 1, pointer) == Code.CUDA_SUCCESS
    ok(driver.cuCtxSynchronize())
    ok(driver.cuMemFree(pointer))
    assert code(driver.cuCtxSynchronize()) == Code.CUDA_ERROR_ILLEGAL_ADDRESS


def test_the_host_cannot_touch_device_memory() -> None:
    program = """
import ctypes, sim
sim.load()
from cuda.bindings import driver
driver.cuInit(0)
driver.cuCtxSetCurrent(driver.cuDevicePrimaryCtxRetain(0)[1])
ctypes.memset(int(driver.cuMemAlloc(16)[1]), 0, 1)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert done.returncode == -signal.SIGSEGV
