"""The order of axes of results in memory is NumPy's, and so are the bits of sums of them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same

Call = Callable[[Any, Any], Any]

CALLS: dict[str, Call] = {
    "copy": lambda xp, v: xp.copy(v),
    "method copy": lambda xp, v: v.copy(),
    "array": lambda xp, v: xp.asarray(v, copy=True),
    "astype": lambda xp, v: v.astype(xp.float32),
    "zeros_like": lambda xp, v: xp.zeros_like(v),
    "empty_like": lambda xp, v: xp.empty_like(v, dtype=xp.int8),
    "ones_like": lambda xp, v: xp.ones_like(v),
    "full_like": lambda xp, v: xp.full_like(v, 2.5),
    "full_like of an array": lambda xp, v: xp.full_like(v, xp.arange(float(v.shape[-1]))),
    "where": lambda xp, v: xp.where(v > 0.5, v, 0),
    "concat": lambda xp, v: xp.concat([v, v], axis=0),
    "concat along 1": lambda xp, v: xp.concat([v, v + 0], axis=1),
    "concat along the last": lambda xp, v: xp.concat([v, v], axis=-1),
    "concat with rows": lambda xp, v: xp.concat([v, v.copy()], axis=1),
    "concat behind rows": lambda xp, v: xp.concat([v.copy(), v], axis=1),
    "concat of slices": lambda xp, v: xp.concat([v[::2], v[1:]], axis=0),
    "concat with a broadcast one": lambda xp, v: xp.concat([v, xp.broadcast_to(v[:1], v.shape)]),
    "stack": lambda xp, v: xp.stack([v, v]),
    "stack along 1": lambda xp, v: xp.stack([v, v], axis=1),
    "stack along the last": lambda xp, v: xp.stack([v, v], axis=-1),
    "hstack": lambda xp, v: xp.hstack([v, v]),
    "vstack": lambda xp, v: xp.vstack([v, v]),
    "dstack": lambda xp, v: xp.dstack([v, v]),
    "append": lambda xp, v: xp.append(v, v, axis=0),
    "delete": lambda xp, v: xp.delete(v, 0, axis=0),
    "insert": lambda xp, v: xp.insert(v, 1, 5.0, axis=0),
    "pad": lambda xp, v: xp.pad(v, 1),
    "pad by edges": lambda xp, v: xp.pad(v, ((2, 1),) * v.ndim, mode="edge"),
    "pad by the other end": lambda xp, v: xp.pad(v, 2, mode="wrap"),
    "round": lambda xp, v: xp.round(v),
    "round of integers": lambda xp, v: xp.round((v * 9).astype(xp.int64)),
    "clip by nothing": lambda xp, v: xp.clip(v, None, None),
    "nan_to_num": lambda xp, v: xp.nan_to_num((v * 9).astype(xp.int64)),
    "roll": lambda xp, v: xp.roll(v, 1, axis=0),
    "repeat": lambda xp, v: xp.repeat(v, 2, axis=0),
    "repeat some": lambda xp, v: xp.repeat(v, np.arange(v.shape[0]), axis=0),
    "tile": lambda xp, v: xp.tile(v, (2, 1)),
    "tile once": lambda xp, v: xp.tile(v, (1, 1)),
    "tile by nothing": lambda xp, v: xp.tile(v, ()),
    "imag": lambda xp, v: xp.imag(v),
    "attribute imag": lambda xp, v: v.imag,
    "isreal": lambda xp, v: xp.isreal(v),
    "iscomplex": lambda xp, v: xp.iscomplex(v),
    "sort": lambda xp, v: xp.sort(v),
    "sort along 0": lambda xp, v: xp.sort(v, axis=0),
    "argsort": lambda xp, v: xp.argsort(v, axis=0),
    "partition": lambda xp, v: xp.partition(v, 0),
    "partition in two places": lambda xp, v: xp.partition(v, [0, 1]),
    "argpartition": lambda xp, v: xp.argpartition(v, 0),
    "cumsum": lambda xp, v: xp.cumsum(v, axis=0),
    "cumsum along 1": lambda xp, v: xp.cumsum(v, axis=1),
    "cumulative_sum": lambda xp, v: xp.cumulative_sum(v, axis=1),
    "cumulative_sum from 0": lambda xp, v: xp.cumulative_sum(v, axis=0, include_initial=True),
    "cumulative_prod": lambda xp, v: xp.cumulative_prod(v, axis=0),
    "accumulate": lambda xp, v: xp.maximum.accumulate(v, axis=0),
    "nancumsum": lambda xp, v: xp.nancumsum(v, axis=0),
    "sum": lambda xp, v: xp.sum(v, axis=0),
    "sum along 1": lambda xp, v: xp.sum(v, axis=1),
    "sum along the last": lambda xp, v: xp.sum(v, axis=-1),
    "sum of integers": lambda xp, v: xp.sum(v > 0.5, axis=1),
    "sum that keeps": lambda xp, v: xp.sum(v, axis=1, keepdims=True),
    "max": lambda xp, v: xp.max(v, axis=0),
    "all": lambda xp, v: xp.all(v, axis=1),
    "count_nonzero": lambda xp, v: xp.count_nonzero(v, axis=0),
    "argmax": lambda xp, v: xp.argmax(v, axis=0),
    "argmin that keeps": lambda xp, v: xp.argmin(v, axis=-1, keepdims=True),
    "mean": lambda xp, v: xp.mean(v, axis=-1),
    "std": lambda xp, v: xp.std(v, axis=0),
    "median": lambda xp, v: xp.median(v, axis=0),
    "quantile": lambda xp, v: xp.quantile(v, 0.3, axis=0),
    "quantiles": lambda xp, v: xp.quantile(v, [0.3, 0.4], axis=-1),
    "average": lambda xp, v: xp.average(v, axis=0),
    "ptp": lambda xp, v: xp.ptp(v, axis=0),
    "vector_norm": lambda xp, v: xp.linalg.vector_norm(v, axis=0),
    "cross": lambda xp, v: xp.linalg.cross(v[..., :3], v[..., :3]),
    "fft": lambda xp, v: xp.fft.fft(v),
    "fft along 0": lambda xp, v: xp.fft.fft(v, axis=0),
    "fft of more": lambda xp, v: xp.fft.fft(v, n=8, axis=0),
    "rfft": lambda xp, v: xp.fft.rfft(v, axis=0),
    "irfft": lambda xp, v: xp.fft.irfft(v),
    "fftn": lambda xp, v: xp.fft.fftn(v),
    "fftshift": lambda xp, v: xp.fft.fftshift(v),
    "take": lambda xp, v: xp.take(v, xp.asarray([0, 1]), axis=0),
    "take along 1": lambda xp, v: xp.take(v, xp.asarray([0, 1, 0]), axis=1),
    "index": lambda xp, v: v[xp.asarray([0, 1])],
    "index along 1": lambda xp, v: v[:, xp.asarray([0, 1, 0])],
    "index along the last": lambda xp, v: v[..., xp.asarray([1, 0])],
    "two indices": lambda xp, v: v[xp.asarray([0, 1]), xp.asarray([1, 0])],
    "indices of two dimensions": lambda xp, v: v[:, xp.asarray([[0, 1, 0], [1, 1, 0]])],
    "mask": lambda xp, v: v[:, xp.asarray([True] + [False] * (v.shape[1] - 1))],
    "compress": lambda xp, v: xp.compress([True, True], v, axis=1),
    "take_along_axis": lambda xp, v: xp.take_along_axis(v, xp.argsort(v, axis=0), axis=0),
    "gradient": lambda xp, v: xp.gradient(v, axis=0),
    "diff": lambda xp, v: xp.diff(v),
    "piecewise": lambda xp, v: xp.piecewise(v, [v > 0.5], [1.0]),
    "polyval": lambda xp, v: xp.polyval([1.0, 2.0], v),
    "trapezoid": lambda xp, v: xp.trapezoid(v, axis=0),
    "matmul": lambda xp, v: xp.matmul(v, xp.swapaxes(v, -1, -2)),
    "broadcast": lambda xp, v: v + xp.expand_dims(v[0], 0),
}
NEEDS_VALUES = {"mask", "compress", "piecewise"}  # how many are chosen, which a program cannot know

ORDERS = [(0, 1), (1, 0), (0, 1, 2), (2, 0, 1), (1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0)]


def example(order: tuple[int, ...], dtype: str = "float64") -> np.ndarray[Any, Any]:
    """A row-major array turned."""
    values = np.random.default_rng(len(order)).random((4, 5, 3)[: len(order)])
    return values.astype(dtype).transpose(order)


def turned(x: np.ndarray[Any, Any], order: tuple[int, ...], device: flow.Device) -> flow.Tensor:
    back = tuple(np.argsort(order))
    return flow.permute_dims(flow.tensor(x.transpose(back).copy(), device=device), order)


def steps(x: Any) -> list[int]:
    """The strides where there is more than one element to step to."""
    return [stride for stride, extent in zip(x.strides, x.shape, strict=True) if extent > 1]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_results_lie_as_numpys(order: tuple[int, ...], device: flow.Device, naive: bool) -> None:
    x = example(order)
    given = turned(x, order, device)
    assert steps(given) == steps(x)
    different = {}
    for name, call in CALLS.items():
        expected, seen = call(np, x), call(flow, given)
        assert seen.shape == expected.shape, name
        if steps(seen) != steps(expected):
            different[name] = (steps(seen), steps(expected))
    assert different == {}


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_results_of_programs_lie_as_numpys(order: tuple[int, ...], device: flow.Device) -> None:
    x = example(order)
    given = turned(x, order, device)
    different = {}
    for name, call in CALLS.items():
        if name in NEEDS_VALUES:
            continue
        expected = call(np, x)
        jitted = flow.jit(lambda v, call=call: call(flow, v) * 1)
        for _ in range(3):
            seen = jitted(given)
            if steps(seen) != steps(expected * 1):
                different[name] = (steps(seen), steps(expected))
        exact = "fft" not in name and "partition" not in name and name != "empty_like"
        if exact and device.type != "cuda":
            np.testing.assert_array_equal(seen.numpy(), expected, name)
    assert different == {}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_sums_have_numpys_bits(order: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(1).random((20, 30, 40)[: len(order)]).astype(dtype).transpose(order)
    given = turned(x, order, flow.device("cpu"))
    assert given.strides == x.strides
    calls = ["copy", "concat along 1", "stack", "sort", "cumsum along 1", "sum", "index along 1"]
    views: list[Call] = [
        lambda xp, v: v,
        lambda xp, v: v[::2, ::-1],
        lambda xp, v: xp.broadcast_to(v[:, :1], v.shape),
    ]
    for view in views:
        theirs, ours = view(np, x), view(flow, given)
        for call in calls:
            expected, seen = CALLS[call](np, theirs), CALLS[call](flow, ours)
            for axis in (None, 0, -1):
                for name in ("sum", "mean", "std", "prod"):
                    wanted = getattr(np, name)(expected, axis=axis)
                    found = getattr(flow, name)(seen, axis=axis)
                    assert found.numpy().tobytes() == wanted.tobytes(), (call, name, axis)


def test_parts_that_lie_differently(device: flow.Device) -> None:
    for order in ORDERS[2:]:
        arrays = []
        for shape in ((3, 4, 2), (3, 1, 2), (3, 5, 2)):
            extents = [shape[order.index(d)] for d in range(3)]
            arrays.append(np.arange(float(np.prod(shape))).reshape(extents).transpose(order))
        tensors = [turned(x, order, device) for x in arrays]
        for others in (slice(None), slice(1, None), slice(None, None, -1)):
            expected = np.concat([*arrays[others], arrays[0].copy()], axis=1)
            seen = flow.concat([*tensors[others], tensors[0].copy()], axis=1)
            assert steps(seen) == steps(expected)
            np.testing.assert_array_equal(seen.numpy(), expected)


def test_a_like_of_a_broadcast_and_a_reversed_tensor(device: flow.Device) -> None:
    x = np.arange(24.0).reshape(2, 3, 4)
    given = flow.tensor(x, device=device)
    views: list[Call] = [
        lambda xp, v: xp.broadcast_to(v[:, :1], (2, 3, 4)),
        lambda xp, v: xp.broadcast_to(v[0, 0], (5, 4)),
        lambda xp, v: xp.flip(xp.swapaxes(v, 0, 2)),
        lambda xp, v: xp.swapaxes(v, 0, 2)[::2, :, ::-1],
        lambda xp, v: v[:, :0],
    ]
    for view in views:
        for make in ("zeros_like", "concat", "cumsum", "sum", "sort", "copy", "astype", "fft"):
            expected, seen = CALLS[make](np, view(np, x)), CALLS[make](flow, view(flow, given))
            if expected.size:
                assert steps(seen) == steps(expected), make
            if make != "fft":
                np.testing.assert_array_equal(seen.numpy(), expected, make)


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (1, 4, 3), (1, 1, 4), (2, 1, 3)])
def test_transforms_with_extents_of_one(shape: tuple[int, ...], device: flow.Device) -> None:
    """Such a tensor is row-major with its axes in several orders."""
    x = np.arange(float(np.prod(shape))).reshape(shape)
    t = flow.tensor(x, device=device)
    views: list[Call] = [lambda xp, v: v, lambda xp, v: v.T, lambda xp, v: v[::-1]]
    for view in views:
        for axis in range(len(shape)):
            expected = np.fft.fft(view(np, x), n=3, axis=axis)
            assert steps(flow.fft.fft(view(flow, t), n=3, axis=axis)) == steps(expected), axis


def test_a_power_of_zero_and_a_turned_correlation(device: flow.Device) -> None:
    calls: list[Call] = [
        lambda xp, v: xp.linalg.matrix_power(v.T, 0),
        lambda xp, v: xp.correlate(v[0, :2], v[1]),
    ]
    x = np.arange(9.0).reshape(3, 3)
    for call in calls:
        expected, seen = call(np, x), call(flow, flow.tensor(x, device=device))
        assert seen.strides == expected.strides
        np.testing.assert_array_equal(seen.numpy(), expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_what_replaces_nan_in_a_broadcast_tensor(dtype: str, device: flow.Device) -> None:
    """NumPy writes into a copy, in which equal elements lie side by side."""
    numbers = np.random.default_rng(2).standard_normal((5, 3, 40)).astype(dtype)
    numbers[0, 0, 5] = numbers[2, 0, 7] = np.nan
    views: list[Call] = [
        lambda xp, v: xp.broadcast_to(v[:1], (2, 3, 40)),
        lambda xp, v: xp.broadcast_to(v[:, :1], (5, 6, 40)),
        lambda xp, v: xp.broadcast_to(v[0, 0], (7, 40)),
    ]
    names = ["nansum", "nanmean", "nanprod", "nanvar", "nanstd", "nancumsum", "nancumprod"]
    exact = device.type != "cuda"
    for view in views:
        x, t = view(np, numbers), view(flow, flow.tensor(numbers, device=device))
        assert steps(flow.nan_to_num(t)) == steps(np.nan_to_num(x))
        for name in names:
            for axis in (None, *range(x.ndim)):
                expected, seen = getattr(np, name)(x, axis=axis), getattr(flow, name)(t, axis=axis)
                assert steps(seen) == steps(expected), (name, axis)
                if exact:
                    assert seen.numpy().tobytes() == expected.tobytes(), (name, axis)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "complex64", "complex128"])
def test_columns_longer_than_the_cache_holds(dtype: str, device: flow.Device) -> None:
    """They are copied in parts, and of repeated indices the last one stays in each part."""
    x = (np.random.default_rng(3).random((2500, 5)) * 100).astype(dtype)
    chosen, mask = np.array([3, 0, 3, 1]), np.array([True, False, False, True, True])
    values = np.arange(10_000.0).astype(dtype).reshape(2500, 4)
    for view in (np.s_[:], np.s_[::-1], np.s_[::2, ::-1], np.s_[:17], np.s_[:15]):
        given = flow.tensor(x, device=device)
        theirs, ours = x.copy()[view], given[view]
        same(theirs[:, chosen], ours[:, flow.tensor(chosen, device=device)])
        same(theirs[:, mask], ours[:, flow.tensor(mask, device=device)])
        same(theirs.T[chosen], ours.T[flow.tensor(chosen, device=device)])
        theirs[:, chosen] = values[: len(theirs)]
        ours[:, chosen] = flow.tensor(values, device=device)[: len(theirs)]
        same(theirs, ours)
        theirs[:, chosen] = values[0, 1]
        ours[:, chosen] = values[0, 1].item()
        same(theirs, ours)
