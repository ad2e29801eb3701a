"""How a row of an op table becomes an operation: registered natively, documented, found by name."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache, partial
from inspect import Parameter, Signature
from typing import Any, Literal, NamedTuple, Protocol, overload

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Op, Tensor

Samples = tuple[Any, ...]
Vjp = str | None | tuple[str | None, ...]


class Cuda(str):
    """A CUDA expression of x, y and z, in the functions of cuda/kernels/elementwise; "": none."""

    standard: str  # with the standard's special values, where NumPy has others
    refuses: str  # true of operands that have no result, which is an error
    file: str  # what the expression needs for complex numbers beside complex.cuh
    empty: str  # changes nothing when it is combined with a Value; "": there is no reduction
    combine: str  # what a reduction does with x and y, where that is not the expression itself

    def __new__(
        cls,
        text: str,
        standard: str = "",
        refuses: str = "",
        file: str = "",
        empty: str = "",
        combine: str = "",
    ) -> "Cuda":
        """Say what the one expression is, and the others."""
        made = super().__new__(cls, text)
        made.standard, made.refuses, made.file = standard, refuses, file
        made.empty, made.combine = empty, combine or text
        return made


class Pattern(IntEnum):
    """What an element of the result is made of; see csrc/ops/pattern.h."""

    ELEMENTWISE, BROADCAST, INJECTIVE, REDUCTION, OUT_FUSABLE, OPAQUE = 0, 1, 2, 3, 4, 8


class Effect(IntEnum):
    """What an operation does beside making its result; see csrc/ops/pattern.h."""

    NONE, DRAWS, LOOKS, HOST_FUNCTION = range(4)


class Linear(IntEnum):
    """Of what sums a row gives the sum of what it gives of each; see csrc/ops/pattern.h."""

    NONE, ALL, ONE, FIRST = range(4)


class Extremum(NamedTuple):
    """Which of two operands a row chooses."""

    smallest: bool
    nan_wins: bool


@dataclass(frozen=True)
class Properties:
    """What fusion, reductions and graphs may do with an operation. A plain row has the defaults."""

    pattern: Pattern = Pattern.ELEMENTWISE
    effect: Effect = Effect.NONE
    linear: Linear = Linear.NONE  # operands that are partial sums of ranks may stay so
    reads: int = -1  # bit k: the values of operand k, not only its shape and dtype
    reuses: int = -1  # bit k: the result may take the memory of operand k, where it fits
    associative: bool = False  # any grouping gives the same, but for rounding
    adds: bool = False
    exact: bool = False  # IEEE 754 says what the result is, whichever loop computes it
    selects: bool = False  # a reduction gives one of the elements, in whichever order it goes
    extremum: Extremum | None = None
    checks_exponent: bool = False  # a negative exponent of integers is an error

    @property
    def by_lanes(self) -> bool:
        """Which of -0 and 0 wins depends on where they are in a loop's vectors."""
        return self.extremum is not None


@dataclass(frozen=True, eq=False)
class Row:
    """One elementwise operation; everything about it hangs off this."""

    name: str  # as the array API standard has it
    ufunc: np.ufunc  # its inner loops are the CPU kernels
    cuda: Cuda
    slot: str | None  # the operator that it serves, or what native code calls it for
    summary: str
    op: Op
    properties: Properties
    vjp: tuple[str | None, ...] | None  # gradients of the operands; None: not differentiable
    result: int = 0  # of the ufunc's results, the one that it makes


ROWS: dict[str, Row] = {}
PARTS: dict[str, Row] = {}  # of ufuncs with several results: one of these; no public functions
REDUCTIONS: dict[str, Row] = {}  # by name: the row that reduces
_BY_UFUNC: dict[np.ufunc, Row] = {}

_POSITIVE: Samples = ([0.25, 0.5], [1.0, 2.0])  # inside the domain of nearly every function
_INTEGERS: Samples = ([6, 12], [3, 2])


class _OfOne(Protocol):
    """A ufunc of one operand."""

    @property
    def nin(self) -> Literal[1]: ...


class _OfTwo(Protocol):
    """A ufunc of two operands."""

    @property
    def nin(self) -> Literal[2]: ...


