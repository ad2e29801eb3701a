"""More kinds of calls than programs are kept: memory stays flat, and one warning says so."""

import gc
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program

STATM = Path("/proc/self/statm")


def step(x: Any, w: Any, rate: float) -> Any:
    h = flow.tanh(x @ w) * rate
    w += 0.5
    return h.sum(axis=0), flow.exp(-h)


def in_memory() -> tuple[int, int, int]:
    """How many programs and other objects there are, and the bytes of all tensors."""
    gc.collect()
    objects = gc.get_objects()
    programs = sum(isinstance(x, Program) for x in objects)
    return programs, len(objects), flow.memory_stats("cpu")["in_use"]


def resident() -> int:
    return int(STATM.read_text().split()[1]) * 4096


def call_all(run: Any, calls: int, shapes: int, seed: int) -> None:
    rng = random.Random(seed)
    w, eager = flow.ones((4, 3)), flow.ones((4, 3))
    for k in range(calls):
        rows = k % shapes + 1 if k % 3 else rng.randrange(shapes) + 1
        x, rate = flow.full((rows, 4), 0.1), rng.random()
        got = run(x, w, rate)
        if k % 50 == 0:
            eager[...] = w - 0.5
            wanted = step(x, eager, rate)
            assert [x.numpy().tobytes() for x in got] == [x.numpy().tobytes() for x in wanted]


@pytest.mark.slow
@pytest.mark.parametrize(("calls", "shapes", "most"), [(300, 12, 8), (10_000, 100, 64)])
def test_memory_is_flat_and_one_warning_is_given(calls: int, shapes: int, most: int) -> None:
    run = flow.jit(step, max_programs=most)
    before = in_memory()[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call_all(run, 2 * shapes, shapes, 0)
        programs, objects, held = in_memory()
        pages = resident() if STATM.exists() else 0
        call_all(run, calls, shapes, 1)
    assert programs - before == most
    afterwards = in_memory()
    assert afterwards[0] == programs
    assert afterwards[2] < held + 64 * most  # arenas of other shapes
    assert afterwards[1] < 1.05 * objects
    if STATM.exists() and calls >= 10_000:
        assert resident() - pages < 4 << 20
    (warning,) = caught
    assert "retraced step: x.shape[0]" in str(warning.message)
    assert warning.filename == __file__
    assert run.report()["programs"] == most
    run.clear()
    assert in_memory()[0] == before
