"""select, choose, place, partitions and their like: NumPy's results, on every device."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, compare, same_as, values

SHAPES = ((6,), (3, 4), (2, 3, 4), (0,))


@pytest.fixture(autouse=True)
def _drained() -> Iterator[None]:
    """Some operations fail here; nothing of it is left to later tests."""
    yield
    with contextlib.suppress(IndexError, ValueError):
        flow.synchronize()


def same(expected: Any, seen: flow.Tensor, device: Any = None) -> None:
    difference = compare(np.asarray(expected), seen.numpy())
    assert difference is None, difference
    assert device is None or seen.device == device


@pytest.mark.parametrize("dtype", DTYPES)
def test_partitions(dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES[:3]):
        x = values(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for axis in (None, *range(-1, len(shape))):
            seen = flow.partition(t, 1, axis=axis).numpy()
            expected = np.partition(x, 1, axis=axis)
            at = np.take(seen, 1, axis=axis or 0), np.take(expected, 1, axis=axis or 0)
            assert np.array_equal(*at, equal_nan=dtype[0] in "fc")
            order = flow.argpartition(t, [0, 1], axis=axis)
            assert order.device == device
            flat, along = (t, axis) if axis is not None else (flow.ravel(t), 0)
            first = flow.take_along_axis(flat, order, axis=along).numpy()
            at = np.take(first, [0, 1], axis=along), np.take(np.sort(x, axis), [0, 1], axis=along)
            assert np.array_equal(*at, equal_nan=dtype[0] in "fc")
    for call, error in (
        (lambda: flow.partition(t, 99), ValueError),
        (lambda: flow.partition(t, 0.5), TypeError),
        (lambda: flow.argpartition(t, 0, axis=5), IndexError),
        (lambda: flow.partition(t, 0, kind="other"), ValueError),
    ):
        with pytest.raises(error, match=r"partition\]"):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
def test_lexsort(dtype: str, device: flow.Device) -> None:
    for shape in ((3, 7), (2, 4, 5), (1, 6), (2, 0)):
        x = np.random.default_rng(1).integers(0, 2, shape).astype(dtype)
        t = flow.tensor(x, device=device)
        same(np.lexsort(x), flow.lexsort(t), device)
        same(np.lexsort(tuple(x), axis=0), flow.lexsort(tuple(t), axis=0))
    with pytest.raises(TypeError, match=r"\[lexsort\]"):
        flow.lexsort(())


def test_select(device: flow.Device) -> None:
    x = values((3, 4), "float32", 2)
    t = flow.tensor(x, device=device)
    for choices, default in (
        (lambda y: [y, y * 2], 0),
        (lambda y: [y, 1.5], 7),
        (lambda y: [1, y[0]], np.float64(2)),
        (lambda y: [1, 2], 3),
    ):
        with np.errstate(all="ignore"):
            expected = np.select([x < 0, x[0] > 1], choices(x), default)
        same(expected, flow.select([t < 0, t[0] > 1], choices(t), default), device)
    for call, error in (
        (lambda: flow.select([t > 0], []), ValueError),
        (lambda: flow.select([], []), ValueError),
        (lambda: flow.select([t], [t]), TypeError),
    ):
        with pytest.raises(error, match=r"\[select\]"):
            call()


@pytest.mark.parametrize("dtype", DTYPES)
def test_choose(dtype: str, device: flow.Device) -> None:
    options = values((3, 2, 4), dtype, 3)
    a = np.asarray([[0, 2, 1, 2], [1, 1, 0, 0]])
    t, u = flow.tensor(a, device=device), flow.tensor(options, device=device)
    same(np.choose(a, options), flow.choose(t, u), device)
    same(np.choose(a, list(options[:, 0])), flow.choose(t, list(u[:, 0])))
    for mode in ("wrap", "clip"):
        same(np.choose(a * 3 - 4, options, mode=mode), flow.choose(t * 3 - 4, u, mode=mode))
    for wrong in (t + 1, t - 1):
        with pytest.raises(ValueError, match=r"\[choose\] index"):
            flow.choose(wrong, u).numpy()
    with pytest.raises(TypeError, match=r"\[choose\]"):
        flow.choose(t + 0.5, u)
    with pytest.raises(ValueError, match=r"\[choose\].*mode"):
        flow.choose(t, u, mode="most")


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d[0] != "b"])
def test_piecewise(dtype: str, device: flow.Device) -> None:
    x = values((3, 4), dtype, 4)
    t = flow.tensor(x, device=device)
    for conditions in (lambda y: [y == y[0, 0], y != y], lambda y: [y == y]):
        for functions in ([lambda y: y + 1, 3, 5], [lambda y: y * 2, lambda y: -y], [4, 2]):
            functions = functions[: len(conditions(x)) + 1]
            with np.errstate(all="ignore"):
                expected = np.piecewise(x, conditions(x), functions)
            same(expected, flow.piecewise(t, conditions(t), functions), device)
    same(np.piecewise(x[0], x[0] == x[0], [1]), flow.piecewise(t[0], t[0] == t[0], [1]))
    with pytest.raises(ValueError, match=r"\[piecewise\]"):
        flow.piecewise(t, [t == t], [1, 2, 3])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["place", "putmask"])
def test_writes_under_a_mask(name: str, dtype: str, device: flow.Device) -> None:
    for shape in (*SHAPES, ()):
        x = values(shape, dtype, 5)
        mask = np.random.default_rng(2).random(shape) < 0.5
        for new in (values((3,), dtype, 6), values(shape, dtype, 7), np.ones((), dtype)):
            if not new.size and name == "place":
                continue
            expected, t = x.copy(), flow.tensor(x, device=device)
            getattr(np, name)(expected, mask, new)
            getattr(flow, name)(t, flow.tensor(mask, device=device), new)
            same(expected, t, device)
    x = values((4, 6), dtype, 8)
    expected, t = x.copy(), flow.tensor(x, device=device)
    mask = x[::2, ::-2] == x[::2, ::-2]
    getattr(np, name)(expected[::2, ::-2], mask, [1, 0])
    getattr(flow, name)(t[::2, ::-2], mask, [1, 0])
    same(expected, t)
    with pytest.raises(ValueError, match=rf"\[{name}\].*size"):
        getattr(flow, name)(t, [True], 1)
    with pytest.raises(TypeError, match=rf"\[{name}\].*tensor"):
        getattr(flow, name)(x, mask, 1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_one_of_two_sets(dtype: str, device: flow.Device) -> None:
    a, b = (np.asarray(x).astype(dtype) for x in ([3, 1, 2, 2], [2, 5]))
    t, u = flow.tensor(a, device=device), flow.tensor(b, device=device)
    same(np.setxor1d(a, b), flow.setxor1d(t, u), device)
    same(np.setxor1d(a[:3], b, True), flow.setxor1d(t[:3], u, assume_unique=True))
    same(np.setxor1d(a[:0], b[:0]), flow.setxor1d(t[:0], u[:0]))


# --- elementwise functions that are made of others


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ["angle", "fix", "isposinf", "isneginf", "isreal", "iscomplex", "sinc"]
)
def test_special(name: str, dtype: str, device: flow.Device) -> None:
    for shape in (*SHAPES, ()):
        x = values(shape, dtype, 9)
        t = flow.tensor(x, device=device)
        try:
            with np.errstate(all="ignore"):
                expected = getattr(np, name)(x)
        except TypeError:
            with pytest.raises(TypeError):
                getattr(flow, name)(t)
            continue
        if name == "sinc" and dtype.startswith("complex"):
            seen = getattr(flow, name)(t).numpy()
            np.testing.assert_allclose(seen, expected, rtol=1e-5)
        else:
            row = {"angle": "atan2"}.get(name, name)
            for seen in (getattr(flow, name)(t), getattr(np, name)(t)):
                same_as(row, (x,), expected, seen)
                assert seen.device == device
    if name == "angle":
        with np.errstate(all="ignore"):
            same_as("angle in degrees", (x,), np.angle(x, deg=True), flow.angle(t, deg=True))
