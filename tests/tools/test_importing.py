"""What an import says where something that it needs is missing."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support import ROOT

pytestmark = pytest.mark.process

# A finder in front of all others: the module is not there.
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import oneflow_lite
"""


def failed(tree: Path, missing: str) -> str:
    """The last line of an import from a tree that fails; no other installation is seen (-S)."""
    command = [sys.executable, "-S", "-c", WITHOUT, missing]
    env = {"PYTHONPATH": str(Path(np.__file__).parents[1])}
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_a_checkout_that_is_not_built(tmp_path: Path) -> None:
    unbuilt = shutil.ignore_patterns("*.so", "__pycache__", "openblas")
    shutil.copytree(ROOT / "oneflow_lite", tmp_path / "oneflow_lite", ignore=unbuilt)
    assert failed(tmp_path, "nothing") == (
        "ImportError: the native extension of oneflow_lite is not built for this Python: "
        "run `pip install -e .` in the checkout"
    )


def test_without_numpy() -> None:
    assert failed(ROOT, "numpy") == (
        "ImportError: oneflow_lite needs NumPy: run `pip install 'numpy>=2.3'`"
    )


def test_another_module_that_is_missing_is_named() -> None:
    name = "oneflow_lite.ops.table"
    assert failed(ROOT, name) == f"ModuleNotFoundError: No module named {name!r}"
