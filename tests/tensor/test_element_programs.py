"""Programs that go element by element: NumPy's bits, wherever and whenever the values come."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.profiler import profile
from tests.support.oracle import same


def bubble_sort(a: Any) -> Any:
    for end in range(len(a) - 1, 0, -1):
        for i in range(end):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
    return a


def kalman(xp: Any, seen: Any) -> Any:
    """A scalar filter, its state in 0-d values; the estimates are kept as they come."""
    estimates = []
    state, variance = seen[0], seen[0] * 0 + 1
    for i in range(1, len(seen)):
        variance = variance + 1e-3
        gain = variance / (variance + 0.1)
        state = state + gain * (seen[i] - state)
        variance = (1 - gain) * variance
        estimates.append(state)
    track = [*estimates[:2], variance]
    state += 1  # rebinds a number of NumPy, and writes to a tensor: neither is an estimate before
    return xp.stack([*map(xp.asarray, estimates[:-1]), *map(xp.asarray, track)])


def filter_2d(xp: Any, seen: Any, p: Any) -> Any:
    """Position and velocity; the covariance is updated element by element."""
    x = xp.zeros_like(p[0])
    for i in range(len(seen)):
        x[0] += 0.1 * x[1]
        p[0, 0] += 0.1 * (p[0, 1] + p[1, 0]) + 0.01 * p[1, 1]
        p[0, 1] += 0.1 * p[1, 1]
        p[1, 0] += 0.1 * p[1, 1]
        p[1, 1] += 1e-2
        gain0, gain1 = p[0, 0] / (p[0, 0] + 0.5), p[1, 0] / (p[0, 0] + 0.5)
        residue = seen[i] - x[0]
        x[0] += gain0 * residue
        x[1] += gain1 * residue
        p00, p01 = p[0, 0], p[0, 1]
        p[0, 0], p[0, 1] = (1 - gain0) * p00, (1 - gain0) * p01
        p[1, 0], p[1, 1] = p[1, 0] - gain1 * p00, p[1, 1] - gain1 * p01
    return xp.concatenate([x, p.ravel()])


def ising(xp: Any, spins: Any, draws: Any) -> Any:
    n, step = len(spins), 0
    energy = spins[0, 0] * 0
    for _ in range(3):
        for i in range(n):
            for j in range(n):
                around = spins[i - 1, j] + spins[(i + 1) % n, j]
                around = around + spins[i, j - 1] + spins[i, (j + 1) % n]
                change = 2 * spins[i, j] * around
                if change <= 0 or draws[step] < xp.exp(-0.44 * change):
                    spins[i, j] = -spins[i, j]
                    energy = energy + change
                step += 1
    return xp.concatenate([spins.ravel(), xp.asarray(energy).reshape(1)])


def shapes_of(xp: Any, a: Any) -> Any:
    """Prefix sums and neighbours, by elements: a running value that is written and read again."""
    total = a[0] * 0
    for i in range(1, len(a) - 1):
        left, here, right = a[i - 1], a[i], a[i + 1]
        total += abs(here - left) + max(left, right) - min(here, right)
        a[i] = total * 0.5 + here
    for v in a:
        total = total + v
    a[-1] = total
    return a


RNG = np.random.default_rng(5)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "bubble sort": (lambda _, a: bubble_sort(a), (RNG.permutation(12).astype("float32"),)),
    "bubble sort of integers": (lambda _, a: bubble_sort(a), (RNG.integers(0, 9, 12),)),
    "kalman": (kalman, (RNG.normal(1, 0.1, 25),)),
    "kalman in float32": (kalman, (RNG.normal(1, 0.1, 25).astype("float32"),)),
    "filter": (filter_2d, (RNG.normal(1, 0.1, 8), np.eye(2))),
    "ising": (ising, (RNG.choice([-1, 1], (5, 5)), RNG.random(75))),
    "ising in int8": (ising, (RNG.choice([-1, 1], (5, 5)).astype("int8"), RNG.random(75))),
    "neighbours": (shapes_of, (RNG.normal(0, 1, 12),)),
}


def run_both(name: str, device: flow.Device, make: Callable[[np.ndarray], Any]) -> None:
    program, arrays = PROGRAMS[name]
    expected = np.asarray(program(np, *(a.copy() for a in arrays)))
    result = program(flow, *(make(a) for a in arrays))
    assert result.device == device
    if device.type == "cuda" and name.startswith("ising"):  # exp has other bits there
        np.testing.assert_allclose(result.numpy(), expected)
    else:
        same(expected, result)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, device: flow.Device, naive: bool) -> None:
    with flow.device(device):
        run_both(name, device, lambda array: flow.tensor(array, device=device))


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_pending_values(name: str, device: flow.Device) -> None:
    """The arguments come from a function that is still running when the program begins."""

    def slow(given: np.ndarray, target: np.ndarray) -> None:
        for _ in range(20):
            np.sort(np.arange(2000)[::-1])
        target[...] = given

    def make(array: np.ndarray) -> flow.Tensor:
        x = flow.tensor(array, device="cpu")
        target = flow.zeros(array.shape, dtype=array.dtype.name, device="cpu")
        flow.vm.host_func(slow, reads=[x], writes=[target])
        return target.to(device)

    with flow.device(device):
        run_both(name, device, make)


@pytest.mark.parametrize("name", ["bubble sort", "kalman", "neighbours"])
def test_programs_while_somebody_observes(name: str) -> None:
    cpu = flow.Device("cpu")
    with profile() as seen:
        run_both(name, cpu, flow.tensor)
    assert any(record.name == "getitem" for record in seen.records)
