"""Random programs on simulated CUDA devices see what NumPy sees, in each way that they run: by
kernels of the devices, what has NumPy's bits there."""

import subprocess
from collections.abc import Callable

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = [pytest.mark.simulated, pytest.mark.slow]
CODE = """
import oneflow_lite as flow
from oneflow_lite import _C
from tests.graph.test_random_traces import generators, traced, wanted
from tests.support.graphs import plans
from tests.support import random_program
from tests.support.oracle import compare

LAYOUTS = [("cuda:0",) * 3, ("cuda:0", "cpu", "cuda:1"), ("cpu", "cuda:1", "cuda:0")]
WAYS = [("auto", "plan"), ("serial", "plan"), ("parallel", "plan"), ("sequential", "plan"),
        ("serial", "fast"), ("serial", "event")]

def check(seed, layout, mode, release):
    one = random_program.program(seed, 25, exact=EXACT).on(layout)
    run = flow.graph.compile(traced(one, layout, generators()), mode=mode, release=release)
    run.fill_arena(0xA5)
    plans.check(run)
    if seed % 2:
        _C.wait_for_kernels()  # else members of groups may run one by one
    results = run()
    for (label, seen), x in zip(wanted(one, layout, len(results), generators()), results):
        difference = compare(seen, x.numpy())
        assert difference is None, (seed, layout, mode, release, label, difference)
    return len(run.report()["groups"])

groups = 0
for seed in range(FIRST, FIRST + 8):
    groups += check(seed, LAYOUTS[seed % 3], *WAYS[seed % 6])
assert groups or not EXACT
"""


@pytest.mark.parametrize("first", range(0, 48, 8))
@pytest.mark.parametrize("kernels", ["kernels", "computing on the host"])
def test_bits(run_program: Run, kernels: str, first: int) -> None:
    exact = kernels == "kernels"
    code = CODE.replace("EXACT", str(exact)).replace("FIRST", str(first))
    flags = {"cuda_sim": f"devices=2,jitter=20us,seed={first}", "cuda_kernels": str(int(exact))}
    done = run_program(code, timeout=600, **flags)
    assert done.returncode == 0, done.stdout + done.stderr
