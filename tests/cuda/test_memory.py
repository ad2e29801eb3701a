"""Memory of CUDA devices, on the simulated driver: what a driver refuses while our own cache has
memory to give back is asked for once more."""

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated
HEAD = """
import gc
import numpy as np, oneflow_lite as flow, sim
MB = 1 << 20
calls = lambda name: sim.counters()["calls"].get(name, 0)
cached = lambda: flow.memory_stats("cuda:0")["cached"]
def idle(size=8 * MB):                          # a block in the cache, and nothing else
    flow.synchronize()
    flow.empty_cache()
    flow.zeros(size, dtype="uint8", device="cuda:0").numpy()
    gc.collect()
    flow.synchronize()
    assert cached() >= size, flow.memory_stats("cuda:0")
"""


def succeeds(run_program: Run, code: str, sim: str = "devices=1", **flags: str) -> None:
    done = run_program(HEAD + code, cuda_sim=sim, **flags)
    assert done.returncode == 0, done.stdout + done.stderr


USES = {
    "cuModuleLoadData:1:2": "(flow.ones(1000, device='cuda:0') ** 3).numpy()",
    "cuModuleGetFunction:1:2": "(flow.ones(1000, device='cuda:0') ** 3).numpy()",
    "cuLaunchKernel:1:2": "(flow.ones(1000, device='cuda:0') + 1).numpy()",
    "cuMemHostAlloc:1:2": "flow.empty(3 * MB, dtype='uint8', pin_memory=True).numpy()",
    # Host memory goes to the device by a queue of its own, which nothing has used yet.
    "cuStreamCreateWithPriority:1:2": "flow.tensor(np.ones(1000), device='cuda:0').numpy()",
    "cublasCreate:1:3": "(matrix @ matrix).numpy()",
    "cublasCreate:1:1": "(matrix @ matrix).numpy()",  # so it says where memory is short
    "cublasGemm:1:3": "(matrix @ matrix).numpy()",
}
WORKSPACE = {"cuMemAlloc:2:2": "(matrix @ matrix).numpy()"}  # the first is the result's


@pytest.mark.parametrize("fault", USES | WORKSPACE)
def test_the_cache_is_given_back_before_a_call_fails(run_program: Run, fault: str) -> None:
    code = """
matrix = flow.ones((64, 64), dtype="float32", device="cuda:0")
matrix.numpy()
idle()
sim.configure("fail=FAULT")
USE
assert cached() < 8 * MB, flow.memory_stats("cuda:0")
flow.synchronize()
"""
    use = (USES | WORKSPACE)[fault]
    succeeds(run_program, code.replace("FAULT", fault).replace("USE", use))


@pytest.mark.parametrize("fault", USES)
def test_memory_that_is_short_twice_is_an_error(run_program: Run, fault: str) -> None:
    code = """
matrix = flow.ones((64, 64), dtype="float32", device="cuda:0")
matrix.numpy()
idle()
sim.configure("fail=FAULT,fail=SECOND")
try:
    USE
except (MemoryError, RuntimeError) as error:
    assert "FAULT".split(":")[0] in str(error) or "pinned host memory" in str(error), error
else:
    raise AssertionError("it cannot have memory")
sim.reset_faults()
USE
try:
    flow.synchronize()
except (MemoryError, RuntimeError):
    pass
"""
    second = fault.replace(":1:", ":2:")
    for name, text in (("FAULT", fault), ("SECOND", second), ("USE", USES[fault])):
        code = code.replace(name, text)
    succeeds(run_program, code)


def test_small_blocks_are_parts_of_slabs(run_program: Run) -> None:
    code = """
first = flow.ones(1, device="cuda:0")
first.numpy()
before, held = calls("cuMemAlloc"), flow.memory_stats("cuda:0")["held"]
xs = [flow.full(n, n, dtype="float32", device="cuda:0") for n in range(1, 20_000, 97)]
assert all((x.numpy() == n).all() for x, n in zip(xs, range(1, 20_000, 97)))
assert calls("cuMemAlloc") - before <= 6, calls("cuMemAlloc") - before
stats = flow.memory_stats("cuda:0")
assert stats["held"] == stats["in_use"] + stats["cached"] and stats["held"] % (2 * MB) == 0, stats
assert stats["allocs"] == stats["cache_hits"] + stats["device_allocs"], stats
del xs
gc.collect()
flow.synchronize()
assert flow.empty_cache() > 0 and first.numpy() == 1
assert flow.memory_stats("cuda:0")["held"] == 2 * MB         # that of `first`
del first
gc.collect()
flow.synchronize()
flow.empty_cache()
assert flow.memory_stats("cuda:0")["held"] == 0 == sim.counters()["live"]["allocations"]
"""
    succeeds(run_program, code, "devices=1,memory=1GB")


def test_where_a_slab_is_refused_a_block_is_had(run_program: Run) -> None:
    code = """
sim.configure("fail=cuMemAlloc:1:2")
x = flow.full(10, 7, device="cuda:0")
assert (x.numpy() == 7).all()
assert flow.memory_stats("cuda:0")["held"] < 2 * MB
sim.configure("fail=cuMemAlloc:1:2,fail=cuMemAlloc:2:2,fail=cuMemAlloc:3:2,fail=cuMemAlloc:4:2")
sim.configure(",".join(f"fail=cuMemAlloc:{n}:2" for n in range(5, 12)))
y = flow.ones(1000, device="cuda:0")
try:
    y.numpy()
except MemoryError as error:
    assert "asked for 7.8 KiB" in str(error), error
else:
    raise AssertionError("there is no memory")
sim.reset_faults()
del y
z = flow.ones(1000, device="cuda:0")
assert z.numpy().sum() == 1000
"""
    succeeds(run_program, code, "devices=1,memory=1GB")


def test_idle_slabs_make_room_for_large_blocks(run_program: Run) -> None:
    code = """
xs = [flow.full(30_000, n, device="cuda:0") for n in range(400)]     # 96 MB
assert all(x[5].item() == n for n, x in enumerate(xs))
kept = xs[::100]
del xs
gc.collect()
large = flow.zeros(240 * MB, dtype="uint8", device="cuda:0")
assert large[-1].item() == 0
assert [x[7].item() for x in kept] == [0, 100, 200, 300]
"""
    succeeds(run_program, code, "devices=1,memory=256MB")
