"""The extension itself under a sanitizer: random programs of Python, the C++ below instrumented.

On request only, as it compiles the whole extension once for each (some minutes):
OFL_TEST_SANITIZERS=thread,address. What runs always is the machine without Python, in test_cpp.py.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REQUESTED = os.environ.get("OFL_TEST_SANITIZERS", "").split(",")
# AddressSanitizer must find the C++ runtime that Python itself does not load.
LIBRARIES = {"thread": ("libtsan.so",), "address": ("libasan.so", "libstdc++.so")}
OPTIONS = {
    # Python's own memory is not the subject; fork in a program with threads is.
    "thread": {"TSAN_OPTIONS": "halt_on_error=1 exitcode=66 die_after_fork=0"},
    "address": {"ASAN_OPTIONS": "detect_leaks=0 halt_on_error=1"},
}


def libraries(sanitizer: str) -> str:
    """What LD_PRELOAD wants."""
    compiler = os.environ.get("CXX", "g++")
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    paths = []
    for name in LIBRARIES[sanitizer]:
        command = [compiler, f"-print-file-name={name}"]
        path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        if not os.path.isabs(path):
            pytest.skip(f"{compiler} has no {name}")
        paths.append(path)
    return " ".join(paths)


@pytest.fixture(scope="module", params=LIBRARIES)
def sanitized(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, str]]:
    """A copy of the tree, built with the sanitizer, and the environment that runs it."""
    sanitizer = request.param
    if sanitizer not in REQUESTED:
        pytest.skip(f"on request: OFL_TEST_SANITIZERS={sanitizer}")
    preload = libraries(sanitizer)
    tree = tmp_path_factory.mktemp(sanitizer)
    for folder in ("csrc", "oneflow_lite", "tests"):
        shutil.copytree(
            ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("*.so", "*.pyc")
        )
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree)
    subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=tree,
        env=os.environ | {"OFL_SANITIZE": sanitizer},
        check=True,
        capture_output=True,
    )
    environment = os.environ | OPTIONS[sanitizer]
    environment |= {"LD_PRELOAD": preload, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}
    return tree, environment


@pytest.mark.parametrize(
    "command",
    [
        ["tests/random_program.py", "--seed", "1", "--count", "40"],
        ["tests/fusion_program.py", "--seed", "1", "--count", "40"],
        ["-m", "pytest", "-q", "tests/test_machine.py", "-k", "not watchdog and not slow_copy"],
        ["-m", "pytest", "-q", "tests/test_errors.py", "tests/test_faults.py"],
        ["-m", "pytest", "-q", "tests/test_host_func.py", "tests/test_overlap.py"],
        ["-m", "pytest", "-q", "tests/test_threads.py", "-k", "batches or named or piece"],
    ],
    ids=["random programs", "fusion programs", "machine", "faults", "host functions", "threads"],
)
def test_python(sanitized: tuple[Path, dict[str, str]], command: list[str]) -> None:
    tree, environment = sanitized
    done = subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    assert "Sanitizer" not in done.stderr
