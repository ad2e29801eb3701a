"""``python -m oneflow_lite draw``: pictures of what a script makes."""

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

from oneflow_lite._C import Executable
from oneflow_lite.graph.drawing.picture import checked, picture_of_run, write
from oneflow_lite.graph.made import watched
from oneflow_lite.graph.text import structure_of

USAGE = "usage: python -m oneflow_lite draw EXAMPLE [-o FILE] [ARGUMENTS OF EXAMPLE ...]"
_MOST = 40  # programs of a file


def draw(arguments: Sequence[str]) -> int:
    """Run a script and draw its programs; return the exit status.

    FILE is EXAMPLE.html in the current folder by default. What comes after it is the script's.
    """
    if not arguments or arguments[0].startswith("-"):
        return _refused(USAGE)
    script, rest = Path(arguments[0]), list(arguments[1:])
    target = f"{script.stem}.html"
    if rest[:1] in (["-o"], ["--output"]):
        if len(rest) < 2:
            return _refused(f"[draw] {rest[0]}: expected a file\n{USAGE}")
        target, rest = rest[1], rest[2:]
    if not script.is_file():
        return _refused(f"[draw] there is no file {str(script)!r}")
    try:
        place = checked("draw", target)
    except ValueError as error:
        return _refused(str(error))
    if not place.parent.is_dir():
        return _refused(f"[draw] there is no folder {str(place.parent)!r}")
    with watched() as made:
        status = _run(script, rest)
    runs = _different(made)
    if not runs:
        return _refused(f"[draw] {script} made no executable: nothing to draw") or status
    write(place, script.name, [picture_of_run(run) for run in runs[:_MOST]], {})
    for run in runs[:_MOST]:
        print(f"{run.name}: {len(run.function.ops)} operations")
    more = f" of {len(runs)}" if len(runs) > _MOST else ""
    print(f"{place}: {len(runs[:_MOST])}{more} programs")
    return status


def _refused(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


def _run(script: Path, arguments: list[str]) -> int:
    """Run a script as Python does; return its exit status."""
    kept = sys.argv, list(sys.path)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.resolve().parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    finally:
        sys.argv, sys.path[:] = kept
    return 0


def _different(made: Sequence[Executable]) -> list[Executable]:
    """Return the last of those that differ in more than how they run; empty ones are left out."""
    found = {
        (run.name, structure_of({"main": run.function})): run for run in made if run.function.ops
    }
    return list(found.values())
