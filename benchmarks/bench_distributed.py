"""Boxing between ranks that are processes, beside the calls of mpi4py that move the same bytes.

All contenders take turns in one run of two processes; a sample is the time of the slowest rank,
from a barrier on. Ours has what theirs does not: the check that all ranks mean the same, the
hand-over to the thread that sends, and the look at the result. Sums across ranks are our own.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp
from report import Report, arguments
from timing import Measurement

RANKS = 2
BYTES = (64, 16 << 10, 256 << 10, 1 << 20, 16 << 20, 64 << 20)
QUICK = (64, 16 << 10)
# Times of mpi4py's call: for 64 bytes with Open MPI, then from 1 MiB on.
SMALL, LARGE = 6.0, 1.2


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

    return {
        "partial to broadcast": {
            "oneflow_lite": lambda: look(partial.to_global(sbp=sbp.broadcast)),
            "mpi4py Allreduce": lambda: world.Allreduce(own, out),
        },
        "split to broadcast": {
            "oneflow_lite": lambda: look(rows.to_global(sbp=sbp.broadcast)),
            "mpi4py Allgather": lambda: world.Allgather(own, whole),
        },
        "split to split": {
            "oneflow_lite": lambda: look(rows.to_global(sbp=sbp.split(1))),
            "mpi4py Alltoall": lambda: world.Alltoall(blocks, received),
        },
    }


def program(sizes: tuple[int, ...], samples: int) -> None:
    """Measure, on each rank; the first prints the times of the slowest one."""
    from mpi4py import MPI  # noqa: PLC0415 - only the processes that are ranks start MPI

    world = MPI.COMM_WORLD
    found: list[Any] = []
    for size in sizes:
        for question, calls in contenders(size, world.size).items():
            times: dict[str, list[float]] = {name: [] for name in calls}
            for name in list(calls) * 3:
                calls[name]()
            for _ in range(samples):
                for name, call in calls.items():
                    world.Barrier()
                    begin = time.perf_counter()
                    call()
                    times[name].append(time.perf_counter() - begin)
            slowest = {
                name: np.max(world.allgather(own), axis=0).tolist() for name, own in times.items()
            }
            found.append((size, question, slowest))
    if world.rank == 0:
        print(json.dumps(found))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        program(QUICK if options.quick else BYTES, 5 if options.quick else 40)
        return
    if find_spec("mpi4py") is None:
        raise SystemExit("ranks that are processes need mpi4py: pip install 'oneflow_lite[mpi]'")
    report = Report("bench_distributed")
    command = [sys.executable, "-m", "oneflow_lite.distributed", "-n", str(RANKS), __file__]
    setting = ["--quick"] if options.quick else []
    done = subprocess.run(
        [*command, "--child", *setting], stdout=subprocess.PIPE, text=True, check=True
    )
    for size, question, times in json.loads(done.stdout.splitlines()[-1]):
        measured = Measurement(list(times))
        for name, samples in times.items():
            for sample in samples:
                measured.add(name, sample)
        ours, theirs = measured.names
        label = f"{question}, {size:,} bytes a rank"
        report.times(label, measured, theirs)
        target = SMALL if size <= 64 else LARGE if size >= 1 << 20 else None
        if target is not None:
            report.claim(label, measured.ratio(ours, theirs), f"x {theirs}", now=None, goal=target)
    report.finish(options.json)


if __name__ == "__main__":
    main()
