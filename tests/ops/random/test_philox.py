"""Counted random numbers: the published ones, the same on every device, in any number of parts;
their distributions; streams that do not overlap."""

import math
import threading
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same

FLOATS = ("float16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SIZES = (None, 1, 3, (2, 5), (0,), (3, 0, 2), 1023, 20_001)

# Random123's kat_vectors: counter, key, words; the first word is the lowest.
KNOWN = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


def joined(words: list[int]) -> int:
    return sum(word << 32 * i for i, word in enumerate(words))


def philox(key: int, counter: int) -> list[int]:
    """One block, as the paper has it."""
    x = [counter >> 32 * i & 0xFFFFFFFF for i in range(4)]
    k = [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [second >> 32 ^ x[1] ^ k[0], second, first >> 32 ^ x[3] ^ k[1], first]
        x = [word & 0xFFFFFFFF for word in x]
        k = [k[0] + 0x9E3779B9 & 0xFFFFFFFF, k[1] + 0xBB67AE85 & 0xFFFFFFFF]
    return x


def draws(rng: flow.random.Philox, size: Any, device: Any) -> list[flow.Tensor]:
    """One of each kind."""
    to = {"size": size, "device": device}
    drawn = [rng.words(dtype=dtype, **to) for dtype in ("uint32", "uint64")]
    for dtype in FLOATS:
        drawn += [
            rng.random(dtype=dtype, **to),
            rng.uniform(-3, 5, dtype=dtype, **to),
            rng.normal(1, 2, dtype=dtype, **to),
            rng.standard_normal(dtype=dtype, **to),
            rng.exponential(0.5, dtype=dtype, **to),
        ]
    drawn += [rng.bernoulli(p, **to) for p in (0, 0.3, 1)]
    drawn += [rng.integers(3, 100, dtype=dtype, **to) for dtype in INTEGERS]
    drawn += [rng.integers(-(2**63), 2**62, **to), rng.integers(2**64, dtype="uint64", **to)]
    return drawn


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_known_answers(counter: Any, key: Any, words: Any, device: flow.Device) -> None:
    rng = flow.random.Philox(key=joined(key), counter=joined(counter))
    assert rng.words(4, device=device).tolist() == words
    assert philox(joined(key), joined(counter)) == words


def test_words_follow_the_counter(device: flow.Device) -> None:
    for counter in (0, 2**32 - 3, 2**64 - 5, 2**96 - 2, 2**128 - 7):
        rng = flow.random.Philox(key=0x0123456789ABCDEF, counter=counter)
        expected = [
            word for i in range(12) for word in philox(0x0123456789ABCDEF, (counter + i) % 2**128)
        ]
        assert rng.words(47, device=device).tolist() == expected[:47]
        assert rng.state["counter"] == (counter + 12) % 2**128


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_bits_are_those_of_the_cpu(size: Any, device: flow.Device) -> None:
    ours, reference = flow.random.Philox(5), flow.random.Philox(5)
    for drawn, expected in zip(
        draws(ours, size, device), draws(reference, size, "cpu"), strict=True
    ):
        assert drawn.device == device
        same(expected.numpy(), drawn)
    assert ours.state == reference.state


def test_any_number_of_threads_draws_the_same(naive: bool) -> None:
    size = 300_001
    reference = [x.numpy() for x in draws(flow.random.Philox(9), size, "cpu")]
    for threads in (1, 3):
        with flow.flags(num_threads=threads):
            for drawn, expected in zip(
                draws(flow.random.Philox(9), size, "cpu"), reference, strict=True
            ):
                same(expected, drawn)


def test_a_draw_in_parts_is_the_draw() -> None:
    whole = flow.random.Philox(4).random(4000, dtype="float32").numpy()
    rng = flow.random.Philox(4)
    parts = [rng.random(size, dtype="float32").numpy() for size in (4, 1000, 2996)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    rng = flow.random.Philox(4)
    rng.advance(250)
    np.testing.assert_array_equal(rng.random(3000, dtype="float32").numpy(), whole[1000:])


# --- distributions, of a fixed seed


def largest_gap(drawn: np.ndarray, distribution: Any) -> float:
    """The statistic of Kolmogorov and Smirnov, times the root of the count: 1.95 is 0.1 %."""
    x = np.sort(drawn.astype(float))
    expected = np.array([distribution(value) for value in x])
    n = len(x)
    above = np.arange(1, n + 1) / n - expected
    below = expected - np.arange(n) / n
    return float(max(above.max(), below.max()) * math.sqrt(n))


@pytest.mark.parametrize("dtype", FLOATS)
def test_distributions(dtype: str) -> None:
    rng, n = flow.random.Philox(11), 40_000
    limit = 1.95 + (0.2 if dtype == "float16" else 0)  # values of float16 repeat
    uniform = rng.uniform(-1, 3, n, dtype=dtype).numpy()
    assert largest_gap(uniform, lambda x: (x + 1) / 4) < limit
    normal = rng.normal(0.5, 2, n, dtype=dtype).numpy().astype(float)
    assert largest_gap(normal, NormalDist(0.5, 2).cdf) < limit
    exponential = rng.exponential(3, n, dtype=dtype).numpy()
    assert largest_gap(exponential, lambda x: -math.expm1(-x / 3)) < limit
    standard = (normal - 0.5) / 2
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((standard**power).mean() - moment) < 4 * math.sqrt(spread / n)
    correlation = np.corrcoef(standard[:-1], standard[1:])[0, 1]
    assert abs(correlation) < 4 / math.sqrt(n)


def test_normals_are_the_inverse_of_their_distribution() -> None:
    for dtype, wide, bits in (("float32", "uint32", 32), ("float64", "uint64", 64)):
        words = flow.random.Philox(2).words(3000, dtype=wide).numpy()
        normals = flow.random.Philox(2).standard_normal(3000, dtype=dtype).numpy()
        kept = min(bits, 54)
        places = words.astype(f"int{bits}") >> (bits - kept)
        expected = [NormalDist().inv_cdf(0.5 + (int(i) + 0.5) / 2**kept) for i in places]
        tolerance = 2e-6 if bits == 32 else 1e-13
        np.testing.assert_allclose(normals, expected, rtol=tolerance, atol=3e-16)


def test_the_ends_of_the_range_are_there() -> None:
    rng = flow.random.Philox(1)
    for dtype, bits in zip(FLOATS, (11, 24, 53), strict=True):
        x = rng.random(100_000, dtype=dtype).numpy().astype(float)
        assert x.min() >= 0
        assert x.max() < 1
        np.testing.assert_array_equal(x * 2.0**bits, np.floor(x * 2.0**bits))
        assert np.isfinite(rng.standard_normal(100_000, dtype=dtype).numpy()).all()
    counts = np.bincount(rng.integers(-2, 5, 70_000).numpy() + 2, minlength=7)
    assert abs(counts - 10_000).max() < 4 * math.sqrt(10_000)
    assert abs(rng.bernoulli(0.3, 100_000).numpy().mean() - 0.3) < 4 * math.sqrt(0.21 / 1e5)
    for dtype in INTEGERS:
        limits = np.iinfo(dtype)
        x = rng.integers(limits.min, limits.max, 4000, dtype=dtype, endpoint=True).numpy()
        middle = (float(limits.min) + float(limits.max)) / 2
        deviation = (float(limits.max) - float(limits.min)) / math.sqrt(12)
        assert abs(x.astype(float).mean() - middle) < 4 * deviation / math.sqrt(4000)
        assert rng.integers(limits.max, limits.max, 3, dtype=dtype, endpoint=True).tolist() == (
            [limits.max] * 3
        )


# --- streams


def test_streams_do_not_overlap() -> None:
    rng = flow.random.Philox(6)
    streams = [
        rng,
        rng.jumped(),
        rng.jumped(2),
        *rng.spawn(3),
        *flow.random.Philox(6).jumped().spawn(2),
    ]
    words = [stream.words(2000, dtype="uint64").numpy() for stream in streams]
    assert len(set(np.concatenate(words).tolist())) == 2000 * len(streams)
    one, other = flow.random.Philox(6).spawn(2), flow.random.Philox(6).spawn(2)
    assert [x.state for x in one] == [x.state for x in other]
    assert one[0].spawn(1)[0].state != one[1].spawn(1)[0].state
    assert flow.random.Philox(6).state != flow.random.Philox(7).state
    assert flow.random.Philox().state != flow.random.Philox().state


def test_state_can_be_kept() -> None:
    rng = flow.random.Philox([1, 2, 3])
    rng.random(7)
    kept = rng.state
    first = rng.normal(size=5).numpy()
    rng.state = kept
    same(first, rng.normal(size=5))
    again = flow.random.Philox(**kept)
    same(first, again.normal(size=5))


def test_threads_share_a_generator() -> None:
    """Every counter is drawn once, whoever draws it."""
    rng = flow.random.Philox(3)
    drawn: list[list[int]] = [[] for _ in range(4)]

    def draw(numbers: list[int]) -> None:
        for _ in range(100):
            numbers.extend(rng.words(4).tolist())

    threads = [threading.Thread(target=draw, args=(numbers,)) for numbers in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen = sorted(number for numbers in drawn for number in numbers)
    assert seen == sorted(flow.random.Philox(3).words(1600).tolist())


# --- orders and choices


def test_permutation(device: flow.Device) -> None:
    rng, reference = flow.random.Philox(8), flow.random.Philox(8)
    for count in (0, 1, 2, 500):
        order = rng.permutation(count, device=device)
        assert order.device == device
        assert sorted(order.tolist()) == list(range(count))
        same(reference.permutation(count).numpy(), order)
    x = np.arange(12.0).reshape(6, 2)
    for axis in (0, 1, -1):
        moved = rng.permutation(flow.tensor(x, device=device), axis)
        same(reference.permutation(x, axis).numpy(), moved)
        same(np.sort(moved.numpy(), axis), x)
    with pytest.raises(IndexError, match="axis 2"):
        rng.permutation(x, 2)
    counts = np.zeros((4, 4))
    for _ in range(400):
        counts[np.arange(4), rng.permutation(4).numpy()] += 1
    assert abs(counts - 100).max() < 4 * math.sqrt(100)


def test_choice(device: flow.Device) -> None:
    rng, reference = flow.random.Philox(8), flow.random.Philox(8)
    x = np.arange(12.0).reshape(6, 2)
    t = flow.tensor(x, device=device)
    p = [0.1, 0.2, 0.3, 0.4, 0.0, 0.0]
    for size in (None, 3, (2, 2), (0,)):
        for keywords in ({}, {"replace": False}, {"p": p}, {"p": p, "replace": False}):
            chosen = rng.choice(t, size, **keywords)
            assert chosen.device == device
            same(reference.choice(x, size, **keywords).numpy(), chosen)
    assert rng.choice(t, 2, axis=1).shape == (6, 2)
    often = np.bincount(rng.choice(6, 20_000, p=p).numpy(), minlength=6)
    assert (abs(often - 20_000 * np.array(p)) <= 4 * math.sqrt(5000)).all()
    assert often[4:].sum() == 0
    assert sorted(rng.choice(6, 4, replace=False, p=p).tolist()) == [0, 1, 2, 3]
    first = np.bincount([rng.choice(3, 1, False, [0.2, 0.3, 0.5]).item() for _ in range(1000)])
    assert (abs(first - [200, 300, 500]) < 4 * math.sqrt(250)).all()


def test_what_is_wrong_is_said(device: flow.Device) -> None:
    rng = flow.random.Philox(0)
    to = {"device": device}
    for call, kind, text in (
        (lambda: flow.random.Philox(1, key=2), ValueError, "both"),
        (lambda: flow.random.Philox(key=2**64), ValueError, "key of 64 bits"),
        (lambda: flow.random.Philox(key=1, counter=-1), ValueError, "counter of 128 bits"),
        (lambda: rng.random(-1, **to), ValueError, "."),
        (lambda: rng.random(2.5, **to), TypeError, "."),
        (
            lambda: rng.random(2, dtype="int32", **to),
            TypeError,
            r"\[random\].*, float32 or float64",
        ),
        (lambda: rng.normal(dtype="complex64"), TypeError, r"\[normal\]"),
        (lambda: rng.normal(0, -1), ValueError, r"\[normal\].*scale"),
        (lambda: rng.normal(float("nan")), ValueError, r"\[normal\].*loc"),
        (lambda: rng.uniform(0, float("inf")), ValueError, r"\[uniform\]"),
        (lambda: rng.exponential(-1), ValueError, r"\[exponential\]"),
        (lambda: rng.bernoulli(1.5), ValueError, r"\[bernoulli\]"),
        (lambda: rng.integers(5, 5), ValueError, r"\[integers\]"),
        (lambda: rng.integers(0, 300, dtype="uint8"), ValueError, r"\[integers\].*uint8"),
        (lambda: rng.integers(3, dtype="float32"), TypeError, r"\[integers\]"),
        (lambda: rng.integers(2.5), TypeError, "."),
        (lambda: rng.words(3, dtype="int32"), TypeError, r"\[words\]"),
        (lambda: rng.choice(0, 1), ValueError, r"\[choice\]"),
        (lambda: rng.choice(3, 4, replace=False), ValueError, r"\[choice\].*at most 3"),
        (lambda: rng.choice(3, p=[0.5, 0.5]), ValueError, r"\[choice\].*3 probabilities"),
        (lambda: rng.choice(2, p=[0.5, 0.6]), ValueError, r"\[choice\].*sum"),
        (lambda: rng.choice([1, 2], axis=1), IndexError, "axis 1"),
        (lambda: rng.permutation(-1), ValueError, r"\[permutation\]"),
    ):
        with pytest.raises(kind, match=text):
            call()


def test_the_default_device_is_used() -> None:
    with flow.device("mock:1"):
        assert flow.random.Philox(0).random(3).device == "mock:1"
        assert flow.random.Philox(0).permutation(3).device == "mock:1"
    assert flow.random.Philox(0).integers(3).device == "cpu"
