"""The oracle: random programs see what NumPy sees, on every layout of devices, in both modes.

``OFL_TEST_PROGRAMS=10000`` runs more of them. For one seed alone there is
``python -m tests.support.random_program``.
"""

import os
from collections.abc import Sequence

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import Flow, Numpy, compare, computes_itself
from tests.support.random_program import LAYOUTS, knobs, program, run_threads

pytestmark = pytest.mark.slow

PROGRAMS = int(os.environ.get("OFL_TEST_PROGRAMS", "400"))
BATCHES = 16
TIMINGS = list(knobs())


CUDA_LAYOUTS = {
    "cuda:0": ("cuda:0", "cuda:0", "cuda:0"),
    "cuda:0, cpu, last": ("cuda:0", "cpu", f"cuda:{max(flow.cuda.device_count() - 1, 0)}"),
}


def batch(number: int) -> range:
    size = -(-PROGRAMS // BATCHES)
    return range(number * size, (number + 1) * size)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("number", range(BATCHES))
def test_threaded(number: int, layout: Sequence[str]) -> None:
    for seed in batch(number):
        with flow.flags(**TIMINGS[seed % len(TIMINGS)]):
            program(seed).on(layout).run(layout)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("number", range(BATCHES))
def test_naive(number: int, layout: Sequence[str]) -> None:
    with flow.flags(sync=True):
        for seed in batch(number):
            program(seed).on(layout).run(layout)


@pytest.mark.skipif(not flow.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("layout", CUDA_LAYOUTS.values(), ids=CUDA_LAYOUTS)
@pytest.mark.parametrize("number", range(BATCHES))
def test_on_cuda_devices(number: int, layout: Sequence[str]) -> None:
    """By kernels of their own, what has NumPy's bits there; by the host's, everything."""
    exact = computes_itself(flow.Device(layout[0]))
    for seed in batch(number)[:: 8 if exact else 4]:
        with flow.flags(sync=seed % 3 == 0, **TIMINGS[seed % len(TIMINGS)]):
            program(seed, exact=exact).run(layout)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_several_threads_over_shared_inputs(layout: Sequence[str]) -> None:
    for first in range(0, PROGRAMS // 8, 4):
        with flow.flags(**TIMINGS[first % len(TIMINGS)]):
            run_threads(range(first, first + 4), layout, steps=60)


def test_long_programs() -> None:
    for seed in range(PROGRAMS // 40):
        with flow.flags(**TIMINGS[seed % len(TIMINGS)]):
            program(seed, steps=400).run(LAYOUTS["mixed"])


def test_a_small_window() -> None:
    """The issuing thread waits again and again, in the middle of everything."""
    with flow.flags(max_in_flight=2, mock="jitter=50us"):
        for seed in range(PROGRAMS // 20):
            program(seed).run(LAYOUTS["mixed"])


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("size", [64, 50_000])
def test_readers_on_other_streams_see_the_old_value(layout: Sequence[str], size: int) -> None:
    with flow.flags(mock="jitter=200us,launch=50us"):
        x = flow.zeros(size, dtype="int64", device=layout[0])
        copies = []
        for i in range(40):
            copies.append((i, x[::2].to(layout[1], copy=True), x.to(layout[2], copy=True), x + 0))
            x[1:] += 1
            x[0] = i + 1
        for i, *readers in copies:
            for reader in readers:
                assert (reader.numpy() == i).all()


def test_a_generated_program_is_the_same_every_time() -> None:
    assert program(3).lines == program(3).lines


def test_the_oracle_can_fail() -> None:
    one = program(0)
    one.expected[-1] = (one.expected[-1][0], np.full((3, 1), 77))
    with pytest.raises(AssertionError, match=r"(?s)seed 0, look at .* got .*rt = Flow\("):
        one.run(LAYOUTS["cpu"])


@pytest.mark.parametrize(
    ("expected", "seen"),
    [
        (np.array([0.0]), np.array([-0.0])),
        (np.array([1.0]), np.array([np.nan])),
        (np.array([1.0]), np.array([np.nextafter(1.0, 2)])),
        (np.array([1], "i4"), np.array([1], "i8")),
        (np.array([1]), np.array([[1]])),
        (np.array([1 + 0j]), np.array([complex(1, -0.0)])),
    ],
)
def test_what_the_oracle_tells_apart(expected: np.ndarray, seen: np.ndarray) -> None:
    assert compare(expected, seen) is not None
    assert compare(expected, expected) is None


def test_programs_do_what_they_are_for() -> None:
    """Every backend call occurs, as do writes through views and arrays above the inline limit."""
    text, sizes = "", set[int]()
    for seed in range(60):
        one = program(seed)
        text += "\n".join(one.lines)
        sizes |= {x.size for _, x in one.expected}
    calls = [name for name in vars(Numpy) if not name.startswith("_")]
    assert all(f"rt.{name}(" in text for name in calls)
    assert {name for name in vars(Flow) if not name.startswith("_")} - {"upload"} == set(calls)
    assert 0 in sizes
    assert max(sizes) > 16384
    assert "...] +=" in text
    assert "...] = v" in text
