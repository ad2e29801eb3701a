"""Random sums of products with ``addto``: exact numbers are eager's, on shared bytes, too."""

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable
from tests.support.graphs import plans
from tests.support.graphs.functions import MODES, Random, compiled
from tests.support.graphs.sums import CALLS, Sums

FUNCTIONS = 24


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 2, 3, 4])
def test_bits(lanes: int) -> None:
    added = [0, 0]  # sums that stay, and that go

    def keep(run: Executable) -> None:
        plans.check(run)
        for each in run.report()["additions"]:
            added[each["is_added"]] += 1

    for seed in range(FUNCTIONS):
        one = Sums.random(seed)
        expected = one.eager(CALLS)
        assert one.differs(expected, one.outcomes(Random.function, CALLS)) is None
        inline, fusion = ("0", "50us")[seed // 2 % 2], ("0", "always")[seed // 4 % 2]
        with flow.flags(inline=inline, fusion=fusion):
            for mode in MODES:
                way = compiled(mode, ("plan", "fast", "event")[seed % 3], keep, lanes, addto=True)
                difference = one.differs(expected, one.outcomes(way, CALLS))
                assert difference is None, f"{mode}: {difference}"
    assert min(added) > 4 * FUNCTIONS, added
