"""What a small operation costs, against NumPy and, where installed, PyTorch, JAX and MLX.

*Sustained* is a loop of operations that ends when the last has been executed. *Asleep* is a single
operation whose value is looked at, 5 ms after the last work, when every worker sleeps.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import oneflow_lite as flow
from libraries import COMPILERS, OURS, Library, installed
from report import Report, arguments
from timing import Contender, Effort, measure, statement

SLEEP_SECONDS = 5e-3  # workers spin for some tens of microseconds, then sleep
SIZE = 16


@dataclass(frozen=True)
class Case:
    """A question: what is repeated; by module where it has another spelling (None: has none)."""

    question: str
    code: str
    others: Mapping[str, str | None] = field(default_factory=dict)
    now: float | None = None  # targets, in times of NumPy
    goal: float | None = None
    goal_torch: float | None = None
    headline: bool = False


JAX = "jax"
LOOPS = dict.fromkeys(("torch", JAX, "mlx.core"))  # of NumPy's names and ours only
# a, b: SIZE float32; c, d: one; s, t: elements; k: three; i: SIZE int64; j: np.int64; m: 4 x 4;
# w: a < b; r: the result, at first a; rng: a generator of random numbers.
# xp: the functions. {look}: a + b as a NumPy array.
SUSTAINED = (
    Case("a + b", "r = a + b", now=1.3, goal=1.0, goal_torch=0.3, headline=True),
    Case("chain x = x + y", "r = r + b"),
    Case("a * 2.0", "r = a * 2.0"),
    Case("2 * a", "r = 2 * a", goal=1.0),
    Case("i + 1", "r = i + 1", goal=1.0),
    Case("-a", "r = -a", goal=1.0),
    Case("abs(a)", "r = abs(a)", goal=1.0),
    Case("a -= b", "r -= b", {JAX: None}, goal=1.0),
    Case("a > b", "r = a > b", goal=1.0),
    Case("tanh(a)", "r = xp.tanh(a)", goal=1.0),
    Case("where(w, a, b)", "r = xp.where(w, a, b)", goal=1.0),
    Case("a.astype(float64)", "r = xp.astype(a, xp.float64)", goal=1.0),
    Case("a += b", "r += b", {JAX: None}),
    Case("a < b", "r = a < b"),
    Case("a.sum()", "r = a.sum()"),
    Case("a.max()", "r = a.max()", goal=1.0),
    Case("a.mean()", "r = a.mean()", goal=1.0),
    Case("a[3:7]", "r = a[3:7]"),
    Case("a[2]", "r = a[2]", goal=1.0),
    Case("m[1:3, 2]", "r = m[1:3, 2]", goal=1.0),
    Case("a.reshape(4, 4)", "r = a.reshape(4, 4)", goal=1.0),
    Case("m.T", "r = m.T", goal=1.0),
    Case("len(a), a.shape", "len(a); a.shape", goal=1.0),
    Case("zeros(16)", "r = xp.zeros(16)", goal=1.0),
    Case("c.item()", "c.item()", goal=1.0),
    Case("float(a[0])", "float(a[0])", goal=1.0),
    Case("(c + d).item()", "r = (c + d).item()"),
    Case("(a + b).sum().item()", "r = (a + b).sum().item()"),
    Case("(a + b).numpy()", "r = {look}"),
    # Elements and numbers, as programs with loops of Python have them.
    Case("s + t, 0-d", "r = s + t", LOOPS),
    Case("s < t, 0-d", "r = s < t", LOOPS),
    Case("-s, 0-d", "r = -s", LOOPS),
    Case("a[np.int64]", "r = a[j]", LOOPS),
    Case("rng.random()", "r = rng.random()", LOOPS),
    Case("rng.normal(0, 1, 16)", "r = rng.normal(0.0, 1.0, 16)", LOOPS),
    Case("rng.integers(10)", "r = rng.integers(10)", LOOPS),
    Case("rng.shuffle(i)", "rng.shuffle(i)", LOOPS),
    Case("convolve(a, k)", "r = xp.convolve(a, k)", LOOPS),
    Case('einsum("ij,ji->", m, m)', 'r = xp.einsum("ij,ji->", m, m)', LOOPS),
    Case("np.add.reduce(a)", "r = np.add.reduce(a)", LOOPS),
)
ASLEEP = (
    Case("(c + d).item(), asleep", "r = (c + d).item()", now=5.0, goal=3.0),
    Case("(a + b).numpy(), asleep", "r = {look}", goal=3.0),
)


def values(library: Library) -> dict[str, Any]:
    """Return the local variables of the statements."""
    a = np.linspace(0.5, 2.0, SIZE, dtype=np.float32)
    b = np.full(SIZE, 1e-3, np.float32)
    arrays = {"a": a, "b": b, "c": a[:1], "d": b[:1], "r": a, "w": a < b}
    arrays |= {"i": np.arange(SIZE), "m": a.reshape(4, 4), "k": a[:3]}
    names: dict[str, Any] = {name: library.array(array) for name, array in arrays.items()}
    names |= {"s": names["a"][3], "t": names["a"][4], "j": np.int64(3)}
    if library.module in (np, flow):
        names["rng"] = library.module.random.default_rng(7)
    return {**names, "np": np, "lib": library.module, "xp": library.xp}


def spelled(case: Case, library: Library) -> str | None:
    code = case.others.get(library.module.__name__, case.code)
    if code is None:
        return None
    code = code.format(look=library.numpy.format("(a + b)"))
    return f"{code}; {library.each}" if library.each else code


def sleep_first() -> None:
    """Return when nothing is in flight and the workers have gone to sleep."""
    flow.synchronize()
    time.sleep(SLEEP_SECONDS)


def contenders(case: Case, libraries: list[Library], asleep: bool) -> list[Contender]:
    found = []
    for library in libraries:
        code = spelled(case, library)
        if code is None:
            continue
        if asleep:
            found.append(
                statement(library.name, code, values(library), before=sleep_first, number=1)
            )
        else:
            found.append(statement(library.name, code, values(library), finish=library.finish))
    return found


def run(report: Report, case: Case, libraries: list[Library], effort: Effort, asleep: bool) -> None:
    measurement = measure(contenders(case, libraries, asleep), effort)
    report.times(case.question, measurement, "NumPy")
    if case.now or case.goal:
        ratio = measurement.ratio(OURS.name, "NumPy")
        report.claim(case.question, ratio, "x NumPy", now=case.now, goal=case.goal)
    if case.headline:
        report.headline(f"{case.question}, {SIZE} float32", measurement, OURS.name)
    if case.goal_torch and "PyTorch" in measurement.names:
        ratio = measurement.ratio(OURS.name, "PyTorch")
        report.claim(case.question, ratio, "x PyTorch", goal=case.goal_torch)


def main() -> None:
    options = arguments(__doc__).parse_args()
    found, missing = installed(only_numpy=options.quick)
    libraries = [library for library in found if library.name not in COMPILERS]
    report = Report("bench_dispatch", {library.name: library.version for library in libraries})
    if missing:
        report.note(f"not installed, skipped: {', '.join(missing)}")
    sustained = Effort(3, 1e-4) if options.quick else Effort(60, 3e-3)
    asleep = Effort(3, 0) if options.quick else Effort(150, 0)
    for case in SUSTAINED:
        run(report, case, libraries, sustained, asleep=False)
    for case in ASLEEP:
        run(report, case, libraries, asleep, asleep=True)
    report.finish(options.json)


if __name__ == "__main__":
    main()
