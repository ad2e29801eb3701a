"""How LAPACK is called: NumPy's dtypes, matrices checked when the call is made.

Matrices of up to 24 rows go through NumPy's loops, with its bits. Larger ones go to the library of
products (``csrc/ops/product/lapack.h``), as the threads of NumPy's own would spin on our cores. It
is of another version, and often of another core type: its results differ in their last bits.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, complex64, complex128, float32, float64, kind_of
from oneflow_lite.ops.blas import in_force
from oneflow_lite.ops.gufunc import PREPARED_CALLS, GufuncCall, Shape, as_dtype, prepare_gufunc

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


# Of matrices that one thread factors: in the library of products, and in NumPy's own. Above the
# second, LAPACK's blocks make a direct routine faster than an iterative one.
_WHOLE_WORK, _SERIAL_WORK = 4 * 256**3 + 8 * 256**2, 1e6


def real_of(dtype: DType) -> DType:
    """Return the real dtype of a result's dtype."""
    return _REAL[dtype]


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype of a result's dtype."""
    return _COMPLEX[dtype]


def result_dtype(name: str, *dtypes: DType) -> DType:
    """Return NumPy's dtype of the result: float32 and complex64 stay, integers become float64.

    Everything is computed in double precision, as NumPy does it.

    Raises
    ------
    TypeError
        For float16 and bfloat16.
    """
    double, is_complex = False, False
    for given in dtypes:
        if kind_of(given) in "fc" and given not in _REAL:
            raise TypeError(f"[{name}] unsupported dtype {given}; cast to float32 first")
        double |= real_of(given) == float64 if given in _REAL else True
        is_complex |= given.kind == "c"
    dtype = float64 if double else float32
    return complex_of(dtype) if is_complex else dtype


def check_matrices(name: str, *shapes: Shape) -> None:
    """LinAlgError unless all have at least two dimensions."""
    for shape in shapes:
        if len(shape) < 2:
            raise LinAlgError(f"[{name}] expected at least two dimensions, got shape {shape}")


def check_square(name: str, *shapes: Shape) -> None:
    """LinAlgError unless the last two dimensions are equal."""
    check_matrices(name, *shapes)
    for shape in shapes:
        if shape[-1] != shape[-2]:
            raise LinAlgError(f"[{name}] expected square matrices, got shape {shape}")


class Routine:
    """A routine of LAPACK, as a generalized ufunc of NumPy's calls it.

    Parameters
    ----------
    name : str
        Of the operation, in errors.
    ufunc, real, complex
        And the signatures of its loops.
    results : str
        The dtype of each: ``"="`` that of the operands' promotion, ``"r"`` the real and ``"c"`` the
        complex one of it.
    square : bool
        The first operand must be.
    direct : bool
        One factorization and no iteration, at most a fifth of the work of the others.
    how
        Other keywords of ``prepare_gufunc``.
    """

    def __init__(
        self,
        name: str,
        ufunc: np.ufunc,
        real: str,
        complex: str,
        results: str,
        *,
        square: bool = True,
        direct: bool = False,
        **how: Any,
    ) -> None:
        self.name, self.ufunc, self.types = name, ufunc, (real, complex)
        self.results, self.how = results, how
        self.check = check_square if square else check_matrices
        self.direct = direct

    def __call__(self, *operands: Tensor) -> list[Tensor]:
        """Return its results of operands that are on one device."""
        call, casts_in, casts_out = _prepared(self, *[(x.shape, x.dtype) for x in operands])
        given = map(as_dtype, operands, call.dtypes_in) if casts_in else operands
        made = call.issue([*given])
        return [*map(cast, made, casts_out)] if casts_out else made


class _Prepared(NamedTuple):
    call: GufuncCall
    casts_in: bool
    casts_out: list[DType]  # empty: results are as the loop makes them


@lru_cache(PREPARED_CALLS)
def _prepared(routine: Routine, *operands: tuple[Shape, DType]) -> _Prepared:
    shapes, dtypes = zip(*operands, strict=True)
    routine.check(routine.name, shapes[0])
    dtype = result_dtype(routine.name, *dtypes)
    rows, columns = shapes[0][-2:]
    smaller, larger = sorted((rows, columns))
    # A factorization takes some n*n*m multiply-adds of doubles; the others a small multiple.
    work = 4.0 * smaller * smaller * larger + 8.0 * rows * columns
    divide = work <= (_WHOLE_WORK if in_force().core else _SERIAL_WORK)
    if routine.direct and work > _SERIAL_WORK:
        work /= 5
    call = prepare_gufunc(
        routine.name,
        routine.ufunc,
        routine.types[dtype.kind == "c"],
        shapes,
        sizes={"p": smaller},
        work=work,
        divide=divide,
        **routine.how,
    )
    as_asked = {"=": dtype, "r": real_of(dtype), "c": complex_of(dtype)}
    wanted = [as_asked[kind] for kind in routine.results]
    as_made = wanted == [made for _, made in call.results]
    return _Prepared(call, call.dtypes_in != list(dtypes), [] if as_made else wanted)


def cast(x: Tensor, dtype: DType) -> Tensor:
    """Return x in a dtype; x itself where it has that."""
    return _C.astype(x, dtype, False)
