"""Memory of CUDA devices, on the simulated driver: what a driver refuses while our own cache has
memory to give back is asked for once more."""

import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None,
    reason="the simulated driver needs Linux and g++",
)
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
