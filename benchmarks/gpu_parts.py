"""The parts of the GPU check, each run by gpu_check.py in a process of its own.

    python gpu_parts.py chain --rows FILE --log FILE --seconds 30

A part adds rows; what one contender cannot do, or does wrong, is a row, and the others go on.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import gpu_accuracy
import gpu_engine
import gpu_graph
import gpu_latency
import gpu_machine
import gpu_ranks
import gpu_streaming
import gpu_transfers
import oneflow_lite as flow
from gpu_libraries import (
    CUPY,
    JIT,
    OURS,
    TORCH,
    Library,
    add_ratio,
    checked_calls,
    found,
    with_flags,
    with_jit,
    with_tf32,
)
from gpu_rows import SKIPPED, Rows
from timing import Contender, Effort, Measurement, Summary, measure, statement

UNFUSED = f"{OURS}, unfused"
TF32 = f"{TORCH}, tf32"


@dataclass(frozen=True)
class Setting:
    """How a part is run.

    Attributes
    ----------
    seconds : float
        What it may take.
    tiny : bool
        Whether sizes are as small as they can be: on a simulated device.
    alone : bool
        Whether other libraries are left out.
    shard : tuple of int
        Which share of the work, and of how many (accuracy).
    folder : Path
        Where files beside the table go.
    """

    seconds: float
    tiny: bool
    alone: bool
    shard: tuple[int, int]
    folder: Path

    def effort(self, share: float) -> Effort:
        """Return an effort for a share of the time."""
        if self.tiny:
            return Effort(2, 1e-3, 1.0)
        return Effort(15, 0.02, share * self.seconds)


def chain(xp: Any, a: Any, b: Any) -> Any:
    return xp.tanh(a * 2 + b) * xp.exp(-a) + xp.sqrt(b)


def repeated(size: int, low: float, high: float, seed: int) -> np.ndarray:
    """Return random float32, the same ones again and again where there are many."""
    rng = np.random.default_rng(seed)
    return np.resize(rng.uniform(low, high, min(size, 10**6)).astype(np.float32), size)


# --- the parts


def dispatch(rows: Rows, setting: Setting) -> None:
    """What a small operation costs, sustained: section 9's first row, and some others."""
    given = {"a": repeated(16, -1, 1, 1), "b": repeated(16, -1, 1, 2)}
    targets = {"a + b": 0.6, "xp.tanh(a)": None, "a.sum()": None, "a[3:7]": None}
    libraries = found(rows, setting.alone)
    for code, target in targets.items():
        question = f"{code}, 16 float32, sustained"
        expected = np.asarray(eval(code, {"xp": np, **given}))
        contenders = []
        for library in libraries:
            with rows.attempt(question, library.name):
                names = {name: library.array(array) for name, array in given.items()}
                names |= {"xp": library.xp, "sync": library.sync, "r": None}
                seen = library.numpy(eval(code, dict(names)))
                np.testing.assert_allclose(seen, expected, rtol=1e-5, atol=1e-6)
                contenders.append(statement(library.name, f"r = {code}", names, finish="sync(r)"))
        with rows.attempt(question):
            m = measure(contenders, setting.effort(0.2), warm_up=1)
            rows.times(question, m, 1e6, "us")
            add_ratio(rows, question, m, OURS, TORCH, target)


def launch(rows: Rows, setting: Setting) -> None:
    """How many small kernels a second: each needs the result of the one before."""
    libraries = found(rows, setting.alone)
    steps = 20
    for size in (1000,) if setting.tiny else (1000, 100_000):
        question = f"x = x * 0.5 + 1, {steps} times, {size} float32"
        with rows.attempt(question):
            x = repeated(size, 0, 1, 3)

            def make(library: Library, x: np.ndarray = x) -> Callable[[], Any]:
                given = library.array(x)

                def call() -> Any:
                    y = given
                    for _ in range(steps):
                        y = y * 0.5 + 1
                    return y

                return call

            contenders = checked_calls(
                rows, question, libraries, make, np.full(size, 2, np.float32), 1e-3
            )
            ours = next(c for c in contenders if c.name == OURS)
            contenders.append(with_flags(ours, UNFUSED, fusion=False))
            m = measure(contenders, setting.effort(0.35), warm_up=1)
            for name in m.names:
                rates = Summary.of([1e-3 * 2 * steps / s for s in m.samples(name)])
                rows.summary(question, name, rates, 1, unit="1000 operations/s")
            add_ratio(rows, question, m, OURS, TORCH, None)


