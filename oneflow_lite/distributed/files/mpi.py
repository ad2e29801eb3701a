"""Pieces of a file written by MPI, whose file systems know of many writers.

Each rank opens the file for itself, and waits for no other one: ``together`` is what joins them.
MPI's collective calls are not taken. Open MPI 5.0.11 hangs in a collective open where one rank has
no descriptor left, and in a collective write where one rank fails in the midst of it; a shorter
write that fails it reports as done.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite.distributed.files.boxes import (
    MOST_BYTES,
    Box,
    extents,
    inside,
    pieces,
    strides_of,
)


def write(
    mpi: Any,
    path: Path,
    offset: int,
    shape: tuple[int, ...],
    box: Box,
    array: npt.NDArray[Any],
    most: int = MOST_BYTES,
) -> None:
    """Write the elements of a box to a file that is there, and wait until they are on its disk.

    Parameters
    ----------
    mpi : module
        ``mpi4py.MPI``.
    path : Path
    offset : int
        Bytes before the first element of the whole array, which is in row-major order.
    shape : tuple of int
        Of the whole array.
    box : tuple of slice
        Not empty.
    array : array
        What is in the box.
    most : int
        Bytes that are written at once.

    Raises
    ------
    OSError
        Where MPI could not do it.
    """
    try:
        # Nothing is read, so no gap between rows is written back over what others have put there.
        hints = mpi.Info.Create({"romio_ds_write": "disable"})
        file = mpi.File.Open(mpi.COMM_SELF, str(path), mpi.MODE_WRONLY, hints)
        hints.Free()
        try:
            for piece in pieces(box, array.itemsize, most):
                part = np.ascontiguousarray(array[inside(piece, box)])
                _write_piece(mpi, file, offset, shape, piece, part)
            file.Sync()
        finally:
            file.Close()
    except mpi.Exception as error:
        raise OSError(f"[save] MPI could not write to {path}: {error}") from error


def _write_piece(
    mpi: Any,
    file: Any,
    offset: int,
    shape: tuple[int, ...],
    piece: Box,
    part: npt.NDArray[Any],
) -> None:
    """Let the file be seen as the rows of a piece, and write them."""
    strides = strides_of(shape, part.itemsize)
    rows = _rows(mpi, shape, piece, part.itemsize)
    start = sum(each.start * stride for each, stride in zip(piece, strides, strict=True))
    status = mpi.Status()
    try:
        file.Set_view(offset + start, mpi.BYTE, rows)
        file.Write([part.reshape(-1).view(np.uint8), mpi.BYTE], status)
    finally:
        rows.Free()
    if status.Get_count(mpi.BYTE) != part.nbytes:
        written = status.Get_count(mpi.BYTE)
        raise OSError(f"[save] MPI has written {written} of {part.nbytes} bytes; is the disk full?")


def _rows(mpi: Any, shape: tuple[int, ...], piece: Box, itemsize: int) -> Any:
    """The datatype of a piece in the file: bytes in a row, and strides of such, a level each."""
    sizes, strides = extents(piece), strides_of(shape, itemsize)
    dim, run = len(shape), itemsize
    while dim and sizes[dim - 1] == shape[dim - 1]:
        dim, run = dim - 1, run * sizes[dim - 1]
    if dim:
        dim, run = dim - 1, run * sizes[dim - 1]
    kind = mpi.BYTE.Create_contiguous(run)
    for outer in reversed(range(dim)):
        inner = kind
        kind = inner.Create_hvector(sizes[outer], 1, strides[outer])
        inner.Free()
    kind.Commit()
    return kind
