"""Other shapes of tensors of many ranks: each rank's part changes, and nothing moves if it can."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import index
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.creation import of_array
from oneflow_lite.distributed.functions import KNOWN, is_here, require_one_placement, rule
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.placement import Placement
from oneflow_lite.distributed.sbp import Sbp, broadcast, split
from oneflow_lite.ops.creation.data import empty
from oneflow_lite.ops.manipulation import shapes


def axis_of(axis: Any, ndim: int, name: str) -> int:
    """The axis counted from the first one."""
    return shapes.normalize_axes(index(axis), ndim, name)[0]


def listed(axis: Any) -> list[int]:
    """The axes that one integer of any type, or several, name."""
    if isinstance(axis, (tuple, list)):
        return [index(each) for each in axis]
    try:
        return [index(axis)]
    except TypeError:
        return [index(each) for each in axis]


def with_part(
    x: GlobalTensor,
    shape: Sequence[int],
    sbps: Sequence[Sbp],
    make: Callable[[Tensor], Tensor],
    dtype: Any = None,
) -> GlobalTensor:
    """The tensor whose parts a function makes of parts; where this rank has none, of no elements.

    ``dtype``: that of the result, if it is another one than that of x.
    """
    part = x.to_local()
    if is_here(x):
        made = make(part)
    else:
        made = part if dtype is None else empty(0, dtype=dtype, device=part.device)
    return _C.of_part(made, Layout(list(shape), x.placement, list(sbps)), x)


def line(placement: Placement, axis: int) -> list[int]:
    """The ranks along an axis of the grid, of the first line of it."""
    stride = math.prod(placement.grid[axis + 1 :])
    return [placement.rank_at(place * stride) for place in range(placement.grid[axis])]


def place_along(x: GlobalTensor, axis: int) -> int:
    """The place of this rank along an axis of the grid; negative: it is outside."""
    own = x.placement.parallel_id(_C.rank_of(x))
    stride = math.prod(x.placement.grid[axis + 1 :])
    return -1 if own is None else own // stride % x.placement.grid[axis]


@lru_cache(KNOWN)
def cuts(of: Layout, axis: int) -> list[tuple[int, int]]:
    """The ranges, first and behind the last, of the ranks along an axis of the grid that splits."""
    dim = of.sbp[axis].dim
    only = [each if at == axis else broadcast for at, each in enumerate(of.sbp)]
    layout = Layout(list(of.shape), of.placement, only)
    boxes = [layout.box(rank) for rank in line(of.placement, axis)]
    return [(box[dim].start, box[dim].stop) for box in boxes]  # type: ignore[index]


def moved(sbps: Sequence[Sbp], place: Callable[[int], int]) -> list[Sbp]:
    """The sbps after dimensions have gone to other places."""
    return [sbp if sbp.dim is None else split(place(sbp.dim)) for sbp in sbps]


@rule("permute_dims")
def permute_dims(x: GlobalTensor, /, axes: Sequence[int]) -> GlobalTensor:
    """Return the tensor with its dimensions in another order; nothing moves."""
    given = listed(axes)
    order = [axis_of(axis, x.ndim, "permute_dims") for axis in given]
    if sorted(order) != list(range(x.ndim)):
        raise ValueError(f"[permute_dims] axes {tuple(given)} are no order of {x.ndim} dimensions")
    shape = [x.shape[axis] for axis in order]
    return with_part(
        x, shape, moved(x.sbp, order.index), lambda part: shapes.permute_dims(part, tuple(order))
    )


@rule("transpose")
def transpose(x: GlobalTensor, axes: Any = None) -> GlobalTensor:
    """Return the tensor with its dimensions in another, by default the opposite, order."""
    return permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else axes)


@rule("swapaxes")
def swapaxes(x: GlobalTensor, axis1: int, axis2: int) -> GlobalTensor:
    """Return the tensor with two of its dimensions in each other's place."""
    order = list(range(x.ndim))
    a, b = (axis_of(axis, x.ndim, "swapaxes") for axis in (axis1, axis2))
    order[a], order[b] = b, a
    return permute_dims(x, order)


