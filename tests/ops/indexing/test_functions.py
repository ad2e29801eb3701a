"""take, put, nonzero and their kin: what NumPy's functions of these names do."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate
from tests.support.oracle import DTYPES, same, values

SHAPES = [(6,), (3, 4), (2, 0, 3), (2, 3, 4), (1, 5)]


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take(mode: str, device: flow.Device) -> None:
    rng = np.random.default_rng(2)
    for shape, dtype in itertools.product(SHAPES, ("float64", "int8", "complex128")):
        x = values(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        for axis in (None, *range(-len(shape), len(shape))):
            size = x.size if axis is None else x.shape[axis]
            far = 1 if mode == "raise" else 4
            for index_shape in ((), (4,), (2, 3), (0,)):
                if not size and 0 not in index_shape:
                    continue
                index = rng.integers(-size * far, size * far or 1, index_shape)
                expected = np.take(x, index, axis=axis, mode=mode)
                for given in (index, index.tolist(), flow.tensor(index, device=device)):
                    same(expected, flow.take(t, given, axis, mode=mode))
                same(expected, t.take(index, axis=axis, mode=mode))


def test_take_is_checked(device: flow.Device) -> None:
    t = flow.tensor([[1, 2, 3]], device=device)
    with pytest.raises(
        IndexError, match=r"\[take\] index 3 is out of bounds for axis 1 with size 3"
    ):
        flow.take(t, [0, 3], axis=1)
    late = flow.take(t, flow.tensor([0, -4], device=device), axis=1)
    with pytest.raises(IndexError, match=r"\[take\] index -4 is out of bounds for axis 1"):
        late.numpy()
    with pytest.raises(IndexError):
        flow.synchronize()
    for indices in ([0.5], [True], "a", flow.tensor([1.0]), flow.tensor([True])):
        with pytest.raises(IndexError, match=r"\[take\] indices must be integers"):
            flow.take(t, indices, axis=1)
    with pytest.raises(IndexError, match=r"\[take\] axis 2 is out of bounds for 2 dimensions"):
        flow.take(t, [0], axis=2)
    with pytest.raises(ValueError, match=r"\[take\] expected mode"):
        flow.take(t, [0], axis=1, mode="wide")
    for mode in ("raise", "wrap", "clip"):
        with pytest.raises(IndexError, match=r"\[take\]"):
            flow.take(flow.zeros((0, 3), device=device), [0], axis=0, mode=mode)


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool", "complex128"])
def test_along_axis(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(3)
    for shape in ((7,), (5, 6), (3, 4, 5), (2000, 3), (3, 2000), (1, 4)):
        x = values(shape, dtype, 4)
        for axis in range(-len(shape), len(shape)):
            for length in (1, 3, 2500 if max(shape) < 100 and x.size < 40 else 2):
                lanes = list(shape)
                lanes[axis] = length
                index = rng.integers(-shape[axis], shape[axis], lanes)
                t, i = flow.tensor(x, device=device), flow.tensor(index, device=device)
                same(np.take_along_axis(x, index, axis), flow.take_along_axis(t, i, axis=axis))
                new = values(lanes, dtype, 5)
                changed = x.copy()
                np.put_along_axis(changed, index, new, axis)
                flow.put_along_axis(t, i, flow.tensor(new, device=device), axis=axis)
                same(changed, t)


def test_along_axis_broadcasts(device: flow.Device) -> None:
    x, index = np.arange(24).reshape(2, 3, 4), np.array([[[2, -1]]])
    t = flow.tensor(x, device=device)
    same(np.take_along_axis(x, index, 2), flow.take_along_axis(t, index))
    same(np.take_along_axis(x[:1], x % 3, 1), flow.take_along_axis(t[:1], t % 3, 1))
    same(np.take_along_axis(x, indices=index), flow.take_along_axis(t, indices=index))
    same(
        np.take_along_axis(x, np.array([5, -1]), None), flow.take_along_axis(t, [5, -1], axis=None)
    )
    same(np.take_along_axis(x.T, index.T, 0), flow.take_along_axis(t.T, index.T, axis=0))
    for value in (7, np.array([8, 9]), 1.9):
        np.put_along_axis(x, index, value, 2)
        flow.put_along_axis(t, indices=index, values=value, axis=2)
        same(x, t)
    np.put_along_axis(x, np.array([3, 4]), 0, None)
    flow.put_along_axis(t, [3, 4], 0, axis=None)
    same(x, t)
    for indices, given in (([0, 1, 2], [7, 8]), ([[0, 1]], 5), ([0, 1], [[1], [2]])):
        with pytest.raises(ValueError, match=r"\[put_along_axis\] "):
            flow.put_along_axis(t, indices, flow.tensor(given, device=device), axis=None)
        same(x, t)
    with pytest.raises(ValueError, match="as many dimensions"):
        flow.take_along_axis(t, [0])
    with pytest.raises(IndexError, match="do not broadcast outside axis 2"):
        flow.take_along_axis(t, np.zeros((3, 3, 1), int), axis=2)
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 2 with size 4"):
        flow.take_along_axis(t, [[[4]]])
    with pytest.raises(IndexError, match="no elements"):
        flow.take_along_axis(flow.zeros((2, 0)), flow.zeros((2, 1), dtype="int64"))
    with pytest.raises(IndexError, match="got a tensor of float64"):
        flow.take_along_axis(t, flow.zeros((1, 1, 1)))
    late = flow.take_along_axis(t, flow.tensor([[[4]]], device=device))
    with pytest.raises(
        IndexError, match=r"\[take_along_axis\] index 4 is out of bounds for axis 2"
    ):
        late.numpy()
    with pytest.raises(IndexError):
        flow.synchronize()


def test_put(device: flow.Device) -> None:
    for index, value, mode in [
        *(([0, 3, -1], [7, 8, 9], "raise"), ([1, 2, 3, 4], [5, 6], "raise"), (4, 3, "raise")),
        *(([0, 1], [5, 6, 7], "raise"), ([], [1], "raise"), ([1], [], "raise")),
        *(([40, -50, 7], [1, 2, 3], "wrap"), ([40, -50, 7], [1, 2, 3], "clip")),
        *(([[1, 1], [1, 2]], [[1, 2], [3, 4]], "raise"), ([1, 2], 2.7, "raise")),
    ]:
        for view in (lambda a: a, lambda a: a.T, lambda a: a[:, ::2]):
            x = np.arange(24).reshape(4, 6)
            t = flow.tensor(x, device=device)
            np.put(view(x), index, value, mode=mode)
            flow.put(view(t), flow.tensor(index, dtype="int64", device=device), value, mode=mode)
            same(x, t)
    t = flow.zeros(3, device=device)
    with pytest.raises(IndexError, match=r"\[put\] index 3 is out of bounds"):
        flow.put(t, [0, 3], 1)
    with pytest.raises(TypeError, match=r"\[put\] expected a tensor"):
        flow.put(np.zeros(3), [0], 1)
    with pytest.raises(ValueError, match="broadcast view"):
        flow.put(flow.broadcast_to(t[:1], (3,)), [0], 1)
    assert t.tolist() == [0] * 3


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero(dtype: str, device: flow.Device) -> None:
    for shape in (*SHAPES, (3000,), (40, 50), (2, 1100)):
        x = values(shape, dtype, 6)
        x[np.random.default_rng(7).random(shape) < 0.5] = 0
        if np.dtype(dtype).kind in "fc" and x.size > 3:
            x.flat[1], x.flat[2] = -0.0, np.nan
        t = flow.tensor(x, device=device)
        for array, seen in ((x, t), (x.T, t.T), (x[::-1], t[::-1])):
            for expected, indices in zip(np.nonzero(array), seen.nonzero(), strict=True):
                same(expected, indices)
            same(np.argwhere(array), flow.argwhere(seen))
            same(np.flatnonzero(array), flow.flatnonzero(seen))
            axes = [None, *range(-x.ndim, x.ndim), tuple(range(x.ndim)), ()]
            for axis, keepdims in itertools.product(axes, (False, True)):
                expected = np.count_nonzero(array, axis=axis, keepdims=keepdims)
                same(
                    np.asarray(expected, "int64"),
                    flow.count_nonzero(seen, axis=axis, keepdims=keepdims),
                )


def test_nonzero_of_one_element(device: flow.Device) -> None:
    for value in (0.0, 2.0):
        t = flow.tensor(value, device=device)
        assert flow.count_nonzero(t).item() == bool(value)
        same(np.argwhere(np.array(value)), flow.argwhere(t))
        same(np.flatnonzero(np.array(value)), flow.flatnonzero(t))
        with pytest.raises(ValueError, match=r"\[nonzero\] expected a dimension"):
            flow.nonzero(t)


def test_compress_and_extract(device: flow.Device) -> None:
    x = np.arange(12).reshape(3, 4)
    t = flow.tensor(x, device=device)
    conditions: list[Any] = [[True, False, True], [0, 1], [], np.array([1.5, 0, 2])]
    for condition, axis in itertools.product(conditions, (None, 0, 1, -1)):
        expected = np.compress(condition, x, axis=axis)
        same(expected, flow.compress(condition, t, axis=axis))
        as_tensor = flow.tensor(condition, device=device)
        same(expected, flow.compress(as_tensor, t, axis=axis))
    same(np.compress([0, 1, 1, 0, 0], x, 0), flow.compress([0, 1, 1, 0, 0], t, 0))
    same(np.extract(x % 3 == 1, x), flow.extract(t % 3 == 1, t))
    same(np.extract(x % 3 == 1, x), flow.extract(x % 3 == 1, t))
    with pytest.raises(IndexError, match=r"\[take\]|\[compress\]"):
        flow.compress([0, 0, 0, 1], t, axis=0)
    with pytest.raises(ValueError, match="one dimension"):
        flow.compress([[True]], t)


NO_LOOK: list[Callable[[Any, Any], Any]] = [
    lambda t, i: flow.take(t, i),
    lambda t, i: flow.take(t, i, mode="wrap"),
    lambda t, i: flow.take_along_axis(t, i),
    lambda t, i: flow.put_along_axis(t, i, 3),
    lambda t, i: flow.put(t, i, [1, 2]),
    lambda t, i: flow.count_nonzero(i),
    lambda t, i: flow.compress([True, False], i),
]


@pytest.mark.parametrize("function", NO_LOOK)
def test_nothing_is_looked_at(function: Callable[[Any, Any], Any], device: flow.Device) -> None:
    with Gate() as gate, flow.flags(implicit_sync="error"):
        index = gate.on(device).astype("int64")
        t = flow.arange(4, device=device)
        result = function(t, index)
        assert not (t if result is None else result).is_ready()
        gate.open()
    flow.synchronize()
