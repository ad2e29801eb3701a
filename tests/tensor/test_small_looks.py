"""Small values that are settled are read where they are asked for, and made where they are."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.creation.conversion import converted
from tests.support.machine import Gate
from tests.support.oracle import DTYPES, values

INTEGERS = [name for name in DTYPES if np.dtype(name).kind in "iub"]
SHAPES = ((1,), (16,), (0,), (3, 5), (2, 3, 4), (2, 0, 3), (1024,), (1025,), (40, 60))


def calls() -> dict[str, Callable[[], Any]]:
    """What is asked of small values, without a word of Python between the call and the result."""
    x, mask = flow.tensor([0.0, 2.0, 0.0, 3.0]), flow.tensor([True, False])
    numbers, array, matrix = flow.tensor([3, 0, 1, 1]), np.arange(4.0), flow.eye(3)
    return {
        "numpy": lambda: x.numpy(),
        "tolist": lambda: matrix.tolist(),
        "nonzero": lambda: flow.nonzero(matrix),
        "x.nonzero": lambda: x.nonzero(),
        "where": lambda: flow.where(mask),
        "count_nonzero": lambda: flow.count_nonzero(x),
        "bincount": lambda: flow.bincount(numbers, x, 6),
        "tensor(number)": lambda: flow.tensor(5.0, "float32"),
        "tensor(array)": lambda: flow.tensor(array),
        "array(array)": lambda: flow.array(array),
        "asarray(list)": lambda: flow.asarray([[1, 2], (3, 4)]),
        "asarray(list, dtype)": lambda: flow.asarray([1.5, 2.5], "float32"),
        "iterate": lambda: list(matrix),
    }


@pytest.mark.parametrize("name", calls())
def test_it_needs_no_instruction_and_no_python(name: str) -> None:
    call = calls()[name]
    entered: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is not call.__code__:
            entered.append(frame.f_code.co_name)

    before = flow.vm.stats()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    after = flow.vm.stats()
    assert entered == []
    assert [after[key] - before[key] for key in ("issued", "inlined")] == [0, 0]


@pytest.mark.parametrize("dtype", DTYPES)
def test_places_and_values_are_numpys(dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        host = values(shape, dtype, 3)
        host[values(shape, "float64", 4) > 0] = 0
        made = flow.asarray(host, device=device)
        views = ((host, made), (host.T, made.T), (host[..., ::2], made[..., ::2]))
        for seen, x in views:
            got, expected = flow.nonzero(x), np.nonzero(seen)
            assert isinstance(got, tuple)
            for one, other in zip(got, expected, strict=True):
                assert (one.dtype, one.device) == (np.int64, device)
                assert np.array_equal(one.numpy(), other)
            assert flow.count_nonzero(x).item() == np.count_nonzero(seen)
            assert len(flow.where(x)) == len(expected)
            assert x.numpy().tobytes() == seen.tobytes()
            assert x.numpy().flags.writeable
            assert repr(x.tolist()) == repr(seen.tolist())
            assert repr([row.tolist() for row in x[:9]]) == repr(seen[:9].tolist())
    zero = flow.asarray(np.zeros((), dtype), device=device)
    assert zero.tolist() == 0
    assert zero.numpy().shape == ()
    with pytest.raises(ValueError, match="0-d"):
        flow.nonzero(zero)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_counts_are_numpys(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(5)
    for n in (1, 16, 1000, 9000):
        host = rng.integers(0, 2 if dtype == "bool" else 100, n).astype(dtype)
        weights = rng.normal(size=n)
        x, w = flow.asarray(host, device=device), flow.asarray(weights, device=device)
        signed = host.astype("int64")  # NumPy refuses uint64
        for fewest in (0, 5, 300):
            assert np.array_equal(
                flow.bincount(x, None, fewest).numpy(), np.bincount(signed, None, fewest)
            )
            expected = np.bincount(signed, weights, fewest)
            assert flow.bincount(x, w, minlength=fewest).numpy().tobytes() == expected.tobytes()
        assert np.array_equal(flow.bincount(x[::2]).numpy(), np.bincount(signed[::2]))
    if np.dtype(dtype).kind == "i":
        with pytest.raises(ValueError, match="negative"):
            flow.bincount(flow.asarray([1, -1], dtype, device=device))
    with pytest.raises(ValueError, match="weights of shape"):
        flow.bincount(x, w[:3])
    with pytest.raises(ValueError, match="minlength"):
        flow.bincount(x, None, -1)


def test_many_bins_of_a_small_tensor(device: flow.Device) -> None:
    counts = flow.bincount(flow.tensor([100_000, 3], device=device))
    assert counts.shape == (100_001,)
    assert counts.sum().item() == 2


def test_what_is_in_flight_is_waited_for(device: flow.Device) -> None:
    with Gate() as gate:
        x = gate.on(device)
        x += 1
        y = x * 1
        assert not y.is_ready()
        gate.open()
        assert y.numpy().tolist() == y.tolist() == [1] * 4
        assert flow.nonzero(y)[0].tolist() == [0, 1, 2, 3]
    x += 1
    assert flow.bincount(flow.astype(x, flow.int64)).tolist() == [0, 0, 4]
    assert flow.count_nonzero(x - 2).item() == 0


def test_a_failure_is_raised_at_each_look() -> None:
    with flow.flags(fail="launch:1"):
        bad = (flow.tensor([1, 2]).mock() + 1).cpu()
        for look in (bad.numpy, bad.tolist, bad.nonzero, lambda: flow.bincount(bad)):
            with pytest.raises(RuntimeError, match="injected"):
                look()
    with pytest.raises(RuntimeError, match="injected"):
        flow.synchronize()


def test_copies_are_copies(device: flow.Device) -> None:
    x = flow.tensor([1.0, 2.0], device=device)
    array = x.numpy()
    array[0] = 7
    assert x.tolist() == [1, 2]
    source = np.arange(4.0)
    made = flow.tensor(source, device=device)
    source[:] = -1
    assert made.tolist() == [0, 1, 2, 3]
    x[0] = 5
    assert array.tolist() == [7, 2]


def test_shared_memory_is_read_in_order() -> None:
    x = flow.zeros(4)
    window = np.asarray(x)
    window[1] = 3
    assert x.numpy().tolist() == x.tolist() == [0, 3, 0, 0]
    assert flow.nonzero(x)[0].tolist() == [1]
    x += 1
    assert window.tolist() == [1, 4, 1, 1]


LISTS: tuple[Any, ...] = (
    *(
        [1.0, 2.5],
        [1, 2, 3],
        [True, False],
        (1, 2),
        [[1, 2], (3, 4)],
        ([[1.5], [2.0]],),
        [[[True]]],
    ),
    *([], [[]], [[], []], [1, 2.5], [2.5, 1], [True, 2], [1, True], [1, 2j], [np.float32(1), 2.0]),
    *([2**63 - 1, -(2**63)], [2**63], [1, 2**63], [float("nan"), -0.0, float("inf")], [1, None]),
    *([[1, 2], [3]], [[1], 2], [1, [2]], [[1, 2], [3, [4]]], [[0] * 50, 1], [(1,), [[2]]], "ab"),
    *(list(range(500)), [[float(i)] * 7 for i in range(90)], [5], 5, 5.5, True, 2**63, -1, 1j),
    *(np.float64(2), [np.int8(1)], [np.arange(2), [3, 4]], [[[[[[[[1.0]]]]]]]], [b"a"], {1}),
)


@pytest.mark.parametrize("dtype", [None, "float32", "float64", "int32", "int64", "int8", "bool"])
@pytest.mark.filterwarnings("ignore")
def test_lists_become_what_numpy_makes(dtype: str | None, device: flow.Device) -> None:
    """By way of NumPy's array, as what is not read natively goes."""
    for data in LISTS:
        try:
            expected = converted(data, dtype, device, copy=True)
            if dtype is None:
                assert np.array(data).tobytes() == expected.numpy().tobytes()
        except (TypeError, ValueError, OverflowError) as error:
            expected = type(error)
        for make in (flow.tensor, flow.asarray, flow.array, flow.asanyarray):
            if isinstance(expected, type):
                with pytest.raises(expected):
                    make(data, dtype, device=device)
                continue
            made = make(data, dtype, device=device)
            assert (made.dtype, made.shape, made.device) == (expected.dtype, expected.shape, device)
            assert made.numpy().tobytes() == expected.numpy().tobytes(), data


