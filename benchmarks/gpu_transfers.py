"""Copies from and to NumPy arrays through the rings: each direction alone, and both at once; and a
pinned source that its owner overwrites at once.
"""

import importlib
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import oneflow_lite as flow
from gpu_libraries import DEVICE, OURS
from gpu_rows import FAILED, OK, Rows
from timing import Contender, Effort, Summary, measure

H2D, D2H, BOTH, SLOWEST = "h2d alone", "d2h alone", "both at once", "slowest alone"


def check(rows: Rows, setting: Any) -> None:
    """Measure the rings, and look whether a source may be overwritten."""
    with rows.attempt("both directions", OURS):
        _rings(rows, setting)
    for kind, make in SOURCES.items():
        with rows.attempt(f"{kind}, overwritten at once", OURS):
            _overwritten(rows, kind, make, (2 << 20) if setting.tiny else (256 << 20))


def _rings(rows: Rows, setting: Any) -> None:
    """Each direction by a thread of its own, as many copies as make the time worth measuring."""
    size = (1 << 20) if setting.tiny else (64 << 20)
    copies = 2 if setting.tiny else 8
    sources = [np.full(size, i, np.uint8) for i in range(copies)]
    there = [flow.tensor(source, device=DEVICE) for source in sources]
    flow.synchronize()

    def h2d() -> None:
        kept = [flow.tensor(source, device=DEVICE) for source in sources]
        for one in kept:  # all there, and this thread waits for its own copies only
            one[-1:].numpy()

    def d2h() -> None:
        kept = [one.cpu() for one in there]
        for i, one in enumerate(kept):
            assert one.numpy()[-1] == i

    def both() -> None:
        thread = threading.Thread(target=h2d)
        thread.start()
        d2h()
        thread.join()

    def contender(name: str, work: Callable[[], None]) -> Contender:
        def run(_times: int) -> float:
            begin = time.perf_counter()
            work()
            return time.perf_counter() - begin

        return Contender(name, run, 1)

    works = {H2D: h2d, D2H: d2h, BOTH: both}
    effort = Effort(2, 0, 1.0) if setting.tiny else Effort(9, 0, 0.6 * setting.seconds)
    m = measure([contender(*item) for item in works.items()], effort, warm_up=1)
    question = f"{copies} arrays of {size >> 20} MiB, pageable"
    total = size * copies
    for name in works:
        bytes_ = 2 * total if name == BOTH else total
        rates = Summary.of([1e-9 * bytes_ / s for s in m.samples(name)])
        rows.summary(f"{question}, {name}", OURS, rates, 1, unit="GB/s")
    for one, other in zip(m.samples(H2D), m.samples(D2H), strict=True):
        m.add(SLOWEST, max(one, other))
    share = m.pairwise(lambda together, alone: 100 * alone / together, BOTH, SLOWEST)
    rows.summary(question, OURS, share, 1, unit=f"% of {SLOWEST}", target=85, at_least=True)


def _ours(size: int) -> np.ndarray:
    return np.asarray(flow.empty((size // 4,), dtype="int32", pin_memory=True))


def _torch(size: int) -> np.ndarray:
    torch = importlib.import_module("torch")
    array: np.ndarray = torch.empty(size // 4, dtype=torch.int32).pin_memory().numpy()
    return array


SOURCES: dict[str, Callable[[int], np.ndarray]] = {
    "a pageable array": lambda size: np.empty(size // 4, np.int32),
    "an array over our pinned memory": _ours,
    "an array over PyTorch's pinned memory": _torch,
}


def _overwritten(rows: Rows, kind: str, make: Callable[[int], np.ndarray], size: int) -> None:
    question = f"{kind} of {size >> 20} MiB, overwritten at once"
    try:
        array = make(size)
    except ImportError as error:
        rows.add(question, OURS, note=f"not tried: {error}")
        return
    values = np.arange(array.size, dtype=np.int32)
    wrong = 0
    for _ in range(5):
        array[:] = values
        x = flow.tensor(array, device=DEVICE)
        array[:] = -1
        wrong += int((x.numpy() != values).sum())
    status = FAILED if wrong else OK
    rows.add(question, OURS, value=float(wrong), unit="wrong values", target=0.0, status=status)
