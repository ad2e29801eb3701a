"""The operands of calls, by letters: which values, which shape, and in which layout.

    x y   the main operands         b   a mask of the shape of x
    m     like x, two-dimensional   i   places in n elements
    v     a vector                  k   small integers, not negative
    s     a sorted vector           c   an array of three dimensions
    q     a square matrix           r   a vector as long as a row of m
    h     a positive definite one   w   a vector as long as a column of m
    t     rows of three             e   16 edges, sorted; p: 4 coefficients
    n, side, rows, cols             integers; dtype: an integer one

An array is made in NumPy, given to a library, and looked at there through a view.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

CONTIGUOUS, STRIDED, TRANSPOSED, BROADCAST = "contiguous", "strided", "transposed", "broadcast"
NARROW = "rows of 8"  # beside a column of as many rows, or along them
AXES = {"axis 0": 0, "axis -1": -1, f"axis -1, {NARROW}": -1}
LAYOUTS = (CONTIGUOUS, STRIDED, TRANSPOSED, BROADCAST, NARROW, *AXES)
LARGEST = 3_000_000
MOST_SEEDS, APART = 20, 1_000
Base = tuple[Any, str]  # an array or an integer, and the view of it


@dataclass(frozen=True)
class Setting:
    """What operands are made of."""

    dtype: str
    layout: str
    size: int
    low: float = 0.5  # of floating-point values
    high: float = 2.0
    largest: int = 1_000_000  # of integers
    two: bool = False  # the call has y, too

    @property
    def rows(self) -> int:
        return max(1, self.size // 8) if self.layout.endswith(NARROW) else math.isqrt(self.size)

    @property
    def cols(self) -> int:
        return self.size // self.rows


@cache
def _uniform() -> np.ndarray:
    """Numbers from 0 to 1, of which all other values are made."""
    return np.random.default_rng(0).random(2 * LARGEST + MOST_SEEDS * APART)


@lru_cache(maxsize=16)
def _values(dtype: str, count: int, seed: int, low: float, high: float, largest: int) -> np.ndarray:
    random = _uniform()[seed * APART : seed * APART + count]
    kind = np.dtype(dtype).kind
    if kind == "b":
        return random < 0.5
    if kind in "iu":
        most = min(largest, int(np.iinfo(dtype).max))
        return (1 + random * most).astype(dtype)
    found = random * (high - low) + low
    return (found + 1j * found[::-1] if kind == "c" else found).astype(dtype)


def values(at: Setting, seed: int, *shape: int) -> np.ndarray:
    """Return values of the setting's dtype."""
    found = _values(at.dtype, math.prod(shape), seed, at.low, at.high, at.largest)
    return found.reshape(shape)


def _integers(seed: int, high: int, *shape: int) -> np.ndarray:
    random = _uniform()[seed * APART : seed * APART + math.prod(shape)]
    return (random * high).astype(np.int64).reshape(shape)


def _main(at: Setting, seed: int, flat: bool, second: bool) -> Base:
    rows, cols = at.rows, at.cols
    flat = flat and at.layout in (CONTIGUOUS, STRIDED)
    if at.layout == STRIDED:
        shape = (2 * at.size,) if flat else (rows, 2 * cols)
        return values(at, seed, *shape), "{}[::2]" if flat else "{}[:, ::2]"
    if at.layout == TRANSPOSED and not second:
        return values(at, seed, cols, rows), "{}.T"
    if at.layout == BROADCAST and (second or not at.two):
        return values(at, seed, cols), f"xp.broadcast_to({{}}, ({rows}, {cols}))"
    if at.layout == NARROW and second:
        return values(at, seed, rows, 1), "{}"
    return values(at, seed, *((at.size,) if flat else (rows, cols))), "{}"


def _mask(at: Setting) -> Base:
    shape = (at.size,) if at.layout in (CONTIGUOUS, STRIDED) else (at.rows, at.cols)
    return _integers(2, 2, *shape).astype(bool), "{}"


def _square(at: Setting) -> Base:
    side = at.rows
    found = values(at, 3, side, side)
    if np.dtype(at.dtype).kind in "fc":
        found = (found + 3 * side * np.eye(side)).astype(at.dtype)  # well conditioned
    return found, "{}"


def _definite(at: Setting) -> Base:
    found = _square(at)[0]
    return ((found + found.conj().T) / 2).astype(at.dtype), "{}"


def _cube(at: Setting) -> Base:
    return values(at, 4, at.rows, max(1, at.cols // 2), 2), "{}"


LETTERS: dict[str, Callable[[Setting], Base]] = {
    "x": lambda at: _main(at, 0, flat=True, second=False),
    "y": lambda at: _main(at, 1, flat=True, second=True),
    "m": lambda at: _main(at, 0, flat=False, second=False),
    "b": _mask,
    "i": lambda at: (_integers(5, at.size, at.size), "{}"),
    "k": lambda at: (_integers(6, 4, at.size), "{}"),
    "v": lambda at: (values(at, 7, at.size), "{}"),
    "s": lambda at: (np.sort(values(at, 8, at.size)), "{}"),
    "q": _square,
    "h": _definite,
    "r": lambda at: (values(at, 9, at.cols), "{}"),
    "w": lambda at: (values(at, 10, at.rows), "{}"),
    "c": _cube,
    "t": lambda at: (values(at, 11, max(1, at.size // 3), 3), "{}"),
    "e": lambda at: (np.sort(values(at, 12, 16)), "{}"),
    "p": lambda at: (values(at, 13, 4), "{}"),
    "dtype": lambda at: (np.dtype("int8"), ""),
    "n": lambda at: (at.size, ""),
    "side": lambda at: (at.rows, ""),
    "rows": lambda at: (at.rows, ""),
    "cols": lambda at: (at.cols, ""),
}
_BOTH = frozenset("xybn") | {"rows", "cols"}  # have every layout
_FLAT = _BOTH | frozenset("iksv")  # have one dimension
_MATRIX = frozenset("mn") | {"rows", "cols"}


def layouts(letters: frozenset[str]) -> tuple[str, ...]:
    """Return the layouts that a call with these operands can be measured in."""
    if not letters & {"x", "m"}:
        return (CONTIGUOUS,)
    if letters <= _BOTH:
        return (CONTIGUOUS, STRIDED, TRANSPOSED, BROADCAST, *([NARROW] if "y" in letters else []))
    if letters <= _MATRIX:
        return (CONTIGUOUS, STRIDED, TRANSPOSED)
    return (CONTIGUOUS, STRIDED) if letters <= _FLAT else (CONTIGUOUS,)
