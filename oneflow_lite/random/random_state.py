"""NumPy's older generator of random numbers, whose numbers never change.

``numpy.random.normal(...)`` and the other functions of that module are methods of one such object,
and so are those of ``flow.random``.
"""

from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.random.distributions import LegacyDistributions, Size, draws_by
from oneflow_lite.random.host import seen
from oneflow_lite.random.recorded import bits_of, goes_on, numpys_source, record_seed

_ENDLESS_ZIPF = 1025  # from here on 2.0 ** (a - 1) is infinite, and no number is accepted
_EXAMPLES = np.random.RandomState(0)  # to make one takes long


def _read(op: str, x: Any) -> Any:
    """A parameter as numbers, which are read once."""
    return np.asarray(_C.held(seen(op, x), op), np.float64)[()]


def _is_endless_vonmises(kappa: Any) -> Any:
    """Whether no angle is accepted: NumPy's s, which is more than 1, is rounded to 1."""
    with np.errstate(all="ignore"):
        r = 1 + np.sqrt(1 + 4 * kappa * kappa)
        rho = (r - np.sqrt(2 * r)) / (2 * kappa)
        s = (1 + rho * rho) / (2 * rho)
    return (kappa > 1) & ~(s > 1)


def _example() -> np.random.RandomState:
    _EXAMPLES.seed(0)
    return _EXAMPLES


