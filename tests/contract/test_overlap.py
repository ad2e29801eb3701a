"""Overlap, read off the records of the machine: which intervals intersect."""

import subprocess
from collections.abc import Callable

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.profiler import Profile, profile
from tests.support import ROOT

pytestmark = pytest.mark.alone  # intervals of 20 ms intersect where threads wake up in time

EXAMPLES = ROOT / "examples"
CHUNKS = 10
SIZE = 25_000  # float64: 200 kB
STAGE = "h2d=10MB/s,d2h=10MB/s,compute=1250k/s"  # 20 ms for each stage of a chunk


def runs(prof: Profile, lane: str) -> list[tuple[int, int]]:
    return sorted((r.begin, r.end) for r in prof.records if r.kind == "run" and r.lane == lane)


def intersect(*intervals: tuple[int, int]) -> bool:
    return max(begin for begin, _ in intervals) < min(end for _, end in intervals)


def stream(device: str) -> Profile:
    chunks = [np.full(SIZE, float(i)) for i in range(CHUNKS)]
    with flow.flags(mock=STAGE), profile() as prof:
        results = [(flow.tensor(chunk, device=device) + 1).cpu() for chunk in chunks]
    for i, result in enumerate(results):
        assert (result.numpy() == i + 1).all()
    return prof


def test_copies_and_kernels_of_a_naive_loop_overlap() -> None:
    prof = stream("mock:0")
    h2d, compute, d2h = (runs(prof, f"mock:0 {name}") for name in ("h2d", "compute", "d2h"))
    assert len(h2d) == len(compute) == len(d2h) == CHUNKS
    all_three = [intersect(h2d[i + 1], compute[i], d2h[i - 1]) for i in range(1, CHUNKS - 1)]
    # Each wake-up of a thread may come late on a busy machine, but not all of them.
    assert sum(all_three) >= (CHUNKS - 2) // 2
    for i in range(CHUNKS):  # and never before its operand
        assert h2d[i][1] <= compute[i][0] + 1
        assert compute[i][1] <= d2h[i][0] + 1
    assert prof.hidden_fraction("mock:0 h2d", "mock:0 compute") > 0.4


def test_two_devices_overlap() -> None:
    with flow.flags(mock=STAGE), profile() as prof:
        pending = []
        for i in range(4):
            for device in ("mock:0", "mock:1"):
                pending.append(flow.full((SIZE,), float(i), device=device) + 1)
    assert prof.overlap("mock:0 compute", "mock:1 compute") > 0.3 * prof.busy("mock:0 compute")
    assert [int(x[0].item()) for x in pending] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_naive_mode_does_not_overlap() -> None:
    with flow.flags(sync=True):
        prof = stream("mock:0")
    lanes = [f"mock:0 {name}" for name in ("h2d", "compute", "d2h")]
    for i, first in enumerate(lanes):
        for second in lanes[i + 1 :]:
            assert prof.overlap(first, second) == 0


@pytest.mark.parametrize("device", ["mock:0", "mock:1"])
def test_a_peer_copy_is_ordered_between_the_devices(device: str) -> None:
    other = "mock:1" if device == "mock:0" else "mock:0"
    with flow.flags(mock="jitter=200us,d2d=100MB/s"):
        x = flow.zeros(SIZE, device=device)
        for i in range(10):
            x += 1
            y = x.to(other)
            x += 1
            assert (y.numpy() == 2 * i + 1).all()


STREAM_ON_A_SIMULATED_GPU = """
import sys
import numpy as np
import oneflow_lite as flow
sys.path.insert(0, sys.argv[1])
from stream_photos import STAGES, report_overlap, stream

rng = np.random.default_rng(7)
frames = [rng.integers(0, 256, (60, 50, 3), np.uint8) for _ in range(12)]

def intersect(*intervals):
    return max(begin for begin, _ in intervals) < min(end for _, end in intervals)

for fusion in ("0", "always"):
    with flow.flags(fusion=fusion):
        stream(frames[:1], "cuda:0")  # kernels are compiled
        with flow.profiler.profile() as prof:
            stream(frames, "cuda:0")
    print(report_overlap(prof, "cuda:0"))
    lanes = {stage: sorted((r.begin, r.end) for r in prof.records
                           if r.kind == "run" and r.lane == f"cuda:0 {stage}") for stage in STAGES}
    print(lanes)
    h2d, compute, d2h = lanes.values()
    assert len(h2d) == len(d2h) == len(frames)
    if fusion == "0":  # as many kernels for each frame: never before its operand
        each, rest = divmod(len(compute), len(frames))
        assert rest == 0
        for i in range(len(frames)):  # clocks of events are read apart
            assert h2d[i][1] <= compute[i * each][0] + 50_000, i
            assert compute[(i + 1) * each - 1][1] <= d2h[i][0] + 50_000, i
    assert any(intersect(into, kernel) for into in h2d for kernel in compute)
    assert any(intersect(kernel, out) for kernel in compute for out in d2h)
    together = [intersect(into, kernel, out) for out in d2h for into in h2d for kernel in compute]
    assert sum(together) >= 2, "copies in and out and kernels never ran at once"
"""


@pytest.mark.simulated
def test_the_example_overlaps_on_a_simulated_gpu(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    pytest.importorskip("sklearn", reason="the example needs scikit-learn")
    pytest.importorskip("PIL", reason="the example needs Pillow")
    # A frame's copy in takes 30 ms, its copy out 42: it still goes on when the next frame is there,
    # however few the kernels are that the window leaves of it.
    slow = "devices=1,h2d=300kB/s,d2h=200kB/s,kernel=1ms"
    done = run_program(STREAM_ON_A_SIMULATED_GPU, str(EXAMPLES), cuda_sim=slow)
    assert done.returncode == 0, done.stdout + done.stderr
