"""The system's C++ compiler, for programs that tests make."""

import os
import shlex
import subprocess
import sysconfig
from collections.abc import Sequence

from tests.support import ROOT

SOURCES = ROOT / "tests" / "cpp"
COMPILER = shlex.split(os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++")


def run(command: Sequence[object], timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """The command's return code and what it printed."""
    text = [str(part) for part in command]
    return subprocess.run(text, capture_output=True, text=True, timeout=timeout, check=False)


def compiled(command: Sequence[object]) -> None:
    """Run a compiler, which must succeed."""
    done = run(command)
    assert done.returncode == 0, done.stderr[-4000:]
