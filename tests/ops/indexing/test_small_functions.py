"""Functions by masks, indices and places of small tensors, which take no instruction."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.machine import Gate
from tests.support.oracle import DTYPES, same, values

SHAPES = ((), (1,), (7,), (3, 4), (2, 3, 4), (0,), (2, 0))
Arrays = tuple[np.ndarray, ...]


def layouts(base: Any) -> Iterator[Any]:
    """An array or tensor as it is, with steps, turned round, and with its axes turned."""
    yield base
    if base.ndim:
        yield from (base[::2], base[::-1])
        turned = base.permute_dims if isinstance(base, flow.Tensor) else base.transpose
        yield turned(tuple(range(base.ndim))[::-1])


# --- written where a mask is true


@pytest.mark.parametrize("name", ["place", "putmask"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_masked_writes(name: str, dtype: str, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(1)
    for shape in SHAPES:
        for k in range(4 if shape else 1):
            base = values(shape, dtype, 2)
            mask = rng.random(list(layouts(base))[k].shape) < 0.5
            for count in (1, 2, mask.size, mask.size + 3):
                new = values((count,), dtype, 3)
                expected, t = base.copy(), flow.tensor(base, device=device)
                if not count and name == "place":
                    continue
                given = (flow.tensor(one, device=device) for one in (mask, new))
                getattr(np, name)(list(layouts(expected))[k], mask, new)
                getattr(flow, name)(list(layouts(t))[k], *given)
                same(expected, t)


@pytest.mark.parametrize("name", ["place", "putmask"])
@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "int64", "complex128"])
def test_values_that_begin_again(name: str, dtype: str, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(4)
    for shape in ((125, 8), (8, 125), (3, 1, 40), (2000,)):
        for count in (2, 3, 8, 63, 125, 300, math.prod(shape) - 1, 2003):
            base, new = values(shape, dtype, 5), values((count,), dtype, 6)
            for k in range(4):
                expected, t = base.copy(), flow.tensor(base, device=device)
                mask = rng.random(list(layouts(base))[k].shape) < 0.5
                given = (flow.tensor(one, device=device) for one in (mask, new))
                getattr(np, name)(list(layouts(expected))[k], mask, new)
                getattr(flow, name)(list(layouts(t))[k], *given)
                same(expected, t)
    x, t = values((40, 8), dtype, 7), flow.tensor(values((40, 8), dtype, 7), device=device)
    few = values((80,), dtype, 8)[::2]
    getattr(np, name)(x, x == x, few)
    getattr(flow, name)(t, t == t, flow.tensor(values((80,), dtype, 8), device=device)[::2])
    same(x, t)


@pytest.mark.parametrize("name", ["place", "putmask"])
def test_masked_writes_of_other_operands(name: str) -> None:
    write, reference = getattr(flow, name), getattr(np, name)
    mask = np.array([[True, False], [True, True]])
    turned = np.arange(4.0).reshape(2, 2).T
    for new in (1, 2.5, [7], [1, 2], (3.0, 4.0, 5.0), np.arange(2.0), turned, np.float32(3)):
        for chosen in (mask, mask.ravel(), mask.T, np.array([2, 0, -1, 1]), [[1, 0], [0, 0]]):
            expected, x = np.zeros((2, 2)), flow.zeros((2, 2))
            reference(expected, chosen, new)
            t = flow.tensor(chosen) if isinstance(chosen, np.ndarray) else chosen
            write(x, t, new if not isinstance(new, np.ndarray) else flow.tensor(new))
            same(expected, x)
    for value, error in ((1j, TypeError), (2**70, OverflowError), ("a", ValueError)):
        x = flow.zeros(2, dtype="int64")
        with pytest.raises(error):
            write(x, flow.tensor([True, True]), value)
        assert x.tolist() == [0, 0]


@pytest.mark.parametrize("name", ["place", "putmask"])
def test_masked_writes_of_what_they_read(name: str, device: flow.Device) -> None:
    write, reference = getattr(flow, name), getattr(np, name)
    for part in (slice(None), slice(2), slice(None, None, -1)):
        x, b = np.array([3, 0, 2, 1]), np.array([True, False, True, True])
        t, c = (flow.tensor(one, device=device) for one in (x, b))
        reference(x, x.copy() > 1, x[part].copy())
        write(t, t > 1, t[part])
        same(x, t)
        reference(b, b.copy(), ~b[part])
        write(c, c, ~c[part])
        same(b, c)
    wide, locked = flow.broadcast_to(flow.zeros(1), (3,)), np.zeros(3)
    locked.flags.writeable = False
    for target in (wide, flow.from_dlpack(locked)):
        with pytest.raises(ValueError, match="cannot write into a"):
            write(target, flow.tensor([True, False, True]), flow.ones(3))


def test_the_diagonal(device: flow.Device, naive: bool) -> None:
    for shape in ((3, 3), (2, 5), (5, 2), (3, 3, 3), (0, 0), (0, 3), (1, 1)):
        for dtype in ("float32", "int16", "bool", "complex128"):
            for value, wrap in ((2, False), (2.9, True), (True, False), ([1, 0], False)):
                if 0 in shape and value == [1, 0]:
                    continue
                for k in (0, 3):
                    x = values(shape, dtype, 1)
                    t = flow.tensor(x, device=device)
                    np.fill_diagonal(list(layouts(x))[k], value, wrap)
                    flow.fill_diagonal(list(layouts(t))[k], value, wrap)
                    same(x, t)
    with pytest.raises(ValueError, match="of one size"):
        flow.fill_diagonal(flow.zeros((2, 2, 3)), 1)
    with pytest.raises(ValueError, match="two dimensions or more"):
        flow.fill_diagonal(flow.zeros(3), 1)
    with pytest.raises(ValueError, match="cannot write into a broadcast view"):
        flow.fill_diagonal(flow.broadcast_to(flow.zeros(1), (3, 3)), 1)
    x = flow.zeros((2, 2), dtype="uint8")
    with pytest.raises(OverflowError):
        flow.fill_diagonal(x, 256)
    assert x.tolist() == [[0, 0], [0, 0]]


# --- read by masks and integers


@pytest.mark.parametrize("dtype", ["bool", "int16", "float32", "float64", "complex128"])
def test_chosen(dtype: str, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(4)
    for shape in SHAPES:
        x = values(shape, dtype, 5)
        for array, seen in zip(layouts(x), layouts(flow.tensor(x, device=device)), strict=True):
            mask = rng.random(array.shape) < 0.5
            flat = flow.tensor(mask.ravel(), device=device)
            same(np.extract(mask, array), flow.extract(flow.tensor(mask, device=device), seen))
            same(np.compress(mask.ravel(), array), flow.compress(flat, seen))
            same(np.compress(mask.ravel()[:2], array), flow.compress(flat[:2], seen))
            for axis in range(-array.ndim, array.ndim):
                one = rng.random(array.shape[axis]) < 0.5
                expected = np.compress(one, array, axis)
                same(expected, flow.compress(flow.tensor(one, device=device), seen, axis))
    with pytest.raises(IndexError):
        flow.compress(flow.tensor([False, False, True]), flow.zeros(2)).numpy()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32", "complex128"])
def test_numbers_choose(dtype: str, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(6)
    for shape in SHAPES:
        choices = [values(shape, dtype, seed) for seed in range(3)]
        numbers = np.asarray(rng.integers(0, 3, shape))
        given = [flow.tensor(one, device=device) for one in choices]
        t = flow.tensor(numbers, device=device)
        same(np.choose(numbers, choices), flow.choose(t, given))
        weak = (*choices[:2], True if dtype == "bool" else 3)
        same(np.choose(numbers, weak), flow.choose(t, (*given[:2], weak[2])))
        wide = (*choices[:2], np.float64(3))  # of another dtype
        same(np.choose(numbers, wide), flow.choose(t, (*given[:2], wide[2])))
        if len(shape) > 1:
            same(
                np.choose(numbers.T, [x.T for x in choices]), flow.choose(t.T, [x.T for x in given])
            )
    for wrong in (-1, 2, 2**40):
        late = flow.choose(
            flow.tensor([0, wrong], device=device),
            [given[0][:0], given[0][:0]][:0]
            or [flow.zeros(2, device=device), flow.ones(2, device=device)],
        )
        with pytest.raises(ValueError, match=r"\[choose\]"):
            late.numpy()
    with pytest.raises(ValueError, match=r"\[choose\]"):
        flow.synchronize()


@pytest.mark.parametrize("wrong", [4, -5, 2**62, -(2**63)])
def test_places_out_of_range(wrong: int, naive: bool) -> None:
    index = flow.tensor([0, wrong, 1])
    late: list[Callable[[], flow.Tensor]] = [
        lambda: flow.take_along_axis(flow.arange(4), index, axis=0),
        lambda: flow.unravel_index(index, (2, 2))[0],
        lambda: flow.ravel_multi_index((index, index), (4, 4)),
    ]
    for call in late:
        with pytest.raises((IndexError, ValueError), match="out of (bounds|range)"):
            call().numpy()
    for put in (flow.put, lambda *given: flow.put_along_axis(*given, axis=0)):
        for value in (7, flow.ones(3, dtype="int64")):
            x = flow.arange(4)
            put(x, index, value)
            with pytest.raises(IndexError, match="out of bounds"):
                x.numpy()
    with pytest.raises((IndexError, ValueError)):
        flow.synchronize()
    x = flow.arange(4)
    with pytest.raises(IndexError, match=r"\[put\] index"):
        flow.put(x, [0, wrong], [5, 6])
    assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "float64", "complex128"])
def test_written_at_places(dtype: str, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(8)
    for shape in ((1,), (9,), (3, 4), (2, 3, 2)):
        base = values(shape, dtype, 9)
        index = rng.integers(-base.size, base.size, (2, 3))
        for new in (values((2, 3), dtype, 1), values((6,), dtype, 2), values((), dtype, 3), True):
            for array in (index, index.T, index[0, 0]):
                x, t = base.copy(), flow.tensor(base, device=device)
                np.put(x, array, new)
                given = flow.tensor(new, device=device) if isinstance(new, np.ndarray) else new
                flow.put(t, flow.tensor(array, device=device), given)
                same(x, t)
                if len(shape) > 1 or array.ndim != 2:
                    continue
                wide = np.broadcast_to(new.ravel()[:1] if isinstance(new, np.ndarray) else new, 6)
                np.put_along_axis(x, array.ravel(), wide, 0)
                flow.put_along_axis(
                    t,
                    flow.tensor(array, device=device).ravel(),
                    given.ravel()[:1] if isinstance(new, np.ndarray) else new,
                    axis=0,
                )
                same(x, t)
    x = flow.arange(4)
    for index, new in (([1, 2], [1.5, 2]), ((0, -1), (True, 9)), (3, 2.7), (np.int64(1), 8)):
        expected = x.numpy()
        np.put(expected, index, new)
        flow.put(x, index, new)
        same(expected, x)


def test_written_at_places_that_are_read(device: flow.Device) -> None:
    x = np.array([3, 0, 2, 1])
    t = flow.tensor(x, device=device)
    np.put(x, x.copy(), x[::-1].copy())
    flow.put(t, t, t[::-1])
    same(x, t)
    np.put_along_axis(x, x[:2].copy(), x[2:].copy(), 0)
    flow.put_along_axis(t, t[:2], t[2:], axis=0)
    same(x, t)


# --- places in a shape


@pytest.mark.parametrize("order", ["C", "F"])
def test_places(order: Any, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(10)
    for shape in ((5,), (3, 4), (2, 3, 4), (1, 7, 1), (2**20, 2**20), (2**15, 2**15)):
        for size in ((), (1,), (6,), (2, 3), (0,), (1000,)):
            places = np.asarray(rng.integers(0, np.prod(shape), size))
            expected = np.unravel_index(places, shape, order)
            t = flow.tensor(places, device=device)
            found = flow.unravel_index(t, shape, order)
            assert isinstance(found, tuple)
            for one, seen in zip(expected, found, strict=True):
                same(one, seen)
            same(places, flow.ravel_multi_index(found, shape, order=order))
            same(places, flow.ravel_multi_index(list(found), list(shape), "wrap", order))
    rows, columns = flow.unravel_index(flow.tensor([[1], [5]])[::-1], (2, 3))
    rows += 1  # results are tensors of their own
    assert (rows.tolist(), columns.tolist()) == ([[2], [1]], [[2], [1]])
    with pytest.raises(ValueError, match=r"\[ravel_multi_index\] expected 3 indices, got 2"):
        flow.ravel_multi_index((rows, columns), (2, 2, 2))
    with pytest.raises(ValueError, match="expected order"):
        flow.unravel_index(rows, (2, 2), "A")


# --- orders by several keys


@pytest.mark.parametrize("dtype", DTYPES)
def test_orders_by_keys(dtype: str, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(11)
    for shape in ((1,), (2,), (9,), (40, 3), (3, 40), (2, 3, 4), (600,), (0,)):
        few = values(shape, dtype, 12)
        few = few.ravel()[rng.integers(0, 3, shape)] if few.size > 3 else few  # many are equal
        keys = [few, rng.integers(0, 3, shape).astype("uint8"), values(shape, dtype, 13)]
        for chosen in (keys[:1], keys, keys[::-1], keys[:2], [*keys, *keys]):
            for axis in range(-len(shape), len(shape)):
                given = [flow.tensor(key, device=device) for key in chosen]
                same(np.lexsort(chosen, axis), flow.lexsort(tuple(given), axis))
                turned = [key.T for key in chosen]
                same(np.lexsort(turned, axis), flow.lexsort([key.T for key in given], axis))
        rows = np.stack([few, few])
        same(np.lexsort(rows), flow.lexsort(flow.tensor(rows, device=device)))
    with pytest.raises(ValueError, match=r"\[lexsort\] expected shape"):
        flow.lexsort((flow.zeros(2), flow.zeros(3)))


# --- in programs


def program(x: Any, mask: Any, index: Any, xp: Any) -> Any:
    """Each of the functions, on tensors that nobody else has."""
    y, z = x + 1, x * 2
    xp.place(y, mask, z[:2])
    xp.putmask(y, ~mask, z)
    xp.put(z, index, y[: len(index)])
    square = xp.reshape(y, (3, 3)) + 0
    xp.fill_diagonal(square, 7)
    one = xp.take_along_axis(z, index, 0)
    xp.put_along_axis(z, index, one * 3, 0)
    rows, columns = xp.unravel_index(index, (3, 3))
    places = xp.ravel_multi_index((rows, columns), (3, 3))
    chosen = xp.choose(index % 2, [one, one + 1])
    return y, z, square, chosen, places, xp.lexsort((z, y))


def test_recorded(device: flow.Device) -> None:
    jitted = flow.jit(lambda *given: program(*given, flow))
    for seed in range(3):
        rng = np.random.default_rng(seed)
        given = (
            rng.integers(0, 9, 9).astype("float64"),
            rng.random(9) < 0.5,
            rng.permutation(9)[:4],
        )
        tensors = [flow.tensor(one, device=device) for one in given]
        expected = program(*given, np)
        for found in (program(*tensors, flow), jitted(*tensors)):
            for one, seen in zip(expected, found, strict=True):
                same(one, seen)


def test_after_what_is_not_done() -> None:
    x = flow.arange(4.0)
    with Gate() as gate:
        late = gate.tensor + x
        flow.putmask(late, late > 1, flow.ones(4))
        flow.place(late, flow.tensor([True, False, False, True]), gate.tensor[:1] + 8)
        flow.put(late, flow.tensor([1]), late[:1])
        flow.fill_diagonal(late.reshape(2, 2), 5)
        order = flow.lexsort((late, late))
    assert late.tolist() == [5, 8, 1, 5]
    assert order.tolist() == [2, 0, 3, 1]
