"""Memory that the ranks of one host share (csrc/ep/communicators/mpi/segment.h)."""

import logging
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

_FOLDER = Path("/dev/shm")  # Linux keeps its files in memory
_NONE = -1

_log = logging.getLogger("oneflow_lite")

Memory = TypeVar("Memory")


def share(
    node: Any, size: int, is_wanted: bool, map_file: Callable[[int], Memory]
) -> Memory | None:
    """Return a file of zeros that all ranks of a host have mapped, and that has no name any more.

    All of them call it together.

    Parameters
    ----------
    node : mpi4py.MPI.Comm
        Of the ranks of this host.
    size : int
        In bytes.
    is_wanted : bool
        By this rank; all must want it.
    map_file : callable
        Maps the file of a descriptor, or raises MemoryError.

    Returns
    -------
    Memory or None
        What ``map_file`` returns. None where one rank cannot have it: then nobody has.
    """
    if node.size == 1:
        return None
    path, file = _create(size) if node.rank == 0 and is_wanted else (None, _NONE)
    try:
        told = node.bcast(path)
        if node.rank != 0 and is_wanted and told is not None:
            file = _open(told)
        memory = _mapped(file, map_file)
        is_with_all = all(node.allgather(memory is not None))
    finally:
        if path is not None:
            path.unlink(missing_ok=True)
    if is_with_all:
        return memory
    _log.info("the ranks of this host share no memory: all they tell each other goes in messages")
    return None


def _mapped(file: int, map_file: Callable[[int], Memory]) -> Memory | None:
    if file == _NONE:
        return None
    try:
        return map_file(file)
    except MemoryError as error:
        _log.info("the memory of the ranks of this host: %s", error)
        return None
    finally:
        os.close(file)


def _create(size: int) -> tuple[Path | None, int]:
    """Have all of its memory at once: where there is too little, later is a crash."""
    path = _FOLDER / f"oneflow_lite-{os.getpid()}-{secrets.token_hex(8)}"
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        _log.info("no file for the memory of the ranks of this host: %s", error)
        return None, _NONE
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        _log.info("no %d bytes for the memory of the ranks of this host: %s", size, error)
        os.close(file)
        path.unlink()
        return None, _NONE
    return path, file


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:  # another container on the same host
        _log.info("the memory of the ranks of this host is not here: %s", error)
        return _NONE
