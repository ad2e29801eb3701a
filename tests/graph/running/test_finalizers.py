"""What the collector of cycles calls while a function is traced is run, and is not recorded."""

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite import _C


class Cycle:
    """Nobody but the collector finds it; then it calls a function."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.me, self.call = self, call

    def __del__(self) -> None:
        self.call()


@pytest.fixture(autouse=True)
def nothing_is_collected_before() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_finalizer_of_a_collection_runs_once() -> None:
    counter, seen = flow.zeros(1), []

    def count() -> None:
        counter[...] += 1
        seen.append((_C.is_recording(), counter.item()))

    Cycle(count)

    def function(x: flow.Tensor) -> flow.Tensor:
        y = x + 1
        gc.collect()
        assert _C.is_recording()
        return y * 2

    step = flow.jit(function)
    for _ in range(3):
        assert step(flow.ones(2)).tolist() == [4, 4]
    assert seen == [(False, 1)]
    assert counter.tolist() == [1]
    program = flow.graph.trace(function, flow.ones(2)).program
    assert [op.name for op in program.main.ops] == ["add", "multiply"]


def test_a_collection_that_nobody_asked_for() -> None:
    counter = flow.zeros(1)
    Cycle(lambda: counter.__iadd__(1))

    def function(x: flow.Tensor) -> flow.Tensor:
        gc.enable()
        for number in range(100):
            _ = [[k] for k in range(1000)]
            x = x + number
        return x

    program = flow.graph.trace(function, flow.ones(2)).program
    assert [op.name for op in program.main.ops] == ["add"] * 100
    assert counter.tolist() == [1]


def test_a_finalizer_that_traces_in_a_program_by_hand() -> None:
    found: list[Any] = []
    Cycle(lambda: found.append(flow.jit(lambda x: x * 3)(flow.ones(2)).tolist()))
    main, startup = flow.graph.Program("main"), flow.graph.Program("startup")

    def init(shape: tuple[int, ...]) -> flow.Tensor:
        gc.collect()
        return flow.ones(shape) * 2

    with flow.graph.building(main, startup):
        x = flow.graph.data("x", 2)
        y = x + flow.graph.parameter("w", 2, init=init)
    assert found == [[3, 3]]
    exe, scope = flow.graph.Executor(), flow.graph.Scope()
    exe.run(startup, scope=scope)
    assert exe.run(main, {"x": [1, 2]}, [y], scope=scope)[0].tolist() == [3, 4]


def test_the_lane_of_a_finalizer_is_that_of_the_thread() -> None:
    lanes = []
    Cycle(lambda: lanes.append(lane_of_the_thread()))
    flow.graph.trace(lambda x: (gc.collect(), x + 1)[1], flow.ones(2))
    assert lanes == [lane_of_the_thread()]


def lane_of_the_thread() -> int:
    lane = _C.exchange_lane(0)
    _C.exchange_lane(lane)
    return lane
