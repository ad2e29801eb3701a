"""Faults that a device punishes and that a host would let pass: each is planted here, and seen."""

import threading
from collections.abc import Callable

import numpy as np
import pytest

import sim
from tests.support.gpu import Code, Gate, Gpu, code, driver, launch, ok

MB = 1 << 20
FILL = 'extern "C" __global__ void fill(int* p) { p[threadIdx.x] = threadIdx.x; }'
IN_STRUCT = """
struct Two { long long n; int* p; };
extern "C" __global__ void fill(Two t) { t.p[threadIdx.x] = threadIdx.x; }
"""


def ends_with(expected: Code) -> bool:
    """Whether work fails so, and the context with it, for good."""
    results = [code(driver.cuCtxSynchronize()), code(driver.cuMemAlloc(16))]
    assert results == [expected, expected], results
    return True


# --- pointers to pageable memory


@pytest.mark.parametrize("source", [FILL, IN_STRUCT], ids=["parameter", "in a struct"])
@pytest.mark.parametrize("kind", ["pageable", "pinned", "registered"])
def test_a_kernel_reaches_memory_of_the_host_that_is_pinned(
    gpu: Gpu, source: str, kind: str
) -> None:
    kernel = gpu.kernel(source, "fill")
    array = gpu.pinned(4, np.int32) if kind == "pinned" else np.zeros(4, np.int32)
    address = array.ctypes.data
    if kind == "registered":
        ok(driver.cuMemHostRegister(address, array.nbytes, 0))
    given = np.array([(0, address)], "i8,u8") if source is IN_STRUCT else address
    assert launch(kernel, 1, 4, given) == Code.CUDA_SUCCESS  # it fails when it runs
    if kind == "pageable":
        assert ends_with(Code.CUDA_ERROR_ILLEGAL_ADDRESS)
        return
    ok(driver.cuCtxSynchronize())
    assert list(array) == [0, 1, 2, 3]
    if kind == "registered":
        ok(driver.cuMemHostUnregister(address))


def test_numbers_are_no_pointers(gpu: Gpu) -> None:
    source = """
struct Three { double a; long long b; unsigned c, d; };
extern "C" __global__ void use(Three t, int* p, int* unused) { *p = int(t.a) + int(t.b); }
"""
    given = np.array([(2.0, 5 << 20, 3, 4)], "f8,i8,u4,u4")
    pointer = gpu.put(np.zeros(1, np.int32))
    assert launch(gpu.kernel(source, "use"), 1, 1, given, pointer, 0) == Code.CUDA_SUCCESS
    assert gpu.get(pointer, np.empty(1, np.int32))[0] == 2 + (5 << 20)


# --- alignment


ACCESSES = {
    "a load of 16 bytes": "*(int*)p = reinterpret_cast<const int4*>(p + 4)->x;",
    "a store of 16 bytes": "*reinterpret_cast<int4*>(p + 8) = int4{1, 2, 3, 4};",
    "a load of 8 bytes": "*(int*)p = *reinterpret_cast<const long long*>(p + 4);",
    "a store of 2 bytes": "*reinterpret_cast<short*>(p + 1) = 1;",
    "a struct": "struct alignas(8) S { float x, y; }; *reinterpret_cast<S*>(p + 12) = S{1, 2};",
    "an atomic function": "atomicAdd(reinterpret_cast<int*>(p + 2), 1);",
    "an atomic exchange": "atomicCAS(reinterpret_cast<int*>(p + 2), 1, 2);",
}


@pytest.mark.parametrize("barrier", ["", "__syncthreads();"], ids=["loop", "fibers"])
@pytest.mark.parametrize("name", ACCESSES)
def test_a_misaligned_access_fails(gpu: Gpu, name: str, barrier: str) -> None:
    source = f'extern "C" __global__ void k(char* p) {{ {barrier} {ACCESSES[name]} }}'
    pointer = gpu.put(np.zeros(64, np.uint8))
    kernel = gpu.kernel(source, "k")
    assert launch(kernel, 1, 32, pointer) == Code.CUDA_SUCCESS
    assert ends_with(Code.CUDA_ERROR_MISALIGNED_ADDRESS)


