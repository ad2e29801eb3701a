"""The machine: what it is doing, host functions in its order, and waiting for it."""

from collections.abc import Callable, Sequence
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import HostCall, Tensor
from oneflow_lite.device import DeviceLike, resolve

__all__ = ["HostCall", "barrier", "dump", "host_func", "stats", "synchronize"]


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
) -> HostCall:
    """Run a Python function in the machine's order, on a thread of the machine.

    The function may issue operations and host functions, and wait for them. A host function that it
    waits for runs in its thread. It cannot wait for itself or for what comes after it. While the
    process ends, it cannot issue further host functions.

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
    HostCall
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
    label = name or getattr(fn, "__qualname__", None) or type(fn).__name__
    return _C.host_func(fn, tuple(reads), tuple(writes), label)


def barrier() -> None:
    """Order everything issued later after everything issued before. Does not wait.

    Examples
    --------
    >>> x = flow.ones(2).mock()
    >>> flow.vm.barrier()
    >>> y = flow.ones(2).mock(1)  # the copy begins when that of x has ended
    """
    _C.barrier()


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
