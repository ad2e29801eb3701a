"""Random numbers: NumPy's generators make them on the host, a copy takes them to the device.

The same seed gives the numbers of ``numpy.random.default_rng``. Threads may share a generator.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.ops.creation import tensor

__all__ = ["Generator", "default_rng", "integers", "normal", "permutation", "seed", "uniform"]

Size = int | Sequence[int] | None


class Generator:
    """A stream of random numbers.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.Generator or None
        As for ``numpy.random.default_rng``; None: a fresh seed from the system.

    Examples
    --------
    >>> rng = flow.random.Generator(0)
    >>> bool(rng.uniform() == flow.random.Generator(0).uniform())
    True
    """

    def __init__(self, seed: Any = None) -> None:
        self._lock = threading.Lock()  # guards _numpy
        self._numpy = np.random.default_rng(seed)

    def seed(self, seed: Any = None) -> None:
        """Start again, as if made with this seed.

        Examples
        --------
        >>> flow.random.seed(0)
        >>> first = flow.random.uniform(size=2)
        >>> flow.random.seed(0)
        >>> flow.array_equal(first, flow.random.uniform(size=2))
        True
        """
        with self._lock:
            self._numpy = np.random.default_rng(seed)

    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return numbers from [low, high), float64 unless cast to ``dtype``.

        Examples
        --------
        >>> flow.random.default_rng(0).uniform(size=2).tolist()
        [0.6369616873214543, 0.2697867137638703]
        """
        return self._draw(lambda rng: rng.uniform(low, high, size), dtype, device)

    def normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return normally distributed numbers, float64 unless cast to ``dtype``.

        Examples
        --------
        >>> flow.random.default_rng(0).normal(size=(2, 3)).shape
        (2, 3)
        """
        return self._draw(lambda rng: rng.normal(loc, scale, size), dtype, device)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        *,
        dtype: Any = np.int64,
        endpoint: bool = False,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return integers from [low, high), or [0, low); with ``endpoint``, high can occur.

        Examples
        --------
        >>> flow.random.default_rng(0).integers(1, 6, 4, endpoint=True).tolist()
        [6, 4, 4, 2]
        """
        return self._draw(
            lambda rng: rng.integers(low, high, size, dtype=dtype, endpoint=endpoint), None, device
        )

    def permutation(self, x: Any, *, device: DeviceLike = None) -> Tensor:
        """Return the integers below x in random order, or the rows of x.

        The rows of a tensor are taken on its device, where the result stays without ``device``.

        Examples
        --------
        >>> flow.random.default_rng(0).permutation(4).tolist()
        [2, 0, 1, 3]
        """
        if not isinstance(x, Tensor) or x.ndim == 0:
            return self._draw(lambda rng: rng.permutation(x), None, device)
        # NumPy draws otherwise for one dimension than for more.
        rows = np.arange(len(x)).reshape(-1, *(1,) * (x.ndim - 1))
        order = self._draw(lambda rng: rng.permutation(rows).ravel(), None, x.device)
        return _C.to_device(x[order], x.device if device is None else resolve(device), False)

    def _draw(
        self, draw: Callable[[np.random.Generator], Any], dtype: Any, device: DeviceLike
    ) -> Tensor:
        with self._lock:
            values = draw(self._numpy)
        return tensor(np.asarray(values), dtype, device)


def default_rng(seed: Any = None) -> Generator:
    """Return a new generator.

    Examples
    --------
    >>> flow.random.default_rng(7).uniform().item() == np.random.default_rng(7).uniform()
    True
    """
    return Generator(seed)


_DEFAULT = Generator()

seed = _DEFAULT.seed
uniform = _DEFAULT.uniform
normal = _DEFAULT.normal
integers = _DEFAULT.integers
permutation = _DEFAULT.permutation
