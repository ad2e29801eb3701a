"""A collective that not all ranks come to: one of those that wait says where every rank is."""

import re
import subprocess
from collections.abc import Callable

import pytest

from tests.support.distributed.mpi import Start

pytestmark = pytest.mark.process

RunProgram = Callable[..., subprocess.CompletedProcess[str]]

REPORT = "a collective has waited for 0.3 s (ONEFLOW_LITE_HANG_TIMEOUT) for ranks that have not"
# Each total is two collectives: the shapes are exchanged, then the sums.
IN = r": in collective {}, to_global of float64 \(7,\) to partial\(sum\) .* at .*program\.py:\d+\n"
IDLE = r": idle since collective {}, reduce of float64 \(5,\).* at .*program\.py:\d+\n"

THREADS = """
import os, sys
import oneflow_lite as flow

everywhere = flow.placement("cpu", ranks=[0, 1, 2, 3])

def total(x):
    return x.to_global(everywhere, flow.sbp.partial_sum).full().tolist()

def program():
    rank = flow.distributed.rank()
    total(flow.ones(5))
    if rank == 2:  # until the report is there
        text = b""
        while b"ONEFLOW_LITE_HANG_TIMEOUT" not in text or b"rank 2: " not in text:
            text += os.read(reads, 4096)
        print(text.decode())
    total(flow.ones(7))
    return total(flow.ones(7))

reads, writes = os.pipe()
os.dup2(writes, 2)
assert flow.distributed.run(program, 4) == 4 * [[4.0] * 7]
os.close(2)
os.close(writes)
rest = b"".join(iter(lambda: os.read(reads, 4096), b""))
print(rest.decode())
"""


@pytest.mark.parametrize("naive", ["0", "1"])
def test_ranks_that_are_threads(naive: str, run_program: RunProgram) -> None:
    done = run_program(THREADS, hang_timeout="300ms", sync=naive)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(REPORT) == 1
    assert re.search("  ranks 0, 1, 3" + IN.format(2), done.stdout), done.stdout
    assert re.search("  rank 2" + IDLE.format(1), done.stdout), done.stdout


def test_it_can_be_switched_off(run_program: RunProgram) -> None:
    code = """
import time
import oneflow_lite as flow

def program():
    if flow.distributed.rank(): time.sleep(1)
    return flow.ones(2).to_global(flow.placement.all("cpu"), flow.sbp.partial_sum).full().tolist()

print(flow.distributed.run(program, 2))
"""
    done = run_program(code, hang_timeout="0")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "[[2.0, 2.0], [2.0, 2.0]]\n")


# Of three processes, each writes what it has to say of hangs to one file.
SHARED = """
log = os.open("log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
os.dup2(log, 2)
total(flow.ones(5))
def wait_for_report():
    while not any("rank 1: " in line for line in open("log")): time.sleep(0.02)
"""


def test_ranks_that_are_processes(start: Start) -> None:
    """The rank that all wait for is in Python, and answers all the same."""
    done = start(
        3,
        code=SHARED + "if rank == 1: wait_for_report()\n"
        "total(flow.ones(7))\nassert total(flow.ones(7)) == 7 * [3.0]\n"
        "if rank == 1: say(open('log').read())\n",
        hang_timeout="300ms",
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(REPORT) == 1, done.stdout
    assert re.search("  ranks 0, 2" + IN.format(4), done.stdout), done.stdout
    assert re.search("  rank 1" + IDLE.format(3), done.stdout), done.stdout


def test_many_that_wait_are_reported_once(start: Start) -> None:
    done = start(
        2,
        code=SHARED
        + """
x = flow.ones(7).to_global(everywhere, sbp.partial_sum)
if rank == 1:
    while "rank 1: " not in open("log").read(): time.sleep(0.02)
sums = [x.to_global(sbp=sbp.broadcast) for _ in range(300)]
if rank == 1:
    assert open("log").read().count("has waited for") == 1, open("log").read()
assert all(one.to_local().tolist() == 7 * [2.0] for one in sums)
""",
        hang_timeout="300ms",
    )
    assert done.returncode == 0, done.stdout


def test_a_rank_that_is_stopped_does_not_answer(start: Start) -> None:
    done = start(
        3,
        code="total(flow.ones(5))\n"
        "if rank == 1: os.kill(os.getpid(), signal.SIGSTOP)\n"
        "total(flow.ones(7))\n",
        hang_timeout="1s",
        ccl_timeout="10",
    )
    assert done.returncode != 0
    assert "  rank 1: has not answered\n" in done.stdout
    assert re.search(r"  ranks 0, 2: in collective \d+, .* at .*program\.py:\d+\n", done.stdout)


def test_ranks_outside_of_the_group(start: Start) -> None:
    """A collective of some ranks: the others are asked, too, and one has ended its program."""
    done = start(
        4,
        code="""
x = flow.ones(7).to_global(placement("cpu", ranks=[0, 1]), sbp.partial_sum)
if rank == 3: sys.exit()
log = os.open("log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
os.dup2(log, 2)
def seen(): return any("rank 3: " in line for line in open("log"))
if rank == 1:
    while not seen(): time.sleep(0.02)
if rank < 2:
    assert x.full().tolist() == 7 * [2.0]
if rank == 2:
    while not seen(): time.sleep(0.02)
    say(open("log").read())
""",
        hang_timeout="300ms",
    )
    assert done.returncode == 0, done.stdout
    assert re.search(r"  rank 0: in collective 0, .* at .*program\.py:\d+\n", done.stdout)
    assert re.search(r"  ranks 1, 2: idle since collective \d+, .* at .*:\d+\n", done.stdout)
    assert "  rank 3: has ended\n" in done.stdout
