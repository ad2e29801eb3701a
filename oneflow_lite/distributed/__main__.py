"""Start a program as several ranks: ``python -m oneflow_lite.distributed -n 4 program.py``."""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn


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


def main() -> NoReturn:
    """Become the launcher."""
    parser = argparse.ArgumentParser(
        prog="python -m oneflow_lite.distributed",
        description="Run a program on several ranks, each a process, by the mpiexec of an MPI.",
        epilog="What stands behind -- are options of that mpiexec.",
    )
    parser.add_argument("-n", "--ranks", type=int, required=True, help="how many")
    parser.add_argument("program", nargs=argparse.REMAINDER, help="a file or -m module; arguments")
    words, options = sys.argv[1:], []
    if "--" in words:
        at = words.index("--")
        words, options = words[:at], words[at + 1 :]
    given = parser.parse_args(words)
    if given.ranks < 1:
        parser.error(f"expected at least one rank, got {given.ranks}")
    if not given.program:
        parser.error("expected a program")
    mpiexec = find_mpiexec()
    os.execv(mpiexec, command_of(mpiexec, given.ranks, options, given.program))


if __name__ == "__main__":
    main()
