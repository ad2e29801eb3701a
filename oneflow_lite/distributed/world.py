"""The ranks that run a program together, and how they are started."""

import threading
from collections.abc import Callable
from operator import index
from typing import Any, NamedTuple

from oneflow_lite import _C, failures
from oneflow_lite.distributed.errors import in_one_line


def init() -> None:
    """Enter the world of the ranks that were started together; the first use does it, too.

    With it a program says where it waits for the others to start.

    Raises
    ------
    RuntimeError
        Where the launcher has started another number of processes than MPI knows, and where MPI
        is missing.

    Examples
    --------
    >>> flow.distributed.init()
    """
    _C.current_member()


def rank() -> int:
    """Return which rank the calling thread is; 0 where it has been started alone.

    Returns
    -------
    int

    Examples
    --------
    >>> flow.distributed.rank()
    0
    """
    return _C.current_member().rank


def world_size() -> int:
    """Return how many ranks run the program together; 1 where it has been started alone.

    Returns
    -------
    int

    Examples
    --------
    >>> flow.distributed.world_size()
    1
    """
    return _C.current_member().size


def local_rank() -> int:
    """Return which rank the calling thread is among those of its machine.

    A rank computes on "cpu", or on the device of another type with this number, counted round.

    Returns
    -------
    int

    Examples
    --------
    >>> flow.distributed.local_rank()
    0
    """
    return _C.current_member().local_rank


class ImplicitBoxing(NamedTuple):
    """What an operation has moved of an operand, and the program has not written.

    Attributes
    ----------
    line : str
        File and line of the program.
    operation : str
    source, target : Layout
        What the operand had, and what the operation wanted.
    times : int
        How often.
    bytes : int
        That this rank got from others, in all of them.
    """

    line: str
    operation: str
    source: _C.Layout
    target: _C.Layout
    times: int
    bytes: int


class Stats(NamedTuple):
    """What this rank has sent and received.

    Attributes
    ----------
    collectives : int
        That it took part in.
    bytes_sent, bytes_received : int
        Of tensors; without what ranks tell each other to check them.
    connections : list of str
        How devices that are not the host's have exchanged tensors with those of other ranks, such
        as ``"cuda [0, 1]: NCCL 2.28.0"``; ``through the host``, where they are not connected.
    implicit : list of ImplicitBoxing
        Most bytes first.
    """

    collectives: int
    bytes_sent: int
    bytes_received: int
    connections: list[str]
    implicit: list[ImplicitBoxing]


def stats() -> Stats:
    """Return what this rank has sent and received, and which operations moved their operands.

    An operation brings operands together before it starts: ``a + b`` of rows and columns moves one
    of them. That is counted by line here, shown as a warning with
    ``ONEFLOW_LITE_IMPLICIT_BOXING=warn``, and an error with ``error``. What an operation does by
    itself is not among it, such as the sum of one element that all ranks get.

    Returns
    -------
    Stats

    Examples
    --------
    >>> def program():
    ...     ranks, sbp = flow.distributed.placement.all("cpu"), flow.distributed.sbp
    ...     rows = flow.ones((4, 4), placement=ranks, sbp=sbp.split(0))
    ...     columns = flow.ones((4, 4), placement=ranks, sbp=sbp.split(1))
    ...     both = rows + columns
    ...     return [each[1:] for each in flow.distributed.stats().implicit]
    >>> flow.distributed.run(program, 2)[0]
    [('add', (4, 4) split(1) on cpu [0, 1], (4, 4) split(0) on cpu [0, 1], 1, 32)]
    """
    found = _C.current_member().stats()
    implicit = [ImplicitBoxing(*each) for each in found.pop("implicit")]
    implicit.sort(key=lambda each: each.bytes, reverse=True)
    return Stats(**found, implicit=implicit)


def run(function: Callable[..., Any], ranks: int, *args: Any) -> list[Any]:
    """Call a function on several ranks, which are threads of this process.

    All of them share the devices of the process. Rank r computes on "cpu", and of the other types
    on device r, counted round. It is meant for tests, and for writing on one machine what runs on
    many. Ranks that are processes are started by ``python -m oneflow_lite.distributed``.

    Parameters
    ----------
    function : callable
        The program of each rank; ``rank()`` says which one it is on.
    ranks : int
        How many; at least one.
    *args
        What each rank calls it with.

    Returns
    -------
    list
        What the function returned, by rank.

    Raises
    ------
    Exception
        What a rank raised, the first one in time. The others get ``RankError`` at whatever needs
        something from it, with its rank, its error and its line.
    RuntimeError
        In a rank: a world has no worlds inside.

    Examples
    --------
    >>> ranks = flow.distributed.placement("cpu", ranks=[0, 1])
    >>> def program():
    ...     own = flow.full(2, float(flow.distributed.rank()))
    ...     return own.to_global(ranks, flow.distributed.sbp.split(0)).full().tolist()
    >>> flow.distributed.run(program, 2)
    [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    """
    if world_size() > 1:
        raise RuntimeError("[run] called in a rank; a world has no worlds inside")
    started = [_Rank(member, function, args) for member in _C.make_world(index(ranks))]
    first = _First()
    try:
        for each in started:
            each.start(first)
        for each in started:
            each.join()
    except BaseException as error:  # Ctrl-C in the thread that waits, or no thread for a rank
        started[0].member.abort(f"the program ended: {failures.summary(error)}")
        for each in started:
            if each.ident is not None:
                each.join()
        raise
    if first.error is not None:
        raise first.error
    return [each.result for each in started]


class _First:
    """The error that was raised first."""

    def __init__(self) -> None:
        self.error: BaseException | None = None
        self._lock = threading.Lock()

    def note(self, error: BaseException) -> None:
        with self._lock:
            if self.error is None:
                self.error = error


class _Rank(threading.Thread):
    """One rank that is a thread."""

    def __init__(self, member: _C.Member, function: Callable[..., Any], args: tuple[Any, ...]):
        super().__init__(name=f"rank {member.rank}")
        self.member, self.result = member, None
        self._function, self._args = function, args

    def start(self, first: _First) -> None:  # type: ignore[override]
        self._first = first
        super().start()

    def run(self) -> None:
        """Run the program; an error ends what the others wait for."""
        _C.enter_world(self.member)
        try:
            self.result = self._function(*self._args)
            self.member.leave()
        except BaseException as error:
            self._first.note(error)
            self.member.abort(f"rank {self.member.rank}: {in_one_line(error)}")
        finally:
            _C.enter_world(None)
