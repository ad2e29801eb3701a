"""Ranks that are processes: boxing beside calls that move the same bytes, and what a world costs.

All contenders take turns in one run of processes; a sample is the time of the slowest rank, from a
barrier on. Ours has what theirs does not: the check that all ranks mean the same, the hand-over to
the thread that sends, and the look at the result. Sums across ranks are our own.

Then: operations of tensors of many ranks beside local ones; the processor's time of a rank that
waits for a late one, and of one that is idle; communication beside computation; and how soon the
others know when a rank fails or does something else.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp
from report import Report, arguments
from timing import Measurement, Summary

BYTES = (64, 16 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20)
QUICK = (64, 16 << 10)
CROWDED = 64 << 10  # with four ranks, on however many cores
OURS, GLOO = "oneflow_lite", "gloo"
# Times of mpi4py's call: for 64 bytes with Open MPI and with MPICH, and from 1 MiB on; and of
# gloo's.
SMALL_MPI, LARGE_MPI = {"Open MPI": 6.0, "MPICH": 3.0}, 1.2
SMALL_GLOO, LARGE_GLOO = 0.05, 0.8
FAULTS = {
    "exception": "if rank == 1: raise ValueError('on purpose')\ntotal()",
    "another operation": (
        "flow.ones(4).to_global(ranks, sbp.partial_sum).to_global("
        "sbp=sbp.split(0) if rank else sbp.broadcast).to_local().numpy()"
    ),
    "a rank that ends": "if rank == 1: raise SystemExit\ntotal()",
}
# Each rank writes how long it took from when all were there to its error. It does so into a file:
# a launcher that ends a job may leave out what the last ranks printed.
FAULT = """
import sys, time
import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp
rank, ranks = flow.distributed.rank(), placement.all("cpu")
total = lambda: flow.ones(4).to_global(ranks, sbp.partial_sum).full().numpy()
total()
began = time.perf_counter()
try:
    {fault}
except (flow.distributed.RankError, flow.distributed.DesyncError):
    with open(f"{folder}/{{rank}}", "w") as file:
        file.write(str(time.perf_counter() - began))
    raise
"""


# --- boxing


def contenders(size: int, ranks: int) -> dict[str, dict[str, Callable[[], object]]]:
    """By question, what each library calls for float32 tensors of so many bytes a rank."""
    from mpi4py import MPI  # noqa: PLC0415 - only the processes that are ranks start MPI

    world, everywhere = MPI.COMM_WORLD, placement.all("cpu")
    count = size // 4
    own = np.ones(count, np.float32)
    out, whole = np.empty(count, np.float32), np.empty(count * ranks, np.float32)
    partial = flow.tensor(own).to_global(everywhere, sbp.partial_sum)
    rows = flow.tensor(own.reshape(ranks, -1)).to_global(everywhere, sbp.split(0))
    blocks = own.reshape(ranks, -1).copy()
    received = np.empty_like(blocks)

    def look(x: Any) -> object:
        return np.from_dlpack(x.to_local())

    made: dict[str, dict[str, Callable[[], object]]] = {
        "partial to broadcast": {
            OURS: lambda: look(partial.to_global(sbp=sbp.broadcast)),
            "mpi4py Allreduce": lambda: world.Allreduce(own, out),
        },
        "split to broadcast": {
            OURS: lambda: look(rows.to_global(sbp=sbp.broadcast)),
            "mpi4py Allgather": lambda: world.Allgather(own, whole),
        },
        "split to split": {
            OURS: lambda: look(rows.to_global(sbp=sbp.split(1))),
            "mpi4py Alltoall": lambda: world.Alltoall(blocks, received),
        },
    }
    if find_spec("torch"):
        import torch.distributed as dist  # noqa: PLC0415
        from torch import from_numpy  # noqa: PLC0415

        mine, all_of_it = from_numpy(out), from_numpy(whole)
        parts, others = from_numpy(blocks), from_numpy(received)
        made["partial to broadcast"][GLOO] = lambda: dist.all_reduce(mine)
        made["split to broadcast"][GLOO] = lambda: dist.all_gather_into_tensor(all_of_it, mine)
        made["split to split"][GLOO] = lambda: dist.all_to_all_single(others, parts)
    return made


@contextmanager
def gloo(rank: int, size: int) -> Iterator[None]:
    """PyTorch's processes know each other, where PyTorch is installed."""
    if not find_spec("torch"):
        yield
        return
    import torch.distributed as dist  # noqa: PLC0415

    meeting = f"file://{os.environ['BENCH_MEETING']}"
    dist.init_process_group(GLOO, init_method=meeting, rank=rank, world_size=size)
    yield
    dist.destroy_process_group()


