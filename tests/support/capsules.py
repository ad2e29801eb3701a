"""DLPack capsules made by hand: what no library at hand exports."""

import ctypes
from typing import Any

import numpy as np


class Capsule:
    """A capsule with the protocol around it."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **keywords: Any) -> Any:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class Array(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_index", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
        ("flags", ctypes.c_uint64),
        ("array", Array),
    )


def capsule_over(managed: Versioned) -> Any:
    """A capsule that nobody has consumed; the caller keeps what it points to."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(managed), b"dltensor_versioned", None)


class HandMade(Capsule):
    """Six float32 numbers; ``deleted`` counts the calls of the deleter."""

    def __init__(self, flags: int = 0, major: int = 1, **fields: Any) -> None:
        self.deleted = 0
        self.memory = np.arange(8, dtype="float32")
        self.shape = (ctypes.c_int64 * 2)(2, 3)
        self.managed = Versioned(major=major, flags=flags)
        self.managed.deleter = type(self.managed.deleter)(self._delete)
        array = self.managed.array
        array.data, array.device_type, array.ndim = self.memory.ctypes.data, 1, 2
        array.dtype = DataType(2, 32, 1)
        array.shape = self.shape
        for name, value in fields.items():
            setattr(array, name, value)
        super().__init__(capsule_over(self.managed))

    def _delete(self, _: int) -> None:
        self.deleted += 1
