"""Basic indexing: NumPy's values, shapes and views, read and written."""

import itertools
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same, values

_ONE: list[Any] = [
    0,
    -1,
    2,
    slice(None),
    slice(1, 3),
    slice(None, None, -1),
    slice(3, 0, -2),
    slice(5, 2),
]
_ONE += [
    slice(-2, None),
    slice(100),
    slice(-100, 100, 2),
    None,
    ...,
    np.int64(1),
    slice(2**70),
    slice(None, None, 2**70),
]
KEYS = [
    *_ONE,
    *itertools.product(_ONE, _ONE),
    (1, 2, 3),
    (0, ..., -1),
    (),
    (None, 1, ..., None, 2),
    (..., 0, 0, 0),
]


@pytest.fixture
def x() -> np.ndarray:
    return np.arange(60.0).reshape(3, 4, 5)


def test_get(x: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    for key in KEYS:
        try:
            expected = x[key]
        except IndexError:
            with pytest.raises(IndexError, match=r"\[getitem\]"):
                t[key]
        else:
            same(expected, t[key])
            assert t[key].shares_storage(t) != isinstance(expected, np.generic)


def test_set(x: np.ndarray, device: flow.Device) -> None:
    """One tensor, written again and again through views, while copies of it are under way."""
    t = flow.tensor(x, device=device)
    seen = []
    for i, key in enumerate(KEYS):
        try:
            x[key] = -i
        except IndexError:
            with pytest.raises(IndexError):
                t[key] = -i
        else:
            t[key] = -i
        seen.append((x.copy(), t.to("cpu", copy=True)))
    for expected, result in seen:
        same(expected, result)


def test_set_tensors_and_arrays(device: flow.Device) -> None:
    x = np.zeros((4, 6), "float32")
    t = flow.tensor(x, device=device)
    sources: list[Any] = [
        *(
            np.arange(6),
            np.arange(24.0).reshape(4, 6),
            np.ones((1, 1, 4, 6), "int8"),
            np.float64(2.5),
        ),
        *(np.ones((4, 1), bool), [1, 2, 3, 4, 5, 6], [[7]], True, 3, 2.5, np.arange(12)[::-2]),
    ]
    for source in sources:
        for key in (slice(None), (slice(None), slice(None, None, -1)), ...):
            x[key] = source
            t[key] = source
            same(x, t)
            if isinstance(source, np.ndarray):
                t[key] = flow.tensor(source, device=device)
                same(x, t)


def test_an_assigned_array_may_be_written_to_at_once(device: flow.Device) -> None:
    for size in (10, 50_000):
        source = np.arange(size)
        t = flow.zeros((3, size), dtype="int64", device=device)
        for row in range(3):
            source += 1
            t[row] = source
        source[...] = 0
        same(np.arange(size) + np.array([[1], [2], [3]]), t)


def test_nested_views(x: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    view, tview = x[1:, ::-1].T[::2], t[1:, ::-1].T[::2]
    view[1] += 100
    tview[1] += 100
    same(x, t)
    tview[0][0] = 5
    view[0][0] = 5
    same(x, t)
    t[0][1][2] = -7
    x[0][1][2] = -7
    same(x, t)


def test_a_0d_view_is_a_view(device: flow.Device) -> None:
    t = flow.arange(5, device=device)
    element = t[2, ...]
    assert element.shape == ()
    t[2] = 50
    assert element.item() == 50
    element[...] = 7
    element += 1
    assert t.tolist() == [0, 1, 8, 3, 4]
    element[()] = 9
    assert t[2].item() == 9


@pytest.mark.parametrize(
    "shift",
    [
        "x[1:] = x[:-1]",
        "x[:-1] = x[1:]",
        "x[::-1] = x",
        "x[:] = x[::-1]",
        "x[...] = x",
        "x.T[...] = x",
        "x[:, 1:] = x[:, :-1]",
        "x[1:] = x[0]",
        "x[0] = x[:, 0]",
    ],
)
@pytest.mark.parametrize("size", [6, 160])
def test_overlapping_views(shift: str, size: int, device: flow.Device, naive: bool) -> None:
    names: dict[str, Any] = {"x": values((size, size), "float64", 1)}
    tensors: dict[str, Any] = {"x": flow.tensor(names["x"], device=device)}
    exec(shift, names)
    exec(shift, tensors)
    same(names["x"], tensors["x"])


@pytest.mark.parametrize("index", [5, -6, 10**30, -(10**30), 2**63 - 1, -(2**63)])
def test_out_of_bounds(x: np.ndarray, index: int) -> None:
    t = flow.tensor(x)
    with pytest.raises(IndexError):
        t[index]
    with pytest.raises(IndexError):
        t[index] = 1
    with pytest.raises(IndexError):
        t[..., index]


@pytest.mark.parametrize(
    "key",
    [
        1.0,
        "a",
        float("nan"),
        (0, "b"),
        {},
        b"",
        1j,
        (..., ...),
        (0, 0, 0, 0),
        np.float64(1),
        slice("a", "b"),
        slice(1.5, None),
        slice(None, None, 0),
        pytest.param(object(), id="object()"),
    ],
    ids=repr,
)
def test_bad_keys(x: np.ndarray, key: Any) -> None:
    t = flow.tensor(x)
    wanted = (IndexError, TypeError, ValueError)
    with pytest.raises(wanted):
        x[key]
    with pytest.raises(wanted):
        t[key]
    with pytest.raises(wanted):
        t[key] = 1
    same(x, t)


def test_a_tensor_as_an_index(x: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(x)
    same(x[2], t[flow.tensor(2, device=device)])
    for bad in (flow.tensor(1.0), flow.tensor([1.0]), flow.tensor([1j])):
        with pytest.raises(IndexError, match="integers or booleans"):
            t[bad]


def test_dimensions_are_bounded(x: np.ndarray) -> None:
    with pytest.raises(IndexError, match="dimensions"):
        flow.tensor(x)[(None,) * 70]
    with pytest.raises(IndexError):
        flow.tensor(x)[(slice(None),) * 70]


def test_bad_assignments(x: np.ndarray) -> None:
    t = flow.tensor(x)
    bad: list[tuple[Any, type[Exception]]] = [
        *(
            (np.ones(7), ValueError),
            ("a", (ValueError, TypeError)),
            (None, TypeError),
            (object(), TypeError),
        ),
        *(
            ([[1], [1, 2]], ValueError),
            (1j, TypeError),
            (np.array([1j]), TypeError),
            ({}, TypeError),
        ),
        *((flow.zeros((2, 3, 4, 5)), ValueError), (flow.zeros(5, device="mock:0"), ValueError)),
    ]
    for value, error in bad:
        with pytest.raises(error):
            t[...] = value
    same(x, t)
    with pytest.raises(TypeError):
        del t[0]
    small = flow.zeros(3, dtype="int8")
    with pytest.raises(OverflowError):
        small[0] = 300
    with pytest.raises(ValueError, match="NaN"):
        small[0] = float("nan")
    assert small.tolist() == [0, 0, 0]


def test_iteration_and_len(x: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(x, device=device)
    assert len(t) == 3
    for row, expected in zip(t, x, strict=True):
        same(expected, row)
        row += 1
    same(x + 1, t)
    assert list(flow.zeros((0, 2), device=device)) == []
    a, b = flow.tensor([1, 2], device=device)
    assert (a.item(), b.item()) == (1, 2)
    for function in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            function(flow.tensor(1.0))


def test_contains(device: flow.Device) -> None:
    t = flow.tensor([1.0, 2.0], device=device)
    assert 2.0 in t
    assert 3.0 not in t
