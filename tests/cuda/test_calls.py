"""How often the driver is called, on the simulated one, which counts: each call costs a GPU's host
0.3 us to 12 us."""

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated
HEAD = """
import numpy as np, oneflow_lite as flow, sim
from oneflow_lite import _C
"""


def succeeds(run_program: Run, code: str, sim: str = "devices=1", **flags: str) -> None:
    done = run_program(HEAD + code, cuda_sim=sim, **flags)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_worker_does_not_sleep_while_a_thread_waits_for_a_short_kernel(run_program: Run) -> None:
    code = """
from pathlib import Path
x = flow.ones(16, device="cuda:0")
(x + 1).sum().item()
def sleeps():
    "How often the workers of the device have given up their cores, by themselves."
    total = 0
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().startswith("cuda:0"):
            lines = (task / "status").read_text().splitlines()
            total += next(int(s.split()[1]) for s in lines if s.startswith("voluntary"))
    return total
assert sleeps() > 0
fewest = 1000
for _ in range(30):                             # other processes may disturb some
    before = sleeps()
    (x + 1).numpy()
    fewest = min(fewest, sleeps() - before)
assert fewest <= 4, fewest                      # each worker sleeps until there is work
"""
    succeeds(run_program, code, "devices=1,kernel=500us")


def test_events_are_not_made_to_sleep_on(run_program: Run) -> None:
    code = """
x = flow.ones(1000, device="cuda:0")
for i in range(100):
    x = flow.tensor(x.numpy(), device="cuda:0") + i
    y = x.cpu()
live = sim.counters()["live"]
assert live["events"] > 0 and live["blocking events"] == 0, live
"""
    succeeds(run_program, code)


def test_python_code_may_change_the_context_of_a_worker(run_program: Run) -> None:
    code = """
import ctypes
from tests.support.cuda_library import Context, call
from oneflow_lite.cuda import kernels
contexts = [Context(0), Context(1)]
threads = set()
def make(*request):                             # as a finalizer or a hook of the program's might
    call("cuCtxSetCurrent", contexts[1].handle)
    threads.add(open("/proc/thread-self/comm").read().strip())
    return kernels.make_for(*request)
_C.set_kernel_maker(make)
values = np.arange(1000, dtype="float32")
x = flow.tensor(values, device="cuda:0")
for power in (2, 3, 4):
    assert ((x * power).numpy() == values * power).all()
    assert (flow.exp2(x[:power]).numpy() == 2.0 ** values[:power]).all()
    assert (flow.sqrt(x * x)[power:].cuda(1).numpy() == values[power:]).all()
assert "cuda:0 compute" in threads, threads
"""
    succeeds(run_program, code, "devices=2")
