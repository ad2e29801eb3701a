"""Kernels on the device, launched by cuda-bindings as the C++ side launches them."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from oneflow_lite.cuda import compiler
from oneflow_lite.cuda.kernels import OPTIONS, Request
from oneflow_lite.cuda.kernels.source import source

driver = pytest.importorskip("cuda.bindings.driver")
MAX_DIMS, MAX_OPERANDS = 8, 4


class Row(ctypes.Structure):
    """``ElementwiseRow`` of layout/elementwise.h."""

    _fields_ = (
        ("dim", ctypes.c_int64),
        ("strides", ctypes.c_int64 * MAX_OPERANDS),
        ("multiplier", ctypes.c_uint32),
        ("shift", ctypes.c_uint32),
    )


class Args(ctypes.Structure):
    """``ElementwiseArgs<8>`` of the same header; it begins as those of fewer rows."""

    _fields_ = (
        ("count", ctypes.c_int64),
        ("data", ctypes.c_uint64 * MAX_OPERANDS),
        ("fault", ctypes.c_uint64),
        ("scalars", ctypes.c_char * 16 * (MAX_OPERANDS - 1)),
        ("ndim", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("rows", Row * MAX_DIMS),
    )


def division(dim: int) -> tuple[int, int]:
    """The multiplier and the shift that ``quotient`` of loops.cuh wants."""
    shift = (dim - 1).bit_length() if dim else 0
    return (((1 << shift) - dim << 32) // dim + 1 if dim else 0), shift


def ok(result: tuple[Any, ...]) -> Any:
    """The values of a call that must succeed."""
    assert result[0] == driver.CUresult.CUDA_SUCCESS, result[0]
    values = result[1:]
    return values[0] if len(values) == 1 else values


def owner(view: np.ndarray) -> np.ndarray:
    """The contiguous array that a view is of."""
    while isinstance(view.base, np.ndarray):
        view = view.base
    return view


class Device:
    """The first device, its context current."""

    def __init__(self) -> None:
        ok(driver.cuInit(0))
        ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))

    def load(self, image: bytes, name: str = "kernel") -> Any:
        return ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(image)), name.encode()))

    def compile(self, requests: Sequence[Request]) -> list[Any]:
        """The kernels, from one image."""
        names = [f"kernel_{k}" for k in range(len(requests))]
        text = source(dict(zip(names, requests, strict=True)))
        assert text is not None
        module = ok(driver.cuModuleLoadData(compiler.compile(text, "sm_90", OPTIONS)))
        return [ok(driver.cuModuleGetFunction(module, name.encode())) for name in names]

    def run(
        self,
        kernel: Any,
        inputs: Sequence[np.ndarray | np.generic],
        output: np.ndarray,
        blocks: int = 2,
    ) -> None:
        """Writes the output. Inputs that are no arrays go by value; views keep their strides."""
        args = Args(count=output.size, ndim=output.ndim)
        for d, dim in enumerate(output.shape):
            args.rows[d].dim = dim
            args.rows[d].multiplier, args.rows[d].shift = division(dim)
        pointers: dict[int, int] = {}
        operands = [*inputs, output]
        for k, operand in enumerate(operands):
            if not isinstance(operand, np.ndarray):
                args.scalars[k].value = b""
                ctypes.memmove(
                    ctypes.addressof(args.scalars) + 16 * k,
                    operand.tobytes(),
                    operand.dtype.itemsize,
                )
                continue
            base = owner(operand)
            if id(base) not in pointers:
                pointers[id(base)] = self.put(base)
            args.data[k] = pointers[id(base)] + operand.ctypes.data - base.ctypes.data
            for d, stride in enumerate(operand.strides):
                args.rows[d].strides[k] = stride
        self.launch(kernel, args, blocks)
        written = owner(output)
        ok(driver.cuMemcpyDtoH(written.ctypes.data, pointers[id(written)], written.nbytes))
        for pointer in pointers.values():
            ok(driver.cuMemFree(pointer))

    def launch(self, kernel: Any, args: ctypes.Structure, blocks: int) -> None:
        """With blocks of 256 threads."""
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(args))
        table = ctypes.addressof(parameters)
        ok(driver.cuLaunchKernel(kernel, blocks, 1, 1, 256, 1, 1, 0, 0, table, 0))

    def put(self, array: np.ndarray) -> int:
        pointer = int(ok(driver.cuMemAlloc(max(array.nbytes, 1))))
        if array.nbytes:
            ok(driver.cuMemcpyHtoD(pointer, array.ctypes.data, array.nbytes))
        return pointer
