"""Counted random numbers: made where the tensor is, the same on every device.

Number i of a stream is a function of a key and of i (Philox4x32-10), so that nothing is copied, any
number of threads make them at a time, and a place in the stream is a number.
"""

import math
import operator
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import (
    bool as bool_dtype,
    canonical,
    float16,
    float32,
    float64,
    int64,
    isdtype,
    uint32,
    uint64,
)
from oneflow_lite.ops.creation.data import asarray, empty
from oneflow_lite.ops.indexing import take
from oneflow_lite.ops.manipulation.shapes import reshape
from oneflow_lite.ops.operands import host_array
from oneflow_lite.ops.searching import searchsorted
from oneflow_lite.ops.sorting import argsort
from oneflow_lite.random.counter_stream import CounterStream

Size = int | Sequence[int] | None

_WORDS = 4  # of 32 bits, for each counter


class _Draw(IntEnum):
    """``Distribution`` of csrc/ops/random/philox.h."""

    WORDS = 0
    UNIFORM = 1
    NORMAL = 2
    EXPONENTIAL = 3
    BERNOULLI = 4
    SMALL = 5
    LARGE = 6


def _signed(word: int) -> int:
    """The int64 of these 64 bits."""
    word &= (1 << 64) - 1
    return word - (1 << 64) if word >> 63 else word


