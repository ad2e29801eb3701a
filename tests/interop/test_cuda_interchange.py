"""Memory of CUDA devices to and from other libraries, on the simulated driver: each test in a
process of its own, with another library (cuda_library.py) that has streams of its own."""

import subprocess
from collections.abc import Callable

import pytest

import oneflow_lite as flow

Run = Callable[..., subprocess.CompletedProcess[str]]

HEAD = """
import sys
import gc, threading
import numpy as np, oneflow_lite as flow, sim
from tests.support.cuda_library import Library
VALUES = np.arange(60000, dtype="float32").reshape(200, 300)
def raises(kind, text, use):
    try:
        use()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
"""
JITTER = "devices=2,jitter=100us"


def succeeds(run_program: Run, code: str, **flags: str) -> None:
    done = run_program(HEAD + code, **{"cuda_sim": JITTER} | flags)
    assert done.returncode == 0, done.stdout + done.stderr


# --- what holds without a device


def test_only_cuda_tensors_have_the_cuda_interface() -> None:
    for name in ("cpu", "mock:0"):
        x = flow.zeros(2, device=name)
        assert not hasattr(x, "__cuda_array_interface__")
        with pytest.raises(AttributeError, match="has no __cuda_array_interface__"):
            _ = x.__cuda_array_interface__


@pytest.mark.skipif(flow.cuda.is_available(), reason="there is a device")
def test_pinned_memory_needs_a_device() -> None:
    for make in (flow.empty, flow.zeros, flow.ones):
        with pytest.raises(RuntimeError, match=r"\[pin_memory\] there is no device"):
            make(3, pin_memory=True)
    assert not flow.zeros(3).is_pinned()


# --- out


@pytest.mark.simulated
@pytest.mark.parametrize("way", ["dlpack", "interface"])
def test_a_consumer_is_ordered_and_nobody_waits_for_the_device(run_program: Run, way: str) -> None:
    code = """
other = Library()
array = other.array(VALUES)
gate = other.close()
held = other.array(VALUES)                      # behind the gate
x = flow.from_dlpack(held)
y = x * 2 + 1                                   # behind it, too
consumer = Library()
if sys.argv[1] == "dlpack":
    taken = consumer.take(y)
    address, shape = taken.address, taken.shape
    assert taken.device == (2, 0) and taken.flags == 0 and taken.strides == (300, 1)
else:
    given = y.__cuda_array_interface__
    assert given["version"] == 3 and given["strides"] is None and given["typestr"] == "<f4"
    (address, read_only), shape = given["data"], given["shape"]
    assert not read_only
    from tests.support.cuda_library import Handle, call
    import ctypes
    event = Handle()
    with consumer.context:
        call("cuEventCreate", ctypes.pointer(event), ctypes.c_uint(2))
        call("cuEventRecord", event, Handle(given["stream"]))
        call("cuStreamWaitEvent", consumer.stream, event, ctypes.c_uint(0))
result = consumer.read(address, shape, "float32")
assert not y.is_ready()                         # all of this is queued only
gate.open()
consumer.synchronize()
assert (result == VALUES * 2 + 1).all()
"""
    succeeds(run_program, code.replace("sys.argv[1]", repr(way)))


@pytest.mark.simulated
def test_a_consumer_of_the_interface_that_knows_of_no_streams(run_program: Run) -> None:
    code = """
other = Library()
gate = other.close()
y = flow.from_dlpack(other.array(VALUES)) + 1
consumer = Library(flags=0)                     # ordered with the legacy default stream
given = y.__cuda_array_interface__
result = consumer.read(given["data"][0], given["shape"], "float32")
gate.open()
consumer.synchronize()
assert (result == VALUES + 1).all()
"""
    succeeds(run_program, code)


