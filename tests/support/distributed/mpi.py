"""Ranks that are processes: whether they can be started here, and how."""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from tests.conftest import ROOT

BESIDE = Path(sys.executable).parent / "mpiexec"

Start = Callable[..., subprocess.CompletedProcess[str]]

START = """
import os, signal, sys, threading, time
import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp

rank, everywhere = flow.distributed.rank(), placement.all("cpu")

def total(x):
    return x.to_global(everywhere, sbp.partial_sum).full().tolist()

def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

assert total(flow.ones(2)) == 2 * [flow.distributed.world_size()]
"""


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


def start_ranks(
    folder: Path, ranks: int, *words: str, code: str = "", **flags: str
) -> "subprocess.CompletedProcess[str]":
    """Run a program on ranks; all processes end with it. Keywords are flags.

    The program is START and the code, in the folder; or the words, in the checkout.
    """
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ONEFLOW_LITE_", "PYTEST"))}
    kept |= {"PYTHONPATH": str(ROOT), "PYTEST_DEBUG_TEMPROOT": str(folder)}
    kept |= {f"ONEFLOW_LITE_{name.upper()}": value for name, value in flags.items()}
    if code:
        (folder / "program.py").write_text(START + code, encoding="utf-8")
        words = ("program.py", *words)
    command = [sys.executable, "-m", "oneflow_lite.distributed", "-n", str(ranks), *words]
    started = subprocess.Popen(
        command,
        cwd=folder if code else ROOT,
        env=kept,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = started.communicate(timeout=300)
    finally:
        if started.poll() is None:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
    text = output.decode(errors="replace").replace("\0", "")
    return subprocess.CompletedProcess(command, started.returncode, text)
