"""The float32 and float64 loops of our own alone: any memory, and the check before use."""

import ctypes
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneflow_lite import _C
from tests.support import ON_X86, ROOT
from tests.support.compiling import COMPILER, SOURCES, compiled
from tests.support.rounding import is_as_fused

ROOM = Path("ops/elementwise/float_functions")
FORMULAS = ROOM / "formulas"
PARTS = ("avx2.cpp", "avx512.cpp", "agreement.cpp", "pair_inputs.cpp")
OF_FDLIBM = (
    *("expm1", "log1p", "atan", "cbrt", "sinh", "atanh", "log10"),
    *("cosh", "tan", "asin", "acos", "asinh", "acosh"),
)
ORDER = ("exp", "log", "tanh", "sin", "cos", "exp2", "log2", "pow", *OF_FDLIBM)  # of FloatFunction
OF_DOUBLES = ("exp", "log", "sin", "cos", "exp2", "log2", "log10", "expm1", "log1p")
NAMES = [f"{name} float32" for name in ORDER if name != "pow"]
NAMES += [f"{name} float64" for name in OF_DOUBLES]
OF_LIBRARY = [*NAMES[5:], "pow float32", "pow float64"]  # with its formulas
ALL = [*NAMES, "pow float32", "pow float64"]
WIDEST = _C.CPU_ISAS.index(_C.widest_cpu_isa())
# The sources that are compiled anew with other formulas. Loops of wider vectors do not run here.
WITH_FORMULAS = ("avx2", "avx512")[: 1 + (_C.CPU_ISAS[WIDEST] == "avx512")]

pytestmark = [
    pytest.mark.toolchain,
    pytest.mark.skipif(not ON_X86, reason="loops of x86"),
    pytest.mark.skipif(WIDEST == 0, reason="the processor has no AVX2"),
    pytest.mark.xdist_group("float_loops"),  # they share libraries that are compiled
]


class Loops:
    """A library of the loops, compiled from the sources with some of their text replaced. Of the
    rest, ``objects`` has what was compiled before.
    """

    def __init__(
        self, folder: Path, replaced: dict[str, dict[str, str]], objects: Path | None = None
    ) -> None:
        for part, changes in replaced.items():
            text = (ROOT / "csrc" / FORMULAS / part).read_text()
            for old, new in changes.items():
                assert text.count(old) == 1, (part, old)
                text = text.replace(old, new)
            (folder / FORMULAS).mkdir(parents=True, exist_ok=True)
            (folder / FORMULAS / part).write_text(text)
        flags = ["-O2", "-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-fPIC"]
        includes = [f"-I{folder}", f"-I{ROOT / 'csrc'}"]
        linked = []
        for source in (ROOT / "csrc" / ROOM / part for part in PARTS):
            is_kept = objects is not None and source.stem not in WITH_FORMULAS
            linked.append((objects if objects and is_kept else folder) / f"{source.stem}.o")
            if not is_kept:
                compiled([*COMPILER, *flags, *includes, "-c", source, "-o", linked[-1]])
        library = SOURCES / "libraries/float_functions.cpp"
        target = folder / "float_functions.so"
        compiled([*COMPILER, *flags, *includes, "-shared", library, *linked, "-o", target])
        self.library = ctypes.CDLL(str(target))
        self.library.loop_address.restype = ctypes.c_void_p
        self.library.is_told.restype = ctypes.c_bool
        self.library.points.restype = ctypes.c_int64
        for name in ("", "_from_library", "_from_odd", "_in_gaps"):
            getattr(self.library, f"differences{name}").restype = ctypes.c_int64

    def call(self, wide: int, name: str, x: np.ndarray, out: np.ndarray) -> None:
        """Of one-dimensional arrays, which may share memory."""
        place = [ctypes.c_void_p(x.ctypes.data), ctypes.c_ssize_t(x.strides[0])]
        place += [ctypes.c_void_p(out.ctypes.data), ctypes.c_ssize_t(out.strides[0])]
        self.library.call(wide, *kind(name), *place, ctypes.c_ssize_t(x.size))

    def differences(self, wide: int, name: str, other: "Loops") -> int:
        address = ctypes.c_void_p(other.library.loop_address(wide, *kind(name)))
        return int(self.library.differences(wide, *kind(name), address))

    def points(self, name: str) -> np.ndarray:
        found = np.zeros(100_000, dtype_of(name))
        pointer = ctypes.c_void_p(found.ctypes.data)
        count = self.library.points(*kind(name), pointer, ctypes.c_int64(found.size))
        assert 0 < count < found.size
        return found[:count]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(name.split()[1])


