"""Run every benchmark, one at a time, and rewrite the tables of README.md between their markers.

What each reported is kept in results/, in a folder for each instruction set. The tables are written
and docs/*.png are drawn from it.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import plots
from figures import Report, block, headline
from instruction_sets import AVX2, LABELS, add_option, within_avx2
from oneflow_lite import _C
from sweep import page

FOLDER = Path(__file__).resolve().parent
RESULTS, DOCS = FOLDER / "results", FOLDER.parent / "docs"
BEGIN, END = "<!-- begin: written by run_all.py -->", "<!-- end: written by run_all.py -->"
HEADLINE, HEADLINE_END = "<!-- begin: headline -->", "<!-- end: headline -->"
FULL = ("bench_chain", "bench_elementwise", "bench_memory")  # have a larger setting


def scripts() -> list[Path]:
    """Return the benchmarks: every bench_*.py of the folder."""
    return sorted(FOLDER.glob("bench_*.py"))


def run(script: Path, options: Sequence[str], file: Path, limits: Mapping[str, str]) -> bool:
    """Run one benchmark, which writes its report to the file; whether it worked."""
    command = [sys.executable, str(script), "--json", str(file), *options]
    return subprocess.run(command, env={**os.environ, **limits}).returncode == 0


def kept(results: Path) -> dict[str, list[Report]]:
    """Return the reports of each instruction set that has some."""
    found = {}
    for isa in LABELS:
        files = sorted((results / isa).glob("*.json"))
        if files:
            found[isa] = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return found


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
    sets = kept(RESULTS)
    rewrite(FOLDER / "README.md", block(sets, failed))
    rewrite(FOLDER.parent / "README.md", headline(sets), HEADLINE, HEADLINE_END)
    for isa, reports in sets.items():
        suffix = "" if isa == "avx512" else f"_{isa}"
        drawn = plots.draw({report["benchmark"]: report for report in reports}, DOCS, suffix)
        for report in reports:
            if report["benchmark"] == "bench_sweep":
                name = f"bench_sweep{suffix}"
                text = page.page(report, f"{name}.png")
                (DOCS / f"{name}.md").write_text(text, encoding="utf-8")
        print("\n".join(f"drawn: {file}" for file in drawn) or "matplotlib is not installed")


def main() -> int:
    """Run what is asked for; return the exit status, 1 when a benchmark failed."""
    names = [script.stem.removeprefix("bench_") for script in scripts()]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smallest setting; writes nothing")
    parser.add_argument(
        "--full", action="store_true", help="larger, too: a quarter of an hour more"
    )
    parser.add_argument("--only", nargs="*", choices=names, metavar="NAME", help=", ".join(names))
    add_option(parser)
    options = parser.parse_args()
    limits = within_avx2() if options.isa == AVX2 else {}
    results = RESULTS / (AVX2 if limits else _C.cpu_isa())
    results.mkdir(parents=True, exist_ok=True)
    failed = []
    for script in scripts():
        if options.only is not None and script.stem.removeprefix("bench_") not in options.only:
            continue
        print(f"=== {script.name}", flush=True)
        given = ["--quick"] if options.quick else []
        given += ["--full"] if options.full and script.stem in FULL else []
        file = Path(os.devnull) if options.quick else results / f"{script.stem}.json"
        if not run(script, given, file, limits):
            failed.append(script.stem)
    if not options.quick:
        write(failed)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
