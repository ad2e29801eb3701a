"""The float32 and float64 loops of our own alone: their values and bits, in memory of any kind."""

import platform

import numpy as np
import pytest

from oneflow_lite import _C
from tests.support.float_loops import (
    ALL,
    MARKS,
    NAMES,
    OF_FDLIBM,
    OF_LIBRARY,
    ORDER,
    WIDEST,
    Loops,
    dtype_of,
    kind,
)
from tests.support.rounding import is_as_fused

pytestmark = MARKS


def one_by_one(loops: Loops, wide: int, name: str, x: np.ndarray, out: np.ndarray) -> None:
    for i in range(x.size):
        loops.call(wide, name, x[i : i + 1], out[i : i + 1])


def test_each_set_has_the_loops_that_are_told(loops: Loops) -> None:
    for name in (f"{function} {dtype}" for function in ORDER for dtype in ("float32", "float64")):
        assert bool(loops.library.is_told(*kind(name))) == (name in ALL)
        for wide in (256, 512):
            assert bool(loops.library.loop_address(wide, *kind(name))) == (name in ALL)


def test_the_sets_agree(loops: Loops) -> None:
    if _C.CPU_ISAS[WIDEST] != "avx512":
        pytest.skip("the processor has no AVX-512")
    for name in NAMES:
        x = loops.points(name)
        out = np.zeros((2, x.size), x.dtype)
        loops.call(256, name, x, out[0])
        loops.call(512, name, x, out[1])
        assert out[0].tobytes() == out[1].tobytes(), name


@pytest.mark.parametrize("name", NAMES)
def test_values(loops: Loops, wide: int, name: str) -> None:
    """Near the function's values, whatever NumPy's loop is here."""
    x = np.random.default_rng(0).normal(0, 20, 10_000).astype(dtype_of(name))
    out = np.zeros_like(x)
    loops.call(wide, name, x, out)
    with np.errstate(all="ignore"):
        exact = getattr(np, name.split()[0])(x.astype(np.longdouble))
    unit = float(np.finfo(x.dtype).eps)
    np.testing.assert_allclose(out, exact.astype(x.dtype), rtol=3.5 * unit, atol=1.7 * unit)


@pytest.mark.parametrize("name", OF_LIBRARY)
def test_bits_of_the_library(loops: Loops, wide: int, name: str) -> None:
    """Where the C library has the formulas of Arm's Optimized Routines, as glibc from 2.28 on, and
    of fdlibm, as glibc up to 2.40.
    """
    library, number = platform.libc_ver()
    version = tuple(map(int, number.split("."))) if library == "glibc" else (0, 0)
    if (
        version < (2, 28)
        or not is_as_fused(name)
        or (name.split()[0] in OF_FDLIBM and version > (2, 40))
    ):
        pytest.skip("another C library")
    assert loops.library.differences_from_library(wide, *kind(name)) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("in_step", [1, 2, -1, -3, 0])
@pytest.mark.parametrize("out_step", [1, 2, -1, -3, 0])
def test_any_steps(loops: Loops, wide: int, name: str, in_step: int, out_step: int) -> None:
    """Apart, in place, and over each other by any distance: as one element after the other."""
    for count in (0, 1, 2, 15, 16, 17, 33, 300, 601):
        for distance in (5000, 0, 1, -1, 7, -40):
            memory = np.random.default_rng(count).normal(0, 2, 12_000).astype(dtype_of(name))
            x = strided(memory, 3000, in_step, count)
            out = strided(memory, 3000 + distance, out_step, count)
            expected = memory.copy()
            a = strided(expected, 3000, in_step, count)
            b = strided(expected, 3000 + distance, out_step, count)
            one_by_one(loops, wide, name, a, b)
            loops.call(wide, name, x, out)
            assert memory.tobytes() == expected.tobytes(), (count, distance)


def strided(memory: np.ndarray, first: int, step: int, count: int) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(memory[first:], (count,), (memory.itemsize * step,))


@pytest.mark.parametrize("name", NAMES)
def test_any_address(loops: Loops, wide: int, name: str) -> None:
    """Elements may be at any byte, as in a packed structure."""
    x = np.random.default_rng(1).normal(0, 2, 100).astype(dtype_of(name))
    expected, packed = np.zeros_like(x), np.zeros(100, f"u1,{x.dtype.str}")
    loops.call(wide, name, x, expected)
    packed["f1"] = x
    loops.call(wide, name, packed["f1"], packed["f1"])
    assert packed["f1"].tobytes() == expected.tobytes()
    assert not packed["f0"].any()
