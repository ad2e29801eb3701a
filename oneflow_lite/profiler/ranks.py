"""What a trace needs to know of the rank that it is of, to be merged with those of other ranks."""

import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

from oneflow_lite import launchers


class Rank(NamedTuple):
    """What traces say of the process that they are of, as a rank."""

    rank: int
    size: int
    run: str  # the same on all ranks, and in no other run
    machine: str  # a name of it
    # What is added to a time of CLOCK_MONOTONIC here to give the time of rank 0's at that moment;
    # it is wrong by the second number at most. On one machine both are 0: the clock is the same.
    offset_ns: int
    uncertainty_ns: int


_known: list[Rank] = []  # at most one


def enter_world(rank: Rank) -> None:
    """Have the traces of this process say which rank they are of."""
    _known[:] = [rank]


def known() -> Rank | None:
    """Return the rank that this process is; None where it has entered no world."""
    return _known[0] if _known else None


def notes(start_ns: int) -> dict[str, Any]:
    """Return what a trace says of its rank. Its times are microseconds since ``start_ns``."""
    rank = known()
    said: dict[str, Any] = {"clock": "CLOCK_MONOTONIC", "start_ns": start_ns}
    return said if rank is None else said | rank._asdict()


def path_of_rank(path: str) -> str:
    """Return where this process writes its trace.

    One of several processes has its rank in the name of its file, so that none overwrites that of
    another: ``trace.json`` is ``trace.rank0.json`` for rank 0. The launcher says which rank it is,
    as the file is opened before the process enters its world. What is there and is no regular file
    (a pipe, a terminal) keeps its name.
    """
    rank = launchers.meant_rank()
    if rank is None:
        return path
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return path
    except OSError:  # not there, as it should be; what else is wrong, open() says
        return _named(path, rank)
    return _named(path, rank)


def _named(path: str, rank: int) -> str:
    whole = Path(path)
    return str(whole.with_name(f"{whole.stem}.rank{rank}{whole.suffix}"))
