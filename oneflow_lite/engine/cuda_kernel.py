"""Kernels of the user's for NVIDIA GPUs: compiled once, pushed as any other function."""

import ctypes
import operator
from collections.abc import Iterable, Sequence
from typing import Any, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.cuda import kernels
from oneflow_lite.engine.completion import Completion
from oneflow_lite.engine.variables import Var
from oneflow_lite.locks import make_lock

_POINTER_BYTES = 8
_MOST_THREADS = 1024  # of a block
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)  # CUDA C++ Programming Guide, "Technical Specifications"
_MOST_EXTENTS = (1024, 1024, 64)  # of a block, the same


class CudaKernel:
    """A kernel in CUDA C++, for NVIDIA GPUs.

    It is compiled for a device at its first push there, as the library's own kernels are: by NVRTC,
    and kept on disk for later processes. It stays loaded as long as the process.

    Parameters
    ----------
    source : str
        CUDA C++ with ``extern "C" __global__ void name(...)``; it may use CUDA's built-in headers.
    name : str
        Of the kernel in it.
    options : sequence of str, default=()
        Of NVRTC, such as ``"--use_fast_math"``; the architecture is the device's.

    Raises
    ------
    TypeError
        The source or the name is no string.

    Examples
    --------
    >>> axpy = flow.engine.CudaKernel('''
    ... extern "C" __global__ void axpy(int n, float a, const float* x, float* y) {
    ...   int i = blockIdx.x * blockDim.x + threadIdx.x;
    ...   if (i < n) y[i] += a * x[i];
    ... }''', "axpy")
    >>> if flow.cuda.is_available():
    ...     x, y = flow.ones(1000, device="cuda"), flow.zeros(1000, device="cuda")
    ...     done = axpy.push(4, 256, [np.int32(1000), np.float32(2), x, y], writes=[y])
    ...     assert y.sum().item() == 2000
    """

    def __init__(self, source: str, name: str, options: Sequence[str] = ()) -> None:
        for what, given in (("source", source), ("name", name)):
            if not isinstance(given, str):
                kind = type(given).__name__
                raise TypeError(f"[CudaKernel] {what}: expected a string, got {kind}")
        if isinstance(options, str):
            raise TypeError("[CudaKernel] options: expected a sequence of strings, got a string")
        self.source = source
        self.name = name
        self.options = tuple(options)
        self._functions: dict[Device, int] = {}

    def push(
        self,
        grid: SupportsIndex | Sequence[SupportsIndex],
        block: SupportsIndex | Sequence[SupportsIndex],
        args: Sequence[Any],
        writes: Sequence[Tensor | Var] = (),
        *,
        reads: Sequence[Var] = (),
        shared_bytes: SupportsIndex = 0,
        device: Device | str | None = None,
        name: str | None = None,
    ) -> Completion:
        """Launch it on the compute stream when its turn has come. Returns at once.

        Parameters
        ----------
        grid, block : int or sequence of one to three ints
            How many blocks there are, and how many threads a block has.
        args : sequence
            The kernel's parameters, in order, with the types that it declares, which nothing
            checks: tensors (a pointer to the first element), NumPy scalars and objects of ctypes
            (by value), Python's ``bool``, ``int`` and ``float`` (64 bits) and ``complex`` (128).
        writes : sequence of Tensor and Var, default=()
            The tensors of ``args`` that the kernel changes, and variables. The others are read.
        reads : sequence of Var, default=()
            Variables that it reads.
        shared_bytes : int, default=0
            Dynamic shared memory of a block.
        device : Device or str, optional
            Needed only where no parameter is a tensor.
        name : str, optional

        Returns
        -------
        Completion
            It is over when the kernel has run. Its result is None.

        Raises
        ------
        ImportError, CompileError, RuntimeError
            There is no compiler; it refuses the source; the kernel cannot be loaded.
        TypeError, ValueError
            A parameter, a tensor's device or layout, or an extent is none that can be.

        Examples
        --------
        >>> fill = flow.engine.CudaKernel(
        ...     'extern "C" __global__ void fill(double* x) { x[threadIdx.x] = 1; }', "fill")
        >>> if flow.cuda.is_available():
        ...     x = flow.empty(4, flow.float64, device="cuda")
        ...     fill.push(1, 4, [x], writes=[x]).wait()
        """
        args, writes, reads = list(args), list(writes), list(reads)
        tensors = _unique(one for one in args if isinstance(one, Tensor))
        place = _device_of(tensors, device)
        packed, pointers = _packed(args)
        shape = (_extents("grid", grid, _MOST_BLOCKS), _block(block), _bytes(shared_bytes))
        read: list[Var | Tensor] = [*_read(tensors, writes), *reads]
        function, label = self._function(place), name or self.name
        return _C._push_kernel(place, function, shape, packed, pointers, read, writes, label)

    def _function(self, device: Device) -> int:
        known = self._functions.get(device)
        if known is not None:
            return known
        with _loading:
            if device not in self._functions:
                arch = _C._architecture(device)
                if not arch:
                    raise ValueError(f"[CudaKernel] {device} runs no CUDA kernels")
                image = kernels.image_of(self.source, arch, self.options)
                self._functions[device] = _C._load_kernel(device, image, self.name)
        return self._functions[device]

    def __repr__(self) -> str:
        return f"CudaKernel({self.name!r})"


