"""Draws of many ranks: each rank makes the numbers of its part, and no others.

The numbers of a draw are counted row-major over the shape of the whole. The box that a rank holds
is a window of them: its first number, and how many numbers lie between neighbours of a dimension.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Layout, Placement, Sbp, Tensor
from oneflow_lite.device import Device, DeviceLike
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.creation.spreading import broadcast, sbps_of

Sbps = Sbp | Sequence[Sbp] | None

Home = tuple[DeviceLike, Placement | None, Sbps]
"""Where a draw goes: a device, or a placement and an sbp for each axis of its grid."""


class Part(NamedTuple):
    """What this rank makes of a draw."""

    layout: Layout
    device: Device | None  # None: the rank is outside of the placement
    shape: tuple[int, ...]
    window: tuple[int, ...]  # as the kernel takes it; empty: all of the draw


def is_of_one_rank(home: Home) -> bool:
    """Return whether the draw is a tensor of this rank alone."""
    return home[1] is None and home[2] is None


def everywhere(placement: Placement) -> Home:
    """Return where each rank of a placement has all of the draw."""
    return None, placement, broadcast


def layout_of(op: str, shape: Sequence[int], home: Home) -> Layout:
    """Return the layout of a draw, which has no partial values.

    Raises
    ------
    TypeError
        For another placement or sbp, an sbp without a placement, and a device.
    ValueError
        For partial values, and for another number of sbps than the grid has axes.
    """
    device, placement, sbp = home
    if placement is None:
        raise TypeError(f"[{op}] sbp: expected a placement, too")
    sbps = sbps_of(op, device, placement, sbp)
    for each in sbps:
        if each.op is not None:
            raise ValueError(
                f"[{op}] numbers are drawn split or broadcast, got {each}; "
                "x.to_global(sbp=...) makes such values of what was drawn"
            )
    return Layout(list(shape), placement, sbps)


def part_of(op: str, shape: Sequence[int], home: Home) -> Part:
    """Return the part of a draw that this rank makes.

    Raises
    ------
    TypeError, ValueError
        As ``layout_of``; for a rank that is not in the world.

    Examples
    --------
    >>> from oneflow_lite.random.windows import part_of
    >>> ranks, split = flow.distributed.placement.all, flow.distributed.sbp.split
    >>> program = lambda: part_of("normal", (4, 6), (None, ranks("cpu"), split(1)))[2:]
    >>> flow.distributed.run(program, 2)
    [((4, 3), (0, 6, 1)), ((4, 3), (3, 6, 1))]
    """
    layout = layout_of(op, shape, home)
    device = _C.home_in(layout.placement)
    box = layout.box(_C.current_member().rank)
    if box is None:
        return Part(layout, None, (0,), ())
    own = tuple(each.stop - each.start for each in box)
    if own == tuple(shape) or 0 in own:
        return Part(layout, device, own, ())
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    first = sum(each.start * step for each, step in zip(box, steps, strict=True))
    return Part(layout, device, own, (first, *steps))


def made_whole(op: str, shape: Sequence[int], home: Home, make: Callable[[Home], Tensor]) -> Tensor:
    """Return what can be drawn as a whole only; of many ranks, each one keeps its part of it.

    Raises
    ------
    TypeError, ValueError
        As ``layout_of``.
    """
    if is_of_one_rank(home):
        return make(home)
    layout = layout_of(op, shape, home)
    whole = cast("GlobalTensor", make(everywhere(layout.placement)))
    return cast("Tensor", whole.to_global(sbp=list(layout.sbp)))


def source_of(op: str, x: Any, home: Home) -> tuple[Tensor, Home]:
    """Return the tensor that elements are taken of, and where their places are drawn.

    Raises
    ------
    TypeError
        For a placement beside what is no int, and for a device beside a GlobalTensor.
    """
    if isinstance(x, GlobalTensor):
        if home != (None, None, None):
            raise TypeError(f"[{op}] device, placement, sbp: the GlobalTensor decides them")
        return cast("Tensor", x), everywhere(x.placement)
    if not is_of_one_rank(home):
        raise TypeError(
            f"[{op}] placement: expected an int or a GlobalTensor to draw from; "
            "flow.tensor(x, placement=..., sbp=...) makes one of x"
        )
    given = asarray(x, device=home[0])
    return given, (given.device, None, None)
