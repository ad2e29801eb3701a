"""Start a program as several ranks: ``python -m oneflow_lite.distributed -n 4 program.py``.

``python -m oneflow_lite.distributed merge trace.rank*.json -o trace.json`` makes one trace of
those that ranks have written.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from oneflow_lite.profiler import merge
from oneflow_lite.profiler.trace import drop_file


def find_mpiexec() -> str:
    """Return the launcher beside this Python, else the first one on the path."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise SystemExit(
            "[distributed] there is no mpiexec: pip install 'oneflow_lite[mpi]', or load the MPI "
            "of your cluster"
        )
    return found


def command_of(mpiexec: str, ranks: int, options: list[str], program: list[str]) -> list[str]:
    """Return what starts the program, and change the environment that it is to run in."""
    words = [mpiexec, "-n", str(ranks)]
    version = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=False)
    if "Open MPI" in version.stdout or "prte" in version.stdout.lower():
        words += ["--oversubscribe"] if ranks > (os.cpu_count() or 1) else []
        if os.geteuid() == 0:  # as in a container, where there is no other user
            os.environ["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
            os.environ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return [*words, *options, sys.executable, *program]


def in_parts(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Divide a command line: our own options, the program with its words, those of mpiexec."""
    own = 0
    while own < len(words):
        if words[own] in ("-n", "--ranks"):
            own += 2
        elif words[own] in ("-h", "--help") or words[own].startswith(("-n", "--ranks=")):
            own += 1
        else:
            break
    own = min(own, len(words))
    rest = words[own:]
    end = len(rest) - 1 - rest[::-1].index("--") if "--" in rest else len(rest)
    return words[:own], rest[:end], rest[end + 1 :]


def merge_traces(words: list[str]) -> None:
    """Write one trace of those of the ranks."""
    parser = argparse.ArgumentParser(
        prog="python -m oneflow_lite.distributed merge",
        description="Make one trace of those that the ranks of a run have written for "
        "ONEFLOW_LITE_PROFILE.",
    )
    parser.add_argument("traces", nargs="+", help="the files of all ranks of a run")
    parser.add_argument("-o", "--output", required=True, help="the file to write")
    given = parser.parse_args(words)
    try:
        merge(given.traces, given.output)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    except OSError as error:
        raise SystemExit(f"[merge] {error.filename}: {error.strerror}") from None


def main() -> NoReturn:
    """Become the launcher, or merge traces."""
    drop_file()  # traces are of the program
    if sys.argv[1:2] == ["merge"]:
        merge_traces(sys.argv[2:])
        sys.exit()
    parser = argparse.ArgumentParser(
        prog="python -m oneflow_lite.distributed",
        usage="%(prog)s -n RANKS (program.py | -m module) ... [-- options of mpiexec]\n"
        "       %(prog)s merge TRACE ... -o TRACE",
        description="Run a program on several ranks, each a process, by the mpiexec of an MPI.",
    )
    parser.add_argument("-n", "--ranks", type=int, required=True, help="how many")
    own, program, options = in_parts(sys.argv[1:])
    ranks = parser.parse_args(own).ranks
    if ranks < 1:
        parser.error(f"expected at least one rank, got {ranks}")
    if not program:
        parser.error("expected a program")
    mpiexec = find_mpiexec()
    os.execv(mpiexec, command_of(mpiexec, ranks, options, program))


if __name__ == "__main__":
    main()
