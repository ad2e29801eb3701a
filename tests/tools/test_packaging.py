"""What is built from the tree: a source distribution that is whole, and a wheel."""

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import oneflow_lite as flow
from tests.support import ROOT

LIBRARY = "oneflow_lite/openblas/libscipy_openblas.so"
LICENCE = "oneflow_lite/openblas/LICENSE.txt"
# The name of each licence, and words of it, by the file in licenses/.
LICENCES = {
    "arm-optimized-routines": ("MIT", "Permission is hereby granted, free of charge"),
    "fdlibm": ("SunPro", "Developed at SunPro"),
    "intel-svml": ("BSD-3-Clause", "Neither the name of the copyright holder"),
    "numpy": ("BSD-3-Clause", "Neither the name of the NumPy Developers"),
    "pybind11": ("BSD-3-Clause", "Wenzel Jakob"),
}
CSRC, INCLUDE = Path("csrc"), Path("oneflow_lite/cuda/include")
# As a front end calls it: build("wheel", "TARGET").
BUILD = """
import sys
from setuptools import build_meta
getattr(build_meta, f"build_{sys.argv[1]}")(sys.argv[2])
"""

needs = {name: find_spec(name) is not None for name in ("setuptools", "scipy_openblas32")}
needs_setuptools = pytest.mark.skipif(not needs["setuptools"], reason="needs setuptools")
needs_openblas = pytest.mark.skipif(not all(needs.values()), reason="needs what the build requires")


def tracked() -> list[str]:
    """Every file under version control."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    return [name for name in done.stdout.decode().split("\0") if (ROOT / name).is_file()]


def copy_of_the_tree(target: Path) -> Path:
    """What is under version control, and what a build left in the package."""
    for name in tracked():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)
    for name in (LIBRARY, INCLUDE / "ops/removed.h"):
        (target / name).parent.mkdir(parents=True)
        (target / name).write_text("of an earlier build")
    return target


def device_headers(tree: Path) -> dict[str, bytes]:
    """The headers of csrc/ that kernels of devices include, by their paths below it."""
    kernels = [*tree.glob("oneflow_lite/cuda/kernels/**/*.cuh")]
    found: dict[str, bytes] = {}
    for path in kernels:
        for name in re.findall(r'^#include "(.+)"$', path.read_text(), re.MULTILINE):
            if name not in found:
                found[name] = (tree / CSRC / name).read_bytes()
                kernels.append(tree / CSRC / name)
    assert found
    return found


def build(what: str, tree: Path) -> Path:
    """Return the distribution made of the tree."""
    made = tree / "made"
    made.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", BUILD, what, str(made)],
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (distribution,) = made.iterdir()
    return distribution


@pytest.mark.slow
@needs_setuptools
def test_the_source_distribution_is_whole(tmp_path: Path) -> None:
    expected = set(tracked())
    archive = build("sdist", copy_of_the_tree(tmp_path))
    with tarfile.open(archive) as opened:
        names = {member.name.partition("/")[2] for member in opened if member.isfile()}
    assert expected - names == set()
    of_setuptools = re.compile(r"[^/]*egg-info/.*|PKG-INFO|setup\.cfg")
    assert {name for name in names - expected if not of_setuptools.fullmatch(name)} == set()


@pytest.mark.toolchain
@pytest.mark.slow
@needs_openblas
def test_the_wheel_has_what_the_build_copies(tmp_path: Path) -> None:
    tree = copy_of_the_tree(tmp_path)
    headers = device_headers(tree)
    shutil.rmtree(tree / "csrc")
    for name, content in headers.items():
        (tree / CSRC / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / CSRC / name).write_bytes(content)
    (tree / "csrc/empty.cpp").write_text('extern "C" void* PyInit__C() { return nullptr; }\n')
    with zipfile.ZipFile(build("wheel", tree)) as wheel:
        names = set(wheel.namelist())
        assert {LIBRARY, LICENCE} <= names
        assert "The OpenBLAS Project" in wheel.read(LICENCE).decode()
        for owner in LICENCES:
            assert any(name.endswith(f".dist-info/licenses/licenses/{owner}.txt") for name in names)
        assert wheel.getinfo(LIBRARY).file_size > 1 << 20
        copied = {str(INCLUDE / name): content for name, content in headers.items()}
        assert {name: wheel.read(name) for name in names if name.endswith(".h")} == copied
        metadata = next(wheel.read(name).decode() for name in names if name.endswith("METADATA"))
    required = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [f"Requires-Dist: {name}" for name in project["dependencies"]]
    assert [line for line in required if "extra ==" not in line] == wanted


def test_the_package_has_the_headers_that_its_core_was_built_with() -> None:
    for name, content in device_headers(ROOT).items():
        assert (Path(flow.__file__).parent / "cuda/include" / name).read_bytes() == content


def test_the_expression_names_every_licence() -> None:
    licenses = pytest.importorskip("packaging.licenses")
    stated = re.search(r'^license = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert stated
    assert licenses.canonicalize_license_expression(stated[1]) == stated[1]
    named = stated[1].split(" AND ")
    assert {path.stem for path in (ROOT / "licenses").glob("*.txt")} == set(LICENCES)
    for owner, (name, words) in LICENCES.items():
        assert words in (ROOT / f"licenses/{owner}.txt").read_text()
        assert name in named
    beside = ROOT / LICENCE
    if beside.exists():
        of_openblas = set(re.findall(r"^License: (\S+)", beside.read_text(), re.MULTILINE))
        assert {x.replace("-with-GCC", "-or-later WITH GCC") for x in of_openblas} <= {
            x.removesuffix("-3.1") for x in named
        }


def test_the_licence_stands_beside_the_library() -> None:
    package = Path(flow.__file__).parents[1]
    assert (package / LIBRARY).exists() == (package / LICENCE).exists()
