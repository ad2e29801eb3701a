"""What the simulation says while it compiles: at a terminal, and nowhere else."""

import os
import pty
import subprocess
import sys

from tests.support import ROOT

PROGRAM = """
from sim.progress import Progress
progress = Progress("an example", total=3)
for _ in range(3):
    progress.step()
"""


def test_a_terminal_is_told_how_far_it_is() -> None:
    ours, theirs = pty.openpty()
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, stderr=theirs, check=True)
    os.close(theirs)
    text = os.read(ours, 4096).decode()
    os.close(ours)
    assert "compiling an example: 3 of 3" in text


def test_nothing_is_written_elsewhere() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
