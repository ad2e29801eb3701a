"""Injected failures, contexts that die, processes that fork, machines without devices."""

import os
import subprocess
import sys

import numpy as np
import pytest

import sim
from tests.support.gpu import Code, Gpu, code, driver, launch, ok

ADD_ONE = 'extern "C" __global__ void add_one(int* p) { *p += 1; }'
TWO = 'struct Two { int a; int* p; };\nextern "C" __global__ void two(Two t) { *t.p = t.a; }'


@pytest.mark.parametrize(
    "name",
    [
        *("cuMemAlloc", "cuMemAllocAsync", "cuMemHostAlloc", "cuStreamCreateWithPriority"),
        *("cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuMemcpyHtoDAsync"),
        *("cuMemcpyDtoHAsync", "cuMemsetD8Async", "cuModuleLoadData", "cuStreamSynchronize"),
    ],
)
def test_the_nth_call_fails(gpu: Gpu, name: str) -> None:
    stream, event, host = gpu.stream(), gpu.event(), gpu.pinned(16)
    pointer, address = int(ok(driver.cuMemAlloc(16))), host.ctypes.data
    image = sim.compile(ADD_ONE, "sm_90") if name == "cuModuleLoadData" else b""
    arguments = {
        "cuMemAlloc": (16,),
        "cuMemAllocAsync": (16, stream),
        "cuMemHostAlloc": (16, 0),
        "cuStreamCreateWithPriority": (1, 0),
        "cuEventCreate": (2,),
        "cuEventRecord": (event, stream),
        "cuStreamWaitEvent": (stream, event, 0),
        "cuMemcpyHtoDAsync": (pointer, address, 16, stream),
        "cuMemcpyDtoHAsync": (address, pointer, 16, stream),
        "cuMemsetD8Async": (pointer, 1, 16, stream),
        "cuModuleLoadData": (image,),
        "cuStreamSynchronize": (stream,),
    }[name]
    sim.configure(f"fail={name}:2:{int(Code.CUDA_ERROR_LAUNCH_TIMEOUT)}")
    codes = [code(getattr(driver, name)(*arguments)) for _ in range(3)]
    assert codes == [Code.CUDA_SUCCESS, Code.CUDA_ERROR_LAUNCH_TIMEOUT, Code.CUDA_SUCCESS]


def test_the_nth_call_is_left_out(gpu: Gpu) -> None:
    stream, pointer = gpu.stream(), gpu.put(np.zeros(4, np.uint8))
    sim.configure("omit=cuMemsetD8Async:2")
    seen = []
    for value in (1, 2, 3):
        assert code(driver.cuMemsetD8Async(pointer, value, 4, stream)) == Code.CUDA_SUCCESS
        ok(driver.cuStreamSynchronize(stream))
        seen.append(gpu.get(pointer, np.zeros(4, np.uint8))[0])
    assert seen == [1, 1, 3]
    for bad in ("cuMemsetD8Async", "cuMemsetD8Async:0", "cuMemsetD8Async:1:2", "copy:1"):
        with pytest.raises(ValueError, match="not a value"):
            sim.configure(f"omit={bad}")