def boxings(sizes: tuple[int, ...], samples: int) -> list[dict[str, Any]]:
    """By size and question, each contender's times of the slowest rank, and processor's times."""
    from mpi4py import MPI  # noqa: PLC0415

    world = MPI.COMM_WORLD
    found: list[dict[str, Any]] = []
    for size in sizes:
        for question, calls in contenders(size, world.size).items():
            times: dict[str, list[float]] = {name: [] for name in calls}
            cpu: dict[str, float] = dict.fromkeys(calls, 0.0)
            for name in list(calls) * 3:
                calls[name]()
            for _ in range(samples):
                for name, call in calls.items():
                    world.Barrier()
                    begin, used = time.perf_counter(), time.process_time()
                    call()
                    times[name].append(time.perf_counter() - begin)
                    cpu[name] += time.process_time() - used
            slowest = {
                name: np.max(world.allgather(own), axis=0).tolist() for name, own in times.items()
            }
            sums = {name: world.allreduce(own) for name, own in cpu.items()}
            found.append({"size": size, "question": question, "times": slowest, "cpu": sums})
    return found


# --- what a world costs


def costs(samples: int, is_quick: bool) -> dict[str, Any]:
    """Operations, waiting, idleness, and communication beside computation."""
    from mpi4py import MPI  # noqa: PLC0415

    world, ranks = MPI.COMM_WORLD, placement.all("cpu")
    local = flow.ones((64 // world.size, 16))
    across = flow.ones((64, 16), placement=ranks, sbp=sbp.split(0))
    operations: dict[str, list[float]] = {"local": [], OURS: []}
    for _ in range(samples):
        for name, x in (("local", local), (OURS, across)):
            begin = time.perf_counter()
            for _ in range(100):
                x + x
            flow.synchronize()
            operations[name].append((time.perf_counter() - begin) / 100)
    seconds = 0.1 if is_quick else 1.0
    late, idle = [], []
    for turn in range(2):
        world.Barrier()
        used, begin = time.process_time(), time.perf_counter()
        if world.rank == turn:
            time.sleep(seconds)
        flow.ones(4).to_global(ranks, sbp.partial_sum).full().numpy()
        share = (time.process_time() - used) / (time.perf_counter() - begin)
        late.append(max(world.allgather(0.0 if world.rank == turn else share)))
        world.Barrier()
        used, begin = time.process_time(), time.perf_counter()
        time.sleep(seconds)
        idle.append((time.process_time() - used) / (time.perf_counter() - begin))
    return {"operations": operations, "late": late, "idle": idle, **beside(samples, is_quick)}


def beside(samples: int, is_quick: bool) -> dict[str, Any]:
    """A sum across ranks alone, products alone, and both at once."""
    ranks = placement.all("cpu")
    size = 1 << (10 if is_quick else 20)
    x = flow.ones(size, dtype="float32").to_global(ranks, sbp.partial_sum)
    a = flow.ones((100, 100) if is_quick else (500, 500), dtype="float32")

    def communicate() -> Any:
        return x.to_global(sbp=sbp.broadcast).to_local()

    def compute() -> Any:
        b = a
        for _ in range(3):
            b = b @ a
        return b

    ways: dict[str, Callable[[], tuple[Any, ...]]] = {
        "communication": lambda: (communicate(),),
        "computation": lambda: (compute(),),
        "both": lambda: (communicate(), compute()),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(samples + 2):
        for name, way in ways.items():
            flow.ones(1, placement=ranks, sbp=sbp.partial_sum).full().numpy()
            begin = time.perf_counter()
            for each in way():
                np.from_dlpack(each)
            times[name].append(time.perf_counter() - begin)
    return {"beside": {name: each[2:] for name, each in times.items()}}


# --- the report


def program(options: argparse.Namespace) -> None:
    """What each rank runs; the first one prints what was found."""
    rank, size = flow.distributed.rank(), flow.distributed.world_size()
    sizes, samples = (QUICK, 5) if options.quick else (BYTES, 40)
    with gloo(rank, size):
        if size > 2:
            found: dict[str, Any] = {"boxings": boxings((CROWDED,), samples)}
        else:
            found = {"boxings": boxings(sizes, samples), **costs(samples, options.quick)}
    if rank == 0:
        from mpi4py import MPI  # noqa: PLC0415

        print(
            json.dumps(
                found | {"library": MPI.Get_library_version().split("\0")[0].splitlines()[0]}
            )
        )


def run_ranks(ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    """Start so many processes, which know where PyTorch's may meet."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return subprocess.run(
            [sys.executable, "-m", "oneflow_lite.distributed", "-n", str(ranks), *words],
            env=os.environ | {"BENCH_MEETING": os.path.join(folder, "gloo")},
            capture_output=True,
            text=True,
            check=False,
        )


def found_by(ranks: int, is_quick: bool) -> dict[str, Any]:
    done = run_ranks(ranks, __file__, "--child", *(["--quick"] if is_quick else []))
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measurement(times: dict[str, list[float]]) -> Measurement:
    made = Measurement(list(times))
    for turn in zip(*times.values(), strict=True):
        for name, sample in zip(times, turn, strict=True):
            made.add(name, sample)
    return made


def report_boxings(report: Report, found: dict[str, Any], ranks: int) -> None:
    library = next((name for name in SMALL_MPI if name in found["library"]), "")
    for each in found["boxings"]:
        measured = measurement(each["times"])
        size, theirs = each["size"], measured.names[1]
        label = f"{each['question']}, {size:,} bytes a rank, {ranks} ranks"
        report.times(label, measured, theirs)
        if ranks > 2:
            report.claim(label, measured.ratio(OURS, theirs), f"x {theirs}", goal=1.0)
            used = each["cpu"][OURS] / each["cpu"][theirs]
            report.claim(f"{label}: processor", Summary.of([used]), f"x {theirs}", goal=0.5)
            continue
        is_sum = each["question"] == "partial to broadcast"
        goal = LARGE_MPI if size >= 1 << 20 else SMALL_MPI.get(library) if size <= 64 else None
        if goal is not None and (size > 64 or is_sum):
            report.claim(label, measured.ratio(OURS, theirs), f"x {theirs}", goal=goal)
        goal = LARGE_GLOO if size >= 1 << 20 else SMALL_GLOO if size <= 64 and is_sum else None
        if goal is not None and GLOO in measured.names:
            report.claim(label, measured.ratio(OURS, GLOO), f"x {GLOO}", goal=goal)


def report_costs(report: Report, found: dict[str, Any]) -> None:
    operations = measurement(found["operations"])
    label = "x + x, (64, 16), rows on 2 ranks"
    report.times(label, operations, "local")
    report.claim(label, operations.ratio(OURS, "local"), "x local", goal=1.5)
    for name, question, most in (
        ("late", "waiting for a rank that comes late", 2.0),
        ("idle", "idle in a world", 1.0),
    ):
        shares = Summary.of([100 * share for share in found[name]])
        report.claim(question, shares, "% of a core", goal=most)
    both = measurement(found["beside"])
    label = "a sum of 4 MiB beside products"
    report.times(label, both, "both")
    ratios = [
        b / max(x, y)
        for x, y, b in zip(*(found["beside"][name] for name in both.names), strict=True)
    ]
    report.claim(label, Summary.of(ratios), "x the longer one", goal=1.25)


def report_faults(report: Report, is_quick: bool) -> None:
    """Each is a start of three processes."""
    for name, fault in FAULTS.items():
        after: list[float] = []
        for _ in range(1 if is_quick else 3):
            with tempfile.TemporaryDirectory() as folder:
                code = FAULT.format(fault=fault.replace("\n", "\n    "), folder=folder)
                done = run_ranks(3, "-c", code)
                seconds = [float(file.read_text()) for file in Path(folder).iterdir()]
            if len(seconds) < 2:
                raise SystemExit(f"{name}: {done.stdout}{done.stderr}")
            after.append(max(seconds))
        report.claim(f"{name}: the others know", Summary.of(after), "s", goal=5.0)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        program(options)
        return
    if find_spec("mpi4py") is None:
        raise SystemExit("ranks that are processes need mpi4py: pip install 'oneflow_lite[mpi]'")
    report = Report("bench_distributed")
    two = found_by(2, options.quick)
    report_boxings(report, two, 2)
    report_boxings(report, found_by(4, options.quick), 4)
    report_costs(report, two)
    report_faults(report, options.quick)
    report.note(f"MPI: {two['library']}")
    if not find_spec("torch"):
        report.note("not installed, skipped: PyTorch, whose gloo moves the same bytes")
    report.finish(options.json)


if __name__ == "__main__":
    main()