def test_iteration_ends_like_numpys(device: flow.Device) -> None:
    x = flow.tensor([[1, 2], [3, 4]], device=device)
    first, second = x
    assert (first.tolist(), second.tolist()) == ([1, 2], [3, 4])
    steps = iter(x)
    assert [row.tolist() for row in steps] == [[1, 2], [3, 4]]
    with pytest.raises(StopIteration):
        next(steps)
    with pytest.raises(ValueError, match="unpack"):
        _, _, _ = x
    assert list(flow.zeros((0, 2), device=device)) == []


def pairs_of(a: flow.Tensor, b: flow.Tensor, n: int) -> list[tuple[flow.Tensor, flow.Tensor]]:
    """Of n elements side by side, apart, turned, and the same again and again."""
    lies = [slice(n), slice(0, 2 * n, 2), slice(0, 3 * n, 3), slice(n - 1, None, -1)]
    pairs = [(a[i][:n], b[k][:n]) for i in lies for k in lies]
    same = flow.broadcast_to(a[:1], (n,)) if n else a
    return [*pairs, (a, a), (same, b[:n]), (b[:n], same)]


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_vectors_are_those_of_the_functions(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(1)
    for n in (0, 1, 5, 16, 1000, 5000) if device.type == "cpu" else (0, 1, 16, 1000):
        special = [values((3 * n,), dtype, seed) for seed in (1, 2)]
        finite = [rng.normal(0, 4, (3 * n, 2)) @ [1, 1j] for _ in range(2)]
        plain = [x.astype(dtype) if dtype[0] == "c" else x.real.astype(dtype) for x in finite]
        for operands in (special, plain):
            a, b = (flow.asarray(x, device=device) for x in operands)
            for u, v in pairs_of(a, b, n):
                judge_products(u, v)
    with pytest.raises(ValueError, match="expected"):
        flow.vecdot(a, a[:3])
    with pytest.raises((ValueError, IndexError)):
        flow.vecdot(a, a, axis=1)


def judge_products(u: flow.Tensor, v: flow.Tensor) -> None:
    for function in (flow.vecdot, flow.inner, flow.dot, flow.vdot):
        got, expected = function(u, v), function.__wrapped__(u, v)
        assert (got.dtype, got.shape) == (expected.dtype, ())
        assert got.numpy().tobytes() == expected.numpy().tobytes(), (function, u.strides, v.strides)
    norm, plain = flow.linalg.vector_norm, flow.linalg.vector_norm.__wrapped__
    for axis in (None, 0, -1):
        got, expected = norm(u, axis=axis).numpy(), plain(u, axis=axis).numpy()
        # Which sign a NaN has that two NaNs make, compilers and fused groups decide.
        assert np.isnan(got) == np.isnan(expected)
        assert np.isnan(got) or got.tobytes() == expected.tobytes()
