"""What tests of ranks share."""

import functools
from pathlib import Path

import pytest

from tests.support.distributed.mpi import Start, missing_for_processes, start_ranks


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Run a program on ranks that are processes, in an empty folder; skip where MPI is missing."""
    if (missing := missing_for_processes()) is not None:
        pytest.skip(missing)
    return functools.partial(start_ranks, tmp_path)
