"""Float32 exp, log, tanh, sin and cos: NumPy's bits, whichever loop runs.

OFL_TEST_EXHAUSTIVE=1 compares all 2^32 inputs of each function, in some minutes.
"""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C

NAMES = ("exp", "log", "tanh", "sin", "cos")
SIZES = range(601)
CHUNK = 1 << 22

pytestmark = pytest.mark.usefixtures("no_warnings")


def bits(values: Any) -> np.ndarray:
    return np.asarray(values).view(np.uint32)


def assert_same_bits(wanted: np.ndarray, seen: np.ndarray, about: object = "") -> None:
    """Of NaNs, too."""
    assert wanted.shape == seen.shape, about
    assert np.array_equal(bits(wanted), bits(seen)), about


def of_numpy(name: str, x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(getattr(np, name)(x))


def special_values() -> np.ndarray:
    """Infinities, NaNs with payloads, denormal numbers, zeros, and the ends of the range."""
    found = [0, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001]
    found += [0x7FA5A5A5, 0x7FC00000, 0x7FC12345, 0x7FFFFFFF]
    positive = np.array(found, np.uint32)
    return np.concatenate([positive, positive | np.uint32(0x80000000)]).view(np.float32)


def sample(size: int, seed: int) -> np.ndarray:
    """Bits of any float, and numbers where each function has its usual values."""
    random = np.random.default_rng(seed)
    anything = random.integers(0, 1 << 32, size - size // 2, np.uint32).view(np.float32)
    usual = random.normal(0, 10, size // 2).astype(np.float32)
    return random.permutation(np.concatenate([anything, usual]))


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_of_the_inputs(name: str) -> None:
    x = np.concatenate([special_values(), sample(1 << 19, 1)])
    assert_same_bits(of_numpy(name, x), getattr(flow, name)(flow.tensor(x)).numpy())


@pytest.mark.skipif(os.environ.get("OFL_TEST_EXHAUSTIVE") != "1", reason="OFL_TEST_EXHAUSTIVE=1")
@pytest.mark.parametrize("name", NAMES)
def test_all_inputs(name: str) -> None:
    with np.errstate(all="ignore"):
        for start in range(0, 1 << 32, CHUNK):
            x = np.arange(start, start + CHUNK, dtype=np.uint32).view(np.float32)
            seen = getattr(flow, name)(flow.tensor(x)).numpy()
            assert_same_bits(getattr(np, name)(x), seen, hex(start))


@pytest.mark.parametrize("name", NAMES)
def test_every_size_at_any_address(name: str) -> None:
    data = np.concatenate([special_values(), sample(700, 2)])
    wanted = of_numpy(name, data)
    for size in SIZES:
        for first in (0, 3):
            there = slice(first, first + size)
            x = flow.tensor(data)
            assert_same_bits(wanted[there], getattr(flow, name)(x[there]).numpy(), size)
            getattr(flow, name)(x[there], out=x[there])  # in place
            expected = data.copy()
            expected[there] = wanted[there]
            assert_same_bits(expected, x.numpy(), size)


@pytest.mark.parametrize("name", NAMES)
def test_strides(name: str) -> None:
    function = getattr(flow, name)
    x = sample(6000, 3)
    t = flow.tensor(x)
    for key in (
        slice(None, None, 3),
        slice(None, None, -1),
        slice(None, None, -7),
        slice(5, 900, 2),
    ):
        assert_same_bits(of_numpy(name, x[key]), function(t[key]).numpy(), key)
        out = flow.zeros(24000, dtype="float32")
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
    x = sample(3000, 4)
    first, second = slice(64, 2900), slice(64 + shift, 2900 + shift)
    expected = x.copy()
    expected[second] = of_numpy(name, x[first])
    t = flow.tensor(x)
    getattr(flow, name)(t[first], out=t[second])
    assert_same_bits(expected, t.numpy())


@pytest.mark.parametrize("name", NAMES)
def test_few_elements_and_none(name: str) -> None:
    function = getattr(flow, name)
    for value in special_values():
        assert_same_bits(of_numpy(name, value), function(flow.tensor(value)).numpy(), value)
    for shape in [(0,), (3, 0), (0, 4)]:
        assert function(flow.zeros(shape, dtype="float32")).shape == shape


@pytest.mark.parametrize("name", NAMES)
def test_in_a_fused_group(name: str) -> None:
    x = np.random.default_rng(5).normal(0, 3, 300_001).astype(np.float32)

    def program(xp: Any, a: Any) -> Any:
        return xp.add(getattr(xp, name)(xp.multiply(xp.abs(a), np.float32(1.5))), a)

    with flow.flags(fusion="always"):
        seen = program(flow, flow.tensor(x)).numpy()
    assert_same_bits(program(np, x), seen)


@pytest.mark.parametrize("name", NAMES)
def test_naive_mode_has_the_same_bits(name: str) -> None:
    x = sample(5000, 6)
    with flow.flags(sync=True):
        seen = getattr(flow, name)(flow.tensor(x)).numpy()
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
    lines = [line.split(maxsplit=2) for line in printed.splitlines() if line.startswith("float32")]
    return {name: text for _, name, text in lines}


def test_every_function_has_a_choice() -> None:
    chosen = _C.float_functions()
    assert set(chosen) == set(NAMES)
    assert all(text.startswith(("our loop for ", "NumPy's loop: ")) for text in chosen.values())


def test_threads_may_choose_at_once(run_program: Callable[..., Any]) -> None:
    code = """
import threading
import numpy as np, oneflow_lite as flow
x = np.random.default_rng(0).normal(0, 3, 5000).astype("float32")
wrong, ready = [], threading.Barrier(8)

def compare():
    ready.wait()
    for name in ("exp", "log", "tanh", "sin", "cos"):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(x)
        if wanted.tobytes() != getattr(flow, name)(flow.tensor(x)).numpy().tobytes():
            wrong.append(name)

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
    assert choices(done.stdout) == dict.fromkeys(NAMES, text)


@pytest.mark.skipif(_C.widest_cpu_isa() == "baseline", reason="the processor has no AVX2")
@pytest.mark.skipif(not has_numpys_avx2(), reason="NumPy's loops have other names")
def test_ours_on_avx2(run_program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", beyond_avx2())
    done = run_program(INFO, cpu_isa="avx2")
    assert done.returncode == 0, done.stderr
    for name, text in choices(done.stdout).items():
        agrees = text.startswith("our loop for avx2: NumPy's bits at ")
        assert agrees or text == "NumPy's loop: ours for avx2 is not faster", (name, text)


@pytest.mark.skipif(_C.widest_cpu_isa() == "baseline", reason="the processor has no AVX2")
@pytest.mark.skipif(not has_numpys_avx2(), reason="NumPy's loops have other names")
def test_numpys_where_its_bits_are_others(
    run_program: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without AVX2, NumPy computes by other formulas."""
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", f"X86_V3 {beyond_avx2()}")
    compare = """
x = np.random.default_rng(0).normal(0, 3, 5000).astype("float32")
with np.errstate(all="ignore"):
    for name in ("exp", "log", "tanh", "sin", "cos"):
        wanted, seen = getattr(np, name)(x), getattr(flow, name)(flow.tensor(x)).numpy()
        assert wanted.tobytes() == seen.tobytes(), name
"""
    done = run_program(f"import numpy as np, oneflow_lite as flow\n{INFO}\n{compare}")
    assert done.returncode == 0, done.stderr
    chosen = choices(done.stdout)
    assert set(chosen) == set(NAMES)
    for name, text in chosen.items():
        assert text.startswith("NumPy's loop: ours for "), name
        assert " has other bits at " in text, name
