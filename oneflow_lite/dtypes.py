"""Element types (instances of ``numpy.dtype``), their promotion, and the constants.

NumPy has no bfloat16: its dtype is that of the package ml_dtypes. Without the package there is no
``bfloat16`` here, and all else is as it is.
"""

import builtins
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

import numpy as np
from numpy import e, euler_gamma, inf, nan, newaxis, pi

from oneflow_lite import _C
from oneflow_lite._C import Tensor

try:
    _ml_dtypes: Any = importlib.import_module("ml_dtypes")
except ImportError:
    _ml_dtypes = None

DType = np.dtype[Any]
HAS_BFLOAT16 = _ml_dtypes is not None

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
if _ml_dtypes is not None:
    bfloat16: DType = np.dtype(_ml_dtypes.bfloat16)
    _C.set_bfloat16(bfloat16)

__all__ = [
    "can_cast",
    "e",
    "euler_gamma",
    "finfo",
    "iinfo",
    "inf",
    "isdtype",
    "min_scalar_type",
    "nan",
    "newaxis",
    "pi",
    "promote",
    "promote_types",
    "result_type",
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
_BFLOATS: tuple[DType, ...] = () if _ml_dtypes is None else (bfloat16,)
_FLOATS = (float16, *_BFLOATS, float32, float64, complex64, complex128)
SUPPORTED: dict[DType, DType] = {dtype: dtype for dtype in (bool, *_INTEGERS, *_FLOATS)}
_LETTERS = {d: "f" if d in _BFLOATS else d.kind for d in SUPPORTED}

_WEAK = (builtins.bool, int, float, complex)  # types of scalars that take the others' dtype

# What sums and products are made in, and are, when nothing else is said.
SUM_DTYPES = {d: {"b": int64, "i": int64, "u": uint64}.get(d.kind, d) for d in SUPPORTED}
MEAN_DTYPES = {d: float64 if d.kind in "biu" else d for d in SUPPORTED}


def kind_of(dtype: DType) -> str:
    """Return the one-letter kind of a dtype: NumPy's, and ``"f"`` of bfloat16.

    Examples
    --------
    >>> kind_of(int8), kind_of(float16)
    ('i', 'f')
    """
    return _LETTERS.get(dtype, dtype.kind)


def native(dtype: np.dtype[Any]) -> DType | None:
    """Return the supported dtype that a dtype of either byte order is; None: there is none.

    Examples
    --------
    >>> native(np.dtype(">f4")), native(np.dtype(object))
    (dtype('float32'), None)
    """
    return SUPPORTED.get(dtype.newbyteorder("="))


def is_narrow(dtype: DType) -> builtins.bool:
    """Tell whether sums of a dtype are made in float32: float16 and bfloat16.

    Examples
    --------
    >>> is_narrow(float16), is_narrow(float32)
    (True, False)
    """
    return dtype == float16 or dtype in _BFLOATS


def computed_in(dtype: DType) -> DType:
    """Return the dtype that arithmetic in a dtype is made in: float32 for bfloat16, itself else.

    Examples
    --------
    >>> computed_in(float16)
    dtype('float16')
    """
    return float32 if dtype in _BFLOATS else dtype


canonical = _C.canonical  # the supported dtype that a dtype, a type or a name means


@_C.native(_C.paths.result_type)
def result_type(*operands: Any) -> DType:
    """Return the dtype that NumPy's promotion gives.

    bfloat16, which NumPy's promotion does not know, promotes as float16 does, and together with
    float16 to float32.

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
    if isinstance(given[0], np.dtype) and all(one is given[0] for one in given):
        return canonical(given[0], "result_type")
    if _BFLOATS and not all(type(x) in _WEAK for x in given):
        return canonical(_promoted(given), "result_type")
    return canonical(np.result_type(*given), "result_type")


def _promoted(given: list[Any]) -> DType:
    """What NumPy says where another dtype stands for bfloat16."""
    dtypes = [x if type(x) in _WEAK else np.result_type(x) for x in given]
    if not any(x in _BFLOATS for x in dtypes):
        return np.result_type(*given)
    stand_in = float32 if float16 in dtypes else float16
    result = np.result_type(*(stand_in if x in _BFLOATS else x for x in dtypes))
    return _BFLOATS[0] if result == float16 else result


def promote(first: Any, second: Any) -> DType:
    """Return the smallest dtype to which both cast safely.

    Examples
    --------
    >>> flow.promote(flow.int8, flow.uint8)
    dtype('int16')
    """
    return result_type(canonical(first, "promote"), canonical(second, "promote"))


promote_types = promote  # NumPy's name


def min_scalar_type(a: Any, /) -> DType:
    """Return the smallest dtype that holds a number; of an array its dtype.

    Parameters
    ----------
    a : Tensor, array or scalar
        A tensor without dimensions is looked at.

    Raises
    ------
    TypeError
        For what tensors do not hold.

    Examples
    --------
    >>> flow.min_scalar_type(300), flow.min_scalar_type(flow.zeros(3))
    (dtype('uint16'), dtype('float64'))
    """
    if isinstance(a, Tensor):
        if a.ndim or a.dtype in _BFLOATS:
            return a.dtype
        a = _C.look("min_scalar_type", a)
    return canonical(np.min_scalar_type(_C.held(a, "min_scalar_type")), "min_scalar_type")


def can_cast(
    from_: Any,
    to: Any,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "safe",
) -> builtins.bool:
    """Tell whether ``from_``, a dtype or a tensor, casts to the dtype ``to``, safely by default.

    Examples
    --------
    >>> flow.can_cast(flow.int64, flow.float64), flow.can_cast(flow.int64, flow.int8)
    (True, False)
    """
    dtype = from_.dtype if isinstance(from_, Tensor) else canonical(from_, "can_cast")
    return _C.castable(dtype, canonical(to, "can_cast"), casting, "can_cast")


def resolve_loop(
    ufunc: np.ufunc, dtypes: Sequence[Any], signature: Any = None, **keywords: Any
) -> tuple[DType, ...]:
    """Return ``ufunc.resolve_dtypes``, where bfloat16 promotes as in ``result_type``.

    Examples
    --------
    >>> resolve_loop(np.add, (int64, float32, None))
    (dtype('float64'), dtype('float64'), dtype('float64'))
    """
    wanted = None if signature is None else tuple(signature)
    return _resolved(ufunc, tuple(dtypes), wanted, tuple(keywords.items()))


@lru_cache(maxsize=1024)
def _resolved(
    ufunc: np.ufunc,
    dtypes: tuple[Any, ...],
    signature: tuple[Any, ...] | None,
    keywords: tuple[tuple[str, Any], ...],
) -> tuple[DType, ...]:
    given = (*dtypes, *(signature or ()))
    has_bfloat16 = any(x is not None and x in _BFLOATS for x in given)
    if has_bfloat16:
        stand_in = float32 if any(x is not None and x == float16 for x in given) else float16
        given = tuple(stand_in if x is not None and x in _BFLOATS else x for x in given)
    named = dict(keywords)
    if signature is not None:
        named["signature"] = given[len(dtypes) :]
    given = given[: len(dtypes)]
    if named.get("casting") == "equiv":
        given = _equivalent(given, ufunc.resolve_dtypes(given, **named | {"casting": "unsafe"}))
    resolved = ufunc.resolve_dtypes(given, **named)
    if not has_bfloat16 and any(x in _BFLOATS for x in resolved):
        resolved = _without_bfloat16(ufunc, given, named)
    return tuple(_BFLOATS[0] if has_bfloat16 and x == float16 else x for x in resolved)


def _without_bfloat16(
    ufunc: np.ufunc, given: tuple[Any, ...], named: dict[str, Any]
) -> tuple[DType, ...]:
    """The loop of a float that NumPy has, of operands of which none is bfloat16.

    NumPy remembers a loop of bfloat16 that it has run for an ``out``, and answers it for integers.
    """
    loop = named.get("signature", (None,) * ufunc.nargs)
    for result in (float16, float32, float64):
        named["signature"] = (*loop[:-1], result)
        try:
            ufunc.resolve_dtypes(given, **named | {"casting": "safe"})
        except TypeError:
            continue  # an operand needs a wider one
        break
    return ufunc.resolve_dtypes(given, **named)


def _equivalent(given: tuple[Any, ...], resolved: tuple[DType, ...]) -> tuple[Any, ...]:
    """Dtypes for Python's types, which are equivalent to one dtype; NumPy's error for another one.

    NumPy 2.4 crashes where it is asked whether such a type is equivalent to another dtype.
    """
    compares = resolved[-1] == bool
    dtypes = []
    for one, wanted in zip(given, resolved, strict=True):
        own = np.dtype(one) if isinstance(one, type) else one
        if own is not one and own != wanted:
            is_integer = one is int and wanted.kind in "iu"
            if is_integer and compares:
                own = wanted  # an integer of any size is compared
            elif is_integer or np.can_cast(own, wanted, "same_kind"):
                raise TypeError(
                    f"cannot cast Python {one.__name__} to {wanted} under the casting rule 'equiv'"
                )
        dtypes.append(own)
    return tuple(dtypes)


def reduced_in(ufunc: np.ufunc, dtype: DType, out: Any = None) -> DType | None:
    """Return the dtype in which NumPy reduces elements of a dtype, to that of an ``out`` if any.

    None where the ufunc has no loop that takes its own result as an operand.

    Examples
    --------
    >>> reduced_in(np.add, int8), reduced_in(np.add, int8, float32)
    (dtype('int64'), dtype('float32'))
    """
    resolved = resolve_loop(ufunc, (out, dtype, None), reduction=True, casting="unsafe")
    return resolved[0] if len(set(resolved)) == 1 else None


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
    if not isinstance(kind, tuple):
        return _is_kind(asked, kind)
    return any(_is_kind(asked, one) for one in kind)


def _is_kind(asked: DType, kind: Any) -> builtins.bool:
    if not isinstance(kind, str):
        return asked == canonical(kind, "isdtype")
    letters = _KINDS.get(kind)
    if letters is None:
        raise ValueError(f"[isdtype] unknown kind {kind!r}; expected one of {', '.join(_KINDS)}")
    return _LETTERS[asked] in letters


@dataclass(frozen=True)
class FloatLimits:
    """What a floating dtype can hold; of a complex dtype, its components. Python numbers."""

    bits: int
    eps: float  # from 1 to the next larger number
    epsneg: float  # from 1 to the next smaller number
    max: float
    min: float
    smallest_normal: float
    smallest_subnormal: float
    tiny: float  # NumPy's name for smallest_normal
    precision: int  # decimal digits that are kept
    resolution: float
    dtype: DType


@dataclass(frozen=True)
class IntegerLimits:
    """What an integer dtype can hold."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Any, /) -> FloatLimits:
    """Return the limits of a floating or complex dtype, given itself or by a tensor or scalar.

    Raises
    ------
    ValueError
        For any other dtype.

    Examples
    --------
    >>> flow.finfo(flow.float32).eps
    1.1920928955078125e-07
    """
    return _float_limits(_dtype_of(type, "finfo"))


@cache
def _float_limits(dtype: DType) -> FloatLimits:
    if kind_of(dtype) not in "fc":
        raise ValueError(f"[finfo] expected a floating dtype, got {dtype}; iinfo is for integers")
    limits: Any = _ml_dtypes.finfo(dtype) if dtype in _BFLOATS else np.finfo(dtype)
    names = ("eps", "epsneg", "max", "min", "smallest_normal", "smallest_subnormal", "tiny")
    numbers = {name: float(getattr(limits, name)) for name in (*names, "resolution")}
    return FloatLimits(limits.bits, precision=limits.precision, dtype=limits.dtype, **numbers)


def iinfo(type: Any, /) -> IntegerLimits:
    """Return the limits of an integer dtype, given itself or by a tensor or scalar.

    Raises
    ------
    ValueError
        For any other dtype.

    Examples
    --------
    >>> flow.iinfo(flow.int8).max
    127
    """
    return _integer_limits(_dtype_of(type, "iinfo"))


@cache
def _integer_limits(dtype: DType) -> IntegerLimits:
    if dtype.kind not in "iu":
        raise ValueError(f"[iinfo] expected an integer dtype, got {dtype}; finfo is for floats")
    limits = np.iinfo(dtype)
    return IntegerLimits(limits.bits, limits.max, limits.min, dtype)


def _dtype_of(given: Any, op: str) -> DType:
    """The dtype of a tensor, array or number, or the one that is named."""
    if type(given) is str:
        return canonical(given, op)
    if isinstance(given, (builtins.bool, int, float, complex)):
        return canonical(type(given), op)
    has_dtype = isinstance(given, (Tensor, np.generic, np.ndarray))
    return canonical(given.dtype if has_dtype else given, op)
