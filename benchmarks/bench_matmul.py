"""Products of matrices: square ones of many sizes, and other shapes and dtypes."""

from dataclasses import replace

import numpy as np

from comparison import Arrays, Comparison, Program
from libraries import OURS
from report import arguments
from timing import Effort, Measurement, Summary

SIZES = tuple(2**n for n in range(4, 12))
QUICK_SIZES = (16, 64)
CLAIMED = (1024, 2048)  # sizes of the float32 product with a target
TARGET = 0.95  # of the speed of the fastest other
F32, F64 = "float32", "float64"
PAUSE_SECONDS = 0.12  # OpenBLAS's threads, NumPy's, spin for 104 ms after each product


def matrices(dtype: str, *shapes: tuple[int, ...]) -> Arrays:
    """Return small whole numbers, so that products of integers and halves are exact."""
    random = np.random.default_rng(5)
    return tuple(random.integers(-4, 5, shape).astype(dtype) for shape in shapes)


def product(name: str, dtype: str, *shapes: str) -> Program:
    """Return the product of matrices whose shapes are expressions of n."""
    formulas = [eval(f"lambda n: ({shape},)") for shape in shapes]
    return Program(
        name,
        lambda xp, a, b: a @ b,
        lambda n: matrices(dtype, *(formula(n) for formula in formulas)),
        exact=False,
        checked=32,
    )


SQUARE = replace(product("n x n, float32", F32, "n, n", "n, n"), claimed=CLAIMED)
# Each with its n.
PROGRAMS = (
    (product("n x n, float64", F64, "n, n", "n, n"), SIZES[:-1]),
    (product("100 n x 64 by 64 x 64", F32, "100 * n, 64", "64, 64"), (10, 1000)),
    (product("n of 16 x 16", F32, "n, 16, 16", "n, 16, 16"), (10, 10_000)),
    (product("n x n by n", F32, "n, n", "n"), (64, 512, 4096)),
    (
        Program(
            "n x n, transposed", lambda xp, a, b: a.T @ b, SQUARE.inputs, exact=False, checked=32
        ),
        (64, 512, 1024),
    ),
    (product("n x n, float16", "float16", "n, n", "n, n"), (16, 256)),
    (product("n x n, int64", "int64", "n, n", "n, n"), (16, 256)),
)


def of_the_fastest(measurement: Measurement) -> Summary:
    """Return our speed as part of the fastest other's."""
    medians = {name: measurement.summary(name).median for name in measurement.names}
    fastest = min((name for name in medians if name != OURS.name), key=medians.__getitem__)
    return measurement.ratio(fastest, OURS.name)


def main() -> None:
    options = arguments(__doc__).parse_args()
    effort = Effort(3, 1e-4) if options.quick else Effort(9, 2e-3, 1.5)
    comparison = Comparison("bench_matmul", effort, options.quick, pause=PAUSE_SECONDS)
    report = comparison.report
    curve = comparison.curve(SQUARE, QUICK_SIZES if options.quick else SIZES)
    for n in QUICK_SIZES if options.quick else CLAIMED:
        report.claim(
            f"product {n} x {n} float32",
            of_the_fastest(curve[n]),
            "x fastest",
            now=TARGET,
            goal=TARGET,
            at_least=True,
        )
        gigaflops = Summary.of([2e-9 * n**3 / s for s in curve[n].samples(OURS.name)])
        report.claim(f"product {n} x {n} float32", gigaflops, "GFLOP/s", at_least=True)
    report.headline(f"product of {max(curve)} x {max(curve)} float32", curve[max(curve)], OURS.name)
    for program, sizes in PROGRAMS:
        comparison.curve(program, sizes[:1] if options.quick else sizes)
    comparison.finish(options.json)


if __name__ == "__main__":
    main()
