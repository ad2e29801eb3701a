"""Views of windows, and with any strides: NumPy's elements, in the storage of the tensor."""

from typing import Any

import numpy as np
import pytest
from numpy.lib import stride_tricks

import oneflow_lite as flow

OURS = flow.lib.stride_tricks


@pytest.mark.parametrize(
    ("shape", "window", "axis"),
    [
        ((5,), 3, None),
        ((5,), (5,), None),
        ((5,), 0, None),
        ((4, 6), (2, 3), None),
        ((4, 6), 2, 1),
        ((4, 6), 2, -2),
        ((4, 6), (2, 2, 2), (0, 1, 1)),
        ((3, 4, 5), (2, 1), (2, 0)),
        ((0, 4), (0, 2), None),
        ((), (), None),
    ],
)
@pytest.mark.parametrize("dtype", ["int8", "float32", "complex128"])
def test_windows(
    device: flow.Device, shape: tuple[int, ...], window: Any, axis: Any, dtype: str
) -> None:
    a = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    x = flow.tensor(a, device=device)
    theirs = stride_tricks.sliding_window_view(a, window, axis)
    for ours in (
        OURS.sliding_window_view(x, window, axis),
        stride_tricks.sliding_window_view(x, window, axis),
    ):
        assert (ours.shape, ours.dtype, ours.device) == (theirs.shape, theirs.dtype, device)
        assert not a.size or ours.strides == theirs.strides
        assert ours.shares_storage(x)
        assert ours.numpy().tobytes() == theirs.tobytes()


def test_windows_of_views_and_what_is_made_of_them(device: flow.Device) -> None:
    a = np.random.default_rng(0).random((8, 9))
    x = flow.tensor(a, device=device)
    for cut in (np.s_[::2, 1:], np.s_[::-1, ::-2], np.s_[1:7]):
        theirs = stride_tricks.sliding_window_view(a[cut].T, (3, 2))
        ours = OURS.sliding_window_view(x[cut].T, (3, 2))
        assert (ours.numpy() == theirs).all()
        assert np.allclose(ours.sum(axis=(2, 3)).numpy(), theirs.sum(axis=(2, 3)))
        assert (ours.max(axis=-1).numpy() == theirs.max(axis=-1)).all()
        assert (ours + 1).strides == (theirs + 1).strides


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2, 3), (8, 16)), ((2, 2), (24, 8)), ((6,), (0,)), ((0, 9), (8, 8)), ((), ()), ((3,), (16,))],
)
def test_any_strides(device: flow.Device, shape: Any, strides: Any) -> None:
    a = np.arange(6.0)
    x = flow.tensor(a, device=device)
    theirs = stride_tricks.as_strided(a, shape, strides)
    ours = OURS.as_strided(x, shape, strides)
    assert (ours.shape, ours.strides) == (theirs.shape, theirs.strides)
    assert ours.numpy().tobytes() == theirs.tobytes()
    assert OURS.as_strided(x).tolist() == a.tolist()
    assert OURS.as_strided(x[1::2], strides=8, shape=4).tolist() == [1.0, 2.0, 3.0, 4.0]
    assert OURS.as_strided(x[::-1], strides=(-16,), shape=3).tolist() == [5.0, 3.0, 1.0]


@pytest.mark.parametrize(
    ("shape", "strides", "text"),
    [
        (7, 8, "reach beyond the storage of 48 bytes, in which the first element is at byte 0"),
        (2, -8, "reach beyond the storage"),
        ((2, 3), (8, 24), "reach beyond the storage"),
        (2, 2**62, "reach beyond the storage"),
        ((2**40, 2**40), (0, 0), ""),
        (2, 4, "float64 begins at multiples of 8 bytes"),
        ((2, 2), (8,), r"expected a stride for each .* got shape \(2, 2\) and strides \(8,\)"),
        (-1, 8, "negative dimension"),
    ],
)
def test_what_is_outside(shape: Any, strides: Any, text: str) -> None:
    with pytest.raises(ValueError, match=rf"^\[as_strided\] .*{text}"):
        OURS.as_strided(flow.arange(6.0), shape, strides)


def test_what_is_refused() -> None:
    x = flow.arange(6.0)
    for window, axis, text in (
        (7, None, "from 0 to 6 along axis 0, got 7"),
        (-1, None, "got -1"),
        ((1, 1), None, "for each of 1 axes, got 2"),
        ((1, 1), 0, "for each of 1 axes, got 2"),
    ):
        with pytest.raises(ValueError, match=text):
            OURS.sliding_window_view(x, window, axis)
    with pytest.raises(np.exceptions.AxisError):
        OURS.sliding_window_view(x, 1, 1)
    with pytest.raises(ValueError, match="as writable as x"):
        OURS.as_strided(x, writeable=False)


def test_writes_through_and_behind_a_view(device: flow.Device) -> None:
    x = flow.zeros(5, device=device)
    windows = OURS.sliding_window_view(x, 3)
    total = windows.sum()
    x += 1
    assert windows.sum().item() == 9.0
    assert total.item() == 0.0
    windows[0, 1] = 5
    windows[2] = windows[0]
    assert x.tolist() == [1.0, 5.0, 1.0, 5.0, 1.0]
    with pytest.raises(ValueError, match="cannot write into a broadcast view"):
        windows += 1
    pairs = OURS.as_strided(x, (2, 2), (16, 8))
    pairs += 1  # no element is there twice
    assert x.tolist() == [2.0, 6.0, 2.0, 6.0, 1.0]


def test_in_recorded_programs(device: flow.Device) -> None:
    def smooth(x: flow.Tensor) -> flow.Tensor:
        windows = OURS.sliding_window_view(x, 3)
        return windows.mean(axis=-1) + OURS.as_strided(x, (3,), (8,))

    ran = flow.jit(smooth)
    for seed in range(3):
        x = flow.tensor(np.random.default_rng(seed).random(5), device=device)
        assert ran(x).numpy().tobytes() == smooth(x).numpy().tobytes()


def test_a_captured_view_with_elements_twice() -> None:
    whole = flow.arange(6.0)
    twice = OURS.as_strided(whole, (2, 3), (40, 0))  # spans as many bytes as it has elements
    ran = flow.jit(lambda y: twice + whole[3] + y)
    for n in (0.0, 1.0):
        assert ran(flow.tensor(n)).tolist() == [[3.0 + n] * 3, [8.0 + n] * 3]