@pytest.mark.simulated
def test_a_consumer_may_write_after_our_reads(run_program: Run) -> None:
    code = """
other = Library()
x = flow.tensor(VALUES, device="cuda:0")
x.numpy()
gate = other.close()
late = flow.from_dlpack(other.array(VALUES))    # holds up our queue
y = late + x                                    # reads x, late
copied = x.cpu()
taken = other.take(x, stream=Library().handle)
consumer = Library()
again = consumer.take(x)
consumer.fill(again.address, 0, VALUES.nbytes)
gate.open()
consumer.synchronize()
assert (y.numpy() == VALUES * 2).all() and (copied.numpy() == VALUES).all()
assert (x.numpy() == 0).all()
"""
    succeeds(run_program, code)


@pytest.mark.simulated
@pytest.mark.parametrize("stream", ["None", "1", "2"])
def test_default_streams_wait(run_program: Run, stream: str) -> None:
    code = """
other = Library()
gate = other.close()
y = flow.from_dlpack(other.array(VALUES)) + 1
consumer = Library(flags=0)                     # ordered with the default streams
taken = consumer.take(y, stream=STREAM)
result = consumer.read(taken.address, taken.shape, "float32")
gate.open()
consumer.synchronize()
assert (result == VALUES + 1).all()
"""
    succeeds(run_program, code.replace("STREAM", stream))


@pytest.mark.simulated
def test_what_a_consumer_may_ask_for(run_program: Run) -> None:
    code = """
x = flow.tensor(VALUES, device="cuda:1")
consumer, own = Library(0), Library(1)
assert x.__dlpack_device__() == (2, 1)
raises(ValueError, "stream 0 is ambiguous", lambda: x.__dlpack__(stream=0))
raises(TypeError, "expected a stream's handle", lambda: x.__dlpack__(stream="s"))
raises(ValueError, "expected stream=None", lambda: flow.ones(2).__dlpack__(stream=1))
raises(BufferError, "expected dl_device", lambda: x.__dlpack__(dl_device=(2, 2)))
raises(BufferError, "copy only", lambda: x.__dlpack__(dl_device=(2, 0), copy=False))
raises(BufferError, "copy only", lambda: x.__dlpack__(dl_device=(1, 0), copy=False))

unordered = own.take(x, stream=-1)
x.numpy()
result = own.read(unordered.address, unordered.shape, "float32")
own.synchronize()
assert (result == VALUES).all()

copy = own.take(x, copy=True)
assert copy.flags == 2 and copy.address != unordered.address
moved = consumer.take(x, dl_device=(2, 0))
assert moved.flags == 2 and moved.device == (2, 0)
from_host = consumer.take(flow.tensor(VALUES), dl_device=(2, 0))
for library, taken in ((own, copy), (consumer, moved), (consumer, from_host)):
    result = library.read(taken.address, taken.shape, "float32")
    library.synchronize()
    assert (result == VALUES).all()
    taken.release()
assert (np.from_dlpack(x, device="cpu") == VALUES).all()

part = own.take(x[3:5, ::2])
assert part.shape == (2, 150) and part.strides == (300, 2)
assert part.address == unordered.address + 3 * 1200
given = x.T.__cuda_array_interface__
assert given["strides"] == (4, 1200) and given["shape"] == (300, 200)
wide = flow.broadcast_to(x[0], (4, 300))
assert own.take(wide).flags == 1 and wide.__cuda_array_interface__["data"][1]
raises(BufferError, "read-only", lambda: wide.__dlpack__(stream=own.handle))
none = flow.empty((0, 3), device="cuda:1")
assert own.take(none).address == 0 and none.__cuda_array_interface__["data"] == (0, False)
"""
    succeeds(run_program, code)


