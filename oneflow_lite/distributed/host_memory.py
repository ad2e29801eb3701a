"""Memory that the ranks of one host share (csrc/ep/communicators/mpi/segment.h)."""

import logging
import os
import secrets
from pathlib import Path
from typing import Any

_FOLDER = Path("/dev/shm")  # Linux keeps its files in memory
_NONE = -1

_log = logging.getLogger("oneflow_lite")


def share(node: Any, size: int, is_wanted: bool) -> int | None:
    """Return a file of zeros that all ranks of a host have open, and that has no name any more.

    All of them call it together.

    Parameters
    ----------
    node : mpi4py.MPI.Comm
        Of the ranks of this host.
    size : int
        In bytes.
    is_wanted : bool
        By this rank; all must want it.

    Returns
    -------
    int or None
        Its descriptor. None where one rank cannot have it: then nobody has.
    """
    if node.size == 1:
        return None
    path, file = _create(size) if node.rank == 0 and is_wanted else (None, _NONE)
    path = node.bcast(path)
    if node.rank != 0 and is_wanted and path is not None:
        file = _open(path)
    is_with_all = all(node.allgather(file != _NONE))
    if node.rank == 0 and path is not None:
        path.unlink()
    if is_with_all:
        return file
    if file != _NONE:
        os.close(file)
    _log.info("the ranks of this host share no memory: all they tell each other goes in messages")
    return None


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