_loading = make_lock()  # so that a kernel is compiled once


def _unique(tensors: Iterable[Tensor]) -> list[Tensor]:
    """A tensor may be two parameters."""
    return list({id(one): one for one in tensors}.values())


def _read(tensors: list[Tensor], writes: Sequence[Any]) -> list[Tensor]:
    """The tensors that are not written."""
    known = {id(one) for one in tensors}
    for one in writes:
        if isinstance(one, Tensor) and id(one) not in known:
            raise ValueError(
                f"[CudaKernel.push] writes: a tensor of shape {one.shape} is not in args"
            )
    written = {id(one) for one in writes}
    return [one for one in tensors if id(one) not in written]


def _device_of(tensors: list[Tensor], device: Device | str | None) -> Device:
    devices = list(dict.fromkeys(one.device for one in tensors))
    if device is not None:
        devices = list(dict.fromkeys([Device(str(device)), *devices]))
    if len(devices) != 1:
        found = ", ".join(map(str, devices)) if devices else "none"
        raise ValueError(f"[CudaKernel.push] expected parameters of one device, got {found}")
    return devices[0]


def _packed(args: Sequence[Any]) -> tuple[bytes, list[tuple[int, Tensor]]]:
    """The parameters as one structure of C, and where the addresses of tensors go."""
    packed = bytearray()
    pointers = []
    for number, one in enumerate(args):
        if isinstance(one, Tensor):
            packed.extend(bytes(-len(packed) % _POINTER_BYTES))
            pointers.append((len(packed), one))
            packed.extend(bytes(_POINTER_BYTES))
        else:
            content, alignment = _by_value(one, number)
            packed.extend(bytes(-len(packed) % alignment))
            packed.extend(content)
    return bytes(packed), pointers


def _by_value(one: Any, number: int) -> tuple[bytes, int]:
    """The bytes of a parameter and its alignment."""
    if isinstance(one, (ctypes.Structure, ctypes.Union, ctypes._SimpleCData, ctypes._Pointer)):
        return bytes(one), ctypes.alignment(one)
    if isinstance(one, (bool, int, float, complex)) and not isinstance(one, np.generic):
        one = np.asarray(one)[()]
    if isinstance(one, np.generic) and one.dtype.kind in "biufcV":
        # float2 and double2, which hold complex numbers, are aligned as a whole.
        is_whole = one.dtype.kind == "c"
        return one.tobytes(), one.dtype.itemsize if is_whole else one.dtype.alignment
    raise TypeError(
        f"[CudaKernel.push] args[{number}]: expected a tensor, a number of up to 64 bits (complex: "
        f"128) or an object of ctypes, got {type(one).__name__}"
    )


def _extents(what: str, given: Any, most: tuple[int, int, int]) -> tuple[int, int, int]:
    whole = given if isinstance(given, (tuple, list)) else [given]
    extents = [operator.index(n) for n in whole]
    if not 1 <= len(extents) <= 3:
        raise ValueError(f"[CudaKernel.push] {what}: expected one to three ints, got {given!r}")
    extents += [1] * (3 - len(extents))
    if any(not 1 <= n <= limit for n, limit in zip(extents, most, strict=True)):
        raise ValueError(f"[CudaKernel.push] {what}: expected 1 to {most}, got {given!r}")
    return extents[0], extents[1], extents[2]


def _block(given: Any) -> tuple[int, int, int]:
    extents = _extents("block", given, _MOST_EXTENTS)
    threads = extents[0] * extents[1] * extents[2]
    if threads > _MOST_THREADS:
        raise ValueError(
            f"[CudaKernel.push] block: expected up to {_MOST_THREADS} threads, got {threads}"
        )
    return extents


def _bytes(given: SupportsIndex) -> int:
    count = operator.index(given)
    if not 0 <= count < 2**31:
        raise ValueError(f"[CudaKernel.push] shared_bytes: expected 0 or more, got {count}")
    return count
