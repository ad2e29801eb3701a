"""apply_along_axis and apply_over_axes: NumPy's results, and as many calls."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

SHAPES = ((5,), (4, 3), (2, 5, 3), (2, 0))
FUNCTIONS = (
    lambda lane: lane.sum(),
    lambda lane: lane[::-2],
    lambda lane: lane[:, None] == lane[None, :2],
    lambda lane: 3,
    lambda lane: [1.5, 2.5],
)


@pytest.mark.parametrize("dtype", DTYPES)
def test_lanes(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = values(shape, dtype, 1)
        t = flow.tensor(x, device=device)
        for axis in range(-len(shape), len(shape)):
            if 0 in shape[:axis] + shape[axis:][1:]:
                continue
            for function in FUNCTIONS:
                with np.errstate(all="ignore"):
                    expected = np.apply_along_axis(function, axis, x)
                seen = flow.apply_along_axis(function, axis, t)
                assert seen.device == device
                same(expected, seen)
                same(expected, np.apply_along_axis(function, axis, t))
    x, t = x.reshape(2, 0).T, flow.tensor(values((4, 6), dtype, 2), device=device)
    same(
        np.apply_along_axis(np.sort, 0, t.numpy()[::2, ::-1].T),
        flow.apply_along_axis(flow.sort, 0, t[::2, ::-1].T),
    )


def test_calls_of_lanes(device: flow.Device) -> None:
    t = flow.tensor([[1, 2, 3], [4, 5, 6]], device=device)
    lanes: list[Any] = []

    def kept(lane: flow.Tensor, *args: Any, **kwargs: Any) -> flow.Tensor:
        lanes.append((lane.tolist(), args, kwargs))
        return lane if len(lanes) == 1 else lane * 1.75

    seen = flow.apply_along_axis(kept, 0, t, 7, more=8)
    assert lanes == [([one, one + 3], (7,), {"more": 8}) for one in (1, 2, 3)]
    same(np.array([[1, 3, 5], [4, 8, 10]]), seen)  # of the first lane's dtype


def test_axes(device: flow.Device) -> None:
    for dtype in ("float64", "int8"):
        x = values((2, 3, 4), dtype, 1) % 9
        t = flow.tensor(x, device=device)
        for axes in (0, -1, [0, 2], (2, 0), [], [1, 1], np.array([0, 1])):
            expected = np.apply_over_axes(np.sum, x, axes)
            same(expected, flow.apply_over_axes(flow.sum, t, axes))
            same(expected, np.apply_over_axes(np.sum, t, axes))
        wide = lambda x, axis: x[::-1] + axis  # noqa: E731
        same(np.apply_over_axes(wide, x, [0, -1]), flow.apply_over_axes(wide, t, [0, -1]))
    calls: list[int] = []
    flow.apply_over_axes(lambda x, axis: calls.append(axis) or x, t, [2, -3])
    assert calls == [2, 0]


def test_wrong_input(device: flow.Device) -> None:
    t = flow.ones((2, 3), device=device)
    for call, error, text in (
        (lambda: flow.apply_along_axis(flow.sum, 2, t), np.exceptions.AxisError, "axis 2"),
        (lambda: flow.apply_along_axis(flow.sum, 0, t[0, 0]), np.exceptions.AxisError, "axis 0"),
        (lambda: flow.apply_along_axis(flow.sum, 0, t[:, :0]), ValueError, "got none"),
        (lambda: flow.apply_over_axes(lambda x, axis: x.sum(), t, 0), ValueError, "2 dimensions"),
    ):
        with pytest.raises(error, match=rf"\[apply_\w+\] .*{text}"):
            call()


def test_programs_and_gradients() -> None:
    x = np.arange(6.0).reshape(2, 3)

    @flow.jit
    def both(t: flow.Tensor) -> Any:
        lanes = flow.apply_along_axis(lambda lane: lane / lane.max(), 1, t)
        return lanes, flow.apply_over_axes(flow.sum, t, [0, 1])

    for factor in (1.0, 3.0):
        lanes, total = both(flow.tensor(x * factor))
        same(x * factor / (x * factor).max(1, keepdims=True), lanes)
        same(np.apply_over_axes(np.sum, x * factor, [0, 1]), total)
    slope = flow.grad(lambda t: flow.apply_along_axis(lambda lane: (lane**2).sum(), 0, t).sum())
    same(2 * x, slope(flow.tensor(x)))
