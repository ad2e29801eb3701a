"""Random numbers: those of NumPy's generator, on any device."""

import threading
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oracle import compare


def same(expected: Any, seen: flow.Tensor) -> None:
    difference = compare(np.asarray(expected), seen.numpy())
    assert difference is None, difference


def test_numbers_are_numpys(device: flow.Device) -> None:
    ours, numpys = flow.random.default_rng(7), np.random.default_rng(7)
    for size in (None, 3, (2, 4), (0,), 30_000):
        same(numpys.uniform(-1, 2, size), ours.uniform(-1, 2, size, device=device))
        same(numpys.normal(3, 0.5, size), ours.normal(3, 0.5, size, device=device))
        same(numpys.integers(-5, 9, size), ours.integers(-5, 9, size, device=device))
        same(
            numpys.integers(9, size=size, dtype="uint8"),
            ours.integers(9, size=size, dtype="uint8", device=device),
        )
        same(
            numpys.integers(0, 1, size, endpoint=True),
            ours.integers(0, 1, size, endpoint=True, device=device),
        )
    same(numpys.permutation(20), ours.permutation(20, device=device))
    same(
        numpys.normal(size=4).astype("float32"), ours.normal(size=4, dtype="float32", device=device)
    )


@pytest.mark.parametrize("shape", [(7,), (6, 2), (3, 1, 2), (0,), (0, 3), (1,), (5000,), (300, 4)])
def test_permutation_of_rows(shape: tuple[int, ...], device: flow.Device) -> None:
    x = np.arange(np.prod(shape)).reshape(shape)
    t = flow.tensor(x, device=device)
    result = flow.random.Generator(1).permutation(t)
    assert result.device == device
    expected = np.random.default_rng(1).permutation(x)
    same(expected, result)
    moved = flow.random.Generator(1).permutation(t, device="mock:1")
    assert moved.device == "mock:1"
    same(expected, moved)


def test_seed() -> None:
    flow.random.seed(5)
    first = flow.random.normal(size=3).numpy()
    flow.random.seed(5)
    same(first, flow.random.normal(size=3))
    same(first, flow.random.default_rng(5).normal(size=3))
    rng = flow.random.Generator(5)
    rng.normal()
    rng.seed(5)
    same(first, rng.normal(size=3))
    assert flow.random.uniform().item() != flow.random.uniform().item()


def test_the_default_device_is_used() -> None:
    with flow.device("mock:1"):
        assert flow.random.normal(size=3).device == "mock:1"
    assert flow.random.integers(3).device == "cpu"


def test_threads_share_a_generator() -> None:
    """Every number is drawn once, whoever draws it."""
    rng = flow.random.Generator(3)
    drawn: list[list[float]] = [[] for _ in range(4)]

    def draw(numbers: list[float]) -> None:
        for _ in range(200):
            numbers.append(rng.uniform().item())

    threads = [threading.Thread(target=draw, args=(numbers,)) for numbers in drawn]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(number for numbers in drawn for number in numbers) == sorted(
        np.random.default_rng(3).uniform(size=800).tolist()
    )


@pytest.mark.parametrize(
    "bad",
    [
        lambda r: r.normal(size=-1),
        lambda r: r.integers(5, 2),
        lambda r: r.normal(0, -1),
        lambda r: r.uniform(0, 1, size=2.5),
        lambda r: r.permutation("ab"),
    ],
)
def test_bad_arguments(bad: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        bad(flow.random.Generator(0))
