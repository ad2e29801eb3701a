"""How a row of an op table becomes an operation: registered natively, documented, found by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Op, Tensor

Samples = tuple[Any, ...]


class Cuda(str):
    """A CUDA expression of x, y and z, in the functions of cuda/kernels/*.cuh; "": none."""

    standard: str  # with the standard's special values, where NumPy has others
    refuses: str  # true of operands that have no result, which is an error

    def __new__(cls, text: str, standard: str = "", refuses: str = "") -> "Cuda":
        """Say what the one expression is, and the others."""
        made = super().__new__(cls, text)
        made.standard, made.refuses = standard, refuses
        return made


@dataclass(frozen=True)
class Row:
    """One elementwise operation; everything about it hangs off this."""

    name: str  # as the array API standard has it
    ufunc: np.ufunc  # its inner loops are the CPU kernels
    cuda: Cuda
    slot: str | None  # the operator that it serves
    summary: str
    op: Op


ROWS: dict[str, Row] = {}
REDUCTIONS: dict[str, np.ufunc] = {}  # by name: the ufunc that reduces

_POSITIVE: Samples = ([0.25, 0.5], [1.0, 2.0])  # inside the domain of nearly every function
_INTEGERS: Samples = ([6, 12], [3, 2])


def op(
    name: str,
    ufunc: np.ufunc,
    cuda: str,
    summary: str,
    slot: str | None = None,
    example: Samples | None = None,
) -> Op:
    """Add a row; return its public function. ``example`` are the operands of its doctest."""
    doc = _docstring(name, ufunc, summary, example)
    function = _C.register_op(name, ufunc, "elementwise", doc, slot)
    function.__signature__ = _signature(ufunc)
    text = cuda if isinstance(cuda, Cuda) else Cuda(cuda)
    ROWS[name] = Row(name, ufunc, text, slot, summary, function)
    return function


def exported(namespace: Mapping[str, Any]) -> list[str]:
    """Return the public names that a chapter defines, its ``__all__``."""
    return [
        name
        for name, value in namespace.items()
        if not name.startswith("_")
        and (isinstance(value, Op) or getattr(value, "__module__", "") == namespace["__name__"])
    ]


def _operand_names(ufunc: np.ufunc) -> list[str]:
    return ["x"] if ufunc.nin == 1 else [f"x{i}" for i in range(1, ufunc.nin + 1)]


def _signature(ufunc: np.ufunc) -> Signature:
    """What ``inspect`` says of a row's function."""
    names = _operand_names(ufunc)
    operands = [Parameter(name, Parameter.POSITIONAL_ONLY, annotation=Any) for name in names]
    out = Parameter("out", Parameter.KEYWORD_ONLY, default=None, annotation=Tensor | None)
    return Signature([*operands, out], return_annotation=Tensor)


def _docstring(name: str, ufunc: np.ufunc, summary: str, example: Samples | None) -> str:
    """The docstring of a row; the result of its example is what NumPy's ufunc says."""
    if example is None:
        floats = any(signature.startswith("d" * ufunc.nin) for signature in ufunc.types)
        example = _POSITIVE if floats else _INTEGERS
    samples = example[: ufunc.nin]
    names = _operand_names(ufunc)
    call = ", ".join(f"flow.tensor({sample})" for sample in samples)
    result = ufunc(*(np.asarray(sample) for sample in samples))
    return f"""{name}({", ".join(names)}, /, *, out=None)

{summary}

Parameters
----------
{", ".join(names)} : Tensor, array or scalar
    Operands, broadcast against each other; Python scalars take the dtype of the others.
out : Tensor, optional
    Where the result goes.

Returns
-------
Tensor
    Of NumPy's dtype for ``numpy.{ufunc.__name__}``, with its bits on the cpu.

Examples
--------
>>> flow.{name}({call}).numpy()
{result!r}
"""
