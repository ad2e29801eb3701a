"""The system's C++ compiler, for programs that tests make, and for the simulated CUDA driver."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.util import find_spec

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


def missing_for_simulation(bindings: bool = False) -> str | None:
    """What the simulated driver needs, also to be called from Python, and this machine has not."""
    compiler = shlex.split(os.environ.get("CXX", "g++"))[0]
    if sys.platform != "linux":
        return "the simulated driver needs Linux"
    if shutil.which(compiler) is None:
        return f"the simulated driver needs a compiler: no {compiler}"
    if bindings and find_spec("cuda") is None:
        return "cuda-bindings is not installed"
    return None
