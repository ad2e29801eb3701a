"""Functions of Python that are called for each lane along an axis, or for each axis."""

import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import TYPE_CHECKING, Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.joining import stack
from oneflow_lite.ops.manipulation.shapes import (
    expand_dims,
    moveaxis,
    normalize_axes,
    permute_dims,
)
from oneflow_lite.ops.operands import integers
from oneflow_lite.ops.table import exported


def apply_along_axis(
    func1d: Callable[..., Any], axis: SupportsIndex, arr: Any, *args: Any, **kwargs: Any
) -> Tensor:
    """Return what a function makes of each lane along an axis.

    Parameters
    ----------
    func1d : callable
        Is called as ``func1d(lane, *args, **kwargs)``, once for each lane, which is a view in one
        dimension. It returns a tensor, an array or a scalar.
    axis : int
        The axis that the lanes have.
    arr : Tensor or array
        Operand.
    *args, **kwargs
        What else the function is given.

    Returns
    -------
    Tensor
        The dimensions of what the function returns stand where the axis was. The dtype is that of
        the first lane: others are cast to it.

    Raises
    ------
    ValueError
        Where there is no lane.

    Examples
    --------
    >>> x = flow.tensor([[8, 1, 7], [4, 3, 9]])
    >>> flow.apply_along_axis(lambda lane: lane.max() - lane.min(), 1, x).numpy()
    array([7, 6])
    """
    given = asarray(arr)
    (along,) = normalize_axes(operator.index(axis), given.ndim, "apply_along_axis")
    lanes = moveaxis(given, along, -1)
    sizes = lanes.shape[:-1]
    if 0 in sizes:
        raise ValueError(f"[apply_along_axis] expected lanes, got none in shape {given.shape}")
    results = list(_like_the_first(_results(func1d, lanes, args, kwargs), given))
    inner = results[0].shape
    whole = _C.reshape(stack(results), (*sizes, *inner), None)
    before, last = range(along), range(len(sizes), whole.ndim)
    return permute_dims(whole, (*before, *last, *range(along, len(sizes))))


def _results(
    function: Callable[..., Any], lanes: Tensor, args: Any, kwargs: dict[str, Any]
) -> Iterator[Any]:
    for places in product(*map(range, lanes.shape[:-1])):
        yield function(lanes[(*places, ...)], *args, **kwargs)


def _like_the_first(results: Iterable[Any], x: Tensor) -> Iterator[Tensor]:
    """Yield tensors of the dtype and shape of the first one, by default on the device of x."""
    first: Tensor | None = None
    for result in results:
        made = result if isinstance(result, Tensor) else asarray(result, device=x.device)
        if first is None:
            first = made
        yield _C.broadcast_to(_C.astype(made, first.dtype, False), first.shape)


def apply_over_axes(func: Callable[[Tensor, int], Any], a: Any, axes: Any) -> Tensor:
    """Return what a function makes of a tensor along one axis after the other.

    Parameters
    ----------
    func : callable
        Is called as ``func(x, axis)``, once for each axis, with what it returned before. It returns
        a tensor of as many dimensions, or of one dimension less.
    a : Tensor or array
        Operand.
    axes : int or sequence of int
        The axes.

    Returns
    -------
    Tensor
        Of as many dimensions as a: those that the function left out have size 1.

    Raises
    ------
    ValueError
        Where the function returns a tensor of other dimensions.

    Examples
    --------
    >>> flow.apply_over_axes(flow.sum, flow.ones((2, 3, 4)), [0, 2]).numpy()
    array([[[8.],
            [8.],
            [8.]]])
    """
    value = asarray(a)
    ndim = value.ndim
    for axis in integers("apply_over_axes", axes):
        along = ndim + axis if axis < 0 else axis
        result = asarray(func(value, along))
        if result.ndim != value.ndim:
            result = expand_dims(result, along)
        if result.ndim != value.ndim:
            raise ValueError(
                f"[apply_over_axes] expected the function to return {value.ndim} dimensions or one "
                f"less, got shape {result.shape}"
            )
        value = result
    return value


if not TYPE_CHECKING:
    __all__ = exported(globals())