def big_chain(rows: Rows, setting: Setting) -> None:
    """The 8-operation chain of section 6 on 10^8 float32, beside a copy."""
    size = 10_000 if setting.tiny else 10**8
    question = f"tanh(A*2+B)*exp(-A)+sqrt(B), {size:.0e} float32"
    a, b = repeated(size, -2, 2, 1), repeated(size, 0, 1, 2)
    few = slice(0, 10_000)
    expected = chain(np, a[few], b[few])
    libraries = found(rows, setting.alone)

    def make(library: Library) -> Callable[[], Any]:
        function = library.compile(partial(chain, library.xp))
        return partial(function, library.array(a), library.array(b))

    contenders = checked_calls(rows, question, with_jit(libraries), make, expected)
    ours = [c for c in contenders if c.name == OURS]
    contenders += [with_flags(c, UNFUSED, fusion=False) for c in ours]
    copies = []
    for one in checked_calls(
        rows, "copy", [c for c in libraries if c.name != JIT], _copy_of(a), a[few]
    ):
        copies.append(Contender(f"copy: {one.name}", one.run))
    m = measure([*contenders, *copies], setting.effort(0.6), warm_up=1)
    rows.times(question, m, 1e3, "ms")
    add_ratio(rows, question, m, OURS, TORCH, 0.25)
    add_ratio(rows, question, m, OURS, JIT, None)
    _bandwidths(rows, question, m, size, [copy.name for copy in copies])


def _copy_of(a: np.ndarray) -> Callable[[Library], Callable[[], Any]]:
    def make(library: Library) -> Callable[[], Any]:
        there = library.array(a)
        return there.clone if library.name == TORCH else there.copy

    return make


def _bandwidths(
    rows: Rows, question: str, m: Measurement, size: int, copies: Sequence[str]
) -> None:
    """A copy reads and writes each byte; the chain reads two arrays and writes one."""
    for name in copies:
        rates = Summary.of([1e-9 * 8 * size / s for s in m.samples(name)])
        rows.summary("copy on the device, read + written", name, rates, 1, unit="GB/s")
    if not copies or OURS not in m.names:
        return
    best = min(copies, key=lambda name: m.summary(name).median)
    share = m.pairwise(lambda ours, copy: 100 * (12 / ours) / (8 / copy), OURS, best)
    rows.summary(
        *(question, OURS, share, 1), unit="% of copy bandwidth", target=80, at_least=True, note=best
    )


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - xp.amax(x, 1)[:, None])
    return e / xp.sum(e, 1)[:, None]


def normalize(xp: Any, x: Any) -> Any:
    centred = x - xp.mean(x, 1)[:, None]
    return centred / xp.sqrt(xp.mean(centred * centred, 1)[:, None] + 1e-5)


def variance_of_columns(xp: Any, x: Any) -> Any:
    centred = x - xp.mean(x, 0)
    return xp.mean(centred * centred, 0)


def reduce(rows: Rows, setting: Setting) -> None:
    """Sums and maxima of 10^8 float32: one number, rows, columns; and what is made of them."""
    side = 100 if setting.tiny else 10_000
    a = repeated(side * side, 0, 1, 4)
    square = a.reshape(side, side)
    libraries = found(rows, setting.alone)
    cases: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
        "sum": (lambda xp, x: x.sum(), square.sum(dtype=np.float64)),
        "sum of rows": (lambda xp, x: x.sum(1), square.sum(1, dtype=np.float64)),
        "sum of columns": (lambda xp, x: x.sum(0), square.sum(0, dtype=np.float64)),
        "max": (lambda xp, x: x.max(), square.max()),
    }
    for name, (function, expected) in cases.items():
        question = f"{name}, {side} x {side} float32"
        with rows.attempt(question):

            def make(library: Library, function: Any = function) -> Callable[[], Any]:
                return partial(function, library.xp, library.array(square))

            contenders = checked_calls(rows, question, libraries, make, np.asarray(expected), 1e-3)
            m = measure(contenders, setting.effort(0.12), warm_up=1)
            for contender in m.names:
                rates = Summary.of([1e-9 * a.nbytes / s for s in m.samples(contender)])
                rows.summary(question, contender, rates, 1, unit="GB/s")
            add_ratio(rows, question, m, OURS, TORCH, None)
    for program in (softmax, normalize, variance_of_columns):
        _reducing_program(rows, setting, libraries, program, square)