def test_aligned_vectors_do_not(gpu: Gpu) -> None:
    source = """
extern "C" __global__ void k(char* p) {
  *reinterpret_cast<int4*>(p + 16) = int4{1, 2, 3, 4};
  *reinterpret_cast<double2*>(p) = double2{5, 6};
  atomicAdd(reinterpret_cast<int*>(p + 32), 1);
}
"""
    pointer = gpu.put(np.zeros(12, np.int32))
    assert launch(gpu.kernel(source, "k"), 1, 1, pointer) == Code.CUDA_SUCCESS
    assert list(gpu.get(pointer, np.empty(12, np.int32))[4:9]) == [1, 2, 3, 4, 1]


# --- the order of threads


REVERSE = """
extern "C" __global__ void reverse(const int* x, int* y) {
  __shared__ int held[256];
  held[threadIdx.x] = x[threadIdx.x];
  BARRIER
  y[threadIdx.x] = held[blockDim.x - 1 - threadIdx.x];
  __syncthreads();
}
"""
EXCHANGE = """
extern "C" __global__ void exchange(const int* x, int* y) {
  __shared__ int held[32];
  held[threadIdx.x] = x[threadIdx.x];
  BARRIER
  y[threadIdx.x] = held[threadIdx.x ^ 1];
  __syncwarp();
}
"""
RACES: dict[str, tuple[str, str, int, Callable[[np.ndarray], np.ndarray]]] = {
    "a block": (REVERSE, "__syncthreads();", 256, lambda x: x[::-1]),
    "a warp": (EXCHANGE, "__syncwarp();", 32, lambda x: x.reshape(-1, 2)[:, ::-1].ravel()),
}


@pytest.fixture
def twice() -> None:
    """Each kernel is run in two orders, which must agree; the next test has the usual again."""
    sim.configure("lanes=twice")


@pytest.mark.usefixtures("twice")
@pytest.mark.parametrize("name", RACES)
@pytest.mark.parametrize("is_there", [True, False], ids=["barrier", "no barrier"])
def test_a_missing_barrier_shows(gpu: Gpu, name: str, is_there: bool) -> None:
    source, barrier, threads, reference = RACES[name]
    kernel = gpu.kernel(source.replace("BARRIER", barrier if is_there else ""), name_of(source))
    x = np.arange(1, threads + 1, dtype=np.int32)
    given, taken = gpu.put(x), gpu.put(np.zeros_like(x))
    assert launch(kernel, 1, threads, given, taken) == Code.CUDA_SUCCESS
    if not is_there:
        assert ends_with(Code.CUDA_ERROR_LAUNCH_FAILED)
        return
    assert (gpu.get(taken, x) == reference(x)).all()


def name_of(source: str) -> str:
    return source.split("void ")[1].split("(")[0]


@pytest.mark.usefixtures("twice")
@pytest.mark.parametrize("last", ["", "__syncthreads();"], ids=["loop", "fibers"])
def test_threads_and_blocks_that_depend_on_others_show(gpu: Gpu, last: str) -> None:
    source = f"""
extern "C" __global__ void last_one(int* p) {{ *p = blockIdx.x * 1000 + threadIdx.x; {last} }}
"""
    pointer = gpu.put(np.zeros(1, np.int32))
    assert launch(gpu.kernel(source, "last_one"), 50, 64, pointer) == Code.CUDA_SUCCESS
    assert ends_with(Code.CUDA_ERROR_LAUNCH_FAILED)


@pytest.mark.usefixtures("twice")
def test_what_is_written_in_place_is_written_once(gpu: Gpu) -> None:
    source = """
extern "C" __global__ void add(int* p, int* host) { p[threadIdx.x] += 1; atomicAdd(host, 1); }
"""
    pointer, host = gpu.put(np.zeros(64, np.int32)), gpu.pinned(1, np.int32)
    host[0] = 0
    kernel = gpu.kernel(source, "add")
    for _ in range(3):
        assert launch(kernel, 1, 64, pointer, host.ctypes.data) == Code.CUDA_SUCCESS
    assert (gpu.get(pointer, np.empty(64, np.int32)) == 3).all()
    assert host[0] == 3 * 64


