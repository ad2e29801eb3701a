"""Another library that uses CUDA devices, for tests on the simulated driver: it has memory and
streams of its own, and speaks DLPack and ``__cuda_array_interface__``, by ctypes alone."""

import ctypes
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.support.capsules import Array, Versioned, capsule_over

Pointer = ctypes.c_uint64
Handle = ctypes.c_void_p
HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
NON_BLOCKING = 1
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


def call(name: str, *arguments: Any, version: int = 12000) -> None:
    """Call a function of the driver; RuntimeError with its result where that is not 0."""
    driver = ctypes.CDLL("libcuda.so.1")
    function = ctypes.c_void_p()
    find = driver.cuGetProcAddress_v2
    find(name.encode(), ctypes.byref(function), version, ctypes.c_uint64(0), None)
    assert function.value, name
    result = ctypes.CFUNCTYPE(ctypes.c_int, *map(type, arguments))(function.value)(*arguments)
    if result:
        raise RuntimeError(f"{name}: {result}")


class Context:
    """The primary context of a device, current in the calling thread in a ``with`` block."""

    def __init__(self, device: int) -> None:
        self.handle = Handle()
        call("cuInit", ctypes.c_uint(0))
        call("cuDevicePrimaryCtxRetain", ctypes.pointer(self.handle), ctypes.c_int(device))

    def __enter__(self) -> None:
        call("cuCtxPushCurrent", self.handle)

    def __exit__(self, *_: object) -> None:
        call("cuCtxPopCurrent", ctypes.pointer(Handle()))


class Gate:
    """What a stream has after it does not run until the gate is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.function = HostFunction(lambda _: bool(self.opened.wait(60)))

    def open(self) -> None:
        self.opened.set()


class Library:
    """One device of it, with a stream."""

    def __init__(self, device: int = 0, flags: int = NON_BLOCKING) -> None:
        self.device = device
        self.context = Context(device)
        self.stream = Handle()
        self.kept: list[Any] = []
        with self.context:
            call("cuStreamCreate", ctypes.pointer(self.stream), ctypes.c_uint(flags))

    @property
    def handle(self) -> int:
        return int(self.stream.value or 0)

    def close(self, stream: int | None = None) -> Gate:
        """Put a gate into the stream (or into another one)."""
        gate = Gate()
        self.kept.append(gate)
        with self.context:
            target = self.stream if stream is None else Handle(stream)
            call("cuLaunchHostFunc", target, gate.function, Handle())
        return gate

    def synchronize(self) -> None:
        with self.context:
            call("cuStreamSynchronize", self.stream)

    def array(self, values: npt.ArrayLike, stream: int | None = None) -> "CudaArray":
        """An array with these values, once the stream has run."""
        return CudaArray(self, np.array(values), stream)

    def read(self, address: int, shape: Sequence[int], dtype: str) -> npt.NDArray[Any]:
        """Row-major values, copied in the stream: to be looked at after ``synchronize``."""
        result = np.zeros(shape, dtype)
        block = Handle()
        with self.context:
            size = ctypes.c_size_t(max(result.nbytes, 1))
            call("cuMemHostAlloc", ctypes.pointer(block), size, ctypes.c_uint(0))
            call("cuMemcpyDtoHAsync", block, Pointer(address), size, self.stream)
        place = (ctypes.c_char * result.nbytes).from_address(block.value or 0)
        return np.frombuffer(place, dtype).reshape(shape)

    def fill(self, address: int, byte: int, count: int) -> None:
        with self.context:
            arguments = Pointer(address), ctypes.c_ubyte(byte), ctypes.c_size_t(count)
            call("cuMemsetD8Async", *arguments, self.stream)

    def take(self, x: Any, **asked: Any) -> "Taken":
        """What x exports, for the stream of this library."""
        return Taken(x.__dlpack__(**{"stream": self.handle, "max_version": (1, 0)} | asked))


class CudaArray:
    """Memory of a library with values that its stream writes; ``deleted`` counts the releases."""

    def __init__(self, library: Library, values: npt.NDArray[Any], stream: int | None) -> None:
        self.library, self.values = library, values
        self.stream = library.handle if stream is None else stream
        self.deleted = 0
        self.asked: list[dict[str, Any]] = []
        self.kept: list[Any] = []
        self.address = Pointer()
        pinned = Handle()
        with library.context:
            size = ctypes.c_size_t(max(values.nbytes, 1))
            call("cuMemAlloc", ctypes.pointer(self.address), size)
            call("cuMemHostAlloc", ctypes.pointer(pinned), size, ctypes.c_uint(0))
            ctypes.memmove(pinned, values.ctypes.data, values.nbytes)
            call("cuMemcpyHtoDAsync", self.address, pinned, size, Handle(self.stream))

    def interface(self, **fields: Any) -> "Interface":
        """The array as one that has ``__cuda_array_interface__`` and no DLPack."""
        return Interface(self, fields)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.library.device)

    def __dlpack__(self, *, stream: int | None = None, **asked: Any) -> Any:
        self.asked.append({"stream": stream, **asked})
        event = Handle()
        with self.library.context:
            call("cuEventCreate", ctypes.pointer(event), ctypes.c_uint(2))
            call("cuEventRecord", event, Handle(self.stream))
            call("cuStreamWaitEvent", Handle(stream), event, ctypes.c_uint(0))
        managed = Versioned(major=1)
        managed.deleter = type(managed.deleter)(self._delete)
        shape = (ctypes.c_int64 * 8)(*self.values.shape)
        array = managed.array
        array.data, array.ndim, array.shape = self.address.value, self.values.ndim, shape
        array.device_type, array.device_index = self.__dlpack_device__()
        kind, size = self.values.dtype.kind, self.values.dtype.itemsize
        array.dtype.code, array.dtype.bits, array.dtype.lanes = _CODES[kind], 8 * size, 1
        self.kept += [managed, shape]
        self.library.kept.append(self)  # at least until the deleter has been called
        return capsule_over(managed)

    def _delete(self, _: int) -> None:
        self.deleted += 1


class Interface:
    """See ``CudaArray.interface``."""

    def __init__(self, array: CudaArray, fields: dict[str, Any]) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.values.shape,
            "typestr": array.values.dtype.str,
            "data": (array.address.value, False),
            "version": 3,
            "strides": None,
            "stream": array.stream,
        } | fields


class Taken:
    """A capsule that a consumer holds."""

    def __init__(self, capsule: Any) -> None:
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        address = api.PyCapsule_GetPointer(capsule, b"dltensor_versioned")
        api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
        api.PyCapsule_SetName(capsule, b"used_dltensor_versioned")
        self.managed = Versioned.from_address(address)
        self.flags = self.managed.flags
        self.array: Array = self.managed.array
        self.device = (self.array.device_type, self.array.device_index)
        self.address = self.array.data or 0
        self.shape = tuple(self.array.shape[i] for i in range(self.array.ndim))
        self.strides = tuple(self.array.strides[i] for i in range(self.array.ndim))

    def release(self) -> None:
        self.managed.deleter(ctypes.addressof(self.managed))
