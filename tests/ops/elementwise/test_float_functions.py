"""Functions of one float with loops of our own: NumPy's bits, whichever loop runs. Powers are in
test_powers.py.

OFL_TEST_EXHAUSTIVE=1 compares all 2^32 inputs of each function of float32, and 10^9 of float64: in
each piece of 2^34 neighbours one at random. It takes some minutes.
"""

import os
import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.rounding import is_as_fused

OF_NUMPY = ("exp", "log", "tanh", "sin", "cos")  # with its formulas
OF_FDLIBM = (
    *("expm1", "log1p", "atan", "cbrt", "sinh", "atanh", "log10"),
    *("cosh", "tan", "asin", "acos", "asinh", "acosh"),
)
OF_FLOATS = (*OF_NUMPY, "exp2", "log2", *OF_FDLIBM)
OF_DOUBLES = (
    *("exp", "log", "sin", "cos", "exp2", "log2", "log10", "expm1", "log1p"),
    *("cbrt", "sinh", "atanh", "cosh", "asinh", "acosh"),
)
NAMES = [f"{name} float32" for name in OF_FLOATS] + [f"{name} float64" for name in OF_DOUBLES]
WITH_POWERS = [*NAMES, "pow float32", "pow float64"]
FORMULAS_OF_NUMPY = [f"{name} float32" for name in OF_NUMPY]
SIZES = range(601)
CHUNK = 1 << 22

pytestmark = pytest.mark.usefixtures("no_warnings")


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(name.split()[1])


def function_of(name: str, xp: Any = flow) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(xp, name.split()[0])
    return found


def assert_same_bits(wanted: np.ndarray, seen: np.ndarray, about: object = "") -> None:
    """Of NaNs, too."""
    assert (wanted.shape, wanted.dtype) == (seen.shape, seen.dtype), about
    assert wanted.tobytes() == seen.tobytes(), about


