"""partition and argpartition: what is promised about each place, on every device and in every
instruction set; and the statistics that are made of them."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.oracle import DTYPES, compare, laid_out, values

SIZES = (1, 2, 33, 256, 257, 1000, 5000)


def same(expected: Any, seen: Any) -> None:
    difference = compare(np.asarray(expected), np.asarray(seen))
    assert difference is None, difference


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whatever the signs of zeros: they are equal, so their order is not promised."""
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")


def holds_places(x: np.ndarray, seen: np.ndarray, places: list[int]) -> None:
    """Each place has its element, and each part between them its elements, along the last axis.

    By NumPy's stable sort: its other one missorts zeros of float16.
    """
    ordered = np.sort(x, kind="stable")
    assert equal(ordered[..., places], seen[..., places])
    edges = [0, *places, x.shape[-1]]
    for low, high in pairwise(edges):
        assert equal(ordered[..., low:high], np.sort(seen[..., low:high], kind="stable"))


def arranged(size: int, dtype: str, kind: str) -> np.ndarray:
    x = values((size,), dtype, size)
    return {
        "any": lambda: x,
        "ascending": lambda: np.sort(x),
        "descending": lambda: np.sort(x)[::-1].copy(),
        "equal": lambda: np.full(size, x[0]),
        "last of all": lambda: np.where(np.arange(size) % 3, np.sort(x)[-1], x),
    }[kind]()


