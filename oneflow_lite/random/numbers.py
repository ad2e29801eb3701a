"""The numbers of ``Philox``: made where the tensor is, by counting."""

import math
import operator
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import Any, cast

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Placement, Tensor
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
from oneflow_lite.ops.creation.data import empty
from oneflow_lite.random.counter_stream import CounterStream
from oneflow_lite.random.windows import Home, Sbps, part_of

Size = int | Sequence[int] | None

_WORDS = 4  # of 32 bits, for each counter


class Draw(IntEnum):
    """``Distribution`` of csrc/ops/random/philox.h."""

    WORDS = 0
    UNIFORM = 1
    NORMAL = 2
    EXPONENTIAL = 3
    BERNOULLI = 4
    SMALL = 5
    LARGE = 6


_TWO_DOUBLES, _TWO_WORDS = struct.Struct("<2d"), struct.Struct("<2Q")
_WORDS_OF_CALL, _ATTR = struct.Struct("<5Q"), struct.Struct("<5q")
_WORD = (1 << 64) - 1


def _bits(moved: tuple[float, float]) -> tuple[int, int]:
    """The bits of two doubles, as integers."""
    first, second = _TWO_WORDS.unpack(_TWO_DOUBLES.pack(*moved))
    return first, second


def _attr(key: int, counter: int, first: int, second: int) -> tuple[int, ...]:
    """The words of a call as the kernel takes them, which are signed."""
    words = key, counter & _WORD, counter >> 64, first & _WORD, second & _WORD
    return _ATTR.unpack(_WORDS_OF_CALL.pack(*words))


def shape_of(size: Size) -> tuple[int, ...]:
    """Return the shape of a draw."""
    if size is None:
        return ()
    return _C.integers(size, "random")


def _finite(op: str, name: str, x: Any) -> float:
    number = float(x)
    if not math.isfinite(number):
        raise ValueError(f"[{op}] expected {name} to be finite, got {number}")
    return number


class PhiloxNumbers(CounterStream):
    """What ``Philox`` is without its orders and choices; see there."""

    def _draw(
        self,
        op: str,
        draw: Draw,
        size: Size,
        dtype: Any,
        home: Home,
        parameters: tuple[int, int] = (0, 0),
    ) -> Tensor:
        """A GlobalTensor where home has a placement: each rank takes the counters of the whole."""
        wanted, shape = np.dtype(dtype), shape_of(size)
        is_of_many = home[1] is not None or home[2] is not None
        part = part_of(op, shape, home) if is_of_many else None
        if part is None:
            out = empty(shape, dtype=wanted, device=home[0])
            count = out.size
        else:
            out = empty(part.shape, dtype=wanted, device=part.device or "cpu")
            count = math.prod(shape)
        wide = wanted.itemsize == 8 or draw is Draw.SMALL
        words = 4 if draw is Draw.LARGE else 2 if wide else 1
        key, counter = self._take(-(-count * words // _WORDS))
        attr = (draw, *_attr(key, counter, *parameters))
        if part is not None:
            if part.device is None:
                return cast("Tensor", _C.of_new_part(out, part.layout))
            attr += part.window
        if self._notes() is None:
            (drawn,) = _C.call_kernel(op, "philox", (), (out,), attr)
        else:  # each run puts its own key and counter there
            (drawn,) = _C.call_kernel(op, "philox", (), (out,), attr, object=self)
        return drawn if part is None else cast("Tensor", _C.of_new_part(drawn, part.layout))

    def _floats(
        self,
        op: str,
        draw: Draw,
        size: Size,
        dtype: Any,
        home: Home,
        moved: tuple[float, float],
    ) -> Tensor:
        wanted = canonical(float64 if dtype is None else dtype, op)
        if wanted not in (float16, float32, float64):
            raise TypeError(f"[{op}] expected dtype float16, float32 or float64, got {wanted}")
        return self._draw(op, draw, size, wanted, home, _bits(moved))

    def words(
        self,
        size: Size = None,
        *,
        dtype: Any = uint32,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
    ) -> Tensor:
        """Return what all numbers are made of: random bits, uint32 or uint64.

        Examples
        --------
        >>> [hex(word) for word in flow.random.Philox(key=0).words(4).tolist()]
        ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
        """
        wanted = canonical(dtype, "words")
        if wanted not in (uint32, uint64):
            raise TypeError(f"[words] expected uint32 or uint64, got {wanted}")
        return self._draw("words", Draw.WORDS, size, wanted, (device, placement, sbp))

    def random(
        self,
        size: Size = None,
        dtype: Any = None,
        *,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
    ) -> Tensor:
        """Return numbers from [0, 1): multiples of 2**-53, float32 of 2**-24, float16 of 2**-11.

        Examples
        --------
        >>> flow.random.Philox(7).random(3, dtype="float32").dtype
        dtype('float32')
        """
        return self._floats(
            "random", Draw.UNIFORM, size, dtype, (device, placement, sbp), (0.0, 1.0)
        )

    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
    ) -> Tensor:
        """Return numbers from [low, high); where the sum is rounded, high may occur.

        Examples
        --------
        >>> x = flow.random.Philox(7).uniform(2, 3, 1000)
        >>> bool((x >= 2).all() & (x < 3).all())
        True
        """
        least, width = _finite("uniform", "low", low), _finite("uniform", "width", high - low)
        return self._floats(
            "uniform", Draw.UNIFORM, size, dtype, (device, placement, sbp), (least, width)
        )

    def normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
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
        return self._floats(
            "normal", Draw.NORMAL, size, dtype, (device, placement, sbp), (mean, deviation)
        )

    def standard_normal(
        self,
        size: Size = None,
        dtype: Any = None,
        *,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
    ) -> Tensor:
        """Return normally distributed numbers of mean 0 and deviation 1.

        Examples
        --------
        >>> flow.random.Philox(7).standard_normal((2, 0)).shape
        (2, 0)
        """
        return self._floats(
            "standard_normal", Draw.NORMAL, size, dtype, (device, placement, sbp), (0.0, 1.0)
        )

    def exponential(
        self,
        scale: float = 1.0,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
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
        return self._floats(
            "exponential", Draw.EXPONENTIAL, size, dtype, (device, placement, sbp), (0.0, mean)
        )

    def bernoulli(
        self,
        p: float = 0.5,
        size: Size = None,
        *,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
    ) -> Tensor:
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
        return self._draw(
            "bernoulli", Draw.BERNOULLI, size, bool_dtype, (device, placement, sbp), often
        )

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: Any = int64,
        endpoint: bool = False,
        *,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
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
        draw = Draw.SMALL if count <= 2**32 else Draw.LARGE
        return self._draw("integers", draw, size, wanted, (device, placement, sbp), (least, count))
