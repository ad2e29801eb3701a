"""Memory of devices that other libraries own: arrays of CuPy, tensors of PyTorch, and whatever else
has ``__dlpack__`` or ``__cuda_array_interface__``.

The producer's queue and ours are ordered on the device; nobody waits for it.
"""

import operator
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.dtypes import DType, canonical

VERSION = (1, 0)  # of DLPack: the newest that is understood

_LEGACY_STREAM = 1
_INTERFACE = "__cuda_array_interface__"
_ENTRIES: dict[str, tuple[Any, str]] = {  # that a producer must have
    "shape": ((tuple, list), "a tuple"),
    "typestr": (str, "a string"),
    "data": ((tuple, list), "a tuple"),
    "version": (int, "an integer"),
}


def on_device(x: Any) -> bool:
    """Return whether x exports memory of a device other than the host that this process can use."""
    if isinstance(x, (Tensor, np.ndarray, np.generic, bool, int, float, complex, list, tuple)):
        return False
    if hasattr(x, _INTERFACE):
        return _C.device_types()["cuda"].count > 0
    return hasattr(x, "__dlpack__") and _home_of(x) is not None


def _home_of(x: Any) -> Device | None:
    """The device that an exporter of DLPack names: none for the host, and for unknown ones."""
    if not hasattr(x, "__dlpack_device__"):
        return None
    home = _C.dlpack_home(*x.__dlpack_device__())
    return None if home is None or home.type == "cpu" else home


def from_device(x: Any, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of x, which is kept until its last user has run."""
    home = _home_of(x) if hasattr(x, "__dlpack__") else None
    if home is None:
        return _from_interface(x)
    stream = _C.device_queue(home)
    asked: dict[str, Any] = {"max_version": VERSION, "stream": stream}
    if copy is False:
        asked["copy"] = False
    with _C.CurrentDevice(home):  # PyTorch exports from its current device only
        try:
            capsule = x.__dlpack__(**asked)
        except TypeError:  # older than the standard of 2023
            capsule = x.__dlpack__(stream=stream)
    return _C.from_dlpack(capsule)


def _from_interface(x: Any) -> Tensor:
    """Version 3, and older ones, which could not name a stream: then it is the default one."""
    given = _description(getattr(x, _INTERFACE))
    stream = given.get("stream") if _unsigned(given, "version") >= 3 else _LEGACY_STREAM
    if stream == 0:
        raise ValueError(
            f"[{_INTERFACE}] stream 0 is ambiguous: expected None, 1 (the legacy default stream), "
            "2 (the per-thread one) or a handle"
        )
    strides = given.get("strides")
    address, read_only = given["data"]
    return _C.import_cuda(
        x,
        0 if address is None else _unsigned({"data": address}, "data"),
        _dtype(given["typestr"]),
        tuple(given["shape"]),
        None if strides is None else tuple(strides),
        bool(read_only),
        None if stream is None else _unsigned(given, "stream"),
    )


def _description(given: Any) -> dict[str, Any]:
    """Return what a producer says, where the entries that it must have are of their classes."""
    if not isinstance(given, dict):
        raise TypeError(f"[{_INTERFACE}] expected a dict, got {type(given).__name__}")
    for name, (classes, wanted) in _ENTRIES.items():
        if not isinstance(given.get(name), classes):
            got = type(given[name]).__name__ if name in given else "none"
            raise TypeError(f"[{_INTERFACE}] expected {name} as {wanted}, got {got}")
    if len(given["data"]) != 2:
        raise TypeError(f"[{_INTERFACE}] expected data of 2 entries, got {len(given['data'])}")
    if given.get("mask") is not None:
        raise BufferError(
            f"[{_INTERFACE}] expected an array without a mask; hand over its data and its mask "
            "one by one"
        )
    return given


def _unsigned(given: dict[str, Any], name: str) -> int:
    number = operator.index(given[name])
    if not 0 <= number < 1 << 64:
        raise BufferError(f"[{_INTERFACE}] expected {name} from 0 to 2**64 - 1, got {number}")
    return number


def _dtype(typestr: str) -> DType:
    dtype = np.dtype(typestr)
    if not dtype.isnative:
        raise BufferError(
            f"[{_INTERFACE}] expected elements in the byte order of this machine, got {typestr!r}"
        )
    return canonical(dtype, _INTERFACE)
