"""NVIDIA GPUs: which there are, what they are, and why there is none.

Asking makes no context on a device; the first tensor that names it does.
"""

from oneflow_lite import _C
from oneflow_lite._C import Device
from oneflow_lite.cuda.properties import (
    DeviceProperties as DeviceProperties,
    get_device_properties as get_device_properties,
)
from oneflow_lite.device import DeviceLike, empty_cache as _empty_cache, memory_stats as _stats

__all__ = [
    "DeviceProperties",
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_properties",
    "host_operations",
    "is_available",
    "memory_stats",
    "synchronize",
    "unavailable_reason",
]


def is_available() -> bool:
    """Return whether there is a device that can be used; ``unavailable_reason`` says why not.

    Examples
    --------
    >>> flow.cuda.is_available() == (flow.cuda.device_count() > 0)
    True
    """
    return device_count() > 0


def device_count() -> int:
    """Return how many devices this process can use; 0 where there is no driver.

    Examples
    --------
    >>> flow.cuda.device_count() >= 0
    True
    """
    return _C.device_types()["cuda"].count


def unavailable_reason() -> str:
    """Return why there is no device and what to do, in one sentence; ``""`` where there is one.

    Examples
    --------
    >>> bool(flow.cuda.unavailable_reason()) == (not flow.cuda.is_available())
    True
    """
    return _C.cuda_problem()


def current_device() -> Device:
    """Return the default device of the calling thread, or the first where that is none of these.

    Raises
    ------
    RuntimeError
        Where there is no device.

    Examples
    --------
    >>> with flow.device("cpu"):
    ...     flow.cuda.current_device() if flow.cuda.is_available() else Device("cuda:0")
    device('cuda:0')
    """
    if problem := unavailable_reason():
        raise RuntimeError(f"[cuda] {problem}")
    device = _C.get_default_device()
    return device if device.type == "cuda" else Device("cuda:0")


def _device(device: DeviceLike | int) -> Device:
    if device is None:
        return current_device()
    chosen = Device("cuda", device) if isinstance(device, int) else Device(str(device))
    if chosen.type != "cuda":
        raise ValueError(f"[cuda] expected a cuda device, got {chosen}")
    return chosen


def synchronize(device: DeviceLike | int = None) -> None:
    """Wait until all that was issued to a device (the current one for None) has run.

    Parameters
    ----------
    device : Device, str or int, optional
        The device, or its index.

    Raises
    ------
    RuntimeError
        Where there is no device; the first failure that nobody has looked at yet.

    Examples
    --------
    >>> if flow.cuda.is_available():
    ...     flow.cuda.synchronize()
    """
    _C.synchronize(_device(device))


def memory_stats(device: DeviceLike | int = None) -> dict[str, int]:
    """Return the counters of a device's memory; see ``flow.memory_stats``.

    Examples
    --------
    >>> if flow.cuda.is_available():
    ...     assert flow.cuda.memory_stats(0)["in_use"] >= 0
    """
    return _stats(_device(device))


def empty_cache(device: DeviceLike | int = None) -> int:
    """Give cached memory of a device back; return the bytes given back.

    Examples
    --------
    >>> if flow.cuda.is_available():
    ...     assert flow.cuda.empty_cache() >= 0
    """
    return _empty_cache(_device(device))


def host_operations() -> list[str]:
    """Return the operations that have run on the host so far, on copies of a device's memory.

    They have no kernel of their own: their results are right, and slow. Each is logged once.

    Examples
    --------
    >>> sorted(flow.cuda.host_operations()) == flow.cuda.host_operations()
    True
    """
    return _C.cuda_host_operations()
