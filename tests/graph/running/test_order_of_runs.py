"""Runs wait for what others do with their arguments, and others wait for them."""

import threading
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

WAYS = [("auto", "50us"), ("inline", "50us"), ("serial", "50us"), ("serial", "0"), ("naive", "0")]


def increment(x: Any) -> Any:
    before = x * 1
    x += 1
    return before


@pytest.mark.parametrize(("mode", "inline"), WAYS)
def test_a_run_writes_after_earlier_readers(mode: str, inline: str) -> None:
    opened, seen = threading.Event(), []

    def read(array: np.ndarray) -> None:
        assert opened.wait(60)
        seen.append(array.copy())

    x = flow.zeros(3)
    with flow.flags(inline=inline):
        run = flow.graph.compile(flow.graph.trace(increment, x).program, mode=mode)
        flow.vm.host_func(read, [x])
        first = run(x)
        second = run(x)
        opened.set()
        assert [y.tolist() for (y,) in (first, second)] == [[0] * 3, [1] * 3]
        flow.synchronize()
    assert np.array(seen).tolist() == [[0] * 3]
    assert x.tolist() == [2] * 3


@pytest.mark.parametrize(("mode", "inline"), WAYS)
def test_a_run_reads_after_earlier_writers(mode: str, inline: str) -> None:
    opened = threading.Event()

    def write(array: np.ndarray) -> None:
        assert opened.wait(60)
        array[...] = 5

    x = flow.zeros(3)
    with flow.flags(inline=inline):
        run = flow.graph.compile(flow.graph.trace(increment, x).program, mode=mode)
        flow.vm.host_func(write, [], [x])
        (before,) = run(x)
        after = x * 10
        opened.set()
        assert before.tolist() == [5] * 3
        assert after.tolist() == [60] * 3
