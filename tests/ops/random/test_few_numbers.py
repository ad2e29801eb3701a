"""Few numbers of ``RandomState``, which are drawn without NumPy's methods, have NumPy's bits."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.random import RandomState
from tests.support.oracle import same

NUMPYS = np.random.RandomState
SIZES: tuple[Any, ...] = (None, 1, (1,), (1, 1), (), 16, (3, 4), 0, 513)

# Method -> parameters on either side of what changes how it draws.
CASES: dict[str, list[tuple[Any, ...]]] = {
    "exponential": [(0.5,), (2,), (0,)],
    "geometric": [(0.01,), (1 / 3,), (0.34,), (1,)],
    "gumbel": [(0, 1), (2.5, 0.1), (1, 0)],
    "laplace": [(0, 1), (2.5, 0.1), (1, 0)],
    "logistic": [(0, 1), (2.5, 0.1), (1, 0)],
    "logseries": [(0.0,), (0.1,), (0.9,), (0.999,)],
    "normal": [(1, 2), (1.0, 0.0)],
    "pareto": [(0.1,), (3,)],
    "poisson": [(0,), (0.001,), (9.99,), (10,), (1e5,), (9e8,), (2e9,)],
    "power": [(0.3,), (2,)],
    "randint": [(1000,), (0, 2**32), (0, 2**32 + 1), (-(2**63), 2**63 - 1), (-5, -4), (0, 2**63)],
    "random": [()],
    "random_sample": [()],
    "rayleigh": [(0.3,), (2,), (0,)],
    "standard_exponential": [()],
    "standard_normal": [()],
    "triangular": [(0, 1, 2), (-1, -1, 3), (0, 3, 3)],
    "uniform": [(0, 1), (5, 2), (-3, 7.5), (2, 2)],
    "vonmises": [(0, 0), (0, 1e-9), (1, 1e-6), (3, 40), (0, 1e6), (0, 1.1e6)],
    "weibull": [(0.3,), (2,), (0,)],
    "zipf": [(1.01,), (2,), (1000,)],
}


def both() -> tuple[RandomState, Any]:
    """Generators that have a normal number left over."""
    ours, numpys = RandomState(5), NUMPYS(5)
    same(np.asarray(numpys.standard_normal()), ours.standard_normal())
    return ours, numpys


def at_one_place(ours: RandomState, numpys: Any) -> None:
    mine, wanted = ours.get_state(), numpys.get_state()
    same(wanted[1], mine[1])
    assert mine[2:] == wanted[2:]


@pytest.mark.parametrize("name", CASES)
def test_parameters(name: str) -> None:
    for parameters in CASES[name]:
        ours, numpys = both()
        for size in SIZES:
            wanted = getattr(numpys, name)(*parameters, size=size)
            same(np.asarray(wanted), getattr(ours, name)(*parameters, size=size))
        at_one_place(ours, numpys)


@pytest.mark.parametrize("wrong", [1, -1.0, float("nan"), 10**400, "a"])
def test_wrong_parameters(wrong: Any) -> None:
    """They draw nothing."""
    ours, numpys = both()
    for name in ("zipf", "vonmises", "pareto", "exponential", "geometric", "randint"):
        given = (0.0, wrong) if name == "vonmises" else (wrong,)
        try:
            expected = getattr(numpys, name)(*given, size=2)
        except (TypeError, ValueError, OverflowError) as error:
            with pytest.raises(type(error)):
                getattr(ours, name)(*given, size=2)
        else:
            same(np.asarray(expected), getattr(ours, name)(*given, size=2))
    at_one_place(ours, numpys)


def test_integers_of_other_dtypes() -> None:
    ours, numpys = both()
    for dtype in (bool, "uint8", "int32", "int64", np.uint64, np.int64):
        for size in (None, 1, 20):
            wanted = np.asarray(numpys.randint(0, 2, size, dtype=dtype))
            same(wanted, ours.randint(0, 2, size, dtype=dtype))
    at_one_place(ours, numpys)


@pytest.mark.parametrize("dims", [(), (1,), (3,), (2, 3), (600,), (0, 2)])
def test_dimensions(dims: tuple[int, ...]) -> None:
    ours, numpys = both()
    for name in ("rand", "randn"):
        same(np.asarray(getattr(numpys, name)(*dims)), getattr(ours, name)(*dims))
    at_one_place(ours, numpys)


@pytest.mark.parametrize("make", [RandomState, flow.random.default_rng])
def test_bytes(make: Any) -> None:
    ours = make(5)
    numpys = NUMPYS(5) if make is RandomState else np.random.default_rng(5)
    for length in (0, 1, 2, 3, 4, 5, 17, np.int64(3)):
        for _ in range(2):
            assert ours.bytes(length) == numpys.bytes(length)
    assert ours.random().item() == numpys.random()
    for wrong in ("a", None):
        with pytest.raises(TypeError):
            ours.bytes(wrong)


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "f4", "f8", "c8", "c16"])
def test_rows_in_random_order(dtype: str) -> None:
    ours, numpys = both()
    for count in (1, 2, 16, 1000):
        array = (np.arange(count) % 100).astype(dtype)
        same(numpys.permutation(array), ours.permutation(flow.tensor(array)))
        for step in (1, -1):
            given = array.copy()[::step]
            x = flow.tensor(array)[::step]
            numpys.shuffle(given)
            ours.shuffle(x)
            same(given, x)
    at_one_place(ours, numpys)


def test_a_row_that_waits_is_shuffled_in_its_turn() -> None:
    ours, numpys = both()
    x = flow.arange(5000) + 1
    y = x * 2
    ours.shuffle(x)
    wanted = np.arange(5000) + 1
    same(wanted * 2, y)
    numpys.shuffle(wanted)
    same(wanted, x)


@pytest.mark.parametrize("size", [None, 1, (), (2, 3), 0, 600])
def test_choices(size: Any) -> None:
    ours, numpys = both()
    values = np.arange(1000.0, dtype="f4")
    for replace in (True, False):
        for a in (1000, values.tolist()):
            same(np.asarray(numpys.choice(a, size, replace)), ours.choice(a, size, replace))
        for array in (values, values[::-2]):
            if not replace and size == 600 and array.size < 600:
                continue
            drawn = ours.choice(flow.tensor(values)[:: 1 if array is values else -2], size, replace)
            same(np.asarray(numpys.choice(array, size, replace)), drawn)
    at_one_place(ours, numpys)


def test_draws_that_are_recorded_are_made_again() -> None:
    ours, numpys = RandomState(5), NUMPYS(5)

    @flow.jit
    def drawn() -> Any:
        return ours.vonmises(0.0, 2.0, 3), ours.zipf(2.0, 3), ours.randint(0, 9, 3), ours.rand(2)

    for _ in range(3):
        wanted = numpys.vonmises(0.0, 2.0, 3), numpys.zipf(2.0, 3), numpys.randint(0, 9, 3)
        for one, expected in zip(drawn(), (*wanted, numpys.rand(2)), strict=True):
            same(expected, one)
