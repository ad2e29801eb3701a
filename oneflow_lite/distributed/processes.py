"""Ranks that are processes, started by ``mpiexec`` or ``srun``: how they find each other, and end.

mpi4py starts MPI and makes its communicator. What then moves from rank to rank is sent by the
machine's own worker (csrc/ep/communicators/mpi).
"""

import atexit
import os
import platform
import sys
import threading
import time
import traceback
from types import TracebackType
from typing import Any, NoReturn, cast

from oneflow_lite import _C
from oneflow_lite.distributed.clocks import machine, rank_of
from oneflow_lite.distributed.errors import in_one_line
from oneflow_lite.distributed.host_memory import share
from oneflow_lite.flags import flags
from oneflow_lite.launchers import TORCHRUN, Launcher, meant_size, own_environment
from oneflow_lite.locks import make_lock
from oneflow_lite.profiler.ranks import enter_world
from oneflow_lite.profiler.trace import write_file

_lock = make_lock()
_is_known = False
_mpi: Any = None


def start() -> None:
    """Enter the world of the processes that were started together; called at its first use."""
    global _is_known
    with _lock:
        if _is_known:
            return
        meant = meant_size()
        _C.set_process_member(None if meant is None else _enter(*meant))
        _is_known = True


def mpi() -> Any:
    """Return the module ``mpi4py.MPI`` where ranks are processes; None where they are threads."""
    return _mpi


def _enter(launcher: Launcher, size: int) -> _C.Member:
    global _mpi
    if launcher is TORCHRUN:
        raise RuntimeError(
            "[distributed] torchrun starts no MPI; start the program by: "
            f"python -m oneflow_lite.distributed -n {size} {' '.join(sys.argv)}"
        )
    _let_survivors_end()
    try:
        from mpi4py import MPI  # noqa: PLC0415  (starts MPI)
    except (ImportError, RuntimeError) as error:  # RuntimeError: it has found no MPI library
        raise RuntimeError(
            f"[distributed] this process is one of {size} ({launcher.size}), which needs mpi4py "
            "and an MPI library: pip install 'oneflow_lite[mpi]'"
        ) from error
    if MPI.COMM_WORLD.size != size:
        raise RuntimeError(
            f"[distributed] {launcher.name} has started {size} processes, of which the MPI that "
            f"mpi4py uses knows {MPI.COMM_WORLD.size}; start them by the mpiexec of "
            f"{MPI.Get_library_version().splitlines()[0]}"
        )
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        raise RuntimeError(
            "[distributed] MPI was started without MPI_THREAD_MULTIPLE; leave mpi4py.rc.threads as "
            "it is"
        )
    world = MPI.COMM_WORLD.Dup()
    world.Set_name("oneflow_lite")
    world.Set_errhandler(MPI.ERRORS_RETURN)
    _require_same(world)
    enter_world(rank_of(world, machine(), platform.node()))
    node = world.Split_type(MPI.COMM_TYPE_SHARED)
    memory = share(
        node,
        _C.segment_bytes(node.size),
        flags.ccl_shared_memory,
        lambda file: _C.map_segment(file, node.size),
    )
    member = _C.make_mpi_member(
        shared_object=MPI.__file__,
        handle=world.handle,
        byte=MPI.BYTE.handle,
        any_source=MPI.ANY_SOURCE,
        rank=world.rank,
        size=size,
        largest_tag=cast("int", world.Get_attr(MPI.TAG_UB)),
        local_rank=node.rank,
        host_ranks=node.allgather(world.rank),
        host_memory=memory,
    )
    _divide_cores(node.size)
    node.Free()
    _Farewell(member, MPI.COMM_WORLD.Abort).register()
    _mpi = MPI
    own_environment()
    return member


