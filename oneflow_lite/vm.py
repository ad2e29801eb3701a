"""The machine: what it is doing, host functions in its order, and waiting for it."""

import operator
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.engine.completion import Completion
from oneflow_lite.engine.names import label

__all__ = [
    *("barrier", "benchmark_report", "dump", "host_func", "lane", "stats"),
    "synchronize",
]


def synchronize(device: DeviceLike = None) -> None:
    """Wait until everything issued so far has run.

    Parameters
    ----------
    device : Device or str, optional
        Wait for this device only.

    Raises
    ------
    Exception
        The first error of an operation that no ``synchronize`` has raised yet.

    Examples
    --------
    >>> x = flow.ones(3).mock() + 1
    >>> flow.synchronize()
    >>> x.is_ready()
    True
    """
    _C.synchronize(None if device is None else resolve(device))


def host_func(
    fn: Callable[..., Any],
    reads: Sequence[Tensor] = (),
    writes: Sequence[Tensor] = (),
    name: str | None = None,
) -> Completion:
    """Run a Python function in the machine's order, on a thread of the machine.

    Host functions run one after the other, and programs record them; ``engine.push`` runs several
    at once. The function may issue operations and host functions, and wait for them. A host
    function that it waits for runs in its thread. It cannot wait for itself or for what comes after
    it. While the process ends, it cannot issue further host functions.

    Parameters
    ----------
    fn : callable
        Called with one NumPy array for each tensor, those of ``reads`` (read-only) before those of
        ``writes``. The arrays are the tensors' memory and end with the call.
    reads, writes : sequence of Tensor
        Tensors on the cpu. The call comes after what wrote them, and before what uses them next.
    name : str, optional
        For errors and traces; the function's name by default.

    Returns
    -------
    Completion
        ``result()`` waits, and returns what fn returned or raises what it raised.

    Examples
    --------
    >>> x, y = flow.arange(3), flow.zeros(3)
    >>> def fill(source, target):
    ...     target[:] = source[::-1]
    >>> call = flow.vm.host_func(fill, reads=[x], writes=[y])
    >>> y.numpy()
    array([2., 1., 0.])
    """
    return _C.host_func(fn, reads, writes, label("host_func", fn, name))


def barrier() -> None:
    """Order everything issued later after everything issued before. Does not wait.

    Examples
    --------
    >>> x = flow.ones(2).mock()
    >>> flow.vm.barrier()
    >>> y = flow.ones(2).mock(1)  # the copy begins when that of x has ended
    """
    _C.barrier()


def lane(number: SupportsIndex) -> AbstractContextManager[None]:
    """Send the operations of a ``with`` block to another compute stream of their device.

    A device has four compute lanes, each with a stream and a worker of its own. Operations of
    different lanes run at the same time where their operands allow it. The machine orders them by
    their operands as always, so results do not depend on lanes. Copies from and to the host have
    their own streams on every lane.

    The lane is the calling thread's. Blocks nest, and a new thread begins with lane 0. A program
    records the lanes of blocks inside it; what is in none runs on the lane of its caller. The
    stream of a lane is made for its first operation. Small work on the cpu runs in the calling
    thread on any lane.

    Parameters
    ----------
    number : int
        0 to 3; programs begin with 0.

    Raises
    ------
    TypeError, ValueError
        For anything else.

    Examples
    --------
    >>> x = flow.ones(4, device="mock")
    >>> y = x * 2
    >>> with flow.vm.lane(1):
    ...     z = x * 3  # may run beside the first product
    >>> (y + z).numpy()
    array([5., 5., 5., 5.])
    """
    last = _C.COMPUTE_LANES - 1
    wanted = f"[vm.lane] expected number to be an integer from 0 to {last}, got {number!r}"
    try:
        chosen = operator.index(number)
    except TypeError:
        raise TypeError(wanted) from None
    if not 0 <= chosen <= last:
        raise ValueError(wanted)
    return _in_lane(chosen)


@contextmanager
def _in_lane(number: int) -> Iterator[None]:
    before = _C.exchange_lane(number)
    try:
        yield
    finally:
        _C.exchange_lane(before)


def benchmark_report(*, clear: bool = False) -> str:
    """Return a table of the operations that ran while the flag ``benchmark`` was set.

    For each operation it has the calls, their time, the mean of a call, and the bytes that the
    calls read and wrote; the operation with most time comes first. Times are those of kernels and
    copies, on the device; of a host function, with all that it has issued. Failed operations of a
    device with queues are left out. A forked child begins a table of its own.

    Parameters
    ----------
    clear : bool, optional
        Begin a new table.

    Returns
    -------
    str
        Lines of text; a heading alone where nothing ran.

    Examples
    --------
    >>> with flow.flags(benchmark=True):
    ...     y = flow.ones(1000) + 1
    >>> head, *rows = flow.vm.benchmark_report(clear=True).splitlines()
    >>> sorted(row.split()[:2] for row in rows)
    [['add', '1'], ['full', '1']]
    """
    rows = sorted(_C.benchmark_rows(), key=lambda row: -row[2])
    if clear:
        _C.benchmark_clear()
    width = max(len("operation"), *(len(name) for name, *_ in rows)) if rows else 9
    head = f"{'operation':{width}} {'calls':>9} {'total ms':>12} {'mean us':>12} {'MB':>12}"
    lines = [
        f"{name:{width}} {calls:9} {ns * 1e-6:12.3f} {ns * 1e-3 / calls:12.3f} {count * 1e-6:12.3f}"
        for name, calls, ns, count in rows
    ]
    return "\n".join([head, *lines]) + "\n"


def dump() -> str:
    """Return what is in flight: each instruction, its stream, what it waits for, who issued it.

    Examples
    --------
    >>> flow.synchronize()
    >>> print(flow.vm.dump(), end="")
    0 instructions in flight
    """
    return _C.dump()


def stats() -> dict[str, Any]:
    """Return the machine's counters.

    Examples
    --------
    >>> before = flow.vm.stats()["issued"]
    >>> x = flow.ones(2) + 1
    >>> flow.vm.stats()["issued"] > before
    True
    """
    return _C.stats()
