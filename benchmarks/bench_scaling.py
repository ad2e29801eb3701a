"""A k-means step and heat that flows, from one rank to as many as there are cores.

Weak scaling: each rank has the same, however many there are. Strong scaling: all together have the
same. Ranks are processes, which MPI connects, or threads of one process; each has a core. A sample
is one run of each number of ranks, in turn, and in it the median over steps of the slowest rank's
time, from a common start until the result can be read.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp, to_global
from report import Report, arguments, core_count
from timing import Measurement

FEATURES, CLUSTERS = 16, 16
RATE = np.float32(0.2)
# Rows of points, and rows and columns of pixels: of a rank (weak), or of all (strong).
FULL = {"points": 200_000, "pixels": 2_000, "columns": 2_000, "steps": 15, "samples": 5}
QUICK = {"points": 2_000, "pixels": 60, "columns": 100, "steps": 3, "samples": 1}
WEAK, STRONG = "weak", "strong"
GOAL = 0.85  # of k-means, weak, from one rank to two

Split = Callable[[Any], Any]
Step = Callable[[], Any]  # returns this rank's part of the result


def assigned(xp: Any, points: Any, centres: Any) -> tuple[Any, Any]:
    """Return the sums of the points that are nearest to each centre, and their numbers."""
    distances = (centres * centres).sum(axis=1) - 2 * (points @ centres.T)
    nearest = distances.argmin(axis=1)
    own = (xp.expand_dims(nearest, 1) == np.arange(CLUSTERS)).astype("float32")
    return own.T @ points, own.sum(axis=0)


def k_means(points: Any, centres: Any) -> Any:
    """Return the centres after a step; what the ranks have added goes in one bucket."""
    sums, numbers = to_global([*assigned(flow, points, centres)], sbp=sbp.broadcast)
    return sums / flow.expand_dims(flow.maximum(numbers, 1), 1)


def heat(u: Any) -> None:
    """Let heat flow for a while; the frame stays as it is. Of NumPy, or of the package."""
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    u[1:-1, 1:-1] = u[1:-1, 1:-1] + RATE * (around - 4 * u[1:-1, 1:-1])


def check(rows: Split) -> None:
    """The results are NumPy's: of heat bit for bit."""
    rng = np.random.default_rng(1)
    points, picture = (rng.standard_normal((97, n)).astype("float32") for n in (FEATURES, 31))
    like = {"placement": placement.all("cpu"), "sbp": sbp.broadcast}
    centres = flow.tensor(points[:CLUSTERS], **like)
    sums, numbers = assigned(np, points, points[:CLUSTERS])
    found = k_means(rows(points), centres).numpy()
    np.testing.assert_allclose(found, sums / np.maximum(numbers, 1)[:, None], rtol=1e-4, atol=1e-4)
    u = rows(picture)
    heat(u)
    heat(picture)
    np.testing.assert_array_equal(u.full().numpy(), picture)


def programs(sizes: dict[str, int]) -> dict[str, Step]:
    """By name, what is timed; each rank makes its own rows, of other numbers."""
    ranks, rank, size = placement.all("cpu"), flow.distributed.rank(), flow.distributed.world_size()
    rng = np.random.default_rng(rank)

    def rows(how: str, total: int, columns: int) -> Any:
        own = total if how == WEAK else len(np.array_split(np.arange(total), size)[rank])
        part = rng.standard_normal((own, columns)).astype("float32")
        return flow.tensor(part).to_global(ranks, sbp.split(0))

    check(lambda whole: flow.tensor(whole, placement=ranks, sbp=sbp.split(0)))
    start = np.random.default_rng(2).standard_normal((CLUSTERS, FEATURES)).astype("float32")
    centres = flow.tensor(start, placement=ranks, sbp=sbp.broadcast)
    made: dict[str, Step] = {}
    for how in (WEAK, STRONG):
        points = rows(how, sizes["points"], FEATURES)
        u = rows(how, sizes["pixels"], sizes["columns"])

        def warm(u: Any = u) -> Any:
            heat(u)
            return u.to_local()

        made[f"k-means, {how}"] = lambda points=points: k_means(points, centres).to_local()
        made[f"heat, {how}"] = warm
    return made


