"""Tensors: operators, methods and functions."""

import math
from collections.abc import Callable
from typing import assert_type

import numpy as np
import numpy.typing as npt

import oneflow_lite as flow
from oneflow_lite import Tensor


def total(x: Tensor) -> Tensor:
    return x.sum()


def takes_array(x: npt.ArrayLike) -> None:
    np.asarray(x)


def legal_operators() -> None:
    x = flow.ones(3)
    assert_type(x + 1, Tensor)
    assert_type(2 * x, Tensor)
    assert_type(divmod(x, 2), tuple[Tensor, Tensor])
    assert_type(divmod(2, x), tuple[Tensor, Tensor])
    assert_type(1.0 in x, bool)
    assert_type(x.device == "cpu", bool)
    assert_type(x == 1, Tensor)
    assert_type(math.floor(x[0]), int)
    x += 1
    x[0] = 3
    takes_array(x)
    memoryview(x)
    for row in x:
        assert_type(row, Tensor)


def legal_methods() -> None:
    x = flow.arange(6).reshape(2, 3)
    assert_type(total(x), Tensor)
    assert_type(x.mock(1).cpu(), Tensor)
    assert_type(x.transpose(1, 0).astype("float32"), Tensor)
    assert_type(x.max(axis=np.int64(0)), Tensor)
    assert_type(x.sum((0, 1), keepdims=True), Tensor)
    assert_type(x.nonzero(), tuple[Tensor, ...])
    assert_type(x.tobytes(), bytes)
    x.sort(axis=0)
    x.fill(3)


def legal_names_of_dtypes() -> None:
    assert_type(flow.float32(2.5), Tensor)
    assert_type(flow.float32.itemsize, int)
    assert_type(flow.float32.name, str)
    takes_array(np.zeros(2, dtype=flow.float32))
    assert flow.ones(2, dtype=flow.int8).dtype == flow.int8
    assert flow.float32 == np.float32
    assert flow.float32 in (flow.float64, np.dtype("float32"))


def legal_functions() -> None:
    x = flow.ones((2, 3))
    unary: Callable[[Tensor], Tensor] = flow.exp
    binary: Callable[[Tensor, Tensor], Tensor] = flow.add
    op: flow.Op = flow.exp
    assert_type(unary(x), Tensor)
    assert_type(binary(x, x), Tensor)
    assert_type(flow.exp(x, out=flow.zeros((2, 3))), Tensor)
    assert_type(flow.sum(x, axis=np.int64(0)), Tensor)
    assert_type(flow.zeros((np.int64(3), 2)), Tensor)
    assert_type(flow.concat([x, x], axis=np.int64(0)), Tensor)
    assert_type(flow.__array_api_version__, str)
    assert op is flow.exp


def legal_results_that_arguments_decide() -> None:
    x = flow.eye(3)
    u, s, vh = flow.linalg.svd(x)
    assert_type(u @ vh, Tensor)
    assert_type(s, Tensor)
    assert_type(flow.linalg.svd(x, compute_uv=False), Tensor)
    assert_type(flow.linalg.qr(x, mode="r"), Tensor)
    assert_type(flow.linalg.qr(x).Q, Tensor)
    assert_type(flow.unique(x), Tensor)
    assert_type(flow.unique(x, return_counts=True), tuple[Tensor, ...])
    assert_type(flow.polyfit([1, 2, 3], [1, 2, 3], 1), Tensor)
    assert_type(flow.atleast_1d(x), Tensor)
    assert_type(flow.atleast_1d(x, x), tuple[Tensor, ...])
    assert_type(flow.gradient(x, axis=0), Tensor)


def wrong() -> None:
    x = flow.ones((2, 3))
    x.summ()  # type: ignore[attr-defined]
    x.sum(axs=0)  # type: ignore[call-arg]
    x.sum(1, 2, None, True, 4, True, 7)  # type: ignore[call-arg]
    x.sum(axis="no")  # type: ignore[arg-type]
    x.reshape("a")  # type: ignore[arg-type]
    x.to_device()  # type: ignore[call-arg]
    x.mock("a")  # type: ignore[arg-type]
    x.shape = (3, 2)  # type: ignore[misc]
    del x[0]  # type: ignore[attr-defined]
    flow.summ(x)  # type: ignore[attr-defined]
    flow.zeros(3, dtype=flow.flaot32)  # type: ignore[attr-defined]
    flow.exp(x, x, x)  # type: ignore[call-overload]
    flow.add(x)  # type: ignore[call-overload]
    flow.add(x, x, axis=3)  # type: ignore[call-overload]
    flow.sum(x, axs=0)  # type: ignore[call-overload]
    flow.zeros()  # type: ignore[call-overload]
