"""Elementwise functions that are made of the rows of the op table."""

import math
from types import NoneType
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import finfo, isdtype, kind_of
from oneflow_lite.ops.creation.data import asarray, zeros
from oneflow_lite.ops.elementwise import (
    atan2,
    clip,
    equal,
    isnan,
    sin,
    trunc,
)
from oneflow_lite.ops.operands import unbroadcast
from oneflow_lite.ops.table import exported


def angle(z: Any, deg: bool = False) -> Tensor:
    """Return the angle of complex numbers, in radians or degrees; 0 or pi of real ones.

    Examples
    --------
    >>> flow.angle(flow.tensor([1j, -1.0]), deg=True).numpy()
    array([ 90., 180.])
    """
    given = asarray(z)
    is_complex = given.dtype.kind == "c"
    turned = atan2(given.imag, given.real) if is_complex else atan2(0, given)
    return turned * (180 / math.pi) if deg else turned


def fix(x: Any, out: Tensor | None = None) -> Tensor:
    """Return the nearest integers towards 0; NumPy's other name for ``trunc``.

    Examples
    --------
    >>> flow.fix(flow.tensor([-1.5, 2.5])).numpy()
    array([-1.,  2.])
    """
    return trunc(asarray(x), out=out)


def isposinf(x: Any, out: Tensor | None = None) -> Tensor:
    """Tell where numbers are positive infinity. TypeError for complex ones.

    Examples
    --------
    >>> flow.isposinf(flow.tensor([flow.inf, -flow.inf])).numpy()
    array([ True, False])
    """
    return equal(_real("isposinf", x), math.inf, out=out)


def isneginf(x: Any, out: Tensor | None = None) -> Tensor:
    """Tell where numbers are negative infinity. TypeError for complex ones.

    Examples
    --------
    >>> flow.isneginf(flow.tensor([flow.inf, -flow.inf])).numpy()
    array([False,  True])
    """
    return equal(_real("isneginf", x), -math.inf, out=out)


@_C.native(_C.paths.isreal)
def isreal(x: Any) -> Tensor:
    """Tell where the imaginary part is 0.

    Examples
    --------
    >>> flow.isreal(flow.tensor([1 + 0j, 1j])).numpy()
    array([ True, False])
    """
    return asarray(x).imag == 0


@_C.native(_C.paths.iscomplex)
def iscomplex(x: Any) -> Tensor:
    """Tell where the imaginary part is not 0.

    Examples
    --------
    >>> flow.iscomplex(flow.tensor([1 + 0j, 1j])).numpy()
    array([False,  True])
    """
    given = asarray(x)
    if given.dtype.kind == "c":
        return given.imag != 0
    return zeros(given.shape, "bool", device=given.device)


def sinc(x: Any) -> Tensor:
    """Return ``sin(pi * x) / (pi * x)``; 1 at 0.

    Examples
    --------
    >>> flow.sinc(flow.tensor([0.0, 0.5])).numpy()
    array([1.        , 0.63661977])
    """
    turned = asarray(x) * math.pi
    is_real = isdtype(turned.dtype, "real floating")
    least = finfo(turned.dtype).eps if is_real else 1e-20
    turned = _C.where(turned, turned, least)
    return sin(turned) / turned


def _real(op: str, x: Any) -> Tensor:
    given = asarray(x)
    if given.dtype.kind == "c":
        raise TypeError(f"[{op}] expected real numbers, got {given.dtype}")
    return given


@_C.native(_C.paths.nan_to_num)
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
    kind = kind_of(given.dtype)
    numbers = (nan, posinf, neginf)
    if copy and kind == "f":
        given = unbroadcast(given)
    if kind == "f" and copy and all(type(n) in (int, float, NoneType) for n in numbers):
        return _finite(given, *numbers)
    given = _C.astype(given, given.dtype, True) if copy or given is not x else given
    if kind in "fc":
        for part in (given.real, given.imag) if kind == "c" else (given,):
            _C.assign(part, _finite(part, *numbers))
    return given


def _finite(x: Tensor, nan: Any, posinf: Any, neginf: Any) -> Tensor:
    """Real numbers with others in place of NaN and infinities; None: the nearest finite ones."""
    limits = finfo(x.dtype)
    cleaned = clip(x, limits.min, limits.max)
    if posinf is not None:
        cleaned = _C.where(x == math.inf, posinf, cleaned)
    if neginf is not None:
        cleaned = _C.where(x == -math.inf, neginf, cleaned)
    return _C.where(isnan(x), nan, cleaned)


if not TYPE_CHECKING:
    __all__ = exported(globals())
