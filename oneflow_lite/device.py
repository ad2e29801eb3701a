"""Devices, their memory, and the default device of a thread."""

import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Literal

from oneflow_lite import _C
from oneflow_lite._C import Device

__all__ = ["Device", "DeviceLike", "device", "devices", "empty_cache", "memory_stats", "resolve"]

DeviceLike = str | Device | None

_scopes = threading.local()  # .stack: of each thread, the choices to go back to


class device(Device):  # noqa: N801 - a value type, spelled as in `with flow.device(...)`
    """A device; in a ``with`` block, the default of the calling thread.

    Parameters
    ----------
    spec : str or Device
        ``"cpu"``, ``"mock:1"``, ``"cuda:0"``. Without an index: the first, such as ``"mock:0"``
        for ``"mock"``. Among several ranks: the one with the rank's number on its machine, counted
        round. To name it so enters the world.

    Raises
    ------
    ValueError
        For anything else.
    RuntimeError
        Without an index, in a function of the machine, for a process that was started as a rank
        and has not entered its world.

    Examples
    --------
    >>> with flow.device("mock:1"):
    ...     x = flow.zeros(3)
    >>> x.device == flow.device("mock:1")
    True
    """

    def __enter__(self) -> "device":
        if not hasattr(_scopes, "stack"):
            _scopes.stack = []
        _scopes.stack.append(_C.exchange_thread_device(self))
        return self

    def __exit__(self, *exception: object) -> Literal[False]:
        _C.exchange_thread_device(_scopes.stack.pop())
        return False


_UNCHANGED = nullcontext()


def default_device(home: Device) -> AbstractContextManager[object]:
    """Return a context in which ``home`` is the calling thread's default."""
    return _UNCHANGED if _C.get_default_device() is home else device(home)


def resolve(spec: DeviceLike) -> Device:
    """Return the device named, or the calling thread's default for None."""
    if spec is None:
        return _C.get_default_device()
    return spec if isinstance(spec, Device) else Device(spec)


def devices() -> list[Device]:
    """Return every device that is present, the cpu first.

    Examples
    --------
    >>> str(flow.devices()[0])
    'cpu'
    """
    types = _C.device_types().items()
    return [Device(name, index) for name, row in types for index in range(row.count)]


def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """Return the counters of a device's memory (the default device's for None).

    Parameters
    ----------
    device : Device or str, optional
        The device asked about.

    Returns
    -------
    dict
        In bytes: ``in_use`` by tensors (of the cpu, those of more than 512 bytes); ``cached`` for
        them; ``peak_in_use`` and ``peak_held``, the most there was of the first, and of both;
        ``staging``, pinned for copies in flight;
        ``limit``, as ``ONEFLOW_LITE_MEMORY_LIMIT`` has it (0: none); ``capacity`` of the device and
        what is ``held`` of it. Counts: ``allocs`` asked for, ``cache_hits`` among them,
        ``device_allocs`` that the device served, ``events_leased`` now.

    Examples
    --------
    >>> x = flow.ones(1000)
    >>> x.sum().item()
    1000.0
    >>> flow.memory_stats("cpu")["in_use"] >= x.nbytes
    True
    """
    return _C.memory_stats(resolve(device))


def empty_cache(device: DeviceLike = None) -> int:
    """Give cached memory back, of one device or of all; return the bytes given back.

    Examples
    --------
    >>> flow.empty_cache("mock:0") >= 0
    True
    """
    return _C.empty_cache(None if device is None else resolve(device))
