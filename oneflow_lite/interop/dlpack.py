"""Tensors to and from other libraries by DLPack and ``__cuda_array_interface__``.

Memory of the cpu that somebody else sees, too, is *shared*: as long as it is, an operation on it
has run when the call returns, so that program order holds between this package and the other one.
Memory of a CUDA device is handed over: what was issued before runs before what the other one does
then, in the order of the device's queues, and nobody waits for the device. What comes back, or
comes in several times, is recognized: all tensors over one memory are in program order.
"""

from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.ops.creation.device_arrays import VERSION, from_device, on_device

_HOST = (1, 0)  # DLPack's device of cpu memory
_NO_STREAM = -1
_LEGACY_STREAM = 1


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
        True: memory of its own; False: BufferError where that would be needed; None: a copy where
        it is needed. A tensor with negative strides needs one: consumers may not take them, and
        PyTorch ends the process.

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
    moves = wanted != own
    target = _C.dlpack_home(*wanted) if moves else self.device
    if target is None or (moves and _C.dlpack_device(target) != wanted):
        known = f"{own}" if own == _HOST else f"{own} or {_HOST}"
        raise BufferError(f"[__dlpack__] expected dl_device {known}, got {wanted}")
    if moves and copy is False:
        raise BufferError(
            f"[__dlpack__] copy=False, but {self.device} memory reaches dl_device {wanted} by a "
            "copy only"
        )
    copies = bool(copy) or _is_turned(self, copy)
    versioned = max_version is not None and max_version[0] >= VERSION[0]
    if wanted == _HOST or not _has_queues(target):
        if stream is not None and not _has_queues(self.device):
            raise ValueError(f"[__dlpack__] expected stream=None, got {stream!r}")
        host_copy = moves or (copies and own == _HOST)
        return _C.to_dlpack(self, versioned, host_copy, False, _NO_STREAM)
    fresh = moves or copies
    x = _C.to_device(self, target, True) if fresh else self
    return _C.to_dlpack(x, versioned, False, fresh, consumer_stream(stream))


def _is_turned(x: Tensor, copy: bool | None) -> bool:
    """Return whether strides are what DLPack has not, which needs a copy: negative, or no whole
    number of elements. BufferError where there is none.
    """
    steps = [step for size, step in zip(x.shape, x.strides, strict=True) if size > 1]
    is_negative = any(step < 0 for step in x.strides)
    if not is_negative and all(step % x.itemsize == 0 for step in steps):
        return False
    if copy is False:
        what = "negative" if is_negative else f"no multiples of {x.itemsize} bytes"
        raise BufferError(
            f"[__dlpack__] copy=False, but strides {x.strides} are {what}: hand over a copy, or "
            "the tensor that it is a view of"
        )
    return True


def _has_queues(device: Device) -> bool:
    """Whether other libraries can use its memory in the order of its queues."""
    return _C.device_types()[device.type].has_interop


def consumer_stream(stream: Any) -> int:
    """Return the handle of a consumer's stream, as DLPack numbers it; -1: it orders itself.

    Examples
    --------
    >>> consumer_stream(None), consumer_stream(-1)
    (1, -1)
    """
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
        x = from_device(x, copy) if on_device(x) else _C.from_dlpack(_capsule(x, copy))
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
    if _C.dlpack_home(*x.__dlpack_device__()) is None:
        return x.__dlpack__(**asked, dl_device=_HOST, copy=copy)
    if copy is False:
        asked["copy"] = False
    try:
        return x.__dlpack__(**asked)
    except TypeError:
        return x.__dlpack__()


METHODS = {
    "__cuda_array_interface__": property(_cuda_array_interface),
    "__dlpack__": to_dlpack,
    "__dlpack_device__": dlpack_device,
}
