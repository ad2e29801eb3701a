"""Single elementwise operations, casts and copies, of 10 to 10,000,000 elements."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from comparison import NUMPY, Arrays, Comparison, Program, worst
from libraries import OURS
from report import arguments, size_str
from timing import Effort

LARGE, FULL, QUICK = 10**7, 10**8, 10**4
JIT, TORCH = "JAX jit", "PyTorch"


def values(dtype: str, size: int, seed: int) -> np.ndarray:
    """Return values of which every function here is defined."""
    random = np.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, size).astype(bool)
    if dtype.startswith("int"):
        return random.integers(-1000, 1000, size).astype(dtype)
    found = random.uniform(0.5, 2, size)
    return (found + 1j * found[::-1] if dtype.startswith("complex") else found).astype(dtype)


def arrays_of(*dtypes: str) -> Callable[[int], Arrays]:
    return lambda size: tuple(values(dtype, size, seed) for seed, dtype in enumerate(dtypes))


def square(dtype: str) -> Callable[[int], Arrays]:
    """Return what makes a square array of about so many elements."""
    return lambda size: (values(dtype, round(size**0.5) ** 2, 0).reshape(round(size**0.5), -1),)


@dataclass(frozen=True)
class Case:
    """A program, and its targets at LARGE: in times of NumPy and of PyTorch."""

    name: str
    run: Callable[..., Any]
    inputs: Callable[[int], Arrays]
    target: float | None = None
    target_torch: float | None = None
    headline: bool = False


def single(name: str, *dtypes: str, **target: Any) -> Case:
    """Return the case of a function that every namespace has."""

    def run(xp: Any, *arrays: Any) -> Any:
        return getattr(xp, name)(*arrays)

    # The number of arrays shows in the signature.
    return Case(f"{name} {dtypes[0]}", run, arrays_of(*dtypes), **target)


TARGET = {"target": 0.7, "target_torch": 1.0}
F32, F64 = "float32", "float64"
CASES = (
    Case("add float32", lambda xp, a, b: a + b, arrays_of(F32, F32), **TARGET, headline=True),
    Case("add float64", lambda xp, a, b: a + b, arrays_of(F64, F64)),
    Case("add int64", lambda xp, a, b: a + b, arrays_of("int64", "int64")),
    Case("add complex64", lambda xp, a, b: a + b, arrays_of("complex64", "complex64")),
    Case("add float16", lambda xp, a, b: a + b, arrays_of("float16", "float16")),
    Case("multiply float32", lambda xp, a, b: a * b, arrays_of(F32, F32)),
    Case("exp float32", lambda xp, a: xp.exp(a), arrays_of(F32), **TARGET, headline=True),
    Case("exp float64", lambda xp, a: xp.exp(a), arrays_of(F64)),
    Case("tanh float32", lambda xp, a: xp.tanh(a), arrays_of(F32)),
    Case("sqrt float32", lambda xp, a: xp.sqrt(a), arrays_of(F32)),
    Case("a < b float32", lambda xp, a, b: a < b, arrays_of(F32, F32)),
    Case("logical_and bool", lambda xp, a, b: xp.logical_and(a, b), arrays_of("bool", "bool")),
    Case("where float32", lambda xp, c, a, b: xp.where(c, a, b), arrays_of("bool", F32, F32)),
    Case("float32 to float64", lambda xp, a: xp.astype(a, xp.float64), arrays_of(F32), **TARGET),
    Case("int32 to float32", lambda xp, a: xp.astype(a, xp.float32), arrays_of("int32"), **TARGET),
    Case("copy float32", lambda xp, a: xp.copy(a), arrays_of(F32), **TARGET),
    Case("copy of a.T float32", lambda xp, a: xp.contiguous(a.T), square(F32), **TARGET),
    Case("copy of a[::2] float32", lambda xp, a: xp.contiguous(a[::2]), arrays_of(F32), **TARGET),
)


def measure_case(comparison: Comparison, case: Case, sizes: list[int]) -> None:
    program = Program(case.name, case.run, case.inputs)
    curve = comparison.curve(program, sizes, {FULL: (OURS.name, NUMPY, JIT)})
    report, size = comparison.report, min(LARGE, max(curve))
    large, question = curve[size], f"{case.name}, {size_str(size)}"
    for name, target in ((NUMPY, case.target), (TORCH, case.target_torch)):
        if target and name in large.names:
            ratio = large.ratio(OURS.name, name)
            report.claim(question, ratio, f"x {name}", now=target, goal=target)
    at, ratio = worst(curve)
    report.claim(f"{case.name}, slowest size ({size_str(at)})", ratio, f"x {NUMPY}")
    if case.headline:
        report.headline(question, large, OURS.name)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--full", action="store_true", help=f"{size_str(FULL)} float32, too")
    options = parser.parse_args()
    effort = Effort(3, 1e-4) if options.quick else Effort(15, 1e-3, 0.7)
    comparison = Comparison("bench_elementwise", effort, options.quick)
    sizes = [10**n for n in range(1, 8) if 10**n <= (QUICK if options.quick else LARGE)]
    for case in CASES:
        full = [FULL] if options.full and F32 in case.name else []
        measure_case(comparison, case, sizes + full)
    comparison.finish(options.json)


if __name__ == "__main__":
    main()
