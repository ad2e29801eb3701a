"""Arithmetic and comparisons by loops of our own, or by NumPy's: all bits are NumPy's, also those
of NaNs, for any length, and wherever the operands and the output lie.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C

FLOATS = ("float32", "float64")
INTEGERS = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
OF_ONE_FLOAT = (
    *("sqrt", "square", "reciprocal", "negative", "abs", "fabs"),
    *("floor", "ceil", "trunc", "rint", "logical_not"),
)
OF_FLOATS = ("add", "subtract", "multiply", "divide")
OF_ONE_INTEGER = ("negative", "abs", "square", "bitwise_invert", "logical_not")
OF_INTEGERS = (
    *("add", "subtract", "multiply", "maximum", "minimum"),
    *("bitwise_and", "bitwise_or", "bitwise_xor"),
)
TESTS = (
    *("less", "less_equal", "equal", "not_equal", "greater", "greater_equal"),
    *("logical_and", "logical_or", "logical_xor"),
)
FLOAT_CASES = [
    *((name, 1, dtype) for name in OF_ONE_FLOAT for dtype in FLOATS),
    *((name, 2, dtype) for name in (*OF_FLOATS, *TESTS) for dtype in FLOATS),
]
CASES = [
    *FLOAT_CASES,
    *((name, 1, dtype) for name in OF_ONE_INTEGER for dtype in INTEGERS),
    *((name, 2, dtype) for name in (*OF_INTEGERS, *TESTS) for dtype in INTEGERS),
]
NUMBERS = [case for case in CASES if case[0] not in (*TESTS, "logical_not")]
MOST = 300  # more than four vectors of bytes, and what is left of them
LENGTHS = (*range(70), 95, 96, 97, 127, 128, 129, 191, 255, 256, 257, MOST)
SPECIAL = (0.0, -0.0, 1.0, -1.5, 2.5, 0.5, np.inf, -np.inf, 1e-42, -3e-320, 3e38, -1e308, 1e300)


def nans(dtype: str, count: int, seed: int) -> np.ndarray:
    """NaNs of both signs, of which no two are the same, quiet and signalling ones."""
    kind, word = np.finfo(dtype), np.dtype(f"u{np.dtype(dtype).itemsize}").type
    payloads = np.random.default_rng(seed).permutation(kind.bits * count)[:count] + 1
    bits = np.array(np.inf, dtype).view(word) | payloads.astype(word)
    quiet, negative = np.arange(count) % 2 == 0, np.arange(count) % 3 == 0
    bits |= np.where(quiet, word(1) << word(kind.nmant - 1), word(0))
    bits |= np.where(negative, word(1) << word(kind.bits - 1), word(0))
    return bits.view(dtype)


def numbers(dtype: str, count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        kind = np.iinfo(dtype)
        wide = random.integers(kind.min, kind.max, count, dtype, endpoint=True)
        special = np.array([0, 1, kind.min, kind.max, kind.max - 1], dtype)
    else:
        wide = np.ldexp(random.uniform(-2, 2, count), random.integers(-60, 60, count)).astype(dtype)
        special = np.array(SPECIAL).astype(dtype)
    return np.where(random.random(count) < 0.3, random.choice(special, count), wide)


def with_nans(x: np.ndarray, places: Any, seed: int) -> np.ndarray:
    x = x.copy()
    if x.dtype.kind == "f":
        x[places] = nans(x.dtype.name, len(x[places]), seed)
    return x


def functions_of(name: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return getattr(np, name), getattr(flow, name)


def same_bits(expected: Any, found: flow.Tensor) -> None:
    seen = found.numpy()
    assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape)
    word = f"u{seen.dtype.itemsize}"
    bits = [np.ascontiguousarray(x).view(word) for x in (seen, expected)]
    np.testing.assert_array_equal(*bits)


@pytest.fixture(autouse=True)
def nothing_is_reported() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize(("name", "inputs", "dtype"), CASES)
def test_arrays_of_each_length(name: str, inputs: int, dtype: str) -> None:
    expected, function = functions_of(name)
    for n in LENGTHS:
        arrays = [numbers(dtype, n, k * 1000 + n) for k in range(inputs)]
        tensors = [flow.tensor(x) for x in arrays]
        same_bits(expected(*arrays), function(*tensors))
        if inputs == 1:
            continue
        for one in numbers(dtype, 3, n):
            same_bits(expected(arrays[0], one), function(tensors[0], flow.tensor(one)))
            same_bits(expected(one, arrays[0]), function(flow.tensor(one), tensors[0]))
            if dtype in FLOATS:
                same_bits(expected(arrays[0], one.item()), function(tensors[0], one.item()))


@pytest.mark.parametrize(("name", "inputs", "dtype"), FLOAT_CASES)
def test_one_nan_or_two_that_meet(name: str, inputs: int, dtype: str) -> None:
    """At each place: which of two NaNs a result is depends on it."""
    expected, function = functions_of(name)
    for n in (1, 2, 3, 7, 16, 31, 32, 33, 64, 100, 129):
        plain = [numbers(dtype, n, k * 7 + n) for k in range(inputs)]
        for place in range(n):
            for chosen in ((0, 1), (0,), (1,))[:: 1 if inputs == 2 else 2][:3]:
                given = [
                    with_nans(x, [place], k) if k in chosen else x for k, x in enumerate(plain)
                ]
                same_bits(expected(*given), function(*map(flow.tensor, given)))
        one = nans(dtype, 1, 3)[0]
        for place in range(0, n if inputs == 2 else 0, 5):
            x = with_nans(plain[0], [place], 1)
            same_bits(expected(x, one), function(flow.tensor(x), flow.tensor(one)))
            same_bits(expected(one, x), function(flow.tensor(one), flow.tensor(x)))


@pytest.mark.parametrize(("name", "inputs", "dtype"), NUMBERS)
def test_an_output_that_is_an_operand(name: str, inputs: int, dtype: str) -> None:
    expected, function = functions_of(name)
    for n in (5, 64, 100, MOST, 5000, 100_000):
        arrays = [
            with_nans(numbers(dtype, n, k), slice(n // (k + 2), None, k + 2), k)
            for k in range(inputs)
        ]
        for k in range(inputs):
            given = [x.copy() for x in arrays]
            tensors = [flow.tensor(x) for x in arrays]
            expected(*given, out=given[k])
            function(*tensors, out=tensors[k])
            same_bits(given[k], tensors[k])
        x, s = arrays[0].copy(), flow.tensor(arrays[0])
        expected(*[x] * inputs, out=x)
        function(*[s] * inputs, out=s)
        same_bits(x, s)


@pytest.mark.parametrize("shift", [1, 2, 16, 63, 65])
@pytest.mark.parametrize(("name", "inputs", "dtype"), NUMBERS)
def test_an_output_that_overlaps_the_operands(
    name: str, inputs: int, dtype: str, shift: int
) -> None:
    expected, function = functions_of(name)
    front, back = slice(None, -shift), slice(shift, None)
    for n in (shift + 1, shift + 40, MOST):
        x = with_nans(numbers(dtype, n, n), slice(n - 2, None), 1)
        s = flow.tensor(x)
        for source, target in ((back, front), (front, back)):
            expected(*[x[source]] * inputs, out=x[target])
            function(*[s[source]] * inputs, out=s[target])
            same_bits(x, s)
        if inputs == 2:  # one element, which is written over
            expected(x, np.broadcast_to(x[shift], n), out=x)
            function(s, flow.broadcast_to(s[shift], (n,)), out=s)
            same_bits(x, s)


@pytest.mark.parametrize(("name", "inputs", "dtype"), CASES)
def test_gaps_and_rows(name: str, inputs: int, dtype: str) -> None:
    expected, function = functions_of(name)
    arrays = [
        with_nans(numbers(dtype, 40 * 90, k), [7, 100, 3000], k).reshape(40, 90)
        for k in range(inputs)
    ]
    tensors = [flow.tensor(x) for x in arrays]
    for view in (np.s_[:, ::2], np.s_[::-1], np.s_[:, ::-1], np.s_[:, 1:], np.s_[3], np.s_[:, 4]):
        same_bits(expected(*(x[view] for x in arrays)), function(*(s[view] for s in tensors)))
    for view in (np.s_[0], np.s_[:, :1], np.s_[::-1]):
        if inputs == 2:
            same_bits(expected(arrays[0], arrays[1][view]), function(tensors[0], tensors[1][view]))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("n", [1, 2, 9, 64, 1000, 70_000])
def test_reductions_and_scans(dtype: str, n: int) -> None:
    """They are computed by the same loops, with an output that is an operand."""
    a = numbers(dtype, n, n)
    if dtype in FLOATS:
        a = np.where(np.isfinite(a), a / 4, 1).astype(dtype)
    rows = np.stack([a[:9_000]] * 70, axis=1)
    s, t = flow.tensor(a), flow.tensor(rows)
    for name in ("sum", "prod", "max", "min"):
        expected, function = functions_of(name)
        same_bits(np.asarray(expected(a)), function(s))
        same_bits(np.asarray(expected(rows, axis=0)), function(t, axis=0))
    same_bits(np.cumsum(a), flow.cumulative_sum(s))
    broken = with_nans(rows.reshape(-1), slice(n // 2, None, 3), 1).reshape(rows.shape)
    same_bits(np.sum(broken, axis=0), flow.sum(flow.tensor(broken), axis=0))
    same_bits(np.cumulative_prod(rows, axis=0), flow.cumulative_prod(t, axis=0))


@pytest.mark.parametrize("dtype", FLOATS)
def test_groups_of_large_arrays(dtype: str, naive: bool) -> None:
    """In tiles, on all threads, with NaNs in some of the tiles."""
    n = 300_001
    a = with_nans(numbers(dtype, n, 1), slice(200_000, 200_100), 1)
    b = with_nans(numbers(dtype, n, 2), slice(200_050, None, 10_000), 2)

    def program(xp: Any, x: Any, y: Any) -> Any:
        root = xp.sqrt(xp.abs(x * 2 + y)) / (1 - xp.floor(y) * x)
        return xp.where((x < y) & ~(x == 1), root, -xp.reciprocal(xp.square(x)))

    same_bits(program(np, a, b), program(flow, flow.tensor(a), flow.tensor(b)))


def test_there_are_loops_of_our_own_for_wide_vectors() -> None:
    flow.add(flow.ones(3), flow.ones(3)).numpy()
    widest = min(_C.cpu_isa(), "avx2", key=_C.CPU_ISAS.index)
    assert _C.loops_chosen()["arithmetic"] == widest
