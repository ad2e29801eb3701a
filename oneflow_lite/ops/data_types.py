"""Casts."""

from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.ops.table import exported


@_C.native(_C.paths.astype)
def astype(x: Any, /, dtype: Any, *, copy: bool = True, device: DeviceLike = None) -> Tensor:
    """Return x in another dtype; without ``copy``, x itself where it has that dtype.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    dtype : dtype
        Of the result; any cast is allowed, as with NumPy's ``astype``.
    copy : bool
        Copy even where nothing changes.
    device : Device or str, optional
        Where the result goes.

    Examples
    --------
    >>> flow.astype(flow.tensor([1.5, -2.5]), flow.int8).numpy()
    array([ 1, -2], dtype=int8)
    """


if not TYPE_CHECKING:
    __all__ = exported(globals())
