"""Functions and kernels on the streams of a GPU, on the simulated driver: each test in a process of
its own, with another library (cuda_library.py) that has streams of its own."""

import subprocess
from collections.abc import Callable

import pytest

import oneflow_lite as flow
from oneflow_lite import engine

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = """
import ctypes, sys, threading
import numpy as np, oneflow_lite as flow, sim
from oneflow_lite import engine
from tests.support.cuda_library import Library, call
VALUES = np.arange(60000, dtype="float32").reshape(200, 300)
def raises(kind, text, use):
    try:
        use()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
def copy(run, source, target):
    "Enqueues a copy, as a library that is given the stream does."
    to, of = (view.__cuda_array_interface__["data"][0] for view in (target, source))
    bytes_ = ctypes.c_size_t(int(np.prod(source.shape)) * source.dtype.itemsize)
    call("cuMemcpyDtoDAsync", ctypes.c_uint64(to), ctypes.c_uint64(of), bytes_,
         ctypes.c_void_p(run.stream))
"""
JITTER = "devices=2,jitter=100us"


def succeeds(run_program: Run, code: str, **flags: str) -> None:
    done = run_program(HEAD + code, **{"cuda_sim": JITTER} | flags)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.simulated
@pytest.mark.parametrize("stream", ["compute", "h2d", "d2h"])
def test_a_function_launches_into_the_order_of_the_machine(run_program: Run, stream: str) -> None:
    code = f"""
x = flow.tensor(VALUES, device="cuda:1")
y = flow.zeros((200, 300), flow.float32, device="cuda:1")
total = np.zeros_like(VALUES)
for k in range(50):
    x += 1
    done = engine.push(copy, [x], [y], device="cuda:1", stream={stream!r})
    total += (y * 2).numpy() if k % 10 == 0 else 0
    y[0] = k
expected = VALUES + 50
expected[0] = 49
assert done.result() is None
assert (y.numpy() == expected).all()
assert (total == sum(2 * (VALUES + 1 + k) for k in range(0, 50, 10))).all()
"""
    succeeds(run_program, code)


@pytest.mark.simulated
def test_a_function_is_called_before_the_device_has_run(run_program: Run) -> None:
    code = """
x = flow.zeros(1000, device="cuda:0")
for _ in range(20):
    x = flow.sqrt(x + 1)
begun = threading.Event()
def note(run, view):
    begun.set()
    assert not sim_done(), "nobody has waited for the device"
def sim_done():
    return last.done()
y = x * 2
last = y.ready()
engine.push(note, [x], device="cuda:0").wait()
assert begun.is_set()
"""
    succeeds(run_program, code, cuda_sim="devices=1,kernel=20ms")


@pytest.mark.simulated
def test_what_a_view_says(run_program: Run) -> None:
    code = """
x = flow.tensor(VALUES, device="cuda:0")
seen = []
def look(run, source, target):
    assert run.stream and run.__cuda_stream__() == (0, run.stream)
    assert (run.device, source.device, source.shape) == (flow.Device("cuda:0"),) * 2 + ((3, 300),)
    assert not source.writable and target.writable
    about = source.__cuda_array_interface__
    assert about["stream"] is None and about["data"][1] is True and about["typestr"] == "<f4"
    assert about["strides"] == source.strides == (2400, 4)
    assert target.__cuda_array_interface__["data"][1] is False
    assert source.__dlpack_device__() == (2, 0)
    raises(ValueError, "ambiguous", lambda: target.__dlpack__(stream=0))
    raises(TypeError, "handle", lambda: target.__dlpack__(stream=-7))
    raises(BufferError, "max_version", lambda: source.__dlpack__(stream=run.stream))
    raises(BufferError, "no copy", lambda: target.__dlpack__(copy=True))
    raises(BufferError, "is on cuda:0", lambda: target.__dlpack__(dl_device=(1, 0)))
    assert "dltensor" in repr(target.__dlpack__(stream=run.stream))
    assert "dltensor_versioned" in repr(source.__dlpack__(stream=-1, max_version=(1, 0)))
    seen.extend([source, run])
engine.push(look, [x[4:10:2]], [flow.empty(2, device="cuda:0")], device="cuda:0").wait()
view, run = seen
raises(RuntimeError, "ended", lambda: view.__cuda_array_interface__)
raises(RuntimeError, "ended", lambda: view.__dlpack__(stream=run.stream, max_version=(1, 0)))
"""
    succeeds(run_program, code)


