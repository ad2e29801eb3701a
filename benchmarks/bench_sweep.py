"""Every public function, over dtypes, layouts, axes and sizes: where is ours slower than NumPy?

A function is in it by itself: sweep/calls.py says how each is called, and fails where it cannot
tell. Cases above 1.1 are measured a second and a third time, later and with more samples, as long
as they are; the last figure counts.
The page has geometric means by chapter and size, and all cases above 1.1.
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import instruction_sets
import plots
from comparison import PAUSE_SECONDS
from libraries import COMPILERS, installed
from report import Report, arguments, size_str
from sweep import page
from sweep.calls import SIZES, Case, all_cases
from sweep.measuring import Refused, Sweep
from sweep.names import SweepError, aliases
from sweep.results import NUMPY, Result
from timing import Summary

NAME = "bench_sweep"
QUICK_SIZES = (1, 1_000)
SECONDS, QUICK_SECONDS = 10e-3, 1e-3
AGAIN = 2  # times that a slower case is measured once more


def options() -> argparse.Namespace:
    parser = arguments(__doc__)
    instruction_sets.add_option(parser)
    parser.add_argument("--sizes", nargs="+", type=int, metavar="N", help=f"of {SIZES}")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="functions, chapters")
    parser.add_argument("--seconds", type=float, help=f"of a case at one size, {SECONDS} by itself")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page here, too")
    given = parser.parse_args()
    unknown = sorted(set(given.sizes or ()) - set(SIZES))
    if unknown:
        parser.error(f"--sizes: expected some of {SIZES}, got {unknown}")
    given.sizes = tuple(given.sizes or (QUICK_SIZES if given.quick else SIZES))
    given.seconds = given.seconds or (QUICK_SECONDS if given.quick else SECONDS)
    return given


def chosen(only: Sequence[str], quick: bool) -> list[Case]:
    """Return the cases of these functions or chapters, all without any; quick: the main ones.

    Raises
    ------
    SweepError
        When a name is none.
    """
    other = aliases()
    names = {other.get(name, name) for name in only}
    cases = all_cases()
    known = {x for case in cases for x in (case.function, case.chapter, case.name)}
    if names - known:
        raise SweepError(f"[--only] neither functions nor chapters: {', '.join(names - known)}")
    if only:
        cases = [case for case in cases if names & {case.function, case.chapter, case.name}]
    return [case for case in cases if case.is_main] if quick else cases


def swept(
    sweep: Sweep, cases: Sequence[Case], sizes: Sequence[int]
) -> tuple[list[Result], list[str]]:
    """Measure the cases; return the results, and what ours refuses.

    Raises
    ------
    SweepError
        When NumPy refuses a call in every dtype.
    """
    found: dict[Case, list[Result]] = {}
    refused: list[Refused] = []
    for number, case in enumerate(cases, 1):
        if sys.stderr.isatty():
            print(f"\r\033[K{number} of {len(cases)}: {case.name}", end="", file=sys.stderr)
        try:
            found[case] = sweep.run(case, sizes)
        except Refused as error:
            refused.append(error)
    measured = {(case.function, case.call) for case in found}
    never = [case for case in cases if (case.function, case.call) not in measured]
    if never:
        names = ", ".join(case.name for case in never if case.is_main)
        raise SweepError(f"[sweep] cannot be called in any dtype: {names}; first: {refused[0]}")
    results = [(case, result) for case, of_case in found.items() for result in of_case]
    for _ in range(AGAIN):
        results = [
            (case, sweep.again(case, result.size) if result.ratio > page.SLOWER else result)
            for case, result in results
        ]
    return [result for _, result in results], [str(error) for error in refused if error.by_ours]


def claim(report: Report, results: Sequence[Result], sizes: Sequence[int]) -> None:
    """Report the geometric mean at each size, and how many cases are above 1.1."""
    for size in sizes:
        own = [result for result in results if result.size == size]
        if own:
            mean = page.geometric(result.ratio for result in own)
            question = f"sweep, {size_str(size)}: geometric mean of the cases"
            report.claim(question, Summary(mean, mean, 0.0, len(own)), f"x {NUMPY}", goal=1.0)
    share = len(page.slower(results)) / len(results)
    measured = Summary(share, share, 0.0, len(results))
    report.claim(f"sweep, cases above {page.SLOWER}", measured, "of all", goal=0.0)


def main() -> None:
    given = options()
    instruction_sets.restart(given.isa)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    libraries, missing = installed(only_numpy=given.quick)
    libraries = [library for library in libraries if library.module.__name__ not in COMPILERS]
    begin = time.monotonic()
    sweep = Sweep(libraries, given.seconds, 0.0 if given.quick else PAUSE_SECONDS)
    cases = chosen(given.only, given.quick)
    results, refused = swept(sweep, cases, given.sizes)
    report = Report(NAME, {library.name: library.version for library in libraries})
    for curve in page.curves(results):
        report.add(curve)
    claim(report, results, given.sizes)
    report.keep("cases", [result.as_line() for result in results])
    report.keep("refused", refused)
    report.keep("slow", sweep.slow)
    report.note(f"{time.monotonic() - begin:.0f} s; instruction set: {given.isa}")
    report.note(
        f"left out: {len(refused)} cases that ours refuses, {len(sweep.slow)} too slow ones"
    )
    if missing:
        report.note(f"not installed, skipped: {', '.join(missing)}")
    report.finish(given.json)
    written(report, given.page)


def written(report: Report, file: Path | None) -> None:
    """Print the list of the slower, and write the page and its picture where a file is given."""
    as_json = report.as_json()
    results = [Result.of_line(line) for line in as_json["cases"]]
    print(f"\nabove {page.SLOWER}:\n{page.slower_table(results)}")
    if file is not None:
        drawn = plots.draw({as_json["benchmark"]: json.loads(json.dumps(as_json))}, file.parent)
        file.write_text(page.page(as_json, drawn[0].name if drawn else ""), encoding="utf-8")


if __name__ == "__main__":
    main()