def _reducing_program(
    rows: Rows,
    setting: Setting,
    libraries: Sequence[Library],
    program: Callable[[Any, Any], Any],
    square: np.ndarray,
) -> None:
    """Elementwise operations around reductions: one kernel where they are fused."""
    question = f"{program.__name__}, {square.shape[0]} x {square.shape[1]} float32"
    few = square[:, :100] if program is variance_of_columns else square[:100]
    expected = program(np, few.astype(np.float64)).astype(np.float32)

    def make(library: Library) -> Callable[[], Any]:
        function = library.compile(partial(program, library.xp))
        return partial(function, library.array(square))

    with rows.attempt(question):
        contenders = checked_calls(rows, question, with_jit(libraries), make, expected, 1e-3)
        ours = [c for c in contenders if c.name == OURS]
        contenders += [with_flags(c, UNFUSED, fusion=False) for c in ours]
        m = measure(contenders, setting.effort(0.12), warm_up=1)
        rows.times(question, m, 1e3, "ms")
        add_ratio(rows, question, m, OURS, TORCH, None)


def matmul(rows: Rows, setting: Setting) -> None:
    """Products of square matrices; ours in the precision of its operands."""
    libraries = found(rows, setting.alone)
    sizes = (64,) if setting.tiny else (1024, 4096, 8192)
    dtypes = [d for d in ("float32", "float16", "bfloat16", "float64") if hasattr(flow, d)]
    if "bfloat16" not in dtypes:
        rows.add("bfloat16 products", OURS, status=SKIPPED, note="no such dtype in this version")
    too_slow: set[tuple[str, str]] = set()
    for n in sizes:
        for dtype in dtypes:
            if n < 8192 or dtype != "float64":
                _product(rows, setting, libraries, n, dtype, too_slow)


def _product(
    rows: Rows,
    setting: Setting,
    libraries: Sequence[Library],
    n: int,
    dtype: str,
    too_slow: set[tuple[str, str]],
) -> None:
    question = f"{n}^3 {dtype}"
    a, b = repeated(n * n, -1, 1, 5).reshape(n, n), repeated(n * n, -1, 1, 6).reshape(n, n)
    near = 1e-3 if dtype in ("float32", "float64") else 3e-2
    few = a[:2].astype(np.float64) @ b.astype(np.float64)
    scale = float(np.abs(few).max())

    def make(library: Library) -> Callable[[], Any]:
        x, y = (library.astype(library.array(one), dtype) for one in (a, b))
        factor = 1 / scale
        first = library.numpy(library.astype((x @ y)[:2], "float32")) * factor
        np.testing.assert_allclose(first, few * factor, rtol=near, atol=near)
        return lambda: x @ y

    too_slow.add((CUPY, "bfloat16"))  # it has none
    able = [one for one in libraries if (one.name, dtype) not in too_slow]
    with rows.attempt(question):
        contenders = checked_calls(rows, question, able, make)
        if dtype == "float32":
            contenders += _torch_tf32(libraries, contenders)
        m = measure(contenders, setting.effort(0.06), warm_up=1)
        for name in m.names:
            rates = Summary.of([2e-12 * n**3 / s for s in m.samples(name)])
            rows.summary(question, name, rates, 1, unit="TFLOP/s")
            growth = (8192 / n) ** 3  # of the work, up to the largest
            if not setting.tiny and growth * m.summary(name).median > 0.02 * setting.seconds:
                too_slow.add((name, dtype))
                note = f"{n}^3 took {m.summary(name).median:.3g} s: no larger ones"
                rows.add(question, name, status=SKIPPED, note=note)
        add_ratio(rows, question, m, OURS, TORCH, None)


def _torch_tf32(libraries: Sequence[Library], contenders: list[Contender]) -> list[Contender]:
    for library in libraries:
        for contender in contenders:
            if library.name == contender.name == TORCH:
                settings = library.xp.backends.cuda.matmul
                return [with_tf32(contender, TF32, settings, True)]
    return []


PARTS: dict[str, Callable[[Rows, Setting], None]] = {
    "machine": gpu_machine.check,
    "transfer": gpu_transfers.check,
    "latency": gpu_latency.check,
    "chain": big_chain,
    "stream": gpu_streaming.check,
    "dispatch": dispatch,
    "launch": launch,
    "reduce": reduce,
    "matmul": matmul,
    "accuracy": gpu_accuracy.check,
    "engine": gpu_engine.check,
    "ranks": gpu_ranks.check,
    "graph": gpu_graph.check,
    "examples": gpu_accuracy.check_examples,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--shard", type=int, nargs=2, default=(0, 1))
    given = parser.parse_args()
    rows = Rows(given.part, given.rows, given.log)
    setting = Setting(given.seconds, given.tiny, given.alone, tuple(given.shard), given.rows.parent)
    began = time.monotonic()
    with rows.attempt("the whole part"):
        PARTS[given.part](rows, setting)
    for name in sorted(flow.cuda.host_operations()):
        if given.part != "accuracy":
            rows.add("ran on the host", OURS, note=name)
    rows.log(f"{given.part}: done in {time.monotonic() - began:.1f} s", str(flow.vm.stats()))


if __name__ == "__main__":
    main()
