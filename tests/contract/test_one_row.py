"""An operation is one row of the table: all that there is of it follows from the row.

Programs and runs of pytest have a table with a row whose name nothing else knows.
"""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.support import ROOT
from tests.support.compiling import missing_for_simulation
from tests.support.one_row import NAME

pytestmark = [pytest.mark.slow, pytest.mark.process]

_MISSING = missing_for_simulation(bindings=True)
_SIMULATED = [
    pytest.mark.toolchain,
    pytest.mark.skipif(_MISSING is not None, reason=str(_MISSING)),
]


@pytest.mark.parametrize(
    "file",
    [
        "tests/ops/elementwise/test_elementwise.py",  # NumPy's dtypes and bits, on all devices
        "tests/ops/elementwise/test_bfloat16.py",
        "tests/ops/test_table.py",
        "tests/interop/test_numpy_protocols.py",  # numpy.fmod of tensors
        "tests/tools/test_doctests.py",  # the function is public, and its docstring has an example
        pytest.param("tests/cuda/kernels/test_elementwise.py", marks=_SIMULATED),  # its kernels
    ],
)
def test_tests_of_rows_find_it(file: str) -> None:
    """Pytest has an error of its own where it finds no test of this name."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", NAME, ROOT / file],
        cwd=ROOT,
        env=os.environ | {"PYTEST_ADDOPTS": "-p tests.support.one_row"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


PROGRAM = f"""
from tests.support.one_row import install

install()

import numpy as np
import oneflow_lite as flow
from tests.support.fusion import saved

assert {NAME!r} in flow.ops.elementwise.__all__ and not hasattr(flow, "fmod")
x, y = np.random.default_rng(1).normal(size=(2, 50_000)).astype("float32")
counts = saved(lambda xp, a, b: xp.negative(np.fmod(xp.add(a, b), b)), x, y)
assert (counts["groups"], counts["instructions"], counts["results"]) == (1, 3, 2), counts
print("fused")
"""


def test_it_fuses(run_program: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    """With what comes before and after it, and with NumPy's bits."""
    done = run_program(PROGRAM)
    assert (done.returncode, done.stdout) == (0, "fused\n"), done.stderr
