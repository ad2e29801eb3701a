"""The machine alone: no-op instructions a second, and what watching it costs.

A no-op has two reads and a write, like ``a + b``. Handed over means issued, run by the worker of
the cpu's compute stream, and retired; inline means run at once in the calling thread.
"""

from pathlib import Path

import numpy as np

import oneflow_lite as flow
from oneflow_lite import _C
from report import Report, arguments
from timing import Contender, Effort, Measurement, Summary, measure, statement

FROM_CPP, INLINE, FROM_PYTHON = "C++, handed over", "C++, inline", "Python, handed over"
OFF, ON = "profiler off", "profiler on"
ONE_FRAME, TWO_FRAMES = "one frame looked at", "two frames looked at"


def millions_a_second(measurement: Measurement, name: str) -> Summary:
    return Summary.of([1e-6 / seconds for seconds in measurement.samples(name)])


def noops(report: Report, effort: Effort) -> None:
    issue = {"issue": _C.issue_noop, "synchronize": flow.synchronize}
    measurement = measure(
        [
            Contender(FROM_CPP, lambda times: _C.noop(times, False)),
            Contender(INLINE, lambda times: _C.noop(times, True)),
            statement(FROM_PYTHON, "issue()", issue, finish="synchronize()"),
        ],
        effort,
    )
    report.times("a no-op instruction", measurement, FROM_CPP)
    for name, now, goal in ((FROM_CPP, 3, 5), (INLINE, None, None), (FROM_PYTHON, None, 2)):
        measured = millions_a_second(measurement, name)
        report.claim(f"no-ops, {name}", measured, "M/s", now=now, goal=goal, at_least=True)


def profiled(contender: Contender) -> Contender:
    """Record what it does; starting and collecting the recording are not timed."""

    def run(times: int) -> float:
        with flow.profiler.profile():
            return contender.run(times)

    return Contender(ON, run, contender.number)


def profiler(report: Report, question: str, size: int, number: int, effort: Effort) -> None:
    x = flow.tensor(np.linspace(0.1, 2.0, size, dtype=np.float32))
    names = {"x": x, "tanh": flow.tanh, "synchronize": flow.synchronize}
    off = statement(OFF, "y = tanh(x * 2 + 1) - x", names, finish="synchronize()", number=number)
    measurement = measure([off, profiled(off)], effort)
    report.times(question, measurement, OFF)
    ratio = measurement.ratio(ON, OFF)
    is_real_work = size > 1000  # the target is for programs that compute something
    report.claim(question, ratio, "x off", goal=1.05 if is_real_work else None)


def issue_site(report: Report, effort: Effort) -> None:
    """Capture looks at the innermost frame outside the package, so what claims to lie in it has a
    second frame looked at: the difference is the cost of one look.
    """
    a = flow.ones(16, dtype=flow.float32)
    names = {"a": a, "b": a, "synchronize": flow.synchronize}
    inside = str(Path(flow.__file__).parent / "benchmark")
    finish = "synchronize()"
    one = statement(ONE_FRAME, "r = a + b", names, finish=finish)
    two = statement(TWO_FRAMES, "r = a + b", names, finish=finish, filename=inside)
    measurement = measure([one, two], effort)
    report.times("a + b, issue site", measurement, ONE_FRAME)
    cost = measurement.pairwise(lambda more, less: 1e6 * (more - less), TWO_FRAMES, ONE_FRAME)
    report.claim("issue-site capture, a frame", cost, "us", goal=0.05)


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("bench_machine")
    effort = Effort(3, 1e-3) if options.quick else Effort(40, 1e-2)
    noops(report, effort)
    times = 2 if options.quick else 50
    profiler(report, "profiler on, 10^5 elements", 100_000, times, effort)
    profiler(report, "profiler on, 16 elements", 16, 20 * times, effort)
    issue_site(report, effort)
    report.finish(options.json)


if __name__ == "__main__":
    main()
