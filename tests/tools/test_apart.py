"""Tests that run in a process of their own are reported like others, whatever the process does."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.compiling import missing_for_simulation

CONFTEST = """
from pathlib import Path
from tests.support import apart
FOLDER = apart.Folder(Path(__file__).parent, OFL_GIVEN="yes")
pytest_itemcollected = FOLDER.mark
pytest_runtest_protocol = FOLDER.run
pytest_unconfigure = FOLDER.close
"""
TESTS = """
import os
import pytest

@pytest.fixture(scope="module")
def once():
    yield [os.getpid()]

def test_passes(once):
    assert os.environ["OFL_GIVEN"] == "yes"
    once.append("seen")

def test_fixtures_stay(once):
    assert once == [os.getpid(), "seen"]

@pytest.mark.parametrize("x", [1, 2])
def test_fails(x):
    print("what it printed")
    assert x == 1, "x is not 1"

def test_skips():
    pytest.skip("for a reason")

def test_ends_the_process():
    os._exit(7)

def test_comes_after(once):
    assert once == [os.getpid()]
"""


def run(folder: Path, tests: str, *options: str) -> str:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_some.py").write_text(tests)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rA", *options]
    command += [f"-c{ROOT / 'pyproject.toml'}", f"--rootdir={ROOT}", str(folder)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    return done.stdout + done.stderr


MISSING = missing_for_simulation(bindings=True)
pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(MISSING is not None, reason=str(MISSING)),
]


@pytest.mark.parametrize("options", [(), ("-n1", "--dist=loadgroup")], ids=["alone", "xdist"])
def test_each_test_has_its_report(tmp_path: Path, options: tuple[str, ...]) -> None:
    text = run(tmp_path, TESTS, *options)
    passed = re.findall(r"^PASSED .*::(\S+?)(?:@\S*)?$", text, re.MULTILINE)
    assert sorted(passed) == [
        "test_comes_after",
        "test_fails[1]",
        "test_fixtures_stay",
        "test_passes",
    ]
    assert "2 failed, 4 passed, 1 skipped" in text, text
    for part in ("x is not 1", "what it printed", "for a reason", "ended with 7"):
        assert part in text, text


def test_only_what_is_chosen_runs(tmp_path: Path) -> None:
    assert "1 passed, 6 deselected" in run(tmp_path, TESTS, "-k", "test_passes")


def test_a_file_that_cannot_be_imported_there_says_why(tmp_path: Path) -> None:
    code = "import os\nassert 'OFL_GIVEN' not in os.environ, 'only here'\ndef test(): pass\n"
    text = run(tmp_path, code)
    assert "1 failed" in text, text
    assert "only here" in text, text
