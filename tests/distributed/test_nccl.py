"""Ranks on simulated cuda devices: what they exchange goes from device to device by the simulated
NCCL, with the bits that it has on the host, and fails as it does there."""

import re
import subprocess
from collections.abc import Callable

import pytest

from tests.support.distributed.mpi import Start

Run = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.simulated

HEAD = """
import threading, time, warnings
import numpy as np, pytest, oneflow_lite as flow, sim
from oneflow_lite.distributed import DesyncError, RankError, placement, sbp
from tests.support.distributed.programs import on_ranks

warnings.simplefilter("error")

def ones(count=4, value=1.0):
    return flow.full(count, value, device=flow.device("cuda"))

def connections():
    return flow.distributed.stats().connections

def outcome(function, *errors):
    try:
        function()
    except errors as error:
        return f"{type(error).__name__}: {error}"
    return "no error"
"""


def succeeds(run_program: Run, code: str, devices: int = 4, **flags: str) -> str:
    sim = f"devices={devices},memory=1GB,jitter=30us"
    done = run_program(HEAD + code, cuda_sim=sim, timeout=400, **flags)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# --- what is computed


@pytest.mark.parametrize("sync", ["0", "1"])
def test_random_layouts(run_program: Run, sync: str) -> None:
    """And no tensor goes through the host: only what is looked at is copied there."""
    code = """
from tests.distributed.test_boxing import boxings


for world in (2, 3, 4):
    on_ranks(boxings, world, "cuda", 10 * world, 8)

together = threading.Barrier(4)
def program():
    x = ones(1 << 18).to_global(placement.all("cuda"), sbp.partial_sum)
    flow.synchronize()
    together.wait()
    with sim.counted() as calls:
        y = x.to_global(sbp=sbp.broadcast).to_global(sbp=sbp.split(0)).to_global(sbp=sbp.broadcast)
        flow.synchronize()
        together.wait()
    together.wait()  # what they look at from here on is copied
    assert calls["cuMemcpyHtoDAsync"] == calls["cuMemcpyDtoHAsync"] == 0, calls
    assert connections() == ["cuda [0, 1, 2, 3]: NCCL 2.28.0"], connections()
    assert (y.full().numpy() == 4).all()
on_ranks(program, 4)
"""
    succeeds(run_program, code, sync=sync)


def test_random_programs(run_program: Run) -> None:
    code = """
from tests.support.distributed.random_program import run
for seed in range(12):
    run(seed, 2 + seed % 3, ("default", "naive", "workers")[seed % 3], "cuda")
"""
    succeeds(run_program, code)


def test_sums_and_buckets_have_the_bits_of_the_host(run_program: Run) -> None:
    code = """
def program(device):
    rank, ranks = flow.distributed.rank(), placement.all(device)
    rng = np.random.default_rng(rank)
    sizes = (1, 7, 1000, 100_000, 1 << 18)
    for dtype in ("float32", "float64"):
        parts = [flow.tensor(rng.normal(size=n).astype(dtype), device=flow.device(device))
                 for n in sizes]
        wholes = [x.to_global(ranks, sbp.partial_sum) for x in parts]
        for each in flow.distributed.to_global(wholes, sbp=sbp.broadcast):
            yield each.to_local().numpy()
        for op in ("max", "sum"):
            x = parts[3].to_global(ranks, sbp.partial(op))
            yield x.to_global(sbp=sbp.split(0)).full().numpy()
        yield flow.distributed.tree_sum(parts[2:3] * 3, placement=ranks).full().numpy()

def results(device):
    return flow.distributed.run(lambda: list(program(device)), 3)

for host, device in zip(results("cpu"), results("cuda"), strict=True):
    for a, b in zip(host, device, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
"""
    succeeds(run_program, code)


def test_groups_whose_operands_come_in_another_order(run_program: Run) -> None:
    """Exchanges of two groups begin in the order of the program on each rank."""
    code = """
def program():
    rank = flow.distributed.rank()
    all_ranks, two = placement.all("cuda"), placement("cuda", [0, 1])
    x, y = ones().to_global(all_ranks, sbp.partial_sum), ones().to_global(two, sbp.partial_sum)
    for turn in range(6):
        late = x if rank == turn % 2 else y       # what this rank has late
        if rank < 2:
            host = flow.ones(4)
            flow.vm.host_func(lambda _: time.sleep(0.02), writes=[host])
            part = late.to_local()
            part[...] = host.to(part.device)
        a, b = x.to_global(sbp=sbp.broadcast), y.to_global(sbp=sbp.broadcast)
        assert (a.to_local().numpy() == 3).all()
        if rank < 2:
            assert (b.to_local().numpy() == 2).all()
on_ranks(program, 3)
"""
    succeeds(run_program, code)


