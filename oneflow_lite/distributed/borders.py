"""Elements that change their places along an axis: of a split one, some cross a border."""

from collections.abc import Callable, Sequence
from inspect import unwrap
from operator import index
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.functions import is_here, rule
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.sbp import broadcast
from oneflow_lite.distributed.shapes import (
    aligned,
    all_global,
    axis_of,
    cuts,
    expand_dims,
    listed,
    ravel,
    reshape,
    with_part,
)
from oneflow_lite.ops import utility
from oneflow_lite.ops.manipulation import joining, rearranging

Range = tuple[int, int]  # the first one, and behind the last


def _cut_once(name: str, x: GlobalTensor, dim: int) -> tuple[GlobalTensor, int]:
    """The tensor with a dimension that one axis of the grid splits; that axis, or -1."""
    axes = [axis for axis, each in enumerate(x.sbp) if each.dim == dim]
    if len(axes) > 1:
        x = _C.bring(name, x, [broadcast if each.dim == dim else each for each in x.sbp])
    return x, axes[0] if len(axes) == 1 else -1


def _wanted(x: GlobalTensor, axis: int, of: Callable[[Range], Range]) -> Tensor:
    """What this rank gets along an axis of the grid: each rank a range of the whole."""
    ranges = [of(own) for own in cuts(_C.layout_of(x), axis)]
    return _C.unbalance(x, axis, [(start, stop - start) for start, stop in ranges])


@rule("flip")
def flip(x: GlobalTensor, /, axis: int | Sequence[int] | None = None) -> GlobalTensor:
    """Return the tensor with the elements along axes in the opposite order.

    Of a split one, each rank gets what has its place in the opposite order.
    """
    given = range(x.ndim) if axis is None else listed(axis)
    dims = [axis_of(each, x.ndim, "flip") for each in given]
    if len(set(dims)) < len(dims):
        raise ValueError(f"[flip] an axis is given twice in {tuple(given)}")
    result = x
    for dim in dims:
        result = _flipped(result, dim)
    return result


def _flipped(x: GlobalTensor, dim: int) -> GlobalTensor:
    source, axis = _cut_once("flip", x, dim)
    extent = x.shape[dim]
    if axis < 0:
        part = source.to_local()
    else:
        part = _wanted(source, axis, lambda own: (extent - own[1], extent - own[0]))
    made = rearranging.flip(part, axis=dim) if is_here(x) else part
    return _C.of_part(made, source.layout, x)


@rule("roll")
def roll(x: GlobalTensor, /, shift: Any, axis: Any = None) -> GlobalTensor:
    """Return the tensor with its elements moved along axes; those at the end come to the front.

    Along a split axis only what crosses a border goes to another rank.
    """
    if axis is None:
        total = sum(index(by) for by in np.ravel(shift).tolist())
        return reshape(roll(ravel(x), total, 0), x.shape)
    shifts, axes = np.broadcast_arrays(np.atleast_1d(shift), np.atleast_1d(axis))
    result = x
    for by, along in zip(shifts.tolist(), axes.tolist(), strict=True):
        result = _rolled(result, index(by), axis_of(along, x.ndim, "roll"))
    return result


def _rolled(x: GlobalTensor, shift: int, dim: int) -> GlobalTensor:
    source, axis = _cut_once("roll", x, dim)
    extent = x.shape[dim]
    by = shift % extent if extent else 0  # of the whole; a part that is split has another extent
    if axis < 0 or by == 0:
        return with_part(
            source, x.shape, source.sbp, lambda part: rearranging.roll(part, by, axis=dim)
        )

    def from_the_end(own: Range) -> Range:
        return min(own[0], by) - by + extent, min(own[1], by) - by + extent

    def from_the_front(own: Range) -> Range:
        return max(own[0], by) - by, max(own[1], by) - by

    parts = [_wanted(source, axis, of) for of in (from_the_end, from_the_front)]
    made = joining.concat(parts, axis=dim) if is_here(x) else parts[0]
    return _C.of_part(made, source.layout, x)


@rule("concat", "concatenate", of_list=True)
def concat(
    arrays: Sequence[Any], /, axis: int | None = 0, out: None = None, **options: Any
) -> GlobalTensor:
    """Return tensors joined along an axis, in the sbp of the first one.

    Along a split axis, elements move to where they are balanced in the result.
    """
    given = all_global("concat", arrays)
    if axis is None:
        return concat([ravel(x) for x in given], axis=0, **options)
    first = given[0]
    along = axis_of(axis, first.ndim, "concat")
    axes = [at for at, each in enumerate(first.sbp) if each.dim == along]
    others = (first.shape[:along], first.shape[along + 1 :])
    if any(
        (x.shape[:along], x.shape[along + 1 :]) != others or x.ndim != first.ndim for x in given
    ):
        raise ValueError(f"[concat] shapes {[each.shape for each in given]} do not fit")
    sources, sbps = aligned("concat", given, along if len(axes) > 1 else None)
    shape = list(first.shape)
    shape[along] = sum(x.shape[along] for x in sources)
    layout = Layout(shape, first.placement, sbps)
    if len(axes) == 1:
        parts = _parts_of_result(sources, layout, axes[0])
    else:
        parts = [x.to_local() for x in sources]
    # Outside of the placement, of no elements in one dimension: its dtype.
    made = joining.concat(parts, axis=along if is_here(first) else 0, **options)
    return _C.of_part(made, layout, first)


def _parts_of_result(sources: Sequence[GlobalTensor], result: Layout, axis: int) -> list[Tensor]:
    """What this rank gets of each tensor, along an axis of the grid that splits the result."""
    dim = result.sbp[axis].dim
    assert dim is not None
    own, before, parts = cuts(result, axis), 0, []
    for x in sources:
        extent = x.shape[dim]
        ranges = [[min(max(end - before, 0), extent) for end in each] for each in own]
        parts.append(_C.unbalance(x, axis, [(a, b - a) for a, b in ranges]))
        before += extent
    return parts


@rule("stack", of_list=True)
def stack(
    arrays: Sequence[Any], /, axis: int = 0, out: None = None, **options: Any
) -> GlobalTensor:
    """Return tensors of one shape joined along a new axis, in the sbp of the first one."""
    given = all_global("stack", arrays)
    along = axis_of(axis, given[0].ndim + 1, "stack")
    return concat([expand_dims(x, along) for x in given], axis=along, **options)


rule("diff")(unwrap(utility.diff))  # of slices and differences, which have rules
