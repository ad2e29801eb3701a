"""Counted random numbers: made where the tensor is, the same on every device.

Number i of a stream is a function of a key and of i (Philox4x32-10), so that nothing is copied, any
number of threads make them at a time, and a place in the stream is a number.
"""

import math
import operator
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Placement, Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import uint64
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.indexing import take
from oneflow_lite.ops.manipulation.shapes import reshape
from oneflow_lite.ops.operands import host_array
from oneflow_lite.ops.searching import searchsorted
from oneflow_lite.ops.sorting import argsort
from oneflow_lite.random.numbers import Draw, PhiloxNumbers, Size, shape_of
from oneflow_lite.random.windows import Home, Sbps, made_whole, source_of


class Philox(PhiloxNumbers):
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

    Each method that draws has these parameters:

    size : int, sequence of int or None
        The shape of the result; None: 0-d.
    dtype
        Of the result, where a method has several.
    device : Device or str, optional
        Where the numbers are made; None: the default device.
    placement : Placement, optional
        The ranks that hold the result, which is a ``GlobalTensor``; see ``flow.distributed``. All
        ranks of the world make the same call of a stream at the same place.
    sbp : Sbp or sequence of Sbp, optional
        How they hold it: split or broadcast, which is the default. A rank makes the numbers of its
        part only, and they are those of the same draw of one process. The stream goes on by the
        whole draw on each rank, also on one outside of the placement.

    They raise TypeError for a dtype that a method does not have, a device beside a placement and an
    sbp without one, and ValueError for partial values, a negative size and parameters out of range.

    Examples
    --------
    >>> rng = flow.random.Philox(7)
    >>> x = rng.normal(size=(2, 3), dtype="float32", device="mock:0")
    >>> flow.array_equal(x.cpu(), flow.random.Philox(7).normal(size=(2, 3), dtype="float32"))
    True

    >>> from oneflow_lite.distributed import placement, sbp
    >>> def program():
    ...     rows = {"placement": placement.all("cpu"), "sbp": sbp.split(0)}
    ...     return flow.random.Philox(7).integers(100, size=5, **rows).to_local().tolist()
    >>> flow.distributed.run(program, 2)
    [[12, 18, 60], [83, 77]]
    >>> flow.random.Philox(7).integers(100, size=5).tolist()
    [12, 18, 60, 83, 77]
    """

    def permutation(
        self,
        x: Any,
        axis: int = 0,
        *,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
    ) -> Tensor:
        """Return the integers below x in random order, or x with its slices in random order.

        A place in the order depends on all others: with a placement, each of its ranks draws and
        sorts the whole order, and keeps its part.

        Parameters
        ----------
        x : int, Tensor, GlobalTensor or array
            A tensor is not looked at; the result is where it is.
        axis : int
            The axis whose slices change their places.
        device : Device or str, optional
            Where the result goes; of a tensor, that where it is.
        placement, sbp : optional
            As of other draws; for an int only.

        Examples
        --------
        >>> sorted(flow.random.Philox(7).permutation(4).tolist())
        [0, 1, 2, 3]
        """
        op, home = "permutation", (device, placement, sbp)
        if isinstance(x, (int, np.integer)):
            count = operator.index(x)
            return made_whole(op, (count,), home, lambda where: self._order(op, count, where))
        given, home = source_of(op, x, home)
        if not -given.ndim <= axis < given.ndim:
            raise np.exceptions.AxisError(
                f"[permutation] axis {axis} is out of bounds for {given.ndim} dimensions"
            )
        return take(given, self._order(op, given.shape[axis], home), axis)

    def _order(self, op: str, count: int, home: Home) -> Tensor:
        """The places below count: sorted by random keys, equal ones as they were."""
        if count < 0:
            raise ValueError(f"[{op}] expected a count of at least 0, got {count}")
        return argsort(self._draw(op, Draw.WORDS, count, uint64, home), stable=True)

    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        *,
        device: DeviceLike = None,
        placement: Placement | None = None,
        sbp: Sbps = None,
    ) -> Tensor:
        """Return random elements of a.

        Without replacement a choice depends on all others: with a placement, each of its ranks
        draws all choices, and keeps its part. It draws all of them of a GlobalTensor, too.

        Parameters
        ----------
        a : int, Tensor, GlobalTensor or array
            What to choose from; an int stands for the integers below it. A tensor is not looked at;
            the result is where it is.
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
        placement, sbp : optional
            As of other draws; for an int only.

        Examples
        --------
        >>> sorted(flow.random.Philox(7).choice([10, 20, 30], 3, replace=False).tolist())
        [10, 20, 30]
        """
        home: Home = (device, placement, sbp)
        source = None
        if not isinstance(a, (int, np.integer)):
            source, home = source_of("choice", a, home)
            if not -source.ndim <= axis < source.ndim:
                raise np.exceptions.AxisError(
                    f"[choice] axis {axis} is out of bounds for {source.ndim} dimensions"
                )
        count = operator.index(a) if source is None else source.shape[axis]
        shape = shape_of(size)
        if count < 1 and 0 not in shape:
            raise ValueError(f"[choice] expected something to choose from, got {count} places")
        weights = None if p is None else self._weights(p, count)
        draw = self._with_replacement if replace else self._without_replacement
        places = draw(count, shape, weights, home)
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
        home: Home,
    ) -> Tensor:
        if weights is None:
            device, placement, sbp = home
            return self.integers(
                max(count, 1), size=shape, device=device, placement=placement, sbp=sbp
            )
        ends = np.cumsum(weights)
        ends /= ends[-1]
        drawn: Any = self._floats("choice", Draw.UNIFORM, shape, None, home, (0.0, 1.0))
        is_part = isinstance(drawn, GlobalTensor)
        own = drawn.to_local() if is_part else drawn
        places = searchsorted(asarray(ends, device=own.device), own, side="right")
        return cast("Tensor", _C.of_new_part(places, drawn.layout)) if is_part else places

    def _without_replacement(
        self,
        count: int,
        shape: tuple[int, ...],
        weights: npt.NDArray[np.float64] | None,
        home: Home,
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

        def order(where: Home) -> Tensor:
            if weights is None:
                return self._order("choice", count, where)
            times = self._floats("choice", Draw.EXPONENTIAL, count, None, where, (0.0, 1.0))
            rates = np.where(weights > 0, weights, 1.0)
            never = np.where(weights > 0, 0.0, np.inf)
            return argsort(times / rates + never, stable=True)

        return made_whole(
            "choice", shape, home, lambda where: reshape(order(where)[:wanted], shape)
        )


__all__ = ["Philox"]
