"""Tensors that functions of the program make: of coordinates, or element by element."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.numpy.index_arrays import indices
from oneflow_lite.ops.table import exported

_Function = Callable[..., Any]


def fromfunction(
    function: _Function,
    shape: Sequence[int],
    *,
    dtype: Any = float,
    device: DeviceLike = None,
    **kwargs: Any,
) -> Any:
    """Return what a function makes of the indices of a shape.

    Parameters
    ----------
    function : callable
        It is called once, with a tensor of coordinates for each dimension.
    shape : sequence of int
        The shape.
    dtype : dtype
        Of the coordinates.
    device : Device or str, optional
        Where they are.
    **kwargs
        What the function is given, too.

    Returns
    -------
    Tensor
        Or whatever else the function returns.

    Examples
    --------
    >>> flow.fromfunction(lambda i, j: i + j, (2, 3), dtype=int).numpy()
    array([[0, 1, 2],
           [1, 2, 3]])
    """
    return function(*indices(shape, dtype, device=device), **kwargs)


def vectorize(
    pyfunc: _Function | None = None,
    otypes: Any = None,
    doc: str | None = None,
    excluded: Any = None,
    cache: bool = False,
    signature: str | None = None,
) -> _Function:
    """Return a function that calls another one for each element.

    Parameters
    ----------
    pyfunc : callable, optional
        It is given NumPy's scalars. None: a decorator is returned.
    otypes, doc, excluded, cache, signature
        As for ``numpy.vectorize``.

    Returns
    -------
    callable
        It looks at tensors, and makes a tensor, or a tuple of tensors, on the device of the first.

    Examples
    --------
    >>> at_most = flow.vectorize(lambda x, limit: limit if x > limit else x)
    >>> at_most(flow.tensor([1, 5, 3]), 4).numpy()
    array([1, 4, 3])
    """
    if pyfunc is None:
        return lambda given: vectorize(given, otypes, doc, excluded, cache, signature)
    inner = np.vectorize(pyfunc, otypes, doc, excluded, cache, signature)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        home = next((x.device for x in given if isinstance(x, Tensor)), None)
        results = inner(*map(_seen, args), **{name: _seen(x) for name, x in kwargs.items()})
        if isinstance(results, tuple):
            return tuple(asarray(one, device=home) for one in results)
        return asarray(results, device=home)

    call.__name__ = call.__qualname__ = getattr(pyfunc, "__name__", "vectorized")
    call.__doc__ = inner.__doc__
    return call


def _seen(x: Any) -> Any:
    return _C.look("vectorize", x) if isinstance(x, Tensor) else x


if not TYPE_CHECKING:
    __all__ = exported(globals())
