"""Which operations the machine runs in the calling thread, and which as one."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.fusion import saved
from tests.support.oracle import same

SIDE = 400  # of matrices whose product takes more than a third of the border, and less than it
BORDER = "20ms"


def inlined(program: Callable[[], Any], times: int) -> int:
    """How many instructions of calls whose results nobody looks at run in the calling thread."""
    flow.synchronize()
    before = flow.vm.stats()["inlined"]
    results = [program() for _ in range(times)]
    count: int = flow.vm.stats()["inlined"] - before
    flow.synchronize()
    del results
    return count


def stay(program: Callable[[], Any], expected: bool) -> bool:
    """Whether calls stay in the calling thread, or are handed over, as expected.

    A thread that often loses its core to other processes looks as if it had own code, and hands
    over what would stay otherwise.
    """
    with flow.flags(inline="50us", num_threads=2):
        for _ in range(10):
            inlined(program, 40)  # what the thread did before is forgotten
            if inlined(program, 5) == (5 if expected else 0):
                return True
    return False


def test_products_stay_in_the_calling_thread() -> None:
    """Nothing would be gained by another thread, and what follows would have to wait."""
    a = flow.tensor(np.random.default_rng(1).normal(size=(SIDE, SIDE)))
    with flow.flags(inline=BORDER, fusion="1", num_threads=2):
        assert inlined(lambda: a @ a, 5) == 5


@pytest.mark.parametrize(
    ("name", "rows", "expected"),
    [
        ("cholesky", 200, True),
        ("det", 200, True),
        ("inv", 62, True),
        ("inv", 100, True),
        ("svdvals", 64, True),
        ("svdvals", 200, False),
        ("inv", 400, False),
    ],
)
def test_factorizations_below_300_us_stay(name: str, rows: int, expected: bool) -> None:
    """A thread that waits for a worker gives up Python's lock, and may get it back 5 ms later."""
    a = flow.eye(rows)
    assert stay(lambda: getattr(flow.linalg, name)(a), expected)


def test_the_work_of_an_equation_grows_with_its_right_sides() -> None:
    a = flow.eye(64)
    for columns, expected in ((1, True), (64, True), (5_000, False)):
        sides = flow.ones((64, columns))
        assert stay(lambda b=sides: flow.linalg.solve(a, b), expected)


@pytest.mark.parametrize("full", [False, True])
def test_the_work_of_a_complete_factor_is_that_of_its_elements(full: bool) -> None:
    tall = flow.ones((1000, 1))
    assert stay(lambda: flow.linalg.svd(tall, full_matrices=full), not full)


def test_large_elementwise_work_is_handed_over() -> None:
    a = flow.ones(1 << 22)
    with flow.flags(inline="2ms", fusion="1", num_threads=2):
        assert inlined(lambda: a + 1, 5) <= 1  # the first after a look may stay


@pytest.mark.alone  # it tells its own code from that of others by time
def test_a_thread_with_code_of_its_own_hands_over() -> None:
    """Only then another thread gets ahead meanwhile."""
    a = flow.ones(1 << 20)

    def after_own_code() -> flow.Tensor:
        end = time.perf_counter() + 100e-6
        while time.perf_counter() < end:
            pass
        return a + 1

    def hands_over(program: Callable[[], Any]) -> bool:
        inlined(program, 40)  # what the thread did before is forgotten
        return inlined(program, 20) <= 10

    with flow.flags(inline="500us", fusion="0", num_threads=2):
        for program, expected in ((lambda: a + 1, False), (after_own_code, True)) * 2:
            # A thread that often loses its core to other processes looks as if it had own code.
            assert any(hands_over(program) == expected for _ in range(60))


def chain(xp: Any, a: Any, b: Any) -> Any:
    return xp.tanh(a * 2 + b) * xp.exp(-a) + xp.sqrt(b)


@pytest.mark.parametrize(
    ("fusion", "size", "groups"),
    [
        *(("1", 12_000, 0), ("1", 20_000, 1), ("always", 12_000, 1)),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (("1", 1 << 23, 1), ("0", 1 << 23, 0))
        ),
    ],
)
def test_results_that_fit_the_cache_are_not_fused(fusion: str, size: int, groups: int) -> None:
    a, b = np.random.default_rng(2).random((2, size), np.float32)
    with flow.flags(fusion=fusion):
        assert saved(chain, a, b)["groups"] == groups


def test_the_flag_takes_three_values() -> None:
    for given, kept in [(True, "1"), (False, "0"), ("on", "1"), ("Always", "always")]:
        with flow.flags(fusion=given):
            assert flow.flags.fusion == kept
            same(np.arange(5) * 2 + 1, flow.arange(5) * 2 + 1)
    with pytest.raises(ValueError, match="fusion"):
        flow.flags(fusion="sometimes").__enter__()
