"""Indices as tensors: NumPy's, on every device."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, compare, values


@pytest.fixture(autouse=True)
def _drained() -> Iterator[None]:
    """Some operations fail here; nothing of it is left to later tests."""
    yield
    with contextlib.suppress(IndexError, ValueError):
        flow.synchronize()


def same(expected: Any, seen: Any, device: Any = None) -> None:
    if isinstance(expected, tuple):
        for e, s in zip(expected, seen, strict=True):
            same(e, s, device)
        return
    difference = compare(np.asarray(expected), seen.numpy())
    assert difference is None, difference
    assert device is None or seen.device == device


def test_grids(device: flow.Device) -> None:
    for shape in ((), (3,), (2, 3), (2, 0, 3)):
        for sparse in (False, True):
            seen = flow.indices(shape, sparse=sparse, device=device)
            same(np.indices(shape, sparse=sparse), seen, device)
    same(np.indices((2, 2), dtype="float32"), flow.indices((2, 2), dtype="float32"))
    for args in ((), ([1, 2],), ([1, 2], [0]), ([], [True, False, True]), ([0], [1], [2, 3])):
        given = [flow.tensor(one, device=device) for one in args]
        same(np.ix_(*args), flow.ix_(*given), device)
    with pytest.raises(ValueError, match=r"\[ix_\]"):
        flow.ix_([[1]])


def test_triangles_and_diagonals(device: flow.Device) -> None:
    for name in ("tril_indices", "triu_indices"):
        for arguments in ((3,), (3, 1), (3, -1, 5), (0,)):
            same(getattr(np, name)(*arguments), getattr(flow, name)(*arguments, device=device))
        x = np.zeros((3, 4))
        t = flow.tensor(x, device=device)
        same(getattr(np, name + "_from")(x, 1), getattr(flow, name + "_from")(t, 1), device)
        with pytest.raises(ValueError, match=name):
            getattr(flow, name + "_from")(t[0])
    same(np.diag_indices(3, 3), flow.diag_indices(3, 3, device=device), device)
    same(np.diag_indices_from(x[:, :3]), flow.diag_indices_from(t[:, :3]), device)
    with pytest.raises(ValueError, match=r"\[diag_indices_from\]"):
        flow.diag_indices_from(t)


@pytest.mark.parametrize("order", ["C", "F"])
def test_numbers_of_places(order: str, device: flow.Device) -> None:
    shape = (3, 4, 5)
    places = np.asarray([[0, 59, 7], [21, 22, 23]])
    t = flow.tensor(places, device=device)
    expected = np.unravel_index(places, shape, order)
    same(expected, flow.unravel_index(t, shape, order), device)
    same(expected, flow.unravel_index(places, shape, order))
    seen = flow.unravel_index(t, shape, order)
    same(places, flow.ravel_multi_index(seen, shape, order=order), device)
    same(np.unravel_index(7, 9), flow.unravel_index(flow.tensor(7), 9))
    same(np.unravel_index(places, (2**61,)), flow.unravel_index(t, (2**61,)))
    beyond = tuple(one * 2 - 3 for one in expected)
    for mode in ("wrap", "clip", ("wrap", "clip", "wrap")):
        given = [flow.tensor(one, device=device) for one in beyond]
        numbers = np.ravel_multi_index(beyond, shape, mode, order)
        same(numbers, flow.ravel_multi_index(given, shape, mode, order))
    for wrong in (t + 1, t - 1):
        with pytest.raises(ValueError, match=r"\[unravel_index\] index"):
            flow.unravel_index(wrong, shape, order)[0].numpy()
    with pytest.raises(ValueError, match=r"\[ravel_multi_index\] index"):
        flow.ravel_multi_index([t, t, t], shape, order=order).numpy()
    for call, error in (
        (lambda: flow.unravel_index(t, (2**40, 2**40)), ValueError),
        (lambda: flow.ravel_multi_index([t, t], (2**40, 2**40)), ValueError),
        (lambda: flow.ravel_multi_index([t, t], (2**32, 2**32), "wrap"), ValueError),
        (lambda: flow.unravel_index([60], shape), ValueError),
        (lambda: flow.unravel_index(t, shape, "A"), ValueError),
        (lambda: flow.unravel_index(t + 0.5, shape), TypeError),
        (lambda: flow.ravel_multi_index([t], shape), ValueError),
        (lambda: flow.ravel_multi_index([t], 60, mode="no"), ValueError),
    ):
        with pytest.raises(error, match=r"_index\]"):
            call()


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_no_place_is_in_an_empty_shape(mode: str, shape: tuple[int, int]) -> None:
    one, none = flow.tensor([1]), flow.tensor([], dtype="int64")
    with pytest.raises(ValueError, match=r"\[ravel_multi_index\] expected no indices"):
        flow.ravel_multi_index((one, one), shape, mode)
    for given in ((none, none), (one, none)):
        expected = np.ravel_multi_index([each.numpy() for each in given], shape, mode)
        same(expected, flow.ravel_multi_index(given, shape, mode))


@pytest.mark.parametrize("dtype", DTYPES)
def test_fill_diagonal(dtype: str, device: flow.Device) -> None:
    for shape in ((3, 3), (3, 5), (7, 3), (2, 2, 2), (0, 3)):
        for value in (1, [1, 0]):
            for wrap in (False, True):
                expected = values(shape, dtype, 1)
                t = flow.tensor(expected, device=device)
                np.fill_diagonal(expected, value, wrap)
                flow.fill_diagonal(t, value, wrap)
                same(expected, t)
    expected = values((4, 4), dtype, 1)
    t = flow.tensor(expected, device=device)
    np.fill_diagonal(expected[:, ::-1], 1)
    flow.fill_diagonal(t[:, ::-1], 1)
    same(expected, t)
    for wrong in (t[0], flow.zeros((2, 2, 3), device=device)):
        with pytest.raises(ValueError, match=r"\[fill_diagonal\]"):
            flow.fill_diagonal(wrong, 1)


def test_indices_that_no_memory_could_hold(device: flow.Device) -> None:
    """Refused before a row is made on the host, which alone would take 16 GiB."""
    with pytest.raises(ValueError, match="too big"):
        flow.indices((2**31, 2**31), device=device)