@rule("moveaxis")
def moveaxis(x: GlobalTensor, source: Any, destination: Any) -> GlobalTensor:
    """Return the tensor with some of its dimensions in other places."""
    given = [listed(each) for each in (source, destination)]
    if len(given[0]) != len(given[1]):
        raise ValueError("[moveaxis] source and destination have different lengths")
    sources, targets = ([axis_of(each, x.ndim, "moveaxis") for each in side] for side in given)
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for target, source_axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source_axis)
    return permute_dims(x, order)


@rule("expand_dims")
def expand_dims(x: GlobalTensor, /, axis: int | Sequence[int] = 0) -> GlobalTensor:
    """Return the tensor with new dimensions of extent 1."""
    given = listed(axis)
    ndim = x.ndim + len(given)
    new = {axis_of(each, ndim, "expand_dims") for each in given}
    if len(new) < len(given):
        raise ValueError(f"[expand_dims] axis comes twice in {tuple(given)}")
    old = [place for place in range(ndim) if place not in new]
    shape = [1 if place in new else x.shape[old.index(place)] for place in range(ndim)]
    axes = tuple(sorted(new))
    return with_part(
        x, shape, moved(x.sbp, old.__getitem__), lambda part: shapes.expand_dims(part, axis=axes)
    )


@rule("squeeze")
def squeeze(x: GlobalTensor, /, axis: int | Sequence[int] | None = None) -> GlobalTensor:
    """Return the tensor without dimensions of extent 1; by default without all of them."""
    if axis is None:
        gone = [place for place, extent in enumerate(x.shape) if extent == 1]
    else:
        given = [axis_of(each, max(x.ndim, 1), "squeeze") for each in listed(axis)]
        if len(set(given)) < len(given):
            raise ValueError(f"[squeeze] an axis is given twice: {tuple(listed(axis))}")
        gone = given if x.ndim else []  # NumPy takes an axis 0 of a 0-d array
    for place in gone:
        if x.shape[place] != 1:
            raise ValueError(f"[squeeze] axis {place} has extent {x.shape[place]}, expected 1")
    # Of an extent of 1, some ranks have nothing.
    source = _C.bring("squeeze", x, [broadcast if each.dim in gone else each for each in x.sbp])
    left = [place for place in range(x.ndim) if place not in gone]
    return with_part(
        source,
        [x.shape[place] for place in left],
        moved(source.sbp, left.index),
        lambda part: shapes.squeeze(part, axis=tuple(gone)),
    )


def _dims_of_same_elements(old: Sequence[int], new: Sequence[int]) -> list[tuple[range, range]]:
    """Groups of dimensions, of the old and of the new shape, that hold the same elements."""
    groups: list[tuple[range, range]] = []
    i, j = 0, 0
    while i < len(old) and j < len(new):
        begin, a, b = (i, j), old[i], new[j]
        i, j = i + 1, j + 1
        while a != b:
            if a < b and i < len(old):
                a, i = a * old[i], i + 1
            elif j < len(new):
                b, j = b * new[j], j + 1
            else:
                return groups
        groups.append((range(begin[0], i), range(begin[1], j)))
    return groups


def _kept_split(x: Layout, shape: Sequence[int], dim: int) -> int | None:
    """The dimension of the new shape that is cut at the same elements; None: there is none."""
    axes = [axis for axis, each in enumerate(x.sbp) if each.dim == dim]
    if math.prod(shape) == 0 or len(axes) > 1:
        return None
    for before, after in _dims_of_same_elements(x.shape, shape):
        if dim not in before:
            continue
        left = [d for d in before if x.shape[d] != 1]
        right = [d for d in after if shape[d] != 1]
        if not left or not right or left[0] != dim:
            return None
        inner = (
            math.prod(x.shape[d] for d in left[1:]),
            math.prod(shape[d] for d in right[1:]),
        )
        where = [
            [split(d) if axis in axes else broadcast for axis in range(len(x.sbp))]
            for d in (dim, right[0])
        ]
        old, new = (
            Layout(list(s), x.placement, w) for s, w in zip((x.shape, shape), where, strict=True)
        )
        for rank in line(x.placement, axes[0]):
            a, b = old.box(rank)[dim], new.box(rank)[right[0]]  # type: ignore[index]
            if (a.start * inner[0], a.stop * inner[0]) != (b.start * inner[1], b.stop * inner[1]):
                return None
        return right[0]
    return None


