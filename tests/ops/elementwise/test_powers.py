"""Powers of floats: NumPy's bits, whichever loop runs.

OFL_TEST_EXHAUSTIVE=1 compares 10^9 pairs of each dtype. It takes some minutes.
"""

import itertools
import os
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

DTYPES = ("float32", "float64")
CHUNK = 1 << 21

pytestmark = [
    pytest.mark.usefixtures("no_warnings"),
    pytest.mark.parametrize("dtype", DTYPES),
]


def of_numpy(x: Any, y: Any) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(np.power(x, y))


def assert_same_bits(wanted: np.ndarray, seen: np.ndarray, about: object = "") -> None:
    """Of NaNs, too."""
    assert (wanted.shape, wanted.dtype) == (seen.shape, seen.dtype), about
    if wanted.tobytes() != seen.tobytes():
        word = f"u{wanted.dtype.itemsize}"
        places = np.flatnonzero(wanted.ravel().view(word) != seen.ravel().view(word))
        raise AssertionError(f"{about}: {places.size} differ, first at {places[:3]}")


def special_values(dtype: str) -> np.ndarray:
    """With negative ones: zeros, infinities, NaNs, numbers at the ends of each range, integers."""
    limits = np.finfo(dtype)
    numbers = [0, limits.smallest_subnormal, limits.tiny, limits.max, np.inf, np.nan]
    numbers += [1e-3, 1 / 3, 0.5, 1, 1.5, 2, 2.5, 3, 7, 10, 33, 126, 1023]
    numbers += [2.0**k + more for k in (23, 24, 31, 51, 52, 53, 63) for more in (-1, 0, 1)]
    if dtype == "float64":
        numbers += [2.0**-65, 2.0**-66, 2.0**62, 2.0**-54]
    positive = np.array(numbers, dtype)
    near = np.nextafter(positive, np.array(0, dtype))
    return np.concatenate([positive, near, -positive, -near])


