"""Run every benchmark, one at a time, and rewrite the tables of README.md between their markers."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from report import CLAIMS_HEAD, TIMES_HEAD, claim_cells, claim_of, row_of, table, times_cells

FOLDER = Path(__file__).resolve().parent
BEGIN, END = "<!-- begin: written by run_all.py -->", "<!-- end: written by run_all.py -->"


def scripts() -> list[Path]:
    """Return the benchmarks: every bench_*.py of the folder."""
    return sorted(FOLDER.glob("bench_*.py"))


def run(script: Path, options: Sequence[str]) -> dict[str, Any] | None:
    """Run one benchmark; return what it reports, or None when it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        done = subprocess.run([sys.executable, str(script), "--json", str(file), *options])
        if done.returncode:
            return None
        report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        return report


def block(reports: Sequence[dict[str, Any]], failed: Sequence[str] = ()) -> str:
    """Return the text between the markers: what was reported, and which benchmarks failed."""
    machines = [f"{report['benchmark']}: {report['machine']}" for report in reports]
    claims = [claim_cells(claim_of(given)) for report in reports for given in report["claims"]]
    times = [times_cells(row_of(given)) for report in reports for given in report["times"]]
    notes = [f"{report['benchmark']}: {note}" for report in reports for note in report["notes"]]
    notes += [f"{name}: FAILED, no figures" for name in failed]
    parts = [
        "## Targets",
        table(CLAIMS_HEAD, claims, markdown=True),
        "## Times",
        table(TIMES_HEAD, times, markdown=True),
        "## Machine",
        "\n".join(f"- {line}" for line in [*machines, *notes]),
    ]
    return "\n\n".join(parts)


def rewrite(readme: Path, text: str) -> None:
    """Put the text between the markers of a file.

    Raises
    ------
    ValueError
        When the file lacks the markers.
    """
    head, begin, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"[run_all] {readme} lacks the lines {BEGIN} and {END}")
    readme.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")


def main() -> int:
    """Run everything; return the exit status, 1 when a benchmark failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smallest setting; leaves README.md")
    parser.add_argument("--full", action="store_true", help="1,000,000 operations in bench_memory")
    options = parser.parse_args()
    reports, failed = [], []
    for script in scripts():
        given = ["--quick"] if options.quick else []
        given += ["--full"] if options.full and script.stem == "bench_memory" else []
        print(f"=== {script.name}", flush=True)
        report = run(script, given)
        if report is None:
            failed.append(script.stem)
        else:
            reports.append(report)
    if not options.quick:
        rewrite(FOLDER / "README.md", block(reports, failed))
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
