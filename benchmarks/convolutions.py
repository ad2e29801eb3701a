"""Convolutions of images and their gradients, for libraries that have them by other names.

conv2d(x, w, stride, padding), conv2d_input_gradient(shape of x, w, g, stride, padding) and
conv2d_weight_gradient(x, shape of w, g, stride, padding), as ours has them: layout NCHW.
"""

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

Functions = Mapping[str, Callable[..., Any]]
Shape = tuple[int, ...]


def _named(convolution: Any, of_input: Any, of_weight: Any) -> Functions:
    names = ("conv2d", "conv2d_input_gradient", "conv2d_weight_gradient")
    return dict(zip(names, (convolution, of_input, of_weight), strict=True))


def of_numpy() -> Functions:
    """What is written without a convolution: windows as rows, one product of matrices."""

    def windows(x: np.ndarray, window: Shape, stride: int, padding: int) -> np.ndarray:
        edge = (padding, padding)
        padded = np.pad(x, ((0, 0), (0, 0), edge, edge))
        found = np.lib.stride_tricks.sliding_window_view(padded, window, (2, 3))
        return found[:, :, ::stride, ::stride]

    def convolution(x: np.ndarray, w: np.ndarray, stride: int, padding: int) -> np.ndarray:
        rows = windows(x, w.shape[2:], stride, padding)
        return np.moveaxis(np.tensordot(rows, w, ((1, 4, 5), (1, 2, 3))), 3, 1)

    def of_weight(
        x: np.ndarray, shape: Shape, g: np.ndarray, stride: int, padding: int
    ) -> np.ndarray:
        return np.tensordot(g, windows(x, shape[2:], stride, padding), ((0, 2, 3), (0, 2, 3)))

    def of_input(
        shape: Shape, w: np.ndarray, g: np.ndarray, stride: int, padding: int
    ) -> np.ndarray:
        images, channels, height, width = shape
        found = np.zeros((images, channels, height + 2 * padding, width + 2 * padding), g.dtype)
        for y, x in np.ndindex(w.shape[2:]):
            part = found[:, :, y:, x:][:, :, ::stride, ::stride][:, :, : g.shape[2], : g.shape[3]]
            part += np.moveaxis(np.tensordot(g, w[:, :, y, x], ((1,), (0,))), 3, 1)
        return found[:, :, padding : padding + height, padding : padding + width]

    return _named(convolution, of_input, of_weight)


def of_torch(module: ModuleType) -> Functions:
    """Return those of PyTorch."""

    def convolution(x: Any, w: Any, stride: int, padding: int) -> Any:
        return module.nn.functional.conv2d(x, w, None, stride, padding)

    return _named(convolution, module.nn.grad.conv2d_input, module.nn.grad.conv2d_weight)


def of_jax(module: ModuleType) -> Functions:
    """Return those of JAX: its convolution, and what it makes of that as a linear function."""

    def convolution(x: Any, w: Any, stride: int, padding: int) -> Any:
        around = ((padding, padding),) * 2
        return module.lax.conv_general_dilated(x, w, (stride, stride), around)

    def turned(function: Any, shape: Shape, g: Any) -> Any:
        (found,) = module.linear_transpose(function, module.ShapeDtypeStruct(shape, g.dtype))(g)
        return found

    def of_input(shape: Shape, w: Any, g: Any, stride: int, padding: int) -> Any:
        return turned(lambda x: convolution(x, w, stride, padding), shape, g)

    def of_weight(x: Any, shape: Shape, g: Any, stride: int, padding: int) -> Any:
        return turned(lambda w: convolution(x, w, stride, padding), shape, g)

    return _named(convolution, of_input, of_weight)
