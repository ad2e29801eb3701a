"""Copies from, to and between CUDA devices, their memory and their queues, on the simulated driver:
each test in a process of its own. What overlaps is read off the trace; what waits, off a gate that
another library (cuda_library.py) puts into a queue."""

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated
HEAD = """
import sys
import gc
import numpy as np, oneflow_lite as flow, sim
from tests.support.cuda_library import Library
MB = 1 << 20
calls = lambda name: sim.counters()["calls"].get(name, 0)
live = lambda name: sim.counters()["live"][name]
def numbers(count, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 30, count // 4, dtype="int32")
"""


def succeeds(
    run_program: Run, code: str, sim: str = "devices=2", timeout: float = 120, **flags: str
) -> None:
    done = run_program(HEAD + code, timeout=timeout, cuda_sim=sim, **flags)
    assert done.returncode == 0, done.stdout + done.stderr


# --- host and device


@pytest.mark.parametrize("sync", ["0", "1"])
def test_large_arrays_may_be_written_to_at_once(run_program: Run, sync: str) -> None:
    code = """
for size in (3, 4096, 100_000, MB, 4 * MB, 4 * MB + 4, 23 * MB):
    a = numbers(size)
    was = a.copy()
    x = flow.tensor(a, device="cuda:0")
    a[:] = -1
    y = flow.tensor(a).cuda(1)
    back = x.cpu()
    x += 1
    assert (back.numpy() == was).all() and (x.numpy() == was + 1).all(), size
    assert (y.numpy() == -1).all(), size
part = numbers(6 * MB).reshape(1024, -1)
x = flow.tensor(part[::2, ::3], device="cuda:0")
want = part[::2, ::3].copy()
part[:] = 0
assert (x.numpy() == want).all() and (x.T[1:].numpy() == want.T[1:]).all()
"""
    succeeds(run_program, code, "devices=2,jitter=100us,memory=256MB", sync=sync)


def test_a_function_makes_a_large_tensor_that_the_device_takes_after_it(run_program: Run) -> None:
    """It does not wait for the copy, which would be a wait for itself."""
    code = """
from oneflow_lite import engine
a = numbers(4 * MB)
was = a.copy()
def make(_=None):
    x = flow.tensor(a, device="cuda:0")
    a[:] = -1
    return x
def behind_a_barrier():
    flow.vm.barrier()
    return make()
first = flow.vm.host_func(behind_a_barrier).result()
a[:] = was
second = engine.push(make, device="cuda:0", stream="h2d").result()
assert (first.numpy() == was).all() and (second.numpy() == was).all()
"""
    succeeds(run_program, code, timeout=60)


@pytest.mark.parametrize("sync", ["0", "1"])
def test_pinned_arrays_may_be_written_to_at_once(run_program: Run, sync: str) -> None:
    code = """
import ctypes
from tests.support.cuda_library import Context, call
flow.ones(1, device="cuda:0").numpy()
def register(array, size):
    with Context(0):
        call("cuMemHostRegister", ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(size),
             ctypes.c_uint(0), version=6050)
    return array
def takes(array):
    array[:] = values = numbers(array.nbytes, 1)
    x = flow.tensor(array, device="cuda:0")
    array[:] = -1
    assert (x.numpy() == values).all()
ours = np.asarray(flow.empty((4 * MB,), dtype="int32", pin_memory=True))
takes(ours[: MB // 2])                          # 2 MiB: above what is staged at the call
takes(register(numbers(2 * MB), 2 * MB))        # another library's
takes(register(numbers(4 * MB), 1 * MB))        # pinned at its begin only
takes(register(numbers(4 * MB)[MB // 2 :], 2 * MB))
busy = [flow.tensor(numbers(MB), device="cuda:0") for _ in range(64)]
takes(ours[:4096])                              # small, with all that may be staged in use
"""
    succeeds(run_program, code, "devices=1,memory=256MB,h2d=200MB/s", sync=sync)


def test_pinned_memory_is_bounded(run_program: Run) -> None:
    code = """
import ctypes
large = numbers(64 * MB)
most = 0
for i in range(4):
    xs = [flow.tensor(large, device="cuda:0") for _ in range(2)]
    ys = [x.cpu() for x in xs]
    zs = [flow.tensor(large[: MB // 4], device="cuda:0") for _ in range(200)]
    most = max(most, flow.memory_stats("cuda:0")["staging"])
    assert all((y.numpy() == large).all() for y in ys)
    flow.synchronize()
assert most <= 128 * MB, most
assert live("pinned") < 120, sim.counters()["live"]
"""
    succeeds(run_program, code, "devices=1,memory=1GB,h2d=4GB/s")


