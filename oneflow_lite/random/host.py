"""What NumPy's generators draw on the host: a copy takes it to the device."""

import builtins
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import Device, DeviceLike, resolve
from oneflow_lite.dtypes import canonical, float32, float64
from oneflow_lite.ops.creation.data import asarray, tensor
from oneflow_lite.ops.indexing import take
from oneflow_lite.ops.operands import dimensions
from oneflow_lite.random.recorded import Recorded, marked, record

_NOTHING: dict[str, Any] = {}


def seen(op: str, x: Any) -> Any:
    """Return what NumPy takes; a tensor is looked at."""
    return _C.look(op, x) if isinstance(x, Tensor) else x


def require_axis(op: str, x: Tensor, axis: int) -> None:
    """Refuse an axis that x has not."""
    if not -x.ndim <= axis < x.ndim:
        raise np.exceptions.AxisError(
            f"[{op}] axis {axis} is out of bounds for {x.ndim} dimensions"
        )


def _present(device: DeviceLike) -> DeviceLike:
    """The device that is named; an error before anything is drawn for one that is not there."""
    if device is None:
        return None
    found = resolve(device)
    _C.memory_stats(found)
    return found


class HostNumbers(Recorded):
    """What ``Generator`` and ``RandomState`` share: they draw by the methods of one of NumPy's."""

    @property
    def _numpy(self) -> Any:
        return self._source[0]

    @_C.native(_C.paths.bytes)
    def bytes(self, length: int) -> builtins.bytes:
        """Return random bytes.

        Examples
        --------
        >>> len(flow.random.default_rng(0).bytes(3))
        3
        """
        self._refuse("bytes")
        with self._lock:
            drawn: builtins.bytes = self._numpy.bytes(length)
            return drawn

    def _order(self, x: Tensor, axis: int) -> Any:
        """Where the slices of x along an axis come from, as NumPy shuffles them."""
        return self._places("permutation", (x.shape[axis],), {}, x.device)

    def _permutation(self, x: Any, axis: int, more: tuple[Any, ...], device: DeviceLike) -> Tensor:
        """NumPy's method takes x and ``more``."""
        device = _present(device)
        if not isinstance(x, Tensor):
            return self._made("permutation", (x, *more), device=device)
        if x.ndim == 0:  # which stands for a number
            home = x.device if device is None else device
            return self._made("permutation", (seen("permutation", x)[()], *more), device=home)
        require_axis("permutation", x, axis)
        shuffled = take(x, self._order(x, axis), axis)
        return shuffled if device is None else asarray(shuffled, device=device)

    def _shuffle(self, x: Any, axis: int, more: tuple[Any, ...]) -> None:
        """NumPy's method takes x and ``more``."""
        if isinstance(x, (list, np.ndarray)):
            _C.refuse_while_recording("shuffle of what is no tensor", None)
            with self._lock:
                self._numpy.shuffle(x, *more)
            return
        if not isinstance(x, Tensor):
            raise TypeError(f"[shuffle] expected a tensor to write to, got {type(x).__name__}")
        if x.ndim == 0:
            raise TypeError("[shuffle] expected at least one dimension, got a 0-d tensor")
        require_axis("shuffle", x, axis)
        if x.size:
            _C.assign(x, x)  # does nothing, or says why x cannot be written to: nothing is drawn
            _C.assign(x, take(x, self._order(x, axis), axis))

    def _choice(
        self,
        a: Any,
        chosen: tuple[Any, bool, Any],
        axis: int | None,
        more: tuple[Any, ...],
        device: DeviceLike,
    ) -> Tensor:
        """NumPy's method takes how many there are, size, replace, p, and ``more``.

        axis: None where it takes one dimension only.
        """
        device = _present(device)
        source = a if isinstance(a, Tensor) or dimensions(a, "choice") == 0 else asarray(a)
        whole = isinstance(source, Tensor) and source.ndim > 0
        if axis is None and whole and source.ndim > 1:
            raise ValueError(
                f"[choice] expected one dimension, got shape {source.shape}; "
                "flow.random.default_rng(seed).choice(a, axis=0) takes more"
            )
        axis = axis or 0
        if whole:
            require_axis("choice", source, axis)
        count = source.shape[axis] if whole else seen("choice", source)
        size, replace, p = chosen
        args = (count, size, replace, seen("choice", p), *more)
        if not whole:
            home = a.device if isinstance(a, Tensor) and device is None else device
            return self._made("choice", args, device=home)
        places = self._places("choice", args, {}, source.device)
        taken = take(source, places, axis)
        return taken if device is None else asarray(taken, device=device)

    def _drawn(
        self,
        name: str,
        args: tuple[Any, ...],
        dtype: Any,
        device: DeviceLike,
        own_dtype: bool,
        more: dict[str, Any] = _NOTHING,
    ) -> Tensor:
        """What NumPy's method draws, where the tensors among the parameters are."""
        if Tensor in map(type, args):
            home = next(x.device for x in args if isinstance(x, Tensor))
            device = home if device is None else device
            args = tuple([seen(name, x) for x in args])
        named = dict(more)
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
        device = _present(device)
        dtype = None if dtype is None else canonical(dtype, name)
        notes = self._notes()
        if notes is None:
            return tensor(np.asarray(self._numbers(name, args, named)), dtype, device)
        return record(self, notes, name, args, named, dtype, device)

    def _made_in_a_run(
        self,
        name: str,
        args: tuple[Any, ...],
        named: dict[str, Any],
        dtype: Any,
        device: DeviceLike,
    ) -> Tensor:
        """What a run of a program draws where ``_made`` was recorded."""
        return self._made(name, args, named, dtype, device)

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
