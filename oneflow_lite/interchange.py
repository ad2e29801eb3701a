"""Tensors to and from other libraries, other processes and files: DLPack, pickle, .npy and .npz.

Memory of the cpu that somebody else sees, too, is *shared*: as long as it is, an operation on it
has run when the call returns, so that program order holds between this package and the other one.
Memory of a CUDA device is handed over: what was issued before runs before what the other one does
then, in the order of the device's queues, and nobody waits for the device. What comes back, or
comes in several times, is recognized: all tensors over one memory are in program order.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.dtypes import canonical
from oneflow_lite.ops.creation import tensor
from oneflow_lite.ops.foreign import VERSION, from_cuda, on_cuda

__all__ = ["from_dlpack", "load", "map_device", "save", "savez", "savez_compressed"]

File = str | os.PathLike[str] | IO[bytes]

_HOST = (1, 0)  # DLPack's device of cpu memory
_HOST_TYPES = (1, 3)  # with pinned memory
_CUDA = 2  # its type of CUDA devices
_NO_STREAM = -1
_LEGACY_STREAM = 1
_BFLOAT16_IN_FILES = np.dtype("V2")

_DeviceMap = DeviceLike | Mapping[str, DeviceLike]
_device_map: ContextVar[_DeviceMap] = ContextVar("device_map", default=None)


# --- DLPack


def dlpack_device(self: Tensor) -> tuple[int, int]:
    """Return DLPack's device type and index.

    (1, 0) for the cpu, (2, index) for ``cuda:index``, (12, index) for ``mock:index``.
    """
    return _C.dlpack_device(self)


def to_dlpack(
    self: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """Return a DLPack capsule over the tensor's memory; a cpu tensor is waited for, and shared.

    Parameters
    ----------
    stream : int, optional
        The consumer's CUDA stream, which waits for the tensor; the host does not. 1 (or None): the
        legacy default stream, 2: the per-thread one, -1: none has to wait. The cpu has none.
    max_version : tuple of int, optional
        The newest version that the consumer knows; before (1, 0) read-only memory is refused.
    dl_device : tuple of int, optional
        Where the consumer wants it: where it is, (1, 0), the host, or (2, index), a CUDA device.
        Elsewhere it gets a copy.
    copy : bool, optional
        True: memory of its own; False: BufferError where that would be needed.

    Raises
    ------
    BufferError
        Where the memory cannot be handed over as asked.

    Examples
    --------
    >>> np.from_dlpack(flow.arange(3))
    array([0, 1, 2])
    """
    own = _C.dlpack_device(self)
    wanted = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    to_cuda = wanted[0] == _CUDA and 0 <= wanted[1] < _C.device_count("cuda")
    if wanted not in (own, _HOST) and not to_cuda:
        raise BufferError(f"[__dlpack__] expected dl_device {own} or {_HOST}, got {wanted}")
    moves = wanted != own
    if moves and copy is False:
        raise BufferError(
            f"[__dlpack__] copy=False, but {self.device} memory reaches dl_device {wanted} by a "
            "copy only"
        )
    versioned = max_version is not None and max_version[0] >= VERSION[0]
    if not to_cuda:
        if stream is not None and own[0] != _CUDA:
            raise ValueError(f"[__dlpack__] expected stream=None, got {stream!r}")
        host_copy = moves or (bool(copy) and own == _HOST)
        return _C.to_dlpack(self, versioned, host_copy, False, _NO_STREAM)
    fresh = moves or bool(copy)
    x = _C.to_device(self, Device("cuda", wanted[1]), True) if fresh else self
    return _C.to_dlpack(x, versioned, False, fresh, _consumer_stream(stream))


def _consumer_stream(stream: Any) -> int:
    if stream is None:
        return _LEGACY_STREAM
    if isinstance(stream, bool) or not isinstance(stream, int) or stream < _NO_STREAM:
        raise TypeError(f"[__dlpack__] expected a stream's handle, -1, 1 or 2, got {stream!r}")
    if stream == 0:
        raise ValueError(
            "[__dlpack__] stream 0 is ambiguous: expected 1 (the legacy default stream), 2 (the "
            "per-thread one) or a handle"
        )
    return stream


def _cuda_array_interface(self: Tensor) -> dict[str, Any]:
    """What others use a CUDA tensor's memory by, version 3; other tensors have no such attribute.

    ``stream`` is the one to wait for. The memory is the tensor's: who uses it keeps the tensor.
    """
    if self.device.type != "cuda":
        raise AttributeError(f"a tensor of {self.device} has no __cuda_array_interface__")
    if self.dtype.kind == "V":
        raise AttributeError(f"__cuda_array_interface__ has no name for {self.dtype}; use DLPack")
    address, read_only, stream = _C.export_cuda(self)
    return {
        "shape": self.shape,
        "typestr": self.dtype.str,
        "data": (address, read_only),
        "version": 3,
        "strides": None if self.is_contiguous() else self.strides,
        "stream": stream,
    }


def from_dlpack(x: Any, /, *, device: DeviceLike = None, copy: bool | None = None) -> Tensor:
    """Return a tensor over the memory of another library's array.

    The memory is shared: writes on either side are seen by the other. On the cpu they are in
    program order; on a CUDA device what the producer has queued so far comes first, and what
    follows is for the program to order (by handing it over again, or ``synchronize``). Tensors over
    the same memory, or parts of it, are views of one another. The memory is kept until the last
    user of the tensor has run. A tensor over read-only memory refuses writes; as in NumPy, that is
    also what comes from a library whose DLPack (before 1.0) cannot say whether it may be written
    to.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``, or with ``__cuda_array_interface__``
        On the cpu or a CUDA device, or willing to be copied to the cpu. A tensor is returned as it
        is.
    device : Device or str, optional
        Copy it there, unless it is there; by default it stays.
    copy : bool, optional
        True: always copy; False: raise BufferError where a copy is needed.

    Raises
    ------
    BufferError
        For dtypes that tensors do not have, and for memory that cannot be reached.
    TypeError
        For an object without the protocol.

    Examples
    --------
    >>> a = np.zeros(3)
    >>> x = flow.from_dlpack(a)
    >>> x += 1
    >>> a
    array([1., 1., 1.])
    """
    if not isinstance(x, Tensor):
        x = from_cuda(x, copy) if on_cuda(x) else _C.from_dlpack(_capsule(x, copy))
    target: Device = x.device if device is None else resolve(device)
    if copy is False and target != x.device:
        raise BufferError(
            f"[from_dlpack] copy=False, but {x.device} memory reaches {target} by a copy only"
        )
    return _C.to_device(x, target, bool(copy))


def _capsule(x: Any, copy: bool | None) -> Any:
    """What x exports, on the host. Producers older than the standard of 2023 take no keywords."""
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError(
            f"[from_dlpack] expected an object with __dlpack__ and __dlpack_device__, "
            f"got {type(x).__name__}"
        )
    asked: dict[str, Any] = {"max_version": VERSION}
    if x.__dlpack_device__()[0] not in _HOST_TYPES:
        return x.__dlpack__(**asked, dl_device=_HOST, copy=copy)
    if copy is False:
        asked["copy"] = False
    try:
        return x.__dlpack__(**asked)
    except TypeError:
        return x.__dlpack__()


# --- pickle


@contextlib.contextmanager
def map_device(target: _DeviceMap) -> Iterator[None]:
    """Say where tensors go that are unpickled in the ``with`` block.

    Parameters
    ----------
    target : Device, str or mapping
        One device for all tensors, or new devices by the names of the old ones; a tensor of a
        device that the mapping does not name stays there.

    Examples
    --------
    >>> import pickle
    >>> data = pickle.dumps(flow.ones(2, device="mock:1"))
    >>> with flow.interchange.map_device("cpu"):
    ...     x = pickle.loads(data)
    >>> x.device == "cpu"
    True
    """
    token = _device_map.set(target)
    try:
        yield
    finally:
        _device_map.reset(token)


def reduce(self: Tensor) -> tuple[Any, ...]:
    """Return how pickle makes the tensor again: from its value and the name of its device.

    The value is pickled by NumPy, so protocol 5 may keep it out of band.
    """
    return _unpickled, (self.numpy(), str(self.device))


def _unpickled(value: npt.NDArray[Any], device: str) -> Tensor:
    mapping = _device_map.get()
    wanted = mapping.get(device, device) if isinstance(mapping, Mapping) else mapping or device
    try:
        return tensor(value, device=wanted)
    except ValueError as error:
        raise ValueError(
            f"[pickle] a tensor of {device} cannot go to {wanted}: {error}; "
            'load it with flow.interchange.map_device("cpu")'
        ) from None


# --- files


def save(file: File, x: Any) -> None:
    """Write one tensor to a file in NumPy's .npy format; waits for it.

    The format has no bfloat16: ``load`` knows elements of two bytes without a type as that, and so
    does ``numpy.load(file).view(flow.bfloat16)``.

    Parameters
    ----------
    file : str, path or binary file
        A name gets the suffix ``.npy`` unless it has it.
    x : Tensor or anything that ``tensor`` takes
        The value, written in row-major order. Its device is not recorded.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> flow.save(file, flow.arange(3))
    >>> _ = file.seek(0)
    >>> np.load(file)
    array([0, 1, 2])
    """
    np.save(file, _value(x), allow_pickle=False)


def savez(file: File, /, *tensors: Any, **named: Any) -> None:
    """Write tensors to a file in NumPy's .npz format; waits for them.

    Parameters
    ----------
    file : str, path or binary file
        A name gets the suffix ``.npz`` unless it has it.
    *tensors, **named
        Tensors without a name are called ``arr_0``, ``arr_1``, and so on.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> flow.savez(file, weights=flow.ones(2), bias=flow.zeros(1))
    >>> _ = file.seek(0)
    >>> sorted(flow.load(file))
    ['bias', 'weights']
    """
    np.savez(file, *map(_value, tensors), **_values(named))


def savez_compressed(file: File, /, *tensors: Any, **named: Any) -> None:
    """Write tensors to a compressed file in NumPy's .npz format; see ``savez``.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> flow.savez_compressed(file, weights=flow.ones(2))
    >>> _ = file.seek(0)
    >>> list(flow.load(file))
    ['weights']
    """
    np.savez_compressed(file, *map(_value, tensors), **_values(named))


def load(
    file: File, *, device: DeviceLike = None, mmap_mode: str | None = None
) -> Tensor | dict[str, Tensor]:
    """Return what a .npy or .npz file holds: a tensor, or a dict of them.

    Parameters
    ----------
    file : str, path or binary file
        Written by ``save``, ``savez`` or NumPy, of any order and byte order. Pickled objects are
        refused.
    device : Device or str, optional
        Where the tensors go; the thread's default device unless given.
    mmap_mode : {None, "r", "r+", "c"}
        Map a .npy file into memory instead of reading it; see ``numpy.memmap``. On the cpu the
        tensor lies over the file, read-only for "r".

    Raises
    ------
    ValueError
        For a file of another format, or of pickled objects.
    TypeError
        For elements that tensors do not have.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.eye(2))
    >>> _ = file.seek(0)
    >>> flow.load(file)
    tensor([[1., 0.],
            [0., 1.]], dtype=float64, device='cpu')
    """
    target = resolve(device)
    found = np.load(file, mmap_mode=mmap_mode, allow_pickle=False)  # type: ignore[arg-type]
    if isinstance(found, np.ndarray):
        return _loaded(found, target, mapped=mmap_mode is not None)
    with found:
        return {name: _loaded(found[name], target, mapped=False) for name in found.files}


def _loaded(found: npt.NDArray[Any], target: Device, mapped: bool) -> Tensor:
    """What a file holds; of bfloat16 it says only that elements have two bytes."""
    is_bfloat16 = found.dtype.char == "V" and found.dtype == _BFLOAT16_IN_FILES
    if is_bfloat16:
        canonical("bfloat16", "load")  # needs a package
    bits = found.view(np.uint16) if is_bfloat16 else found
    x = from_dlpack(bits) if mapped else tensor(bits, device="cpu" if is_bfloat16 else target)
    return _C.to_device(_C.as_bfloat16(x) if is_bfloat16 else x, target, False)


def _value(x: Any) -> npt.NDArray[Any]:
    return x.numpy() if isinstance(x, Tensor) else np.asarray(tensor(x, device="cpu"))


def _values(named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(x) for name, x in named.items()}


METHODS = {
    "__cuda_array_interface__": property(_cuda_array_interface),
    "__dlpack__": to_dlpack,
    "__dlpack_device__": dlpack_device,
    "__reduce__": reduce,
}
