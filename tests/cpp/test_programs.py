"""The C++ programs in tests/cpp: compiled with the system's compiler and run under ThreadSanitizer,
and under AddressSanitizer with UndefinedBehaviorSanitizer.

OFL_STRESS="seed rounds threads" runs stress_machine with these numbers instead of a short run.
"""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.compiling import COMPILER, SOURCES, compiled, run

CSRC = ROOT / "csrc"
LAYERS = ("base", "ep", "vm")  # what the programs are linked with
# Sources of ops that some are linked with, too.
LAUNCHING = ("iteration", "launch", "sharing_out", "through_host")
LAUNCHING_ON_CUDA = ("cuda/background", "cuda/launching", "cuda/programs")
FUSION = (
    *("iteration", "pieces", "buffering", "leased_memory"),
    *(f"fusion/{part}" for part in ("fusion", "plan", "run", "space")),
    *(f"reduce/{part}" for part in ("columns", "divided_sum", "plan", "reduce", "rows", "runner")),
    *("reduce/tiles", "elementwise/block_transpose", "elementwise/cast", "elementwise/copy"),
    "elementwise/elementwise",
)
FUSION_ON_CUDA = (
    *("cuda/axes", "cuda/elementwise/elementwise", "cuda/reduce/reduce"),
    *("cuda/fusion/fusion", "cuda/fusion/plan", *LAUNCHING_ON_CUDA),
)
OPS = {  # of programs that check what is planned, and no timing
    "test_kernel_calls": (*LAUNCHING, *LAUNCHING_ON_CUDA),
    "test_fusion_plans": (*FUSION, *FUSION_ON_CUDA),
}


@dataclass(frozen=True)
class Flavor:
    flags: tuple[str, ...]
    seeds: tuple[int, ...]  # of the stress program
    rounds: int


FLAVORS = {
    "thread": Flavor(("-O1", "-g1", "-fsanitize=thread"), (5, 6), 12),
    "address": Flavor(
        (
            *("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
            "-fno-sanitize=null,object-size",  # AddressSanitizer finds these, and they take long
        ),
        (7, 8),
        12,
    ),
}


class Builder:
    """Compiles each source once for each flavor, and links programs with what they use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._compilers: dict[str, list[object]] = {}
        self._layers = sorted(s for layer in LAYERS for s in (CSRC / layer).rglob("*.cpp"))

    def program(self, name: str, flavor: str) -> Path:
        target = self._folder / flavor / name
        if not target.exists():
            ops = [CSRC / "ops" / f"{part}.cpp" for part in OPS.get(name, ())]
            sources = [next(SOURCES.rglob(f"{name}.cpp")), *ops, *self._layers]
            compiler = self._compiler(flavor)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                objects = list(pool.map(lambda s: self._object(s, flavor), sources))
            compiled([*compiler, *objects, "-o", target])
        return target

    def _compiler(self, flavor: str) -> list[object]:
        if flavor not in self._compilers:
            self._require(flavor)
            self._compilers[flavor] = self._with_precompiled_header(flavor)
        return self._compilers[flavor]

    def _with_precompiled_header(self, flavor: str) -> list[object]:
        """The compiler, which reads the headers of the standard library as setup.py has it do. A
        compiler cache does without, as it would find no object again.
        """
        compiler = self._command(flavor)
        if Path(COMPILER[0]).name in ("ccache", "sccache"):
            return compiler
        header = self._folder / flavor / "precompiled.h"
        header.parent.mkdir(exist_ok=True)
        shutil.copy(CSRC / "base" / header.name, header)
        compiled([*compiler, "-x", "c++-header", header, "-o", f"{header}.gch"])
        return [*compiler, "-include", header]

    def _command(self, flavor: str) -> list[object]:
        flags = (*FLAVORS[flavor].flags, "-std=c++17", "-pthread")
        return [*COMPILER, *flags, f"-I{CSRC}", f"-I{SOURCES}"]

    def _object(self, source: Path, flavor: str) -> Path:
        target = self._folder / flavor / source.relative_to(ROOT).with_suffix(".o")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            compiled([*self._compiler(flavor), "-c", source, "-o", target])
        return target

    def _require(self, flavor: str) -> None:
        if shutil.which(COMPILER[0]) is None:
            pytest.skip(f"no C++ compiler ({COMPILER[0]})")
        source = self._folder / "empty.cpp"
        source.write_text("#include <thread>\nint main() { std::thread([] {}).join(); }\n")
        target = self._folder / f"empty-{flavor}"
        done = run([*self._command(flavor), source, "-o", target])
        if done.returncode == 0:
            done = run([target])
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines()[-1:] or [f"return code {done.returncode}"]
            pytest.skip(f"{COMPILER[0]} cannot build and run with {flavor} here: {reason[0]}")


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("cpp"))


def check(program: Path, *arguments: object) -> None:
    done = run([program, *arguments])
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    assert " 0 failed" in done.stdout


def in_one_process(flavor: str) -> Any:
    """A flavor, whose sources are compiled once."""
    return pytest.param(flavor, marks=pytest.mark.xdist_group(f"cpp {flavor}"))


flavors = pytest.mark.parametrize("flavor", [in_one_process(flavor) for flavor in FLAVORS])


@flavors
@pytest.mark.parametrize("name", sorted(path.stem for path in SOURCES.rglob("test_*.cpp")))
def test_program(builder: Builder, name: str, flavor: str) -> None:
    check(builder.program(name, flavor))


@flavors
def test_stress(builder: Builder, flavor: str) -> None:
    program = builder.program("stress_machine", flavor)
    if "OFL_STRESS" in os.environ:
        check(program, *os.environ["OFL_STRESS"].split())
        return
    for seed in FLAVORS[flavor].seeds:
        check(program, seed, FLAVORS[flavor].rounds, 3)
