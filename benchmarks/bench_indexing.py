"""Indexing, joining, sorting and scans, of 10 to 10,000,000 elements (sorts to 1,000,000)."""

from typing import Any

import numpy as np

from bench_elementwise import F32, F64, program, square_of, values
from comparison import SLOWEST, Arrays, Comparison
from report import arguments
from timing import Effort


def with_mask(size: int) -> Arrays:
    return values(F32, size, 0), values("bool", size, 1)


def with_indices(size: int) -> Arrays:
    return values(F32, size, 0), np.random.default_rng(1).permutation(size)


def rows_with_indices(size: int) -> Arrays:
    (rows,) = square_of(F32)(size)
    return rows, np.random.default_rng(1).permutation(len(rows))


def scattered(size: int) -> Arrays:
    return *with_indices(size), values(F32, size, 2)


def shuffled(size: int) -> Arrays:
    return (np.random.default_rng(1).permutation(size).astype(F32),)


def repeated(size: int) -> Arrays:
    return (np.random.default_rng(1).integers(0, max(2, size // 10), size),)


def blocks(size: int) -> Arrays:
    side = max(1, round(size ** (1 / 3)))
    return (values(F32, side**3, 0).reshape(side, side, side),)


def assign(xp: Any, a: Any, indices: Any, b: Any) -> Any:
    a[indices] = b
    return a


SORTED: dict[str, Any] = {"inputs": shuffled, "most": 10**6}
PROGRAMS = (
    program("a[mask]", lambda xp, a, mask: a[mask], inputs=with_mask),
    program("a[indices]", lambda xp, a, i: a[i], inputs=with_indices),
    program("rows[indices]", lambda xp, a, i: a[i], inputs=rows_with_indices),
    program("a[indices] = b", assign, inputs=scattered),
    program("sort float32", lambda xp, a: xp.sort(a), **SORTED),
    program("argsort float32", lambda xp, a: xp.argsort(a), **SORTED),
    program("unique int64", lambda xp, a: xp.unique(a), inputs=repeated, most=10**6),
    program("cumsum float64", lambda xp, a: xp.cumsum(a), F64),
    program("concatenate", lambda xp, a, b: xp.concatenate([a, b]), F32, F32),
    program(
        "copy of moveaxis(a, 0, 2)",
        lambda xp, a: xp.contiguous(xp.moveaxis(a, 0, 2)),
        inputs=blocks,
    ),
)


def main() -> None:
    options = arguments(__doc__).parse_args()
    effort = Effort(3, 1e-4) if options.quick else Effort(11, 1e-3, 0.4)
    comparison = Comparison("bench_indexing", effort, options.quick)
    for one in PROGRAMS:
        comparison.claims(one, comparison.curve(one, comparison.sizes()[1:]), goal=SLOWEST)
    comparison.finish(options.json)


if __name__ == "__main__":
    main()
