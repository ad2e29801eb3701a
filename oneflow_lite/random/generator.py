"""Random numbers: NumPy's generators make them on the host, a copy takes them to the device.

The same seed gives the numbers of ``numpy.random.default_rng``. Threads may share a generator.
``Philox`` has others, which are made on the device itself.
"""

from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.indexing import take, take_along_axis
from oneflow_lite.ops.operands import is_by_columns
from oneflow_lite.random.distributions import GeneratorDistributions, Size, draws_by
from oneflow_lite.random.host import require_axis
from oneflow_lite.random.recorded import goes_on, numpys_source, record_seed

_BY_NUMPY = ("permutation", "permuted", "choice")  # for orders and places, whatever is put there


@draws_by("default_rng(0)", lambda: np.random.default_rng(0), _C.paths.draw)
class Generator(GeneratorDistributions):
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
        super().__init__()
        if self._own is not None and goes_on(seed):
            _C.refuse_while_recording("default_rng without a seed", None)
        self._begin(seed)

    def _begin(self, seed: Any) -> "Generator":
        self._source = numpys_source(np.random.default_rng(_C.held(seed, "default_rng")))
        return self

    def seed(self, seed: Any = None) -> None:
        """Start again, as if made with this seed.

        Examples
        --------
        >>> rng = flow.random.Generator(3)
        >>> first = rng.uniform(size=2)
        >>> rng.seed(3)
        >>> flow.array_equal(first, rng.uniform(size=2))
        True
        """
        notes = self._notes()
        if notes is not None:
            return record_seed(self, notes, seed)
        with self._lock:
            self._begin(seed)

    @_C.native(_C.paths.integers)
    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Size = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
        *,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return integers from [low, high), or [0, low); with ``endpoint``, high can occur.

        Examples
        --------
        >>> flow.random.default_rng(0).integers(1, 6, 4, endpoint=True).tolist()
        [6, 4, 4, 2]
        """
        return self._made("integers", (low, high, size, dtype, endpoint), device=device)

    @_C.native(_C.paths.standard_exponential)
    def standard_exponential(
        self,
        size: Size = None,
        dtype: Any = None,
        method: str = "zig",
        *,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return exponentially distributed numbers of mean 1.

        See ``numpy.random.Generator.standard_exponential``.

        Examples
        --------
        >>> flow.random.default_rng(0).standard_exponential(3, method="inv").shape
        (3,)
        """
        name, more = "standard_exponential", {"method": method}
        return self._drawn(name, (size,), dtype, device, True, more)

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
        dtype: Any = None,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return normally distributed vectors; see ``numpy.random.Generator.multivariate_normal``.

        Tensors among the parameters are looked at, and the result goes to their device.

        Examples
        --------
        >>> covariance = [[1.0, 0.0], [0.0, 1.0]]
        >>> flow.random.default_rng(0).multivariate_normal([0.0, 1.0], covariance, 3).shape
        (3, 2)
        """
        args = (mean, cov, size, check_valid, tol)
        return self._drawn("multivariate_normal", args, dtype, device, False, {"method": method})

    @_C.native(_C.paths.permutation)
    def permutation(self, x: Any, axis: int = 0, *, device: DeviceLike = None) -> Tensor:
        """Return the integers below x in random order, or x with its slices in random order.

        Parameters
        ----------
        x : int, Tensor or array
            A tensor of one dimension or more is not looked at; the result goes to its device.
        axis : int
            The axis whose slices change their places.
        device : Device or str, optional
            Where the result goes.

        Examples
        --------
        >>> flow.random.default_rng(0).permutation(4).tolist()
        [2, 0, 1, 3]
        """
        return self._permutation(x, axis, (axis,), device)

    @_C.native(_C.paths.shuffle)
    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the slices of x along an axis in random order, in place, without looking at it.

        A list or an array of NumPy is shuffled by NumPy.

        Examples
        --------
        >>> x = flow.arange(4)
        >>> flow.random.default_rng(0).shuffle(x)
        >>> x.tolist()
        [2, 0, 1, 3]
        """
        self._shuffle(x, axis, (axis,))

    @_C.native(_C.paths.permuted)
    def permuted(self, x: Any, *, axis: int | None = None, device: DeviceLike = None) -> Tensor:
        """Return x with the elements of each lane along an axis in a random order of their own.

        Parameters
        ----------
        x : Tensor or array
            Operand; a tensor is not looked at.
        axis : int, optional
            None: all elements change places.
        device : Device or str, optional
            Where the result goes.

        Examples
        --------
        >>> flow.random.default_rng(0).permuted([[1, 2, 3], [4, 5, 6]], axis=1).tolist()
        [[3, 1, 2], [6, 5, 4]]
        """
        by_columns = x.flags.fnc if isinstance(x, np.ndarray) else is_by_columns(x)
        if axis is None and by_columns:  # NumPy shuffles in the order of memory
            return self.permuted(x.T, device=device).T
        given = asarray(x, device=device)
        if axis is None:
            if given.ndim == 0:
                return _C.copy(given)
            order = self._places("permuted", (np.arange(given.size),), {}, given.device)
            return _C.reshape(take(given, order), given.shape, None)
        require_axis("permuted", given, axis)
        along = axis % given.ndim
        rows = np.arange(given.shape[along]).reshape(-1, *(1,) * (given.ndim - along - 1))
        places = np.broadcast_to(rows, given.shape)
        order = self._places("permuted", (places,), {"axis": along}, given.device)
        return take_along_axis(given, order, axis=along)

    @_C.native(_C.paths.choice)
    def choice(
        self,
        a: Any,
        size: Size = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
        *,
        device: DeviceLike = None,
    ) -> Tensor:
        """Return random elements of a.

        Parameters
        ----------
        a : int, Tensor or array
            What to choose from; an int stands for the integers below it. A tensor of one dimension
            or more is not looked at; the result goes to its device.
        size : int or sequence of int, optional
            How many.
        replace : bool
            Whether the same place may be chosen more than once.
        p : Tensor or array, optional
            The probability of each; a tensor is looked at.
        axis : int
            The axis of a to choose along.
        shuffle : bool
            Without replacement: whether the order is random too.
        device : Device or str, optional
            Where the result goes.

        Examples
        --------
        >>> flow.random.default_rng(0).choice(flow.tensor([10, 20, 30]), 4).tolist()
        [30, 20, 20, 10]
        """
        return self._choice(a, (size, replace, p), axis, (0, shuffle), device)

    def spawn(self, n_children: int) -> "list[Generator]":
        """Return new generators, independent of this one and of each other.

        Examples
        --------
        >>> len(flow.random.default_rng(0).spawn(2))
        2
        """
        self._refuse("spawn")
        with self._lock:
            return [Generator(0)._begin(one) for one in self._numpy.spawn(n_children)]

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        """NumPy's source of the bits.

        Examples
        --------
        >>> type(flow.random.default_rng(0).bit_generator).__name__
        'PCG64'
        """
        self._refuse("bit_generator")
        bits: np.random.BitGenerator = self._numpy.bit_generator
        return bits

    def _made_in_a_run(
        self,
        name: str,
        args: tuple[Any, ...],
        named: dict[str, Any],
        dtype: Any,
        device: DeviceLike,
    ) -> Tensor:
        """By the method itself where it can, which draws many numbers faster.

        Of this class: one derived from it has been traced with its own.
        """
        if name in _BY_NUMPY:
            return self._made(name, args, named, dtype, device)
        if name == "integers":
            low, high, size, kind, endpoint = args
            return Generator.integers(self, low, high, size, kind, endpoint, device=device)
        method = getattr(Generator, name)
        made: Tensor = method(self, *args, **{"dtype": dtype, **named}, device=device)
        return made


def default_rng(seed: Any = None) -> Generator:
    """Return a new generator.

    Examples
    --------
    >>> flow.random.default_rng(7).uniform().item() == np.random.default_rng(7).uniform()
    True
    """
    return Generator(seed)


__all__ = ["Generator", "default_rng"]
