"""What small calls leave out (an instruction, a lock, the allocator) is not missed."""

import enum
import itertools
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.profiler import profile
from tests.support.machine import Gate, run_in_threads
from tests.support.oracle import DTYPES

SIZES = (0, 1, 2, 63, 64, 65, 127, 128, 129, 511, 512, 513, 1000)  # bytes held are 512
INDICES = (0, 1, 3, -1, -4)


class Three(enum.IntEnum):
    THREE = 3


class Index:
    """An index object; what it answers, and how often it was asked."""

    def __init__(self, value: int) -> None:
        self.value, self.asked = value, 0

    def __index__(self) -> int:
        self.asked += 1
        return self.value


class Key(tuple):
    pass


def arrays() -> list[np.ndarray]:
    base = np.arange(24.0)
    many = [base, base.reshape(4, 6), base.reshape(2, 3, 4), base[::-2], np.float32(3)]
    many += [np.zeros(0), np.zeros((0, 3)), np.zeros((3, 0)), base.reshape(4, 6).T[1:, ::2]]
    return [np.asarray(x) for x in many]


def keys() -> list[Any]:
    """Integers, slices, None and ellipses in all orders, and what is only like them."""
    far = 2**70
    bounds = (None, 0, 2, -2, 9, -9, far, -far)
    slices = [slice(a, b, c) for a in bounds for b in bounds[:6] for c in (None, 1, -1, 3, -far)]
    items = (1, -1, slice(1, None), slice(None, None, -1), None, ...)
    mixed = [key for n in range(4) for key in itertools.product(items, repeat=n)]
    like = [True, False, np.int8(1), np.uint64(1), np.True_, np.array(1), Three.THREE, Key((1,))]
    like += [
        slice(np.int64(1), 3),
        slice(0, 3, 0),
        slice("a", 1),
        (0, True),
        [1],
        far,
        -far,
        24,
        -25,
    ]
    return [*range(-26, 26), *slices, *mixed, *like]


def same_item(array: np.ndarray, t: flow.Tensor, key: Any) -> None:
    try:
        expected = array[key]
    except (IndexError, TypeError, ValueError):
        with pytest.raises((IndexError, TypeError, ValueError)):
            t[key]
        return
    item = t[key]
    assert item.shape == expected.shape, key
    assert item.dtype == expected.dtype
    np.testing.assert_array_equal(item.numpy(), expected, err_msg=repr(key))


@pytest.mark.parametrize("array", arrays(), ids=lambda a: f"{a.shape}{a.strides}")
def test_items(array: np.ndarray, device: flow.Device) -> None:
    t = flow.tensor(array, device=device)
    for key in keys():
        same_item(array, t, key)


def test_views_of_views_have_numpys_strides() -> None:
    array = np.arange(120.0).reshape(4, 5, 6)
    t = flow.tensor(array)
    items = (1, -2, slice(1, 4), slice(None, None, -2), slice(2, 2), None, ...)
    for first, second in itertools.product(items, items):
        try:
            expected = array[first][second]
        except IndexError:
            continue
        view = t[first][second]
        assert view.shape == expected.shape
        for size, ours, numpys in zip(view.shape, view.strides, expected.strides, strict=True):
            assert size < 2 or ours == numpys or not expected.size
        assert view.shares_storage(t)
        np.testing.assert_array_equal(view.numpy(), expected)


def test_an_index_object_is_asked() -> None:
    t = flow.arange(5)
    index = Index(3)
    assert t[index].item() == 3
    assert index.asked == 1
    t[Index(-1)] = 7
    assert t.tolist() == [0, 1, 2, 3, 7]
    assert t[Index(1) : Index(3)].tolist() == [1, 2]
    with pytest.raises(IndexError):
        t[Index(5)]


def test_items_keep_the_storage_and_nothing_else() -> None:
    count = sys.getrefcount(flow.Tensor)
    t = flow.arange(3)
    items = [t[i] for i in (0, 1, 2, -1) for _ in range(100)]
    del t
    assert [x.item() for x in items[::100]] == [0, 1, 2, 2]
    del items
    assert abs(sys.getrefcount(flow.Tensor) - count) < 3


def test_objects_are_used_again_without_their_past() -> None:
    for shape in ((2, 3), (), (1, 1, 1, 1, 1, 2), (4,)):
        t = flow.zeros(shape)
        assert (t.shape, t.strides) == (shape, np.zeros(shape).strides)
        del t
    a = flow.arange(6, dtype=flow.int32)
    x = a[1:3]
    with pytest.raises(IndexError):
        a[0, slice(1), 2]
    y = flow.ones(2)
    assert (x.dtype, x.tolist(), y.dtype, y.tolist()) == (flow.int32, [1, 2], flow.float64, [1, 1])


# --- memory behind the storage