@pytest.mark.simulated
def test_work_on_a_stream_of_its_own_is_ordered_by_dlpack(run_program: Run) -> None:
    code = '''
library = Library(0)
x = flow.tensor(VALUES, device="cuda:0")
y = flow.zeros((200, 300), flow.float32, device="cuda:0")
bytes_ = ctypes.c_size_t(VALUES.nbytes)
def wipe_then_copy(run, source, target):
    """Each stream stands for a while: what does not wait for it is done long before."""
    before = library.close(run.stream)
    of, to = (ctypes.c_uint64(one.__cuda_array_interface__["data"][0]) for one in (source, target))
    with library.context:
        call("cuMemsetD8Async", to, ctypes.c_ubyte(7), bytes_, ctypes.c_void_p(run.stream))
    taken = [library.take(one) for one in (source, target)]
    after = library.close()
    with library.context:
        call("cuMemcpyDtoDAsync", to, of, bytes_, library.stream)
    if EARLY == "source":
        after.open()  # the copy would be done before the wiping
        threading.Timer(0.05, before.open).start()
    else:
        before.open()  # what the caller adds would be done before the copy
        threading.Timer(0.05, after.open).start()
for EARLY in ("source", "target"):
    for k in range(5):
        x += 1
        engine.push(wipe_then_copy, [x], [y], device="cuda:0")
        y += 1
        assert (y.numpy() == x.numpy() + 1).all(), (EARLY, k)
'''
    succeeds(run_program, code)


@pytest.mark.simulated
def test_tensors_of_the_host_come_as_arrays(run_program: Run) -> None:
    code = """
x = flow.tensor(VALUES, device="cuda:0")
h = flow.zeros((200, 300), flow.float32)
def fetch(run, source, array):
    assert isinstance(array, np.ndarray)
    call("cuMemcpyDtoHAsync", ctypes.c_void_p(array.ctypes.data),
         ctypes.c_uint64(source.__cuda_array_interface__["data"][0]),
         ctypes.c_size_t(array.nbytes), ctypes.c_void_p(run.stream))
for k in range(10):
    x += 1
    h *= 0
    engine.push(fetch, [x], [h], device="cuda:0", stream="d2h")
    assert (h.numpy() == VALUES + k + 1).all()
raises(ValueError, "cuda:1", lambda: engine.push(fetch, [x], [h], device="cuda:1"))
"""
    succeeds(run_program, code)


@pytest.mark.simulated
@pytest.mark.parametrize("stream", ["compute", "h2d", "d2h"])
def test_memory_of_the_host_is_in_order(run_program: Run, stream: str) -> None:
    """The function uses it when it is called, and queues when they come to it."""
    code = f"""
for k in range(20):
    p = flow.full(200_000, 3.0, pin_memory=True)
    flow.synchronize()
    sent = p.to("cuda:0")                                   # reads p when its queue comes to it
    engine.push(lambda run, a: a.fill(9), [], [p], device="cuda:0", stream={stream!r})
    again = p.to("cuda:0")
    assert (sent.numpy() == 3).all() and (again.numpy() == 9).all(), k
"""
    succeeds(run_program, code, cuda_sim="devices=1,jitter=3ms")