def kind(name: str) -> tuple[int, int]:
    """The function and the size of an element, as the library has them."""
    return ORDER.index(name.split()[0]), dtype_of(name).itemsize


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where what ``loops`` was made of is."""
    return tmp_path_factory.mktemp("objects")


@pytest.fixture(scope="module")
def loops(objects: Path) -> Loops:
    return Loops(objects, {})


@pytest.fixture(scope="module")
def make(
    tmp_path_factory: pytest.TempPathFactory, objects: Path, loops: Loops
) -> Callable[..., Loops]:
    made = tmp_path_factory.mktemp
    return lambda **replaced: Loops(
        made("loops"), {f"{part}.h": text for part, text in replaced.items()}, objects
    )


@pytest.fixture(params=[256, 512])
def wide(request: pytest.FixtureRequest) -> int:
    if request.param == 512 and _C.CPU_ISAS[WIDEST] != "avx512":
        pytest.skip("the processor has no AVX-512")
    return int(request.param)


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


# --- the check


def moved(number: str) -> str:
    """The next float32, as C++ text."""
    value = float.fromhex(number) if "0x" in number else float(number)
    return np.nextafter(np.float32(value), np.float32(np.inf)).item().hex()


EXP = "7.257664613233124478488e-01"
LOG = "1.480000633576506585156e+00"
EVEN, ODD = "0x1.55553cp-05", "0x1.11119ap-07"
TANH_ROW = "0x3f100000, 0x3f028438, "
FUSED_EXP = "V::add(V::multiply(x[j], V::all(1.442695040888963407f)), V::all(kRounding))"
FUSED_SINE = "V::fused(x[j], V::all(0x1.45f306p-1f), V::all(kRounding))"


def test_the_check_accepts_the_same_loop(loops: Loops, wide: int) -> None:
    for name in ALL:
        assert loops.differences(wide, name, loops) == 0


def test_the_check_refuses_a_wrong_coefficient(
    loops: Loops, wide: int, make: Callable[..., Loops]
) -> None:
    """Each is a unit in the last place off; those of doubles, which few results show, some more."""
    text = {f"{number}f": f"{moved(number)}f" for number in (EXP, LOG, EVEN, ODD)}
    row = {TANH_ROW + "0x3f3d7573": TANH_ROW + "0x3f3d7574"}
    doubles = {"0x1.ffffffffffdbdp-2": "0x1.ffffffffeedbdp-2"}
    doubles["0x1.555555551305bp-2"] = "0x1.555555552405bp-2"
    powers = {"0x1.62e42ff0c52d6p-1": "0x1.62e43p-1", "0x1.715475f35c8b8p0": "0x1.715475p0"}
    powers |= {"-0x1.555555555556p-1": "-0x1.555555556556p-1", "0x1.ec70a6ca7badd": "0x1.ec70a"}
    fdlibm = ("-3.3333335072e-02", "6.6666668653e-01", "3.3333334327e-01", "6.6610731184e-02")
    library = {f"{number}f": f"{moved(number)}f" for number in fdlibm}
    library["1.2599210498948731648"] = "1.259921"
    powers["4.3429449201e-01f"] = f"{moved('4.3429449201e-01')}f"
    doubles["0x1.ebfbdff82c424p-3"] = "0x1.ebfbdff82c425p-3"
    doubles["-0x1.71547652b8339p-1"] = "-0x1.71547652b833ap-1"
    doubles["4.34294481903251816668e-01"] = "0x1.bcb7b1526e50fp-2"
    of_doubles = {"-3.33333333333331316428e-02": "-0x1.11111111110f5p-5"}
    of_doubles["6.666666666666735130e-01"] = "0x1.5555555555594p-1"
    numbers = ("3.3333334327e-01", "1.666675248e-1", "1.6666667163e-01")
    trigonometric = {f"{number}f": f"{moved(number)}f" for number in numbers}
    wrong = make(
        functions=text,
        double_functions=doubles,
        tanh_table=row,
        powers=powers,
        library_functions=library,
        double_sines={"-0x1.5555555555555p-3": "-0x1.5555555555556p-3"},
        double_library_functions=of_doubles,
        trigonometric_functions=trigonometric,
    )
    for name in ALL:
        assert wrong.differences(wide, name, loops) > 0, name


def test_the_check_refuses_a_coefficient_that_few_inputs_show(
    loops: Loops, wide: int, make: Callable[..., Loops]
) -> None:
    """From one (tan, acosh) to 141 (asin) of the positive inputs."""
    numbers = ("2.4646313977e-04", "4.216630880e-2", "7.5497894159e-08")
    wrong = make(
        powers={"0x1.c6af84b912394p-5": "0x1.c6af84p-5"},
        library_functions={"2.8571429849e-01f": f"{moved('2.8571429849e-01')}f"},
        trigonometric_functions={f"{number}f": f"{moved(number)}f" for number in numbers},
    )
    for name in ("cosh", "tan", "asin", "acos", "asinh", "acosh"):
        assert wrong.differences(wide, f"{name} float32", loops) > 0, name


@pytest.mark.parametrize(
    ("names", "number", "other"),
    [
        ("exp float64, exp2 float64", "0x3fefec9a3e778061", "0x3fefec9a3e778062"),
        ("log float64, log10 float64", "0x1.6f26008fab5ap+0", "0x1.6f26008fab5a1p+0"),
        ("log float64", "-0x1.713e31351ep-2", "-0x1.713e31351e001p-2"),
        ("log2 float64", "0x1.724286bb1acf8p+0", "0x1.724286bb1acf9p+0"),
        ("log2 float64", "-0x1.1095feecdbp-1", "-0x1.1095feecdb001p-1"),
        ("pow float64", "-0x1.4618bc21c6p-2", "-0x1.4618bc21c6001p-2"),
        ("pow float64", "0x1.3d82f484c84ccp-46", "0x1.3dp-46"),
        ("exp2 float32", "0x3feedea64c123422", "0x3feedea650123422"),
        ("log2 float32", "0x1.338ca9f24f53dp-4", "0x1.338caap-4"),
        ("pow float32", "0x1.338ca9f24f53dp-4", "0x1.338caap-4"),
        ("log10 float32", "0x1.aa5aa5df25984p-5", "0x1.aa5aap-5"),
        ("sin float64", "0x1.fe7034129ef6fp-1", "0x1.fe7034129ef7p-1"),
        ("cos float64", "0x1.3facb12d1755bp-4", "0x1.3facb12dp-4"),
        ("cos float64", "-0x1.cbf4337c96f97p-57", "0"),
        ("cosh float32", "0x3feedea64c123422", "0x3feedea650123422"),
        ("asinh float32", "0x1.aa5aa5df25984p-5", "0x1.aa5aap-5"),
        ("acosh float32", "0x1.aa5aa5df25984p-5", "0x1.aa5aap-5"),
    ],
)
def test_the_check_refuses_a_wrong_row(
    loops: Loops, wide: int, make: Callable[..., Loops], names: str, number: str, other: str
) -> None:
    """One unit in the last place off, or more where that does not reach the result."""
    table = "double_tables"
    if names.startswith("pow") or names.endswith("float32"):
        table = "power_tables"
    if names in ("sin float64", "cos float64"):
        table = "sine_table"
    wrong = make(**{table: {number: other}})
    for name in names.split(", "):
        assert wrong.differences(wide, name, loops) > 0, name


def test_the_check_refuses_other_roundings(
    loops: Loops, wide: int, make: Callable[..., Loops]
) -> None:
    """Where a product and a sum are one operation, and NumPy's are two, few inputs show it."""
    fused = FUSED_EXP.replace("V::add(V::multiply(", "V::fused(").replace("f)), ", "f), ")
    apart = FUSED_SINE.replace("V::fused(", "V::add(V::multiply(").replace("f), ", "f)), ")
    wrong = make(functions={FUSED_EXP: fused, FUSED_SINE: apart})
    for name in ("exp", "sin", "cos"):
        assert wrong.differences(wide, f"{name} float32", loops) > 0, name
    for name in ("log", "tanh"):
        assert wrong.differences(wide, f"{name} float32", loops) == 0, name


