"""Values that ranks add, or compare, have the same bits on all of them and in each run: those of
the balanced tree over the ranks, whichever way the bytes have gone."""

import os
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp
from tests.support.distributed.programs import on_ranks

DTYPES = ["float16", "bfloat16", "float32", "float64", "complex64"]
ROWS: dict[str, Any] = {"sum": flow.add, "max": flow.maximum, "min": flow.minimum}
# Small ones go to all ranks, which add them; of large ones each rank adds a part.
SIZES = (1, 1_000, 70_000, 400_000)
RUNS = 20
LARGEST = 10_000_000


def own_values(rank: int, size: int, dtype: str) -> flow.Tensor:
    """Numbers of all magnitudes, some of them infinite or not a number."""
    rng = np.random.default_rng((rank, size))
    x = rng.normal(size=size) * 10.0 ** rng.integers(-4, 4, size=size)
    x[rank::97] = np.nan
    x[rank + 3 :: 89] = np.inf
    return flow.tensor(x.astype("float32")).astype(dtype)


def tree(row: Any, values: list[flow.Tensor]) -> flow.Tensor:
    """(0 + 1) + (2 + 3), and so on."""
    while len(values) > 1:
        pairs = [row(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = pairs + values[len(pairs) * 2 :]
    return values[0]


def bits(x: flow.Tensor) -> bytes:
    return bytes(x.numpy().tobytes())


def check(op: str, size: int, dtype: str, runs: int) -> None:
    rank, world = flow.distributed.rank(), flow.distributed.world_size()
    expected = bits(tree(ROWS[op], [own_values(r, size, dtype) for r in range(world)]))
    x = own_values(rank, size, dtype).to_global(placement.all("cpu"), sbp.partial(op))
    for _ in range(runs):
        assert bits(x.to_global(sbp=sbp.broadcast).to_local()) == expected
    rows = x.to_global(sbp=sbp.split(0))  # each rank adds what it keeps
    assert bits(rows.full()) == expected


@pytest.mark.parametrize("world", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ROWS)
def test_bits(op: str, dtype: str, world: int) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")

    def program() -> None:
        for size in SIZES:
            check(op, size, dtype, RUNS if size <= 1_000 else 2)

    on_ranks(program, world)


@pytest.mark.skipif(
    os.environ.get("OFL_TEST_EXHAUSTIVE") != "1", reason="on request: OFL_TEST_EXHAUSTIVE=1"
)
@pytest.mark.parametrize("world", [2, 3, 4])
def test_the_largest(world: int) -> None:
    on_ranks(lambda: check("sum", LARGEST, "float32", RUNS), world)
