"""What a function on the stream of a device gets: the run, and views of the tensors."""

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.interop.dlpack import consumer_stream

HOST = Device("cpu")
_ANY_ORDER = -1  # DLPack: the consumer orders itself


class Run:
    """Where a function runs: the first argument of functions of a device, and of asynchronous ones.

    It stands for its stream where a library takes objects with ``__cuda_stream__``.

    Attributes
    ----------
    device : Device
        The device.
    stream : int
        The handle of its queue (a ``CUstream``); 0 on devices that have none, as the host and mock
        devices.

    Examples
    --------
    >>> def note(run):
    ...     return run.device, run.stream
    >>> flow.engine.push(note, device="mock:0").result()
    (device('mock:0'), 0)
    """

    __slots__ = ("_others", "device", "stream")

    def __init__(self, device: Device, stream: int) -> None:
        self.device = device
        self.stream = stream
        self._others: set[int] | None = set()  # queues that have views; None: the call has ended

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.stream

    def __repr__(self) -> str:
        return f"Run(device={str(self.device)!r}, stream={self.stream:#x})"

    def _require_open(self) -> None:
        if self._others is None:
            raise RuntimeError("[View] the function has returned, and its view ended with it")

    def _hand_to(self, queue: int) -> None:
        """Let work of another queue follow that of this one, and be followed at the end."""
        self._require_open()
        assert self._others is not None
        if queue in (_ANY_ORDER, self.stream) or queue in self._others:
            return
        _C._queue_waits(self.device, queue, self.stream)
        self._others.add(queue)

    def _end(self) -> None:
        """Wait for the other queues, for each though one has failed."""
        others, self._others = self._others or (), None
        errors = []
        for queue in others:
            try:
                _C._queue_waits(self.device, self.stream, queue)
            except RuntimeError as error:
                errors.append(error)
        if errors:
            raise errors[0]


class View:
    """Memory of a device that a function reads or writes, for other libraries. Ends with the call.

    ``cupy.asarray``, ``numba.cuda.as_cuda_array`` and ``torch.from_dlpack`` take it without a copy.
    By ``__cuda_array_interface__`` it is of the function's own stream, and the work on it belongs
    there. By DLPack it is of the stream that the consumer names, which is put in order before and
    after.

    Attributes
    ----------
    writable : bool
        It is one of ``writes``.

    Examples
    --------
    >>> def copy(run, source, target):
    ...     import cupy
    ...     with cupy.cuda.Stream.from_external(run):
    ...         cupy.asarray(target)[:] = cupy.asarray(source) + 1
    >>> if flow.cuda.is_available():
    ...     x, y = flow.ones(3, device="cuda"), flow.zeros(3, device="cuda")
    ...     done = flow.engine.push(copy, [x], [y], device="cuda")
    """

    __slots__ = ("_run", "_tensor", "writable")

    def __init__(self, run: Run, tensor: Tensor, writable: bool) -> None:
        self._run = run
        self._tensor = tensor
        self.writable = writable

    @property
    def shape(self) -> tuple[int, ...]:
        """Its extents."""
        return self._tensor.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps between elements, in bytes."""
        return self._tensor.strides

    @property
    def dtype(self) -> Any:
        """Of its elements."""
        return self._tensor.dtype

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._run.device

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self._run._require_open()
        return {
            "version": 3,
            "shape": self.shape,
            "strides": self.strides,
            "typestr": np.dtype(self.dtype).str,
            "data": (_C._address(self._tensor), not self.writable),
            "stream": None,  # it is the function's own: there is nothing to wait for
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _C.dlpack_device(self._tensor)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        if copy:
            raise BufferError("[__dlpack__] a view hands out its memory, and no copy of it")
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"[__dlpack__] the view is on {self.device}, not on {dl_device}")
        self._run._hand_to(consumer_stream(stream))
        versioned = max_version is not None and max_version >= (1, 0)
        return _C.memory_to_dlpack(self._tensor, versioned, not self.writable)

    def __repr__(self) -> str:
        return f"View(shape={self.shape}, dtype={self.dtype}, device={str(self.device)!r})"


def on_device(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn(run, *views)`` as the native core calls it."""

    def call(device: Device, stream: int, reads: int, *memory: Any) -> Any:
        run = Run(device, stream)
        views = [
            View(run, one, number >= reads) if isinstance(one, Tensor) else one
            for number, one in enumerate(memory)
        ]
        try:
            result = fn(run, *views)
        except BaseException as error:
            try:
                run._end()
            except RuntimeError as second:
                raise error from second
            raise
        run._end()
        return result

    return call


def later(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn(run, on_complete, *arrays)`` as the native core calls it."""

    def call(on_complete: Callable[..., None], *arrays: Any) -> Any:
        return fn(Run(HOST, 0), on_complete, *arrays)

    return call
