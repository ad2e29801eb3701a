"""The tests as a place: small folders, names that a folder holds, marks and paths that exist."""

import ast
import importlib
import re
from collections import Counter
from collections.abc import Iterator

import pytest

import tests
from tests.support import ROOT

MAX_FILES = 24
TESTS = ROOT / "tests"
FILES = sorted(path for path in TESTS.rglob("*") if path.suffix in (".py", ".cpp", ".h", ".cu"))
BUILT_IN = {"parametrize", "skip", "skipif", "usefixtures", "xfail", "filterwarnings"}


def named_paths(text: str) -> Iterator[str]:
    """Paths below tests/ that a text names."""
    yield from re.findall(r"\btests(?:/\w+)*/\w+\.(?:py|cpp)\b", text)


def test_folders_are_small() -> None:
    counts = Counter(path.parent.relative_to(ROOT).as_posix() for path in FILES)
    assert {folder: count for folder, count in counts.items() if count > MAX_FILES} == {}


def test_tests_are_in_folders_and_helpers_apart() -> None:
    assert [path.name for path in TESTS.glob("*.py")] == ["__init__.py", "conftest.py"]
    python = [path for path in FILES if path.suffix == ".py"]
    apart = [path for path in python if path.is_relative_to(TESTS / "support")]
    assert [path for path in apart if path.name.startswith("test_")] == []
    others = [path.name for path in python if path not in apart]
    assert [n for n in others if not re.match(r"test_\w+\.py|conftest\.py|__init__\.py", n)] == []


def test_each_folder_is_described() -> None:
    described = set(re.findall(r"^(\w+)/ ", tests.__doc__ or "", re.MULTILINE))
    folders = {path.name for path in TESTS.iterdir() if path.is_dir()}
    assert described == {name for name in folders if not name.startswith("__")}


def test_helpers_are_imported_in_one_way() -> None:
    helpers = {path.stem for path in (TESTS / "support").glob("*.py")}
    importing = re.compile(rf"^\s*from\s+(?:\.|(?:{'|'.join(helpers)})\b)", re.MULTILINE)
    wrong = []
    for path in FILES:
        if path.suffix != ".py" or not importing.search(path.read_text()):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.level or node.module in helpers):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} from {node.module}")
    assert wrong == []


def test_all_marks_are_registered(pytestconfig: pytest.Config) -> None:
    registered = {re.split(r"[:(]", line)[0] for line in pytestconfig.getini("markers")}
    used = {
        name
        for path in FILES
        if path.suffix == ".py"
        for name in re.findall(r"\bpytest\.mark\.(\w+)", path.read_text())
    }
    assert used - registered - BUILT_IN == set()
    assert pytestconfig.getoption("strict_markers")


@pytest.mark.xdist_group("a group")
def test_a_group_runs_in_one_process(request: pytest.FixtureRequest) -> None:
    """pytest-xdist tells its workers by the name of the test; without that, nothing is shared."""
    if not request.config.getoption("loadgroup", False):
        pytest.skip("groups are for workers of pytest -n auto --dist loadgroup")
    assert request.node.nodeid.endswith("@a group")


def test_paths_that_are_named_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", ".ci/run", "sim/README.md")]
    texts += [*(ROOT / "docs").rglob("*.md"), *(path for path in FILES if path.suffix == ".py")]
    wrong = [
        f"{path.relative_to(ROOT)} names {name}"
        for path in texts
        for name in named_paths(path.read_text(encoding="utf-8"))
        if not (ROOT / name).exists()
    ]
    assert wrong == []
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    files = importlib.import_module("gpu_tests").FILES
    assert [name for name in files if not (TESTS / f"{name}.py").exists()] == []
