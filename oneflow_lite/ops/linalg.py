"""Linear algebra."""

from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation import asarray
from oneflow_lite.ops.table import exported

_C.register_op("matmul", np.matmul, "matmul", 1, "Matrix product.", "matmul")


def matmul(x1: Any, x2: Any, /) -> Tensor:
    """Return the matrix product of the last two dimensions; the others are broadcast.

    Parameters
    ----------
    x1, x2 : Tensor or array
        Of at least one dimension; one dimension stands for a row on the left and a column on the
        right, which the result does not have.

    Raises
    ------
    ValueError
        Where the last dimension of x1 is not that of x2 before the last.

    Examples
    --------
    >>> flow.matmul(flow.tensor([[1.0, 2.0]]), flow.tensor([3.0, 4.0])).numpy()
    array([11.])
    """
    return _C.matmul(asarray(x1), asarray(x2))


if not TYPE_CHECKING:
    __all__ = exported(globals())
