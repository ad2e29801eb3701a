"""Tracing beside other threads, and of long functions."""

import operator
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.graph import TraceError, trace
from tests.support.graphs.tracing import SQUARE, again, agree, made_from, numbers, works


@pytest.fixture(autouse=True)
def nothing_is_recorded_afterwards() -> Iterator[None]:
    yield
    assert not _C.is_recording()
    assert not _C.is_recorded()


# --- threads


def test_other_threads_work_while_one_traces() -> None:
    """Eagerly and rightly, small element work too; what they make is theirs."""
    stop, started = threading.Event(), threading.Barrier(4)
    failures: list[BaseException] = []
    counts = [0] * 3

    def work(number: int) -> None:
        try:
            started.wait()
            x = flow.zeros(4)
            while not stop.is_set() or counts[number] < 50:
                x[1] += 1
                x[number % 4] = x[1] * 1
                assert x[1].item() == (x + 0).numpy()[1]
                assert not _C.is_recording()
                assert flow.zeros(3).tolist() == [0, 0, 0]
                assert flow.tensor([1, 2, number]).sum().item() == 3 + number
                assert float(flow.random.uniform(size=2).sum()) >= 0
                assert bool(flow.asarray(2.0) > 1)
                counts[number] += 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    started.wait()
    try:
        for _ in range(20):
            program = trace(lambda x: [x := x + 1 for _ in range(200)][-1], SQUARE).program
            assert [op.name for op in program.main.ops] == ["add"] * 200
            assert len(program.main.captures) == len(program.main.constants) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert min(counts) >= 50


def test_traces_in_several_threads() -> None:
    programs: dict[int, Any] = {}

    def work(number: int) -> None:
        def function(x: flow.Tensor) -> flow.Tensor:
            for _ in range(100):
                x = x * number
            return x

        programs[number] = trace(function, SQUARE).program

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, program in programs.items():
        values = {operand.value for op in program.main.ops for operand in op.operands[1:]}
        assert (len(program.main.ops), values) == (100, {number})


def test_a_traced_tensor_in_another_thread() -> None:
    """It has no value there."""
    seen: list[Any] = []

    def function(x: flow.Tensor) -> flow.Tensor:
        def look() -> None:
            try:
                seen.append((x + 1).numpy())
            except TraceError as error:
                seen.append(str(error))

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return x * 2

    trace(function, SQUARE)
    assert "made while function was recorded" in seen[0]
    works()


# --- size


def long_chain(count: int) -> Callable[[flow.Tensor], flow.Tensor]:
    def function(x: flow.Tensor) -> flow.Tensor:
        for i in range(count // 4):
            x = x + 1
            x[i % 3] *= 2  # a view and a write
        return x

    return function


@pytest.mark.slow
def test_ten_thousand_operations() -> None:
    """Linear in their number; nothing is as deep as the program is long."""
    traced = trace(long_chain(10_000), SQUARE)
    program = traced.program
    assert 7_500 <= len(program.main.ops) <= 12_500
    program.verify()
    assert type(program).parse(str(program)) == program
    again(long_chain(10_000), traced, [SQUARE.copy()], [SQUARE.copy()])

    def seconds(count: int) -> float:
        begin = time.process_time()
        trace(long_chain(count), SQUARE)
        return time.process_time() - begin

    small, large = (min(seconds(count) for _ in range(3)) for count in (2_000, 16_000))
    assert large < 4 * 8 * small


def test_a_chain_of_views() -> None:
    def function(x: flow.Tensor) -> flow.Tensor:
        for _ in range(3_000):
            x = x.T
        return x + 1

    program = trace(function, SQUARE).program
    assert len(program.main.ops) <= 2


def test_operators_of_the_other_side() -> None:
    agree(
        lambda: lambda x: (2 - x, operator.matmul(np.ones((2, 3)), x), np.float32(3) / x, 2**x),
        [],
        [made_from(flow.Device("cpu"))(numbers(3, 3))],
        None,
    )


def test_where_with_a_condition_that_is_a_number() -> None:
    agree(
        lambda: lambda x: (flow.where(True, x, 0.0), flow.where(False, x, 1)),
        [],
        [made_from(flow.Device("cpu"))(numbers(3))],
        None,
    )
