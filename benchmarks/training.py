"""The training step of examples/train_digits.py on one batch, for libraries with NumPy's names."""

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from train_digits import CLASSES, Network

PIXELS = 64


def batch_of(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images and one-hot labels."""
    rng = np.random.default_rng(7)
    images = rng.random((size, PIXELS), np.float32)
    return images, np.eye(CLASSES, dtype=np.float32)[rng.integers(0, CLASSES, size)]


class Step:
    """A network and a batch; a call makes one step.

    Parameters
    ----------
    array : callable
        Makes an array of the namespace of one of NumPy.
    """

    def __init__(self, xp: Any, array: Any, size: int) -> None:
        self._network = Network(xp, array, PIXELS, seed=7)
        self._batch = tuple(map(array, batch_of(size)))

    def __call__(self) -> Any:
        return self._network.step(*self._batch)
