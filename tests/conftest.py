"""Fixtures of all tests: the devices present, and programs run as a user runs them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import oneflow_lite as flow

# In processes of their own, with another driver: test_cuda_kernels.py, test_sim_driver.py.
collect_ignore = ["cuda", "sim"]

PREFIX = "ONEFLOW_LITE_"
INLINE = "1us"  # arrays of some thousand elements are work for a worker


@pytest.fixture(autouse=True, scope="session")
def work_for_workers() -> Iterator[None]:
    """Tests need not be large to reach the workers."""
    with flow.flags(inline=INLINE):
        yield


def _present(per_type: int = 2) -> list[str]:
    """The cpu and the first devices of each other type."""
    return [str(device) for device in flow.devices() if device.index < per_type]


@pytest.fixture(params=_present())
def device(request: pytest.FixtureRequest) -> flow.Device:
    """Each device present, one after the other."""
    return flow.Device(request.param)


@pytest.fixture
def no_warnings() -> Iterator[None]:
    """NumPy does not say what it thinks of infinities and NaN."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(params=[False, True], ids=["threaded", "naive"])
def naive(request: pytest.FixtureRequest) -> Iterator[bool]:
    """Both modes of the machine."""
    with flow.flags(sync=request.param):
        yield request.param


@pytest.fixture
def run_program(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``code`` in a fresh Python, in an empty folder; keywords are flags (``sync="1"``)."""

    def run(
        code: str, *arguments: str, timeout: float = 120, **flags: str
    ) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith(PREFIX)}
        flags = {"inline": INLINE} | flags
        environment |= {PREFIX + name.upper(): value for name, value in flags.items()}
        (tmp_path / "program.py").write_text(code, encoding="utf-8")
        return subprocess.run(
            [sys.executable, "program.py", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