def _let_survivors_end() -> None:
    """Have Open MPI's end not wait for ranks that have died, where it outlives them.

    Its MPI_Finalize waits for all processes of the job, and some deaths it never hears of: of Open
    MPI 5.0.11, survivors hung in one run of twenty. It needs no such wait, as a rank waits for the
    others before (`_Farewell`). Open MPI reads the parameter when it starts.
    """
    outlives = os.environ.get("OMPI_MCA_mpi_ft_enable", "0")  # noqa: SIM112  (its own spelling)
    if outlives not in ("", "0"):
        os.environ.setdefault("OMPI_MCA_async_mpi_finalize", "1")


def _require_same(world: Any) -> None:
    """Messages are the same on all ranks only if the package and the processors are."""
    version = sys.modules["oneflow_lite"].__version__  # which imports this module
    own = (version, sys.byteorder, sys.maxsize)
    all_ranks = world.allgather(own)
    if any(each != own for each in all_ranks):
        raise RuntimeError(
            "[distributed] ranks have different versions of oneflow_lite, or processors: "
            + "; ".join(f"rank {rank}: {each}" for rank, each in enumerate(all_ranks))
        )


def _divide_cores(local_size: int) -> None:
    """Ranks of one machine share its cores, unless the environment says how many to use."""
    cores = flags.num_threads
    flags.replace_default("num_threads", max(1, cores // local_size), "ranks of this machine")


def _write_trace() -> None:
    """Write the profile of the process, which ends before the exit handlers that are left."""
    try:
        write_file()
    except BaseException:
        traceback.print_exc()


class _Farewell:
    """How a rank leaves: it says so to the others; and after an error it ends them."""

    # The others get this time to say where they were.
    SECONDS = 1.0

    def __init__(self, member: _C.Member, abort: Any) -> None:
        self._member, self._abort, self._has_failed = member, abort, False
        self._process = os.getpid()

    def register(self) -> None:
        """Have it called when an exception is not caught, in any thread, and at the end."""
        hook, thread_hook = sys.excepthook, threading.excepthook

        def uncaught(
            kind: type[BaseException], error: BaseException, where: TracebackType | None
        ) -> None:
            is_pythons = hook is sys.__excepthook__
            self._fail(error, traceback.format_exception(kind, error, where) if is_pythons else [])
            if not is_pythons:
                hook(kind, error, where)

        def uncaught_in_thread(args: threading.ExceptHookArgs) -> None:
            is_pythons = thread_hook is threading.__excepthook__
            if args.exc_value is None or args.exc_type is SystemExit:
                thread_hook(args)
                return
            name = args.thread.name if args.thread else threading.get_ident()
            lines = traceback.format_exception(*args[:3])
            said = [f"Exception in thread {name}:\n", *lines] if is_pythons else []
            self._fail(args.exc_value, said)
            if not is_pythons:
                thread_hook(args)

        sys.excepthook, threading.excepthook = uncaught, uncaught_in_thread
        atexit.register(self._leave)

    def _fail(self, error: BaseException, said: list[str]) -> None:
        """Say so here, in one piece, as other ranks write into the same terminal; tell the others.

        Parameters
        ----------
        said : list of str
            The lines that Python would print; empty: a hook of the program prints.
        """
        is_fork = os.getpid() != self._process
        head = [] if is_fork else [f"oneflow_lite: rank {self._member.rank} has failed:\n"]
        try:
            if sys.stderr is not None:
                sys.stderr.write("".join([*head, *said]))
                sys.stderr.flush()
        finally:
            if not is_fork:
                self._has_failed = True
                self._member.abort(f"rank {self._member.rank}: {in_one_line(error)}")

    def _leave(self) -> None:
        if os.getpid() != self._process:
            return
        try:
            if not self._has_failed:
                self._member.leave()
        except BaseException:
            traceback.print_exc()
            self._has_failed = True
        if self._has_failed:
            self._end_all()

    def _end_all(self) -> NoReturn:
        sys.stdout.flush()
        sys.stderr.flush()
        end = time.monotonic() + self.SECONDS
        writer = threading.Thread(target=_write_trace, daemon=True)  # others may hold its locks
        writer.start()
        writer.join(self.SECONDS)
        time.sleep(max(0.0, end - time.monotonic()))
        self._abort(1)
        os._exit(1)  # some libraries return where another rank has aborted first
