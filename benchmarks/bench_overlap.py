"""Do copies and compute overlap? 16 chunks through mock:0, whose three stages take equally long.

    h2d      |0 |1 |2 |3 |
    compute     |0 |1 |2 |3 |        16 chunks at best take 18 stages, and serial 48
    d2h            |0 |1 |2 |3 |

The program is the naive loop. The longest stage is measured alone, in the same run.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np

import oneflow_lite as flow
from report import Report, arguments
from timing import Contender, Effort, Measurement, Summary, measure

CHUNKS = 16
ELEMENTS = 1 << 18  # 1 MiB of float32
DEVICE = "mock:0"
STAGES = ("h2d", "compute", "d2h")
LOOP, SERIAL, LONGEST = "the loop", "the loop, naive mode", "longest stage alone"

HOST = [np.full(ELEMENTS, i, np.float32) for i in range(CHUNKS)]


def knobs(stage_seconds: float) -> dict[str, float]:
    rate = ELEMENTS / stage_seconds
    return {"h2d": 4 * rate, "compute": rate, "d2h": 4 * rate}


def loop() -> None:
    results = []
    for chunk in HOST:
        x = flow.tensor(chunk, device=DEVICE)
        y = x + 1
        results.append(y.cpu())
    for i, result in enumerate(results):
        if result.numpy()[0] != i + 1:
            raise AssertionError(f"chunk {i} has {result.numpy()[0]}, expected {i + 1}")


def timed(work: Callable[[], object], _times: int) -> float:
    flow.synchronize()
    begin = time.perf_counter()
    kept = work()  # freed after the clock is read
    flow.synchronize()
    seconds = time.perf_counter() - begin
    del kept
    return seconds


def serial_loop() -> None:
    with flow.flags(sync=True):
        loop()


def contenders() -> list[Contender]:
    there = [flow.tensor(chunk, device=DEVICE) for chunk in HOST]
    work: dict[str, Callable[[], object]] = {
        LOOP: loop,
        "h2d": lambda: [flow.tensor(chunk, device=DEVICE) for chunk in HOST],
        "compute": lambda: [x + 1 for x in there],
        "d2h": lambda: [x.cpu() for x in there],
        SERIAL: serial_loop,
    }
    return [Contender(name, partial(timed, job), 1) for name, job in work.items()]


def add_longest(measurement: Measurement) -> None:
    for together in zip(*(measurement.samples(stage) for stage in STAGES), strict=True):
        measurement.add(LONGEST, max(together))


def intersections() -> list[float]:
    """Seconds in which h2d(i+1), compute(i), d2h(i-1) all ran at once, for each inner chunk i."""
    with flow.profiler.profile() as prof:
        loop()
    runs = {
        stage: [r for r in prof.records if r.kind == "run" and r.lane == f"{DEVICE} {stage}"]
        for stage in STAGES
    }
    counts = {stage: len(records) for stage, records in runs.items()}
    if set(counts.values()) != {CHUNKS}:
        raise AssertionError(f"expected {CHUNKS} runs in each lane, got {counts}")
    found = []
    for i in range(1, CHUNKS - 1):
        at_once = (runs["h2d"][i + 1], runs["compute"][i], runs["d2h"][i - 1])
        begin, end = max(r.begin for r in at_once), min(r.end for r in at_once)
        found.append(1e-9 * max(0, end - begin))
    return found


def main() -> None:
    options = arguments(__doc__).parse_args()
    stage_seconds = 2e-3 if options.quick else 20e-3
    effort = Effort(2 if options.quick else 7, 0)
    report = Report("bench_overlap")
    with flow.flags(mock=knobs(stage_seconds)):
        measurement = measure(contenders(), effort, warm_up=1)
        shared = [intersections() for _ in range(effort.samples)]
    add_longest(measurement)
    question = f"stream {CHUNKS} chunks, equal stages"
    report.times(question, measurement, LONGEST)
    ratio = measurement.ratio(LOOP, LONGEST)
    report.claim(question, ratio, "x longest stage", now=1.15, goal=1.15)
    report.claim(f"{question}, naive mode", measurement.ratio(SERIAL, LONGEST), "x longest stage")
    overlapping = Summary.of([sum(seconds > 0 for seconds in run) for run in shared])
    inner = CHUNKS - 2
    report.claim(
        "h2d(i+1), compute(i), d2h(i-1) intersect",
        overlapping,
        f"of {inner} inner i",
        now=inner,
        goal=inner,
        at_least=True,
    )
    shortest = Summary.of([min(run) / stage_seconds for run in shared])
    report.claim("the shortest such intersection", shortest, "x stage")
    report.finish(options.json)


if __name__ == "__main__":
    main()