def test_copies_and_kernels_of_a_loop_over_arrays_overlap(run_program: Run) -> None:
    code = """
from oneflow_lite.profiler import profile
COUNT = 10
arrays = [numbers(2 * MB, i) for i in range(COUNT)]
warm = (flow.tensor(arrays[0], device="cuda:0") + 1).numpy()
def stages_of_loop():
    # When each array was copied, computed with, and copied back.
    with profile() as prof:
        results = [(flow.tensor(array, device="cuda:0") + 1).cpu() for array in arrays]
    for array, result in zip(arrays, results):
        assert (result.numpy() == array + 1).all()
    def runs(lane):
        lane = f"cuda:0 {lane}"
        return sorted((r.begin, r.end) for r in prof.records if r.kind == "run" and r.lane == lane)
    stages = [*map(runs, ("h2d", "compute", "d2h"))]
    assert [*map(len, stages)] == [COUNT] * 3, stages
    return stages
def intersect(*intervals):
    return max(begin for begin, _ in intervals) < min(end for _, end in intervals)
def overlap(h2d, compute, d2h):
    all_three = [intersect(h2d[i + 1], compute[i], d2h[i - 1]) for i in range(1, COUNT - 1)]
    return sum(all_three) >= (COUNT - 2) // 2
# A thread of the simulated device may get no core for long.
assert any(overlap(*stages_of_loop()) for _ in range(10))
"""
    # 40 ms for each stage of an array.
    succeeds(run_program, code, "devices=1,h2d=50MB/s,d2h=50MB/s,kernel=40ms")


def test_a_copy_to_the_host_holds_up_nobody(run_program: Run) -> None:
    code = """
other = Library()
gate = other.close()
values = numbers(8 * MB)
x = flow.from_dlpack(other.array(values)) + 1    # not before the gate is opened
copied = x.cpu()
x += 1                                          # after the copy, in the device's queues
taken = other.take(x)                           # launched, so the copy was, too
assert not copied.is_ready()
gate.open()
assert (copied.numpy() == values + 1).all() and (x.numpy() == values + 2).all()
"""
    succeeds(run_program, code)


def test_pinned_tensors_are_copied_as_they_are(run_program: Run) -> None:
    code = """
values = numbers(24 * MB)
x = flow.empty(values.shape, dtype="int32", pin_memory=True)
assert x.is_pinned() and x[3:].is_pinned() and str(x.device) == "cpu"
assert not (x + 1).is_pinned() and not x.cuda().is_pinned()
np.asarray(x)[:] = values
flow.synchronize()
copies = calls("cuMemcpyHtoDAsync")
for i in range(5):
    y = x.cuda()
    x += 1                                      # at once: after the copy
    assert (y.numpy() == values + i).all() and (x[-9:].numpy() == values[-9:] + i + 1).all()
assert calls("cuMemcpyHtoDAsync") - copies == 5
assert live("pinned") > 0
z = flow.zeros(3, pin_memory=True), flow.ones(3, dtype="int8", pin_memory=True)
assert [t.tolist() for t in z] == [[0, 0, 0], [1, 1, 1]] and all(t.is_pinned() for t in z)
assert flow.full((2,), 7, pin_memory=True).tolist() == [7, 7]
assert flow.full((2, 2), np.arange(2), pin_memory=True).tolist() == [[0, 1], [0, 1]]
for data in ([1, 2], np.arange(2) + 1, flow.tensor([1, 2]), flow.tensor([1, 2]).cuda()):
    made = flow.tensor(data, pin_memory=True)
    assert made.is_pinned() and made.tolist() == [1, 2]
    assert made.numpy().flags.owndata or made.numpy().base is not None
assert flow.empty((0, 3), pin_memory=True).shape == (0, 3)
try:
    flow.empty(3, device="cuda:0", pin_memory=True)
except ValueError as error:
    assert "expected a tensor of the cpu, got device cuda:0" in str(error), error
else:
    raise AssertionError
del x, y, z, made
"""
    succeeds(run_program, code, "devices=1,jitter=100us,memory=256MB")


def test_pinning_names_no_other_device(run_program: Run) -> None:
    code = """
y = flow.ones(3, device="cuda:1")
assert live("contexts") == 1
x = flow.empty(3, pin_memory=True)
assert live("contexts") == 1
"""
    succeeds(run_program, code)


# --- events and memory


