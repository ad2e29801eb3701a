"""How LAPACK is called: NumPy's dtypes, matrices checked when the call is made."""

from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, complex64, complex128, float32, float64, kind_of
from oneflow_lite.ops.blas import in_force
from oneflow_lite.ops.gufunc import call_gufunc

_REAL: dict[DType, DType] = {
    float32: float32,
    float64: float64,
    complex64: float32,
    complex128: float64,
}
_COMPLEX: dict[DType, DType] = {
    float32: complex64,
    float64: complex128,
    complex64: complex64,
    complex128: complex128,
}


# Of matrices so small that LAPACK does not use several threads itself (some 60 rows).
_SERIAL_WORK = 1e6


def real_of(dtype: DType) -> DType:
    """Return the real dtype of a result's dtype."""
    return _REAL[dtype]


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype of a result's dtype."""
    return _COMPLEX[dtype]


def result_dtype(name: str, *operands: Tensor) -> DType:
    """Return NumPy's dtype of the result: float32 and complex64 stay, integers become float64.

    Everything is computed in double precision, as NumPy does it.

    Raises
    ------
    TypeError
        For float16 and bfloat16.
    """
    double, is_complex = False, False
    for x in operands:
        if kind_of(x.dtype) in "fc" and x.dtype not in _REAL:
            raise TypeError(f"[{name}] unsupported dtype {x.dtype}; cast to float32 first")
        double |= real_of(x.dtype) == float64 if x.dtype in _REAL else True
        is_complex |= x.dtype.kind == "c"
    dtype = float64 if double else float32
    return complex_of(dtype) if is_complex else dtype


def loop_types(dtype: DType, real: str, complex: str) -> str:
    """Return the signature of the loop for a result of this dtype."""
    return complex if dtype.kind == "c" else real


def check_matrices(name: str, *operands: Tensor) -> None:
    """LinAlgError unless all have at least two dimensions."""
    for x in operands:
        if x.ndim < 2:
            raise LinAlgError(f"[{name}] expected at least two dimensions, got shape {x.shape}")


def check_square(name: str, *operands: Tensor) -> None:
    """LinAlgError unless the last two dimensions are equal."""
    check_matrices(name, *operands)
    for x in operands:
        if x.shape[-1] != x.shape[-2]:
            raise LinAlgError(f"[{name}] expected square matrices, got shape {x.shape}")


def call_lapack(
    name: str, ufunc: np.ufunc, types: str, *inputs: Tensor, direct: bool = False, **how: Any
) -> list[Tensor]:
    """Call a gufunc of matrices; keywords as for ``call_gufunc``.

    ``direct``: one factorization and no iteration, at most a fifth of the work of the others.
    """
    in_force()  # small matrices go to the library of products (csrc/ops/lapack.h)
    rows, columns = inputs[0].shape[-2:]
    smaller, larger = sorted((rows, columns))
    # A factorization takes some n*n*m multiply-adds of doubles; the others a small multiple.
    work = 4.0 * smaller * smaller * larger + 8.0 * rows * columns
    divide = work <= _SERIAL_WORK
    if direct and not divide:
        work /= 5
    return call_gufunc(name, ufunc, types, inputs, work=work, divide=divide, **how)


def cast(x: Tensor, dtype: DType) -> Tensor:
    """Return x in a dtype; x itself where it has that."""
    return _C.astype(x, dtype, False)