@pytest.mark.parametrize("kind", ["kernel", "copy", "fill"])
def test_a_failed_operation_kills_its_context_only(gpu: Gpu, other: Gpu, kind: str) -> None:
    kernel = gpu.kernel(ADD_ONE, "add_one")
    stream, event, host = gpu.stream(), gpu.event(), gpu.pinned(4)
    pointer = gpu.put(np.zeros(1, np.int32))
    sim.configure(f"die={kind}:2:700")

    def operation() -> Code:
        if kind == "kernel":
            return launch(kernel, 1, 1, pointer, stream=stream)
        if kind == "copy":
            return code(driver.cuMemcpyDtoHAsync(host.ctypes.data, pointer, 4, stream))
        return code(driver.cuMemsetD8Async(pointer, 1, 4, stream))

    assert operation() == Code.CUDA_SUCCESS
    ok(driver.cuStreamSynchronize(stream))
    assert operation() == Code.CUDA_SUCCESS  # it fails when it runs
    for result in (
        driver.cuStreamSynchronize(stream),
        driver.cuStreamQuery(stream),
        driver.cuEventRecord(event, stream),
        driver.cuEventQuery(event),
        driver.cuMemAlloc(16),
        driver.cuMemFree(pointer),
        driver.cuCtxSynchronize(),
        driver.cuStreamCreate(1),
        driver.cuDevicePrimaryCtxRetain(0),
    ):
        assert code(result) == Code.CUDA_ERROR_ILLEGAL_ADDRESS
    other.use()
    array = np.arange(3)
    assert (other.get(other.put(array), array) == array).all()
    ok(driver.cuDevicePrimaryCtxReset(0))
    revived = Gpu(0)
    assert (revived.get(revived.put(array), array) == array).all()


def test_what_is_behind_the_failure_does_not_run(gpu: Gpu) -> None:
    kernel = gpu.kernel(ADD_ONE, "add_one")
    host = gpu.pinned(1, np.int32)
    host[0] = 5
    stream = gpu.stream()
    pointer = gpu.put(host)
    sim.configure("die=kernel:1:719")
    launch(kernel, 1, 1, pointer, stream=stream)
    driver.cuMemsetD32Async(pointer, 9, 1, stream)
    driver.cuMemcpyDtoHAsync(host.ctypes.data, pointer, 4, stream)
    assert code(driver.cuStreamSynchronize(stream)) == Code.CUDA_ERROR_LAUNCH_FAILED
    assert host[0] == 5


def two(pointer: int) -> np.ndarray:
    """A struct by value with a pointer in it."""
    # Zeros first: what lies between the members might look like a part of an address.
    both = np.zeros(1, np.dtype([("a", np.int32), ("p", np.uint64)], align=True))
    both["a"], both["p"] = 3, pointer
    return both


def test_pointers_in_structs_reach_the_kernel(gpu: Gpu) -> None:
    pointer = gpu.put(np.zeros(1, np.int32))
    assert launch(gpu.kernel(TWO, "two"), 1, 1, two(pointer)) == Code.CUDA_SUCCESS
    assert gpu.get(pointer, np.empty(1, np.int32))[0] == 3


def test_a_kernel_that_gets_freed_memory_fails(gpu: Gpu) -> None:
    stream = gpu.stream()
    kernel = gpu.kernel(TWO, "two")
    pointer = int(ok(driver.cuMemAllocAsync(4, stream)))
    ok(driver.cuMemFreeAsync(pointer, stream))
    assert launch(kernel, 1, 1, two(pointer), stream=stream) == Code.CUDA_SUCCESS
    assert code(driver.cuStreamSynchronize(stream)) == Code.CUDA_ERROR_ILLEGAL_ADDRESS


def test_peer_memory_needs_access(gpu: Gpu, other: Gpu) -> None:
    other.use()
    pointer = other.put(np.zeros(1, np.int32))
    gpu.use()
    assert ok(driver.cuDeviceCanAccessPeer(0, 1)) == 1
    ok(driver.cuCtxEnablePeerAccess(other.context, 0))
    again = driver.cuCtxEnablePeerAccess(other.context, 0)
    assert code(again) == Code.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
    kernel = gpu.kernel(ADD_ONE, "add_one")
    launch(kernel, 1, 1, pointer)
    assert gpu.get(pointer, np.empty(1, np.int32))[0] == 1
    ok(driver.cuCtxDisablePeerAccess(other.context))
    launch(kernel, 1, 1, pointer)
    assert code(driver.cuCtxSynchronize()) == Code.CUDA_ERROR_ILLEGAL_ADDRESS