def places_of(size: int) -> list[list[int]]:
    spread = sorted({0, size // 3, size // 2, size - 1})
    return [[size // 2], [size - 1], [0], spread, [max(size // 2 - 1, 0), size // 2][-size:]]


@pytest.mark.parametrize("kind", ["any", "ascending", "descending", "equal", "last of all"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_place(dtype: str, kind: str, device: flow.Device) -> None:
    for size in SIZES:
        x = arranged(size, dtype, kind)
        t = flow.tensor(x, device=device)
        for places in places_of(size):
            holds_places(x, flow.partition(t, places).numpy(), places)
            order = flow.argpartition(t, [p - size for p in places])
            assert (order.dtype, order.device) == (flow.int64, device)
            assert np.array_equal(np.sort(order.numpy()), np.arange(size))
            holds_places(x, x[order.numpy()], places)


@pytest.mark.parametrize("layout", ["strided", "transposed", "reversed", "broadcast"])
def test_every_layout(layout: str, device: flow.Device) -> None:
    for dtype in ("int16", "float32", "float64", "complex64", "bool"):
        x = values((4, 700), dtype, 3)
        t = flow.tensor(x, device=device)
        view, seen = {
            "strided": (x[::2, ::3], t[::2, ::3]),
            "transposed": (x.T[:300], t.T[:300]),
            "reversed": (x[:, ::-1], t[:, ::-1]),
            "broadcast": (np.broadcast_to(x[0], (3, 700)), flow.broadcast_to(t[0], (3, 700))),
        }[layout]
        for axis in range(2):
            n = view.shape[axis]
            places = [n // 3, n - 1]
            made = flow.partition(seen, places, axis=axis).numpy()
            holds_places(np.moveaxis(view, axis, -1), np.moveaxis(made, axis, -1), places)
            order = flow.argpartition(seen, places, axis=axis).numpy()
            made = np.take_along_axis(view, order, axis)
            holds_places(np.moveaxis(view, axis, -1), np.moveaxis(made, axis, -1), places)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_no_element_is_lost(dtype: str) -> None:
    """Zeros keep their signs, and NaN what they hold."""
    bits = f"uint{8 * np.dtype(dtype).itemsize}"
    x = values((3001,), dtype, 1)
    x[::7], x[3::7], x[5::11] = -0.0, 0.0, np.nan
    x.view(bits)[5::11] += np.arange(len(x[5::11]), dtype=bits) % 99
    x[5::22] = np.copysign(x[5::22], -1)
    for places in ([700], [1500, 2999], [3000]):
        made = flow.partition(flow.tensor(x), places).numpy()
        assert np.array_equal(np.sort(made.view(bits)), np.sort(x.view(bits)))


def test_none_and_wrong_places(device: flow.Device) -> None:
    t = flow.tensor(values((5, 0), "float32", 0), device=device)
    assert flow.partition(t, np.empty(0, int), axis=1).shape == (5, 0)
    assert flow.argpartition(t, 3, axis=0).shape == (5, 0)
    x = flow.arange(5, device=device)
    assert flow.partition(x, np.empty(0, int)).tolist() == [0, 1, 2, 3, 4]
    for kth in (5, -6, [0, 9]):
        with pytest.raises(ValueError, match=r"\[partition\] expected kth within 5 elements"):
            flow.partition(x, kth)
    for place in (5, -1):  # of the kernel itself
        with pytest.raises(IndexError, match=rf"within 5 elements, got {place}"):
            outputs, attr = [((5,), x.dtype)], (0, 0, 0, place)
            _C.call_kernel("partition", "partition", [flow.arange(5)], outputs, attr)
            flow.synchronize()


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_numpys_sort(dtype: str) -> None:
    x = values((3000,), dtype, 1)
    (seen,) = _C.call_kernel(
        "partition", "partition", [flow.tensor(x)], [(x.shape, x.dtype)], (0, 0, 0, 9, 1000)
    )
    holds_places(x, seen.numpy(), [9, 1000])


def test_large_in_both_modes(device: flow.Device, naive: bool) -> None:
    for dtype in ("int32", "float64", "complex64", "uint8", "float16"):
        x = values((200_003,), dtype, 6)
        t = flow.tensor(laid_out(x, "strided"), device=device)
        holds_places(x, flow.partition(t, [9, 120_000]).numpy(), [9, 120_000])
        holds_places(x, x[flow.argpartition(t, 100_001).numpy()], [100_001])
        rows = flow.reshape(t[:200_000], (2000, 100))
        holds_places(x[:200_000].reshape(2000, 100), flow.partition(rows, 50).numpy(), [50])


OF_EACH_SET = """
import numpy as np, oneflow_lite as flow
rng = np.random.default_rng(0)
for dtype in "int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64".split():
    for size in (300, 5000, 40_000):
        x = (rng.standard_normal(size) * 1000).astype(dtype)
        x[::9] = x[0]
        x[-3:] = x.max()
        ordered, places = np.sort(x), [size // 7, size // 2]
        for made in (flow.partition(x, places), flow.take(x, flow.argpartition(x, places))):
            seen = made.numpy()
            for low, high in ((0, places[0]), places, (places[1], size)):
                assert (np.sort(seen[low:high]) == ordered[low:high]).all(), (dtype, size)
            assert (seen[places] == ordered[places]).all(), (dtype, size)
        if x.dtype.kind == "f":
            x[::11] = np.nan
            assert flow.nanmedian(x).item() == np.nanmedian(x), (dtype, size)
            assert np.isnan(flow.median(x).item()), (dtype, size)
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("limit", _C.CPU_ISAS[: _C.CPU_ISAS.index(_C.widest_cpu_isa()) + 1])
def test_every_instruction_set(limit: str, run_program: Callable[..., Any]) -> None:
    done = run_program(OF_EACH_SET, cpu_isa=limit)
    assert done.returncode == 0, done.stderr


def test_statistics_of_long_lanes(device: flow.Device) -> None:
    for dtype in ("int32", "float32", "float64", "float16"):
        x = np.random.default_rng(4).normal(0, 9, (3, 4001)).astype(dtype)
        if dtype != "int32":
            x[1, ::7], x[2, 5] = np.nan, -np.inf
        t, q = flow.tensor(x, device=device), [0.0, 0.1, 0.625, 1.0]
        for axis in (1, None):
            same(np.median(x, axis), flow.median(t, axis).numpy())
            same(np.nanmedian(x, axis), flow.nanmedian(t, axis).numpy())
            same(np.quantile(x, q, axis), flow.quantile(t, q, axis).numpy())
            same(np.nanquantile(x, q, axis), flow.nanquantile(t, q, axis).numpy())


def test_places_are_refused_as_by_numpy() -> None:
    x = flow.tensor([3.0, 1.0, 2.0])
    for function in (flow.partition, flow.argpartition):
        for kth in (3, -4):
            with pytest.raises(ValueError, match="kth"):
                function(x, kth)
        with pytest.raises(np.exceptions.AxisError):
            function(x, 1, axis=1)
        with pytest.raises(ValueError, match="introselect"):
            function(x, 1, kind="heap")
        assert function(x, -1)[2].item() == (3.0 if function is flow.partition else 0)
        with pytest.raises(TypeError, match="integers"):
            function(x, True)
        assert function(x, kth=1, axis=None).shape == (3,)


def test_nothing_is_partitioned_at_any_place(device: flow.Device) -> None:
    for shape, axis in (((0,), -1), ((3, 0), 1), ((0, 3), 0), ((0, 3), None)):
        x = np.zeros(shape)
        t = flow.tensor(x, device=device)
        for place in (0, 1, -1):
            same(np.partition(x, place, axis), flow.partition(t, place, axis))
            same(np.argpartition(x, place, axis), flow.argpartition(t, place, axis))


def test_keys_without_dimensions(device: flow.Device) -> None:
    t = flow.tensor(3.0, device=device)
    for keys in ([t], [t, t]):
        same(np.asarray(np.lexsort([x.numpy() for x in keys])), flow.lexsort(keys))


def test_places_in_nothing_are_not_looked_at(device: flow.Device) -> None:
    for shape, kth, axis in (((0,), [5], -1), ((0, 3), np.int64(3), 0), ((0, 3), 5, 1)):
        x = flow.zeros(shape, device=device)
        assert flow.partition(x, kth, axis=axis).shape == shape
        assert flow.argpartition(x, kth, axis=axis).shape == shape
    with pytest.raises(TypeError, match="expected kth to be integers"):
        flow.partition(flow.zeros(0, device=device), 0.5)
