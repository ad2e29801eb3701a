"""Calls of NumPy's generalized ufuncs: core dimensions are checked, the others broadcast."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation import asarray

# What it means when a loop reports a failure; the numbers are those of csrc/ops/gufunc.cpp.
FAILURES = {
    None: 0,
    "singular": 1,
    "not positive definite": 2,
    "eigenvalues": 3,
    "singular values": 4,
    "qr": 5,
    "least squares": 6,
}

Core = tuple[str, ...]
Shape = tuple[int, ...]


def tensors(*operands: Any) -> list[Tensor]:
    """Return the operands as tensors; what is none goes to the device of the first one that is."""
    device = next((x.device for x in operands if isinstance(x, Tensor)), None)
    return [x if isinstance(x, Tensor) else asarray(x, device=device) for x in operands]


def call_gufunc(
    name: str,
    ufunc: np.ufunc,
    types: str,
    inputs: Sequence[Tensor],
    *,
    sizes: Mapping[str, int] | None = None,
    outputs: Sequence[Tensor] | None = None,
    work: float = 1,
    failure: str | None = None,
    finite: bool = False,
    in_place: bool = False,
) -> list[Tensor]:
    """Issue a generalized ufunc; return its results, new tensors or ``outputs``.

    Parameters
    ----------
    name : str
        Of the operation, in errors.
    ufunc, types
        The ufunc and the signature of its loop, such as ``"dd->d"``; the inputs are cast to it.
    sizes : mapping, optional
        Core dimensions that the inputs do not tell.
    outputs : sequence of Tensor, optional
        Where the results go, of the loop's dtypes and broadcast shapes.
    work : float
        Of one matrix of the batch, in float32 additions.
    failure : str, optional
        What the loop's invalid flag means (a key of FAILURES); None: nothing.
    finite : bool
        Fail where the first input has an infinity or a NaN.
    in_place : bool
        The loop changes its only input; the caller owns it.
    """
    cores_in, cores_out = _parse(str(ufunc.signature))
    dtypes_in, dtypes_out = ([np.dtype(code) for code in part] for part in types.split("->"))
    given = [_C.astype(x, dtype, False) for x, dtype in zip(inputs, dtypes_in, strict=True)]
    known = _core_sizes(name, cores_in, given) | dict(sizes or {})
    batch = _batch_shape(name, cores_in, given)
    if outputs is None:
        device = given[0].device
        outputs = [
            _C.empty((*batch, *(known[d] for d in core)), dtype, device)
            for core, dtype in zip(cores_out, dtypes_out, strict=True)
        ]
    loop_outputs = [*given, *outputs] if in_place else outputs
    count = float(np.prod(batch, dtype=float))
    flags = (int(in_place), FAILURES[failure], int(finite))
    made = _C.call_kernel(
        name,
        "gufunc",
        given,
        loop_outputs,
        [*flags, *_layout(str(ufunc.signature))],
        (ufunc, types),
        count * work,
    )
    return made[len(given) :] if in_place else made


@cache
def _parse(signature: str) -> tuple[list[Core], list[Core]]:
    """Return the names of the core dimensions of each input and of each output."""
    left, right = signature.replace(" ", "").replace("?", "").split("->")
    sides = []
    for side in (left, right):
        groups = side[1:-1].split("),(")
        sides.append([tuple(group.split(",")) if group else () for group in groups])
    return sides[0], sides[1]


@cache
def _layout(signature: str) -> tuple[int, ...]:
    """Return how many core dimensions there are; of each operand, how many and which."""
    cores_in, cores_out = _parse(signature)
    numbers: dict[str, int] = {}
    layout = []
    for core in (*cores_in, *cores_out):
        layout.append(len(core))
        layout += [numbers.setdefault(dim, len(numbers)) for dim in core]
    return (len(numbers), *layout)


def _core_sizes(name: str, cores: Sequence[Core], operands: Sequence[Tensor]) -> dict[str, int]:
    known: dict[str, int] = {}
    for core, x in zip(cores, operands, strict=True):
        if x.ndim < len(core):
            raise ValueError(
                f"[{name}] expected at least {len(core)} dimensions, got shape {x.shape}"
            )
        for dim, size in zip(core, x.shape[x.ndim - len(core) :], strict=True):
            if known.setdefault(dim, size) != size:
                shapes = " and ".join(str(x.shape) for x in operands)
                raise ValueError(f"[{name}] expected size {known[dim]}, got {size} ({shapes})")
    return known


def _batch_shape(name: str, cores: Sequence[Core], operands: Sequence[Tensor]) -> Shape:
    batches = [x.shape[: x.ndim - len(core)] for core, x in zip(cores, operands, strict=True)]
    try:
        return np.broadcast_shapes(*batches)
    except ValueError:
        shapes = " and ".join(str(x.shape) for x in operands)
        raise ValueError(f"[{name}] the leading dimensions of {shapes} do not broadcast") from None