@lru_cache(KNOWN)
def _reshaped(x: Layout, given: tuple[int, ...]) -> tuple[list[Sbp], Layout]:
    """What is wanted of a tensor that gets another shape, and the layout that it has then."""
    extents, size = list(given), math.prod(x.shape)
    if extents.count(-1) == 1:
        known = math.prod(extent for extent in extents if extent != -1)
        if known and size % known == 0:
            extents[extents.index(-1)] = size // known
    if math.prod(extents) != size or any(extent < 0 for extent in extents):
        raise ValueError(f"[reshape] a tensor of shape {x.shape} has no shape {given}")
    wanted, sbps = [], []
    for each in x.sbp:
        dim = None if each.dim is None else _kept_split(x, extents, each.dim)
        is_lost = each.dim is not None and dim is None
        wanted.append(broadcast if is_lost else each)
        sbps.append(wanted[-1] if dim is None else split(dim))
    return wanted, Layout(extents, x.placement, sbps)


@rule("reshape")
def reshape(x: GlobalTensor, /, *shape: Any, copy: bool | None = None) -> GlobalTensor:
    """Return the elements in another shape.

    A split stays where the parts are the same elements in the new shape, and nothing moves. Else
    the tensor is made whole along that axis of the grid first.
    """
    if len(shape) == 2 and isinstance(shape[1], str):  # by its place in flow.reshape
        if shape[1] != "C":
            raise TypeError(f"[reshape] order: expected 'C' for a GlobalTensor, got {shape[1]!r}")
        shape = shape[:1]
    given = listed(shape[0]) if len(shape) == 1 else shape
    wanted, layout = _reshaped(_C.layout_of(x), tuple(map(index, given)))
    part = _C.bring("reshape", x, wanted).to_local()
    box = layout.box(_C.rank_of(x))
    if box is not None:
        part = shapes.reshape(part, tuple(each.stop - each.start for each in box), copy=copy)
    return _C.of_part(part, layout, x)


@rule("ravel", "flatten")
def ravel(x: GlobalTensor, order: str = "C") -> GlobalTensor:
    """Return the elements in one dimension."""
    if order != "C":
        raise ValueError(f"[ravel] order: expected 'C' for a tensor of many ranks, got {order!r}")
    return reshape(x, -1)


@rule("broadcast_to")
def broadcast_to(x: GlobalTensor, /, shape: Sequence[int] | int) -> GlobalTensor:
    """Return the tensor repeated along new dimensions, and along those of extent 1."""
    extents = listed(shape)
    added = len(extents) - x.ndim
    fits = added >= 0 and all(
        old in (1, new) for old, new in zip(x.shape, extents[max(added, 0) :], strict=True)
    )
    if not fits:
        raise ValueError(f"[broadcast_to] {x.shape} does not broadcast to {tuple(extents)}")
    grows = [d for d, old in enumerate(x.shape) if old != extents[d + added]]
    wanted = [broadcast if each.dim in grows else each for each in x.sbp]
    source = _C.bring("broadcast_to", x, wanted)
    layout = Layout(extents, x.placement, moved(source.sbp, lambda d: d + added))
    box = layout.box(_C.rank_of(x))
    part = source.to_local()
    if box is not None:
        part = shapes.broadcast_to(part, tuple(each.stop - each.start for each in box))
    return _C.of_part(part, layout, x)


def all_global(name: str, tensors: Sequence[Any]) -> list[GlobalTensor]:
    """All of them as tensors of many ranks, and on one placement; arrays in the sbps of the first.

    Raises
    ------
    TypeError
        For a tensor of this rank alone.
    """
    first = next(x for x in tensors if isinstance(x, GlobalTensor))
    given = [of_array(x, first, first.sbp) for x in tensors]
    for x in given:
        if not isinstance(x, GlobalTensor):
            raise TypeError(
                f"[{name}] one operand is a GlobalTensor, another a {type(x).__name__}; "
                "to_global() makes it one"
            )
        require_one_placement(name, first, x)
    return given


def aligned(
    name: str, tensors: Sequence[GlobalTensor], axis: int | None
) -> tuple[list[GlobalTensor], list[Sbp]]:
    """Tensors in the sbps of the first one, whole, and without a split of an axis."""
    first = tensors[0]
    sbps = [
        broadcast if each.op is not None or (axis is not None and each.dim == axis) else each
        for each in first.sbp
    ]
    return [_C.bring(name, x, sbps) for x in tensors], sbps