def test_the_check_refuses_fused_polynomials(
    loops: Loops, wide: int, make: Callable[..., Loops]
) -> None:
    """Of fdlibm, whose products and sums are rounded apart."""
    apart = "V::add(V::all(c[k]), V::multiply(x, r))"
    wrong = make(library_functions={apart: "V::fused(x, r, V::all(c[k]))"})
    for name in ("expm1", "log1p", "atan", "sinh", "atanh", "tan", "asin", "acos"):
        assert wrong.differences(wide, f"{name} float32", loops) > 0, name
    for name in ("asinh", "acosh"):
        assert wrong.differences(wide, f"{name} float32", loops) > 0, name
    for name in ("cbrt", "log10", "cosh"):  # no bit of cosh changes
        assert wrong.differences(wide, f"{name} float32", loops) == 0, name


def test_the_check_refuses_other_roundings_of_fdlibm(
    loops: Loops, wide: int, make: Callable[..., Loops]
) -> None:
    """One product and one sum are fused in each function."""
    guess = "V::fused(quotient, V::add(error, V::multiply(guess, lost)), guess)"
    wrong = make(
        library_functions={
            "V::subtract(V::all(6.0f), V::multiply(r, t))": "_mm256_fnmadd_ps(r, t, V::all(6.0f))",
            "V::add(one, square)": "V::fused(size, size, one)",
            "V::subtract(V::multiply(x, x), one)": "V::fused(x, x, V::all(-1.0f))",
        },
        trigonometric_functions={
            "V::add(guess, step)": guess,
            "V::add(x, V::multiply(x, p))": "V::fused(x, p, x)",
            "V::subtract(low, V::multiply(x, r))": "_mm256_fnmadd_ps(x, r, low)",
        },
    )
    for name in ("cosh", "tan", "asin", "acos", "asinh", "acosh"):
        assert wrong.differences(wide, f"{name} float32", loops) > 0, name


