"""How a rank may end, and when: nobody is left running, the status is not 0, and where somebody can
still say something, it names the rank and its line."""

import os
import re
import time
from itertools import product

import pytest

from tests.support.distributed.mpi import Start

pytestmark = pytest.mark.process

HEAD = """
import atexit, os, signal, sys, threading, time
import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp

def total(x):
    return x.to_global(placement.all("cpu"), sbp.partial_sum).full().tolist()

def end():
    {end}

"""
ENDS = {
    "SIGKILL": "os.kill(os.getpid(), signal.SIGKILL)",
    "SIGSEGV": "os.kill(os.getpid(), signal.SIGSEGV)",
    "os._exit": "os._exit(3)",
    "an exception": "raise ValueError('on purpose')",
    "in a thread": "threading.Thread(target=lambda: 1 / 0).start(); time.sleep(60)",
    "sys.exit": "sys.exit(3)",
    "SIGINT": "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)",
}
# The rank that ends is 1, of three.
MOMENTS = {
    "at start": """
if flow.distributed.rank() == 1: end()
total(flow.ones(2))
""",
    "while the others compute": """
total(flow.ones(2))
if flow.distributed.rank() == 1: end()
for _ in range(200): flow.ones((100, 100)) @ flow.ones((100, 100))
flow.synchronize()
total(flow.ones(2))
""",
    "while the others sleep": """
total(flow.ones(2))
if flow.distributed.rank() == 1: end()
time.sleep(3)
total(flow.ones(2))
""",
    "with a collective in flight": """
total(flow.ones(2))
x = flow.ones(1 << 20).to_global(placement.all("cpu"), sbp.partial_sum)
y = x.to_global(sbp=sbp.broadcast)
if flow.distributed.rank() == 1: end()
y.to_local().numpy()
total(flow.ones(2))
""",
    "at exit": """
total(flow.ones(2))
if flow.distributed.rank() == 1: atexit.register(end)
else: total(flow.ones(2))
""",
}
# Each is a start of three processes; what else ends in a collective is in test_processes.py.
on_request = pytest.mark.skipif(
    os.environ.get("OFL_TEST_EXHAUSTIVE") != "1", reason="on request: OFL_TEST_EXHAUSTIVE=1"
)
OFTEN = {
    ("SIGKILL", "at start"),
    ("SIGSEGV", "with a collective in flight"),
    ("os._exit", "while the others sleep"),
    ("an exception", "at exit"),
}
CASES = [
    pytest.param(*case, marks=[] if case in OFTEN else [on_request])
    for case in product(ENDS, MOMENTS)
]
QUIET = {"SIGKILL", "SIGSEGV", "os._exit"}  # the launcher ends the others: they cannot say anything


@pytest.mark.parametrize(("end", "moment"), CASES)
def test_ends(end: str, moment: str, start: Start) -> None:
    began = time.monotonic()
    done = start(3, "-c", HEAD.format(end=ENDS[end]) + MOMENTS[moment], ccl_timeout="20")
    assert done.returncode != 0, done.stdout
    assert time.monotonic() - began < 60, done.stdout  # crowded machines start ranks for long
    if end not in QUIET:
        said = r"RankError: rank 1: |DesyncError: rank 1 has ended|rank 1 has failed:\nTraceback"
        assert re.search(said, done.stdout), done.stdout


def test_out_of_memory(start: Start) -> None:
    """It poisons what is computed of it, on all ranks, and the program goes on."""
    code = """
x = flow.ones(())
if rank == 1:
    x = (flow.broadcast_to(flow.ones(4), (1 << 40, 4)) * 2).sum()
whole = x.to_global(everywhere, sbp.partial_sum)
try:
    whole.full().numpy()
except Exception as error:
    say(type(error).__name__, error)
say(total(flow.ones(1)))
"""
    done = start(3, code=code)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("[3.0]") == 3, done.stdout
    told = r"RankError rank 1: multiply: \[cpu\] out of memory: .* issued at .*program\.py:\d+"
    assert len(re.findall(told, done.stdout)) == 2, done.stdout
    assert done.stdout.count("OutOfMemoryError [cpu] out of memory") == 1, done.stdout