def test_what_ranks_leave_behind(run_program: Run) -> None:
    """Ten worlds, one after the other, need no more streams than one."""
    code = """
def program():
    assert ones().to_global(placement.all("cuda"), sbp.partial_sum).full().tolist() == 4 * [3]
on_ranks(program, 3)
before = sim.counters()["live"]
for _ in range(10):
    on_ranks(program, 3)
assert sim.counters()["live"]["streams"] == before["streams"], sim.counters()["live"]
"""
    succeeds(run_program, code)


# --- where they are not connected


def test_ranks_that_share_a_device(run_program: Run) -> None:
    """They go through the host, which is said once."""
    code = """
def program():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            x = ones().to_global(placement.all("cuda"), sbp.partial_sum).full()
    assert x.tolist() == 4 * [3]
    (how,) = connections()
    ranks, why = how.split(": through the host: ")
    assert (ranks, why) == ("cuda [0, 1, 2]", "rank 2 shares its device with another rank"), how
    return [str(each.message) for each in caught]
said = sum(flow.distributed.run(program, 3), [])
assert len(said) == 1 and said[0].startswith("[distributed] what ranks send each other"), said
"""
    succeeds(run_program, code, devices=2)


def test_a_library_that_lets_ranks_share_a_device(run_program: Run) -> None:
    code = """
import os
os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"
def program():
    x = ones().to_global(placement.all("cuda"), sbp.partial_sum).full()
    assert x.tolist() == 4 * [3]
    assert connections() == ["cuda [0, 1, 2]: NCCL 2.28.0"], connections()
on_ranks(program, 3)
"""
    succeeds(run_program, code, devices=2)


@pytest.mark.parametrize("why", ["does not want", "has no"])
def test_without_nccl(run_program: Run, why: str) -> None:
    """Nobody is told who has said so; where it is missing, the ranks are."""
    code = """
WHY = "why given"
if WHY == "has no":
    from oneflow_lite import _C
    _C.set_nccl_finder(lambda: "")
def program():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        x = ones().to_global(placement.all("cuda"), sbp.partial_sum).full()
    assert x.tolist() == 4 * [2]
    assert connections() == [f"cuda [0, 1]: through the host: rank 0 {WHY} NCCL"], connections()
    return len(caught)
assert sum(flow.distributed.run(program, 2)) == (WHY == "has no")
"""
    flags = {"cuda_nccl": "0"} if why == "does not want" else {}
    succeeds(run_program, code.replace("why given", why), **flags)


def test_a_library_of_no_use(run_program: Run) -> None:
    code = """
from oneflow_lite import _C
_C.set_nccl_finder(lambda: "/no/such/file.so")
with pytest.raises(RuntimeError, match=r"\\[nccl\\] cannot be loaded .*ONEFLOW_LITE_CUDA_NCCL=0"):
    flow.distributed.run(
        lambda: ones().to_global(placement.all("cuda"), sbp.partial_sum).full(), 2
    )
"""
    succeeds(run_program, code)


# --- what fails


@pytest.mark.parametrize(
    "call",
    ["ncclCommInitRank", "ncclSend", "ncclRecv", "ncclGroupEnd", "ncclCommGetAsyncError"],
)
@pytest.mark.parametrize("status", [1, 5, 6])
def test_calls_that_fail(run_program: Run, call: str, status: int) -> None:
    """Each rank gets an error that names the call; then the world is of no use, and says so."""
    code = """
def program():
    x = ones(1000).to_global(placement.all("cuda"), sbp.partial_sum)
    sim.configure("fail=CALL:2:STATUS") if flow.distributed.rank() == 1 else None
    texts = [outcome(lambda: x.to_global(sbp=sbp.broadcast).to_local().numpy(), RankError)
             for _ in range(4)]
    assert "no error" not in texts[-1:], texts
    failed = [text for text in texts if text != "no error"]
    assert all("[nccl] " in text for text in failed), texts
    return failed[-1]
began = time.monotonic()
said = flow.distributed.run(program, 3)
assert time.monotonic() - began < 20
"""
    text = code.replace("CALL", call).replace("STATUS", str(status))
    succeeds(run_program, text)


def test_a_device_that_dies_in_an_exchange(run_program: Run) -> None:
    code = """
together = threading.Barrier(2)
def program():
    x = ones(1000).to_global(placement.all("cuda"), sbp.partial_sum)
    assert (x.to_global(sbp=sbp.broadcast).to_local().numpy() == 2).all()
    together.wait()
    if flow.distributed.rank() == 1:
        sim.configure("die=kernel:1:700")
    texts = [outcome(lambda: x.to_global(sbp=sbp.broadcast).to_local().numpy(),
                     RankError, RuntimeError) for _ in range(3)]
    assert texts[-1] != "no error", texts
began = time.monotonic()
flow.distributed.run(program, 2)
assert time.monotonic() - began < 20
"""
    succeeds(run_program, code)


