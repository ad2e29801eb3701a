"""Windows of draws of counted random numbers, by the kernel itself; and the draws of each kind."""

import math
from typing import Any, NamedTuple

import numpy as np

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.random.numbers import Draw

Array = np.ndarray[Any, Any]

KEY = 0x0123456789ABCDEF
FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _bits(x: float) -> int:
    return int(np.float64(x).view("int64"))


class Kind(NamedTuple):
    draw: Draw
    dtype: str
    parameters: tuple[int, int]


_MOVED = (_bits(1.5), _bits(3.0))

# A row for each row of csrc/ops/random/philox.cpp.
KINDS = [
    Kind(Draw.WORDS, "uint32", (0, 0)),
    Kind(Draw.WORDS, "uint64", (0, 0)),
    *(
        Kind(draw, dtype, _MOVED)
        for draw in (Draw.UNIFORM, Draw.NORMAL, Draw.EXPONENTIAL)
        for dtype in FLOATS
    ),
    Kind(Draw.BERNOULLI, "bool", (2**31, 0)),
    *(Kind(Draw.SMALL, dtype, (-3, 100)) for dtype in INTEGERS),
    *(Kind(Draw.LARGE, dtype, (-3, 2**40)) for dtype in ("int64", "uint64")),
]

# Shape of the whole and box: one row of numbers, of any alignment; short and long rows; rows in
# several dimensions, some of which join; a number in each row; of one number; empty.
BOXES: list[tuple[tuple[int, ...], tuple[slice, ...]]] = [
    ((), ()),
    ((9,), np.s_[3:8,]),
    ((9,), np.s_[4:9,]),
    ((4001,), np.s_[1:3990,]),
    ((40, 7), np.s_[3:30, :]),
    ((40, 7), np.s_[:, 2:4]),
    ((40, 7), np.s_[5:39, 6:7]),
    ((33, 300), np.s_[1:33, 5:298]),
    ((3, 1500), np.s_[:, 701:1500]),
    ((5, 6, 7, 4), np.s_[1:4, 2:5, :, :]),
    ((5, 6, 7, 4), np.s_[:, 1:6, 3:4, 1:3]),
    ((5, 6, 7, 4), np.s_[2:3, :, 1:7, :]),
    ((2,) * 9, np.s_[:, 1:2, :, 0:1, :, 1:2, :, 0:1, :]),
    ((8, 8), np.s_[7:8, 7:8]),
    ((8, 8), np.s_[3:3, 1:5]),
]


def steps_of(shape: tuple[int, ...]) -> list[int]:
    return [math.prod(shape[d + 1 :]) for d in range(len(shape))]


def drawn(
    device: Any, kind: Kind, shape: tuple[int, ...], counter: int, window: Any = ()
) -> flow.Tensor:
    """The kernel's; ``window``: the number of the first element, and the steps of dimensions."""
    words = [int(np.uint64(word).view("int64")) for word in (KEY, counter % 2**64, counter >> 64)]
    out = flow.empty(shape, dtype=kind.dtype, device=device)
    attr = (kind.draw, *words, *kind.parameters, *window)
    return _C.call_kernel("draw", "philox", (), (out,), attr)[0]


def check_window(
    device: Any, kind: Kind, shape: tuple[int, ...], box: tuple[slice, ...], counter: int
) -> None:
    """It is a slice of the whole, bit for bit."""
    steps = steps_of(shape)
    starts = [x.indices(n)[0] for x, n in zip(box, shape, strict=True)]
    first = sum(start * step for start, step in zip(starts, steps, strict=True))
    expected = drawn("cpu", kind, shape, counter).numpy()[box]
    found = drawn(device, kind, expected.shape, counter, (first, *steps))
    assert found.numpy().tobytes() == expected.tobytes(), (kind, shape, box)
