"""How LAPACK is called: NumPy's dtypes, matrices checked when the call is made.

Matrices of up to 24 rows go through NumPy's loops, with its bits. Larger ones go to the library of
products (``csrc/ops/product/lapack.h``), as the threads of NumPy's own would spin on our cores. It
is of another version, and often of another core type: its results differ in their last bits.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, complex64, complex128, float32, float64, kind_of
from oneflow_lite.ops.blas import in_force
from oneflow_lite.ops.gufunc import PREPARED_CALLS, GufuncCall, Shape, prepare_gufunc

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


_NO_COPIES = (False,) * 8  # of operands and results that have the dtype

# Rows of square matrices that one thread factors: in the library of products, and in NumPy's own.
_MOST_WHOLE, _MOST_SERIAL = 256, 62
# Float32 additions for an element, besides a routine's own; complex numbers in times of real ones.
_ELEMENT_COST, _COMPLEX_COST = 8.0, 3.0


def real_of(dtype: DType) -> DType:
    """Return the real dtype of a result's dtype."""
    return _REAL[dtype]


def complex_of(dtype: DType) -> DType:
    """Return the complex dtype of a result's dtype."""
    return _COMPLEX[dtype]


@lru_cache(PREPARED_CALLS)
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
    cost : float
        Float32 additions (of about 0.3 ns) for each element times the smaller of rows and columns,
        measured with 100 and 200 rows; what depends on the elements alone comes on top.
    side_cost : float
        The same for each element of a second operand times its rows.
    complete : bool
        A result is square, with the larger of rows and columns.
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
        cost: float,
        side_cost: float = 0,
        complete: bool = False,
        **how: Any,
    ) -> None:
        self.name, self.ufunc, self.types = name, ufunc, (real, complex)
        self.results, self.how = results, how
        self.check = check_square if square else check_matrices
        self.cost, self.side_cost, self.complete = cost, side_cost, complete

    def work(self, matrix: Shape, others: Sequence[Shape], is_complex: bool) -> float:
        """Return what one matrix takes, in float32 additions."""
        larger, smaller = max(matrix), min(matrix)
        elements = larger * (larger if self.complete else smaller)
        work = (self.cost * smaller + _ELEMENT_COST) * elements
        for shape in others:
            work += self.side_cost * matrix[0] * math.prod(shape[-2:])
        return work * (_COMPLEX_COST if is_complex else 1)

    def __call__(self, *operands: Tensor) -> list[Tensor]:
        """Return its results of operands that are on one device."""
        given: Sequence[Tensor] = operands
        if len(operands) == 1:  # the common case, without a list and a map
            (x,) = operands
            call, casts_in, casts_out = _prepared(self, (x.shape, x.dtype))
            if casts_in:
                given = (_C.astype(x, call.dtypes_in[0], False),)
        else:
            call, casts_in, casts_out = _prepared(self, *[(x.shape, x.dtype) for x in operands])
            if casts_in:
                given = [*map(_C.astype, operands, call.dtypes_in, _NO_COPIES)]
        made = call.issue(given)
        if len(casts_out) == 1:
            return [_C.astype(made[0], casts_out[0], False)]
        return [*map(_C.astype, made, casts_out, _NO_COPIES)] if casts_out else made


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
    smaller = min(rows, columns)
    is_complex = dtype.kind == "c"
    most = _MOST_WHOLE if in_force().core else _MOST_SERIAL
    call = prepare_gufunc(
        routine.name,
        routine.ufunc,
        routine.types[is_complex],
        shapes,
        sizes={"p": smaller},
        work=routine.work((rows, columns), shapes[1:], is_complex),
        divide=smaller * rows * columns <= most**3,
        **routine.how,
    )
    as_asked = {"=": dtype, "r": real_of(dtype), "c": complex_of(dtype)}
    wanted = [as_asked[kind] for kind in routine.results]
    as_made = wanted == [made for _, made in call.results]
    return _Prepared(call, call.dtypes_in != list(dtypes), [] if as_made else wanted)


def cast(x: Tensor, dtype: DType) -> Tensor:
    """Return x in a dtype; x itself where it has that."""
    return _C.astype(x, dtype, False)
