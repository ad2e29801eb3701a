"""The loops of divmod, modf, frexp and ldexp: NumPy's bits, of NaNs too, wherever elements are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C

FLOATS = ("float16", "float32", "float64")
INTEGERS = tuple(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64))
COUNT = 20_000
LENGTHS = (0, 1, 2, 3, 7, 31, 63, 64, 65, 127, 128, 129, 1000)

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def any_bits(dtype: str, count: int, seed: int) -> np.ndarray:
    """Numbers of all sizes, subnormal ones, and NaNs of any payload."""
    width = np.dtype(dtype).itemsize
    return np.frombuffer(np.random.default_rng(seed).bytes(width * count), dtype)


def near(dtype: str, count: int, seed: int, scale: int = 3) -> np.ndarray:
    """Floats of about one size."""
    random = np.random.default_rng(seed)
    powers = random.integers(-scale, scale + 1, count)
    return (random.standard_normal(count) * 10.0**powers).astype(dtype)


def special(dtype: str) -> np.ndarray:
    limits = np.finfo(dtype)
    ends = [limits.max, limits.tiny, limits.smallest_subnormal, limits.eps, np.inf, np.nan]
    plain = [0.0, 0.5, 1.0, 2.5, 3.0, 7.0, 1000.0]
    half = np.array([*plain, *ends], dtype)
    return np.concatenate([half, -half])


def same_bits(expected: Any, found: Any) -> None:
    pairs = [(expected, found)]
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        pairs = list(zip(expected, found, strict=True))
    for wanted, tensor in pairs:
        one, seen = np.asarray(wanted), tensor.numpy()
        assert (seen.dtype, seen.shape) == (one.dtype, one.shape)
        word = f"u{seen.dtype.itemsize}"
        np.testing.assert_array_equal(*(np.ascontiguousarray(x).view(word) for x in (seen, one)))


def check(name: str, *arrays: np.ndarray) -> None:
    same_bits(getattr(np, name)(*arrays), getattr(flow, name)(*map(flow.tensor, arrays)))


@pytest.mark.parametrize("name", ["frexp", "modf"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_parts_of_any_bits(name: str, dtype: str) -> None:
    """All numbers of float16."""
    every = np.arange(65536, dtype="uint16").view("float16")
    check(name, every if dtype == "float16" else any_bits(dtype, COUNT, 1))
    check(name, near(dtype, COUNT, 2))
    check(name, special(dtype))
    digits = np.finfo(dtype).nmant
    word = f"uint{8 * np.dtype(dtype).itemsize}"
    small = (any_bits(dtype, COUNT, 3).view(word) & np.array((1 << digits) - 1, word)).view(dtype)
    check(name, small)
    check(name, -small)


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_ldexp_rounds_once(dtype: str, kind: str) -> None:
    every = np.arange(65536, dtype="uint16").view("float16")
    x = every if dtype == "float16" else any_bits(dtype, COUNT, 4)
    random = np.random.default_rng(5)
    for low, high in ((-3, 3), (-40, 40), (-300, 300), (-2300, 2300), (-(2**31), 2**31 - 1)):
        check("ldexp", x, random.integers(low, high, x.shape).astype(kind))
    limits = np.finfo(dtype)
    for start in (near(dtype, COUNT, 6), np.full(COUNT, limits.max), special(dtype)):
        x = start.astype(dtype)
        size = limits.maxexp - limits.minexp + limits.nmant
        check("ldexp", x, random.integers(-size - 3, size + 3, x.shape).astype(kind))
    if kind == "int64":
        ends = np.array([2**62, -(2**62), 2**63 - 1, -(2**63), 2**32, -(2**32), 2**32 + 1])
        check("ldexp", x[:7], ends)


@pytest.mark.parametrize("dtype", FLOATS)
def test_divmod_of_floats(dtype: str) -> None:
    check("divmod", any_bits(dtype, COUNT, 7), any_bits(dtype, COUNT, 8))
    for scale in (0, 1, 3, 9):
        a, b = near(dtype, COUNT, 9, scale), near(dtype, COUNT, 10, scale)
        check("divmod", a, b)
        check("divmod", np.rint(a), np.rint(b))
        whole = np.rint(a) * b  # multiples, and what is beside them
        for x in (whole, np.nextafter(whole, np.array(np.inf, dtype)), -whole):
            check("divmod", x, b)
    values = special(dtype)
    pairs = (np.ascontiguousarray(x).ravel() for x in np.broadcast_arrays(values[:, None], values))
    a, b = pairs
    check("divmod", a, b)
    places = np.random.default_rng(11).permutation(len(a))
    check("divmod", a[places], b[places])
    for i in range(0, len(a), 5):
        check("divmod", a[i : i + 1], b[i : i + 1])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_divmod_of_integers(dtype: str) -> None:
    limits, random = np.iinfo(dtype), np.random.default_rng(12)
    bits = limits.bits
    for case in range(4):
        a, b = (
            random.integers(limits.min, limits.max, COUNT, dtype, endpoint=True) for _ in range(2)
        )
        if case:
            a >>= random.integers(0, bits, COUNT).astype(dtype)
            b >>= random.integers(0, bits, COUNT).astype(dtype)
        if case == 2:
            a = a // 3 * b
        if case == 3:
            a[random.random(COUNT) < 0.3] = limits.min
            b[random.random(COUNT) < 0.3] = np.array(-1).astype(dtype)
            b[random.random(COUNT) < 0.2] = 0
        check("divmod", a, b)
        for one in (b[3:4], b[4:5], np.array([3], dtype), np.array([0], dtype)):
            check("divmod", a, one)
            check("divmod", one, b)
    if bits == 8:
        every = np.arange(limits.min, limits.max + 1).astype(dtype)
        x, y = np.broadcast_arrays(every[:, None], every)
        check("divmod", x.copy(), y.copy())
    ends = np.array([limits.max, limits.min, limits.max - 1, limits.min + 1, 1, 2, 3], dtype)
    check("divmod", np.repeat(ends, 7), np.tile(ends, 7))
    if bits == 64:  # beside the largest that are computed as floats
        edge = 2**50 + np.arange(-70, 70)
        check("divmod", edge.astype(dtype), np.full(140, 3, dtype))
        check("divmod", (edge * 7).astype(dtype), edge.astype(dtype))
        if limits.min < 0:
            check("divmod", -edge, np.full(140, -3))


@pytest.mark.parametrize("name", ["divmod", "frexp", "modf", "ldexp"])
@pytest.mark.parametrize("dtype", [*FLOATS, "int32"])
def test_lengths_steps_and_broadcasts(name: str, dtype: str) -> None:
    expected, function = getattr(np, name), getattr(flow, name)
    layouts: list[Callable[[Any], Any]] = [
        *(lambda x: x, lambda x: x[::2], lambda x: x[::-1], lambda x: x[::-3]),
        *(lambda x: x[:12].reshape(3, 4).T, lambda x: x[:12].reshape(3, 4)[:, ::2]),
        *(lambda x: x[0], lambda x: x[:1].reshape(1, 1)),
    ]
    for n in LENGTHS:
        x = near("float64", n, n, 1).astype(dtype)
        numbers = np.random.default_rng(n + 1).integers(-9, 9, n)
        y = numbers.astype("int32" if name == "ldexp" else dtype)
        arrays = [x, y][: expected.nin]
        tensors = [flow.tensor(a) for a in arrays]
        for view in layouts[: len(layouts) if n >= 12 else 4]:
            same_bits(expected(*map(view, arrays)), function(*map(view, tensors)))
        if len(arrays) == 1 or n < 2:
            continue
        t, u = tensors
        same_bits(expected(x[:, None], y[:9]), function(t[:, None], u[:9]))
        for i in range(2):
            same_bits(expected(x, y[i]), function(t, u[i]))
            same_bits(expected(x[i], y), function(t[i], u))


@pytest.mark.parametrize("dtype", FLOATS)
def test_outs_that_are_operands(dtype: str) -> None:
    x, y = near(dtype, 200, 1, 1), near(dtype, 200, 2, 1)
    for name, operands in (("frexp", (x,)), ("modf", (x,)), ("divmod", (x, y))):
        arrays, tensors = [a.copy() for a in operands], [flow.tensor(a) for a in operands]
        getattr(np, name)(*arrays, out=(arrays[0], None))
        getattr(flow, name)(*tensors, out=(tensors[0], None))
        same_bits(arrays[0], tensors[0])
    arrays, tensors = [x.copy(), y.copy()], [flow.tensor(x), flow.tensor(y)]
    np.divmod(*arrays, out=(arrays[1], arrays[0]))
    flow.divmod(*tensors, out=(tensors[1], tensors[0]))
    same_bits(tuple(arrays), tuple(tensors))
    power = np.random.default_rng(3).integers(-5, 5, 200).astype("int32")
    for to, of in ((slice(None), slice(None)), (slice(1, None), slice(-1)), (slice(9), slice(9))):
        expected, t = x.copy(), flow.tensor(x)
        np.ldexp(expected[of], power[of], out=expected[to])
        flow.ldexp(t[of], flow.tensor(power)[of], out=t[to])
        same_bits(expected, t)
    for name in ("remainder", "floor_divide"):
        expected, t = x.copy(), flow.tensor(x)
        getattr(np, name)(expected[:-1], y[1:], out=expected[1:])
        getattr(flow, name)(t[:-1], flow.tensor(y)[1:], out=t[1:])
        same_bits(expected, t)


@pytest.mark.parametrize("name", ["remainder", "floor_divide"])
def test_reductions_and_scans(name: str) -> None:
    for dtype in (*FLOATS, "int16", "int64"):
        x = near("float64", 40, 4, 1).astype(dtype)
        x[x == 0] = 3
        x = x.reshape(5, 8)
        with np.errstate(all="ignore"):
            for axis in (0, 1):
                expected = getattr(np, name).reduce(x, axis, dtype=dtype)
                same_bits(expected, getattr(flow, name).reduce(flow.tensor(x), axis, dtype=dtype))
            expected = getattr(np, name).accumulate(x, 1, dtype=dtype)
            same_bits(expected, getattr(flow, name).accumulate(flow.tensor(x), 1, dtype=dtype))


def test_the_operator() -> None:
    class Other:
        def __rdivmod__(self, other: Any) -> str:
            return "reflected"

    x, y = np.array([7.5, -7.5, 3.0]), np.array([2.0, 2.0, -0.5])
    t, u = flow.tensor(x), flow.tensor(y)
    for seen, expected in ((divmod(t, u), divmod(x, y)), (divmod(t, 2), divmod(x, 2))):
        same_bits(expected, seen)
    same_bits(divmod(9, x), divmod(9, t))
    same_bits(divmod(x, y), divmod(x, u))
    same_bits(divmod(x, y), divmod(t, y))
    assert divmod(t, Other()) == "reflected"
    for wrong in (object(), "2"):
        with pytest.raises(TypeError, match="unsupported operand|expected|not defined"):
            divmod(t, wrong)
    with pytest.raises(ValueError, match="broadcast"):
        divmod(t, flow.ones(2))


def test_calls_that_numpy_hands_over() -> None:
    x, y = np.array([7.5, -7.5, 3.0]), np.array([2.0, 2.0, -0.5])
    t, u = flow.tensor(x), flow.tensor(y)
    for name in ("frexp", "modf"):
        same_bits(getattr(np, name)(x), getattr(np, name)(t))
        target = flow.zeros(3)
        assert getattr(np, name)(t, out=(target, None))[0] is target
    same_bits(np.divmod(x, y), np.divmod(t, u))
    same_bits(np.divmod(x, 2), np.divmod(t, 2))
    same_bits(np.divmod(9, x), np.divmod(9, t))
    same_bits(np.divmod(x, y), np.divmod(x, u))
    same_bits(np.divmod(x, np.float64(2)), np.divmod(t, np.float64(2)))
    same_bits(np.divmod(x, [2, 3, 4]), np.divmod(t, [2, 3, 4]))
    same_bits(np.divmod(x, y, dtype="float32"), np.divmod(t, u, dtype="float32"))
    target = flow.zeros(3, dtype="float64")
    assert np.divmod(t, u, target)[0] is target
    same_bits(x // y, target)
    with pytest.raises(TypeError, match="not defined for complex128|not supported"):
        np.frexp(flow.tensor([1j], "complex128"))


def test_numbers_lists_and_wrong_calls() -> None:
    same_bits(np.divmod(7, 2), flow.divmod(7, 2))
    same_bits(np.modf(-2.5), flow.modf(-2.5))
    same_bits(np.frexp(True), flow.frexp(True))
    same_bits(np.frexp([8.0, 3.0]), flow.frexp([8.0, 3.0]))
    same_bits(np.divmod([7, 8], (2, 3)), flow.divmod([7, 8], (2, 3)))
    t = flow.ones(3)
    for call in (flow.modf, flow.frexp):
        with pytest.raises(TypeError, match="argument"):
            call(t, t, t, t)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="not defined for complex64"):
            call(flow.ones(3, dtype="complex64"))
    with pytest.raises(TypeError, match="argument"):
        flow.divmod(t)  # type: ignore[call-arg]


def test_all_together_in_one_group() -> None:
    """Large ones, which worker threads divide and fuse."""
    n = 300_001
    x, y = near("float32", n, 1, 2), near("float32", n, 2, 2)
    power = np.random.default_rng(3).integers(-9, 9, n).astype("int32")

    def program(xp: Any, x: Any, y: Any, k: Any) -> Any:
        mantissa, exponent = xp.frexp(x * 3)
        quotient, rest = xp.divmod(x, y)
        fraction, whole = xp.modf(quotient * 0.25)
        return xp.ldexp(mantissa, exponent) + xp.ldexp(rest, k), fraction - whole

    tensors = [flow.tensor(a) for a in (x, y, power)]
    same_bits(program(np, x, y, power), program(flow, *tensors))
    recorded = flow.jit(lambda *given: program(flow, *given))
    for _ in range(3):
        same_bits(program(np, x, y, power), recorded(*tensors))


PROGRAM = """
import numpy as np, oneflow_lite as flow
from tests.ops.elementwise import test_part_loops as tests
np.seterr(all="ignore")
for dtype in tests.FLOATS:
    for name in ("frexp", "modf"):
        tests.test_parts_of_any_bits(name, dtype)
    tests.test_ldexp_rounds_once(dtype, "int32")
    tests.test_ldexp_rounds_once(dtype, "int64")
    tests.test_divmod_of_floats(dtype)
tests.test_divmod_of_integers("int64")
"""


def test_bits_without_wide_vectors(run_program: Callable[..., Any]) -> None:
    done = run_program(PROGRAM, cpu_isa="baseline")
    assert done.returncode == 0, done.stderr


def test_there_are_loops_for_wide_vectors() -> None:
    flow.frexp(flow.ones(3))
    widest = min(_C.cpu_isa(), "avx2", key=_C.CPU_ISAS.index)
    assert _C.loops_chosen()["parts"] == widest
