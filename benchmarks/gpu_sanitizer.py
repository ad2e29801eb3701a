"""The kernels' examples under NVIDIA's compute-sanitizer, where that is installed: accesses out of
bounds (memcheck), races in shared memory (racecheck), barriers (synccheck).
"""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gpu_rows import FAILED, OK, SKIPPED, Row, read

if TYPE_CHECKING:
    from gpu_check import Run

PART = "sanitizer"
PROGRAM = "compute-sanitizer"
TOOLKIT = Path("/usr/local/cuda/bin")
TOOLS = ("memcheck", "racecheck", "synccheck")
LEAST_SECONDS = 5.0
_SUMMARY = re.compile(r"SUMMARY: (\d+) (?:error|hazard)")
_REPORT = re.compile(r"^=+ +(?:Invalid|Misaligned|Error|Warning|Race|Barrier|Program hit)", re.M)

Command = Callable[[Path, float], list[str]]


def check(run: "Run", seconds: float, examples: Command) -> None:
    """Add a row for each tool. ``examples`` is the command that runs them, its rows to a file."""
    program = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=TOOLKIT)
    if program is None:
        run.note(PART, "all", status=SKIPPED, note=f"{PROGRAM} is not installed")
        return
    for tool in TOOLS:
        available = min(seconds, run.left() - 2)
        if available < LEAST_SECONDS:
            run.note(PART, tool, status=SKIPPED, note="the time is up")
            continue
        file = run.folder / f"{PART}-{tool}.rows"
        file.unlink(missing_ok=True)
        command = [program, "--tool", tool, "--target-processes", "all", *examples(file, available)]
        status, text = run.heard(f"{PART}: {tool}", command, 1.3 * available + 5)
        run.rows.append(_row(tool, status, text, read(file)))


def _row(tool: str, status: int, text: str, rows: list[Row]) -> Row:
    """What the tool says at its end, or what it reported until it was stopped."""
    summaries = [int(number) for number in _SUMMARY.findall(text)]
    found = sum(summaries) if summaries else len(_REPORT.findall(text))
    tried = sum(row.unit == "relative error" for row in rows)
    failed = [row.question for row in rows if row.status == FAILED]
    notes = [f"{tried} examples", *(row.note for row in rows if row.status == SKIPPED)]
    notes += [f"failed under it: {', '.join(failed)}"] if failed else []
    notes += [] if summaries else [f"stopped before its end, with status {status}"]
    bad = found > 0 or failed or tried == 0
    return Row(
        *(PART, tool),
        value=float(found),
        unit="reports",
        target=0.0,
        status=FAILED if bad else OK,
        note="; ".join(notes),
    )