def of_numpy(name: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(function_of(name, np)(x))


def special_values(name: str) -> np.ndarray:
    """Infinities, NaNs with payloads, denormal numbers, zeros, and the ends of the range."""
    if dtype_of(name) == np.float32:
        found = [0, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001]
        positive = np.array([*found, 0x7FA5A5A5, 0x7FC00000, 0x7FC12345, 0x7FFFFFFF], np.uint32)
    else:
        found = [0, 1, (1 << 52) - 1, 1 << 52, 0x3FF << 52, (0x7FF << 52) - 1, 0x7FF << 52]
        found += [(0x7FF << 52) + 1, (0x7FF << 52) + 0x5A5A5A5A5, 0xFFF << 51, (1 << 63) - 1]
        positive = np.array(found, np.uint64)
    sign = positive.dtype.type(1 << (8 * positive.itemsize - 1))
    return np.concatenate([positive, positive | sign]).view(dtype_of(name))


def sample(name: str, size: int, seed: int) -> np.ndarray:
    """Bits of any float, and numbers where each function has its usual values."""
    random, dtype = np.random.default_rng(seed), dtype_of(name)
    anything = random.bytes((size - size // 2) * dtype.itemsize)
    usual = random.normal(0, 10, size // 2).astype(dtype)
    return random.permutation(np.concatenate([np.frombuffer(anything, dtype), usual]))


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_of_the_inputs(name: str) -> None:
    x = np.concatenate([special_values(name), sample(name, 1 << 19, 1)])
    assert_same_bits(of_numpy(name, x), function_of(name)(flow.tensor(x)).numpy())


@pytest.mark.parametrize("name", OF_DOUBLES)
def test_a_sample_close_to_one_and_to_zero(name: str) -> None:
    """Logarithms have two formulas, which meet at 15/16 and at 1.0647, or about there. Sines have
    four, which meet at 0.126, 0.855 and 2.426, and end at 105414350. Those of exponentials meet at
    0.3466, 1, 22 and 512, and their inverses at 2 and 2^28.
    """
    random = np.random.default_rng(8)
    ranges = ((0.9, 1.1), (-1e-3, 1e-3), (1e-310, 1e-307), (500, 800), (-800, -500))
    ranges += ((-0.2, 0.2), (0.7, 0.9), (-3, 3), (-1e8, 1.1e8), (20, 24), (2e8, 3e8))
    for low, high in ranges:
        x = random.uniform(low, high, 50_000)
        seen = function_of(f"{name} float64")(flow.tensor(x)).numpy()
        assert_same_bits(of_numpy(f"{name} float64", x), seen, low)


@pytest.mark.skipif(os.environ.get("OFL_TEST_EXHAUSTIVE") != "1", reason="OFL_TEST_EXHAUSTIVE=1")
@pytest.mark.parametrize("name", OF_FLOATS)
def test_all_inputs(name: str) -> None:
    with np.errstate(all="ignore"):
        for start in range(0, 1 << 32, CHUNK):
            x = np.arange(start, start + CHUNK, dtype=np.uint32).view(np.float32)
            seen = getattr(flow, name)(flow.tensor(x)).numpy()
            assert_same_bits(getattr(np, name)(x), seen, hex(start))


@pytest.mark.skipif(os.environ.get("OFL_TEST_EXHAUSTIVE") != "1", reason="OFL_TEST_EXHAUSTIVE=1")
@pytest.mark.parametrize("name", OF_DOUBLES)
def test_a_billion_inputs(name: str) -> None:
    random, piece = np.random.default_rng(9), np.uint64(1 << 34)
    for start in range(0, 1 << 30, CHUNK):
        first = np.arange(start, start + CHUNK, dtype=np.uint64) * piece
        x = (first + random.integers(0, piece, CHUNK, np.uint64)).view(np.float64)
        seen = function_of(f"{name} float64")(flow.tensor(x)).numpy()
        assert_same_bits(of_numpy(f"{name} float64", x), seen, hex(start))


@pytest.mark.parametrize("name", NAMES)
def test_every_size_at_any_address(name: str) -> None:
    data = np.concatenate([special_values(name), sample(name, 700, 2)])
    wanted = of_numpy(name, data)
    for size in SIZES:
        for first in (0, 3):
            there = slice(first, first + size)
            x = flow.tensor(data)
            assert_same_bits(wanted[there], function_of(name)(x[there]).numpy(), size)
            function_of(name)(x[there], out=x[there])  # in place
            expected = data.copy()
            expected[there] = wanted[there]
            assert_same_bits(expected, x.numpy(), size)


@pytest.mark.parametrize("name", NAMES)
def test_strides(name: str) -> None:
    function = function_of(name)
    x = sample(name, 6000, 3)
    t = flow.tensor(x)
    for key in (
        slice(None, None, 3),
        slice(None, None, -1),
        slice(None, None, -7),
        slice(5, 900, 2),
    ):
        assert_same_bits(of_numpy(name, x[key]), function(t[key]).numpy(), key)
        out = flow.zeros(24000, dtype=dtype_of(name))
        places = out[: 4 * t[key].size : 4]
        function(t[key], out=places)
        assert_same_bits(of_numpy(name, x[key]), places.numpy(), key)
        assert out[1::4].numpy().any() == np.False_
    table = x.reshape(60, 100)
    assert_same_bits(of_numpy(name, table.T), function(flow.tensor(table).T).numpy())
    assert_same_bits(
        of_numpy(name, table[:, 3:50:2]), function(flow.tensor(table)[:, 3:50:2]).numpy()
    )
    spread = np.broadcast_to(x[:7, None], (7, 300))
    assert_same_bits(
        of_numpy(name, spread), function(flow.broadcast_to(t[:7, None], (7, 300))).numpy()
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shift", [1, -1, 5, 64])
def test_an_output_over_other_inputs(name: str, shift: int) -> None:
    """NumPy's bits of the same call: it takes another loop where it reads ahead of its writes."""
    x = sample(name, 3000, 4)
    first, second = slice(64, 2900), slice(64 + shift, 2900 + shift)
    t, expected = flow.tensor(x), x.copy()
    with np.errstate(all="ignore"):
        function_of(name, np)(expected[first], out=expected[second])
    function_of(name)(t[first], out=t[second])
    assert_same_bits(expected, t.numpy())


@pytest.mark.parametrize("name", NAMES)
def test_few_elements_and_none(name: str) -> None:
    function = function_of(name)
    for value in special_values(name):
        assert_same_bits(of_numpy(name, value), function(flow.tensor(value)).numpy(), value)
    for shape in [(0,), (3, 0), (0, 4)]:
        assert function(flow.zeros(shape, dtype=dtype_of(name))).shape == shape


@pytest.mark.parametrize("name", NAMES)
def test_in_a_fused_group(name: str) -> None:
    x = np.random.default_rng(5).normal(0, 3, 300_001).astype(dtype_of(name))

    def program(xp: Any, a: Any) -> Any:
        return xp.add(function_of(name, xp)(xp.multiply(xp.abs(a), dtype_of(name).type(1.5))), a)

    with flow.flags(fusion="always"):
        seen = program(flow, flow.tensor(x)).numpy()
    assert_same_bits(program(np, x), seen)


@pytest.mark.parametrize("name", NAMES)
def test_naive_mode_has_the_same_bits(name: str) -> None:
    x = sample(name, 5000, 6)
    with flow.flags(sync=True):
        seen = function_of(name)(flow.tensor(x)).numpy()
    assert_same_bits(of_numpy(name, x), seen)


# --- the choice


@pytest.fixture(autouse=True)
def openblas_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own variable would come first, and refuse a narrower set."""
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)


def beyond_avx2() -> str:
    """NumPy's names of the features beyond AVX2, and of those that it is without already."""
    numpy: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    names = (name for name in numpy.__cpu_dispatch__ if name == "X86_V4" or "AVX512" in name)
    used = (name for name in names if numpy.__cpu_features__[name])
    return " ".join([os.environ.get("NPY_DISABLE_CPU_FEATURES", ""), *used])


def has_numpys_avx2() -> bool:
    numpy: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    return "X86_V3" in numpy.__cpu_dispatch__ and numpy.__cpu_features__["X86_V3"]


INFO = "import oneflow_lite.__main__ as program; print(program.info())"


def choices(printed: str) -> dict[str, str]:
    lines = [line.split(maxsplit=2) for line in printed.splitlines()]
    found = [line for line in lines if line and line[0] in ("float32", "float64")]
    return {f"{name} {dtype}": text for dtype, name, text in found}


def test_every_function_has_a_choice() -> None:
    chosen = _C.float_functions()
    assert set(chosen) == {" ".join(reversed(name.split())) for name in WITH_POWERS}
    assert all(text.startswith(("our loop for ", "NumPy's loop: ")) for text in chosen.values())


def test_threads_may_choose_at_once(run_program: Callable[..., Any]) -> None:
    code = f"names = {OF_FLOATS}\n"
    code += """
import threading
import numpy as np, oneflow_lite as flow
double = np.random.default_rng(0).normal(0, 3, 5000)
wrong, ready = [], threading.Barrier(8)

def compare():
    ready.wait()
    for name in names:
        for x in (double, double.astype("float32")):
            with np.errstate(all="ignore"):
                wanted = getattr(np, name)(x)
            if wanted.tobytes() != getattr(flow, name)(flow.tensor(x)).numpy().tobytes():
                wrong.append((name, x.dtype))
    if (np.abs(double) ** 1.3).tobytes() != (flow.tensor(np.abs(double)) ** 1.3).numpy().tobytes():
        wrong.append("pow")

threads = [threading.Thread(target=compare) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert not wrong, wrong
"""
    done = run_program(code)
    assert done.returncode == 0, done.stderr


def test_none_for_the_baseline(run_program: Callable[..., Any]) -> None:
    done = run_program(INFO, cpu_isa="baseline")
    assert done.returncode == 0, done.stderr
    text = "NumPy's loop: there is none of our own for baseline"
    assert choices(done.stdout) == dict.fromkeys(WITH_POWERS, text)


@pytest.mark.skipif(_C.widest_cpu_isa() == "baseline", reason="the processor has no AVX2")
@pytest.mark.skipif(not has_numpys_avx2(), reason="NumPy's loops have other names")
def test_ours_on_avx2(run_program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", beyond_avx2())
    done = run_program(INFO, cpu_isa="avx2")
    assert done.returncode == 0, done.stderr
    chosen = choices(done.stdout)
    assert set(chosen) == set(WITH_POWERS)
    library, version = platform.libc_ver()
    number = tuple(map(int, version.split("."))) if library == "glibc" else (0, 0)
    for name in WITH_POWERS:
        # Later ones may have other formulas.
        last = (2, 40) if name.split()[0] in OF_FDLIBM else (2, 41)
        is_known = (2, 28) <= number <= last and is_as_fused(name)
        if name not in FORMULAS_OF_NUMPY and not is_known:
            continue
        agrees = chosen[name].startswith("our loop for avx2: NumPy's bits at ")
        assert agrees or chosen[name] == "NumPy's loop: ours for avx2 is not faster", chosen[name]


@pytest.mark.skipif(_C.widest_cpu_isa() == "baseline", reason="the processor has no AVX2")
@pytest.mark.skipif(not has_numpys_avx2(), reason="NumPy's loops have other names")
def test_numpys_where_its_bits_are_others(
    run_program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without AVX2, NumPy computes some functions by other formulas. The others are those of the C
    library, which has formulas for the processor as it is.
    """
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", f"X86_V3 {beyond_avx2()}")
    compare = f"names = {OF_FLOATS}\n"
    compare += """
double = np.random.default_rng(0).normal(0, 3, 5000)
with np.errstate(all="ignore"):
    for name in names:
        for x in (double, double.astype("float32")):
            wanted, seen = getattr(np, name)(x), getattr(flow, name)(flow.tensor(x)).numpy()
            assert wanted.tobytes() == seen.tobytes(), (name, x.dtype)
"""
    done = run_program(f"import numpy as np, oneflow_lite as flow\n{INFO}\n{compare}")
    assert done.returncode == 0, done.stderr
    chosen = choices(done.stdout)
    assert set(chosen) == set(WITH_POWERS)
    for name in FORMULAS_OF_NUMPY:
        text = chosen[name]
        assert text.startswith("NumPy's loop: ours for "), name
        assert " has other bits at " in text, name


@pytest.mark.skipif(_C.widest_cpu_isa() == "baseline", reason="the processor has no AVX2")
@pytest.mark.skipif(not has_numpys_avx2(), reason="NumPy's loops have other names")
def test_a_library_without_fused_operations(
    run_program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """glibc has code for processors without them, too. Few of its results are others: of cosh one
    in 10 000.
    """
    features = ("FMA", "FMA4", "FMA_Usable", "AVX2", "AVX2_Usable")  # of any release
    without = ",".join(f"-{feature}" for feature in features)
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", beyond_avx2())
    monkeypatch.setenv("GLIBC_TUNABLES", f"glibc.cpu.hwcaps={without}")
    compare = f"names = {OF_DOUBLES}\n"
    compare += """
random = np.random.default_rng(0)
with np.errstate(all="ignore"):
    for name in names:
        for x in (random.uniform(0, 1, 1 << 18), random.uniform(-30, 30, 1 << 17)):
            x = 1 + abs(x) if name == "acosh" else x
            wanted, seen = getattr(np, name)(x), getattr(flow, name)(flow.tensor(x)).numpy()
            assert wanted.tobytes() == seen.tobytes(), name
"""
    compare += """
from tests.support.rounding import is_as_fused
print("fused:", is_as_fused("expm1 float64"))
"""
    code = f"import numpy as np, oneflow_lite as flow\n{INFO}\n{compare}"
    done = run_program(code, cpu_isa="avx2")
    assert done.returncode == 0, done.stderr
    library, version = platform.libc_ver()
    number = tuple(map(int, version.split("."))) if library == "glibc" else (0, 0)
    is_fused = "fused: True" in done.stdout  # compiled for such processors alone
    if is_fused or not (2, 28) <= number <= (2, 40):
        return
    chosen = choices(done.stdout)
    for name in ("exp", "log", "log2", "expm1", "log1p", "sinh", "cosh", "atanh", "asinh", "acosh"):
        text = chosen[f"{name} float64"]
        assert text.startswith("NumPy's loop: ours for avx2 has other bits at "), (name, text)
