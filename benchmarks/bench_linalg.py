"""Linear algebra of single matrices: what a call takes in times of NumPy, and how steady that is.

Alone, and beside a thread that makes small operations all the time. Steady is the 99th percentile
of the calls in times of their median. Both contenders take turns in one process; the threads of
NumPy's library spin for about 100 ms after a call, so a pause comes before each turn.
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

SIZES = (16, 64, 100, 200, 256, 500, 1000)
RATIO, STEADY = 1.2, 3.0  # targets; the second one from LEAST to MOST
LEAST, MOST = 100, 200
PAUSE_SECONDS = 0.12  # the threads of NumPy's library spin for 104 ms after a call
TURN_SECONDS, LEAST_CALLS, MOST_CALLS = 0.25, 3, 100

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "det": lambda xp, x: xp.linalg.det(x),
    "slogdet": lambda xp, x: xp.linalg.slogdet(x)[1],
    "solve": lambda xp, x: xp.linalg.solve(x, x[:, 0]),
    "inv": lambda xp, x: xp.linalg.inv(x),
    "cholesky": lambda xp, x: xp.linalg.cholesky(x),
    "eigh": lambda xp, x: xp.linalg.eigh(x)[0],
    "eigvalsh": lambda xp, x: xp.linalg.eigvalsh(x),
    "eig": lambda xp, x: xp.linalg.eig(x)[0],
    "eigvals": lambda xp, x: xp.linalg.eigvals(x),
    "qr": lambda xp, x: xp.linalg.qr(x)[0],
    "qr, R": lambda xp, x: xp.linalg.qr(x, mode="r"),
    "svd": lambda xp, x: xp.linalg.svd(x)[1],
    "svdvals": lambda xp, x: xp.linalg.svdvals(x),
    "lstsq": lambda xp, x: xp.linalg.lstsq(x, x[:, 0])[0],
    "pinv": lambda xp, x: xp.linalg.pinv(x),
    "matrix_rank": lambda xp, x: xp.linalg.matrix_rank(x),
    "cond": lambda xp, x: xp.linalg.cond(x),
    "nuclear norm": lambda xp, x: xp.linalg.norm(x, "nuc"),
    "matrix_power": lambda xp, x: xp.linalg.matrix_power(x, 5),
}


def positive(n: int) -> np.ndarray:
    """Return a matrix that every function takes."""
    x = np.random.default_rng(n).normal(size=(n, n))
    return x @ x.T + n * np.eye(n)


def seconds(call: Callable[[], object], most: int) -> list[float]:
    """Return what each of some calls takes, after one that does not count."""
    time.sleep(PAUSE_SECONDS)
    call()
    taken: list[float] = []
    while len(taken) < most and (len(taken) < LEAST_CALLS or sum(taken) < TURN_SECONDS):
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


def measure(report: Report, name: str, n: int, turns: int, most: int) -> None:
    function, x = FUNCTIONS[name], positive(n)
    t = flow.tensor(x)
    ratios, alone, beside = [], [], []
    for _ in range(turns):
        ours = seconds(lambda: function(flow, t).numpy(), most)
        ratios.append(median(ours) / median(seconds(lambda: function(np, x), most)))
        alone.append(steadiness(ours))
        with small_operations():
            beside.append(steadiness(seconds(lambda: function(flow, t).numpy(), most)))
    question = f"{name}, {n} x {n}"
    report.claim(question, Summary.of(ratios), "x NumPy", goal=RATIO)
    goal = {"goal": STEADY} if LEAST <= n <= MOST else {}
    report.claim(f"{question}: steady", Summary.of(alone), "x median", **goal)
    report.claim(f"{question}: beside small ones", Summary.of(beside), "x median", **goal)


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("bench_linalg", {"NumPy": np.__version__})
    turns, most = (1, LEAST_CALLS) if options.quick else (5, MOST_CALLS)
    for name in FUNCTIONS:
        for n in (LEAST,) if options.quick else SIZES:
            measure(report, name, n, turns, most)
    report.finish(options.json)


if __name__ == "__main__":
    main()
