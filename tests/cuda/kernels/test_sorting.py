"""Sorts, searches, sets and counts on the device: NumPy's results, and nothing runs on the host."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
import sim
from tests.support.graphs.row_sums import SIZES, check
from tests.support.oracle import DTYPES, same, values

DEVICE = "cuda:0"
SHORT = [1, 2, 3, 9, 31, 32, 33, 64, 65, 127, 600, 2047, 2048]
LONG = [2049, 4096, 4097]


def on_device(x: Any) -> flow.Tensor:
    return flow.tensor(x, device=DEVICE)


def stable_order(x: np.ndarray, descending: bool) -> np.ndarray:
    if not descending:
        return np.argsort(x, axis=-1, kind="stable")
    backwards = np.argsort(np.flip(x, -1), axis=-1, kind="stable")
    return np.flip(x.shape[-1] - 1 - backwards, -1)


def sorts_as_numpy(x: np.ndarray, given: flow.Tensor | None = None) -> None:
    """Bit for bit, in both directions."""
    t = on_device(x) if given is None else given
    for descending in (False, True):
        order = stable_order(x, descending)
        same(order, flow.argsort(t, descending=descending))
        want = np.take_along_axis(x, order, -1)
        seen = flow.sort(t, descending=descending).numpy()
        np.testing.assert_array_equal(bits(seen), bits(want))


def equal(expected: np.ndarray, seen: flow.Tensor) -> None:
    """Of zeros of both signs NumPy keeps any."""
    np.testing.assert_array_equal(seen.numpy(), expected, strict=True)


def bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x)[..., np.newaxis].view(np.uint8)


@pytest.fixture(autouse=True, scope="module")
def nothing_on_the_host() -> Any:
    """Of what these tests are about; reductions and the like may be."""
    yield
    ours = {"sort", "argsort", "searchsorted", "isin", "bincount", "intersect1d", "setdiff1d"}
    ours |= {"unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"}
    assert not ours & set(flow.cuda.host_operations())


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype: str) -> None:
    for seed, shape in enumerate(((2, 33), (3, 600), (2049,))):
        sorts_as_numpy(values(shape, dtype, seed))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex64"])
def test_lengths(dtype: str) -> None:
    for seed, n in enumerate(LONG):
        sorts_as_numpy(values((n,), dtype, seed))
    for seed, n in enumerate(SHORT):
        sorts_as_numpy(values((3, n), dtype, seed))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "int64"])
def test_many_chunks_of_a_lane(dtype: str) -> None:
    sorts_as_numpy(values((9000,), dtype, 3))
    sorts_as_numpy(values((2, 4500), dtype, 4))


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_many_lanes(dtype: str) -> None:
    for shape in ((3000, 1), (3000, 3), (130, 65), (3, 2048), (4, 2100)):
        sorts_as_numpy(values(shape, dtype, 5))


def test_digits_that_do_not_differ() -> None:
    rng = np.random.default_rng(0)
    for x in (
        rng.integers(0, 5, 2200),
        np.full(2200, -3),
        np.arange(2200),
        np.arange(2200)[::-1].copy(),
        rng.integers(0, 2, 2200) << 40,
    ):
        sorts_as_numpy(x)


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_views(dtype: str) -> None:
    x = values((3, 2200), dtype, 6)
    t = on_device(x)
    sorts_as_numpy(x[1:, 1:].copy(), t[1:, 1:])
    sorts_as_numpy(x[::-2, ::-3].copy(), t[::-2, ::-3])
    sorts_as_numpy(x.T.copy(), t.T)
    sorts_as_numpy(x.reshape(-1)[1:].copy(), flow.reshape(t, -1)[1:])
    sorts_as_numpy(np.broadcast_to(x[0], (2, 2200)).copy(), flow.broadcast_to(t[0], (2, 2200)))
    for axis in (0, 1):
        same(np.sort(x, axis, kind="stable"), flow.sort(t, axis=axis))
        same(np.argsort(x, axis, kind="stable"), flow.argsort(t, axis=axis))


def test_results_are_the_same_each_time() -> None:
    x = on_device(values((20_000,), "float32", 2))
    first = flow.argsort(x).numpy()
    for _ in range(2):
        np.testing.assert_array_equal(first, flow.argsort(x).numpy())


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_searches(dtype: str, side: str) -> None:
    x = values((3000,), dtype, 1)
    needles = np.concatenate([values((1500,), dtype, 2), x[:500]])
    ordered = np.sort(x)
    want = np.searchsorted(ordered, needles, side)
    same(want, flow.searchsorted(on_device(ordered), on_device(needles), side=side))
    same(
        np.searchsorted(ordered[::3], needles[::-2], side),
        flow.searchsorted(on_device(ordered)[::3], on_device(needles)[::-2], side=side),
    )
    seen = flow.searchsorted(
        on_device(x), on_device(needles), side=side, sorter=flow.argsort(on_device(x))
    )
    same(want, seen)


def test_searches_of_nothing() -> None:
    none, some = on_device(np.empty(0)), on_device(np.array([1.0, np.nan]))
    assert flow.searchsorted(none, some).tolist() == [0, 0]
    assert flow.searchsorted(some, none).tolist() == []
    assert flow.isin(some, none).tolist() == [False, False]
    assert flow.isin(none, some).tolist() == []
    assert flow.unique(none).tolist() == []
    assert flow.bincount(on_device(np.empty(0, int)), minlength=3).tolist() == [0, 0, 0]
    assert flow.setdiff1d(none, some).tolist() == []


@pytest.mark.parametrize("position", [-1, 3, 1 << 40])
def test_a_sorter_out_of_range(position: int) -> None:
    x, sorter = on_device(np.arange(3.0)), on_device(np.array([0, position, 1]))
    found = flow.searchsorted(x, x, sorter=sorter)
    with pytest.raises(ValueError, match=rf"positions below 3, got {position}"):
        found.numpy()
    with pytest.raises(ValueError, match="positions below 3"):
        flow.synchronize()
    assert flow.searchsorted(x, x).tolist() == [0, 1, 2]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float32", "complex64"])
def test_sets(dtype: str) -> None:
    x, y = values((4200,), dtype, 1), values((500,), dtype, 2)
    t, u = on_device(x)[1:], on_device(y)[::-1]
    x, y = x[1:], y[::-1]
    for want, seen in zip(np.unique_all(x), flow.unique_all(t), strict=True):
        same(want, seen)
    for want, seen in zip(np.unique_counts(x), flow.unique_counts(t), strict=True):
        equal(want, seen)
    equal(np.unique(x), flow.unique(t))
    for invert in (False, True):
        same(np.isin(x, y, invert=invert), flow.isin(t, u, invert=invert))
    equal(np.intersect1d(x, y), flow.intersect1d(t, u))
    equal(np.setdiff1d(x, y), flow.setdiff1d(t, u))
    equal(np.union1d(x, y), flow.union1d(t, u))


@pytest.mark.parametrize("most", [1, 7, 4095, 4096, 70_000])
def test_counts(most: int) -> None:
    rng = np.random.default_rng(most)
    x = np.minimum(rng.integers(0, most + 1, 9000), rng.integers(0, most + 1, 9000))
    weights = rng.normal(size=9000)
    t, w = on_device(x), on_device(weights)
    same(np.bincount(x), flow.bincount(t))
    same(np.bincount(x, weights), flow.bincount(t, w))
    same(np.bincount(x[::-3], weights[::-3], most + 9), flow.bincount(t[::-3], w[::-3], most + 9))
    same(np.bincount(x[:70], weights[:70]), flow.bincount(t[:70], w[:70]))


@pytest.mark.parametrize("fault", ["fail=cuLaunchKernel:{}:1", "fail=cuMemAlloc:{}:2"])
@pytest.mark.parametrize("nth", [1, 2, 5])
def test_a_call_that_fails_leaves_nothing_behind(fault: str, nth: int) -> None:
    x = values((5000,), "int32", 9)
    t = on_device(x)
    flow.argsort(t).numpy()
    flow.empty_cache()
    sim.configure(fault.format(nth))
    order = flow.argsort(t)
    with_error(order.numpy)
    sim.reset_faults()
    with_error(flow.synchronize)
    same(np.argsort(x, kind="stable"), flow.argsort(t))


def with_error(look: Callable[[], object]) -> None:
    """The call may have been spared: memory of the device may come from fewer requests."""
    try:
        look()
    except (RuntimeError, MemoryError):
        return


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rows_are_added_as_on_the_host(dtype: str) -> None:
    for size in SIZES:
        check(*size, dtype, DEVICE)
    assert "scatter_add" not in flow.cuda.host_operations()


def program(*lines: str) -> Any:
    """A compiled text; its last line is the result."""
    text = "\n".join(["program f", *lines, f"return %{len(lines) - 1}", ""])
    return flow.graph.compile(flow.graph.Program.parse(text.replace("DEVICE", DEVICE)))


def refuses(run: Any, given: list[np.ndarray], kind: type[Exception], text: str) -> None:
    """And the next run is sound."""
    found = run(*map(on_device, given))[0]
    with pytest.raises(kind, match=text):
        found.numpy()
    with pytest.raises(kind):
        flow.synchronize()


@pytest.mark.parametrize("width", [0, 2])
@pytest.mark.parametrize("count", [30, 5000])  # 2048 are sorted at once
def test_places_count_from_the_end_or_are_refused(count: int, width: int) -> None:
    run = program(
        f"%0: f32[{count},{width}] DEVICE = parameter rows",
        f"%1: i64[{count}] DEVICE = parameter places",
        f"%2: f32[8,{width}] DEVICE = array.scatter_add(%1, %0)",
    )
    rows = np.ones((count, width), "float32")
    places = np.arange(count) % 16 - 8
    wanted = np.zeros((8, width), "float32")
    np.add.at(wanted, places, rows)
    for wrong in (8, -9, 260, 2**62, -(2**63)):
        bad = places.copy()
        bad[[3, count - 2]] = wrong
        refuses(run, [rows, bad], IndexError, f"index {wrong} is out of bounds for axis 0 with")
        same(wanted, run(on_device(rows), on_device(places))[0])
    assert "scatter_add" not in flow.cuda.host_operations()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("length", [0, 1, 8, 5000])
def test_numbers_that_another_thread_wrote(length: int, weighted: bool) -> None:
    """Not below the length, which was found in an earlier look at them: nothing else is written."""
    operands = "%0, %1" if weighted else "%0"
    run = program(
        "%0: i64[3000] DEVICE = parameter numbers",
        "%1: f64[3000] DEVICE = parameter weights",
        f"%2: {'f64' if weighted else 'i64'}[{length}] DEVICE = array.bincount({operands})",
    )
    numbers, weights = np.arange(3000) % max(length, 1), np.linspace(0, 1, 3000)
    for wrong in (length, -1, length + 256, 2**62, -(2**63)):
        bad = numbers.copy()
        bad[[5, 2900]] = wrong
        text = f"expected numbers below {length}, got others: another thread wrote to the tensor"
        refuses(run, [bad, weights], RuntimeError, text)
        if length:
            wanted = np.bincount(numbers, weights if weighted else None, length)
            same(wanted, run(on_device(numbers), on_device(weights))[0])
    if length:
        assert "bincount" not in flow.cuda.host_operations()