def measured(sizes: dict[str, int]) -> dict[str, float]:
    """The program of each rank: by name, the median of the slowest rank's times."""
    ranks = placement.all("cpu")
    found = {}
    for name, step in programs(sizes).items():
        times = []
        for number in range(sizes["steps"] + 2):
            flow.ones(1, placement=ranks, sbp=sbp.partial_sum).full().numpy()  # all start together
            begin = time.perf_counter()
            np.from_dlpack(step())
            if number >= 2:
                times.append(time.perf_counter() - begin)
        slowest = flow.tensor(times).to_global(ranks, sbp.partial("max")).full().numpy()
        found[name] = statistics.median(slowest.tolist())
    return found


def one_run(kind: str, ranks: int, quick: bool) -> dict[str, float]:
    """Start so many ranks, with a core each, and return what the first one has measured."""
    setting = ["--quick"] if quick else []
    child = [__file__, "--child", str(ranks if kind == "threads" else 1), *setting]
    if kind == "processes":
        child = ["-m", "oneflow_lite.distributed", "-n", str(ranks), *child]
    cores = ranks if kind == "threads" else 1
    done = subprocess.run(
        [sys.executable, *child],
        env=os.environ | {"ONEFLOW_LITE_NUM_THREADS": str(cores)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_child(ranks: int, sizes: dict[str, int]) -> None:
    """In a process that is a rank, or whose threads are."""
    found = flow.distributed.run(measured, ranks, sizes)[0] if ranks > 1 else measured(sizes)
    if flow.distributed.rank() == 0:
        print(json.dumps(found))


def name_of(ranks: int) -> str:
    return "1 rank" if ranks == 1 else f"{ranks} ranks"


def report_kind(report: Report, kind: str, counts: list[int], quick: bool) -> None:
    """Take samples with ranks of one kind, and add what they say to the report."""
    results: dict[str, Measurement] = {}
    for _ in range(QUICK["samples"] if quick else FULL["samples"]):
        for ranks in counts:
            for program, seconds in one_run(kind, ranks, quick).items():
                at = results.setdefault(program, Measurement([name_of(n) for n in counts]))
                at.add(name_of(ranks), seconds)
    for program, measurement in results.items():
        report.times(f"{program}, {kind}", measurement, name_of(1))
    for program, measurement in results.items():
        what, how = program.split(", ")
        for ranks in dict.fromkeys((2, counts[-1])):
            ideal = ranks if how == STRONG else 1
            gained = measurement.pairwise(
                lambda one, many, ideal=ideal: one / many / ideal, name_of(1), name_of(ranks)
            )
            is_target = (what, how, ranks) == ("k-means", WEAK, 2)
            report.claim(
                f"{how} scaling of {what}, 1 to {ranks} ranks, {kind}",
                gained,
                "of the ideal",
                goal=GOAL if is_target else None,
                at_least=True,
            )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--child", type=int, metavar="RANKS", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        run_child(options.child, QUICK if options.quick else FULL)
        return
    if find_spec("mpi4py") is None:
        raise SystemExit("ranks that are processes need mpi4py: pip install 'oneflow_lite[mpi]'")
    cores = core_count()
    counts = sorted({1, 2, *(1 << k for k in range(cores.bit_length())), cores} - {0})
    report = Report("bench_scaling")
    for kind in ("processes", "threads"):
        report_kind(report, kind, counts, options.quick)
    if max(counts) > cores:
        report.note(f"{max(counts)} ranks share {cores} core: no scaling is to be expected")
    report.finish(options.json)


if __name__ == "__main__":
    main()