@pytest.mark.simulated
def test_memory_outlives_the_tensor_for_what_the_consumer_has_queued(run_program: Run) -> None:
    code = """
consumer = Library()
for way in ("here", "elsewhere", "interface"):
    x = flow.tensor(VALUES, device="cuda:0")
    if way == "interface":
        x.numpy()
        address, shape = x.__cuda_array_interface__["data"][0], x.shape
    else:
        taken = consumer.take(x)
        address, shape = taken.address, taken.shape
    gate = consumer.close()
    result = consumer.read(address, shape, "float32")
    del x
    if way == "here":
        taken.release()
    elif way == "elsewhere":
        thread = threading.Thread(target=taken.release)
        thread.start()
        thread.join()
    # As large, again and again: nobody gets the memory while the gate is closed.
    for i in range(20):
        flow.full(VALUES.shape, i, dtype="float32", device="cuda:0").numpy()
    gate.open()
    consumer.synchronize()
    assert (result == VALUES).all(), way
flow.synchronize()
before = flow.cuda.memory_stats(0)["in_use"]
gc.collect()
assert flow.cuda.memory_stats(0)["in_use"] <= before
"""
    succeeds(run_program, code)


@pytest.mark.simulated
def test_a_failed_tensor_is_not_handed_over(run_program: Run) -> None:
    code = """
x = flow.tensor(VALUES, device="cuda:0")
x.numpy()
sim.configure("fail=cuMemcpyDtoDAsync:1:1,fail=cuLaunchKernel:1:1")
y = x + 1
raises(RuntimeError, "cuLaunchKernel", lambda: y.__dlpack__(stream=1))
raises(RuntimeError, "cuLaunchKernel", lambda: y.__cuda_array_interface__)
sim.reset_faults()
sim.configure("fail=cuEventRecord:1:1")
z = flow.tensor(VALUES, device="cuda:0")
try:
    z.__dlpack__(stream=1)
except RuntimeError as error:
    assert "cuEventRecord" in str(error), error
sim.reset_faults()
assert (x.numpy() == VALUES).all()
try:
    flow.synchronize()
except RuntimeError:
    pass
"""
    succeeds(run_program, code)


# --- in


@pytest.mark.simulated
@pytest.mark.parametrize("way", ["dlpack", "interface"])
def test_a_producer_is_waited_for_by_the_queue_and_lives_as_long(
    run_program: Run, way: str
) -> None:
    code = """
other = Library(1)
gate = other.close()
array = other.array(VALUES)                     # behind the gate
if sys.argv[1] == "dlpack":
    x = flow.from_dlpack(array)
    assert array.asked[0]["stream"] > 2
    gone = lambda: array.deleted == 1
else:
    import weakref
    producer = array.interface()
    watch = weakref.ref(producer)
    x = flow.asarray(producer)
    del producer
    gone = lambda: watch() is None
assert str(x.device) == "cuda:1" and x.shape == (200, 300)
y, host = x + 1, x[5:7].cpu()
moved = x.cuda(0)
x[0] = 7
del x
gc.collect()
assert not y.is_ready() and not gone()          # what is queued still needs it
gate.open()
assert (y.numpy() == VALUES + 1).all() and (host.numpy() == VALUES[5:7]).all()
assert (moved.numpy() == VALUES).all()
flow.synchronize()
for _ in range(1000):                           # released in this thread, soon
    if gone():
        break
    threading.Event().wait(0.01)
assert gone()
result = other.read(array.address.value, (300,), "float32")
other.synchronize()
assert (result == 7).all()
"""
    succeeds(run_program, code.replace("sys.argv[1]", repr(way)))