def test_an_operand_that_has_failed(run_program: Run) -> None:
    """Nothing of it moves, and the program goes on."""
    code = """
def program():
    rank, ranks = flow.distributed.rank(), placement.all("cuda")
    x = ones().to_global(ranks, sbp.partial_sum)
    if rank == 1:
        def fail(_): raise ValueError("on purpose")
        fail.__qualname__ = "fail"
        host, part = flow.ones(4), x.to_local()
        flow.vm.host_func(fail, writes=[host])
        part[...] = host.to(part.device)
    text = outcome(lambda: x.full().numpy(), ValueError, RankError)
    expected = "ValueError: on purpose" if rank == 1 else "RankError: rank 1: fail: on purpose"
    assert expected in text, text
    y = ones().to_global(ranks, sbp.partial_sum)
    assert y.full().tolist() == 4 * [3]
on_ranks(program, 3)
"""
    succeeds(run_program, code)


def test_a_rank_that_raises(run_program: Run) -> None:
    code = """
def program():
    x = ones().to_global(placement.all("cuda"), sbp.partial_sum)
    assert x.full().tolist() == 4 * [3]
    if flow.distributed.rank() == 1:
        raise KeyError("on purpose")
    text = outcome(lambda: x.full().numpy(), RankError)
    assert "rank 1: KeyError" in text, text
with pytest.raises(KeyError, match="on purpose"):
    flow.distributed.run(program, 3)
"""
    succeeds(run_program, code)


def test_ranks_that_differ(run_program: Run) -> None:
    code = """
def program():
    x = ones().to_global(placement.all("cuda"), sbp.partial_sum)
    to = sbp.split(0) if flow.distributed.rank() else sbp.broadcast
    text = outcome(lambda: x.to_global(sbp=to).to_local().numpy(), DesyncError)
    assert "rank 0: collective" in text and "reduce_scatter of" in text, text
flow.distributed.run(program, 2)
"""
    succeeds(run_program, code)


def test_a_late_rank(run_program: Run) -> None:
    """The others wait for as long as they are told to."""
    code = """
def program():
    x = ones().to_global(placement.all("cuda"), sbp.partial_sum)
    assert x.full().tolist() == 4 * [2]
    if flow.distributed.rank() == 1:
        time.sleep(2.5)
        return outcome(lambda: x.full().numpy(), RankError)
    return outcome(lambda: x.full().numpy(), RankError)
said = flow.distributed.run(program, 2)
assert all("waited 1 s (ONEFLOW_LITE_CCL_TIMEOUT) for rank 1" in text for text in said), said
"""
    succeeds(run_program, code, ccl_timeout="1")


def test_an_exchange_that_stalls(run_program: Run) -> None:
    """All have come, and the device of one of them does not get on with it."""
    code = """
together = threading.Barrier(2)
def program():
    x = ones().to_global(placement.all("cuda"), sbp.partial_sum)
    assert x.full().tolist() == 4 * [2]
    together.wait()
    if flow.distributed.rank() == 1:
        sim.configure("fail=ncclStall:1:1")  # of whoever comes first
    together.wait()
    began = time.monotonic()
    text = outcome(lambda: x.to_global(sbp=sbp.broadcast).to_local().numpy(), RankError)
    assert "waited 2 s (ONEFLOW_LITE_CCL_TIMEOUT) for its bytes in collective" in text, text
    assert time.monotonic() - began < 30
flow.distributed.run(program, 2)
"""
    succeeds(run_program, code, ccl_timeout="2")


# --- ranks that are processes

CUDA = "devices=4,memory=1GB,jitter=30us"


@pytest.mark.process
def test_processes(start: Start) -> None:
    code = """
from tests.distributed.test_boxing import boxings

boxings("cuda", 3, 12)
x = flow.full(1 << 18, rank + 0.1, device=flow.device("cuda"))
on_host = x.cpu().to_global(everywhere, sbp.partial_sum).full()
on_device = x.to_global(placement.all("cuda"), sbp.partial_sum).full()
assert on_device.device == f"cuda:{rank}"
assert (on_device.cpu() == on_host).all()
(how,) = (each for each in flow.distributed.stats().connections if "[0, 1, 2]" in each)
say(how)
"""
    done = start(3, code=code, cuda_sim=CUDA)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("cuda [0, 1, 2]: NCCL 2.28.0") == 3, done.stdout


@pytest.mark.process
@pytest.mark.parametrize(
    ("end", "ranks", "pattern"),
    [
        ("raise ValueError('on purpose')", 2, r"RankError: rank 1: ValueError: on purpose"),
        ("sys.exit(3)", 2, r"DesyncError: rank 1 has ended; rank \d: collective \d+"),
        ("os.kill(os.getpid(), 9)", 0, ""),
    ],
)
def test_processes_that_end(start: Start, end: str, ranks: int, pattern: str) -> None:
    code = f"""
x = flow.ones(1 << 18, device=flow.device("cuda")).to_global(placement.all("cuda"), sbp.partial_sum)
assert (x.full() == 3).all()
if rank == 1: {end}
x.full().numpy()
"""
    done = start(3, code=code, cuda_sim=CUDA, ccl_timeout="8")
    assert done.returncode != 0, done.stdout
    assert len(re.findall(pattern, done.stdout)) >= ranks, done.stdout
