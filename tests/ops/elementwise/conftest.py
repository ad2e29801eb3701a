"""Libraries of our own float loops, for all tests of a session."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oneflow_lite import _C
from tests.support.float_loops import WIDEST, Loops


@pytest.fixture(scope="session")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what ``loops`` was made of is."""
    return tmp_path_factory.mktemp("objects")


@pytest.fixture(scope="session")
def loops(objects: Path) -> Loops:
    return Loops(objects, {})


@pytest.fixture(scope="session")
def make(
    tmp_path_factory: pytest.TempPathFactory, objects: Path, loops: Loops
) -> Callable[..., Loops]:
    """Loops with other formulas; those of one text are compiled once, for all widths of vectors."""
    made: dict[str, Loops] = {}

    def make(**replaced: dict[str, str]) -> Loops:
        key = repr(replaced)
        if key not in made:
            changes = {f"{part}.h": text for part, text in replaced.items()}
            made[key] = Loops(tmp_path_factory.mktemp("loops"), changes, objects)
        return made[key]

    return make


@pytest.fixture(params=[256, 512])
def wide(request: pytest.FixtureRequest) -> int:
    if request.param == 512 and _C.CPU_ISAS[WIDEST] != "avx512":
        pytest.skip("the processor has no AVX-512")
    return int(request.param)
