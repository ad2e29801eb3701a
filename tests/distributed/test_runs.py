"""Long runs of a piece go from memory to memory; short ones, and those of views, are packed."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp
from tests.support.distributed.programs import on_ranks

# Rows of which a rank gets more than 8 KiB, and less; with few rows, and with more than 64.
SHAPES = [(4, 9000), (5, 4096, 3), (3, 2, 8001), (7, 60), (200, 5000), (2, 3, 5)]


def moved(shape: tuple[int, ...], is_view: bool) -> None:
    """Each split is made from each other one, also of views, whose elements are not row-major."""
    values = np.random.default_rng(0).standard_normal(shape)
    for source in range(len(shape)):
        for target in (*range(len(shape)), None):
            like: dict[str, Any] = {"placement": placement.all("cpu"), "sbp": sbp.split(source)}
            if is_view:
                last = len(shape) - 1 - source
                turned = np.ascontiguousarray(values.T)
                x = flow.tensor(turned, **like | {"sbp": sbp.split(last)}).T
            else:
                x = flow.tensor(values, **like)
            y = x.to_global(sbp=sbp.broadcast if target is None else sbp.split(target))
            assert (y.full().numpy() == values).all(), (source, target)


@pytest.mark.parametrize("is_view", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("world", [2, 3, 4])
def test_values(world: int, shape: tuple[int, ...], is_view: bool) -> None:
    on_ranks(moved, world, shape, is_view)


@pytest.mark.parametrize("world", [2, 3])
def test_a_grid(world: int) -> None:
    """Between two splits of each axis of a grid, and through devices that are not the host."""

    def program(device: str) -> None:
        ranks = placement(device, [[rank] for rank in range(world)])
        values = np.arange(6 * 5 * 4000.0).reshape(6, 5, 4000)
        x = flow.tensor(values, placement=ranks, sbp=[sbp.split(0), sbp.split(1)])
        for split in (2, 1, 0):
            x = x.to_global(sbp=[sbp.split(split), sbp.broadcast])
            assert (x.full().numpy() == values).all()

    for device in ("cpu", "mock"):
        on_ranks(program, world, device)


@pytest.mark.parametrize("world", [2, 3])
def test_long_runs_are_not_packed(world: int) -> None:
    """A copy is what a rank packs."""

    def program(columns: int) -> None:
        x = flow.ones((2 * world, columns), placement=placement.all("cpu"), sbp=sbp.split(0))
        flow.synchronize()
        x.to_global(sbp=sbp.split(1)).to_local().numpy()

    def copies(columns: int) -> int:
        with flow.profiler.profile() as prof:
            on_ranks(program, world, columns)
        return len([each for each in prof.records if (each.kind, each.name) == ("run", "copy")])

    assert copies(world * 3000) == 0
    assert copies(world * 30) > 0
