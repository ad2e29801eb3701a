"""Linear algebra: a call in times of NumPy's, and how steady calls are beside small operations.

Each contender has a process of its own, as the threads of two libraries would take each other's
cores; they take turns. NumPy has its default threads, and one thread as a second contender.
Steadiness is the 99th percentile of the calls in times of their median: alone, with small
operations of the same thread between the calls, and beside another Python thread that issues them.
A stress calls all functions in turn, with small operations between them. Where other processes
take the cores, the processor time of our process still tells: it grows where threads of a library
spin beside a call, and not where a call waits for a core.
Beside another thread, a call that gives up the interpreter's lock waits up to a switch interval
(5 ms) to get it back. Calls of NumPy, and a Python loop that takes as long, show the floor: of the
lock, and of other processes that take the cores.
"""

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from statistics import median, quantiles
from typing import Any, TypeVar

import numpy as np

import oneflow_lite as flow
from report import Report, arguments, seconds_str
from timing import Summary, times_for

Shape = tuple[int, ...]
Taken = TypeVar("Taken")
OURS, NUMPY, ONE_THREAD = "oneflow_lite", "NumPy", "NumPy, 1 thread"
LOOP = "Python loop"
RATIO, STEADY = 1.1, 3.0  # targets, of the shapes in CLAIMED
CLAIMED: list[Shape] = [(100, 100), (200, 200)]
SHAPES: list[Shape] = [(10, 10), (50, 50), *CLAIMED, (500, 500)]
BATCH, LARGE = (64, 64, 64), (1000, 1000)
LARGE_FUNCTIONS = ("det", "solve", "inv", "cholesky", "eigh", "qr")
PAUSE_SECONDS = 0.12  # the threads of NumPy's library spin for 104 ms after a call
TURNS, TURN_SECONDS, STEADY_SECONDS = 5, 0.05, 0.25
ROW_SECONDS = 2.0  # no further turn begins after that: on a busy machine a call may take a second
SMALL_OPERATIONS = 200  # between two calls
STRESS = "all functions in turn"
STRESS_SECONDS = 4.0

# Of a module, a general matrix and a symmetric positive one.
FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "det": lambda xp, x, _: xp.linalg.det(x),
    "slogdet": lambda xp, x, _: xp.linalg.slogdet(x)[1],
    "solve": lambda xp, x, s: xp.linalg.solve(x, s),
    "inv": lambda xp, x, _: xp.linalg.inv(x),
    "cholesky": lambda xp, _, s: xp.linalg.cholesky(s),
    "eigh": lambda xp, _, s: xp.linalg.eigh(s)[0],
    "svd": lambda xp, x, _: xp.linalg.svd(x)[1],
    "qr": lambda xp, x, _: xp.linalg.qr(x)[0],
    "eig": lambda xp, x, _: xp.linalg.eig(x)[0],
}


class Beside(Enum):
    """Where small operations are issued while calls are timed."""

    NOTHING = "alone"
    CALLS = "same thread"
    THREAD = "other thread"


@dataclass(frozen=True)
class Turn:
    """Calls to time, one by one.

    Attributes
    ----------
    loop_seconds : float
        Not 0: a Python loop of this length is timed instead of the function.
    """

    function: str
    shape: Shape
    seconds: float
    beside: Beside = Beside.NOTHING
    loop_seconds: float = 0.0


@dataclass
class Times:
    """Seconds of each call: on the clock, and of processors in all threads of the process."""

    clock: list[float] = field(default_factory=list)
    processors: list[float] = field(default_factory=list)

    def add(self, call: Callable[[], object]) -> None:
        """Time one call."""
        used, start = time.process_time(), time.perf_counter()
        call()
        self.clock.append(time.perf_counter() - start)
        self.processors.append(time.process_time() - used)


