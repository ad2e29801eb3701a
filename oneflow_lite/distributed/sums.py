"""Many tensors in few collectives, and sums of blocks that do not depend on the number of ranks."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.functions import is_here
from oneflow_lite.distributed.global_tensor import list_of_sbps, require_placement
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.placement import Placement, everywhere
from oneflow_lite.distributed.sbp import Sbp, broadcast, partial_sum


def _listed(name: str, given: Any) -> list[Any]:
    """A list of them; one tensor is none, though it could be looped over."""
    if isinstance(given, (GlobalTensor, Tensor)):
        raise TypeError(f"[{name}] expected a list of tensors, got a {type(given).__name__}")
    return list(given)


def _are_global(name: str, given: list[Any]) -> bool:
    """Whether they are tensors of many ranks, or all of this rank alone; nothing else fits."""
    kinds = {isinstance(each, GlobalTensor) for each in given}
    for each in given:
        if not isinstance(each, (GlobalTensor, Tensor)):
            raise TypeError(f"[{name}] expected tensors in the list, got {type(each).__name__}")
    if len(kinds) == 2:
        raise TypeError(
            f"[{name}] got tensors of this rank alone and of many ranks in one list; "
            "x.to_global() makes a tensor of this rank one of many"
        )
    return True in kinds


def to_global(
    tensors: Sequence[GlobalTensor] | Sequence[Tensor],
    placement: Placement | None = None,
    sbp: Sbp | Sequence[Sbp] | None = None,
) -> list[GlobalTensor]:
    """Give each of many tensors a layout, in few collectives.

    The values are those of ``[x.to_global(placement, sbp) for x in tensors]``, bit for bit. Partial
    values that are made whole go together in buckets of up to 4 MiB, which the list alone decides.
    Tensors of one bucket have the same placement, dtype and operator, and become whole along the
    same axes of the grid. A bucket moves when its own tensors are computed. All others go by
    themselves.

    Parameters
    ----------
    tensors : sequence of GlobalTensor, or sequence of Tensor
        The same ones on all ranks. Tensors of this rank alone need ``placement`` and ``sbp``. All
        ranks of the world give as many of them, and the call waits for one collective in which they
        tell each other all shapes. What is broadcast goes in buckets, too.
    placement : Placement, optional
        By default its own, for a tensor of many ranks.
    sbp : Sbp or sequence of Sbp, optional
        For each axis of the grid; of all the tensors. By default its own, for a tensor of many
        ranks.

    Returns
    -------
    list of GlobalTensor
        Results of one bucket are views of the same memory, which is kept as long as one of them is.

    Raises
    ------
    TypeError
        For anything else in the list, and for both kinds of tensors.
    ValueError
        As of ``x.to_global()``, on all ranks; it says which tensor of the list is meant.
    RankError
        At the results of a bucket, where one of its tensors has failed on some rank.

    Examples
    --------
    >>> ranks = flow.distributed.placement("cpu", ranks=[0])
    >>> local = [flow.ones(2), flow.arange(3.0)]
    >>> gradients = flow.distributed.to_global(local, ranks, flow.distributed.sbp.partial_sum)
    >>> whole = flow.distributed.to_global(gradients, sbp=flow.distributed.sbp.broadcast)
    >>> [x.tolist() for x in whole]
    [[1.0, 1.0], [0.0, 1.0, 2.0]]
    """
    if placement is not None:
        require_placement(placement)
    sbps = None if sbp is None else list_of_sbps(sbp)
    return _in_layouts(_listed("to_global", tensors), placement, sbps)


def _in_layouts(
    given: list[Any], placement: Placement | None, sbps: list[Sbp] | None
) -> list[GlobalTensor]:
    if not given:
        return []
    if not _are_global("to_global", given):
        if placement is None or sbps is None:
            raise TypeError("[to_global] tensors of this rank alone need placement= and sbp=")
        return _C.assemble_all(given, placement, sbps)
    layouts = [
        Layout(list(x.shape), placement or x.placement, list(x.sbp) if sbps is None else sbps)
        for x in given
    ]
    return _C.box_all(given, layouts)


def tree_sum(
    blocks: GlobalTensor | Sequence[GlobalTensor] | Sequence[Tensor],
    placement: Placement | None = None,
) -> GlobalTensor:
    """Add blocks in an order that does not depend on the number of ranks.

    The order is the balanced tree of the positions of all blocks of all ranks, (0 + 1) + (2 + 3),
    and so on; the last one of an odd number waits for the next level. So 8 blocks have the same
    sum, bit for bit, on 1, 2, 3, 4 and 8 ranks. Only sums move where all ranks have the same power
    of two of blocks. Else blocks move first, so that each rank has a power of two of neighbours.

    Parameters
    ----------
    blocks : sequence of Tensor, GlobalTensor, or sequence of GlobalTensor
        Tensors of this rank alone: its own blocks, of one shape and dtype; first are those of the
        first rank of the placement. Any rank may have any number of them. All ranks of the world
        call it, and wait for what the others have.

        A tensor of many ranks: each of its rows is a block.

        Tensors of many ranks of one layout, which are partial sums: the part that a rank has of
        each is a block. First are all blocks of the first rank.
    placement : Placement, optional
        Of tensors of this rank alone; by default all ranks, on the device type of the blocks, or
        "cpu" for a rank without any.

    Returns
    -------
    GlobalTensor
        Each rank has all of it. It has the dtype of the blocks; each addition is rounded to it.

    Raises
    ------
    TypeError
        For anything else, and a placement beside tensors that have one.
    ValueError
        On all ranks, for blocks of different shapes or dtypes, and for none. For tensors of many
        ranks that are no partial sums of one layout, and rows of a 0-d tensor.

    Examples
    --------
    >>> def program(count):
    ...     rank, ranks = flow.distributed.rank(), flow.distributed.world_size()
    ...     blocks = [flow.full(1, 0.1 * k, dtype="float32") for k in range(8)]
    ...     return flow.distributed.tree_sum(blocks[rank * count : (rank + 1) * count]).item()
    >>> one, four = (flow.distributed.run(program, ranks, 8 // ranks) for ranks in (1, 4))
    >>> one[0] == four[0] == four[3]
    True
    """
    if isinstance(blocks, GlobalTensor):
        _refuse_placement(placement)
        return _sum_of_rows(blocks)
    given = _listed("tree_sum", blocks)
    if _are_global("tree_sum", given):
        _refuse_placement(placement)
        return _sum_of_parts(given)
    if placement is None:
        placement = everywhere(given[0].device.type if given else "cpu")
    require_placement(placement, "tree_sum")
    return _C.sum_blocks(given, placement)


def _refuse_placement(placement: Placement | None) -> None:
    if placement is not None:
        raise TypeError("[tree_sum] placement: the blocks are of many ranks, and have one")


def _sum_of_rows(x: GlobalTensor) -> GlobalTensor:
    """Rows of one tensor; along other dimensions it may be split, too."""
    if x.ndim == 0:
        raise ValueError("[tree_sum] expected a tensor whose rows are blocks, got one of 0-d")
    if x.shape[0] == 0:
        raise ValueError("[tree_sum] expected at least one row, got none")
    whole = x.to_global(sbp=[broadcast if each.op else each for each in x.sbp])
    axes = [axis for axis, each in enumerate(whole.sbp) if each.dim == 0]
    part = whole.to_local()
    rest = [broadcast if each.dim in (0, None) else Sbp.split(each.dim - 1) for each in whole.sbp]
    rows = [part[k] for k in range(part.shape[0])] if is_here(whole) else []
    counts = _rows_along(whole, axes) if is_here(whole) else []
    return _summed(whole, rows, axes, counts, Layout(list(x.shape[1:]), x.placement, rest))


def _rows_along(x: GlobalTensor, axes: list[int]) -> list[int]:
    """How many rows the ranks have that differ from this one along these axes of the grid."""
    grid = x.placement.grid
    own = np.unravel_index(x.placement.parallel_id(_C.rank_of(x)) or 0, grid)
    counts = []
    for places in product(*(range(grid[axis]) for axis in axes)):
        at = [int(place) for place in own]
        for axis, place in zip(axes, places, strict=True):
            at[axis] = place
        box = x.layout.box(x.placement.rank_at(int(np.ravel_multi_index(at, grid))))
        assert box is not None
        counts.append(box[0].stop - box[0].start)
    return counts


def _sum_of_parts(given: list[GlobalTensor]) -> GlobalTensor:
    """Partial sums; the part that a rank has of each is a block."""
    first = given[0]
    for each in given:
        if each.layout != first.layout or each.dtype != first.dtype:
            raise ValueError(
                f"[tree_sum] got {first.dtype} {first.layout} and {each.dtype} {each.layout}; "
                "all blocks have one dtype and one layout"
            )
    axes = [axis for axis, each in enumerate(first.sbp) if each == partial_sum]
    if not axes:
        raise ValueError(
            f"[tree_sum] expected partial sums, whose parts are the blocks, got {first.layout}; "
            "give the tensors that this rank has, by x.to_local()"
        )
    rest = [broadcast if axis in axes else each for axis, each in enumerate(first.sbp)]
    ranks = math.prod(first.placement.grid[axis] for axis in axes)
    parts = [each.to_local() for each in given] if is_here(first) else []
    counts = ranks * [len(given)]
    return _summed(first, parts, axes, counts, Layout(list(first.shape), first.placement, rest))


def _summed(
    like: GlobalTensor, own: list[Tensor], axes: list[int], counts: list[int], layout: Layout
) -> GlobalTensor:
    """Blocks of the ranks along some axes of the grid; all ranks get the sum, all of it."""
    box = layout.box(_C.rank_of(like))
    shape = [each.stop - each.start for each in box or ()]
    part = _C.sum_known_blocks(own, like, axes, counts, shape)
    return _C.of_part(part, layout, like).to_global(sbp=[broadcast] * len(layout.sbp))
