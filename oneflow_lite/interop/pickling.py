"""Tensors to and from other processes by pickle."""

import contextlib
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import numpy.typing as npt

from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.interop.orders import array_in_order, tensor_in_order

_DeviceMap = DeviceLike | Mapping[str, DeviceLike]
_device_map: ContextVar[_DeviceMap] = ContextVar("device_map", default=None)


@contextlib.contextmanager
def map_device(target: _DeviceMap) -> Iterator[None]:
    """Say where tensors go that are unpickled in the ``with`` block.

    Parameters
    ----------
    target : Device, str or mapping
        One device for all tensors, or new devices by the names of the old ones; a tensor of a
        device that the mapping does not name stays there.

    Examples
    --------
    >>> import pickle
    >>> data = pickle.dumps(flow.ones(2, device="mock:1"))
    >>> with flow.interchange.map_device("cpu"):
    ...     x = pickle.loads(data)
    >>> x.device == "cpu"
    True
    """
    token = _device_map.set(target)
    try:
        yield
    finally:
        _device_map.reset(token)


def reduce(self: Tensor) -> tuple[Any, ...]:
    """Return how pickle makes the tensor again: from its value and the name of its device.

    The value is pickled by NumPy, so protocol 5 may keep it out of band.
    """
    return _unpickled, (array_in_order(self), str(self.device))


def _unpickled(value: npt.NDArray[Any], device: str) -> Tensor:
    mapping = _device_map.get()
    wanted = mapping.get(device, device) if isinstance(mapping, Mapping) else mapping or device
    try:
        return tensor_in_order(value, wanted)
    except ValueError as error:
        raise ValueError(
            f"[pickle] a tensor of {device} cannot go to {wanted}: {error}; "
            'load it with flow.interchange.map_device("cpu")'
        ) from None


METHODS = {"__reduce__": reduce}