@pytest.mark.simulated
def test_a_c_function_gets_the_stream(run_program: Run) -> None:
    code = """
x = flow.tensor(VALUES, device="cuda:0")
y = flow.empty((200, 300), flow.float32, device="cuda:0")
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint64), ctypes.c_void_p)
def fill(argument, memory, stream):
    call("cuMemcpyDtoDAsync", ctypes.c_uint64(memory[1]), ctypes.c_uint64(memory[0]),
         ctypes.c_size_t(VALUES.nbytes), ctypes.c_void_p(stream))
    return 0
code = engine.CFunction(fill, status=True)
x += 1
engine.push(code, [x], [y], device="cuda:0")
assert ((y + 1).numpy() == VALUES + 2).all()
raises(ValueError, "row-major", lambda: engine.push(code, [x[:, ::2]], [y], device="cuda:0"))
"""
    succeeds(run_program, code)


AXPY = '''
AXPY = engine.CudaKernel("""
extern "C" __global__ void axpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}""", "axpy")
'''


@pytest.mark.simulated
def test_a_kernel_is_one_instruction_of_the_compute_stream(run_program: Run) -> None:
    code = (
        AXPY
        + """
for device in ("cuda:0", "cuda:1"):
    x = flow.tensor(VALUES, device=device)
    y = flow.zeros((200, 300), flow.float32, device=device)
    for k in range(20):
        x += 1
        done = AXPY.push(240, 250, [np.int32(60000), np.float32(2), x, y], writes=[y])
        y -= x
    expected = sum(VALUES + 1 + k for k in range(20))
    assert (y.numpy() == expected).all()
    assert done.result() is None
before = y.numpy()
args = (one for one in [ctypes.c_int(1), ctypes.c_float(1), y, y])
step = AXPY.push((1,), [1, 1, 1], args, writes=(one for one in [y]))
after = y.numpy()
assert after[0, 0] == 2 * before[0, 0] and (after.ravel()[1:] == before.ravel()[1:]).all()
"""
    )
    succeeds(run_program, code)


@pytest.mark.simulated
def test_parameters_lie_as_in_a_structure_of_c(run_program: Run) -> None:
    code = '''
from oneflow_lite.engine.cuda_kernel import _packed
assert _packed([np.int32(1), np.complex64(2)])[0][8:] == np.complex64(2).tobytes()
assert len(_packed([np.float64(1), np.complex128(2)])[0]) == 32
class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_char), ("b", ctypes.c_double)]
kernel = engine.CudaKernel("""
struct Pair { char a; double b; };
extern "C" __global__ void all(bool flag, double d, signed char c, Pair pair, long long n, short s,
                               float f, double* out) {
  extern __shared__ double shared[];
  double values[] = {double(flag), d, double(c), double(pair.a), pair.b, double(n), double(s), f};
  shared[threadIdx.x] = values[threadIdx.x];
  out[threadIdx.x + blockDim.x * (blockIdx.x + gridDim.x * blockIdx.y)] = shared[threadIdx.x];
}""", "all")
out = flow.zeros((3, 2, 8), flow.float64, device="cuda:0")
args = [True, 2.5, np.int8(-3), Pair(b"A", 4.5), 1 << 40, np.int16(6), np.float32(0.5), out]
kernel.push((2, 3), 8, args, writes=[out], shared_bytes=64).wait()
expected = [1, 2.5, -3, 65, 4.5, 1 << 40, 6, 0.5]
assert (out.numpy() == expected).all(), out
'''
    succeeds(run_program, code)


@pytest.mark.simulated
def test_lanes_launch_one_kernel_with_different_shared_memory(run_program: Run) -> None:
    code = '''
kernel = engine.CudaKernel("""
extern "C" __global__ void last(int count, float* out) {
  extern __shared__ float shared[];
  shared[count - 1] = float(count);
  out[0] = shared[count - 1];
}""", "last")
def launch(lane, kilobytes):
    count = kilobytes << 8
    with flow.vm.lane(lane):
        out = flow.zeros(1, "float32", device="cuda:0")
        args = [np.int32(count), out]
        kernel.push(1, 1, args, writes=[out], shared_bytes=4 * count).wait()
    assert out.item() == count
raises(RuntimeError, "cuFuncSetAttribute", lambda: launch(1, 300))
for kilobytes, calls_of_driver in ((60, 1), (100, 1), (60, 0), (100, 0), (40, 0), (120, 1)):
    with sim.counted() as calls:
        launch(1, kilobytes)
    assert calls["cuFuncSetAttribute"] == calls_of_driver, (kilobytes, calls)
wrong = []
def repeat(lane, kilobytes):
    try:
        for _ in range(60):
            launch(lane, kilobytes)
    except BaseException as error:
        wrong.append(error)
threads = [threading.Thread(target=repeat, args=each) for each in ((1, 100), (2, 60))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong, wrong
'''
    succeeds(run_program, code, cuda_sim="devices=1,call=cuLaunchKernel:20us")


