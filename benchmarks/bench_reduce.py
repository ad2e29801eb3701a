"""Reductions, of everything and along an axis, of 10 to 10,000,000 elements."""

from typing import Any

import numpy as np

from bench_elementwise import F32, F64, MAIN, program, square_of
from comparison import SLOWEST, Arrays, Comparison
from report import arguments
from timing import Effort


def all_true(size: int) -> Arrays:
    return (np.ones(size, bool),)


def all_false(size: int) -> Arrays:
    return (np.zeros(size, bool),)


SUM: dict[str, Any] = MAIN | {"most": 10**7}
PROGRAMS = (
    program("sum float32", lambda xp, a: xp.sum(a), F32, **SUM),
    program("sum float64", lambda xp, a: xp.sum(a), F64),
    program("sum int64", lambda xp, a: xp.sum(a), "int64"),
    program("sum, axis 0", lambda xp, a: xp.sum(a, axis=0), inputs=square_of(F32)),
    program("sum, axis -1", lambda xp, a: xp.sum(a, axis=-1), inputs=square_of(F32)),
    program("mean float32", lambda xp, a: xp.mean(a), F32),
    program("max float32", lambda xp, a: xp.max(a), F32),
    program("max, axis -1", lambda xp, a: xp.max(a, axis=-1), inputs=square_of(F32)),
    program("argmax float32", lambda xp, a: xp.argmax(a), F32),
    program("all, all true", lambda xp, a: xp.all(a), inputs=all_true),
    program("any, all false", lambda xp, a: xp.any(a), inputs=all_false),
    program("var float32", lambda xp, a: xp.var(a), F32),
    program("norm float32", lambda xp, a: xp.linalg.norm(a), F32, exact=False),
)


def main() -> None:
    options = arguments(__doc__).parse_args()
    effort = Effort(3, 1e-4) if options.quick else Effort(11, 1e-3, 0.4)
    comparison = Comparison("bench_reduce", effort, options.quick)
    for one in PROGRAMS:
        comparison.claims(one, comparison.curve(one, comparison.sizes()[1:]), goal=SLOWEST)
    comparison.finish(options.json)


if __name__ == "__main__":
    main()
