"""Windows of draws of counted random numbers: the same bits as the whole has, wherever they are."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.distributed.windows import BOXES, KEY, KINDS, Kind, check_window, drawn

NORMAL = next(kind for kind in KINDS if kind.draw.name == "NORMAL" and kind.dtype == "float32")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.draw.name}-{kind.dtype}")
def test_a_window_is_a_slice(kind: Kind, device: flow.Device) -> None:
    for shape, box in BOXES:
        check_window(device, kind, shape, box, counter=2**64 - 7)


@pytest.mark.parametrize("seed", range(4))
def test_random_windows(seed: int, device: flow.Device) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(60):
        shape = tuple(map(int, rng.integers(1, 14, rng.integers(1, 6))))
        starts = rng.integers(0, shape)
        ends = rng.integers(starts + 1, np.add(shape, 1))
        box = tuple(slice(int(a), int(b)) for a, b in zip(starts, ends, strict=True))
        kind = KINDS[rng.integers(len(KINDS))]
        check_window(device, kind, shape, box, int(rng.integers(2**63)))


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_share_a_window(threads: int) -> None:
    """Pieces end within rows, and within the numbers of a counter."""
    with flow.flags(num_threads=threads):
        for shape, box in (
            ((90_001, 7), np.s_[:, 1:6]),
            ((3, 200_001), np.s_[:, 5:200_000]),
            ((300_001,), np.s_[3:300_000,]),
        ):
            for kind in KINDS[::5]:
                check_window("cpu", kind, shape, box, counter=5)


@pytest.mark.parametrize("kind", KINDS[::3], ids=lambda kind: f"{kind.draw.name}-{kind.dtype}")
@pytest.mark.parametrize("counter", [0, 2**64 - 2**40, 2**128 - 2**33])
def test_far_windows(kind: Kind, counter: int, device: flow.Device) -> None:
    """Near the end of draws that no memory holds: each row by a draw that begins there."""
    for shape, starts, extent in (
        ((2**21, 2**21), (2**21 - 3, 2**21 - 9), (3, 9)),
        ((2**40, 5), (2**40 - 6, 1), (6, 2)),
        ((2**33,), (2**32 - 5,), (11,)),
        ((2**61 + 9,), (2**61 - 1,), (10,)),
    ):
        steps = [int(np.prod(shape[d + 1 :], dtype=object)) for d in range(len(shape))]
        first = sum(a * b for a, b in zip(starts, steps, strict=True))
        found = drawn(device, kind, extent, counter, (first, *steps)).numpy()
        rows: Any = found if found.ndim == 2 else found[None]
        for i, row in enumerate(rows):
            begin = first + i * steps[0]
            before = begin % 4  # a multiple of the numbers of a counter, whatever their words
            start = (counter + (begin - before) * _words(kind) // 4) % 2**128
            expected = drawn("cpu", kind, (before + len(row),), start).numpy()[before:]
            assert row.tobytes() == expected.tobytes(), (shape, i)


def _words(kind: Kind) -> int:
    if kind.draw.name == "LARGE":
        return 4
    return 2 if kind.draw.name == "SMALL" or kind.dtype in ("float64", "uint64") else 1


def test_a_window_without_its_steps() -> None:
    for window in ((3,), (3, 5), (3, 5, 1, 1)):
        x = drawn("cpu", NORMAL, (2, 2), 0, window)
        with pytest.raises(ValueError, match=r"\[draw\] expected the first number .* and 2 steps"):
            x.numpy()


def test_the_key_is_that_of_a_stream() -> None:
    """What the kernel is given here is what Philox gives it."""
    rng = flow.random.Philox(key=KEY, counter=9)
    expected = rng.normal(1.5, 3, (3, 5), dtype="float32").numpy()
    assert drawn("cpu", NORMAL, (3, 5), 9).numpy().tobytes() == expected.tobytes()