@draws_by("RandomState(0)", _example, _C.paths.legacy_draw)
class RandomState(LegacyDistributions):
    """A stream of random numbers that are those of ``numpy.random.RandomState``.

    New programs take ``flow.random.default_rng``: it draws faster. Any thread may draw.

    Parameters
    ----------
    seed : int, array of int, numpy.random.BitGenerator, numpy.random.RandomState or None
        As for ``numpy.random.RandomState``, whose objects may be given, too: both then draw from
        one stream. None: a fresh seed from the system.

    Raises
    ------
    ValueError
        For an integer that does not fit into 32 bits without a sign.
    TypeError
        For a seed that is no integer.

    Notes
    -----
    Methods that draw have NumPy's parameters, at NumPy's places, and besides them, by name only:

    dtype
        What the numbers that were drawn are cast to; None: they stay float64 or int64.
    device : Device or str, optional
        Where the result goes; None: the default device.

    Examples
    --------
    >>> flow.random.RandomState(0).uniform().item() == np.random.RandomState(0).uniform()
    True
    """

    def __init__(self, seed: Any = None) -> None:
        super().__init__()
        if self._own is not None and goes_on(seed):
            _C.refuse_while_recording("RandomState without a seed", None)
        is_numpys = isinstance(seed, np.random.RandomState)
        held = _C.held(seen("RandomState", seed), "RandomState")
        self._source = numpys_source(seed if is_numpys else np.random.RandomState(held))

    def seed(self, seed: Any = None) -> None:
        """Start again, as if made with this seed.

        Parameters
        ----------
        seed : int, array of int or None
            None: a fresh one from the system.

        Raises
        ------
        ValueError
            For an integer that does not fit into 32 bits without a sign.
        TypeError
            For a seed that is no integer, and where the bits are not those of ``MT19937``.

        Examples
        --------
        >>> flow.random.seed(0)
        >>> first = flow.random.uniform(size=2)
        >>> flow.random.seed(0)
        >>> flow.array_equal(first, flow.random.uniform(size=2))
        True
        """
        notes = self._notes()
        if notes is not None:
            return record_seed(self, notes, seed)
        held = _C.held(seen("seed", seed), "seed")
        with bits_of(self._numpy).lock:
            self._numpy.seed(held)

    def get_state(self, legacy: bool = True) -> Any:
        """Return where the stream is, in NumPy's form: ``numpy.random.set_state`` takes it.

        Parameters
        ----------
        legacy : bool
            Whether to return a tuple: the name of the bit generator, its words (an array of NumPy,
            624 of uint32), the place among them, whether a normal number is left over, and that
            number. Otherwise a dict of the same.

        Examples
        --------
        >>> rng = flow.random.RandomState(0)
        >>> state = rng.get_state()
        >>> first = rng.normal()
        >>> rng.set_state(state)
        >>> bool(rng.normal() == first)
        True
        """
        self._refuse("get_state")
        with bits_of(self._numpy).lock:
            return self._numpy.get_state(legacy)

    def set_state(self, state: Any) -> None:
        """Go on from a state of ``get_state``, or of NumPy's.

        Parameters
        ----------
        state : tuple or dict
            The last two values of a tuple may be left out.

        Raises
        ------
        TypeError
            For what is neither a tuple, a list nor a dict.
        ValueError
            For the state of another bit generator, or a part of one.

        Examples
        --------
        >>> rng = flow.random.RandomState()
        >>> rng.set_state(np.random.RandomState(3).get_state())
        >>> bool(rng.normal() == flow.random.RandomState(3).normal())
        True
        """
        self._refuse("set_state")
        held = _C.held(state, "set_state")
        with bits_of(self._numpy).lock:
            self._numpy.set_state(held)

    @_C.native(_C.paths.legacy_zipf)
    def zipf(
        self, a: Any, size: Size = None, *, dtype: Any = None, device: DeviceLike = None
    ) -> Tensor:
        """Return Zipf-distributed integers; see ``numpy.random.RandomState.zipf``.

        Raises
        ------
        ValueError
            For a of 1025 or more, for which NumPy's method does not end; for a that is not above 1.

        Examples
        --------
        >>> flow.random.RandomState(0).zipf(3.0, 4).tolist()
        [1, 1, 1, 1]
        """
        given = _read("zipf", a)
        if np.any(given >= _ENDLESS_ZIPF):
            raise ValueError(f"[zipf] expected a below {_ENDLESS_ZIPF}, got {given}")
        home = a.device if device is None and isinstance(a, Tensor) else device
        return self._drawn("zipf", (given, size), dtype, home, False)

    @_C.native(_C.paths.legacy_vonmises)
    def vonmises(
        self,
        mu: Any,
        kappa: Any,
        size: Size = None,
        *,
        dtype: Any = None,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return von Mises-distributed angles; see ``numpy.random.RandomState.vonmises``.

        Raises
        ------
        ValueError
            For a kappa so large that NumPy's method does not end, about 1e15; for a negative one.

        Examples
        --------
        >>> flow.random.RandomState(0).vonmises(0.0, 4.0, 2).shape
        (2,)
        """
        given = _read("vonmises", kappa)
        if np.any(_is_endless_vonmises(given)):
            raise ValueError(f"[vonmises] expected a kappa below about 1e15, got {given}")
        tensors = [x for x in (mu, kappa) if isinstance(x, Tensor)]
        home = tensors[0].device if device is None and tensors else device
        return self._drawn("vonmises", (mu, given, size), dtype, home, False)

    @_C.native(_C.paths.legacy_dims)
    def rand(self, *dims: int, dtype: Any = None, device: DeviceLike = None) -> Tensor:
        """Return numbers from [0, 1), in a shape that is given by its dimensions.

        Examples
        --------
        >>> flow.random.RandomState(0).rand(2, 3).shape
        (2, 3)
        """
        return self.random_sample(dims or None, dtype=dtype, device=device)

    @_C.native(_C.paths.legacy_dims)
    def randn(self, *dims: int, dtype: Any = None, device: DeviceLike = None) -> Tensor:
        """Return normally distributed numbers, in a shape that is given by its dimensions.

        Examples
        --------
        >>> flow.random.RandomState(0).randn(2, 3).shape
        (2, 3)
        """
        return self.standard_normal(dims or None, dtype=dtype, device=device)

    @_C.native(_C.paths.legacy_integers)
    def randint(
        self,
        low: Any,
        high: Any = None,
        size: Size = None,
        dtype: Any = int,
        *,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return integers from [low, high), or [0, low).

        Tensors among the parameters are looked at, and the result goes to their device.

        Parameters
        ----------
        low, high : int or array of int
            The limits.
        size : int or sequence of int, optional
            The shape of the result.
        dtype
            Of the result: bool, or of integers.
        device : Device or str, optional
            Where the result goes.

        Raises
        ------
        ValueError
            For an empty range, and limits that the dtype does not hold.
        TypeError
            For another dtype.

        Examples
        --------
        >>> flow.random.RandomState(0).randint(1, 7, 4).tolist()
        [5, 6, 1, 4]
        """
        return self._drawn("randint", (low, high, size, dtype), None, device, False)

    @_C.native(_C.paths.legacy_permutation)
    def permutation(self, x: Any, *, device: DeviceLike = None) -> Tensor:
        """Return the integers below x in random order, or x with its rows in random order.

        Parameters
        ----------
        x : int, Tensor or array
            A tensor of one dimension or more is not looked at; the result goes to its device.
        device : Device or str, optional
            Where the result goes.

        Examples
        --------
        >>> flow.random.RandomState(0).permutation(4).tolist()
        [2, 3, 1, 0]
        """
        return self._permutation(x, 0, (), device)

    @_C.native(_C.paths.legacy_shuffle)
    def shuffle(self, x: Any) -> None:
        """Put the rows of x in random order, in place, without looking at it.

        A list or an array of NumPy is shuffled by NumPy.

        Raises
        ------
        TypeError
            For a 0-d tensor, and what is no tensor, list or array.

        Examples
        --------
        >>> x = flow.arange(4)
        >>> flow.random.RandomState(0).shuffle(x)
        >>> x.tolist()
        [2, 3, 1, 0]
        """
        self._shuffle(x, 0, ())

    @_C.native(_C.paths.legacy_choice)
    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        *,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return random elements of a.

        Parameters
        ----------
        a : int, Tensor or array
            What to choose from, of one dimension; an int stands for the integers below it. A tensor
            is not looked at, where it has a dimension; the result goes to its device.
        size : int or sequence of int, optional
            How many.
        replace : bool
            Whether the same place may be chosen more than once.
        p : Tensor or array, optional
            The probability of each; a tensor is looked at.
        device : Device or str, optional
            Where the result goes.

        Raises
        ------
        ValueError
            For more dimensions, nothing to choose from, more elements than there are without
            replacement, and probabilities that do not fit.

        Examples
        --------
        >>> flow.random.RandomState(0).choice(flow.tensor([10, 20, 30]), 4).tolist()
        [10, 20, 10, 20]
        """
        return self._choice(a, (size, replace, p), None, (), device)


__all__ = ["RandomState"]
