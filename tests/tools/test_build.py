"""What a build compiles: all that is out of date, and nothing else. Two tiny sources stand in."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support import ROOT

COMPILER = os.environ.get("CXX") or sysconfig.get_config_var("CXX") or "c++"
# As pip calls it: in a process of its own, for a folder that does not stay.
EDITABLE = "import sys; from setuptools import build_meta; build_meta.build_editable(sys.argv[1])"
SOURCES = {"csrc/part/first.cpp", "csrc/second.cpp"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.process,
    pytest.mark.toolchain,
    pytest.mark.skipif(find_spec("setuptools") is None, reason="needs setuptools"),
    pytest.mark.skipif(shutil.which(shlex.split(COMPILER)[0]) is None, reason="needs a compiler"),
]


class Tree:
    """A checkout with two sources and a compiler that notes what it is given."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("setup.py", "pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, root / name)
        self.write("oneflow_lite/__init__.py", '__version__ = "0"')
        self.write("csrc/shared.h", "")
        self.write("csrc/part/own.h", "")
        self.write("csrc/ops/random/philox_numbers.h", "")  # copied into the package
        for function, source, header in (
            ("first_function", "csrc/part/first.cpp", "part/own.h"),
            ("second_function", "csrc/second.cpp", "numpy_of_the_test.h"),
        ):
            includes = f'#include "shared.h"\n#include "{header}"\n'
            visible = '__attribute__((visibility("default")))'
            self.write(source, f'{includes}extern "C" {visible} void {function}() {{}}\n')
        self.notes = root / "compiled"
        note = f'#!/bin/sh\necho "$@" >>"{self.notes}"\nexec {COMPILER} "$@"\n'
        self.write("compiler", note).chmod(0o755)
        self.requirements = self.make_requirements("requirements", "2.0.0")

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def make_requirements(self, folder: str, numpy_version: str) -> Path:
        """A folder where pip would have installed NumPy and pybind11."""
        for name, version in (("numpy", numpy_version), ("pybind11", "3.0.0")):
            include = self.root / folder / name / "include"
            self.write(f"{folder}/{name}/include/{name}_of_the_test.h", "")
            text = f'__version__ = "{version}"\n\n\ndef get_include():\n    return "{include}"\n'
            self.write(f"{folder}/{name}/__init__.py", text)
        return self.root / folder

    def build(self, *how: str, **environment: str) -> set[str]:
        """Build, in place or as given; return the sources that were compiled."""
        self.notes.write_text("")
        done = subprocess.run(
            [sys.executable, *(how or ("setup.py", "build_ext", "--inplace"))],
            cwd=self.root,
            env=os.environ
            | {"CXX": str(self.root / "compiler"), "PYTHONPATH": str(self.requirements)}
            | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return {word for word in self.notes.read_text().split() if word.endswith(".cpp")}

    def install(self) -> set[str]:
        """The same, as an editable installation builds."""
        made = self.root / "made"
        made.mkdir()
        compiled = self.build("-c", EDITABLE, str(made))
        shutil.rmtree(made)
        return compiled

    def library(self) -> Path:
        (library,) = (self.root / "oneflow_lite").glob("_C*.so")
        return library

    def touch(self, name: str) -> None:
        """Save a file once more, after whatever was compiled."""
        (self.root / name).touch()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree(tmp_path)
    assert made.build() == SOURCES
    assert made.build() == set()
    return made


def test_a_header_compiles_what_includes_it(tree: Tree) -> None:
    tree.touch("csrc/part/own.h")
    assert tree.build() == {"csrc/part/first.cpp"}
    tree.touch("csrc/shared.h")
    assert tree.build() == SOURCES
    assert tree.build() == set()


def test_a_header_that_is_gone_compiles_what_included_it(tree: Tree) -> None:
    (tree.root / "csrc/part/own.h").unlink()
    tree.write("csrc/own.h", "")
    source = tree.root / "csrc/part/first.cpp"
    times = source.stat().st_atime_ns, source.stat().st_mtime_ns
    source.write_text(source.read_text().replace("part/own.h", "own.h"))
    os.utime(source, ns=times)
    assert tree.build() == {"csrc/part/first.cpp"}


def test_the_setup_compiles_everything(tree: Tree) -> None:
    tree.touch("setup.py")
    assert tree.build() == SOURCES
    assert tree.build() == set()


def test_other_flags_compile_everything(tree: Tree) -> None:
    flags = {"CFLAGS": "-DOF_THE_TEST", "CXXFLAGS": "-DOF_THE_TEST"}
    assert tree.build(**flags) == SOURCES
    assert tree.build(**flags) == set()
    assert tree.build() == SOURCES


def test_objects_of_a_sanitizer_are_kept_apart(tree: Tree) -> None:
    assert tree.build(OFL_SANITIZE="address") == SOURCES
    assert tree.build(OFL_SANITIZE="address") == set()
    instrumented = tree.library().read_bytes()
    assert tree.build() == set()
    assert tree.library().read_bytes() != instrumented


def test_a_precompiled_header_is_compiled_once(tree: Tree) -> None:
    tree.write("csrc/base/precompiled.h", "#include <vector>\n")
    made = tree.root / "build"
    assert tree.build() == SOURCES
    (precompiled,) = made.rglob("*.gch")
    written = precompiled.stat().st_mtime_ns
    tree.touch("csrc/second.cpp")
    assert tree.build() == {"csrc/second.cpp"}
    assert precompiled.stat().st_mtime_ns == written
    tree.write("csrc/base/precompiled.h", "#include <string>\n")
    assert tree.build() == SOURCES


def test_sources_of_classes_have_a_precompiled_header_of_their_own(tree: Tree) -> None:
    tree.write("csrc/bound.cpp", "int bound_function() { return 3; }  // pybind11::int_\n")
    tree.write("csrc/base/precompiled.h", "#include <vector>\n")
    tree.write("csrc/python/precompiled.h", '#include "base/precompiled.h"\n#include <string>\n')
    made = tree.root / "build"
    tree.write("csrc/second.cpp", "int second_function() { return 2; }  // not of pybind11\n")
    assert tree.build() == {*SOURCES, "csrc/bound.cpp"}
    assert len(list(made.rglob("*.gch"))) == 2
    assert tree.build() == set()
    tree.write("csrc/python/precompiled.h", '#include "base/precompiled.h"\n')
    assert tree.build() == {"csrc/bound.cpp"}
    tree.write("csrc/base/precompiled.h", "#include <string>\n")
    assert tree.build() == {*SOURCES, "csrc/bound.cpp"}


def test_a_deleted_source_leaves_nothing_in_the_library(tree: Tree) -> None:
    assert b"second_function" in tree.library().read_bytes()
    (tree.root / "csrc/second.cpp").unlink()
    assert tree.build() == set()
    assert b"first_function" in tree.library().read_bytes()
    assert b"second_function" not in tree.library().read_bytes()


def test_a_second_installation_compiles_nothing(tree: Tree) -> None:
    """Each is built in an environment of its own, which is gone afterwards."""
    shutil.rmtree(tree.root / "build")
    tree.library().unlink()
    assert tree.install() == SOURCES
    shutil.rmtree(tree.requirements)
    tree.requirements = tree.make_requirements("of_the_second", "2.0.0")
    assert tree.install() == set()
    assert tree.build() == set()
    tree.requirements = tree.make_requirements("of_the_third", "2.0.1")
    assert tree.install() == SOURCES
