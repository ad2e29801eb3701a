"""Which part of a tensor each rank holds, and the steps from one layout to another."""

from collections.abc import Sequence
from operator import index
from typing import NamedTuple

from oneflow_lite import _C
from oneflow_lite.distributed.placement import Placement
from oneflow_lite.distributed.sbp import Sbp

Layout = _C.Layout
Step = _C.BoxingStep


class Piece(NamedTuple):
    """What a rank gets from another one, or gives it; itself among them."""

    rank: int
    box: tuple[slice, ...]
    part: int


def layout(shape: Sequence[int], placement: Placement, sbp: Sbp | Sequence[Sbp]) -> Layout:
    """Return the layout of a tensor: a pure function of shape, placement and sbp.

    Parts are balanced as ``numpy.array_split`` cuts them. Where several axes of the grid split one
    dimension, the later one cuts the parts of the earlier one.

    Parameters
    ----------
    shape : sequence of int
        Of the whole tensor.
    placement : Placement
    sbp : Sbp or sequence of Sbp
        One for each axis of the grid.

    Returns
    -------
    Layout
        There is one object of each value. It has ``shape``, ``placement``, ``sbp``, and
        ``box(rank)``: the slices of the whole tensor that a rank holds, None for one outside.
        ``fingerprint()`` is the same in each process.

    Raises
    ------
    IndexError
        For a split of a dimension that is not there.
    ValueError
        For another number of sbps, and a negative extent.

    Examples
    --------
    >>> from oneflow_lite.distributed import layout, placement, sbp
    >>> ranks = placement("cpu", ranks=[[0, 1], [2, 3]])
    >>> rows = layout((5, 3), ranks, [sbp.split(0), sbp.split(0)])
    >>> [rows.box(rank)[0] for rank in range(4)]
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None), slice(4, 5, None)]
    >>> rows
    (5, 3) split(0), split(0) on cpu [[0, 1], [2, 3]]
    """
    sbps = [sbp] if isinstance(sbp, Sbp) else list(sbp)
    return Layout([index(n) for n in shape], placement, sbps)


def boxing(source: Layout, target: Layout) -> list[Step]:
    """Return the steps that give a tensor another layout.

    A step has ``kind``, ``axis`` (of the grid), ``source``, ``target`` (layouts) and
    ``bytes_received(rank, itemsize)``. It changes one axis, and only ranks along that axis send
    each other something; what shrinks a rank's part comes before what lets it grow. Where no such
    steps lead there without a detour, one step of kind "exchange" has no axis, and any ranks send
    each other pieces.

    Parameters
    ----------
    source, target : Layout
        Of one shape.

    Returns
    -------
    list of Step
        In their order; empty where both are one.

    Raises
    ------
    ValueError
        For layouts of two shapes.

    Notes
    -----
    ======================  ==================  ===============================================
    kind                    from, to            bytes that a rank gets; T of a whole, p ranks
    ======================  ==================  ===============================================
    slice                   broadcast, split    none
    gather                  split, broadcast    T (p - 1) / p
    move                    split(i), split(j)  T (p - 1) / p²
    reduce_scatter          partial, split      T (p - 1) / p
    reduce                  partial, broadcast  2 T (p - 1) / p; or T (p - 1) if small
    place                   any, partial        none
    exchange                any                 what it lacks
    ======================  ==================  ===============================================

    Examples
    --------
    >>> from oneflow_lite.distributed import boxing, layout, placement, sbp
    >>> ranks = placement("cpu", ranks=[0, 1, 2, 3])
    >>> rows, columns = (layout((8, 8), ranks, sbp.split(d)) for d in (0, 1))
    >>> [(step.kind, step.bytes_received(0, itemsize=4)) for step in boxing(rows, columns)]
    [('move', 48)]
    """
    return _C.plan_boxing(source, target)


def received(source: Layout, target: Layout, rank: int) -> list[Piece]:
    """Return the pieces that a rank gets when a tensor gets another layout at once.

    Parameters
    ----------
    source, target : Layout
        Of one shape. ``target`` has no partial values, but where ``source`` has the same.
    rank : int

    Returns
    -------
    list of Piece
        ``rank`` that has it, ``box`` in the whole tensor, and ``part``: which of the values it is
        that the operator of a partial ``source`` is over. What the rank itself has is among them.

    Raises
    ------
    ValueError
        For other layouts.

    Notes
    -----
    The time depends on the number of pieces, and not on that of the ranks.

    Examples
    --------
    >>> from oneflow_lite.distributed import layout, placement, received, sbp
    >>> two, three = placement("cpu", ranks=[0, 1]), placement("cpu", ranks=[0, 1, 2])
    >>> before, after = layout([6], two, sbp.split(0)), layout([6], three, sbp.split(0))
    >>> [(piece.rank, piece.box) for piece in received(before, after, rank=1)]
    [(0, (slice(2, 3, None),)), (1, (slice(3, 4, None),))]
    """
    return [Piece(*piece) for piece in _C.pieces_received(source, target, index(rank))]


def sent(source: Layout, target: Layout, rank: int) -> list[Piece]:
    """Return the pieces that a rank gives: what it sends others receive.

    Parameters
    ----------
    source, target, rank
        As of ``received``.

    Returns
    -------
    list of Piece
        As of ``received``, with the rank that gets it.

    Raises
    ------
    ValueError
        As of ``received``.

    Examples
    --------
    >>> from oneflow_lite.distributed import layout, placement, sbp, sent
    >>> two, three = placement("cpu", ranks=[0, 1]), placement("cpu", ranks=[0, 1, 2])
    >>> before, after = layout([6], two, sbp.split(0)), layout([6], three, sbp.split(0))
    >>> [(piece.rank, piece.box) for piece in sent(before, after, rank=1)]
    [(1, (slice(3, 4, None),)), (2, (slice(4, 6, None),))]
    """
    return [Piece(*piece) for piece in _C.pieces_sent(source, target, index(rank))]
