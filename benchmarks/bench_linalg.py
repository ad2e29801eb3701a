"""Linear algebra of single matrices: what a call takes in times of NumPy, and how steady that is.

Alone, and beside a thread that makes small operations all the time. Steady is the 99th percentile
of the calls in times of their median.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median, quantiles
from typing import Any

import numpy as np

import oneflow_lite as flow
from report import Report, arguments
from timing import Summary

SIZES = (16, 100, 150, 200, 500)
RATIO, STEADY = 1.2, 3.0  # targets, from LEAST to MOST
LEAST, MOST = 100, 200
PAUSE_SECONDS = 0.12  # the threads of NumPy's library spin for 104 ms after a call

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "det": lambda xp, x: xp.linalg.det(x),
    "solve": lambda xp, x: xp.linalg.solve(x, x[:, 0]),
    "inv": lambda xp, x: xp.linalg.inv(x),
    "cholesky": lambda xp, x: xp.linalg.cholesky(x),
    "eigh": lambda xp, x: xp.linalg.eigh(x)[0],
    "qr": lambda xp, x: xp.linalg.qr(x)[0],
    "svd": lambda xp, x: xp.linalg.svd(x)[1],
}


def positive(n: int) -> np.ndarray:
    """Return a matrix that every function takes."""
    x = np.random.default_rng(n).normal(size=(n, n))
    return x @ x.T + n * np.eye(n)


def seconds(call: Callable[[], object], count: int) -> list[float]:
    """Return what each of some calls takes, after one that does not count."""
    time.sleep(PAUSE_SECONDS)
    call()
    taken = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return taken


def steadiness(taken: list[float]) -> float:
    return quantiles(taken, n=100, method="inclusive")[98] / median(taken)


@contextmanager
def small_operations() -> Iterator[None]:
    """Another thread issues them for the time of the block, and looks at each."""
    done = threading.Event()

    def issue() -> None:
        a = flow.ones(16)
        while not done.is_set():
            (a + a).numpy()

    thread = threading.Thread(target=issue)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def measure(report: Report, name: str, n: int, turns: int, count: int) -> None:
    function, x = FUNCTIONS[name], positive(n)
    t = flow.tensor(x)
    ratios, alone, beside = [], [], []
    for _ in range(turns):
        ours = seconds(lambda: function(flow, t).numpy(), count)
        ratios.append(median(ours) / median(seconds(lambda: function(np, x), count)))
        alone.append(steadiness(ours))
        with small_operations():
            beside.append(steadiness(seconds(lambda: function(flow, t).numpy(), count)))
    has_target = LEAST <= n <= MOST
    question = f"{name}, {n} x {n}"
    goal = {"goal": RATIO} if has_target else {}
    report.claim(question, Summary.of(ratios), "x NumPy", **goal)
    goal = {"goal": STEADY} if has_target else {}
    report.claim(f"{question}: steady", Summary.of(alone), "x median", **goal)
    report.claim(f"{question}: beside small ones", Summary.of(beside), "x median", **goal)


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("bench_linalg", {"NumPy": np.__version__})
    turns, count = (1, 3) if options.quick else (5, 100)
    for name in FUNCTIONS:
        for n in (LEAST,) if options.quick else SIZES:
            measure(report, name, n, turns, count)
    report.finish(options.json)


if __name__ == "__main__":
    main()
