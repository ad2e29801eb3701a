"""Convolutions in NumPy, in float64, and cases of them."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


@dataclass(frozen=True)
class Case:
    """A convolution: shapes in layout NCHW, and how windows go over the images."""

    x: tuple[int, int, int, int]
    w: tuple[int, int, int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[tuple[int, int], tuple[int, int]] = ((0, 0), (0, 0))
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1

    @property
    def keywords(self) -> dict[str, Any]:
        """As functions take them."""
        return {
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "groups": self.groups,
        }

    @property
    def is_blocked(self) -> bool:
        """There is layout NCHW16c of it."""
        return self.x[1] % 16 == 0 and self.w[0] % 16 == 0

    @property
    def result(self) -> tuple[int, int, int, int]:
        """The shape of the result."""
        places = [
            (self.x[2 + d] + sum(self.padding[d]) - (self.w[2 + d] - 1) * self.dilation[d] - 1)
            // self.stride[d]
            + 1
            for d in range(2)
        ]
        return (self.x[0], self.w[0], places[0], places[1])


def every(n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """So many zeros on every side."""
    return ((n, n), (n, n))


CASES = (
    Case((1, 1, 3, 3), (1, 1, 2, 2)),
    Case((2, 3, 8, 9), (4, 3, 3, 3), padding=every(1)),
    Case((1, 3, 23, 20), (8, 3, 7, 7), stride=(2, 2), padding=every(3)),
    Case((2, 16, 7, 7), (32, 16, 1, 1)),
    Case((3, 16, 9, 8), (48, 16, 3, 3), stride=(2, 1), padding=((1, 0), (2, 1))),
    Case((2, 32, 10, 11), (16, 32, 3, 2), dilation=(2, 3), padding=((2, 3), (0, 4))),
    Case((2, 32, 6, 6), (32, 16, 3, 3), groups=2, padding=every(1)),
    Case((2, 24, 6, 7), (36, 8, 2, 3), groups=3, stride=(1, 2)),
    Case((2, 32, 9, 9), (32, 1, 3, 3), groups=32, padding=every(1)),
    Case((1, 16, 12, 8), (32, 1, 3, 5), groups=16, stride=(2, 2), padding=every(2)),
    Case((1, 48, 8, 8), (48, 3, 3, 3), groups=16, padding=every(1)),
    Case((1, 80, 14, 15), (64, 80, 3, 3), padding=every(1)),  # sums in two parts
    Case((1, 80, 7, 7), (96, 80, 3, 3), padding=every(1)),  # weights are packed by each piece
    Case((1, 70, 7, 6), (77, 70, 3, 3), padding=every(1)),  # and these not all by blocks
    Case((1, 64, 6, 6), (64, 32, 3, 3), groups=2, padding=every(1)),
    Case((2, 64, 17, 40), (48, 64, 1, 1), stride=(3, 4)),  # windows that leave places out
    Case((0, 16, 5, 5), (16, 16, 3, 3)),
    Case((2, 0, 5, 5), (16, 0, 3, 3)),
    Case((2, 16, 5, 5), (0, 16, 3, 3)),
    Case((1, 16, 1, 1), (16, 16, 3, 3), padding=every(1)),
)


def unfolded(x: np.ndarray, case: Case) -> np.ndarray:
    """What each window sees: (n, groups, channels, y, x, window y, window x)."""
    padded = np.pad(x, ((0, 0), (0, 0), *case.padding))
    reach = [(case.w[2 + d] - 1) * case.dilation[d] + 1 for d in range(2)]
    seen = sliding_window_view(padded, reach, axis=(2, 3))
    seen = seen[
        :, :, :: case.stride[0], :: case.stride[1], :: case.dilation[0], :: case.dilation[1]
    ]
    return seen.reshape(x.shape[0], case.groups, case.w[1], *seen.shape[2:])


def _in_groups(x: np.ndarray, case: Case, axis: int) -> np.ndarray:
    shape = (*x.shape[:axis], case.groups, x.shape[axis] // case.groups, *x.shape[axis + 1 :])
    return x.reshape(shape)


def conv2d(x: np.ndarray, w: np.ndarray, case: Case) -> np.ndarray:
    """The convolution, in float64."""
    seen = unfolded(x.astype(np.float64), case)
    weights = _in_groups(w.astype(np.float64), case, 0)
    made = np.einsum("ngcyxrs,gocrs->ngoyx", seen, weights, optimize=True)
    return made.reshape(case.result)


def weight_gradient(x: np.ndarray, gradient: np.ndarray, case: Case) -> np.ndarray:
    """The gradient of the weights, in float64."""
    seen = unfolded(x.astype(np.float64), case)
    given = _in_groups(gradient.astype(np.float64), case, 1)
    return np.einsum("ngcyxrs,ngoyx->gocrs", seen, given, optimize=True).reshape(case.w)


def input_gradient(w: np.ndarray, gradient: np.ndarray, case: Case) -> np.ndarray:
    """The gradient of the images, in float64: what each window saw gets its share."""
    weights = _in_groups(w.astype(np.float64), case, 0)
    given = _in_groups(gradient.astype(np.float64), case, 1)
    shares = np.einsum("ngoyx,gocrs->ngcyxrs", given, weights, optimize=True)
    (top, bottom), (left, right) = case.padding
    n, channels, height, width = case.x
    total = np.zeros((n, channels, height + top + bottom, width + left + right))
    shares = shares.reshape(n, channels, *shares.shape[3:])
    down, across = shares.shape[2:4]
    for r in range(case.w[2]):
        for s in range(case.w[3]):
            y, x = r * case.dilation[0], s * case.dilation[1]
            total[
                :,
                :,
                y : y + (down - 1) * case.stride[0] + 1 : case.stride[0],
                x : x + (across - 1) * case.stride[1] + 1 : case.stride[1],
            ] += shares[..., r, s]
    return total[:, :, top : top + height, left : left + width]


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> np.ndarray:
    """Small integers: sums of their products are exact in any order."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def fractions(shape: tuple[int, ...], dtype: Any, seed: int) -> np.ndarray:
    """Numbers whose sums of products are rounded."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def blocked(x: np.ndarray) -> np.ndarray:
    """Images in layout NCHW16c."""
    n, channels, height, width = x.shape
    parts = x.reshape(n, channels // 16, 16, height, width)
    return np.ascontiguousarray(parts.transpose(0, 1, 3, 4, 2))


def terms(case: Case) -> int:
    """How many products each element is a sum of."""
    return math.prod(case.w[1:])
