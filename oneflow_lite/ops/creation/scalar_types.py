"""The names of the dtypes: each is a dtype where one is wanted, and makes tensors when called.

As a NumPy scalar type it is no ``numpy.dtype`` itself; ``x.dtype`` is one, and equals it.
"""

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C, dtypes
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, canonical
from oneflow_lite.ops.creation.data import tensor

_DOC = """The dtype {name}; called with a number, values or nothing, a tensor of it.

Examples
--------
>>> x = flow.{name}(1)
>>> x.dtype == flow.{name}, x.shape
(True, ())
"""


class ScalarType(_C.ScalarMeta):
    """The type of ``flow.float32`` and the others. Attributes are those of the dtype."""

    dtype: DType
    alignment: int
    byteorder: str
    char: str
    itemsize: int
    kind: str
    name: str
    num: int
    type: builtins.type[np.generic]

    def __call__(cls, x: Any = 0, /) -> Tensor:  # noqa: N805
        """Return a tensor of the dtype: 0-d of a number, else of the shape of the values."""
        if isinstance(x, Tensor):
            return _C.astype(x, cls.dtype, True)
        return tensor(x, dtype=cls.dtype)

    def __instancecheck__(cls, x: Any) -> builtins.bool:  # noqa: N805
        """Return whether x is a number of the dtype: a 0-d tensor, or a scalar of NumPy."""
        if isinstance(x, Tensor):
            return x.ndim == 0 and x.dtype == cls.dtype
        return isinstance(x, cls.dtype.type)

    def __str__(cls) -> str:  # noqa: N805
        """Return the name."""
        return cls.__name__


def _scalar_type(name: str, dtype: DType) -> ScalarType:
    members = {one: getattr(dtype, one) for one in dir(dtype) if not one.startswith("_")}
    members |= {
        "__doc__": _DOC.format(name=name),
        "__module__": "oneflow_lite",
        "__numpy_dtype__": dtype,  # for NumPy from 2.4 on
        "__slots__": (),
        "dtype": dtype,
    }
    made = ScalarType(name, (), members)
    _C.set_scalar_type(dtype, made)
    return made


bool = _scalar_type("bool", dtypes.bool)
int8 = _scalar_type("int8", dtypes.int8)
int16 = _scalar_type("int16", dtypes.int16)
int32 = _scalar_type("int32", dtypes.int32)
int64 = _scalar_type("int64", dtypes.int64)
uint8 = _scalar_type("uint8", dtypes.uint8)
uint16 = _scalar_type("uint16", dtypes.uint16)
uint32 = _scalar_type("uint32", dtypes.uint32)
uint64 = _scalar_type("uint64", dtypes.uint64)
float16 = _scalar_type("float16", dtypes.float16)
float32 = _scalar_type("float32", dtypes.float32)
float64 = _scalar_type("float64", dtypes.float64)
complex64 = _scalar_type("complex64", dtypes.complex64)
complex128 = _scalar_type("complex128", dtypes.complex128)
if dtypes.HAS_BFLOAT16:
    bfloat16 = _scalar_type("bfloat16", dtypes.bfloat16)

_TYPES = {one.dtype: one for one in list(globals().values()) if isinstance(one, ScalarType)}


def _named(type: Any, name: str) -> ScalarType:
    """The one of a type of NumPy's: C has several names for one integer."""
    return _TYPES[canonical(type, name)]


# NumPy's other names.
bool_ = bool
byte, ubyte, short, ushort = int8, uint8, int16, uint16
intc, uintc = _named(np.intc, "intc"), _named(np.uintc, "uintc")
long, ulong = _named(np.long, "long"), _named(np.ulong, "ulong")
longlong, ulonglong = _named(np.longlong, "longlong"), _named(np.ulonglong, "ulonglong")
int_ = intp = _named(np.intp, "intp")
uint = uintp = _named(np.uintp, "uintp")
half, single, double, csingle, cdouble = float16, float32, float64, complex64, complex128

__all__ = [
    "bfloat16",
    "bool",
    "bool_",
    "byte",
    "cdouble",
    "complex64",
    "complex128",
    "csingle",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "intc",
    "intp",
    "long",
    "longlong",
    "short",
    "single",
    "ubyte",
    "uint",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintc",
    "uintp",
    "ulong",
    "ulonglong",
    "ushort",
]
if not TYPE_CHECKING and not dtypes.HAS_BFLOAT16:
    __all__.remove("bfloat16")
