"""Elementwise functions that are made of others."""

import math
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import finfo, isdtype
from oneflow_lite.ops.creation import asarray, zeros
from oneflow_lite.ops.elementwise import atan2, isinf, logical_and, logical_not, signbit, sin, trunc
from oneflow_lite.ops.table import exported


def angle(z: Any, deg: bool = False) -> Tensor:
    """Return the angle of complex numbers, in radians or degrees; 0 or pi of real ones.

    Examples
    --------
    >>> flow.angle(flow.tensor([1j, -1.0]), deg=True).numpy()
    array([ 90., 180.])
    """
    given = asarray(z)
    is_complex = isdtype(given.dtype, "complex floating")
    turned = atan2(given.imag, given.real) if is_complex else atan2(0, given)
    return turned * (180 / math.pi) if deg else turned


def fix(x: Any, *, out: Tensor | None = None) -> Tensor:
    """Return the nearest integers towards 0; NumPy's other name for ``trunc``.

    Examples
    --------
    >>> flow.fix(flow.tensor([-1.5, 2.5])).numpy()
    array([-1.,  2.])
    """
    return trunc(asarray(x), out=out)


def isposinf(x: Any, *, out: Tensor | None = None) -> Tensor:
    """Tell where numbers are positive infinity. TypeError for complex ones.

    Examples
    --------
    >>> flow.isposinf(flow.tensor([flow.inf, -flow.inf])).numpy()
    array([ True, False])
    """
    given = _real("isposinf", x)
    return logical_and(isinf(given), logical_not(signbit(given)), out=out)


def isneginf(x: Any, *, out: Tensor | None = None) -> Tensor:
    """Tell where numbers are negative infinity. TypeError for complex ones.

    Examples
    --------
    >>> flow.isneginf(flow.tensor([flow.inf, -flow.inf])).numpy()
    array([False,  True])
    """
    given = _real("isneginf", x)
    return logical_and(isinf(given), signbit(given), out=out)


def isreal(x: Any) -> Tensor:
    """Tell where the imaginary part is 0.

    Examples
    --------
    >>> flow.isreal(flow.tensor([1 + 0j, 1j])).numpy()
    array([ True, False])
    """
    return asarray(x).imag == 0


def iscomplex(x: Any) -> Tensor:
    """Tell where the imaginary part is not 0.

    Examples
    --------
    >>> flow.iscomplex(flow.tensor([1 + 0j, 1j])).numpy()
    array([False,  True])
    """
    given = asarray(x)
    if isdtype(given.dtype, "complex floating"):
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
    if isdtype(given.dtype, "complex floating"):
        raise TypeError(f"[{op}] expected real numbers, got {given.dtype}")
    return given


if not TYPE_CHECKING:
    __all__ = exported(globals())
