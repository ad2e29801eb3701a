"""Random functions, jitted and in each way to run: eager's bits, writes, aliases and errors."""

from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable
from tests.support.graphs import functions, plans
from tests.support.graphs.functions import MODES, RELEASES, CallOf, Random, compiled, jitted

FUNCTIONS = 16  # of each size of squares, on each pair of devices
FIRST = 4  # on each pair of devices; the quick tests take these only
SEEDS = [
    pytest.param(range(FIRST), id="first"),
    pytest.param(range(FIRST, FUNCTIONS), id="others", marks=pytest.mark.slow),
]
FLAGS: dict[str, dict[str, Any]] = {
    "1 thread": {"num_threads": 1},
    "2 threads": {"num_threads": 2, "fusion": "always"},
    "3 threads": {"num_threads": 3, "inline": "0", "fusion": "0"},
    "7 threads": {"num_threads": 7, "fusion": "always", "inline": "0"},
    "naive": {"sync": True},
}
QUICK = ["2 threads"]
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in FLAGS if name not in QUICK]
INLINE = ["0", pytest.param("50us", marks=pytest.mark.slow)]


def eager(one: Random, state: functions.State) -> Callable[..., Any]:
    return one.function(state)


def is_right(one: Random, expected: list[functions.Outcome], way: CallOf) -> None:
    difference = one.differs(expected, one.outcomes(way))
    assert difference is None, difference


@pytest.mark.parametrize("can_fail", [False, True], ids=["sound", "failing"])
@pytest.mark.parametrize("flags", QUICK + SLOW)
@pytest.mark.parametrize("seeds", SEEDS)
def test_bits_and_errors(seeds: range, flags: str, can_fail: bool) -> None:
    for seed in seeds:
        one = Random.of(seed, can_fail=can_fail)
        expected = one.eager()
        with flow.flags(**FLAGS[flags]):
            is_right(one, expected, eager)
            is_right(one, expected, jitted)
            for mode in MODES:
                is_right(one, expected, compiled(mode, "plan", plans.check))
            for release in RELEASES[1:]:
                is_right(one, expected, compiled("serial", release, plans.check))
                is_right(one, expected, compiled("parallel", release, plans.check))


@pytest.mark.slow
@pytest.mark.parametrize("can_fail", [False, True], ids=["sound", "failing"])
@pytest.mark.parametrize("lanes", [2, 3])
def test_several_lanes(lanes: int, can_fail: bool) -> None:
    """What is in no block of a lane is divided between lanes, too."""
    used = set()

    def keep(run: Executable) -> None:
        plans.check(run)
        used.update(run.report()["lanes"])

    with flow.flags(inline="0"):
        for seed in range(FUNCTIONS):
            one = Random.of(seed, can_fail=can_fail)
            expected = one.eager()
            for mode, release in (("serial", "plan"), ("parallel", "plan"), ("serial", "event")):
                is_right(one, expected, compiled(mode, release, keep, lanes))
    names = ["cpu compute", *(f"cpu compute{n}" for n in range(4)), "mock:0 compute1"]
    assert used.issuperset(names)


@pytest.mark.slow
@pytest.mark.parametrize("inline", ["0", "50us"])
def test_several_threads(inline: str) -> None:
    ways = [jitted, *(compiled(mode, "plan") for mode in MODES), compiled("serial", "event")]
    some = [Random.of(seed, can_fail=seed > 1) for seed in range(4)]
    with flow.flags(inline=inline, fusion="always"):
        assert functions.run_threads(some, ways, 3) == []


@pytest.mark.parametrize("inline", INLINE)
@pytest.mark.parametrize(
    "is_pure", [pytest.param(False, marks=pytest.mark.slow), True], ids=["effects", "pure"]
)
@pytest.mark.parametrize(
    "seeds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.slow)], ids=["first", "others"]
)
def test_several_threads_share_a_program(seeds: range, is_pure: bool, inline: str) -> None:
    ways = [functions.shared_jit, functions.by_hand, *(compiled(m, "plan") for m in MODES)]
    with flow.flags(inline=inline, fusion="always"):
        for seed in seeds:
            one = Random.of(seed, can_fail=seed % 2 > 0, is_pure=is_pure)
            for way in [*ways, compiled("serial", "fast"), compiled("parallel", "event")]:
                assert functions.run_shared(one, way, 3) == []


def test_functions_do_all_kinds_of_things() -> None:
    sources = [Random.of(seed, can_fail=True).source for seed in range(FUNCTIONS)]
    parts = ["state.stream", "state.numpys", "host_func", ".to(devices", "out=", "[::-1]"]
    parts += ["linalg.inv", "take(", "state.w[", "state.count", " @ ", "x[", "z["]
    assert [part for part in parts if not any(part in source for source in sources)] == []
    outcomes = [Random.of(seed, can_fail=True).eager() for seed in range(FUNCTIONS)]
    errors = {row[3] for calls in outcomes for each in calls for row in each if len(row) == 5}
    assert {"LinAlgError", "IndexError"} <= errors


def test_a_difference_is_found() -> None:
    def wrong(one: Random, state: functions.State) -> Callable[..., Any]:
        call = compiled("serial", "plan")(one, state)

        def other(*arguments: Any) -> Any:
            results = call(*arguments)
            results[0][0, 0] = 12345
            return results

        return other

    one = Random.of(0)
    with pytest.raises(AssertionError, match=r"(?s)call 0, tensor \d+: expected .*def function"):
        is_right(one, one.eager(), wrong)
