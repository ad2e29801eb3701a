"""How often the CUDA driver is called, on the simulated one: exactly, so that a call more is seen.

Looks whether work is done are left out, as how many there are depends on time. So is, where work
goes on and on, how often a worker that has caught up records an event: at least for each 32
launches. How many of these events there are is the most that were in flight at once.
"""

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated
HEAD = """
import threading
from collections import Counter
import numpy as np, oneflow_lite as flow, sim
from oneflow_lite import _C

LOOKS = "cuEventQuery", "cuStreamQuery"

def calls_of(program, left_out=()):
    "The calls from its begin until all is done, without looks and what else is left out."
    flow.synchronize()
    with sim.counted() as calls:
        kept = program()
        flow.synchronize()
    for name in (*LOOKS, *left_out):
        calls.pop(name, 0)
    return +calls

def judge(program, expected, left_out=()):
    "Of three times after a first one, as that compiles and allocates."
    program()
    for _ in range(3):
        calls = calls_of(program, left_out)
        assert calls == expected, f"made {dict(calls)}, expected {dict(expected)}"
"""


def succeeds(run_program: Run, code: str, **flags: str) -> None:
    done = run_program(HEAD + code, **{"cuda_sim": "devices=1"} | flags)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_small_add_sustained(run_program: Run) -> None:
    code = """
a, b = flow.ones((2, 16), dtype="float32", device="cuda:0")
def program():
    for _ in range(960):
        c = a + b
    return c
kept = [a + b for _ in range(1200)]  # memory for as many as may be in flight
flow.synchronize()
del kept
judge(program, {"cuLaunchKernel": 960}, ["cuEventRecord", "cuEventCreate"])
made = 0
for _ in range(50):
    with sim.counted() as calls:
        program(), flow.synchronize()
    assert 30 <= calls["cuEventRecord"] <= 480, calls
    made += calls["cuEventCreate"]
assert made <= 480, made  # of at least 1,500 that were recorded
"""
    succeeds(run_program, code)


@pytest.mark.alone  # a group waits for the next operation only so long
def test_a_fused_group(run_program: Run) -> None:
    """The 8-operation chain as one kernel. Its operand comes behind a gate: it is issued whole."""
    code = """
x = np.random.default_rng(1).random(8000, dtype=np.float32)
def chain(a, b):
    return flow.tanh(a * 2 + b) * flow.exp(-a) + flow.sqrt(b)
def program():
    host, opened = flow.tensor(x), threading.Event()
    held = flow.vm.host_func(lambda *_: opened.wait(), writes=[host])
    a = host.to("cuda:0")
    result = chain(a, a)
    opened.set()
    return result
while flow.vm.stats()["fused_instructions"] < 8:  # what is repeated gets a kernel of its own
    program(), flow.synchronize(), _C.wait_for_kernels()
copy = {"cuMemcpyHtoDAsync": 1, "cuEventRecord": 1}
group = {"cuLaunchKernel": 1, "cuEventRecord": 1, "cuStreamWaitEvent": 1}
judge(program, Counter(copy) + Counter(group))
"""
    # The copy takes 160 ms: it is not done when the kernel is launched.
    succeeds(run_program, code, cuda_sim="devices=1,h2d=200kB/s")


@pytest.mark.parametrize("direction", ["h2d", "d2h"])
def test_a_staged_chunk(run_program: Run, direction: str) -> None:
    """Of pageable memory: 32 MiB are 8 of them, of 4 MiB each."""
    code = f"""
x = np.ones(32 << 20, np.uint8)
on_device = flow.tensor(x, device="cuda:0")
copies = {{"h2d": lambda: flow.tensor(x, device="cuda:0"), "d2h": lambda: on_device.cpu()}}
name = {{"h2d": "cuMemcpyHtoDAsync", "d2h": "cuMemcpyDtoHAsync"}}["{direction}"]
chunks = {{name: 8, "cuEventSynchronize": EVENTS, "cuEventRecord": 8}}
copy = {{"cuPointerGetAttribute": 1, "cuEventRecord": 1}}
# The thread that issues asks whether the array is pinned. It has no context of its own.
issuer = {{"cuPointerGetAttribute": 1, "cuCtxGetCurrent": 1, "cuCtxPushCurrent": 1,
           "cuCtxPopCurrent": 1, "cuThreadExchangeStreamCaptureMode": 2}}
if "{direction}" == "d2h":
    issuer = {{}}
judge(copies["{direction}"], Counter(chunks) + Counter(copy) + Counter(issuer))
"""
    waits = {"h2d": "8", "d2h": "16"}[direction]  # for a free chunk; and for what is in it
    succeeds(run_program, code.replace("EVENTS", waits))