def test_events_are_recorded_where_somebody_needs_them(run_program: Run) -> None:
    code = """
from tests.support.machine import Gate
with Gate(1000) as gate:                        # so that all is ready at once
    x = gate.on("cuda:0") + 0
    records = calls("cuEventRecord")
    for i in range(320):
        x = x + 1                               # gives back the former one
assert (x.numpy() == 320).all()
assert calls("cuEventRecord") - records <= 320 / 32 + 20, calls("cuEventRecord") - records
assert live("timed events") == 0, sim.counters()["live"]
from oneflow_lite.profiler import profile
with profile():
    (x + 1).numpy()
assert live("timed events") > 0
"""
    succeeds(run_program, code)


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_memory_goes_from_queue_to_queue_after_its_last_use(run_program: Run, seed: str) -> None:
    code = """
rng = np.random.default_rng(SEED)
host = [rng.normal(size=50_000) for _ in range(4)]
for i in range(60):                             # more than there is memory for, if none came back
    a = flow.tensor(host[i % 4], device="cuda:0")
    b = a * 2
    c = b.cpu()
    d = flow.tensor(host[(i + 1) % 4], device="cuda:0") + b
    e = d.cuda(1)
    del a, b
    assert (c.numpy() == host[i % 4] * 2).all(), i
    assert (e.numpy() == host[(i + 1) % 4] + host[i % 4] * 2).all(), i
    assert (d.numpy() == e.numpy()).all()
"""
    knobs = f"devices=2,jitter=200us,seed={seed},memory=4MB"
    succeeds(run_program, code.replace("SEED", seed), knobs)


# --- peers


@pytest.mark.parametrize("peer", ["0", "1"])
def test_copies_between_devices(run_program: Run, peer: str) -> None:
    code = """
direct = PEER
for size in (4, 4 * MB, 22 * MB + 12):
    values = numbers(size)
    x = flow.tensor(values, device="cuda:0")
    for i in range(3):
        y = x.cuda(1)
        x += 1                                  # after the copy has read it
        z = (y + 1).cuda(0)
        assert (y.numpy() == values + i).all() and (z.numpy() == values + i + 1).all(), size
    assert flow.zeros((0, 3), device="cuda:0").cuda(1).shape == (0, 3)
if direct:
    assert calls("cuMemcpyPeerAsync") == 3 * 3 * 2
    assert calls("cuCtxEnablePeerAccess") == calls("cuDeviceCanAccessPeer") == 2
else:
    assert calls("cuMemcpyPeerAsync") == calls("cuCtxEnablePeerAccess") == 0
    assert calls("cuDeviceCanAccessPeer") == 2
"""
    knobs = f"devices=2,jitter=100us,peer={peer},memory=256MB"
    succeeds(run_program, code.replace("PEER", peer), knobs)


def test_a_driver_with_too_many_peers_goes_through_the_host(run_program: Run) -> None:
    code = """
sim.configure("fail=cuCtxEnablePeerAccess:1:711")
values = numbers(9 * MB)
x = flow.tensor(values, device="cuda:0")
assert (x.cuda(1).numpy() == values).all() and calls("cuMemcpyPeerAsync") == 0
"""
    succeeds(run_program, code)


def test_a_copy_between_devices_that_fails(run_program: Run) -> None:
    code = """
values = numbers(9 * MB)
x = flow.tensor(values, device="cuda:0")
assert (x.cuda(1).numpy() == values).all()
for name in ("cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuStreamWaitEvent", "cuEventRecord"):
    for nth in (1, 2, 3):
        sim.configure(f"fail={name}:{nth}:1")
        y = x.cuda(1)
        try:
            y.numpy()
        except RuntimeError as error:
            assert name in str(error), error
        sim.reset_faults()
        assert (x.cuda(1).numpy() == values).all(), (name, nth)
try:
    flow.synchronize()
except RuntimeError:
    pass
"""
    succeeds(run_program, code, "devices=2,jitter=50us,peer=0")


# --- streams


def test_streams_are_what_the_table_says(run_program: Run) -> None:
    code = """
x = flow.ones(3, device="cuda:1")
y = flow.tensor(np.ones(3), device="cuda:1") + x
y.numpy(), y.cpu()
names = set(flow.vm.stats()["streams"])
assert {f"cuda:1 {name}" for name in ("compute", "h2d", "d2h")} <= names, names
assert not any("cuda:0" in name for name in names)
assert live("contexts") == 1
assert live("streams") == 3 and live("streams of high priority") == 2
"""
    succeeds(run_program, code)
