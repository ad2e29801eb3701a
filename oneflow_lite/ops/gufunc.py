"""Calls of NumPy's generalized ufuncs: core dimensions are checked, the others broadcast."""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType

# What it means when a loop reports a failure; the numbers are those of csrc/ops/product/gufunc.cpp.
FAILURES = {
    None: 0,
    "singular": 1,
    "not positive definite": 2,
    "eigenvalues": 3,
    "singular values": 4,
    "qr": 5,
    "least squares": 6,
}

PREPARED_CALLS = 1024  # of the shapes and dtypes that were seen last

_MOST_WORK = 2**62  # of one matrix; the kernel counts in int64

Core = tuple[str, ...]
Shape = tuple[int, ...]


class _Plan(NamedTuple):
    """What a ufunc and its loop say: core dimensions, dtypes, attr of the kernel."""

    cores_in: list[Core]
    cores_out: list[Core]
    dtypes_in: list[DType]
    dtypes_out: list[DType]
    layout: tuple[int, ...]  # how many core dimensions; of each operand, how many and which


class GufuncCall(NamedTuple):
    """A call of operands of some shapes, ready to be issued."""

    name: str
    dtypes_in: list[DType]
    results: Sequence[Any]  # tensors to write to; of others, shape and dtype
    attr: tuple[int, ...]
    loop: tuple[np.ufunc, str]
    work: float
    in_place: bool

    def issue(self, given: Sequence[Tensor], like: Tensor | None = None) -> list[Tensor]:
        """Return the results of tensors of ``dtypes_in``, in ``like``'s order of axes in memory."""
        name, _, results, attr, loop, work, in_place = self
        if like is not None:
            results = [(*result, like) for result in results]
        if in_place:
            results = [*given, *results]
        made = _C.call_kernel(name, "gufunc", given, results, attr, loop, work)
        return made[len(given) :] if in_place else made


def prepare_gufunc(
    name: str,
    ufunc: np.ufunc,
    types: str,
    shapes: Sequence[Shape],
    *,
    sizes: Mapping[str, int] | None = None,
    work: float = 1,
    failure: str | None = None,
    finite: bool = False,
    in_place: bool = False,
    divide: bool = False,
) -> GufuncCall:
    """Check the shapes of a generalized ufunc's operands.

    Parameters
    ----------
    name : str
        Of the operation, in errors.
    ufunc, types
        And the signature of its loop, such as ``"dd->d"``.
    shapes : sequence of tuple
        Of the operands.
    sizes : mapping, optional
        Core dimensions that the operands do not tell.
    work : float
        Of one matrix of the batch, in float32 additions.
    failure : str, optional
        What the loop's invalid flag means (a key of FAILURES); None: nothing.
    finite : bool
        Fail where the first input has an infinity or a NaN.
    in_place : bool
        The loop changes its only input; the caller owns it.
    divide : bool
        Several threads may share a large batch.
    """
    plan = _plan(ufunc, types)
    known = {**_core_sizes(name, plan.cores_in, shapes), **(sizes or {})}
    batch = _batch_shape(name, plan.cores_in, shapes)
    results = [
        ((*batch, *(known[d] for d in core)), dtype)
        for core, dtype in zip(plan.cores_out, plan.dtypes_out, strict=True)
    ]
    shared_work = int(min(work, _MOST_WORK)) if divide else 0
    attr = (int(in_place), FAILURES[failure], int(finite), shared_work, *plan.layout)
    total = math.prod(batch) * work
    return GufuncCall(name, plan.dtypes_in, results, attr, (ufunc, types), total, in_place)


def as_dtype(x: Tensor, dtype: DType) -> Tensor:
    """Return x in a dtype; x itself where it has that."""
    return x if x.dtype == dtype else _C.astype(x, dtype, True)


def core_dimensions(ufunc: np.ufunc) -> tuple[tuple[int, ...], str]:
    """Return what a generalized ufunc's layout says in the kernel's attr, and its signature.

    Raises
    ------
    ValueError
        It is none.
    """
    if ufunc.signature is None:
        raise ValueError(f"NumPy's {ufunc.__name__} is no generalized ufunc")
    return _plan(ufunc, ufunc.types[0]).layout, ufunc.signature


@cache
def _plan(ufunc: np.ufunc, types: str) -> _Plan:
    sides = []
    for side in str(ufunc.signature).replace(" ", "").replace("?", "").split("->"):
        groups = side[1:-1].split("),(")
        sides.append([tuple(group.split(",")) if group else () for group in groups])
    numbers: dict[str, int] = {}
    layout = []
    for core in (*sides[0], *sides[1]):
        layout.append(len(core))
        layout += [numbers.setdefault(dim, len(numbers)) for dim in core]
    codes_in, codes_out = types.split("->")
    return _Plan(
        sides[0],
        sides[1],
        [np.dtype(code) for code in codes_in],
        [np.dtype(code) for code in codes_out],
        (len(numbers), *layout),
    )


def _core_sizes(name: str, cores: Sequence[Core], shapes: Sequence[Shape]) -> dict[str, int]:
    known: dict[str, int] = {}
    for core, shape in zip(cores, shapes, strict=True):
        if len(shape) < len(core):
            raise ValueError(
                f"[{name}] expected at least {len(core)} dimensions, got shape {shape}"
            )
        for dim, size in zip(core, shape[len(shape) - len(core) :], strict=True):
            if known.setdefault(dim, size) != size:
                all_shapes = " and ".join(map(str, shapes))
                raise ValueError(f"[{name}] expected size {known[dim]}, got {size} ({all_shapes})")
    return known


def _batch_shape(name: str, cores: Sequence[Core], shapes: Sequence[Shape]) -> Shape:
    batches = [shape[: len(shape) - len(core)] for core, shape in zip(cores, shapes, strict=True)]
    different = {batch for batch in batches if batch}
    if len(different) <= 1:
        return different.pop() if different else ()
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        given = " and ".join(map(str, shapes))
        raise ValueError(f"[{name}] the leading dimensions of {given} do not broadcast") from None
