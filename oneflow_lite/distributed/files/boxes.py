"""Which rank writes which box of a file, and in which pieces."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from oneflow_lite.distributed.layout import Layout

Box = tuple[slice, ...]

# MPI counts bytes by an int of 32 bits.
MOST_BYTES = 1 << 30


def extents(box: Box) -> tuple[int, ...]:
    """The shape of what is in a box."""
    return tuple(each.stop - each.start for each in box)


def box_to_write(layout: Layout, rank: int) -> Box | None:
    """What a rank writes: its box, if it is the first one that has it, and if it is not empty."""
    place, box = layout.placement.parallel_id(rank), layout.box(rank)
    if place is None or box is None or 0 in extents(box):
        return None
    coordinates = np.unravel_index(place, layout.placement.grid)
    is_first = all(
        c == 0 for c, sbp in zip(coordinates, layout.sbp, strict=True) if sbp.dim is None
    )
    return box if is_first else None


def pieces(box: Box, itemsize: int, most: int) -> Iterator[Box]:
    """Cut a box along its first dimensions, until no piece has more than so many bytes."""
    shape = extents(box)
    if math.prod(shape) * itemsize <= most:
        yield box
        return
    dim = next(d for d, extent in enumerate(shape) if extent > 1)
    step = max(1, most // (math.prod(shape[dim + 1 :]) * itemsize))
    for start in range(box[dim].start, box[dim].stop, step):
        part = slice(start, min(start + step, box[dim].stop))
        yield from pieces((*box[:dim], part, *box[dim + 1 :]), itemsize, most)


def inside(piece: Box, box: Box) -> Box:
    """Where a piece is in the array of a box."""
    return tuple(
        slice(p.start - b.start, p.stop - b.start) for p, b in zip(piece, box, strict=True)
    )


def strides_of(shape: Sequence[int], itemsize: int) -> list[int]:
    """Bytes from one element to the next along each dimension, row by row."""
    return [math.prod(shape[d + 1 :]) * itemsize for d in range(len(shape))]
