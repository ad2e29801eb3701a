"""Run every benchmark, one at a time, and rewrite the tables of README.md between their markers.

What each reported is kept in results/, from which the tables are written and docs/*.png are drawn.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import plots
from comparison import JIT, NUMPY, TORCH
from libraries import OURS
from report import (
    CLAIMS_HEAD,
    TIMES_HEAD,
    claim_cells,
    claim_of,
    curve_of,
    large_table,
    row_of,
    sizes_table,
    table,
    times_cells,
)
from sweep import page

FOLDER = Path(__file__).resolve().parent
RESULTS, DOCS = FOLDER / "results", FOLDER.parent / "docs"
BEGIN, END = "<!-- begin: written by run_all.py -->", "<!-- end: written by run_all.py -->"
HEADLINE, HEADLINE_END = "<!-- begin: headline -->", "<!-- end: headline -->"
FULL = ("bench_chain", "bench_elementwise", "bench_memory")  # have a larger setting
Report = Mapping[str, Any]


def scripts() -> list[Path]:
    """Return the benchmarks: every bench_*.py of the folder."""
    return sorted(FOLDER.glob("bench_*.py"))


def run(script: Path, options: Sequence[str], file: Path) -> bool:
    """Run one benchmark, which writes its report to the file; whether it worked."""
    command = [sys.executable, str(script), "--json", str(file), *options]
    return subprocess.run(command).returncode == 0


def kept(folder: Path) -> list[Report]:
    """Return the reports of a folder."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.json"))]


def headline(reports: Sequence[Report]) -> str:
    """Return the table for the first screen: our time in times of the others'."""
    others = (NUMPY, TORCH, JIT)
    rows = []
    for given in (row for report in reports for row in report["headlines"]):
        ratios = [given["ratios"].get(name) for name in others]
        rows.append([given["question"], *("" if r is None else f"{r:.2g}" for r in ratios)])
    heads = [f"{OURS.name}'s time", *(f"/ {name}'s" for name in others)]
    return table(heads, rows, markdown=True)


def block(reports: Sequence[Report], failed: Sequence[str] = ()) -> str:
    """Return the text between the markers: what was reported, and which benchmarks failed."""
    machines = [f"{report['benchmark']}: {report['machine']}" for report in reports]
    claims = [claim_cells(claim_of(given)) for report in reports for given in report["claims"]]
    times = [times_cells(row_of(given)) for report in reports for given in report["times"]]
    curves = [curve_of(given) for report in reports for given in report["curves"]]
    ours = [curve for curve in curves if curve.contender == OURS.name]
    notes = [f"{report['benchmark']}: {note}" for report in reports for note in report["notes"]]
    notes += [f"{name}: FAILED, no figures" for name in failed]
    parts = ["## Targets", table(CLAIMS_HEAD, claims, markdown=True)]
    if curves:
        parts += ["## Large arrays", "Times in times of NumPy's, whose own time is given."]
        parts += [large_table(curves, markdown=True)]
        parts += [
            "## Sizes",
            "Our time in times of NumPy's, over the number of elements (products: n).",
        ]
        parts += [sizes_table(ours, markdown=True)]
    if times:
        parts += ["## Small operations and the machine", table(TIMES_HEAD, times, markdown=True)]
    parts += ["## Machine", "\n".join(f"- {line}" for line in [*machines, *notes])]
    return "\n\n".join(parts)


def rewrite(readme: Path, text: str, begin: str = BEGIN, end: str = END) -> None:
    """Put the text between the markers of a file.

    Raises
    ------
    ValueError
        When the file lacks the markers.
    """
    head, found_begin, rest = readme.read_text(encoding="utf-8").partition(begin)
    _, found_end, tail = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"[run_all] {readme} lacks the lines {begin} and {end}")
    readme.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")


def write(failed: Sequence[str] = ()) -> None:
    """Write the tables and draw the pictures of what is kept."""
    reports = kept(RESULTS)
    rewrite(FOLDER / "README.md", block(reports, failed))
    rewrite(FOLDER.parent / "README.md", headline(reports), HEADLINE, HEADLINE_END)
    drawn = plots.draw({report["benchmark"]: report for report in reports}, DOCS)
    for report in reports:
        name = report["benchmark"]
        if name.startswith("bench_sweep"):  # one for each instruction set
            picture = f"{name}.png" if report["curves"] else ""
            (DOCS / f"{name}.md").write_text(page.page(report, picture), encoding="utf-8")
    print("\n".join(f"drawn: {file}" for file in drawn) or "matplotlib is not installed: no plots")


def main() -> int:
    """Run what is asked for; return the exit status, 1 when a benchmark failed."""
    names = [script.stem.removeprefix("bench_") for script in scripts()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smallest setting; writes nothing")
    parser.add_argument(
        "--full", action="store_true", help="larger, too: a quarter of an hour more"
    )
    parser.add_argument("--only", nargs="*", choices=names, metavar="NAME", help=", ".join(names))
    options = parser.parse_args()
    failed = []
    RESULTS.mkdir(exist_ok=True)
    for script in scripts():
        if options.only is not None and script.stem.removeprefix("bench_") not in options.only:
            continue
        print(f"=== {script.name}", flush=True)
        given = ["--quick"] if options.quick else []
        given += ["--full"] if options.full and script.stem in FULL else []
        file = Path(os.devnull) if options.quick else RESULTS / f"{script.stem}.json"
        if not run(script, given, file):
            failed.append(script.stem)
    if not options.quick:
        write(failed)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