@cache
def matrices(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Return general and symmetric positive matrices with determinants of about 1."""
    n = shape[-1]
    x = np.random.default_rng(n).normal(size=shape) / np.sqrt(n)
    pair = x + 2 * np.eye(n), x @ x.swapaxes(-1, -2) + np.eye(n)
    general, positive = (
        one / np.exp(np.linalg.slogdet(one)[1] / n)[..., None, None] for one in pair
    )
    return general, positive


class Calls:
    """The calls of one library, in this process."""

    def __init__(self, library: str) -> None:
        self._xp: Any = flow if library == OURS else np
        self._array: Callable[[Any], Any] = flow.tensor if library == OURS else np.array
        self._look: Callable[[Any], Any] = flow.Tensor.numpy if library == OURS else np.asarray
        self._small = self._array(np.ones(16))

    def time(self, turn: Turn) -> Times:
        """Return the seconds of each call, after one that does not count."""
        call = self._call(turn)
        call()
        between = self._issue if turn.beside is Beside.CALLS else None
        taken = Times()
        with self._other_thread() if turn.beside is Beside.THREAD else nullcontext():
            end = time.perf_counter() + turn.seconds
            while not taken.clock or time.perf_counter() < end:
                if between:
                    between()
                taken.add(call)
        return taken

    def stress(self, turn: Turn) -> dict[str, Times]:
        """Return the seconds of the calls of each function; all are called in turn."""
        calls = {name: self._call(replace(turn, function=name)) for name in FUNCTIONS}
        for call in calls.values():
            call()
        taken = {name: Times() for name in calls}
        end = time.perf_counter() + turn.seconds
        while time.perf_counter() < end or not taken["det"].clock:
            for name, call in calls.items():
                self._issue()
                taken[name].add(call)
        return taken

    def _call(self, turn: Turn) -> Callable[[], object]:
        if turn.loop_seconds:
            times = times_for(_loop, turn.loop_seconds)
            return lambda: _loop(times)
        function, look, xp = FUNCTIONS[turn.function], self._look, self._xp
        x, s = map(self._array, matrices(turn.shape))
        return lambda: look(function(xp, x, s))

    def _issue(self) -> None:
        a = self._small
        for _ in range(SMALL_OPERATIONS):
            a + a

    @contextmanager
    def _other_thread(self) -> Iterator[None]:
        done = threading.Event()

        def issue() -> None:
            while not done.is_set():
                self._look(self._small + self._small)

        thread = threading.Thread(target=issue)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


def _loop(times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        pass
    return time.perf_counter() - start


def serve(pipe: Connection, library: str) -> None:
    """Time the turns that come through the pipe, up to None; garbage is collected between them."""
    calls = Calls(library)
    gc.disable()
    while (turn := pipe.recv()) is not None:
        gc.collect()
        pipe.send(calls.stress(turn) if turn.function == STRESS else calls.time(turn))


class Process:
    """A contender: a process that times turns while the others wait."""

    def __init__(self, library: str, pause: float = 0.0) -> None:
        self._pause = pause
        self._pipe, theirs = get_context("spawn").Pipe()
        self._process = get_context("spawn").Process(target=serve, args=(theirs, library))
        self._process.start()
        theirs.close()  # so that its end is noticed here

    def time(self, turn: Turn) -> Times:
        return self._take(turn, Times)

    def stress(self, turn: Turn) -> dict[str, Times]:
        return self._take(turn, dict)

    def _take(self, turn: Turn, kind: type[Taken]) -> Taken:
        self._pipe.send(turn)
        taken: Taken = self._pipe.recv()
        assert isinstance(taken, kind), taken
        time.sleep(self._pause)
        return taken

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.is_alive():
            self._pipe.send(None)
        self._process.join()


@contextmanager
def contenders() -> Iterator[dict[str, Process]]:
    """Start the processes. In ours, NumPy has one thread: others spin after it made a matrix."""
    with ExitStack() as stack:
        threaded = stack.enter_context(Process(NUMPY, PAUSE_SECONDS))
        before = dict(os.environ)
        os.environ["OPENBLAS_NUM_THREADS"] = "1"  # for processes that start from here on
        try:
            ours, single = (stack.enter_context(Process(name)) for name in (OURS, NUMPY))
        finally:
            os.environ.clear()
            os.environ.update(before)
        yield {OURS: ours, NUMPY: threaded, ONE_THREAD: single}


def percentile(taken: list[float]) -> float:
    return quantiles(taken, n=100, method="inclusive")[98] if len(taken) > 1 else taken[0]


def steadiness(taken: list[float]) -> float:
    return percentile(taken) / median(taken)


class Rows:
    """Measures row after row; each is printed at once and claimed in the report."""

    def __init__(self, report: Report, processes: Mapping[str, Process], quick: bool) -> None:
        self._report, self._processes = report, processes
        self._turns, self._part = (1, 0.1) if quick else (TURNS, 1.0)

    def ratios(self, name: str, shape: Shape) -> None:
        """Measure calls alone, in turns."""
        turn = Turn(name, shape, TURN_SECONDS * self._part)
        medians: dict[str, list[float]] = {who: [] for who in self._processes}
        end = time.monotonic() + ROW_SECONDS
        for turns in range(self._turns):
            if turns and time.monotonic() > end:
                break
            for who, process in self._processes.items():
                medians[who].append(median(process.time(turn).clock))
        ours, question = medians[OURS], _question(name, shape)
        line = f"{question:22}{seconds_str(median(ours)):>9}"
        for who in (NUMPY, ONE_THREAD):
            ratio = Summary.of([a / b for a, b in zip(ours, medians[who], strict=True)])
            goal = RATIO if shape in CLAIMED and who == NUMPY else None
            self._report.claim(question, ratio, f"x {who}", goal=goal)
            line += f"   {ratio.median:.2f} x {who}"
        print(line, flush=True)

    def steadiness(self, name: str, shape: Shape) -> None:
        """Measure the 99th percentiles beside small operations."""
        alone = Turn(name, shape, STEADY_SECONDS * self._part)
        loop = replace(alone, loop_seconds=median(self._processes[OURS].time(alone).clock))
        of = {OURS: (OURS, alone), NUMPY: (NUMPY, alone), LOOP: (OURS, loop)}
        for beside in Beside:
            taken = {
                who: self._processes[process].time(replace(turn, beside=beside))
                for who, (process, turn) in of.items()
            }
            self._claim_steadiness(_question(name, shape), beside, taken)

    def _claim_steadiness(self, question: str, beside: Beside, taken: Mapping[str, Times]) -> None:
        line = f"{'':22}{beside.value:>12}: p99 in times of the median"
        for who, times in taken.items():
            goal = STEADY if beside is Beside.CALLS and who == OURS else None
            figure = Summary.of([steadiness(times.clock)])
            self._report.claim(f"{question}: {beside.value}", figure, f"x median, {who}", goal=goal)
            line += f"   {figure.median:.1f} ({who})"
        if beside is Beside.THREAD:
            against = Summary.of([percentile(taken[OURS].clock) / percentile(taken[NUMPY].clock)])
            self._report.claim(f"{question}: {beside.value}", against, f"x p99, {NUMPY}")
        print(line, flush=True)

    def stress(self, shape: Shape) -> None:
        """Measure all functions in turn; the one that is least steady is claimed."""
        turn = Turn(STRESS, shape, STRESS_SECONDS * self._part, Beside.CALLS)
        for who in (OURS, ONE_THREAD):
            self._claim_stress(_question("all", shape), who, self._processes[who].stress(turn))

    def _claim_stress(self, question: str, who: str, taken: Mapping[str, Times]) -> None:
        clock = {name: steadiness(times.clock) for name, times in taken.items()}
        used = {name: steadiness(times.processors) for name, times in taken.items()}
        print(f"{question}, in turn, {who}: p99 in times of the median")
        for name in taken:
            print(f"{'':4}{name:10}{clock[name]:6.1f}, of processor time {used[name]:.1f}")
        for figures, unit in ((clock, "x median"), (used, "x median of processor time")):
            worst = Summary.of([max(figures.values())])
            goal = STEADY if who == OURS else None
            self._report.claim(f"{question}: in turn", worst, f"{unit}, {who}", goal=goal)


def _question(name: str, shape: Shape) -> str:
    return f"{name}, {' x '.join(map(str, shape))}"


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("bench_linalg", {"NumPy": np.__version__})
    with contenders() as processes:
        rows = Rows(report, processes, options.quick)
        for name in FUNCTIONS:
            for shape in CLAIMED[:1] if options.quick else SHAPES:
                rows.ratios(name, shape)
                if shape in CLAIMED:
                    rows.steadiness(name, shape)
            if not options.quick:
                rows.ratios(name, BATCH)
        for name in () if options.quick else LARGE_FUNCTIONS:
            rows.ratios(name, LARGE)
        for shape in CLAIMED[:1] if options.quick else CLAIMED:
            rows.stress(shape)
    report.finish(options.json)


if __name__ == "__main__":
    main()