def sample(dtype: str, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Any bits; bases close to 1; powers of all sizes; negative bases with integers."""
    random = np.random.default_rng(seed)
    x = np.frombuffer(random.bytes(size * np.dtype(dtype).itemsize), dtype).copy()
    y = np.frombuffer(random.bytes(size * np.dtype(dtype).itemsize), dtype).copy()
    kinds = random.integers(0, 4, size)
    with np.errstate(all="ignore"):
        for kind, spread in ((1, 30), (2, 0.02), (3, 4)):
            here = kinds == kind
            bases = np.exp2(random.normal(0, spread, here.sum()))
            powers = random.normal(0, {"float32": 60, "float64": 350}[dtype], bases.size)
            exponents = (
                powers / np.log(bases) if kind < 3 else np.rint(random.normal(0, 9, bases.size))
            )
            signs = random.choice([-1, 1], bases.size) if kind == 3 else 1
            x[here], y[here] = signs * bases, exponents
    return x, y


def test_special_values(dtype: str) -> None:
    """Each with each, and as one exponent for many bases."""
    values = special_values(dtype)
    x, y = (part.ravel() for part in np.meshgrid(values, values))
    assert_same_bits(of_numpy(x, y), flow.pow(flow.tensor(x), flow.tensor(y)).numpy())
    bases, many = flow.tensor(values), flow.tensor(np.tile(values, 9))
    for y0 in values:
        assert_same_bits(of_numpy(values, y0), flow.pow(bases, flow.tensor(y0)).numpy(), y0)
        assert_same_bits(of_numpy(y0, values), flow.pow(flow.tensor(y0), bases).numpy(), y0)
        wanted = of_numpy(np.tile(values, 9), y0)
        assert_same_bits(wanted, flow.pow(many, flow.tensor(y0)).numpy(), y0)
    for one, other in itertools.product(values[::5], values[::3]):
        seen = flow.pow(flow.tensor(one), flow.tensor(other)).numpy()
        # Without dimensions NumPy takes roots for 0.5, so that -inf gives a NaN: docs/numpy.md.
        assert_same_bits(of_numpy([one], [other])[0], seen, (one, other))


@pytest.mark.parametrize("exponent", [-2, -1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 4, 1e-3, 100])
def test_one_exponent(dtype: str, exponent: float) -> None:
    """A number of Python, a tensor without dimensions, a broadcast one."""
    x = sample(dtype, 20_000, 1)[0]
    t, y = flow.tensor(x), np.asarray(exponent, dtype)
    with np.errstate(all="ignore"):
        assert_same_bits(x**exponent, (t**exponent).numpy(), exponent)
        assert_same_bits(exponent**x, (exponent**t).numpy(), exponent)
    assert_same_bits(of_numpy(x, y), flow.pow(t, flow.tensor(y)).numpy(), exponent)
    column = flow.broadcast_to(flow.tensor(y), x.shape)
    assert_same_bits(
        of_numpy(x, np.broadcast_to(y, x.shape)), flow.pow(t, column).numpy(), exponent
    )


def test_a_sample(dtype: str) -> None:
    x, y = sample(dtype, 1 << 19, 2)
    assert_same_bits(of_numpy(x, y), flow.pow(flow.tensor(x), flow.tensor(y)).numpy())


@pytest.mark.skipif(os.environ.get("OFL_TEST_EXHAUSTIVE") != "1", reason="OFL_TEST_EXHAUSTIVE=1")
def test_a_billion_pairs(dtype: str) -> None:
    for seed in range((1 << 30) // CHUNK):
        x, y = sample(dtype, CHUNK, seed + 10)
        assert_same_bits(of_numpy(x, y), flow.pow(flow.tensor(x), flow.tensor(y)).numpy(), seed)


def test_every_size_at_any_address(dtype: str) -> None:
    x, y = sample(dtype, 700, 3)
    wanted = of_numpy(x, y)
    for size in range(300):
        for first in (0, 3):
            there = slice(first, first + size)
            a, b = flow.tensor(x), flow.tensor(y)
            assert_same_bits(wanted[there], flow.pow(a[there], b[there]).numpy(), size)
            expected = [x.copy(), y.copy()]
            for k, out in enumerate((a, b)):  # over an operand
                flow.pow(flow.tensor(x)[there] if k else a[there], b[there], out=out[there])
                expected[k][there] = wanted[there]
                assert_same_bits(expected[k], out.numpy(), size)


def test_strides(dtype: str) -> None:
    x, y = sample(dtype, 6000, 4)
    a, b = flow.tensor(x), flow.tensor(y)
    keys = (slice(None, 1000), slice(None, 3000, 3), slice(None, 2000, -4)), slice(5999, 0, -6)
    for one, other in itertools.product((*keys[0], keys[1]), repeat=2):
        size = min(x[one].size, y[other].size)
        wanted = of_numpy(x[one][:size], y[other][:size])
        assert_same_bits(wanted, flow.pow(a[one][:size], b[other][:size]).numpy(), (one, other))
        places = flow.zeros(4 * size, dtype=dtype)
        flow.pow(a[one][:size], b[other][:size], out=places[::4])
        assert_same_bits(wanted, places[::4].numpy(), (one, other))
        assert not places.numpy().reshape(size, 4)[:, 1:].any()
    table, row = x.reshape(60, 100), y[:100]
    assert_same_bits(of_numpy(table.T, row[:60]), flow.pow(a.reshape(60, 100).T, b[:60]).numpy())
    assert_same_bits(of_numpy(row[:, None], row), flow.pow(b[:100][:, None], b[:100]).numpy())


@pytest.mark.parametrize("shift", [1, -1, 5, 64])
def test_an_output_over_other_inputs(dtype: str, shift: int) -> None:
    """NumPy's bits of the same call: it takes another loop where it reads ahead of its writes."""
    x, y = sample(dtype, 3000, 5)
    first, second = slice(64, 2900), slice(64 + shift, 2900 + shift)
    for over_bases in (True, False):
        a, b = flow.tensor(x), flow.tensor(y)
        bases, exponents = x.copy(), y.copy()
        written, expected = (a, bases) if over_bases else (b, exponents)
        with np.errstate(all="ignore"):
            np.power(bases[first], exponents[first], out=expected[second])
        flow.pow(a[first], b[first], out=written[second])
        assert_same_bits(expected, written.numpy(), over_bases)


def test_an_exponent_that_the_output_covers(dtype: str) -> None:
    x = np.linspace(0.5, 2, 100, dtype=dtype)
    t = flow.tensor(x)
    expected = of_numpy(x, x[50])
    flow.pow(t, t[50], out=t)
    assert_same_bits(expected, t.numpy())


def test_none(dtype: str) -> None:
    for shape in [(0,), (3, 0), (0, 4)]:
        x = flow.zeros(shape, dtype=dtype)
        assert flow.pow(x, x).shape == shape
        assert flow.pow(x, 2.5).shape == shape


def test_in_a_fused_group(dtype: str) -> None:
    x = np.random.default_rng(6).normal(0, 3, 300_001).astype(dtype)

    def program(xp: Any, a: Any) -> Any:
        base = xp.add(xp.abs(a), np.asarray(0.1, dtype)[()])
        return xp.add(xp.pow(xp.multiply(base, base), a), xp.pow(base, np.asarray(2.5, dtype)[()]))

    with flow.flags(fusion="always"):
        seen = program(flow, flow.tensor(x)).numpy()
    assert_same_bits(program(np, x), seen)
    recorded = flow.jit(lambda a: program(flow, a))
    assert_same_bits(program(np, x), recorded(flow.tensor(x)).numpy())


def test_naive_mode_has_the_same_bits(dtype: str) -> None:
    x, y = sample(dtype, 5000, 7)
    with flow.flags(sync=True):
        seen = flow.pow(flow.tensor(x), flow.tensor(y)).numpy()
    assert_same_bits(of_numpy(x, y), seen)
