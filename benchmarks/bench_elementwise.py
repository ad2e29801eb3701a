"""Single elementwise operations, casts and copies, of 10 to 10,000,000 elements."""

from collections.abc import Callable
from typing import Any

import numpy as np

from comparison import HUGE, NUMPY, SLOWEST, TORCH, Arrays, Comparison, Program
from report import arguments, size_str
from timing import Effort


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
    """Return what makes arrays of these dtypes."""
    return lambda size: tuple(values(dtype, size, seed) for seed, dtype in enumerate(dtypes))


def square_of(dtype: str) -> Callable[[int], Arrays]:
    """Return what makes a square array of about so many elements."""

    def make(size: int) -> Arrays:
        side = round(size**0.5)
        return (values(dtype, side * side, 0).reshape(side, side),)

    return make


def program(name: str, run: Callable[..., Any], *dtypes: str, **more: Any) -> Program:
    """Return the program of arrays of these dtypes."""
    return Program(name, run, more.pop("inputs", arrays_of(*dtypes)), **more)


F32, F64 = "float32", "float64"
# Of single large operations.
TARGETS: dict[str, Any] = {"targets": {NUMPY: 0.7, TORCH: 1.0}}
MAIN: dict[str, Any] = {**TARGETS, "most": HUGE, "headline": True}
PROGRAMS = (
    program("add float32", lambda xp, a, b: a + b, F32, F32, **MAIN),
    program("add float64", lambda xp, a, b: a + b, F64, F64),
    program("add int64", lambda xp, a, b: a + b, "int64", "int64"),
    program("add complex64", lambda xp, a, b: a + b, "complex64", "complex64"),
    program("add float16", lambda xp, a, b: a + b, "float16", "float16"),
    program("multiply float32", lambda xp, a, b: a * b, F32, F32),
    program("exp float32", lambda xp, a: xp.exp(a), F32, **MAIN),
    program("exp float64", lambda xp, a: xp.exp(a), F64),
    program("tanh float32", lambda xp, a: xp.tanh(a), F32),
    program("sqrt float32", lambda xp, a: xp.sqrt(a), F32),
    program("a < b float32", lambda xp, a, b: a < b, F32, F32),
    program("logical_and bool", lambda xp, a, b: xp.logical_and(a, b), "bool", "bool"),
    program("where float32", lambda xp, c, a, b: xp.where(c, a, b), "bool", F32, F32),
    program("float32 to float64", lambda xp, a: xp.astype(a, xp.float64), F32, **TARGETS),
    program("int32 to float32", lambda xp, a: xp.astype(a, xp.float32), "int32", **TARGETS),
    program("copy of a", lambda xp, a: xp.copy(a), F32, **TARGETS),
    program("copy of a.T", lambda xp, a: xp.contiguous(a.T), inputs=square_of(F32), **TARGETS),
    program("copy of a[::2]", lambda xp, a: xp.contiguous(a[::2]), F32, **TARGETS),
)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--full", action="store_true", help=f"add and exp of {size_str(HUGE)}, too")
    options = parser.parse_args()
    effort = Effort(3, 1e-4) if options.quick else Effort(11, 1e-3, 0.4)
    comparison = Comparison("bench_elementwise", effort, options.quick)
    for one in PROGRAMS:
        comparison.claims(
            one, comparison.curve(one, comparison.sizes(options.full)[1:]), goal=SLOWEST
        )
    comparison.finish(options.json)


if __name__ == "__main__":
    main()
