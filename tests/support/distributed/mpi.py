"""Whether ranks that are processes can be started here."""

import functools
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

BESIDE = Path(sys.executable).parent / "mpiexec"


@functools.cache
def missing_for_processes() -> str | None:
    """What is missing to start some; None: nothing."""
    if find_spec("mpi4py") is None:
        return "no mpi4py"
    if not BESIDE.exists():
        return "no mpiexec beside this Python"
    program = "from mpi4py import MPI; assert MPI.COMM_WORLD.size == 2"
    started = subprocess.run(
        [sys.executable, "-m", "oneflow_lite.distributed", "-n", "2", "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        timeout=300,
        check=False,
    )
    if started.returncode == 0:
        return None
    return f"MPI does not start here: {started.stdout.decode(errors='replace')[-500:]}"
