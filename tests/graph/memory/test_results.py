"""Memory of a program's results: each run asks for the same sizes, so there is nothing to spare."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

SHAPE = (784, 512)  # 1.53 MiB of float32; the size class has 1.63 MiB


def in_use() -> int:
    flow.synchronize()
    return flow.memory_stats("cpu")["in_use"]


def chain(x: Any) -> Any:
    return flow.tanh(x) * 2


@pytest.mark.parametrize("mode", ["inline", "serial", "parallel"])
def test_a_large_result_takes_its_own_size(mode: str) -> None:
    x = flow.tensor(np.random.default_rng(0).normal(size=SHAPE).astype("float32"))
    run = flow.graph.compile(flow.graph.trace(chain, x).program, mode=mode)
    expected = chain(x).numpy().tobytes()
    flow.empty_cache("cpu")
    before = in_use()
    (y,) = run(x)
    assert in_use() - before == y.nbytes
    assert y.numpy().tobytes() == expected
    held = flow.memory_stats("cpu")["held"]
    for _ in range(3):  # the block of the result before is used again
        del y
        (y,) = run(x)
        assert y.numpy().tobytes() == expected
    assert in_use() - before == y.nbytes
    assert flow.memory_stats("cpu")["held"] == held


def test_its_memory_serves_eager_results_of_its_size() -> None:
    x = flow.ones(SHAPE, dtype="float32")
    run = flow.graph.compile(flow.graph.trace(chain, x).program, mode="serial")
    flow.empty_cache("cpu")
    before = in_use()
    (y,) = run(x)
    flow.synchronize()
    held = flow.memory_stats("cpu")["held"]
    del y
    z = x + 1
    assert in_use() - before == z.nbytes
    assert flow.memory_stats("cpu")["held"] == held