@pytest.mark.parametrize(
    ("name", "operation", "other"),
    [
        (
            "exp float64",
            "V::fused(low, square, V::add(r, tail))",
            "V::add(V::fused(low, square, r), tail)",
        ),
        (
            "exp float64",
            "V::fused(low, square, V::add(r, tail))",
            "V::add(V::multiply(low, square), V::add(r, tail))",
        ),
        (
            "log float64",
            "V::fused(square, V::all(-0x1.0000000000001p-1), low)",
            "V::add(V::multiply(square, V::all(-0x1.0000000000001p-1)), low)",
        ),
        (
            "log float64",  # close to 1
            "V::fused(upper_square, half, V::subtract(r, high))",
            "V::subtract(V::fused(upper_square, half, r), high)",
        ),
        (
            "pow float64",
            "V::fused(low, square, V::add(r, tail))",
            "V::add(V::multiply(low, square), V::add(r, tail))",
        ),
        (
            "pow float64",
            "V::fused(V::multiply(r, square), last, low)",
            "V::add(V::multiply(V::multiply(r, square), last), low)",
        ),
    ],
)
def test_the_check_refuses_other_roundings_of_doubles(
    loops: Loops, wide: int, make: Callable[..., Loops], name: str, operation: str, other: str
) -> None:
    in_powers = "last, low" in operation
    wrong = make(**{"powers" if in_powers else "double_functions": {operation: other}})
    assert wrong.differences(wide, name, loops) > 0


