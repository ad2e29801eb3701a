"""Counted random numbers by kernels: draws, and windows of draws, have the host's bits."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.distributed.windows import BOXES, KINDS, Kind, check_window, drawn

DEVICE = "cuda:0"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.draw.name}-{kind.dtype}")
def test_draws(kind: Kind) -> None:
    for shape in ((), (3,), (0, 4), (1023,), (70_001,)):
        expected = drawn("cpu", kind, shape, 2**64 - 9)
        found = drawn(DEVICE, kind, shape, 2**64 - 9)
        assert found.numpy().tobytes() == expected.numpy().tobytes(), shape
    assert "draw" not in flow.cuda.host_operations()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.draw.name}-{kind.dtype}")
def test_windows(kind: Kind) -> None:
    for shape, box in BOXES:
        check_window(DEVICE, kind, shape, box, counter=2**64 - 7)
    check_window(DEVICE, kind, (900, 333), np.s_[:, 7:332], counter=3)
    assert "draw" not in flow.cuda.host_operations()


def test_far_windows() -> None:
    for kind in KINDS:
        for first in (2**32 - 5, 2**62 + 3):
            window = (first, 2**40 + 1, 1)
            expected = drawn("cpu", kind, (3, 9), 2**64 - 9, window)
            found = drawn(DEVICE, kind, (3, 9), 2**64 - 9, window)
            assert found.numpy().tobytes() == expected.numpy().tobytes(), (kind, first)


def test_parts_of_many_ranks() -> None:
    """Each rank draws on the device that it computes on."""
    ranks, split = flow.distributed.placement.all, flow.distributed.sbp.split

    def program() -> np.ndarray:
        x = flow.random.Philox(5).normal(size=(7, 10), placement=ranks("cuda"), sbp=split(1))
        assert x.to_local().device == DEVICE
        return x.to_local().numpy()

    parts = flow.distributed.run(program, 3)
    expected = flow.random.Philox(5).normal(size=(7, 10))
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), expected.numpy())
    assert "normal" not in flow.cuda.host_operations()
