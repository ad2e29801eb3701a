"""One tensor of many ranks in NumPy's .npy format."""

import io
import math
import os
from pathlib import Path
from tokenize import TokenError
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor
from oneflow_lite.device import resolve
from oneflow_lite.distributed import processes
from oneflow_lite.distributed.agreement import together
from oneflow_lite.distributed.files import mpi
from oneflow_lite.distributed.files.boxes import Box, box_to_write, extents
from oneflow_lite.distributed.files.replacement import Replacement, sync_file
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.dtypes import canonical
from oneflow_lite.interop.files import tensor_of

_ZEROS = bytes(1 << 20)


class Header(NamedTuple):
    """What a file says of its array, and where the elements begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    is_fortran: bool
    offset: int

    @property
    def file_size(self) -> int:
        """Bytes of the whole file."""
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


# --- written


def save(x: GlobalTensor, place: Replacement) -> None:
    """Write a tensor without partial values; all ranks of the world call it."""
    rank, layout = _C.current_member().rank, x.layout
    start = _start_of(x)
    box = box_to_write(layout, rank)
    values: list[npt.NDArray[Any]] = []

    def begin() -> None:
        if box is not None:
            values.append(x.to_local().numpy())
        if rank == 0:
            size = len(start) + x.size * x.dtype.itemsize
            _create(place.temporary, start, size, allocate=processes.mpi() is None)

    def write() -> None:
        if box is not None:
            _write(place.temporary, len(start), layout.shape, box, values[0])

    def end() -> None:
        if rank == 0:
            sync_file(place.temporary)
            place.put_in_place()

    for step in (begin, write, end):
        together("save", step)


def _start_of(x: GlobalTensor) -> bytes:
    """The bytes before the elements, as ``numpy.save`` writes them."""
    described = {
        "descr": np.lib.format.dtype_to_descr(x.dtype),
        "fortran_order": False,
        "shape": x.shape,
    }
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, described)
    return file.getvalue()


def _create(path: Path, start: bytes, size: int, allocate: bool) -> None:
    """Make the file in its full size.

    Where it is then mapped into memory its blocks are taken from the disk at once: a mapped file
    has no errors but signals.
    """
    with open(path, "xb") as file:
        file.write(start)
        file.truncate(size)
        file.flush()
        if allocate and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        elif allocate:  # macOS
            for at in range(len(start), size, len(_ZEROS)):
                file.write(_ZEROS[: size - at])


def _write(
    path: Path, offset: int, shape: tuple[int, ...], box: Box, value: npt.NDArray[Any]
) -> None:
    if (module := processes.mpi()) is not None:
        mpi.write(module, path, offset, shape, box, value)
        return
    mapped = np.memmap(path, value.dtype, "r+", offset, shape)
    mapped[box] = value
    mapped.flush()


# --- read


def header_of(path: Path) -> Header:
    """Read what the file says of itself.

    Raises
    ------
    FileNotFoundError
    TypeError
        For elements that tensors do not have.
    ValueError
        For a file of another format, and for one that is cut off.
    """
    if not path.exists():
        raise FileNotFoundError(f"[load] there is no file {path}")
    with open(path, "rb") as file:
        try:
            version = np.lib.format.read_magic(file)
            read = {
                (1, 0): np.lib.format.read_array_header_1_0,
                (2, 0): np.lib.format.read_array_header_2_0,
            }[version]
            shape, is_fortran, dtype = read(file)
        except (ValueError, KeyError, TokenError) as error:
            raise ValueError(
                f"[load] {path} is not a .npy file of an array of numbers ({error})"
            ) from error
        header = Header(dtype, shape, is_fortran, file.tell())
    if dtype != np.dtype("V2"):  # bfloat16, of which the format knows only the size
        canonical(dtype, "load")
    if (size := os.path.getsize(path)) < header.file_size:
        raise ValueError(
            f"[load] {path} is cut off: it has {size} bytes of {header.file_size}; save it again"
        )
    return header


def load(path: Path, header: Header, layout: Layout) -> GlobalTensor:
    """Read this rank's box; no rank waits for another one."""
    box = layout.box(_C.current_member().rank)
    sizes = (0,) if box is None else extents(box)
    native = header.dtype.newbyteorder("=")
    if box is None or 0 in sizes:
        found = np.empty(sizes, native)
    else:
        order: Literal["F", "C"] = "F" if header.is_fortran else "C"
        mapped = np.memmap(path, header.dtype, "r", header.offset, header.shape, order)
        found = np.array(mapped[box], native, order="C")
    return _C.of_new_part(tensor_of(found, resolve("cpu"), mapped=True), layout)
