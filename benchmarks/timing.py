"""How time is measured: contenders side by side, sample by sample, in one process or in several.

    warm-up: A B C | sample 1: A B C | sample 2: A B C | ...

A disturbance of the machine meets all contenders alike, and ratios are taken within a sample. The
garbage collector is off, as in ``timeit``.
"""

import gc
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

_LOOP = """\
def loop(times, clock, {names}):
    begin = clock()
    for _ in times:
        {code}
    {finish}
    return clock() - begin
"""


LEAST_SAMPLES = 5
SHORT_SECONDS = 50e-3


@dataclass(frozen=True)
class Effort:
    """How much to measure: samples of each contender, seconds that a sample should take.

    When so many take longer than ``most_seconds``, there are fewer, but LEAST_SAMPLES.
    """

    samples: int
    sample_seconds: float
    most_seconds: float = math.inf


@dataclass(frozen=True)
class Summary:
    """Median, minimum, and spread (the interquartile range) of some samples."""

    median: float
    minimum: float
    spread: float
    samples: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Summary":
        quarters = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [0.0] * 3
        return cls(median(values), min(values), quarters[2] - quarters[0], len(values))


@dataclass(frozen=True)
class Contender:
    """A name and its work.

    Attributes
    ----------
    run : callable
        ``run(n)`` does the work n times and returns the seconds that all of it took.
    number : int
        Times in a sample; 0: as many as fill it.
    spins : float
        Seconds for which its library's threads spin after its work.
    """

    name: str
    run: Callable[[int], float]
    number: int = 0
    spins: float = 0.0


class Measurement:
    """Samples of several contenders (seconds for one time); the i-th ones were taken together."""

    def __init__(self, names: Sequence[str]) -> None:
        self._samples: dict[str, list[float]] = {name: [] for name in names}

    @property
    def names(self) -> list[str]:
        return list(self._samples)

    def add(self, name: str, sample: float) -> None:
        self._samples.setdefault(name, []).append(sample)

    def samples(self, name: str) -> list[float]:
        return self._samples[name]

    def summary(self, name: str) -> Summary:
        return Summary.of(self._samples[name])

    def pairwise(
        self, function: Callable[[float, float], float], name: str, reference: str
    ) -> Summary:
        """Of a function of the two samples that were taken together."""
        pairs = zip(self._samples[name], self._samples[reference], strict=True)
        return Summary.of([function(*pair) for pair in pairs])

    def ratio(self, name: str, reference: str) -> Summary:
        return self.pairwise(lambda one, other: one / other, name, reference)


def statement(
    name: str,
    code: str,
    namespace: Mapping[str, Any],
    *,
    finish: str = "pass",
    before: Callable[[], object] | None = None,
    number: int = 0,
    filename: str = "<benchmark>",
) -> Contender:
    """Make a contender of a statement.

    Parameters
    ----------
    code : str
        What is repeated; the names of ``namespace`` are its local variables.
    finish : str
        Ends the sample inside the timed region: waits until everything has been executed.
    before : callable, optional
        Called before each sample, outside the timed region.
    filename : str
        Where the code claims to come from.
    """
    source = _LOOP.format(names=", ".join(namespace), code=code, finish=finish)
    scope: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), scope)

    def run(times: int) -> float:
        if before is not None:
            before()
        return float(scope["loop"](range(times), time.perf_counter, **namespace))

    return Contender(name, run, number)


def _undisturbed(run: Callable[[int], float], times: int, seconds: float) -> float:
    """The shortest of three runs, or of two that take much longer than some seconds."""
    taken = min(run(times), run(times))
    return taken if taken > 4 * seconds else min(taken, run(times))


def times_for(run: Callable[[int], float], seconds: float) -> int:
    """Return how often the work fits into some seconds, undisturbed (also warms it up)."""
    times = 1
    while (taken := _undisturbed(run, times, seconds)) < seconds / 4:
        times = max(2 * times, min(10 * times, int(times * seconds / 4 / max(taken, 1e-9))))
    return max(1, round(times * seconds / taken))


def measure(
    contenders: Sequence[Contender], effort: Effort, warm_up: int = 2, pause: float = 0.0
) -> Measurement:
    """Sample the contenders in turn, in this process.

    Parameters
    ----------
    pause : float
        Seconds between the samples, at least those for which the contender before spins. Where
        there are pauses, work that takes less than SHORT_SECONDS is done once before the clock
        starts, so that its library's threads are awake: what is measured is work that goes on.
    """
    numbers = [c.number or times_for(c.run, effort.sample_seconds) for c in contenders]
    last = dict.fromkeys((contender.name for contender in contenders), 0.0)
    measurement = Measurement([contender.name for contender in contenders])
    pauses = [max(pause, contender.spins) for contender in (contenders[-1], *contenders[:-1])]
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    end = time.monotonic() + effort.most_seconds
    try:
        for sample in range(-warm_up, effort.samples):
            if sample >= LEAST_SAMPLES and time.monotonic() > end:
                break
            for contender, number, wait in zip(contenders, numbers, pauses, strict=True):
                if wait:
                    time.sleep(wait)
                if any(pauses) and last[contender.name] < SHORT_SECONDS:
                    contender.run(1)
                seconds = last[contender.name] = contender.run(number) / number
                if sample >= 0:
                    measurement.add(contender.name, seconds)
    finally:
        if collecting:
            gc.enable()
    return measurement


def run_process(arguments: Sequence[str], flags: Mapping[str, str] | None = None) -> Any:
    """Run a Python program; return what its last line of output is in JSON.

    Parameters
    ----------
    flags : mapping, optional
        Environment variables; no ``ONEFLOW_LITE_*`` of this process reaches the program.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ONEFLOW_LITE_")}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=inherited | dict(flags or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure_processes(programs: Mapping[str, Sequence[str]], samples: int) -> Measurement:
    """Sample programs in turn, a fresh process for each sample; each prints one number."""
    measurement = Measurement(list(programs))
    for _ in range(samples):
        for name, arguments in programs.items():
            measurement.add(name, float(run_process(arguments)))
    return measurement
