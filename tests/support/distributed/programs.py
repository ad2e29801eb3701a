"""Random programs of tensors on many ranks, which numpy computes, too."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import GlobalTensor, Layout, Placement, layout, placement, sbp
from tests.support.distributed.virtual_ranks import distributed

Array = np.ndarray[Any, Any]

GRIDS = {
    1: [(1,), (1, 1)],
    2: [(2,), (2, 1), (1,)],
    3: [(3,), (2,)],
    4: [(4,), (2, 2), (3,)],
    6: [(6,), (2, 3), (3, 2)],
    8: [(8,), (2, 4), (2, 2, 2)],
}
SHAPES = [(5,), (7, 3), (2, 9), (6, 4, 5), (1, 3), (0, 4), (), (40,), (3, 33)]
DTYPES = ["bool", "int8", "uint64", "float16", "bfloat16", "float32", "float64", "complex64"]
OPS = ("sum", "prod", "max", "min")


def random_placement(rng: np.random.Generator, device: str, world: int) -> Placement:
    """A grid of some ranks of the world, in any order."""
    grid = GRIDS[world][rng.integers(len(GRIDS[world]))]
    ranks = rng.permutation(world)[: int(np.prod(grid))]
    return placement(device, ranks.reshape(grid).tolist())


def random_sbps(
    rng: np.random.Generator, ranks: Placement, ndim: int, ops: tuple[str, ...] = ()
) -> list[Any]:
    """An sbp for each axis of the grid; partial ones have one operator of these."""
    op = str(rng.choice(ops)) if ops else ""
    choices = [sbp.broadcast, *(sbp.split(d) for d in range(ndim))]
    choices += [sbp.partial(op)] if op else []
    return [choices[rng.integers(len(choices))] for _ in ranks.grid]


def random_layout(
    rng: np.random.Generator, device: str, world: int, shape: tuple[int, ...], ops: Any = ()
) -> Layout:
    ranks = random_placement(rng, device, world)
    return layout(shape, ranks, random_sbps(rng, ranks, len(shape), ops))


def made(whole: Array, where: Layout, seed: int) -> GlobalTensor:
    """The tensor in a layout; each rank makes its own part."""
    parts = distributed(whole.astype("int64"), where, np.random.default_rng(seed))
    mine = parts.get(flow.distributed.rank(), np.zeros((0,) * whole.ndim, "int64"))
    return flow.tensor(mine.astype(whole.dtype)).to_global(where.placement, where.sbp)


def check(x: GlobalTensor, expected: Array) -> None:
    """Each rank has its part of it, and all of it where that is asked for."""
    rank = flow.distributed.rank()
    box = x.layout.box(rank)
    if all(each.op is None for each in x.sbp) and box is not None:
        np.testing.assert_array_equal(x.to_local().numpy(), expected[box], str(x.layout))
    whole = x.full()
    if box is not None:
        np.testing.assert_array_equal(whole.numpy(), expected, str(x.layout))
    else:
        assert whole.size == 0


def on_ranks(program: Callable[..., Any], world: int, *args: Any) -> list[Any]:
    """Run it on each rank of a world: threads, or the processes of which this is one already."""
    if flow.distributed.world_size() == 1:
        return flow.distributed.run(program, world, *args)
    if world != flow.distributed.world_size():
        pytest.skip(f"this is one of {flow.distributed.world_size()} processes")
    from mpi4py import MPI  # noqa: PLC0415  (starts MPI)

    return list(MPI.COMM_WORLD.allgather(program(*args)))


def ranks_here(world: int) -> int:
    """How many ranks of a world are threads of this process."""
    return world if flow.distributed.world_size() == 1 else 1
