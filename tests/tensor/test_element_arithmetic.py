"""Settled 0-d tensors are computed at once: with the bits and errors of instructions."""

import contextlib
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.profiler import profile
from tests.support.machine import Gate
from tests.support.oracle import DTYPES, same, values

BINARY = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge, operator.pow),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, flow.maximum, flow.atan2),
)
IN_PLACE = (
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv),
    *(operator.imod, operator.ipow, operator.iand, operator.ior, operator.ixor),
)
UNARY = (operator.neg, operator.pos, operator.abs, operator.invert, flow.sqrt, flow.exp, flow.sign)
NUMBERS: tuple[Any, ...] = (0, 3, -2, 2.5, float("nan"), 2**40, 2**70, True, 1j, 1e300)
NUMPY_NUMBERS = tuple(np.dtype(name).type(3) for name in DTYPES)
EXACT = (
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(operator.and_, operator.or_, operator.xor),
)


def outcome(call: Callable[[], Any]) -> Any:
    """The bits and the dtype, or the error."""
    try:
        result = call()
        seen = result.numpy()
    except (TypeError, ValueError, OverflowError, IndexError) as error:
        return type(error), str(error)
    return seen.dtype, seen.shape, seen.tobytes()


def elements(dtype: str, seed: int) -> list[flow.Tensor]:
    if dtype == "bfloat16":
        return [x.astype(flow.bfloat16) for x in flow.tensor(values((5,), "float32", seed))]
    return list(flow.tensor(values((5,), dtype, seed)))


def same_as_instructions(calls: list[Callable[[], Any]]) -> None:
    """While somebody observes, all are instructions."""
    at_once = [outcome(call) for call in calls]
    _settle()
    with profile() as seen:
        by_instructions = [outcome(call) for call in calls]
        _settle()
    assert seen.records
    assert at_once == by_instructions


def _settle() -> None:
    """Negative powers of integers have failed when they ran."""
    with contextlib.suppress(ValueError):
        flow.synchronize()


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_two_elements(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    calls = []
    for other in ("bool", "int8", "uint64", "int64", "float16", "float32", "float64", "complex64"):
        pairs = list(zip(elements(dtype, 1), elements(other, 2), strict=True))
        for (x, y), do in itertools.product(pairs, BINARY):
            calls.append(lambda x=x, y=y, do=do: do(x, y))
    same_as_instructions(calls)


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_an_element_and_a_number(dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    calls = []
    for x, number, do in itertools.product(elements(dtype, 1)[:3], NUMBERS, BINARY):
        calls += [lambda x=x, n=number, do=do: do(x, n), lambda x=x, n=number, do=do: do(n, x)]
    for x, do in itertools.product(elements(dtype, 1), UNARY):
        calls.append(lambda x=x, do=do: do(x))
    same_as_instructions(calls)


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_place(dtype: str) -> None:
    others = [elements(other, 2)[1] for other in ("bool", "int64", "float32", "complex128")]

    def changed(x: flow.Tensor, do: Any, other: Any) -> flow.Tensor:
        target = x.copy()
        kept = target
        result = do(target, target if other is None else other)
        assert result is kept
        return kept

    calls = []
    for x, do, other in itertools.product(
        elements(dtype, 1)[:3], IN_PLACE, [*others, None, *NUMBERS[:4]]
    ):
        calls.append(lambda x=x, do=do, other=other: changed(x, do, other))
    same_as_instructions(calls)


def test_bits_of_numpy(device: flow.Device) -> None:
    x, y = values((60,), "float64", 3), values((60,), "float64", 4)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    with np.errstate(all="ignore"):
        for i in range(60):
            for do in (operator.add, operator.sub, operator.mul, operator.truediv, operator.lt):
                same(do(x[i], y[i]), do(t[i], u[i]))
                same(do(2, x[i]), do(2, t[i]))
                same(do(x[i], 0.5), do(t[i], 0.5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_numpy_are_operands(dtype: str) -> None:
    (x,) = elements(dtype, 5)[:1]
    calls: list[Callable[[], Any]] = []
    for do, number in itertools.product(BINARY, NUMPY_NUMBERS):
        calls.append(lambda do=do, number=number: do(x, number))
        calls.append(lambda number=number: operator.iadd(x.copy(), number))
    same_as_instructions(calls)


class Number(np.float64):
    pass


def test_what_looks_like_a_number_of_numpy() -> None:
    x = flow.tensor(2.0)
    for number in (Number(3), np.longdouble(3), np.str_("3"), np.datetime64(3, "s")):
        expected = outcome(lambda number=number: flow.tensor([2.0]) + number)
        found = outcome(lambda number=number: x + number)
        assert (found[0], found[-1]) == (expected[0], expected[-1])


def extremes(dtype: np.dtype[Any]) -> np.ndarray:
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.kind == "f":
        return np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.5], dtype)
    limits = np.iinfo(dtype)
    few = [limits.min, limits.min + 1, limits.max, limits.max - 1, 0, 1, 7]
    return np.array(few + ([-1, -7] if limits.min else []), dtype)


@pytest.mark.parametrize("dtype", [x for x in DTYPES if np.dtype(x).kind in "biuf"])
def test_extreme_values_have_the_bits_of_arrays(dtype: str) -> None:
    x = extremes(np.dtype(dtype))
    t = flow.tensor(x)
    with np.errstate(all="ignore"):
        for do in (operator.neg, operator.abs, operator.invert, flow.square):
            if dtype == "bool" and do in (operator.neg, flow.square):
                continue
            if np.dtype(dtype).kind == "f" and do is operator.invert:
                continue
            expected = np.square(x) if do is flow.square else do(x)
            for i in range(len(x)):
                same(expected[i], do(t[i]))
        for do in EXACT:
            try:
                expected = do(x[:, None], x)
            except TypeError:
                continue
            for i, j in np.ndindex(expected.shape):
                same(expected[i, j], do(t[i], t[j]))


def test_views_of_one_element_are_operands_and_results() -> None:
    x = flow.arange(6.0)
    view, twin = x[2, ...], x[2, ...]
    view += twin
    twin *= view
    assert x.tolist() == [0, 1, 16, 3, 4, 5]
    z = flow.tensor([1 + 2j])[0, ...]
    z.real[...] = z.imag + z.real
    part, other = z.real, z.imag
    part += other
    assert z.item() == 5 + 2j
    wide = flow.broadcast_to(flow.tensor(2.0), (3,))
    assert (wide[1] * wide[2]).item() == 4


def test_what_is_pending_is_waited_for() -> None:
    one = flow.ones(())
    with Gate(2) as gate:
        pending = gate.tensor[0] + 1
        total = pending + one
        one += 5
        mixed = one * pending
        pending += 1
        others = [x.is_ready() for x in (total, mixed, flow.ones(()) + 1)]
    assert others == [False, False, True]
    assert (total.item(), mixed.item(), pending.item(), one.item()) == (2, 6, 2, 6)


def test_read_only_elements_are_not_written() -> None:
    array = np.ones(())
    array.flags.writeable = False
    x = flow.from_dlpack(array)
    with pytest.raises(ValueError, match="read-only"):
        x += 1
    assert (x + 1).item() == 2
    assert array == 1


def test_truth(device: flow.Device) -> None:
    for value in (True, False, 0, 2, 0.0, float("nan"), 1j):
        assert bool(flow.tensor(value, device=device)) is bool(value)
    x = flow.tensor([3.0, 1.0, 2.0], device=device)
    assert (min(x).item(), max(x).item()) == (1, 3)
    assert [v.item() for v in sorted(x)] == [1, 2, 3]