@pytest.mark.parametrize("lanes", ["ordered", "random"])
def test_threads_take_their_turns_in_a_random_order(gpu: Gpu, lanes: str) -> None:
    source = 'extern "C" __global__ void turn(int* p) { p[1 + threadIdx.x] = atomicAdd(p, 1); }'
    sim.configure(f"lanes={lanes}")
    kernel, turns = gpu.kernel(source, "turn"), []
    for _ in range(5):
        pointer = gpu.put(np.zeros(65, np.int32))
        assert launch(kernel, 1, 64, pointer) == Code.CUDA_SUCCESS
        turns.append([int(turn) for turn in gpu.get(pointer, np.empty(65, np.int32))[1:]])
    assert all(sorted(turn) == list(range(64)) for turn in turns)
    assert len({tuple(turn) for turn in turns}) == (1 if lanes == "ordered" else 5)
    with pytest.raises(ValueError, match="not a value of this knob"):
        sim.configure("lanes=thrice")


# --- the queue of a stream


def test_a_full_queue_holds_up_the_next_call(gpu: Gpu) -> None:
    stream, free = gpu.stream(), gpu.stream()
    pointer = gpu.put(np.zeros(1, np.int32))
    gate = Gate(stream)  # one of those that are there
    made: list[int] = []
    is_full = threading.Event()

    def fill() -> None:
        gpu.use()
        for number in range(1, 1100):
            if number == 1024:
                is_full.set()
            ok(driver.cuMemsetD32Async(pointer, number, 1, stream))
            made.append(number)

    thread = threading.Thread(target=fill)
    thread.start()
    assert is_full.wait(30)
    thread.join(0.2)  # it would have ended long ago
    assert len(made) == 1023
    ok(driver.cuMemsetD32Async(pointer, 0, 1, free))  # another stream has room
    ok(driver.cuStreamSynchronize(free))
    gate.open()
    thread.join(30)
    assert len(made) == 1099
    ok(driver.cuStreamSynchronize(stream))
    assert gpu.get(pointer, np.empty(1, np.int32))[0] == 1099


# --- memory


def free_bytes() -> int:
    return int(ok(driver.cuMemGetInfo())[0])


def test_memory_is_counted_in_pages(gpu: Gpu) -> None:
    assert free_bytes() == 16 * MB
    few = [ok(driver.cuMemAlloc(1000)) for _ in range(2048)]
    assert free_bytes() == 14 * MB  # all of them are in one page
    few.append(ok(driver.cuMemAlloc(1)))
    assert free_bytes() == 12 * MB
    large = ok(driver.cuMemAlloc(2 * MB + 1))
    assert free_bytes() == 8 * MB
    assert code(driver.cuMemAlloc(8 * MB + 1)) == Code.CUDA_ERROR_OUT_OF_MEMORY
    for pointer in (*few, large):
        ok(driver.cuMemFree(pointer))
    assert free_bytes() == 16 * MB


def test_images_and_pinned_memory_and_others_take_memory(gpu: Gpu) -> None:
    image = sim.compile(FILL, "sm_90")
    sim.configure("module=4MB")
    module = ok(driver.cuModuleLoadData(image))
    assert free_bytes() == 12 * MB
    host = gpu.pinned(3 * MB)  # its pages are in a table of the device
    assert free_bytes() == 10 * MB
    sim.configure("foreign=8MB")
    assert free_bytes() == 2 * MB
    assert code(driver.cuModuleLoadData(image)) == Code.CUDA_ERROR_OUT_OF_MEMORY
    rest = ok(driver.cuMemAlloc(2 * MB))
    ok(driver.cuMemFreeHost(host.ctypes.data))
    sim.configure("foreign=10MB")
    assert free_bytes() == 0
    assert code(driver.cuMemHostAlloc(MB, 0)) == Code.CUDA_ERROR_OUT_OF_MEMORY
    sim.configure("foreign=20MB")  # others may have taken it before, and more is never there
    assert free_bytes() == 0
    sim.configure("foreign=0")
    ok(driver.cuModuleUnload(module))
    ok(driver.cuMemFree(rest))
    assert free_bytes() == 16 * MB


def test_the_host_pins_no_more_than_it_can(gpu: Gpu) -> None:
    sim.configure("pinned=3MB")
    host = gpu.pinned(2 * MB)
    assert code(driver.cuMemHostAlloc(2 * MB, 0)) == Code.CUDA_ERROR_OUT_OF_MEMORY
    ok(driver.cuMemFreeHost(host.ctypes.data))
    gpu.pinned(2 * MB)
