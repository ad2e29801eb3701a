"""Which build of a library a file is: two of one version are not the same."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_PT_NOTE, _GNU_BUILD_ID = 4, 3
_HEADER = struct.Struct("<4sBB10x16xQ14xHH")  # of an ELF file of 64 bits: where its segments are
_SEGMENT = struct.Struct("<II" + "Q" * 6)


def build_id(path: str | Path) -> str:
    """Return what tells this build of a shared library from all others.

    That is the identifier that the linker has given it (the note NT_GNU_BUILD_ID, of which some
    hundred bytes are read), or size and date of the file where it has none.

    Parameters
    ----------
    path : str or Path
        Of the file.

    Examples
    --------
    >>> build_id(__file__) == build_id(__file__)
    True
    """
    with open(path, "rb") as file:
        for segment, alignment in _note_segments(file):
            for owner, kind, content in _notes(segment, alignment):
                if (owner, kind) == (b"GNU\0", _GNU_BUILD_ID):
                    return content.hex()
    found = Path(path).stat()
    return f"{found.st_size} bytes of {found.st_mtime_ns}"


def _notes(segment: bytes, alignment: int) -> Iterator[tuple[bytes, int, bytes]]:
    """Owner, kind and content of each note."""
    at = 0
    while at + 12 <= len(segment):
        owner_size, size, kind = struct.unpack_from("<III", segment, at)
        owner_end = at + 12 + owner_size
        begin = owner_end + -owner_end % alignment
        yield segment[at + 12 : owner_end], kind, segment[begin : begin + size]
        at = begin + size + -size % alignment


def _note_segments(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """The segments of notes of an ELF file of 64 bits, and how notes are aligned in each."""
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size:
        return
    magic, bits, order, table, entry_size, count = _HEADER.unpack(head)
    if (magic, bits, order) != (b"\x7fELF", 2, 1):
        return
    for k in range(count):
        file.seek(table + k * entry_size)
        kind, _, offset, _, _, size, _, alignment = _SEGMENT.unpack(file.read(_SEGMENT.size))
        if kind == _PT_NOTE:
            file.seek(offset)
            yield file.read(size), max(alignment, 4)
