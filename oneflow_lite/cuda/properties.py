"""What a device is."""

from dataclasses import dataclass

from oneflow_lite import _C


@dataclass(frozen=True)
class DeviceProperties:
    """Of one device, as the driver has them.

    Attributes
    ----------
    name : str
    compute_capability : tuple of int
        Major and minor: (9, 0) for sm_90.
    total_memory : int
        Bytes.
    multiprocessor_count : int
    max_threads_per_multiprocessor : int
    l2_cache_size : int
        Bytes.
    memory_bus_width : int
        Bits.
    memory_clock_rate, clock_rate : int
        kHz.

    Examples
    --------
    >>> names = ("a GPU", (9, 0), 2**34, 132, 2048, 2**25, 5120, 2619000, 1980000)
    >>> flow.cuda.DeviceProperties(*names).architecture
    'sm_90'
    """

    name: str
    compute_capability: tuple[int, int]
    total_memory: int
    multiprocessor_count: int
    max_threads_per_multiprocessor: int
    l2_cache_size: int
    memory_bus_width: int
    memory_clock_rate: int
    clock_rate: int

    @property
    def architecture(self) -> str:
        """What kernels are compiled for, such as ``"sm_90"``."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"


def get_device_properties(index: int = 0) -> DeviceProperties:
    """Return the properties of a device. Makes no context.

    Parameters
    ----------
    index : int
        As in ``"cuda:1"``.

    Raises
    ------
    RuntimeError
        Where there is no driver or no device.
    ValueError
        For an index that no device has.

    Examples
    --------
    >>> if flow.cuda.is_available():
    ...     assert flow.cuda.get_device_properties(0).total_memory > 0
    """
    return DeviceProperties(**_C.cuda_device_properties(index))