@pytest.mark.simulated
def test_what_the_interface_may_say(run_program: Run) -> None:
    code = """
other = Library()
array = other.array(VALUES)
other.synchronize()
given = lambda **fields: flow.asarray(array.interface(**fields))
assert (given(stream=None).numpy() == VALUES).all()
assert (given(stream=1).numpy() == VALUES).all()
assert (given(version=2).numpy() == VALUES).all()
assert (given(strides=(4, 800), shape=(200, 300)).numpy() ==
        np.lib.stride_tricks.as_strided(VALUES, (200, 300), (4, 800))).all()
assert given(shape=(0, 3), data=(0, False)).shape == (0, 3)
assert given(shape=(), strides=None).item() == 0
address = array.address.value
locked = given(data=(address, True))
raises(ValueError, "read-only", lambda: locked.__setitem__(0, 1))
raises(ValueError, "stream 0 is ambiguous", lambda: given(stream=0))
raises(BufferError, "without a mask", lambda: given(mask=array))
raises(BufferError, "aligned", lambda: given(data=(address + 2, False), shape=(3,)))
half = {"data": (address + 4, False), "shape": (3,), "typestr": "<c8"}
raises(BufferError, "aligned to 8 bytes for complex64", lambda: given(**half))
raises(BufferError, "memory of no cuda device", lambda: given(data=(4096, False)))
raises(BufferError, "expected 2 strides", lambda: given(strides=(4,)))
raises(TypeError, "unsupported dtype", lambda: given(typestr="<M8"))
raises(ValueError, "copy", lambda: flow.asarray(VALUES, copy=False))
assert flow.asarray(array.interface(), copy=False).shape == VALUES.shape
"""
    succeeds(run_program, code)


HOSTILE = """
other = Library()
array = other.array(VALUES)
other.synchronize()
address = array.address.value

class Described:
    def __init__(self, description):
        self.__cuda_array_interface__ = description

class Fails(dict):
    def get(self, *_):
        raise ZeroDivisionError

class Clears:
    def __init__(self, items):
        self.items = items
    def __index__(self):
        self.items.clear()
        return 2

def refused(kind, text, **fields):
    raises(kind, text, lambda: flow.asarray(array.interface(**fields)))
"""


@pytest.mark.simulated
def test_claims_of_memory_that_cannot_be(run_program: Run) -> None:
    code = """
refused(BufferError, "reaches beyond", shape=(1 << 40, 1 << 20), strides=(1 << 62, 1 << 62))
refused(BufferError, "reaches beyond", shape=(4,), strides=(-(1 << 62),))
refused(BufferError, "memory of no cuda device", shape=(4,), strides=(-(1 << 30),))
refused(BufferError, "memory of no cuda device", shape=(1 << 40,))
refused(BufferError, "memory of no cuda device", shape=(2,), strides=(1 << 50,))
refused(BufferError, "negative dimension", shape=(-1,))
refused(BufferError, "aligned to 4 bytes", strides=(3, 3))
refused(ValueError, "too big", shape=(1 << 62, 1 << 62))
refused(ValueError, "at most 32 dimensions", shape=(1,) * 33)
refused(OverflowError, "cannot fit", shape=(10**30,))
refused(OverflowError, "cannot fit", strides=(10**30, 4))
assert flow.asarray(array.interface(shape=(1 << 40,), strides=(0,))).size == 1 << 40
"""
    succeeds(run_program, HOSTILE + code)


@pytest.mark.simulated
def test_pointers_and_dtypes_and_versions_that_are_none(run_program: Run) -> None:
    code = """
# pointers
refused(BufferError, "reaches beyond", shape=(1,), data=((1 << 64) - 4, False))
for pointer in (None, 0, 4096, (1 << 64) - 8):
    refused(BufferError, "memory of no cuda device", shape=(1,), data=(pointer, False))
refused(BufferError, "expected data from 0", data=(-1, False))
refused(BufferError, "expected data from 0", data=(1 << 64, False))
refused(TypeError, "integer", data=(float(address), False))
refused(TypeError, "expected data of 2 entries, got 3", data=(address, False, 1))
refused(TypeError, "expected data as a tuple, got NoneType", data=None)

# dtypes
refused(TypeError, "expected typestr as a string, got NoneType", typestr=None)
refused(TypeError, "not understood", typestr="garbage")
refused(TypeError, "unsupported dtype", typestr="|V4")
for typestr in (">f4", ">i2", ">c8"):
    refused(BufferError, "byte order of this machine", typestr=typestr, shape=(3,))

# versions, streams, masks
refused(TypeError, "expected version as an integer, got str", version="3")
refused(BufferError, "expected version from 0", version=-1)
refused(BufferError, "expected stream from 0", stream=-1)
refused(BufferError, "expected stream from 0", stream=1 << 64)
refused(TypeError, "integer", stream=1.5)
refused(BufferError, "without a mask", mask=False)
"""
    succeeds(run_program, HOSTILE + code)


