"""Views that other functions do not give: windows, and any shape and strides."""

from collections.abc import Sequence
from typing import Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.shapes import Axes, normalize_axes

__all__ = ["as_strided", "sliding_window_view"]

Sizes = SupportsIndex | Sequence[SupportsIndex]


def as_strided(
    x: Any,
    shape: Sizes | None = None,
    strides: Sizes | None = None,
    subok: bool = False,
    writeable: bool = True,
) -> Tensor:
    """Return a view with a shape and strides of its own, which begins where x begins.

    Elements that are in the view twice are one: what is written to one place shows in the others.
    Operations in place are refused on such a view; ``view[key] = y`` may write to a part of it
    that has no element twice. While a function is recorded, the storage of an argument is as large
    as the argument: a view of it does not reach what is around a slice.

    Parameters
    ----------
    x : Tensor, array or nested sequence
        The elements; an array and a sequence are copied first.
    shape : int or sequence of int, optional
        That of x by default.
    strides : int or sequence of int, optional
        Bytes from one element to the next along each axis; those of x by default.
    subok : bool
        Is not used: there are no subclasses.
    writeable : bool
        True: a view is as writable as x.

    Raises
    ------
    ValueError
        Where an element would be outside of the storage of x, where strides do not fit the dtype,
        and for ``writeable=False``.

    Examples
    --------
    >>> as_strided = flow.lib.stride_tricks.as_strided
    >>> as_strided(flow.arange(4), (3, 2), (8, 8)).numpy()
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    if not writeable:
        raise ValueError("[as_strided] writeable: expected True, as a view is as writable as x")
    given = asarray(x)
    return _C.strided_view(
        given,
        given.shape if shape is None else shape,
        given.strides if strides is None else strides,
        "as_strided",
    )


def sliding_window_view(
    x: Any,
    window_shape: Sizes,
    axis: Axes | None = None,
    *,
    subok: bool = False,
    writeable: bool = False,
) -> Tensor:
    """Return a view of all windows of a shape: the places of a window, then what is in it.

    Parameters
    ----------
    x : Tensor, array or nested sequence
        The elements; an array and a sequence are copied first.
    window_shape : int or sequence of int
        The extent of the window along each of the axes.
    axis : int or sequence of int, optional
        The axes along which it slides, which may come again; all by default.
    subok : bool
        Is not used: there are no subclasses.
    writeable : bool
        Is not used: the view is no copy, and as writable as x; see ``as_strided``.

    Raises
    ------
    ValueError
        For a negative extent, one that is larger than x, and another number of them than of axes.

    Examples
    --------
    >>> windows = flow.lib.stride_tricks.sliding_window_view
    >>> windows(flow.arange(5), 3).sum(axis=-1).tolist()
    [3, 6, 9]
    """
    op = "sliding_window_view"
    given = asarray(x)
    sizes = _C.integers(window_shape, op)
    axes = tuple(range(given.ndim)) if axis is None else _axes(axis, given.ndim, op)
    if len(sizes) != len(axes):
        raise ValueError(
            f"[{op}] expected an extent for each of {len(axes)} axes, got {len(sizes)}"
        )
    places = list(given.shape)
    for along, size in zip(axes, sizes, strict=True):
        if not 0 <= size <= places[along]:
            raise ValueError(
                f"[{op}] expected an extent from 0 to {places[along]} along axis {along}, "
                f"got {size}"
            )
        places[along] -= size - 1
    steps = [given.strides[along] for along in axes]
    return _C.strided_view(given, (*places, *sizes), (*given.strides, *steps), op)


def _axes(axis: Axes, ndim: int, op: str) -> tuple[int, ...]:
    """Each axis counted from 0; one may come again."""
    given = axis if isinstance(axis, Sequence) else (axis,)
    return tuple(normalize_axes(one, ndim, op)[0] for one in given)
