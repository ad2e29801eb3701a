"""Element types (instances of ``numpy.dtype``), their promotion, and the constants."""

import builtins
from typing import Any

import numpy as np
from numpy import e, inf, nan, newaxis, pi

from oneflow_lite._C import Tensor

DType = np.dtype[Any]

bool = np.dtype(np.bool_)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = np.dtype(np.uint64)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
complex64 = np.dtype(np.complex64)
complex128 = np.dtype(np.complex128)

__all__ = [
    "bool",
    "can_cast",
    "complex64",
    "complex128",
    "e",
    "finfo",
    "float16",
    "float32",
    "float64",
    "iinfo",
    "inf",
    "int8",
    "int16",
    "int32",
    "int64",
    "isdtype",
    "nan",
    "newaxis",
    "pi",
    "promote",
    "result_type",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

# The kinds of `isdtype`, each as NumPy's one-letter kinds.
_KINDS = {
    "bool": "b",
    "signed integer": "i",
    "unsigned integer": "u",
    "integral": "iu",
    "real floating": "f",
    "complex floating": "c",
    "numeric": "iufc",
}

# Equal dtypes with different type codes exist (C has several names for one integer); these are the
# ones that tensors have.
_INTEGERS = (int8, int16, int32, int64, uint8, uint16, uint32, uint64)
_FLOATS = (float16, float32, float64, complex64, complex128)
SUPPORTED: dict[DType, DType] = {dtype: dtype for dtype in (bool, *_INTEGERS, *_FLOATS)}
_NAMES = ", ".join(dtype.name for dtype in SUPPORTED)


def canonical(dtype: Any, op: str) -> DType:
    """Return the supported dtype that ``dtype`` names.

    Parameters
    ----------
    dtype
        A dtype, a NumPy scalar type, a name, or one of Python's ``bool int float complex``.
    op
        The operation named in the error.

    Raises
    ------
    TypeError
        For anything else, objects, strings and dates among them.
    """
    try:
        wanted = np.dtype(dtype).newbyteorder("=") if dtype is not None else None
        if wanted is not None:
            return SUPPORTED[wanted]
    except (TypeError, KeyError):
        pass
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or dtype
    raise TypeError(f"[{op}] unsupported dtype {name}; supported: {_NAMES}")


def result_type(*operands: Any) -> DType:
    """Return the dtype that NumPy's promotion gives.

    Parameters
    ----------
    *operands
        Tensors, arrays, dtypes, and Python scalars, which are weak.

    Examples
    --------
    >>> flow.result_type(flow.float32, 1.0)
    dtype('float32')
    >>> flow.result_type(flow.int64, flow.float32)
    dtype('float64')
    """
    if not operands:
        raise ValueError("[result_type] expected at least one operand")
    given = [x.dtype if isinstance(x, Tensor) else x for x in operands]
    return canonical(np.result_type(*given), "result_type")


def promote(first: Any, second: Any) -> DType:
    """Return the smallest dtype to which both cast safely."""
    return canonical(
        np.promote_types(canonical(first, "promote"), canonical(second, "promote")), "promote"
    )


def can_cast(source: Any, target: Any, /) -> builtins.bool:
    """Tell whether ``source``, a dtype or a tensor, casts to ``target`` safely."""
    dtype = source.dtype if isinstance(source, Tensor) else canonical(source, "can_cast")
    return np.can_cast(dtype, canonical(target, "can_cast"))


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Tell whether a dtype is of a kind.

    Parameters
    ----------
    dtype
        The dtype to ask about.
    kind : dtype, str or tuple of them
        A dtype, or ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"``, ``"numeric"``.

    Examples
    --------
    >>> flow.isdtype(flow.int8, "integral")
    True
    """
    asked = canonical(dtype, "isdtype")
    if isinstance(kind, tuple):
        return any(isdtype(asked, one) for one in kind)
    if not isinstance(kind, str):
        return asked == canonical(kind, "isdtype")
    if kind not in _KINDS:
        raise ValueError(f"[isdtype] unknown kind {kind!r}; expected one of {', '.join(_KINDS)}")
    return asked.kind in _KINDS[kind]


def finfo(dtype: Any) -> Any:
    """Return NumPy's limits of a floating dtype (of a tensor's, too)."""
    asked = dtype.dtype if isinstance(dtype, Tensor) else dtype
    return np.finfo(canonical(asked, "finfo"))


def iinfo(dtype: Any) -> Any:
    """Return NumPy's limits of an integer dtype (of a tensor's, too)."""
    asked = dtype.dtype if isinstance(dtype, Tensor) else dtype
    return np.iinfo(canonical(asked, "iinfo"))
