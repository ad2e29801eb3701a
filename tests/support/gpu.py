"""What the checks call: cuda-bindings as it is, with its results taken apart."""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sim

driver = pytest.importorskip("cuda.bindings.driver")
Code = driver.CUresult
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def code(result: tuple[Any, ...]) -> Code:
    return result[0]


def ok(result: tuple[Any, ...]) -> Any:
    """The values of a call that must succeed."""
    assert result[0] == Code.CUDA_SUCCESS, result[0]
    values = result[1:]
    return values[0] if len(values) == 1 else values


class Gate:
    """A host function that holds up a stream until it is opened."""

    def __init__(self, stream: Any, then: Callable[[], None] = lambda: None) -> None:
        self._open = threading.Event()

        def wait(_: object) -> None:
            assert self._open.wait(30)
            then()

        self._function = HOST_FUNCTION(wait)
        address = ctypes.cast(self._function, ctypes.c_void_p).value
        ok(driver.cuLaunchHostFunc(stream, driver.CUhostFn(address), 0))

    def open(self) -> None:
        self._open.set()


class Gpu:
    """One device, whose primary context becomes current."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.context = ok(driver.cuDevicePrimaryCtxRetain(index))
        self.use()

    def use(self) -> None:
        ok(driver.cuCtxSetCurrent(self.context))

    def stream(self, flags: int = 1, priority: int = 0) -> Any:
        return ok(driver.cuStreamCreateWithPriority(flags, priority))

    def event(self, flags: int = 2) -> Any:
        return ok(driver.cuEventCreate(flags))

    def put(self, array: np.ndarray) -> int:
        """A copy of an array on the device."""
        pointer = int(ok(driver.cuMemAlloc(array.nbytes)))
        ok(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
        return pointer

    def get(self, pointer: int, like: np.ndarray, stream: Any = None) -> np.ndarray:
        result = np.empty_like(like)
        address = result.ctypes.data
        if stream is None:
            ok(driver.cuMemcpyDtoH(address, pointer, result.nbytes))
        else:
            ok(driver.cuMemcpyDtoHAsync(address, pointer, result.nbytes, stream))
        return result

    def pinned(self, count: int, dtype: Any = np.uint8) -> np.ndarray:
        bytes_ = count * np.dtype(dtype).itemsize
        address = int(ok(driver.cuMemHostAlloc(bytes_, 0)))
        buffer = (ctypes.c_char * bytes_).from_address(address)
        return np.frombuffer(buffer, dtype)

    def kernel(self, source: str, name: str) -> Any:
        module = ok(driver.cuModuleLoadData(sim.compile(source, "sm_90")))
        return ok(driver.cuModuleGetFunction(module, name.encode()))


def launch(
    kernel: Any, grid: Any, block: Any, *arguments: Any, stream: Any = 0, shared: int = 0
) -> Code:
    """Launch with ctypes or NumPy values; a Python int is a device pointer."""
    held = [ctypes.c_uint64(a) if isinstance(a, int) else a for a in arguments]
    held = [np.array(a) if isinstance(a, np.generic) else a for a in held]
    addresses = [a.ctypes.data if isinstance(a, np.ndarray) else ctypes.addressof(a) for a in held]
    parameters = (ctypes.c_void_p * max(1, len(held)))(*addresses)
    shape = [*(grid if isinstance(grid, tuple) else (grid, 1, 1))]
    shape += [*(block if isinstance(block, tuple) else (block, 1, 1))]
    table = ctypes.addressof(parameters)
    return code(driver.cuLaunchKernel(kernel, *shape, shared, stream, table, 0))