def test_images_that_are_none(gpu: Gpu) -> None:
    image = sim.compile(ADD_ONE, "sm_90")
    assert code(driver.cuModuleLoadData(b"\0" * 64)) == Code.CUDA_ERROR_INVALID_IMAGE
    cubin = image[:18] + bytes([190, 0]) + image[20:]
    assert code(driver.cuModuleLoadData(cubin)) == Code.CUDA_ERROR_NO_BINARY_FOR_GPU
    module = ok(driver.cuModuleLoadData(image))
    assert code(driver.cuModuleGetFunction(module, b"none")) == Code.CUDA_ERROR_NOT_FOUND
    function = ok(driver.cuModuleGetFunction(module, b"add_one"))
    ok(driver.cuModuleUnload(module))
    assert launch(function, 1, 1, 0) == Code.CUDA_ERROR_INVALID_HANDLE


def test_launches_are_checked(gpu: Gpu) -> None:
    source = 'extern "C" __global__ void __launch_bounds__(64, 2) k() {}'
    kernel = gpu.kernel(source, "k")
    invalid = Code.CUDA_ERROR_INVALID_VALUE
    assert launch(kernel, 0, 1) == invalid
    assert launch(kernel, (1, 70000, 1), 1) == invalid
    assert launch(kernel, 1, (1, 1, 65)) == invalid
    assert launch(kernel, 1, 2048) == invalid
    assert launch(kernel, 1, 128) == Code.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
    attribute = driver.CUfunction_attribute
    shared = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    assert launch(kernel, 1, 64, shared=100 << 10) == invalid
    ok(driver.cuFuncSetAttribute(kernel, shared, 100 << 10))
    assert launch(kernel, 1, 64, shared=100 << 10) == Code.CUDA_SUCCESS
    threads = attribute.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
    assert ok(driver.cuFuncGetAttribute(threads, kernel)) == 64
    assert ok(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(kernel, 64, 0)) > 1


def test_knobs_are_checked() -> None:
    for text in (
        "nothing=1",
        "jitter=1",
        "jitter=-1us",
        "devices=3",
        "fail=x:1",
        "die=kernel",
        "h2d",
    ):
        with pytest.raises(ValueError, match=text.split("=")[0]):
            sim.configure(text)


def run(program: str, **environment: str) -> str:
    """What a process prints that runs `program` with `driver` imported."""
    begin = "import os, sim\nsim.load()\nfrom cuda.bindings import driver\n"
    done = subprocess.run(
        [sys.executable, "-c", begin + program],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.strip() + done.stderr.strip()


def test_a_machine_without_devices() -> None:
    program = "print(driver.cuInit(0)[0].name, driver.cuDeviceGetCount()[0].name)"
    said = run(program, ONEFLOW_LITE_CUDA_SIM="devices=0")
    assert said == "CUDA_ERROR_NO_DEVICE CUDA_ERROR_NOT_INITIALIZED"


def test_the_environment_says_what_the_machine_is() -> None:
    program = "driver.cuInit(0); print(driver.cuDeviceGetCount()[1], driver.cuDeviceTotalMem(2)[1])"
    assert run(program, ONEFLOW_LITE_CUDA_SIM="devices=3,memory=2MB") == f"3 {2 << 20}"
    said = run("print(driver.cuInit(0)[0].name)", ONEFLOW_LITE_CUDA_SIM="devises=3")
    assert said.startswith("CUDA_ERROR_INVALID_VALUE")
    assert "devises=3: no such knob" in said


FORK = """
import warnings
warnings.simplefilter("ignore")
BEFORE
child = os.fork()
if child == 0:
    print(driver.cuInit(0)[0].name, driver.cuDeviceGetCount()[0].name, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_child_of_a_process_that_used_cuda_cannot_use_it() -> None:
    refused = "CUDA_ERROR_NOT_INITIALIZED CUDA_ERROR_NOT_INITIALIZED"
    assert run(FORK.replace("BEFORE", "driver.cuInit(0)")) == refused
    assert run(FORK.replace("BEFORE", "")) == "CUDA_SUCCESS CUDA_SUCCESS"