@pytest.mark.simulated
def test_descriptions_that_are_no_dicts(run_program: Run) -> None:
    code = """
whole = array.interface().__cuda_array_interface__
for name in ("shape", "typestr", "data", "version"):
    part = {key: value for key, value in whole.items() if key != name}
    raises(TypeError, f"expected {name} as", lambda: flow.asarray(Described(part)))
for given in (None, 3, [], "text"):
    raises(TypeError, "expected a dict", lambda: flow.asarray(Described(given)))
raises(ZeroDivisionError, "", lambda: flow.asarray(Described(Fails(whole))))
items = []
items += [Clears(items), Clears(items)]
assert flow.asarray(array.interface(shape=items)).shape == (2, 2)
assert (flow.asarray(array.interface()).numpy() == VALUES).all()
"""
    succeeds(run_program, HOSTILE + code)


@pytest.mark.simulated
def test_tensor_copies_and_asarray_shares(run_program: Run) -> None:
    code = """
other = Library(1)
array = other.array(VALUES)
shared, copied = flow.asarray(array), flow.tensor(array)
there = flow.tensor(array, dtype="float64", device="cuda:0")
host = flow.from_dlpack(array, device="cpu")
raises(BufferError, "copy", lambda: flow.from_dlpack(array, device="cpu", copy=False))
assert (host.numpy() == VALUES).all()
shared += 1
assert (shared.numpy() == VALUES + 1).all() and (copied.numpy() == VALUES).all()
assert (there.numpy() == VALUES).all() and str(there.device) == "cuda:0"
assert str(copied.device) == "cuda:1"
result = other.read(array.address.value, VALUES.shape, "float32")
other.synchronize()
assert (result == VALUES + 1).all()
for dtype in ("int8", "uint16", "int64", "float16", "bool", "complex64", "complex128"):
    values = (VALUES[:3, :5] % 100).astype(dtype)
    assert (flow.asarray(other.array(values)).numpy() == values).all()
    assert (flow.asarray(other.array(values).interface()).numpy() == values).all()
"""
    succeeds(run_program, code)


@pytest.mark.simulated
def test_a_producer_is_asked_on_its_own_device(run_program: Run) -> None:
    code = """
import ctypes
from tests.support.cuda_library import CudaArray, call
current = []
def device_here():
    device = ctypes.c_int(-1)
    call("cuCtxGetDevice", ctypes.pointer(device))
    return device.value
class Strict(CudaArray):                        # as PyTorch's tensors are
    def __dlpack__(self, **asked):
        current.append(device_here())
        return super().__dlpack__(**asked)
here, there = Library(0), Library(1)
with here.context:
    x = flow.from_dlpack(Strict(there, VALUES, None))
    assert device_here() == 0 and current == [1]
assert (x.numpy() == VALUES).all()
"""
    succeeds(run_program, code)


@pytest.mark.simulated
def test_our_own_devices_meet(run_program: Run) -> None:
    code = """
class Exported:
    def __init__(self, x):
        self.x = x
    def __dlpack__(self, **asked):
        return self.x.__dlpack__(**asked)
    def __dlpack_device__(self):
        return self.x.__dlpack_device__()
x = flow.tensor(VALUES, device="cuda:1")
for i in range(20):
    other = flow.from_dlpack(Exported(x), device="cuda:0")
    assert (other.numpy() == VALUES + i).all()
    same = flow.from_dlpack(Exported(x))
    same += 1
flow.synchronize()
assert (x.numpy() == VALUES + 20).all()
"""
    succeeds(run_program, code)
