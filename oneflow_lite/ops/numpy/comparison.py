"""Whether tensors are equal, exactly or nearly; real or finite."""

import builtins
from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import result_type
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.elementwise import abs, isfinite, isnan
from oneflow_lite.ops.operands import is_weak, on_one_device
from oneflow_lite.ops.statistics.reduction import all
from oneflow_lite.ops.table import exported


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
    tensors = on_one_device(x1, x2)
    given, reference = x1, x2
    if not is_weak(x1) or is_weak(x2):  # of two numbers, one is a tensor
        given = tensors[0]
    if not is_weak(x2):
        reference = _C.astype(tensors[1], result_type(tensors[1], 1.0), False)
    elif isinstance(x2, int):
        reference = float(x2)
    size = builtins.abs(reference)
    near: Tensor = builtins.abs(given - reference) <= atol + rtol * size
    close: Tensor = near & isfinite(tensors[1]) | (given == reference)
    return close | (isnan(tensors[0]) & isnan(tensors[1])) if equal_nan else close


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


@_C.native(_C.paths.array_equal)
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


def real_if_close(a: Any, tol: Any = 100) -> Tensor:
    """Return the real parts of complex numbers whose imaginary parts are all close to 0.

    Parameters
    ----------
    a : Tensor or array
        Operand. Complex numbers are looked at.
    tol : float
        The imaginary parts are below it; above 1, it counts in units of the precision of the dtype.

    Returns
    -------
    Tensor
        A view of the real parts, or the operand.

    Examples
    --------
    >>> flow.real_if_close(flow.tensor([2.1 + 4e-14j, 5.2 + 3e-15j]), tol=1000).numpy()
    array([2.1, 5.2])
    """
    given = asarray(a)
    if given.dtype.kind != "c":
        return given
    # A scalar of the precision's dtype, as in NumPy, decides in which dtype they are compared.
    limit = np.finfo(given.dtype).eps * tol if tol > 1 else tol
    are_small = all(abs(given.imag) < limit)
    return given.real if _C.look("real_if_close", are_small) else given


def asarray_chkfinite(
    a: Any, dtype: Any = None, order: str | None = None, *, device: DeviceLike = None
) -> Tensor:
    """Return a tensor, as ``asarray`` does; looks at whether all of its elements are finite.

    Parameters
    ----------
    a : Tensor, array or nested sequences
        Operand. Integers are finite, and are not looked at.
    dtype : dtype, optional
        Of the result.
    order : {"C"}, optional
        Accepted, as in NumPy; tensors have no other order.
    device : Device or str, optional
        Where the tensor goes.

    Raises
    ------
    ValueError
        For NaN and infinities, and for another order.

    Examples
    --------
    >>> flow.asarray_chkfinite([1.0, 2.0]).numpy()
    array([1., 2.])
    """
    if order is not None and order not in ("C", "K", "A"):
        raise ValueError(f"[asarray_chkfinite] expected order 'C', got {order!r}")
    given = asarray(a) if dtype is None and device is None else asarray(a, dtype, device=device)
    if given.dtype.kind not in "biu":
        are_finite = all(isfinite(given))
        if not _C.look("asarray_chkfinite", are_finite):
            raise ValueError("[asarray_chkfinite] expected finite numbers, got NaN or infinity")
    return given


if not TYPE_CHECKING:
    __all__ = exported(globals())
