"""histogram2d, histogramdd, histogram_bin_edges: NumPy's numbers, on every device."""

import re
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError, trace
from tests.support.oracle import same

REAL = ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"]
EDGES = ([0, 1, 2], [-3.5, 0.0, 0.0, 7.0], np.array([2.0, 2.0]))


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(2).normal(0, 5, shape).astype(dtype)


@pytest.mark.parametrize("dtype", REAL)
def test_edges(dtype: str, device: flow.Device) -> None:
    for x in (numbers(dtype, 40, 20), numbers(dtype, 40, 20)[::-2, ::3], numbers(dtype, 0)):
        t = flow.tensor(x, device=device)
        array = x.astype("uint8") if dtype == "bool" else x
        for bins in (10, 1, 37, *EDGES):
            for limits in (None, (-4, 4.5), (1, 1)):
                expected = np.histogram_bin_edges(array, bins, limits)
                same(expected, flow.histogram_bin_edges(t, bins, limits))
                same(expected, np.histogram_bin_edges(t, bins, limits))
        same(expected, flow.histogram_bin_edges(t, bins, limits, weights=flow.ones(t.shape)))
    assert flow.histogram_bin_edges(t).device == device


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.float16, np.float32, np.float64])
def test_edges_between_far_and_near_elements(dtype: Any, device: flow.Device) -> None:
    limits = np.iinfo(dtype) if np.issubdtype(dtype, np.integer) else np.finfo(dtype)
    rows = ([limits.min, limits.max], [limits.max] * 2, [limits.min // 2, 7], [1, 2], [3], [0, 0])
    for row in rows:
        x = np.array(row, dtype)
        t = flow.tensor(x, device=device)
        for bins in (1, 3, 5000):
            with np.errstate(over="ignore"):
                try:
                    expected = np.histogram_bin_edges(x, bins)
                except ValueError as error:
                    with pytest.raises(ValueError, match=re.escape(str(error))):
                        flow.histogram_bin_edges(t, bins)
                else:
                    same(expected, flow.histogram_bin_edges(t, bins))


@pytest.mark.parametrize("dtype", REAL)
def test_of_a_plane(dtype: str, device: flow.Device) -> None:
    x, y = numbers(dtype, 2, 60)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    for bins in (10, 3, (4, 7), *EDGES[:2], (5, EDGES[1]), (EDGES[0], EDGES[1]), np.array([3, 4])):
        for limits in (None, ((-4, 4.5), (0, 3)), (None, (1, 1))):
            for density in (None, False, True):
                with np.errstate(all="ignore"):
                    expected = np.histogram2d(x, y, bins, limits, density)
                same(expected, flow.histogram2d(t, u, bins, limits, density))
    same(np.histogram2d(x[::-3], y[::3]), flow.histogram2d(t[::-3], u[::3]))
    same(np.histogram2d(x[:0], y[:0]), flow.histogram2d(t[:0], u[:0]))
    same(np.histogram2d(x, y, 4), np.histogram2d(t, u, 4))
    for one in flow.histogram2d(t, u):
        assert one.device == device


@pytest.mark.parametrize("dtype", REAL)
def test_of_more_dimensions(dtype: str, device: flow.Device) -> None:
    for columns in (1, 2, 3):
        x = numbers(dtype, 50, columns)
        t = flow.tensor(x, device=device)
        for bins in (4, [2, 3, 4][:columns], [3, EDGES[1], EDGES[0]][:columns]):
            for density in (False, True):
                with np.errstate(all="ignore"):
                    expected = np.histogramdd(x, bins, density=density)
                seen = flow.histogramdd(t, bins, density=density)
                assert isinstance(seen[1], list)
                same(expected[0], seen[0])
                same(expected[1], seen[1])
        same(np.histogramdd(list(x.T), 3)[0], flow.histogramdd(list(t.T), 3)[0])
    same(np.histogramdd(x[:, 0], 3)[0], flow.histogramdd(t[:, 0], 3)[0])
    same(np.histogramdd([1, 2, 4], 3)[0], flow.histogramdd([1, 2, 4], 3)[0])


@pytest.mark.parametrize("dtype", ["int16", "float32", "float64", "bool"])
def test_weights(dtype: str, device: flow.Device) -> None:
    x, y = numbers("float64", 2, 60)
    weights = (numbers("float64", 60) * 3).astype(dtype)
    t, u, w = (flow.tensor(one, device=device) for one in (x, y, weights))
    for density in (False, True):
        same(
            np.histogram2d(x, y, 4, None, density, weights),
            flow.histogram2d(t, u, 4, None, density, w),
        )
        same(
            np.histogramdd((x, y), 4, None, density, weights)[0],
            flow.histogramdd((t, u), 4, None, density, weights)[0],
        )
    same(
        np.histogram2d(x[:0], y[:0], weights=weights[:0]),
        flow.histogram2d(t[:0], u[:0], weights=w[:0]),
    )


def test_mixed_and_special_numbers(device: flow.Device) -> None:
    x, y = np.array([0, 1, 5]), np.array([0.5, np.nan, 2.5], "float32")
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    limits = ((0, 5), (0, 2.5))
    same(np.histogram2d(x, y, 3, limits), flow.histogram2d(t, u, 3, limits))
    counts = flow.tensor([2, 3], device=device)
    edges = flow.tensor([0.0, 1.0, 5.0], device=device)
    same(np.histogram2d(x, x, [2, 3]), flow.histogram2d(t, t, counts))
    same(np.histogram2d(x, x, [0.0, 1.0, 5.0]), flow.histogram2d(t, t, edges))
    far = flow.tensor(5.0, device=device)
    same(np.histogram2d(x, x, 3, ((0, 5.0), (0, 5.0))), flow.histogram2d(t, t, 3, ((0, far),) * 2))
    seen = flow.histogram_bin_edges(t, 3, (0, far))
    same(np.histogram_bin_edges(x, 3, (0, 5.0)), seen)


def test_wrong_input(device: flow.Device) -> None:
    t = flow.tensor([1.0, np.nan], device=device)
    v = flow.tensor([1.0, 2.0], device=device)
    falling = flow.tensor([3.0, 1.0, 0.0], device=device)
    edges, plane, many = flow.histogram_bin_edges, flow.histogram2d, flow.histogramdd
    calls: list[tuple[Any, tuple[Any, ...], type[Exception], str]] = [
        (edges, (t,), ValueError, "not finite"),
        (edges, (v, "best"), ValueError, "'best' is not a valid estimator"),
        (edges, (v, 0), ValueError, "bins"),
        (edges, (v, 2, (1, 0)), ValueError, "max must be larger than min"),
        (edges, (v, 1.5), TypeError, "bins"),
        (edges, (v, [3, 1]), ValueError, "bins that ascend"),
        (edges, (v, falling), ValueError, "bins that ascend"),
        (edges, (v, [[3, 1]]), ValueError, "one dimension"),
        (edges, (v + 1j,), TypeError, "real numbers"),
        (edges, (v, 3, None, [1.0]), ValueError, r"weights of shape \(2,\)"),
        (plane, (t, v), ValueError, "finite"),
        (plane, (v, v[:1]), ValueError, "one length"),
        (plane, (v, v, 0), ValueError, "at least 1, got 0"),
        (plane, (v, v, 1.5), TypeError, "integers"),
        (plane, (v, v, [3, 2, 1]), ValueError, "ascend"),
        (plane, (v, v, falling), ValueError, "ascend"),
        (plane, (v, v, [3]), ValueError, "bins of 2 coordinates"),
        (plane, (v, v, 3, ((1, 0), None)), ValueError, "ascending ranges"),
        (plane, (v, v, 3, ((0, np.inf), None)), ValueError, "finite ranges"),
        (plane, (v, v, 3, None, None, [1.0]), ValueError, "one length"),
        (plane, (v, v, 3, None, None, v + 1j), TypeError, "real numbers"),
        (plane, (v + 1j, v), TypeError, "real numbers"),
        (many, (flow.ones((2, 2, 2), device=device),), ValueError, "two dimensions"),
        (many, (flow.ones((2, 0), device=device),), ValueError, "at least one coordinate"),
        (many, (v[:, None], [2, 3]), ValueError, "bins of 1 coordinates"),
        (many, (v[:, None], 2, [None, None]), ValueError, "1 ranges, got 2"),
        (many, (v[:, None], [[[1.0]]]), ValueError, "one dimension"),
    ]
    for function, arguments, error, text in calls:
        with pytest.raises(error, match=rf"\[{function.__name__}\] .*{text}"):
            function(*arguments)


def test_programs() -> None:
    x, y = numbers("float64", 2, 30)
    t, u = flow.tensor(x), flow.tensor(y)
    limits = ((-4, 4.5), (0, 3))

    @flow.jit
    def counted(t: flow.Tensor, u: flow.Tensor, edges: flow.Tensor) -> Any:
        return flow.histogram2d(t, u, 5, limits), flow.histogramdd((u, t), edges, weights=t)[0]

    for factor in (1.0, 2.0):
        edges = factor * np.array([[-2.0, 0.0, 1.0], [0.0, 1.0, 2.0]])
        plane, many = counted(t * factor, u, flow.tensor(edges))
        same(np.histogram2d(x * factor, y, 5, limits), plane)
        same(np.histogramdd((y, x * factor), list(edges), weights=x * factor)[0], many)
    with pytest.raises(ValueError, match="bins that ascend"):
        counted(t, u, flow.tensor([[3.0, 1.0, 2.0]] * 2))[1].numpy()
    with pytest.raises(TraceError, match="needs the values of"):
        trace(flow.histogram2d, t, u)
