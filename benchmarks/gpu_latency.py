"""How long after work of 0.1 and of 1 ms its result is known: a product, then ``.item()``."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_libraries import OURS, TORCH, Library, found
from gpu_rows import Rows
from timing import Contender, Effort, measure

BUSY = ", not looked at"


def check(rows: Rows, setting: Any) -> None:
    """Measure each library: the work with a look at it, less the work alone."""
    libraries = found(rows, setting.alone)
    for milliseconds in (0.1, 1.0):
        question = f".item() after {milliseconds:g} ms of work"
        contenders: list[Contender] = []
        for library in libraries:
            with rows.attempt(question, library.name):
                contenders += _pair(library, setting, 1e-3 * milliseconds)
        with rows.attempt(question):
            effort = setting.effort(0.3) if not setting.tiny else Effort(2, 0, 1.0)
            m = measure(contenders, effort, warm_up=1)
            names = [library.name for library in libraries if library.name in m.names]
            for name in names:
                waits = m.pairwise(lambda look, work: 1e6 * (look - work), name, name + BUSY)
                work = 1e3 * m.summary(name + BUSY).median
                note = f"the work alone: {work:.3g} ms"
                rows.summary(question, name, waits, 1, unit="us beyond it", note=note)
            if OURS in names and TORCH in names:
                ratio = m.ratio(OURS, TORCH)
                rows.summary(question, OURS, ratio, 1, unit=f"x {TORCH}, in all")


def _pair(library: Library, setting: Any, seconds: float) -> list[Contender]:
    """The work followed by a look, and as one of many that nobody looks at."""
    side = 16 if setting.tiny else _side_for(library, seconds)
    there = library.array(np.ones((side, side), np.float32))

    def look() -> float:
        begin = time.perf_counter()
        value = (there @ there)[0, 0].item()
        taken = time.perf_counter() - begin
        assert value == side
        return taken

    several = 2 if setting.tiny else 20
    return [
        Contender(library.name, _repeated(look, library), several),
        Contender(library.name + BUSY, lambda times: _sustained(library, there, times), several),
    ]


def _sustained(library: Library, there: Any, times: int) -> float:
    """Seconds for so many products, one after the other."""
    library.sync(there @ there)
    begin = time.perf_counter()
    r = None
    for _ in range(times):
        r = there @ there
    library.sync(r)
    return time.perf_counter() - begin


def _repeated(look: Callable[[], float], library: Library) -> Callable[[int], float]:
    def run(times: int) -> float:
        library.sync(library.array(np.ones(1, np.float32)))
        return sum(look() for _ in range(times))

    return run


def _side_for(library: Library, seconds: float) -> int:
    """The side of a square matrix whose product with itself takes about so long."""
    side = 2048
    there = library.array(np.ones((side, side), np.float32))
    taken = min(_sustained(library, there, 10) / 10 for _ in range(3))
    return max(64, 32 * round(side * (seconds / taken) ** (1 / 3) / 32))
