"""Products of arrays of which one has a single element, as NumPy's calls of BLAS make them."""

import math

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import complex64, complex128, float32, float64
from oneflow_lite.ops.operands import promoted_dtype

__all__: list[str] = []

_OF_BLAS = (float32, float64, complex64, complex128)


def scalar_product(x: Tensor, y: Tensor) -> Tensor | None:
    """Return ``numpy.dot(x, y)`` where x or y has a single element; None where NumPy sums products.

    Several products are added to zeros, so none of them is -0.0, and where the single element is 0
    all stay 0, beside NaN, too. A product alone keeps its sign.
    """
    if x.size != 1 != y.size or x.ndim > 2 or y.ndim > 2 or promoted_dtype((x, y)) not in _OF_BLAS:
        return None
    if x.ndim and y.ndim:
        if x.shape[-1] != 1 or y.shape[0] != 1:
            return None
        shape: tuple[int, ...] = x.shape[:-1] + y.shape[1:]
    else:
        shape = x.shape + y.shape
    single, others = (x, y) if x.size == 1 else (y, x)
    factor = _C.reshape(single, (), None)
    products = factor * _C.reshape(others, shape, None)
    return products if math.prod(shape) == 1 else _C.where(factor == 0, 0, products + 0)
