"""How far the clocks of machines are apart, so that traces of their ranks can be laid side by side.

Ranks of one machine have the same CLOCK_MONOTONIC. Of each other machine, the lowest rank answers
rank 0 with its time, some times over:

    rank 0      begin ──►         end        the time in the middle is that of the answer,
    machine's         ──► time ──►           up to half of the way to and fro
"""

import platform
import secrets
import time
from array import array
from pathlib import Path
from typing import Any

from oneflow_lite.profiler.ranks import Rank

_TIMES = 20  # the fastest one counts


def machine() -> str:
    """Return what two processes have in common if they have the same clock."""
    known = [platform.node()]
    # The second file has the clock's offset in a container that has one of its own.
    for name in ("/proc/sys/kernel/random/boot_id", "/proc/self/timens_offsets"):
        if Path(name).exists():
            known.append(Path(name).read_text(encoding="ascii"))
    return "\n".join(known)


def rank_of(world: Any, clock: str, name: str) -> Rank:
    """Return what traces say of this rank; all ranks of an MPI communicator call it together.

    Parameters
    ----------
    world : mpi4py.MPI.Comm
        Of all ranks.
    clock : str
        The same on those ranks whose clock is the same.
    name : str
        Of the machine, for people.
    """
    told = world.allgather((clock, secrets.token_hex(8)))
    clocks = [each for each, _ in told]
    offset = (0, 0)
    for other in dict.fromkeys(clocks):
        peer = clocks.index(other)
        if peer != 0 and world.rank in (0, peer):
            offset = _compare(world, peer)
    offsets = world.allgather(offset)
    own = offsets[clocks.index(clock)] if clock != clocks[0] else (0, 0)
    return Rank(world.rank, world.size, told[0][1], name, *own)


def _compare(world: Any, peer: int) -> tuple[int, int]:
    """On the peer: what its clock lacks to that of rank 0, and by how much this may be wrong."""
    sent, answer = array("q", [0]), array("q", [0])
    if world.rank == peer:
        for _ in range(_TIMES):
            world.Recv(sent, source=0)
            world.Send(array("q", [time.monotonic_ns()]), dest=0)
        world.Recv(both := array("q", [0, 0]), source=0)
        return both[0], both[1]
    found = []
    for _ in range(_TIMES):
        begin = time.monotonic_ns()
        world.Send(sent, dest=peer)
        world.Recv(answer, source=peer)
        end = time.monotonic_ns()
        found.append((end - begin, (begin + end) // 2 - answer[0]))
    way, offset = min(found)
    world.Send(array("q", [offset, (way + 1) // 2]), dest=peer)
    return 0, 0