@overload
def op(
    name: str,
    ufunc: _OfOne,
    cuda: str,
    summary: str,
    slot: str | None = None,
    example: Samples | None = None,
    vjp: Vjp = (),
    **properties: Any,
) -> "_C._UnaryOp": ...
@overload
def op(
    name: str,
    ufunc: _OfTwo,
    cuda: str,
    summary: str,
    slot: str | None = None,
    example: Samples | None = None,
    vjp: Vjp = (),
    **properties: Any,
) -> "_C._BinaryOp": ...
def op(
    name: str,
    ufunc: Any,
    cuda: str,
    summary: str,
    slot: str | None = None,
    example: Samples | None = None,
    vjp: Vjp = (),
    **properties: Any,
) -> Op:
    """Add a row; return its public function.

    ``example`` are the operands of its doctest. ``vjp`` are expressions of the functions in
    graph/gradients/expressions, of the gradient g of the result, the result ``out`` and the
    operands x, y and z: the gradient of each operand. None: it is 0 everywhere. Without any the row
    is not differentiable.
    """
    given = Properties(**properties)
    doc = partial(_docstring, name, ufunc, summary, example)
    function = _C.register_op(name, ufunc, given, name, doc, slot)
    function.__signature__ = _signature(ufunc.nin)
    text = cuda if isinstance(cuda, Cuda) else Cuda(cuda)
    gradients = vjp if isinstance(vjp, tuple) else (vjp,)
    row = ROWS[name] = Row(name, ufunc, text, slot, summary, function, given, gradients or None)
    _BY_UFUNC.setdefault(ufunc, row)
    return function


def part(name: str, ufunc: np.ufunc, result: int, cuda: str, slot: str, vjp: Vjp) -> Op:
    """Add a row for one of the results of a ufunc, which native code calls it for."""
    given, summary = Properties(), f"Result {result} of numpy.{ufunc.__name__}."
    function = _C.register_op(name, ufunc, given, name, summary, slot, result)
    gradients = vjp if isinstance(vjp, tuple) else (vjp,)
    PARTS[name] = Row(name, ufunc, Cuda(cuda), slot, summary, function, given, gradients, result)
    return function


def row_named(name: str) -> Row | None:
    """Return the row of an operation that is elementwise, if there is one."""
    return ROWS.get(name) or PARTS.get(name)


def reduction(name: str, ufunc: np.ufunc, slot: str | None = None) -> Op:
    """Add what a row of the table does along axes, under a name of its own."""
    row = REDUCTIONS[name] = _BY_UFUNC[ufunc]
    properties = replace(row.properties, pattern=Pattern.REDUCTION, reads=1, reuses=0)
    doc = f"Reduction by numpy.{ufunc.__name__}."
    return _C.register_op(name, ufunc, properties, row.name, doc, slot)


def row_of(ufunc: np.ufunc) -> Row | None:
    """Return the row whose loops are those of a ufunc, if there is one."""
    return _BY_UFUNC.get(ufunc)


def exported(namespace: Mapping[str, Any]) -> list[str]:
    """Return the public names that a chapter defines, its ``__all__``."""
    return [
        name
        for name, value in namespace.items()
        if not name.startswith("_")
        and (
            getattr(value, "__module__", "") == namespace["__name__"]
            or (isinstance(value, Op) and value.__name__ in ROWS)
        )
    ]


def _operand_names(count: int) -> list[str]:
    return ["x"] if count == 1 else [f"x{i}" for i in range(1, count + 1)]


@cache
def _signature(count: int) -> Signature:
    """What ``inspect`` says of the function of a row with so many operands."""
    names = _operand_names(count)
    operands = [Parameter(name, Parameter.POSITIONAL_ONLY, annotation=Any) for name in names]
    out = Parameter("out", Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=Any)
    others = {"where": True, "casting": "same_kind", "order": "K", "dtype": None}
    named = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Any)
        for name, default in others.items()
    ]
    return Signature([*operands, out, *named], return_annotation=Tensor)


def _docstring(name: str, ufunc: np.ufunc, summary: str, example: Samples | None) -> str:
    """The docstring of a row; the result of its example is what NumPy's ufunc says."""
    if example is None:
        floats = any(signature.startswith("d" * ufunc.nin) for signature in ufunc.types)
        example = _POSITIVE if floats else _INTEGERS
    samples = example[: ufunc.nin]
    names = _operand_names(ufunc.nin)
    call = ", ".join(f"flow.tensor({sample})" for sample in samples)
    result = ufunc(*(np.asarray(sample) for sample in samples))
    return f"""{name}({", ".join(names)}, /, out=None, *, where=True, dtype=None, ...)

{summary}

Parameters
----------
{", ".join(names)} : Tensor, array, nested lists or scalar
    Operands, broadcast against each other; Python scalars take the dtype of the others.
out : Tensor or array, optional
    Where the result goes; an array waits for it.
where, casting, dtype
    As for the functions of NumPy. What a mask leaves out of a new result is 0.

Returns
-------
Tensor
    Of NumPy's dtype for ``numpy.{ufunc.__name__}``, with its bits on the cpu.

Examples
--------
>>> flow.{name}({call}).numpy()
{result!r}
"""
