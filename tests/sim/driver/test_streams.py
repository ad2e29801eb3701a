"""Devices, contexts, streams, events and host functions of the simulated driver."""

import ctypes
import threading

import numpy as np
import pytest

import sim
from tests.support.gpu import Code, Gate, Gpu, code, driver, launch, ok

ADD_ONE = 'extern "C" __global__ void add_one(int* p) { *p += 1; }'


def test_devices_describe_themselves() -> None:
    assert ok(driver.cuDeviceGetCount()) == 2
    assert ok(driver.cuDriverGetVersion()) == 13000
    assert ok(driver.cuDeviceGetName(64, 1)).rstrip(b"\0 ") == b"Simulated CUDA device 1"
    assert ok(driver.cuDeviceTotalMem(0)) == 16 << 20
    attribute = driver.CUdevice_attribute
    assert ok(driver.cuDeviceGetAttribute(attribute.CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0)) == 32
    major = attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
    assert ok(driver.cuDeviceGetAttribute(major, 0)) == 9
    uuids = {bytes(ok(driver.cuDeviceGetUuid(i)).bytes) for i in range(2)}
    assert len(uuids) == 2
    bus = ok(driver.cuDeviceGetPCIBusId(20, 1))
    assert int(ok(driver.cuDeviceGetByPCIBusId(bus.split(b"\0")[0]))) == 1
    assert code(driver.cuDeviceGet(2)) == Code.CUDA_ERROR_INVALID_DEVICE
    assert ok(driver.cuGetErrorName(Code.CUDA_ERROR_NOT_READY)) == b"CUDA_ERROR_NOT_READY"


def test_what_the_driver_does_not_have_is_not_found() -> None:
    with pytest.raises(RuntimeError, match="not found"):
        driver.cuGraphCreate(0)


def test_calls_need_a_context_in_use() -> None:
    assert code(driver.cuMemAlloc(16)) == Code.CUDA_ERROR_INVALID_CONTEXT
    gpu = Gpu(0)
    assert ok(driver.cuDevicePrimaryCtxGetState(0)) == (0, 1)
    assert int(ok(driver.cuCtxGetCurrent())) == int(gpu.context)
    assert int(ok(driver.cuCtxGetDevice())) == 0
    ok(driver.cuDevicePrimaryCtxRelease(0))
    assert code(driver.cuMemAlloc(16)) == Code.CUDA_ERROR_CONTEXT_IS_DESTROYED
    assert code(driver.cuCtxSetCurrent(gpu.context)) == Code.CUDA_ERROR_INVALID_CONTEXT
    assert code(driver.cuDevicePrimaryCtxRelease(0)) == Code.CUDA_ERROR_INVALID_CONTEXT


def test_contexts_are_a_stack_of_the_thread(gpu: Gpu, other: Gpu) -> None:
    ok(driver.cuCtxPushCurrent(other.context))
    assert int(ok(driver.cuCtxGetDevice())) == 1
    seen = []
    thread = threading.Thread(target=lambda: seen.append(int(ok(driver.cuCtxGetCurrent()))))
    thread.start()
    thread.join()
    assert seen == [0]
    assert int(ok(driver.cuCtxPopCurrent())) == int(other.context)
    assert int(ok(driver.cuCtxGetDevice())) == 0


def test_calls_return_before_their_work_is_done(gpu: Gpu) -> None:
    stream, event = gpu.stream(), gpu.event()
    gate = Gate(stream)
    ok(driver.cuEventRecord(event, stream))
    assert code(driver.cuStreamQuery(stream)) == Code.CUDA_ERROR_NOT_READY
    assert code(driver.cuEventQuery(event)) == Code.CUDA_ERROR_NOT_READY
    gate.open()
    ok(driver.cuEventSynchronize(event))
    ok(driver.cuEventQuery(event))
    ok(driver.cuCtxSynchronize())
    ok(driver.cuStreamQuery(stream))


def test_events_order_streams_and_devices(gpu: Gpu, other: Gpu) -> None:
    first, event = gpu.stream(), gpu.event()
    pointer = gpu.put(np.zeros(1, np.int32))
    other.use()
    second, done = other.stream(), other.event()
    copy = other.put(np.zeros(1, np.int32))
    gpu.use()
    gate = Gate(first)
    ok(driver.cuMemsetD32Async(pointer, 5, 1, first))
    ok(driver.cuEventRecord(event, first))
    ok(driver.cuStreamWaitEvent(second, event, 0))
    ok(driver.cuMemcpyPeerAsync(copy, other.context, pointer, gpu.context, 4, second))
    ok(driver.cuEventRecord(done, second))
    assert code(driver.cuEventQuery(done)) == Code.CUDA_ERROR_NOT_READY
    gate.open()
    ok(driver.cuEventSynchronize(done))
    assert gpu.get(copy, np.empty(1, np.int32))[0] == 5


def test_a_wait_is_for_the_record_that_was_last_at_the_call(gpu: Gpu) -> None:
    first, second, event = gpu.stream(), gpu.stream(), gpu.event()
    ok(driver.cuStreamWaitEvent(second, event, 0))  # never recorded: nothing to wait for
    ok(driver.cuStreamSynchronize(second))
    ok(driver.cuEventRecord(event, first))
    ok(driver.cuStreamWaitEvent(second, event, 0))
    gate = Gate(first)
    ok(driver.cuEventRecord(event, first))
    ok(driver.cuStreamSynchronize(second))  # not held up by the second record
    gate.open()