@pytest.mark.parametrize("size", SIZES)
def test_small_and_large_are_alike(size: int, device: flow.Device, naive: bool) -> None:
    x = flow.full(size, 7, dtype="uint8", device=device)
    y = flow.zeros(size, dtype="uint8", device=device)
    assert (x.numpy() == 7).all()
    assert not y.numpy().any()
    y += x
    z = (x + y)[::-1] * flow.tensor(np.arange(size, dtype=np.uint8), device=device)
    assert (z.numpy() == np.arange(size, dtype=np.uint8) * np.uint8(14)).all()


def test_results_are_aligned() -> None:
    kept = []
    for size in SIZES[1:]:
        kept += [flow.ones(size, dtype="uint8"), flow.empty(size, dtype="uint8")]
        kept += [kept[-2] + kept[-2]]
    for x in kept:
        assert np.asarray(x).ctypes.data % 64 == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_filled(dtype: str, device: flow.Device) -> None:
    for shape in ((), 0, 1, 3, (2, 5), (3, 0), 63, 64, 65, 600):
        for value in (0, 1):
            made = flow.full(shape, value, dtype=dtype, device=device)
            expected = np.full(shape, value, dtype)
            assert made.shape == expected.shape
            assert made.is_contiguous()
            assert made.numpy().tobytes() == expected.tobytes()
            assert flow.full_like(made, 1).numpy().tobytes() == np.full_like(expected, 1).tobytes()
    assert flow.full(3, -0.0).numpy().tobytes() == np.full(3, -0.0).tobytes()
    assert flow.full(3, 1.5 - 2j).numpy().tobytes() == np.full(3, 1.5 - 2j).tobytes()


def test_bad_shapes_and_devices() -> None:
    for shape in ((2**62, 4), (2**40, 2**40), (-1,), (2**63,)):
        with pytest.raises((ValueError, OverflowError, flow.OutOfMemoryError)):
            flow.zeros(shape)
    with pytest.raises(ValueError, match="does not exist"):
        flow.zeros(2, device=flow.Device("mock:63"))


def test_memory_outlives_its_tensor() -> None:
    array = flow.arange(16).numpy()
    shared = np.asarray(flow.arange(16) * 1)
    others = [flow.zeros(16) for _ in range(50)]
    assert array.tolist() == shared.tolist() == list(range(16))
    del others


# --- elements


def test_an_element_is_read_when_what_writes_it_has_run() -> None:
    with Gate() as gate:
        y = gate.tensor + 5
        view = y[1]
        assert not view.is_ready()
        threading.Timer(0.02, gate.open).start()
        assert view.item() == 5
    assert float(y[3]) == int(view) == 5


def test_an_element_is_written_after_what_reads_it() -> None:
    x = flow.ones(4)
    with Gate() as gate:
        y = gate.tensor + x
        x[2] = 9
        x[-1] = np.float64(8)
    assert y.tolist() == [1] * 4
    assert x.tolist() == [1, 1, 9, 8]


def test_a_host_function_may_not_look_at_what_it_writes() -> None:
    x = flow.zeros(1)
    call = flow.vm.host_func(lambda _: x.item(), writes=[x])
    for look in (call.result, x.item, flow.synchronize):
        with pytest.raises(RuntimeError):
            look()


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.item(0),
        lambda x: float(x[1]),
        lambda x: bool(x[0]),
        lambda x: x[flow.tensor([0])].numpy(),
        lambda x: flow.zeros(2)[x.astype("int64")].numpy(),
        lambda x: flow.linalg.norm(x).item(),
    ],
)
def test_poison_is_raised_by_each_way_to_look(look: Callable[[flow.Tensor], Any]) -> None:
    x = flow.zeros(2)

    def fail(_: object) -> None:
        raise KeyError("on purpose")

    call = flow.vm.host_func(fail, writes=[x])
    for _ in range(2):
        with pytest.raises(KeyError, match="on purpose"):
            look(x)
    with pytest.raises(KeyError):
        call.wait()
    with pytest.raises(KeyError):
        x[0] = 1.0
        x[0].item()
    with pytest.raises(KeyError):
        flow.synchronize()


def test_threads_read_and_write_elements_of_one_tensor() -> None:
    x = flow.zeros(8)
    large = flow.ones(50_000)

    def work(place: int) -> None:
        for i in range(300):
            x[place] = i
            assert x[place].item() == i
            if i % 50 == 0:
                x[place : place + 1] += large[:1] + large[-1:]
                assert float(x[place]) == i + 2

    run_in_threads(work, 8)
    assert x.tolist() == [299] * 8


