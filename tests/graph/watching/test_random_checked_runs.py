"""Random functions under check_nan_inf: errors are eager's, and so are the bits of all else."""

import pytest

import oneflow_lite as flow
from tests.support.graphs import plans
from tests.support.graphs.functions import MODES, Outcome, Random, compiled

FUNCTIONS = 12


def count_failed(outcomes: list[Outcome]) -> int:
    return sum("FloatingPointError" in tensor for each in outcomes for tensor in each)


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
def test_errors_and_bits(lanes: int) -> None:
    failed = 0
    for seed in range(FUNCTIONS):
        one = Random.of(seed, makes_nan=True)
        with flow.flags(check_nan_inf=True, inline=("0", "50us")[seed // 4 % 2]):
            expected = one.eager()
            failed += count_failed(expected)
            ways = [compiled(mode, "plan", plans.check, lanes) for mode in MODES]
            for way in [Random.function, *ways]:
                difference = one.differs(expected, one.outcomes(way))
                assert difference is None, difference
    assert failed > FUNCTIONS
