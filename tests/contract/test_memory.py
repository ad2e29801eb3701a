"""Contract 5: memory exists from when an instruction runs until its last user has run."""

import gc
import os
from collections.abc import Callable

import pytest

import oneflow_lite as flow
from tests.support.machine import Gate

TEMPORARIES = int(os.environ.get("OFL_TEST_TEMPORARIES", "100000"))
MEBIBYTE = 1 << 20


@pytest.mark.parametrize(("device", "part"), [("cpu", 1), ("mock:0", 4)])
def test_queued_temporaries_do_not_raise_the_peak(
    run_program: Callable[..., object], device: str, part: int
) -> None:
    """OFL_TEST_TEMPORARIES=1000000 for the long run."""
    code = """
import resource, sys, oneflow_lite as flow
device, count = sys.argv[1], int(sys.argv[2])
x = flow.ones(1 << 20, dtype=flow.uint8, device=device)
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(count):
    x + x
flow.synchronize()
stats = flow.memory_stats(device)
print(stats["peak_held"], (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - rss) * 1024)
print(stats["in_use"])
"""
    done = run_program(code, device, str(TEMPORARIES // part), timeout=1800)
    assert (done.returncode, done.stderr) == (0, "")
    peak, resident, in_use = map(int, done.stdout.split())
    assert in_use == MEBIBYTE
    assert peak <= 64 * MEBIBYTE  # one at a time, and what a queue has launched
    assert resident <= 256 * MEBIBYTE


@pytest.mark.parametrize(("elements", "most"), [(100_000, 96), (1_000_000, 416)])
def test_streams_ahead_of_each_other_do_not_raise_the_peak(
    run_program: Callable[..., object], elements: int, most: int
) -> None:
    """A loop of copies and computation that never looks: each stream could launch far ahead."""
    code = """
import resource, sys, numpy as np, oneflow_lite as flow
source = np.ones(int(sys.argv[1]), np.float32)
def run_round():
    return (flow.tensor(source).mock() * 2 + 1).cpu()
for _ in range(20):
    run_round().numpy()
rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(400_000_000 // source.size):
    run_round()
flow.synchronize()
print(*(flow.memory_stats(device)["peak_held"] for device in ("mock:0", "cpu")))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - rss) * 1024)
"""
    done = run_program(code, str(elements))
    assert (done.returncode, done.stderr) == (0, "")
    device, host, resident = map(int, done.stdout.split())
    assert device <= min(most, 256) * MEBIBYTE  # two results of a round, and a few rounds
    assert host <= most * MEBIBYTE
    assert resident <= 2 * most * MEBIBYTE


@pytest.mark.parametrize("device", ["cpu", "mock:0"])
def test_chains_run_one_after_the_other(run_program: Callable[..., object], device: str) -> None:
    """What is ready first does not run first: an old chain ends before a young one begins."""
    code = """
import sys, oneflow_lite as flow
for i in range(500):
    flow.full((1 << 17,), float(i), device=sys.argv[1]) * 1 + 2  # 1 MiB each
flow.synchronize()
print(flow.memory_stats(sys.argv[1])["peak_in_use"])
"""
    done = run_program(code, device)
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) <= 16 * MEBIBYTE  # 2 when run in order


def test_nothing_is_allocated_before_it_runs(device: flow.Device) -> None:
    flow.synchronize()
    before = flow.memory_stats(device)["in_use"]
    with Gate(1 << 17) as gate:
        x = gate.on(device)
        queued = [x * i for i in range(50)]  # 1 MiB each
        assert flow.memory_stats(device)["in_use"] <= before + 2 * MEBIBYTE
    assert queued[7][0].item() == 0


def test_a_dropped_handle_gives_its_memory_back(device: flow.Device, naive: bool) -> None:
    flow.synchronize()
    before = flow.memory_stats(device)["in_use"]
    x = flow.ones(1 << 17, device=device)
    y = x[5:] + 1
    assert y[0].item() == 2
    assert flow.memory_stats(device)["in_use"] >= before + 2 * MEBIBYTE - 64
    view = x[:3]
    del x, y
    flow.synchronize()
    assert view.tolist() == [1, 1, 1]
    assert flow.memory_stats(device)["in_use"] >= before + MEBIBYTE
    del view
    flow.synchronize()
    assert flow.memory_stats(device)["in_use"] == before


def test_memory_is_reused(device: flow.Device) -> None:
    """Work that ends before the next begins finds the memory that it gave back."""

    def work() -> None:
        assert (flow.ones(1 << 18, device=device) + 1).sum().item() == 1 << 19

    for _ in range(3):
        work()
    before = flow.memory_stats(device)
    for _ in range(20):
        work()
    after = flow.memory_stats(device)
    assert after["device_allocs"] - before["device_allocs"] <= 2
    assert after["cache_hits"] - before["cache_hits"] >= 38


def test_empty_cache(device: flow.Device) -> None:
    x = flow.ones(1 << 18, device=device)
    x.numpy()
    del x
    flow.synchronize()
    assert flow.memory_stats(device)["cached"] >= 2 * MEBIBYTE
    assert flow.empty_cache(device) >= 2 * MEBIBYTE
    left = flow.memory_stats(device)
    assert left["cached"] == 0 or left["in_use"] > 0  # which shares a slab with what is left
    assert flow.empty_cache(device) == 0


def test_a_failed_operation_gives_its_memory_back(device: flow.Device) -> None:
    gc.collect()
    flow.synchronize()
    before = flow.memory_stats(device)["in_use"]

    def fail(_: object) -> None:
        raise ValueError("on purpose")

    x = flow.zeros(1 << 17)
    flow.vm.host_func(fail, writes=[x])
    y = x.to(device) + 1
    with pytest.raises(ValueError, match="on purpose"):
        y.numpy()
    with pytest.raises(ValueError, match="on purpose"):
        flow.synchronize()
    del x, y
    gc.collect()  # the exception keeps the frames that it came through
    flow.synchronize()
    assert flow.memory_stats(device)["in_use"] == before
