"""Random numbers: NumPy's generators make them on the host, a copy takes them to the device.

The same seed gives the numbers of ``numpy.random.default_rng``. Threads may share a generator.
``Philox`` has others, which are made on the device itself.
"""

import builtins
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import Device, DeviceLike
from oneflow_lite.dtypes import canonical, float32, float64
from oneflow_lite.ops.creation.data import asarray, tensor
from oneflow_lite.ops.indexing import take, take_along_axis
from oneflow_lite.ops.operands import dimensions
from oneflow_lite.random.distributions import Distributions, Size
from oneflow_lite.random.recorded import (
    METHODS,
    goes_on,
    marked,
    numpys_source,
    record,
    record_seed,
)

_NOTHING: dict[str, Any] = {}


def _seen(op: str, x: Any) -> Any:
    """What NumPy takes; a tensor is looked at."""
    return _C.look(op, x) if isinstance(x, Tensor) else x


class Generator(Distributions):
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

    @property
    def _numpy(self) -> np.random.Generator:
        return self._source[0]

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
        if not isinstance(x, Tensor) or x.ndim == 0:
            device = x.device if device is None and isinstance(x, Tensor) else device
            given = _seen("permutation", x)
            return self._made("permutation", (given, axis), device=device)
        shuffled = take(x, self._order(x, axis), axis)
        return shuffled if device is None else asarray(shuffled, device=device)

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
        if isinstance(x, (list, np.ndarray)):
            _C.refuse_while_recording("shuffle of what is no tensor", None)
            items: Any = x
            with self._lock:
                return self._numpy.shuffle(items, axis)
        if not isinstance(x, Tensor):
            raise TypeError(f"[shuffle] expected a tensor to write to, got {type(x).__name__}")
        if x.ndim == 0:
            raise TypeError("[shuffle] expected at least one dimension, got a 0-d tensor")
        if x.size:
            _C.assign(x, take(x, self._order(x, axis), axis))

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
        given = asarray(x, device=device)
        if given.ndim == 0:
            return _C.copy(given)
        if axis is None:
            order = self._places("permuted", (np.arange(given.size),), {}, given.device)
            return _C.reshape(take(given, order), given.shape, None)
        if not -given.ndim <= axis < given.ndim:
            raise np.exceptions.AxisError(
                f"[permuted] axis {axis} is out of bounds for {given.ndim} dimensions"
            )
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
        source = a if isinstance(a, Tensor) or dimensions(a, "choice") == 0 else asarray(a)
        whole = isinstance(source, Tensor) and source.ndim > 0
        if whole and not -source.ndim <= axis < source.ndim:
            raise np.exceptions.AxisError(
                f"[choice] axis {axis} is out of bounds for {source.ndim} dimensions"
            )
        count = source.shape[axis] if whole else _seen("choice", source)
        weights = _seen("choice", p)
        drawn = (count, size, replace, weights, 0, shuffle)
        if not whole:
            home = a.device if isinstance(a, Tensor) and device is None else device
            return self._made("choice", drawn, device=home)
        places = self._places("choice", drawn, {}, source.device)
        chosen = take(source, places, axis)
        return chosen if device is None else asarray(chosen, device=device)

    def bytes(self, length: int) -> builtins.bytes:
        """Return random bytes.

        Examples
        --------
        >>> len(flow.random.default_rng(0).bytes(3))
        3
        """
        self._refuse("bytes")
        with self._lock:
            return self._numpy.bytes(length)

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
        return self._numpy.bit_generator

    def _order(self, x: Tensor, axis: int) -> Any:
        """Where the slices of x along an axis come from, as NumPy shuffles them."""
        if not -x.ndim <= axis < x.ndim:
            raise np.exceptions.AxisError(
                f"[shuffle] axis {axis} is out of bounds for {x.ndim} dimensions"
            )
        return self._places("permutation", (x.shape[axis],), {}, x.device)

    def _drawn(
        self, name: str, args: tuple[Any, ...], dtype: Any, device: DeviceLike, own_dtype: bool
    ) -> Tensor:
        """What NumPy's method draws, where the tensors among the parameters are."""
        if Tensor in map(type, args):
            home = next(x.device for x in args if isinstance(x, Tensor))
            device = home if device is None else device
            args = tuple([_seen(name, x) for x in args])
        named = {}
        if own_dtype and dtype is not None and canonical(dtype, name) in (float32, float64):
            named["dtype"], dtype = canonical(dtype, name), None
        return self._made(name, args, named, dtype, device)

    def _made(
        self,
        name: str,
        args: tuple[Any, ...],
        named: dict[str, Any] = _NOTHING,
        dtype: Any = None,
        device: DeviceLike = None,
    ) -> Tensor:
        """What NumPy's method of that name draws, as a tensor."""
        notes = self._notes()
        if notes is None:
            return tensor(np.asarray(self._numbers(name, args, named)), dtype, device)
        return record(self, notes, name, args, named, dtype, device)

    def _places(
        self, name: str, args: tuple[Any, ...], named: dict[str, Any], device: Device
    ) -> Any:
        """The same as indices of a tensor on that device: an array, or while recording a tensor."""
        if self._notes() is None:
            return self._numbers(name, args, named)
        return self._made(name, args, named, device=device)

    _mark = marked

    def _numbers(self, name: str, args: tuple[Any, ...], named: dict[str, Any] = _NOTHING) -> Any:
        """What NumPy's method of that name draws."""
        held = _C.held(args, name)
        with self._lock:
            return getattr(self._numpy, name)(*held, **named)


METHODS.update(vars(Distributions) | vars(Generator))


def default_rng(seed: Any = None) -> Generator:
    """Return a new generator.

    Examples
    --------
    >>> flow.random.default_rng(7).uniform().item() == np.random.default_rng(7).uniform()
    True
    """
    return Generator(seed)


__all__ = ["Generator", "default_rng"]