def test_time_between_events(gpu: Gpu) -> None:
    stream, begin, end, plain = gpu.stream(), gpu.event(0), gpu.event(0), gpu.event(2)
    kernel = gpu.kernel(ADD_ONE, "add_one")
    pointer = gpu.put(np.zeros(1, np.int32))
    sim.configure("kernel=3ms,launch=2ms")
    assert code(driver.cuEventElapsedTime(begin, end)) == Code.CUDA_ERROR_INVALID_HANDLE
    ok(driver.cuEventRecord(begin, stream))
    gate = Gate(stream)
    assert launch(kernel, 1, 1, pointer, stream=stream) == Code.CUDA_SUCCESS
    ok(driver.cuEventRecord(end, stream))
    assert code(driver.cuEventElapsedTime(begin, end)) == Code.CUDA_ERROR_NOT_READY
    gate.open()
    ok(driver.cuEventSynchronize(end))
    assert ok(driver.cuEventElapsedTime(begin, end)) >= 3
    ok(driver.cuEventRecord(plain, stream))
    assert code(driver.cuEventElapsedTime(begin, plain)) == Code.CUDA_ERROR_INVALID_HANDLE


def test_handles_of_others_and_stale_ones(gpu: Gpu, other: Gpu) -> None:
    stream, event = gpu.stream(), gpu.event()
    other.use()
    foreign = other.stream()
    gpu.use()
    kernel = gpu.kernel(ADD_ONE, "add_one")
    pointer = gpu.put(np.zeros(1, np.int32))
    assert code(driver.cuEventRecord(event, foreign)) == Code.CUDA_ERROR_INVALID_HANDLE
    assert launch(kernel, 1, 1, pointer, stream=foreign) == Code.CUDA_ERROR_INVALID_HANDLE
    ok(driver.cuMemsetD32Async(pointer, 1, 1, foreign))  # as on a device, this is none's business
    ok(driver.cuStreamDestroy(stream))
    ok(driver.cuEventDestroy(event))
    for result in (
        driver.cuStreamSynchronize(stream),
        driver.cuStreamDestroy(stream),
        driver.cuEventRecord(event, foreign),
        driver.cuStreamWaitEvent(foreign, event, 0),
        driver.cuModuleGetFunction(12345, b"f"),
    ):
        assert code(result) == Code.CUDA_ERROR_INVALID_HANDLE


def test_a_destroyed_stream_runs_what_it_has(gpu: Gpu) -> None:
    stream = gpu.stream()
    pointer = gpu.put(np.zeros(1, np.int32))
    gate = Gate(stream)
    ok(driver.cuMemsetD32Async(pointer, 7, 1, stream))
    ok(driver.cuStreamDestroy(stream))
    gate.open()
    ok(driver.cuCtxSynchronize())
    assert gpu.get(pointer, np.empty(1, np.int32))[0] == 7


def test_host_functions_must_not_call_cuda(gpu: Gpu) -> None:
    seen = []
    stream = gpu.stream()
    gate = Gate(stream, lambda: seen.append(code(driver.cuMemAlloc(16))))
    gate.open()
    ok(driver.cuStreamSynchronize(stream))
    assert seen == [Code.CUDA_ERROR_NOT_PERMITTED]


def test_the_legacy_stream_waits_for_blocking_streams_and_they_for_it(gpu: Gpu) -> None:
    blocking, free = gpu.stream(flags=0), gpu.stream(flags=1)
    pointer = gpu.put(np.zeros(1, np.int32))
    gate = Gate(blocking)
    ok(driver.cuMemsetD32Async(pointer, 3, 1, 0))
    ok(driver.cuStreamSynchronize(free))
    assert code(driver.cuStreamQuery(0)) == Code.CUDA_ERROR_NOT_READY
    gate.open()
    ok(driver.cuStreamSynchronize(0))
    gate = Gate(0)
    ok(driver.cuMemsetD32Async(pointer, 4, 1, blocking))
    assert code(driver.cuStreamQuery(blocking)) == Code.CUDA_ERROR_NOT_READY
    gate.open()
    ok(driver.cuStreamSynchronize(blocking))
    assert gpu.get(pointer, np.empty(1, np.int32))[0] == 4


def test_priorities(gpu: Gpu) -> None:
    least, greatest = ok(driver.cuCtxGetStreamPriorityRange())
    assert least == 0
    assert greatest < 0
    assert ok(driver.cuStreamGetPriority(gpu.stream(priority=-100))) == greatest
    assert code(driver.cuStreamCreate(8)) == Code.CUDA_ERROR_INVALID_VALUE


def test_one_name_has_several_interfaces() -> None:
    library = ctypes.CDLL("libcuda.so.1")
    function, status = ctypes.c_void_p(), ctypes.c_int()

    def find(name: bytes, version: int) -> int | None:
        flags = ctypes.c_uint64(0)
        library.cuGetProcAddress_v2(
            name, ctypes.byref(function), version, flags, ctypes.byref(status)
        )
        return function.value

    assert find(b"cuCtxSynchronize", 12000) != find(b"cuCtxSynchronize", 13000)
    assert find(b"cuLaunchHostFunc", 12000)
    assert (
        find(b"cuLaunchHostFunc", 13020) is None
    )  # newer than what is here: not another's interface
    assert status.value == 2
    assert find(b"cuMemAlloc", 2000) is None
    assert status.value == 2
    assert find(b"cuNothing", 13000) is None
    assert status.value == 1
