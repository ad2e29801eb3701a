"""Random programs on unknown extents: each size gives eager's bits, or is refused."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, TraceError

SIZES = (1, 2, 3, 6, 11, 50)
Step = Callable[[list[Any]], Any]


def bounds(rng: random.Random) -> slice:
    """A slice near one of the ends, or all; some in steps, some backwards."""
    ends = [None, None, 0, 1, 2, -1, -2, 3, -4]
    return slice(rng.choice(ends), rng.choice(ends), rng.choice([None, None, None, 1, -1, 2, -2]))


def key(rng: random.Random, ndim: int) -> tuple[Any, ...]:
    parts: list[Any] = []
    for _ in range(ndim):
        parts.append(
            rng.choice([slice(None), slice(None), bounds(rng), rng.choice([0, 1, -1, -2])])
        )
        if rng.random() < 0.1:
            parts.append(None)
    return tuple(parts[: rng.randint(1, len(parts))])


def view(rng: random.Random) -> Callable[[Any], Any]:
    choice, seed = rng.randrange(7), rng.random()

    def step(x: Any) -> Any:
        inner = random.Random(seed)
        if choice < 3 and x.ndim:
            return x[key(inner, x.ndim)]
        if choice == 3:
            axes = list(range(x.ndim))
            inner.shuffle(axes)
            return flow.permute_dims(x, tuple(axes))
        if choice == 4:
            return x.reshape(-1)
        if choice == 5 and x.ndim == 2:
            return x.reshape((x.shape[0], 1, x.shape[1]))
        if choice == 6 and x.ndim >= 2:
            return x.reshape((-1, *x.shape[2:]))
        return x

    return step


def operation(rng: random.Random) -> Callable[[Any, Any], Any]:
    steps: list[Callable[[Any, Any], Any]] = [
        lambda x, y: x + 1.5,
        lambda x, y: flow.tanh(x),
        lambda x, y: x * x.size,
        lambda x, y: x - x.mean(),
        lambda x, y: x.sum(axis=0) if x.ndim else x,
        lambda x, y: flow.max(x, axis=-1, keepdims=True) if x.ndim and x.shape[-1:] != (0,) else x,
        lambda x, y: x + y if x.shape == y.shape else y,
        lambda x, y: flow.concat([x, x]) if x.ndim else x,
        lambda x, y: flow.zeros_like(x) + x,
        lambda x, y: flow.cumulative_sum(x, axis=0) if x.ndim else x,
        lambda x, y: x @ x.T if x.ndim == 2 else x,
        lambda x, y: flow.astype(x, "float64"),
        lambda x, y: flow.copy(x),
    ]
    return rng.choice(steps)


def write(rng: random.Random) -> Callable[[Any, Any], Any]:
    seed = rng.random()

    def step(x: Any, y: Any) -> Any:
        x = flow.copy(x)
        if x.ndim:
            x[key(random.Random(seed), x.ndim)] += 2.0
        return x

    return step


def program(seed: int) -> Callable[[Any, Any], list[Any]]:
    rng = random.Random(seed)
    steps: list[tuple[int, int, Callable[..., Any], bool]] = []
    for k in range(rng.randint(2, 9)):
        kind = rng.random()
        step: Callable[..., Any] = (
            view(rng) if kind < 0.5 else operation(rng) if kind < 0.85 else write(rng)
        )
        steps.append((rng.randrange(k + 2), rng.randrange(k + 2), step, kind < 0.5))

    def run(x: Any, y: Any) -> list[Any]:
        values = [x, y]
        for one, other, step, is_view in steps:
            values.append(step(values[one]) if is_view else step(values[one], values[other]))
        return values[2:]

    return run


def bits(x: Any) -> tuple[Any, ...]:
    return x.dtype, x.shape, x.numpy().tobytes()


def attempt(function: Callable[[], Any]) -> Any:
    """What it returns, or None where it raises what a program may."""
    try:
        return function()
    except (TraceError, ValueError, IndexError, TypeError):
        return None


@pytest.mark.parametrize(
    "first", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(100, 600, 100))]
)
def test_random_programs(first: int) -> None:
    seen = 0
    for seed in range(first, first + 100):
        run = program(seed)
        main = Program(f"program{seed}")
        try:
            with flow.graph.building(main):
                x = flow.graph.data("x", (None, 4), "float32")
                y = flow.graph.data("y", (None, 4), "float32")
                fetched = run(x, y)
        except (TraceError, ValueError, IndexError, TypeError):
            continue
        exe = Executor()
        for size in SIZES:
            rng = np.random.default_rng(seed)
            feed = {name: rng.normal(size=(size, 4)).astype(np.float32) for name in "xy"}
            expected = attempt(partial(run, *map(flow.tensor, feed.values())))
            found = attempt(partial(exe.run, main, feed, fetched))
            if found is None:
                continue
            assert expected is not None, (seed, size)
            assert list(map(bits, found)) == list(map(bits, expected)), (seed, size)
            seen += 1
    assert seen > 100  # sizes that ran