@pytest.mark.parametrize(
    ("operation", "other"),
    [
        (
            "V::fused_less(p, x, V::multiply(V::all(0.5), rest))",
            "V::fused(V::all(-0.5), rest, V::multiply(p, x))",
        ),
        ("V::fused(more, square, rest)", "V::add(V::multiply(more, square), rest)"),
        ("V::less_fused(own, less, more)", "V::subtract(more, V::multiply(own, less))"),
        ("V::fused(other, sine, more)", "V::add(V::multiply(other, sine), more)"),
        (
            "V::fused(r, lost, V::multiply(square, V::fused(square, less, V::all(0.5))))",
            "V::fused(square, V::fused(square, less, V::all(0.5)), V::multiply(r, lost))",
        ),
    ],
)
def test_the_check_refuses_other_roundings_of_sines(
    loops: Loops, wide: int, make: Callable[..., Loops], operation: str, other: str
) -> None:
    wrong = make(double_sines={operation: other})
    for name in ("sin", "cos"):
        assert wrong.differences(wide, f"{name} float64", loops) > 0, name


OTHER_ROUNDINGS = [
    {
        "V::add(grown, V::multiply(square, low))": "V::fused(square, low, grown)",
        "V::fused(square, p, low)": "V::add(V::multiply(square, p), low)",
        "const Floats low = V::add(V::multiply(k, V::all(3.69423907715893078616e-13)),": (
            "const Floats low = V::fused(log, V::all(4.34294481903251816668e-01),"
        ),
        "V::multiply(log, V::all(4.34294481903251816668e-01)));": (
            "V::multiply(k, V::all(3.69423907715893078616e-13)));"
        ),
    },
    {
        "V::add(scale, V::multiply(scale, grown))": "V::fused(scale, grown, scale)",
        "V::fused(V::fused(last, fourth, p), fourth, low)": (  # close to 1
            "V::add(V::multiply(V::fused(last, fourth, p), fourth), low)"
        ),
        "V::fused(square, V::all(-0x1.0000000000001p-1), low)": (
            "V::add(V::multiply(square, V::all(-0x1.0000000000001p-1)), low)"
        ),
    },
]
OTHER_ROUNDINGS_OF_FDLIBM = [
    {
        "V::fused_less(r, e, V::select(is_0, square, rest))": (
            "V::subtract(V::multiply(r, e), V::select(is_0, square, rest))"
        ),
        "terms(3.999999999940941908e-01, 2.857142874366239149e-01)": (
            "V::add(V::all(3.999999999940941908e-01),"
            " V::multiply(z, V::all(2.857142874366239149e-01)))"
        ),
    },
    {
        "terms(1.0, -3.33333333333331316428e-02)": (
            "V::add(V::all(1.0), V::multiply(square, V::all(-3.33333333333331316428e-02)))"
        ),
        "V::fused(z, V::all(6.666666666666735130e-01), V::multiply(square, p))": (
            "V::add(V::multiply(z, V::all(6.666666666666735130e-01)), V::multiply(square, p))"
        ),
    },
]


@pytest.mark.parametrize("which", [0, 1])
def test_the_check_refuses_other_roundings_of_more_doubles(
    loops: Loops, wide: int, make: Callable[..., Loops], which: int
) -> None:
    wrong = make(
        double_functions=OTHER_ROUNDINGS[which],
        double_library_functions=OTHER_ROUNDINGS_OF_FDLIBM[which],
    )
    for name in ("exp2", "log2", "log10", "expm1", "log1p"):
        assert wrong.differences(wide, f"{name} float64", loops) > 0, name


@pytest.mark.parametrize("name", ALL)
def test_one_other_bit_is_refused(loops: Loops, wide: int, name: str) -> None:
    points = loops.points(name)
    finite = points[np.isfinite(points)]
    chosen: Any = np.random.default_rng(2).choice(finite[finite > 0], 20, replace=False)
    for odd in chosen:
        assert loops.library.differences_from_odd(wide, *kind(name), ctypes.c_double(odd)) > 0, odd
    never = ctypes.c_double(1.2345678)
    assert loops.library.differences_from_odd(wide, *kind(name), never) == 0
    assert loops.library.differences_in_gaps(wide, *kind(name)) == 1
