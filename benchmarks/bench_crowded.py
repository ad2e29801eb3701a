"""Programs on a machine of which another process uses a core, in times of naive mode.

A process that only computes is bound to one of the cores that this process may use. Each result is
looked at before the next call. Measured beside each other: the default, naive mode, and NumPy.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import oneflow_lite as flow
from bench_chain import PROGRAMS
from comparison import NUMPY, Program
from report import Report, arguments, size_str
from timing import Contender, Effort, Measurement, Summary, measure, statement
from training import Step

OURS, NAIVE = "oneflow_lite", "naive mode"
SIZES = (10**3, 10**4, 3 * 10**4, 10**5, 3 * 10**5, 10**6, 10**7)
BATCHES = (16, 64, 512)
MOST = 1.3  # target, in times of naive mode
BUSY = (
    "import os, sys; os.sched_setaffinity(0, {int(sys.argv[1])}); print(flush=True)\nwhile 1: pass"
)


@contextmanager
def one_core_taken() -> Iterator[None]:
    """A process that computes all the time, on the last of the cores that this one may use."""
    core = max(os.sched_getaffinity(0))
    command = [sys.executable, "-c", BUSY, str(core)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()  # it has begun
            yield
        finally:
            process.kill()


def naively(contender: Contender) -> Contender:
    def run(times: int) -> float:
        with flow.flags(sync=True):
            return contender.run(times)

    return Contender(NAIVE, run, contender.number)


def contenders(ours: Callable[[], Any], theirs: Callable[[], Any]) -> list[Contender]:
    default = statement(OURS, "f(); look()", {"f": ours, "look": flow.synchronize})
    return [default, naively(default), statement(NUMPY, "f()", {"f": theirs})]


def of_program(program: Program, size: int) -> list[Contender]:
    arrays = program.inputs(size)
    tensors = [flow.tensor(array) for array in arrays]
    return contenders(lambda: program.run(flow, *tensors), lambda: program.run(np, *arrays))


def of_training(batch: int) -> list[Contender]:
    return contenders(Step(flow, flow.tensor, batch), Step(np, np.array, batch))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quiet", action="store_true", help="no other process: for comparison")
    options = parser.parse_args()
    effort = Effort(3, 1e-4) if options.quick else Effort(15, 20e-3, 4.0)
    sizes = SIZES[:2] if options.quick else SIZES
    report = Report("bench_crowded", {NUMPY: np.__version__})

    def claim(question: str, measurement: Measurement) -> float:
        ratio: Summary = measurement.ratio(OURS, NAIVE)
        report.claim(question, ratio, f"x {NAIVE}", now=MOST, goal=MOST)
        return ratio.median

    def measure_all() -> None:
        for program in PROGRAMS:
            over = {}
            for size in sorted({max(size, program.least) for size in sizes}):
                over[size] = measure(of_program(program, size), effort)
                claim(f"{program.name}, {size_str(size)}", over[size])
            report.curve(program.name, over, NUMPY)
        for batch in BATCHES[:1] if options.quick else BATCHES:
            measurement = measure(of_training(batch), effort)
            claim(f"training step, batch {batch}", measurement)
            report.times(f"training step, batch {batch}", measurement, NUMPY)

    if options.quiet or len(os.sched_getaffinity(0)) < 2:
        report.note("no core was taken")
        measure_all()
    else:
        with one_core_taken():
            measure_all()
    report.finish(options.json)


if __name__ == "__main__":
    main()
