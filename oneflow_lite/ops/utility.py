"""Differences between neighbours, and whether tensors are alike."""

import builtins
import operator
from typing import TYPE_CHECKING, Any

from numpy.exceptions import AxisError

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype, finfo, isdtype, result_type
from oneflow_lite.ops.creation import asarray
from oneflow_lite.ops.elementwise import abs, isfinite, isnan, not_equal, subtract
from oneflow_lite.ops.joining import concat
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.reduction import all
from oneflow_lite.ops.table import exported


def diff(x: Any, /, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    """Return the differences between neighbours along an axis, n times over.

    Parameters
    ----------
    x : Tensor or array
        Operand; of bool, neighbours are compared.
    n : int
        How often.
    axis : int
        The axis that becomes shorter by n.
    prepend, append : Tensor, array or scalar, optional
        What stands before and after x along the axis; scalars stand for one slice.

    Examples
    --------
    >>> flow.diff(flow.tensor([1, 4, 9])).numpy()
    array([3, 5])
    """
    given, times = asarray(x), operator.index(n)
    if times < 0:
        raise ValueError(f"[diff] expected n of at least 0, got {times}")
    if times == 0:
        return given
    if given.ndim == 0:
        raise ValueError("[diff] expected at least one dimension, got a 0-d tensor")
    along = operator.index(axis)
    if not -given.ndim <= along < given.ndim:
        raise AxisError(f"[diff] axis {along} is out of bounds for {given.ndim} dimensions")
    along %= given.ndim
    ends = [_slice_of(end, given, along) for end in (prepend, append)]
    if ends != [None, None]:
        given = concat([part for part in (ends[0], given, ends[1]) if part is not None], along)
    before = (slice(None),) * along
    difference = not_equal if given.dtype == bool_dtype else subtract
    for _ in range(builtins.min(times, given.shape[along])):  # then there is nothing left
        given = difference(given[(*before, slice(1, None))], given[(*before, slice(None, -1))])
    return given


def isclose(
    x1: Any, x2: Any, /, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Tell where ``abs(x1 - x2) <= atol + rtol * abs(x2)``; infinities are close to themselves.

    Parameters
    ----------
    x1, x2 : Tensor, array or scalar
        Operands; x2 is the reference.
    rtol, atol : float, Tensor or array
        Relative and absolute tolerance.
    equal_nan : bool
        Whether a NaN is close to a NaN.

    Examples
    --------
    >>> flow.isclose(flow.tensor([1.0, 2.0]), flow.tensor([1.0, 2.1])).numpy()
    array([ True, False])
    """
    given, reference = on_one_device(x1, x2)
    reference = _C.astype(reference, result_type(reference, 1.0), False)
    near: Tensor = abs(given - reference) <= atol + rtol * abs(reference)
    close = near & isfinite(reference) | (given == reference)
    return close | (isnan(given) & isnan(reference)) if equal_nan else close


def allclose(
    x1: Any, x2: Any, /, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False
) -> builtins.bool:
    """Tell whether ``isclose`` holds everywhere. Looks at the tensors.

    Examples
    --------
    >>> flow.allclose(flow.tensor([1.0]), flow.tensor([1.0 + 1e-9]))
    True
    """
    return builtins.bool(all(isclose(x1, x2, rtol, atol, equal_nan)))


def array_equal(x1: Any, x2: Any, /, equal_nan: bool = False) -> builtins.bool:
    """Tell whether shapes and elements are the same. Looks at the tensors where shapes are.

    Examples
    --------
    >>> flow.array_equal(flow.tensor([1, 2]), flow.tensor([1.0, 2.0]))
    True
    """
    given, reference = on_one_device(x1, x2)
    if given.shape != reference.shape:
        return False
    same = given == reference
    if equal_nan:
        same |= isnan(given) & isnan(reference)
    return builtins.bool(all(same))


def array_equiv(x1: Any, x2: Any, /) -> builtins.bool:
    """Tell whether elements are the same where shapes broadcast. Looks at the tensors.

    Examples
    --------
    >>> flow.array_equiv(flow.tensor([1, 1]), 1)
    True
    """
    given, reference = on_one_device(x1, x2)
    try:
        same = given == reference
    except ValueError:
        return False
    return builtins.bool(all(same))


def nan_to_num(
    x: Any,
    copy: bool = True,
    nan: Any = 0.0,
    posinf: Any = None,
    neginf: Any = None,
) -> Tensor:
    """Return x with numbers in place of NaN and infinities.

    Parameters
    ----------
    x : Tensor or array
        Operand; the parts of complex numbers are treated each.
    copy : bool
        False: x itself is changed.
    nan, posinf, neginf : scalar or Tensor
        The numbers; None: the largest and the smallest finite ones.

    Examples
    --------
    >>> flow.nan_to_num(flow.tensor([flow.nan, 1.0])).numpy()
    array([0., 1.])
    """
    given = asarray(x)
    given = _C.copy(given) if copy or given is not x else given
    if not isdtype(given.dtype, ("real floating", "complex floating")):
        return given
    limits = finfo(given.dtype)
    largest = limits.max if posinf is None else posinf
    smallest = limits.min if neginf is None else neginf
    is_complex = isdtype(given.dtype, "complex floating")
    for part in (given.real, given.imag) if is_complex else (given,):
        infinite = ~(isfinite(part) | isnan(part))
        cleaned = _C.where(infinite & (part > 0), largest, part)
        cleaned = _C.where(infinite & (part < 0), smallest, cleaned)
        _C.assign(part, _C.where(isnan(part), nan, cleaned))
    return given


def _slice_of(value: Any, x: Tensor, axis: int) -> Tensor | None:
    """What goes before or after x along an axis."""
    if value is None:
        return None
    given = value if isinstance(value, Tensor) else asarray(value, device=x.device)
    if given.ndim:
        return given
    return _C.broadcast_to(given, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


if not TYPE_CHECKING:
    __all__ = exported(globals())