@pytest.mark.simulated
def test_kernels_that_are_wrong(run_program: Run) -> None:
    code = (
        AXPY
        + """
x, y = flow.zeros(8, flow.float32, device="cuda:0"), flow.zeros(8, flow.float32, device="cuda:1")
n, a = np.int32(8), np.float32(1)
raises(ValueError, "one device, got cuda:0, cuda:1", lambda: AXPY.push(1, 8, [n, a, x, y], [y]))
raises(ValueError, "one device, got none", lambda: AXPY.push(1, 8, [n, a]))
raises(ValueError, "not in args", lambda: AXPY.push(1, 8, [n, a, x, x], [y]))
raises(ValueError, "grid", lambda: AXPY.push(0, 8, [n, a, x, x], [x]))
raises(ValueError, "block", lambda: AXPY.push(1, (32, 33), [n, a, x, x], [x]))
raises(ValueError, "block", lambda: AXPY.push(1, (1, 1, 1, 1), [n, a, x, x], [x]))
raises(TypeError, "float", lambda: AXPY.push((8 / 256,), 8, [n, a, x, x], [x]))
raises(TypeError, "str", lambda: AXPY.push("12", 8, [n, a, x, x], [x]))
raises(TypeError, "float", lambda: AXPY.push(1, 8, [n, a, x, x], [x], shared_bytes=1.5))
raises(TypeError, "args[0]", lambda: AXPY.push(1, 8, [2**64, a, x, x], [x]))
raises(TypeError, "options", lambda: engine.CudaKernel(AXPY.source, "axpy", "--fmad=false"))
raises(TypeError, "args[1]", lambda: AXPY.push(1, 8, [n, "a", x, x], [x]))
raises(ValueError, "row-major", lambda: AXPY.push(1, 4, [n, a, x[::2], x], [x]))
raises(ValueError, "given twice", lambda: AXPY.push(1, 4, [n, a, x, x], [x, x]))
raises(ValueError, "runs no CUDA kernels", lambda: AXPY.push(1, 8, [n, a], device="mock:0"))
broken = engine.CudaKernel("extern \\"C\\" __global__ void f( {", "f")
raises(RuntimeError, "refused a kernel", lambda: broken.push(1, 1, [], device="cuda:0"))
raises(RuntimeError, "cuModuleGetFunction",
       lambda: engine.CudaKernel(AXPY.source, "other").push(1, 1, [], device="cuda:0"))
y /= 0
def boom(run, view):
    raise KeyError("mine")
failed = engine.push(boom, [], [x], device="cuda:0")
skipped = AXPY.push(1, 8, [n, a, x, x], writes=[x])
assert isinstance(skipped.exception(), KeyError)
raises(KeyError, "mine", x.numpy)
"""
    )
    succeeds(run_program, code)


@pytest.mark.parametrize("given", [(1, "f"), ("source", None)])
def test_a_kernel_is_made_of_strings(given: tuple[object, object]) -> None:
    with pytest.raises(TypeError, match=r"\[CudaKernel\]"):
        engine.CudaKernel(*given)  # type: ignore[arg-type]


@pytest.mark.skipif(flow.cuda.is_available(), reason="there is a device")
def test_without_a_device() -> None:
    with pytest.raises(ValueError, match="cuda:0 does not exist"):
        engine.push(print, device="cuda:0")
