"""The methods of NumPy's ufuncs: reduce, accumulate, outer, at and reduceat, with NumPy's bits."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.table import ROWS
from tests.support.oracle import same

pytestmark = pytest.mark.usefixtures("no_warnings")

BINARY = [name for name, row in ROWS.items() if row.ufunc.nin == 2]
METHODS: dict[str, Callable[[Any, Any], Any]] = {
    "reduce": lambda f, x: f.reduce(x),
    "reduce a row": lambda f, x: f.reduce(x, axis=1, keepdims=True),
    "accumulate": lambda f, x: f.accumulate(x, axis=1),
    "outer": lambda f, x: f.outer(x, x[0]),
    "reduceat": lambda f, x: f.reduceat(x, [0, 2, 1]),
    "reduceat along rows": lambda f, x: f.reduceat(x, np.array([3, 0, 4]), axis=-1),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", BINARY)
def test_as_numpy(name: str, method: str) -> None:
    call, rng = METHODS[method], np.random.default_rng(3)
    compared = 0
    for dtype in ("float64", "float32", "int32", "bool", "complex64", "uint8", "float16"):
        x = rng.integers(0, 4, (3, 5)).astype(dtype)
        try:
            expected = np.asarray(call(ROWS[name].ufunc, x))
        except TypeError:
            with pytest.raises(TypeError):
                call(getattr(flow, name), flow.tensor(x)).numpy()
            continue
        is_reduced = method.startswith("reduce") and "at" not in method
        if is_reduced and name in ("pow", "ldexp") and dtype[0] in "iub":
            with pytest.raises(TypeError, match="no implementation found"):
                call(getattr(flow, name), flow.tensor(x))
            continue
        same(call(getattr(flow, name), flow.tensor(x)), expected)
        same(call(ROWS[name].ufunc, flow.tensor(x)), expected)
        compared += 1
    assert compared or name in ("ldexp",)


def test_masks_starts_and_targets(device: flow.Device) -> None:
    x = np.arange(12.0).reshape(3, 4)
    t, mask = flow.tensor(x, device=device), x % 5 > 1
    same(flow.add.reduce(t, where=mask), np.add.reduce(x, where=mask))
    same(flow.maximum.reduce(t, 1, initial=5), np.maximum.reduce(x, 1, initial=5))
    same(flow.multiply.reduce(t, None, "float32"), np.multiply.reduce(x, None, "float32"))
    out = flow.zeros(4, "int32", device=device)
    assert flow.add.reduce(t, 0, None, out) is out
    assert out.tolist() == [12, 15, 18, 21]
    kept = flow.zeros((3, 4), device=device)
    assert flow.maximum.accumulate(t, out=kept) is kept
    assert kept.tolist() == x.tolist()
    table = flow.zeros((3, 4, 2), device=device)
    assert flow.add.outer(t, [1, 2], out=table, where=[True, False]) is table
    assert table.tolist() == (np.add.outer(x, [1, 2]) * [1, 0]).tolist()
    ends = flow.zeros((3, 2), device=device)
    assert flow.add.reduceat(t, [0, 2], 1, None, ends) is ends
    assert ends.tolist() == np.add.reduceat(x, [0, 2], 1).tolist()
    with pytest.raises(ValueError, match=r"\[add.reduce\] where of shape \(2, 3, 4\)"):
        flow.add.reduce(t, where=np.ones((2, 3, 4), bool))


PLACES: list[tuple[Any, Any]] = [
    ([0, 1, 0], 2),
    ([2, 2, 2], [[1], [2], [3]]),
    ((slice(None), [0, 0]), [[1], [2], [3]]),
    ((np.array([0, -1]), np.array([1, 1])), 5),
    (..., 1),
    (None, 1),
    (1, [1, 2]),
    ((), 3),
    (np.array([True, False, True]), 4),
    ([], 4),
    (slice(2, None), 7),
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_at(place: tuple[Any, Any], device: flow.Device) -> None:
    key, value = place

    def on_tensors(x: Any) -> Any:
        return flow.tensor(x, device=device) if isinstance(x, (list, np.ndarray)) else x

    for dtype in ("int64", "float32", "complex128"):
        expected = np.arange(6).reshape(3, 2).astype(dtype)
        t, other = (flow.tensor(expected, device=device) for _ in range(2))
        np.subtract.at(expected, key, value)
        assert flow.subtract.at(t, key, value) is None
        same(t, expected)
        tensors = tuple(map(on_tensors, key)) if isinstance(key, tuple) else key
        np.subtract.at(other, tensors, flow.tensor(value, dtype, device))
        same(other, expected)


def test_at_of_one_operand_and_of_views(device: flow.Device) -> None:
    x = flow.arange(6, device=device)
    flow.negative.at(x[::2], [1, 1, 0])
    assert x.tolist() == [0, 1, 2, 3, 4, 5]
    flow.negative.at(x[::2], [1])
    assert x.tolist() == [0, 1, -2, 3, 4, 5]
    flow.add.at(x, flow.tensor([0, 0], device=device), x[3:5])
    assert x.tolist() == [7, 1, -2, 3, 4, 5]
    number = flow.zeros((), device=device)
    flow.add.at(number, (), 3)
    assert number.item() == 3


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16"])
def test_at_casts_as_numpy(dtype: str, device: flow.Device) -> None:
    for name, value in (("divide", 2), ("add", 1.5), ("less", 2), ("maximum", np.uint64(3))):
        expected = np.array([3, 1, 2]).astype(dtype)
        t = flow.tensor(expected, device=device)
        getattr(np, name).at(expected, [0, 0], value)
        getattr(flow, name).at(t, [0, 0], value)
        same(t, expected)


def test_reduce_of_a_number(device: flow.Device) -> None:
    x = flow.tensor(3, device=device)
    for axis in (0, -1, None, ()):
        assert flow.add.reduce(x, axis).item() == np.add.reduce(x, axis).item() == 3
    assert flow.floor_divide.reduce(x).item() == 3
    with pytest.raises(np.exceptions.AxisError):
        flow.add.reduce(x, 1)


def test_at_of_arrays_waits(device: flow.Device) -> None:
    array = np.zeros(3)
    np.add.at(array, flow.tensor([0, 0], device=device), flow.tensor([1.0, 2.0], device=device))
    flow.add.at(array, flow.tensor([2], device=device), 5)
    assert array.tolist() == [3, 0, 5]


def test_wrong_places_are_errors_of_the_target(device: flow.Device) -> None:
    x = flow.zeros(3, device=device)
    flow.add.at(x, [5], 1)
    with pytest.raises(IndexError, match="index 5 is out of bounds") as caught:
        x.numpy()
    assert any("add.at: issued at" in note for note in caught.value.__notes__)
    ends = flow.add.reduceat(flow.ones(3, device=device), [7])
    with pytest.raises(IndexError, match="index 7 out-of-bounds in add.reduceat"):
        ends.numpy()
    lines = flow.zeros(3, device=device)
    flow.add.at(lines, [0, 1], [1, 2, 3])
    with pytest.raises(ValueError, match="not broadcastable"):
        lines.numpy()


def test_wrong_calls(device: flow.Device) -> None:
    x = flow.zeros(3, "int32", device=device)
    wrong: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (TypeError, "complex128 to int32", lambda: flow.add.at(x, [0], 1.5j)),
        (np.exceptions.AxisError, "5", lambda: flow.pow.accumulate(x, 5)),
        (TypeError, r"\[add.at\] expected a target, indices and a", lambda: flow.add.at(x, [0])),
        (TypeError, r"\[sin.at\] expected a target and", lambda: flow.sin.at(x, [0], 1)),
        (TypeError, "a tensor or array, got list", lambda: flow.add.at([0], [0], 1)),
        (IndexError, "integers or bools", lambda: flow.add.at(x, [0.5], 1)),
        (IndexError, "integers or bools", lambda: flow.add.reduceat(x, [0.5])),
        (ValueError, "indices of one dimension", lambda: flow.add.reduceat(x, [[0]])),
        (ValueError, "dimensions to reduce", lambda: flow.add.reduceat(3, [0])),
        (ValueError, "a binary operation", lambda: flow.sin.reduceat(x, [0])),
        (ValueError, "a binary operation", lambda: flow.sin.outer(x, x)),
        (ValueError, r"\[add.reduceat\]", lambda: flow.add.reduceat(x, [0], axis=1)),
        (TypeError, "no implementation", lambda: flow.sin.reduce(x)),
        (ValueError, "broadcast view", lambda: flow.add.at(flow.broadcast_to(x[:1], 3), 0, 1)),
    ]
    for kind, text, call in wrong:
        with pytest.raises(kind, match=text):
            call()
    assert x.tolist() == [0, 0, 0]


def test_recorded() -> None:
    @flow.jit
    def count(places: flow.Tensor, weights: flow.Tensor) -> tuple[flow.Tensor, flow.Tensor]:
        counts = flow.zeros(4)
        flow.add.at(counts, places, weights)
        return counts, flow.multiply.reduceat(weights, [0, 2])

    for seed in range(3):
        rng = np.random.default_rng(seed)
        places, weights = rng.integers(0, 4, 9), rng.normal(size=9)
        expected = np.zeros(4)
        np.add.at(expected, places, weights)
        counts, ends = count(flow.tensor(places), flow.tensor(weights))
        same(counts, expected)
        same(ends, np.multiply.reduceat(weights, [0, 2]))


def test_arrays_may_change_after_the_call() -> None:
    gate, x = threading.Event(), flow.zeros(3)
    flow.vm.host_func(lambda target: gate.wait(60), reads=[], writes=[x])
    places, values = np.array([0, 0]), np.array([1.0, 2.0])
    flow.add.at(x, places, values)
    places[:], values[:] = 2, 9
    gate.set()
    assert x.tolist() == [3, 0, 0]