# --- norms


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "complex64", "bool"])
def test_norm(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(5)
    for shape in ((), (0,), (1,), (7,), (1000,), (3, 4), (2, 3, 4)):
        array = (rng.random(shape) * 9).astype(dtype)
        x = flow.tensor(array, device=device)
        np.testing.assert_allclose(
            flow.linalg.norm(x).numpy(),
            np.linalg.norm(array),
            rtol=1e-2 if dtype == "float16" else 1e-6,
        )
        if array.ndim:
            assert (
                flow.linalg.norm(x).numpy() == flow.linalg.norm(x, keepdims=True).numpy().ravel()[0]
            )
            assert flow.linalg.norm(x[::-1]).shape == ()


# --- traces


def test_a_trace_shows_what_takes_no_instruction_otherwise() -> None:
    x, index = flow.arange(4), flow.tensor([1, 0])
    with profile() as prof:
        flow.zeros(3)
        flow.empty(3)
        assert x[index].tolist() == [1, 0]
        x[0] = 5
    ran = {r.name for r in prof.records if r.kind == "run"}
    assert ran >= {"full", "empty", "getitem", "setitem"}


# --- copies


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_of_strided_memory(dtype: str, device: flow.Device) -> None:
    base = (np.arange(64 * 130) % 127).astype(dtype)
    views: tuple[Callable[[Any], Any], ...] = (
        lambda x: x[::2],
        lambda x: x[1::2],
        lambda x: x[::-2],
        lambda x: x[::3],
        lambda x: x[5:6:2],
        lambda x: x[:0:2],
        lambda x: x[: 64 * 128].reshape(64, 128).T,
        lambda x: x[: 130 * 64].reshape(130, 64).T,
        lambda x: x[:10000:1][:8100].reshape(90, 90).T,
        lambda x: x[: 64 * 128].reshape(2, 4096).T,
        lambda x: x[: 4 * 6 * 8].reshape(4, 6, 8).transpose(2, 0, 1),
    )
    for view in views:
        expected = view(base)
        t = view(flow.tensor(base, device=device))
        assert flow.ascontiguousarray(t).numpy().tobytes() == expected.tobytes()
        assert t.copy().numpy().tobytes() == expected.tobytes()
        target = flow.zeros(expected.shape[::-1], dtype=dtype, device=device).T
        target[...] = t
        assert target.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "dtype", ["int8", "float16", "uint32", "float64", "complex64", "complex128"]
)
def test_transposed_copies(dtype: str) -> None:
    """Of sizes about those of tiles and of the blocks in them, at all alignments."""
    base = np.random.default_rng(3).integers(0, 127, 70_000)
    for rows, columns in [(1024, 16), (1024, 17), (1030, 31), (63, 1024), (72, 129), (1024, 4)]:
        for start in (0, 1):
            array = base.astype(dtype)[start : start + rows * columns].reshape(rows, columns)
            t = flow.tensor(base.astype(dtype))[start : start + rows * columns]
            t = t.reshape(rows, columns)
            assert t.T.copy().numpy().tobytes() == array.T.tobytes()
            assert t[:, 1:].T.copy().numpy().tobytes() == array[:, 1:].T.tobytes()
            assert t[::2].T.copy().numpy().tobytes() == array[::2].T.tobytes()
            assert t.T.astype("complex128").numpy().tobytes() == array.T.astype("c16").tobytes()


@pytest.mark.slow
def test_copies_that_are_too_large_for_the_caches() -> None:
    """Rows that begin and end anywhere in a line, of every size of element; casts, gaps, turns."""
    base = np.random.default_rng(5).integers(0, 127, 9_000_123).astype("uint8")
    x = flow.tensor(base)
    for start, rows, columns in ((0, 1, 9_000_123), (3, 7, 1_200_011), (1, 900, 9_999)):
        a = base[start : start + rows * columns].reshape(rows, columns)
        t = x[start : start + rows * columns].reshape(rows, columns)
        for dtype in ("uint16", "float32", "float64"):
            assert t.astype(dtype).numpy().tobytes() == a.astype(dtype).tobytes()
        wide, b = t.astype("float64"), a.astype("float64")
        for view in (np.s_[:, 1:], np.s_[:, ::-1], np.s_[::-1, :-3]):
            assert wide[view].copy().numpy().tobytes() == b[view].tobytes()
        shape = (rows, columns + 1)
        out, expected = flow.zeros(shape, "float32"), np.zeros(shape, "float32")
        out[:, 1:], expected[:, 1:] = wide, b
        assert out.numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize("step", [1, 2, 3])
def test_copies_within_one_array(step: int, device: flow.Device) -> None:
    for size in (7, 40, 1000):
        array = np.arange(2.0 * size)
        t = flow.tensor(array, device=device)
        n = size // step
        array[:n], t[:n] = array[: n * step : step].copy(), t[: n * step : step]
        array[n : 2 * n], t[n : 2 * n] = array[: 2 * n : 2].copy(), t[: 2 * n : 2]
        np.testing.assert_array_equal(t.numpy(), array)


def test_what_is_contiguous_is_not_copied() -> None:
    x = flow.zeros((2, 3))
    assert flow.ascontiguousarray(x) is x
    assert not flow.ascontiguousarray(x.T).shares_storage(x)
    assert flow.ascontiguousarray(flow.ones(())).shape == (1,)
    assert flow.ascontiguousarray(x, flow.float32).dtype == flow.float32
    assert flow.ascontiguousarray([[1, 2], [3, 4]]).shape == (2, 2)
    with pytest.raises(TypeError):
        flow.ascontiguousarray()
