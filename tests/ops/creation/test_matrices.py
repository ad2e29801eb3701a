"""Triangles, diagonals, grids of indices and copies: NumPy's bits, layouts and refusals."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

OFFSETS = (0, 1, -1, 2, -3, 5, -6, 2**40, -(2**40))


def views(base: Any) -> Iterator[Any]:
    yield from (base, base[::2], base[..., ::-2], base[:0], base[..., :0], base[:1])
    yield base.T


@pytest.mark.parametrize("dtype", DTYPES)
def test_triangles(dtype: str, device: flow.Device) -> None:
    for shape in ((4, 5), (5, 3), (1, 1), (2, 3, 4), (0, 3), (3, 0)):
        x = values(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        for one, other in zip(views(x), views(t), strict=True):
            for k in OFFSETS:
                same(np.tril(one, k), flow.tril(other, k))
                same(np.triu(one, k=k), flow.triu(other, k=k))


@pytest.mark.parametrize("dtype", DTYPES)
def test_diagonals(dtype: str, device: flow.Device) -> None:
    row, matrix = values((6,), dtype, 2), values((4, 5), dtype, 3)
    for x, k in ((x, k) for x in (row, row[::-2], row[:0], matrix, matrix.T) for k in OFFSETS[:7]):
        same(np.diag(x, k), flow.diag(flow.tensor(x, device=device), k))
    t = flow.tensor(matrix, device=device)
    found = flow.diag(t)
    assert not found.shares_storage(t)


def test_triangles_refuse_as_numpy_does(device: flow.Device) -> None:
    x = flow.ones((2, 2), device=device)
    for function in (flow.tril, flow.triu, flow.diag):
        with pytest.raises(TypeError):
            function(x, 1.5)
        with pytest.raises(ValueError, match="dimension"):
            function(flow.ones((), device=device))
    with pytest.raises(ValueError, match="1 or 2 dimensions"):
        flow.diag(flow.ones((1, 1, 1)))
    for make in (flow.eye, flow.tri):
        with pytest.raises(ValueError, match="negative"):
            make(-1)
        with pytest.raises(TypeError):
            make(1.5)
    same(np.tril(np.arange(3.0)), flow.tril(flow.arange(3.0, device=device)))


@pytest.mark.parametrize("dtype", [None, *DTYPES])
def test_matrices_of_ones(dtype: str | None, device: flow.Device) -> None:
    for rows, columns in ((3, None), (2, 5), (5, 2), (0, 3), (3, 0), (1, 1)):
        for k in OFFSETS[:7]:
            like: Any = float if dtype is None else dtype
            same(np.eye(rows, columns, k, like), flow.eye(rows, columns, k, dtype, device=device))
            same(np.tri(rows, columns, k, like), flow.tri(rows, columns, k, dtype, device=device))


def test_the_sizes_of_matrices_have_numpys_names() -> None:
    for name in ("eye", "tri"):
        for sizes in ({"N": 3}, {"N": 2, "M": 5}, {"N": 2, "M": None}):
            same(getattr(np, name)(**sizes), getattr(flow, name)(**sizes))


def test_indices_of_triangles_and_shapes(device: flow.Device) -> None:
    for name in ("tril_indices", "triu_indices"):
        for n, k, m in ((4, 0, None), (3, 1, 5), (5, -2, 3), (0, 0, None), (3, 9, 3), (3, -9, 2)):
            found = getattr(flow, name)(n, k, m, device=device)
            for one, other in zip(getattr(np, name)(n, k, m), found, strict=True):
                same(one, other)
                assert other.device == device
    for shape in ((3,), (2, 3), (2, 0, 4), (1, 2, 3, 4), ()):
        same(np.indices(shape), flow.indices(shape, device=device))
        same(np.indices(shape, "int32"), flow.indices(shape, "int32", device=device))
    with pytest.raises(ValueError, match="negative"):
        flow.indices((2, -1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_of_real_numbers(dtype: str, device: flow.Device) -> None:
    for shape in ((), (0,), (3,), (2, 300)):
        x = values(shape, dtype, 4)
        t = flow.tensor(x, device=device)
        same(np.isreal(x), flow.isreal(t))
        same(np.iscomplex(x), flow.iscomplex(t))
        same(np.imag(x), flow.imag(t))
        if np.dtype(dtype).kind in "biu":
            same(np.nan_to_num(x), flow.nan_to_num(t, posinf=3))
            assert not flow.nan_to_num(t).shares_storage(t)


COPIES: tuple[tuple[Callable[..., Any], Callable[..., Any]], ...] = (
    (np.array, flow.array),
    (np.array, flow.tensor),
    (np.copy, flow.copy),
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_lie_as_numpys(dtype: str, device: flow.Device) -> None:
    for shape in ((3, 4), (70, 90), (5,), (2, 3, 4), (0, 3)):
        x = values(shape, dtype, 5)
        t = flow.tensor(x, device=device)
        for one, other in zip(views(x), views(t), strict=True):
            for reference, function in COPIES:
                expected, copied = reference(one), function(other)
                same(expected, copied)
                assert not copied.shares_storage(other)
                if expected.size:
                    assert copied.strides == expected.strides
            assert flow.ascontiguousarray(other).is_contiguous()


def test_a_tensor_is_its_own_array(device: flow.Device) -> None:
    x = flow.ones((2, 3), device=device)
    for function in (flow.asarray, flow.asanyarray, flow.ascontiguousarray):
        assert function(x) is x
        assert function(x, dtype="int8").dtype == "int8"
    assert flow.ascontiguousarray(flow.ones((), device=device)).shape == (1,)
    assert flow.ascontiguousarray(x.T) is not x.T


def test_slices_of_an_axis(device: flow.Device) -> None:
    x = values((2, 3, 4), "float32", 6)
    t = flow.tensor(x, device=device)
    for axis in (0, 1, 2, -1):
        slices = flow.unstack(t, axis=axis)
        assert isinstance(slices, tuple)
        for one, other in zip(np.unstack(x, axis=axis), slices, strict=True):
            same(one, other)
            assert other.shares_storage(t)
    assert flow.unstack(t[:0]) == ()
    with pytest.raises(np.exceptions.AxisError):
        flow.unstack(t, axis=3)
    with pytest.raises(ValueError, match="0-d"):
        flow.unstack(flow.ones((), device=device))


def test_common_shapes() -> None:
    given: tuple[tuple[Any, ...], ...] = (
        *((), ((),), ((2, 1), (1, 3)), (3, (2, 1)), ((0,), (1,)), ((4, 1, 2), (3, 1), ())),
    )
    for shapes in given:
        assert flow.broadcast_shapes(*shapes) == np.broadcast_shapes(*shapes)
    for bad in (((2,), (3,)), ((0,), (2,)), ((2, 3), (2,))):
        with pytest.raises(ValueError, match="do not broadcast"):
            flow.broadcast_shapes(*bad)
    with pytest.raises(ValueError, match="negative|broadcast"):
        flow.broadcast_shapes((-2, 1), (1, 3))


def test_memory_filled_at_once() -> None:
    for n in (0, 1, 64, 65, 5000, 200_000):
        for dtype in ("bool", "float16", "float64", "complex128"):
            same(np.zeros(n, dtype), flow.zeros(n, dtype))
            same(np.ones((n, 1), dtype), flow.ones((n, 1), dtype))
            assert flow.empty(n, dtype).shape == (n,)
    with pytest.raises((MemoryError, RuntimeError, ValueError)):
        flow.empty(2**60)
