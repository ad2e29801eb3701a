"""Groups of an executable pass what they do not need, and never what would see another value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.graphs import plans


def write_after_read(x: Any, y: Any) -> Any:
    a = flow.tanh(x) * 2
    before = flow.cumulative_sum(y)
    y += 1
    return a, before, flow.exp(a)


def read_after_write(x: Any, y: Any) -> Any:
    a = flow.tanh(x) * 2
    y[::2] = flow.sort(x)[::2]
    return a, y * 3, flow.exp(a)


def write_after_write(x: Any, y: Any) -> Any:
    a = flow.tanh(x) * 2
    y[::3] = flow.sort(x)[::3]
    y *= 2
    return a, flow.exp(a)


def passed_twice(x: Any, y: Any) -> Any:
    """What is passed needs what was passed before; a member needs neither."""
    a = flow.tanh(x) * 2
    b = flow.cumulative_sum(y)
    y[:] = flow.sort(b)
    return a, b * 2, flow.exp(a) + 1


def two_over_one(x: Any, y: Any) -> Any:
    """One of two results lies over the operand, at most."""
    a = flow.sort(x)
    b, c = flow.tanh(a), flow.sin(a)
    return flow.sort(b), flow.sort(c)


def three_over_two(x: Any, y: Any) -> Any:
    a, b = flow.sort(x), flow.sort(y)
    c, d, e = a + b, a - b, a * b
    return flow.sort(c), flow.sort(d), flow.sort(e)


FUNCTIONS = [
    *(write_after_read, read_after_write, write_after_write, passed_twice),
    *(two_over_one, three_over_two),
]


@pytest.mark.parametrize("mode", ["serial", "parallel"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_groups_pass(function: Callable[..., Any], mode: str) -> None:
    def given() -> list[flow.Tensor]:
        rng = np.random.default_rng(0)
        return [flow.tensor(rng.normal(size=50_000)) for _ in range(2)]

    with flow.flags(fusion="always", inline="0"):
        run = flow.graph.compile(flow.graph.trace(function, *given()).program, mode=mode)
        assert run.report()["groups"]
        plans.check(run)
        run.fill_arena(0xA5)
        eager, graph = given(), given()
        with flow.flags(sync=True):
            expected = [x.numpy().tobytes() for x in (*function(*eager), *eager)]
        assert [x.numpy().tobytes() for x in (*run(*graph), *graph)] == expected


def many(x: Any, y: Any) -> Any:
    return flow.exp(x * 2 + y) * flow.tanh(x) - flow.sin(flow.cos(flow.exp(y)))


def few(x: Any, y: Any) -> Any:
    return flow.exp(x * 2 + y)


@pytest.mark.parametrize(
    ("function", "shape", "steps"),
    [
        (many, (30_000,), 9),
        (few, (30_000,), 3),
        (few, (12_000,), 0),  # less is gained than the tiles cost
        (many, (100,), 0),  # too little work to be shared
        (many, (1000, 30), 9),
        (lambda x, y: many(x[:, :8], y[:, :8]), (2_000, 16), 0),  # of short rows
    ],
)
def test_groups_of_many_steps(
    function: Callable[..., Any], shape: tuple[int, ...], steps: int
) -> None:
    """Operands of 64 KiB begin groups of any length. Smaller ones begin groups of many steps."""
    rng = np.random.default_rng(0)
    given = [flow.tensor(rng.random(shape, np.float32)) for _ in range(2)]
    with flow.flags(fusion="1"):
        run = flow.graph.compile(flow.graph.trace(function, *given).program)
        assert [len(group["steps"]) for group in run.report()["groups"]] == [steps] * (steps > 0)
    plans.check(run)
    with flow.flags(sync=True):
        expected = function(*given).numpy().tobytes()
    for _ in range(3):
        assert run(*given)[0].numpy().tobytes() == expected
    with flow.flags(fusion="0"):
        alone = flow.graph.compile(flow.graph.trace(function, *given).program)
        assert not alone.report()["groups"]
