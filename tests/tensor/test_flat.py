"""``x.flat``: elements in row-major order, by NumPy's rules."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

CUTS: list[tuple[str, Callable[[Any], Any]]] = [
    ("whole", lambda x: x),
    ("transposed", lambda x: x.T),
    ("cut", lambda x: x[::-1, ::2]),
    ("row", lambda x: x[1]),
    ("number", lambda x: x[1, 1, ...]),
    ("empty", lambda x: x[:0]),
]
KEYS = [
    *(0, -1, 1, slice(1, 4), slice(None, None, -2), slice(0), ..., (), (0,)),
    *([0, 1], np.array([[1, 0], [0, 1]]), np.array([], int), np.int64(0)),
]
VALUES = [7, 2.75, [5], [5, 6], [[1, 2], [3, 4]], [], np.arange(9), np.float32(1.5)]


def both(device: flow.Device, dtype: str = "int64") -> tuple[flow.Tensor, np.ndarray[Any, Any]]:
    a = np.arange(12).reshape(3, 4).astype(dtype)
    return flow.tensor(a, device=device), a


@pytest.mark.parametrize("cut", [pytest.param(cut, id=name) for name, cut in CUTS])
def test_indices(device: flow.Device, cut: Callable[[Any], Any]) -> None:
    x, a = both(device)
    ours, theirs = cut(x).flat, cut(a).flat
    assert len(ours) == len(theirs)
    for key in KEYS:
        try:
            expected = theirs[key]
        except IndexError:
            with pytest.raises(IndexError):
                ours[key].numpy()
            continue
        got = ours[key]
        assert (got.shape, got.dtype) == (np.shape(expected), a.dtype)
        assert got.is_contiguous()
        assert got.numpy().tobytes() == np.asarray(expected).tobytes()
        got += 1  # is a copy
    assert x.tolist() == a.tolist()
    mask = np.arange(len(theirs)) % 2 == 0
    assert ours[flow.tensor(mask, device=device)].tolist() == theirs[mask].tolist()


@pytest.mark.parametrize("cut", [pytest.param(cut, id=name) for name, cut in CUTS])
@pytest.mark.parametrize("key", KEYS[:7] + KEYS[8:], ids=str)
@pytest.mark.parametrize("values", VALUES, ids=str)
def test_writes(device: flow.Device, cut: Callable[[Any], Any], key: Any, values: Any) -> None:
    x, a = both(device, "float32")
    try:
        cut(a).flat[key] = values
    except (IndexError, ValueError) as error:
        with pytest.raises(type(error)):
            cut(x).flat[key] = values
            x.numpy()
        return
    cut(x).flat[key] = values
    assert x.tolist() == a.tolist()


@pytest.mark.parametrize("values", [0, 2.5, [1, 2], [], [[1], [2]], np.arange(20)], ids=str)
def test_all_of_it(device: flow.Device, values: Any) -> None:
    x, a = both(device)
    for cut in (x, x.T, x[::2]), (a, a.T, a[::2]):
        for part in cut:
            part.flat = values
    assert x.tolist() == a.tolist()
    x.flat = flow.tensor([3, 4], device=device)
    x.T.flat = x.flat[1:]
    a.flat = [3, 4]
    a.T.flat = a.flat[1:]
    assert x.tolist() == a.tolist()


def test_an_element_is_found_where_it_lies() -> None:
    """Whatever the order in memory, that element alone is read or written."""
    array = np.arange(24.0).reshape(2, 3, 4).T[:, ::-1]
    turned = flow.tensor(np.arange(24.0).reshape(2, 3, 4)).T[:, ::-1]
    for index in (0, 7, -1, np.int8(-24)):
        assert turned.flat[index].tolist() == array.flat[index]
        turned.flat[index] = 100 + index
        array.flat[index] = 100 + index
    assert turned.tolist() == array.tolist()
    program = flow.graph.trace(lambda t: t.T.flat[7], flow.ones((2, 3, 4))).program
    assert [op.name for op in program.main.ops] == ["view", "getitem"]
    for index in (24, -25):
        with pytest.raises(IndexError, match="24 elements"):
            turned.flat[index]


def test_a_list_that_does_not_fit() -> None:
    x = flow.zeros(3, dtype="int8")
    with pytest.raises(OverflowError):
        x.flat[:] = [300, 1]
    with pytest.raises(ValueError, match=r"a number for one element, got \(2,\)"):
        x.flat[0] = [1, 2]
    for key in (None, True, (0, 1), "a", 1.5):
        with pytest.raises(IndexError):
            x.flat[key]
    with pytest.raises(IndexError):
        x.flat[3] = 1


@pytest.mark.parametrize("cut", [pytest.param(cut, id=name) for name, cut in CUTS])
def test_it_iterates(device: flow.Device, cut: Callable[[Any], Any]) -> None:
    x, a = both(device)
    ours, theirs = cut(x).flat, cut(a).flat
    places = []
    for element in ours:
        assert (element.shape, element.item()) == ((), next(theirs))
        assert ours.index == theirs.index
        if ours.index < len(theirs):
            assert ours.coords == theirs.coords
        places.append(element)
    with pytest.raises(StopIteration):
        next(ours)
    cut(x)[...] = -1
    assert all(each.item() >= 0 for each in places)  # they are copies


def test_it_compares_and_copies(device: flow.Device) -> None:
    x, a = both(device)
    assert (x.T.flat == 3).tolist() == (a.T.flat == 3).tolist()
    assert (x.flat < x.flat[::-1]).tolist() == (a.flat < a.flat[::-1]).tolist()
    assert (x.flat != x.flat).sum().item() == 0
    assert x.T.flat.copy().tolist() == a.T.flat.copy().tolist()
    assert np.asarray(x.T.flat).tolist() == np.asarray(a.T.flat).tolist()
    assert flow.array(x.T.flat).tolist() == a.T.ravel().tolist()
    assert x.flat.base is x
    with pytest.raises(TypeError, match="unhashable"):
        hash(x.flat)


def test_in_recorded_programs() -> None:
    def change(x: flow.Tensor) -> flow.Tensor:
        x = x.T.copy().T
        x.flat[1:4] = [7, 8]
        return x.flat[::2] + x.flat[0]

    ran = flow.jit(change)
    for n in range(3):
        x = flow.arange(6.0).reshape(2, 3) + n
        assert ran(x).tolist() == change(x).tolist()
