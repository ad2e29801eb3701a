"""What tests of ranks share."""

import functools
import os
import tempfile
from pathlib import Path

import pytest

from oneflow_lite.launchers import meant_rank
from tests.support.distributed.mpi import Start, missing_for_processes, start_ranks

TEMPROOT = "PYTEST_DEBUG_TEMPROOT"


def pytest_configure() -> None:
    """Ranks have a root of temporary folders each: pytest deletes old ones while others look."""
    if (rank := meant_rank()) is not None:
        root = tempfile.mkdtemp(prefix=f"rank-{rank}-", dir=os.environ.get(TEMPROOT))
        os.environ[TEMPROOT] = root


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Run a program on ranks that are processes, in an empty folder; skip where MPI is missing."""
    if (missing := missing_for_processes()) is not None:
        pytest.skip(missing)
    return functools.partial(start_ranks, tmp_path)
