"""Injected failures at each instruction of a run: what does not depend on one is right."""

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

DEVICE = "mock:0"
ERRORS = {
    "alloc": flow.OutOfMemoryError,
    "launch": RuntimeError,
    "copy": RuntimeError,
    "event": RuntimeError,
}


def work(x: Any, y: Any) -> list[Any]:
    """Two chains of copies and kernels that meet once."""
    a, b = x.to(DEVICE), y.to(DEVICE)
    for _ in range(2):
        a = flow.tanh(a @ a) + 1
        b = flow.sin(b) * 2
    b += flow.sum(b)
    return [a, b, (a + b).cpu(), flow.exp(b).cpu(), flow.cumulative_sum(a, axis=0)]


def taken(x: flow.Tensor) -> tuple[bytes | None, BaseException | None]:
    try:
        return x.numpy().tobytes(), None
    except Exception as error:
        return None, error


@pytest.mark.parametrize("release", ["plan", "fast", "event"])
@pytest.mark.parametrize("kind", ERRORS)
def test_any_fault_poisons_what_follows_it_only(kind: str, release: str) -> None:
    given = [flow.tensor(np.random.default_rng(i).normal(size=(20, 20))) for i in range(2)]
    expected = [x.numpy().tobytes() for x in work(*given)]
    program = flow.graph.trace(work, *given).program
    run = flow.graph.compile(program, mode="serial", release=release)
    run.fill_arena(0xA5)
    hits = 0
    for n in range(1, 14):
        flow.synchronize()
        with flow.flags(fail=f"{kind}:{n}"):
            results = run(*given)
            for x in results:
                taken(x)
        for (got, error), right in zip(map(taken, results), expected, strict=True):
            if error is None:
                assert got == right
                continue
            hits += 1
            assert type(error) is ERRORS[kind]
            assert "injected failure" in str(error)
        with suppress(ERRORS[kind]):  # it may have hit a look
            flow.synchronize()
        flow.synchronize()
        assert [x.numpy().tobytes() for x in run(*given)] == expected  # the next run is unharmed
    assert hits
