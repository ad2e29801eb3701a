"""Random programs of tensors on many ranks, beside NumPy's arrays; many more are run by hand."""

import pytest

from tests.support.distributed.random_program import MODES, WORLDS, run

PROGRAMS = 10


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ranks", WORLDS)
def test_random_programs(ranks: int, mode: str) -> None:
    for seed in range(PROGRAMS):
        run(seed, ranks, mode)