def _bits(x: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", x))[0])


def _shape(size: Size) -> tuple[int, ...]:
    if size is None:
        return ()
    return _C.integers(size, "random")


def _finite(op: str, name: str, x: Any) -> float:
    number = float(x)
    if not math.isfinite(number):
        raise ValueError(f"[{op}] expected {name} to be finite, got {number}")
    return number


class Philox(CounterStream):
    """A stream of random numbers that are made on the device that they are for.

    The same key and counter give the same bits on every device, whatever the number of threads. The
    numbers are not those of ``flow.random.Generator``, which are NumPy's. Any thread may draw.

    Parameters
    ----------
    seed : int, sequence of int or None
        Hashed to a key by ``numpy.random.SeedSequence``; None: a fresh one from the system.
    key : int, optional
        The key itself, of 64 bits, in the place of a seed.
    counter : int, default=0
        Where the stream begins: of 128 bits. A counter gives four words of 32 bits.

    Raises
    ------
    ValueError
        For a key or a counter of more bits; for a key and a seed.

    Notes
    -----
    A number of float16, float32 or bool takes one word, one of float64 or an integer two, integers
    of a range above 2**32 take four; a draw begins with a fresh counter.

    Examples
    --------
    >>> rng = flow.random.Philox(7)
    >>> x = rng.normal(size=(2, 3), dtype="float32", device="mock:0")
    >>> flow.array_equal(x.cpu(), flow.random.Philox(7).normal(size=(2, 3), dtype="float32"))
    True
    """

    # --- numbers

    def _draw(
        self,
        op: str,
        draw: _Draw,
        size: Size,
        dtype: Any,
        device: DeviceLike,
        parameters: tuple[int, int] = (0, 0),
    ) -> Tensor:
        wanted = np.dtype(dtype)
        out = empty(_shape(size), dtype=wanted, device=device)
        wide = wanted.itemsize == 8 or draw is _Draw.SMALL
        words = 4 if draw is _Draw.LARGE else 2 if wide else 1
        key, counter = self._take(-(-out.size * words // _WORDS))
        attr = (draw, *map(_signed, (key, counter, counter >> 64, *parameters)))
        if self._notes() is None:
            (drawn,) = _C.call_kernel(op, "philox", (), (out,), attr)
        else:  # each run puts its own key and counter there
            (drawn,) = _C.call_kernel(op, "philox", (), (out,), attr, object=self)
        return drawn

    def _floats(
        self,
        op: str,
        draw: _Draw,
        size: Size,
        dtype: Any,
        device: DeviceLike,
        moved: tuple[float, float],
    ) -> Tensor:
        wanted = canonical(float64 if dtype is None else dtype, op)
        if wanted not in (float16, float32, float64):
            raise TypeError(f"[{op}] expected a dtype of real floats, got {wanted}")
        first, second = map(_bits, moved)
        return self._draw(op, draw, size, wanted, device, (first, second))

    def words(self, size: Size = None, *, dtype: Any = uint32, device: DeviceLike = None) -> Tensor:
        """Return what all numbers are made of: random bits, uint32 or uint64.

        Examples
        --------
        >>> [hex(word) for word in flow.random.Philox(key=0).words(4).tolist()]
        ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
        """
        wanted = canonical(dtype, "words")
        if wanted not in (uint32, uint64):
            raise TypeError(f"[words] expected uint32 or uint64, got {wanted}")
        return self._draw("words", _Draw.WORDS, size, wanted, device)

    def random(self, size: Size = None, *, dtype: Any = None, device: DeviceLike = None) -> Tensor:
        """Return numbers from [0, 1): multiples of 2**-53, float32 of 2**-24, float16 of 2**-11.

        Examples
        --------
        >>> flow.random.Philox(7).random(3, dtype="float32").dtype
        dtype('float32')
        """
        return self._floats("random", _Draw.UNIFORM, size, dtype, device, (0.0, 1.0))

    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return numbers from [low, high); where the sum is rounded, high may occur.

        Examples
        --------
        >>> x = flow.random.Philox(7).uniform(2, 3, 1000)
        >>> bool((x >= 2).all() & (x < 3).all())
        True
        """
        least, width = _finite("uniform", "low", low), _finite("uniform", "width", high - low)
        return self._floats("uniform", _Draw.UNIFORM, size, dtype, device, (least, width))

    def normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return normally distributed numbers, by the inverse of their distribution function.

        The farthest are 8.4 deviations from the mean, of float32 and float16 6.4.

        Examples
        --------
        >>> flow.random.Philox(7).normal(10, 0, 2).tolist()
        [10.0, 10.0]
        """
        mean, deviation = _finite("normal", "loc", loc), _finite("normal", "scale", scale)
        if deviation < 0:
            raise ValueError(f"[normal] expected scale to be at least 0, got {deviation}")
        return self._floats("normal", _Draw.NORMAL, size, dtype, device, (mean, deviation))

    def standard_normal(
        self, size: Size = None, *, dtype: Any = None, device: DeviceLike = None
    ) -> Tensor:
        """Return normally distributed numbers of mean 0 and deviation 1.

        Examples
        --------
        >>> flow.random.Philox(7).standard_normal((2, 0)).shape
        (2, 0)
        """
        return self._floats("standard_normal", _Draw.NORMAL, size, dtype, device, (0.0, 1.0))

    def exponential(
        self,
        scale: float = 1.0,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return exponentially distributed numbers of mean ``scale``.

        Examples
        --------
        >>> bool((flow.random.Philox(7).exponential(2.0, 100) >= 0).all())
        True
        """
        mean = _finite("exponential", "scale", scale)
        if mean < 0:
            raise ValueError(f"[exponential] expected scale to be at least 0, got {mean}")
        return self._floats("exponential", _Draw.EXPONENTIAL, size, dtype, device, (0.0, mean))

    def bernoulli(self, p: float = 0.5, size: Size = None, *, device: DeviceLike = None) -> Tensor:
        """Return truths, each true with probability p (a multiple of 2**-32).

        Examples
        --------
        >>> flow.random.Philox(7).bernoulli(1.0, 3).tolist()
        [True, True, True]
        """
        probability = _finite("bernoulli", "p", p)
        if not 0 <= probability <= 1:
            raise ValueError(f"[bernoulli] expected p in [0, 1], got {probability}")
        often = (round(probability * 2**32), 0)
        return self._draw("bernoulli", _Draw.BERNOULLI, size, bool_dtype, device, often)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        *,
        dtype: Any = int64,
        endpoint: bool = False,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return integers from [low, high), or [0, low); with ``endpoint``, high can occur.

        No number is more probable than another one by more than a part of 2**-32.

        Examples
        --------
        >>> sorted(set(flow.random.Philox(7).integers(1, 6, 200, endpoint=True).tolist()))
        [1, 2, 3, 4, 5, 6]
        """
        wanted = canonical(dtype, "integers")
        if not isdtype(wanted, "integral"):
            raise TypeError(f"[integers] expected a dtype of integers, got {wanted}")
        least, end = (0, operator.index(low)) if high is None else map(operator.index, (low, high))
        end += bool(endpoint)
        limits = np.iinfo(wanted)
        if not limits.min <= least < end <= int(limits.max) + 1:
            raise ValueError(
                f"[integers] expected low < high within {wanted}, got {least} and {end} (exclusive)"
            )
        count = end - least
        draw = _Draw.SMALL if count <= 2**32 else _Draw.LARGE
        return self._draw("integers", draw, size, wanted, device, (least, count))

    # --- orders and choices

    def permutation(self, x: Any, axis: int = 0, *, device: DeviceLike = None) -> Tensor:
        """Return the integers below x in random order, or x with its slices in random order.

        Parameters
        ----------
        x : int, Tensor or array
            A tensor is not looked at; the result is on its device.
        axis : int
            The axis whose slices change their places.
        device : Device or str, optional
            Where the result goes; of a tensor, that where it is.

        Examples
        --------
        >>> sorted(flow.random.Philox(7).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        if isinstance(x, (int, np.integer)):
            return self._order("permutation", operator.index(x), device)
        given = asarray(x, device=device)
        if not -given.ndim <= axis < given.ndim:
            raise np.exceptions.AxisError(
                f"[permutation] axis {axis} is out of bounds for {given.ndim} dimensions"
            )
        return take(given, self._order("permutation", given.shape[axis], given.device), axis)

    def _order(self, op: str, count: int, device: DeviceLike) -> Tensor:
        """The places below count: sorted by random keys, equal ones as they were."""
        if count < 0:
            raise ValueError(f"[{op}] expected a count of at least 0, got {count}")
        return argsort(self._draw(op, _Draw.WORDS, count, uint64, device), stable=True)

    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        *,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return random elements of a.

        Parameters
        ----------
        a : int, Tensor or array
            What to choose from; an int stands for the integers below it. A tensor is not looked at;
            the result is on its device.
        size : int or sequence of int, optional
            How many.
        replace : bool
            Whether the same place may be chosen more than once.
        p : array or Tensor, optional
            The probability of each; a tensor is looked at.
        axis : int
            The axis of a to choose along.
        device : Device or str, optional
            Where the result goes; of a tensor, that where it is.

        Examples
        --------
        >>> sorted(flow.random.Philox(7).choice([10, 20, 30], 3, replace=False).tolist())
        [10, 20, 30]
        """
        whole = not isinstance(a, (int, np.integer))
        source = asarray(a, device=device) if whole else None
        if source is not None and not -source.ndim <= axis < source.ndim:
            raise np.exceptions.AxisError(
                f"[choice] axis {axis} is out of bounds for {source.ndim} dimensions"
            )
        count = operator.index(a) if source is None else source.shape[axis]
        home = device if source is None else source.device
        shape = _shape(size)
        if count < 1 and 0 not in shape:
            raise ValueError(f"[choice] expected something to choose from, got {count} places")
        weights = None if p is None else self._weights(p, count)
        if replace:
            places = self._with_replacement(count, shape, weights, home)
        else:
            places = self._without_replacement(count, shape, weights, home)
        return places if source is None else take(source, places, axis)

    @staticmethod
    def _weights(p: Any, count: int) -> npt.NDArray[np.float64]:
        weights = host_array(p, "choice").astype(np.float64)
        if weights.shape != (count,):
            raise ValueError(f"[choice] expected {count} probabilities, got shape {weights.shape}")
        if not (weights >= 0).all() or abs(weights.sum() - 1) > 1e-8:
            raise ValueError("[choice] expected probabilities of at least 0 whose sum is 1")
        return weights

    def _with_replacement(
        self,
        count: int,
        shape: tuple[int, ...],
        weights: npt.NDArray[np.float64] | None,
        device: DeviceLike,
    ) -> Tensor:
        if weights is None:
            return self.integers(max(count, 1), size=shape, device=device)
        ends = np.cumsum(weights)
        ends /= ends[-1]
        drawn = self._floats("choice", _Draw.UNIFORM, shape, None, device, (0.0, 1.0))
        return searchsorted(asarray(ends, device=drawn.device), drawn, side="right")

    def _without_replacement(
        self,
        count: int,
        shape: tuple[int, ...],
        weights: npt.NDArray[np.float64] | None,
        device: DeviceLike,
    ) -> Tensor:
        """With weights: who first comes, where one comes after an exponential time.

        P. S. Efraimidis, P. G. Spirakis, 2006.
        """
        wanted = math.prod(shape)
        possible = count if weights is None else int(np.count_nonzero(weights))
        if wanted > possible:
            raise ValueError(
                f"[choice] expected at most {possible} without replacement, got {wanted}"
            )
        if weights is None:
            order = self._order("choice", count, device)
        else:
            times = self._floats("choice", _Draw.EXPONENTIAL, count, None, device, (0.0, 1.0))
            rates = np.where(weights > 0, weights, 1.0)
            times = times / asarray(rates, device=times.device)
            never = asarray(np.where(weights > 0, 0.0, np.inf), device=times.device)
            order = argsort(times + never, stable=True)
        return reshape(order[:wanted], shape)


__all__ = ["Philox"]
