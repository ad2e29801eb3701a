"""``at`` and ``reduceat`` of ufuncs: NumPy computes them on the host, in the machine's order.

Each element depends on those before it in the order of the indices, so the bits are those of
NumPy's own loops. A call returns at once. The machine moves the operands to the host, runs NumPy's
method there after what wrote them, and moves the result back. A wrong index is an IndexError at the
tensor that is written.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.dtypes import DType, canonical, reduced_in, resolve_loop
from oneflow_lite.ops.creation.data import asarray, empty
from oneflow_lite.ops.manipulation.shapes import normalize_axes
from oneflow_lite.ops.masking import store
from oneflow_lite.ops.operands import host_array

__all__: list[str] = []

_HOST = Device("cpu")
_NUMBERS = (bool, int, float, complex)


def write_at(ufunc: np.ufunc, inputs: Sequence[Any], outs: Sequence[Any] = ()) -> None:
    """Apply a ufunc in place at some places, once for each time that a place comes."""
    name = f"{ufunc.__name__}.at"
    if outs or len(inputs) != ufunc.nin + 1:
        more = ", indices and a second operand" if ufunc.nin == 2 else " and indices"
        raise TypeError(f"[{name}] expected a target{more}, got {len(inputs)} arguments")
    target, key, *values = inputs
    if not isinstance(target, Tensor):
        if not isinstance(target, np.ndarray):
            raise TypeError(f"[{name}] expected a tensor or array, got {type(target).__name__}")
        ufunc.at(target, _mapped(key, _looked), *(_looked(x) for x in values))
        return
    kinds = [type(x) if type(x) in _NUMBERS[1:] else _held(x).dtype for x in values]
    loop = resolve_loop(ufunc, (target.dtype, *kinds, target.dtype), casting="unsafe")
    _C.require_castable(name, loop[-1], target.dtype, "unsafe")
    reads: list[Tensor] = []

    def place(x: Any) -> Callable[[Sequence[Any]], Any]:
        """Where a function on the host finds what is a tensor now."""
        if isinstance(x, Tensor):
            reads.append(_C.to_device(x, _HOST, False))
            return operator.itemgetter(len(reads) - 1)
        kept = x if x is None or isinstance(x, (*_NUMBERS, slice, type(...))) else np.array(x)
        return lambda arrays: kept

    places = _mapped(key, lambda part: place(_checked_index(name, part)))
    operands = [place(x) for x in values]

    def write(*arrays: Any) -> None:
        found = _mapped(places, lambda each: each(arrays))
        with np.errstate(all="ignore"):
            ufunc.at(arrays[-1], found, *(each(arrays) for each in operands))

    here = _C.to_device(target, _HOST, False)
    _C.host_func(write, reads, (here,), name)
    if here is not target:
        _C.assign(target, _C.to_device(here, target.device, False))


def reduceat(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    outs: Sequence[Any] = (),
    *,
    axis: Any = 0,
    dtype: Any = None,
) -> Any:
    """Reduce slices that begin and end at indices; see ``numpy.ufunc.reduceat``."""
    name = f"{ufunc.__name__}.reduceat"
    if ufunc.nin != 2:
        raise ValueError(f"[{name}] expected a binary operation")
    x, indices = asarray(inputs[0]), asarray(_checked_index(name, inputs[1]))
    out = outs[0] if outs else None
    if x.ndim == 0 or indices.ndim != 1:
        raise ValueError(f"[{name}] expected dimensions to reduce, and indices of one dimension")
    (along,) = normalize_axes(operator.index(axis), x.ndim, name)
    if dtype is None:
        dtype = reduced_in(ufunc, x.dtype, None if out is None else out.dtype)
    shape = (*x.shape[:along], *indices.shape, *x.shape[along + 1 :])

    def reduce(given: Any, found: Any, target: Any) -> None:
        ufunc.reduceat(given, found, along, target.dtype, target)

    made = on_host(name, reduce, (x, indices), shape, canonical(dtype, name))
    return store(name, out, made, "unsafe")


def on_host(
    name: str, fn: Callable[..., None], reads: Sequence[Tensor], shape: Any, dtype: DType
) -> Tensor:
    """Return a tensor beside the first one read; ``fn(*arrays, target)`` writes it, on the host."""
    made = empty(shape, dtype, device=_HOST)

    def write(*arrays: Any) -> None:
        with np.errstate(all="ignore"):
            fn(*arrays)

    _C.host_func(write, [_C.to_device(x, _HOST, False) for x in reads], (made,), name)
    return _C.to_device(made, reads[0].device, False)


def _checked_index(name: str, part: Any) -> Any:
    """Return a part of a key; IndexError where it has a dtype that no index has."""
    if part is None or isinstance(part, (int, slice, type(...))):
        return part
    held = _held(part)
    if not isinstance(part, Tensor) and held.size == 0:
        return np.empty(held.shape, np.int64)
    if held.dtype.kind not in "biu":
        raise IndexError(f"[{name}] expected integers or bools as indices, got {held.dtype}")
    return held


def _mapped(key: Any, function: Callable[[Any], Any]) -> Any:
    """A key whose parts have gone through a function."""
    return tuple(map(function, key)) if isinstance(key, tuple) else function(key)


def _looked(x: Any) -> Any:
    return host_array(x, "at") if isinstance(x, Tensor) else x


def _held(x: Any) -> Any:
    return x if isinstance(x, (Tensor, np.ndarray, np.generic)) else np.asarray(x)
