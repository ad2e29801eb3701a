"""Temporaries that several lanes use share a memory where the order of the lanes allows it."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executable
from tests.support.graphs import functions, plans

DEVICES = ["cpu", "mock:0"]
ROUNDS = 6


def in_turns(x: Any) -> Any:
    """Each lane needs what the other one made last, and nothing from before."""
    for _ in range(ROUNDS):
        x = x @ x * 0.1
        with flow.vm.lane(1):
            x = flow.tanh(x @ x)
    return x + 1


def side_by_side(x: Any) -> Any:
    """What the one lane makes is read by the other one when nobody knows how far it is."""
    made = []
    for _ in range(ROUNDS):
        x = x @ x * 0.1
        made.append(x)
    with flow.vm.lane(1):
        return [flow.tanh(y @ y) for y in made]


def ready(f: Any, x: flow.Tensor, **how: Any) -> Executable:
    run = flow.graph.compile(flow.graph.trace(f, x).program, mode="serial", **how)
    run.fill_arena(0xA5)
    plans.check(run)
    return run


def crossing(run: Executable) -> list[int]:
    """The memory of each temporary that is in no arena."""
    plan = plans.Plan.of(run)
    return [
        base.memory
        for base in plan.in_memory()
        if not base.is_input and not base.is_result and not plan.memories[base.memory][2]
    ]


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_over_gives_its_bytes_to_what_begins(device: str) -> None:
    x = flow.tensor(np.random.default_rng(0).normal(size=(40, 40)), device=device)
    run = ready(in_turns, x)
    found = crossing(run)
    assert len(found) >= 2 * ROUNDS - 1
    assert len(set(found)) <= 3
    for _ in range(4):
        assert run(x)[0].numpy().tobytes() == in_turns(x).numpy().tobytes()


@pytest.mark.parametrize("device", DEVICES)
def test_what_may_still_be_read_keeps_its_bytes(device: str) -> None:
    x = flow.tensor(np.random.default_rng(0).normal(size=(40, 40)), device=device)
    run = ready(side_by_side, x)
    found = crossing(run)
    assert len(found) == len(set(found)) >= ROUNDS - 1
    for y, wanted in zip(run(x), side_by_side(x), strict=True):
        assert y.numpy().tobytes() == wanted.numpy().tobytes()


@pytest.mark.parametrize("release", ["fast", "event"])
def test_other_ways_to_release_share_nothing(release: str) -> None:
    x = flow.ones((40, 40), device="mock:0") * 0.01
    run = ready(in_turns, x, release=release)
    found = crossing(run)
    assert len(found) == len(set(found))
    assert run(x)[0].numpy().tobytes() == in_turns(x).numpy().tobytes()


@pytest.mark.parametrize("mode", ["serial", "parallel", "sequential", "naive"])
@pytest.mark.parametrize("device", DEVICES)
def test_a_failure_goes_to_what_needs_it(device: str, mode: str) -> None:
    """A value that was not made does not poison the values that have its bytes afterwards."""

    def f(x: Any, bad: Any) -> Any:
        lost = flow.linalg.inv(bad)  # fails
        with flow.vm.lane(1):
            found = flow.tanh(lost @ x)
        failed, sound = found + x, x @ x
        for _ in range(ROUNDS):
            with flow.vm.lane(1):
                there = sound @ x
            sound = there @ x
        return failed, sound

    x, bad = flow.ones((40, 40), device=device) * 0.01, flow.zeros((40, 40), device=device)
    run = flow.graph.compile(flow.graph.trace(f, x, bad).program, mode=mode)
    plans.check(run)
    found = crossing(run)
    assert found.count(found[0]) > 2  # the lost value has a memory that sound ones have later
    for _ in range(4):
        failed, sound = run(x, bad)
        assert sound.numpy().tobytes() == f(x, bad)[1].numpy().tobytes()
        with pytest.raises(np.linalg.LinAlgError):
            failed.numpy()


@pytest.mark.parametrize("seed", range(12))
def test_random_functions_on_several_lanes(seed: int) -> None:
    one = functions.Random.of(seed, can_fail=seed % 2 == 1, is_pure=True)
    state = functions.State.on(one.devices, one.size)
    program = flow.graph.trace(one.function(state), *one.arguments(1, False)).program
    for lanes in (1, 2, 4):
        for mode in ("serial", "parallel"):
            run = flow.graph.compile(program, mode=mode, lanes=lanes)
            run.fill_arena(0xA5)
            plans.check(run)
