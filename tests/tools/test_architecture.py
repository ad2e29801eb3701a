"""The page that shows where things are names files, functions and types that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.support import ROOT

PAGE = ROOT / "docs/architecture.md"
PLACES = (ROOT, ROOT / "csrc")  # that paths of the page begin at
SOURCES = [
    path
    for folder in ("csrc", "oneflow_lite")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".h", ".cpp", ".py", ".pyi", ".cuh")
]


def quoted(text: str) -> list[str]:
    """The words of a page that are quoted as code, without blocks of it."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return [" ".join(word.split()) for word in re.findall(r"`([^`]+)`", text)]


def is_path(word: str) -> bool:
    return re.fullmatch(r"(?:[\w.]+/)+[\w.]*|\w+\.md", word) is not None


def find(path: str) -> Path | None:
    return next((place / path for place in PLACES if (place / path).exists()), None)


def names_in(word: str) -> list[str]:
    """The names in ``ep::Device``, ``wait()``, ``_C.native``; none in other code, or Python's."""
    name = re.fullmatch(r"(?!__)(?:\w+(?:::|\.))*\w*[a-z]\w*(?:\(\))?", word)
    return re.findall(r"[A-Za-z_]\w*", word) if name else []


def defines(source: str, name: str, suffix: str) -> bool:
    """The text of a file defines or declares a function, or a type, of this name."""
    if suffix == ".py":
        return re.search(rf"^ *(?:def|class) {name}\b", source, re.MULTILINE) is not None
    function = rf"^ {{0,2}}(?!return\b|throw\b)[\w:<>,*&]+[\w:<>,*& ]*[ :*&]{name}\("
    kind = rf"^ {{0,2}}(?:class|struct) {name}\b"
    return re.search(f"{function}|{kind}", source, re.MULTILINE) is not None


def rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """File and functions of each row of the tables that have such columns."""
    columns: dict[str, int] = {}
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = {}
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not columns:
            columns = {cell: place for place, cell in enumerate(cells)}
        elif {"file", "function"} <= set(columns) and not cells[0].startswith("---"):
            (file,) = quoted(cells[columns["file"]])
            yield file, [name.removesuffix("()") for name in quoted(cells[columns["function"]])]


def test_what_is_not_defined_is_noticed() -> None:
    source = "struct A {\n  int b() const;\n};\nA* C::d(int x) {\n  e(x);\n  return f(x);\n}\n"
    assert [name for name in "AbCdef" if defines(source, name, ".cpp")] == ["A", "b", "d"]
    assert defines("class A:\n    def b(self): c()\n", "b", ".py")
    assert not defines("class A:\n    def b(self): c()\n", "c", ".py")
    assert names_in("ep::Device") == ["ep", "Device"]
    assert names_in("cuInit(0)") == names_in("t1 = a * 2") == []
    table = "| file | function |\n|---|---|\n| `a.h` | `b()` `C` |\n\n| file |\n|---|\n| `d.h` |\n"
    assert list(rows(table)) == [("a.h", ["b", "C"])]


def test_paths_exist() -> None:
    paths = [word for word in quoted(PAGE.read_text(encoding="utf-8")) if is_path(word)]
    assert len(paths) > 100
    assert [path for path in paths if not find(path)] == []


def test_rooms_are_named() -> None:
    """Each folder of csrc, and each of graph mode's Python; ops/cuda has the rooms of ops."""
    roots = (ROOT / "csrc", ROOT / "oneflow_lite/graph")
    folders = {path.parent for path in SOURCES if path.is_relative_to(roots[0])}
    folders |= {path.parent for path in SOURCES if path.parent.parent == roots[1]}
    folders -= {ROOT / "csrc/ops/cuda" / path.name for path in folders if path.parent.name == "ops"}
    assert len(folders) > 40
    text = PAGE.read_text(encoding="utf-8")
    named = {find(word) for word in quoted(text) if is_path(word)}
    named |= {path.parent for path in named if path is not None and path.is_file()}
    assert sorted(path.as_posix() for path in folders - named - set(roots)) == []


def test_functions_are_in_the_files_beside_them() -> None:
    found = list(rows(PAGE.read_text(encoding="utf-8")))
    assert len(found) > 50
    wrong = []
    for file, names in found:
        path = find(file)
        if path is None or not names:
            wrong.append(f"{file}: {names}")
            continue
        source = path.read_text(encoding="utf-8")
        wrong += [f"{file} {name}" for name in names if not defines(source, name, path.suffix)]
    assert wrong == []


def test_names_are_those_of_the_sources() -> None:
    known = set(re.findall(r"\w+", "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)))
    words = [word for word in quoted(PAGE.read_text(encoding="utf-8")) if not is_path(word)]
    assert [word for word in words if not set(names_in(word)) <= known] == []


def test_benchmarks_that_are_named_exist() -> None:
    text = (ROOT / "docs/measurements.md").read_text(encoding="utf-8")
    scripts = set(re.findall(r"`(\w+\.py)`", text))
    assert scripts
    assert [name for name in sorted(scripts) if not (ROOT / "benchmarks" / name).exists()] == []
