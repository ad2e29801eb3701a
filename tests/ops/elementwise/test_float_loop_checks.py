"""The check before a float loop of our own is used: it accepts the same bits alone."""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.float_loops import ALL, MARKS, Loops, kind

pytestmark = MARKS


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
    of_doubles["2.44693122563534430"] = "0x1.39350adad51edp+1"
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


# The wrong rows of each library: functions, the number in the row, another number. No function of a
# library reads two of them, so that each row is refused by itself; pow reads the table of exp, too.
WRONG_ROWS = [
    [
        ("exp float64, exp2 float64", "0x3fefec9a3e778061", "0x3fefec9a3e778062"),
        ("sinh float64, cosh float64", "0x3fefec9a3e778061", "0x3fefec9a3e778062"),
        ("log float64, log10 float64", "0x1.6f26008fab5ap+0", "0x1.6f26008fab5a1p+0"),
        ("asinh float64, acosh float64", "0x1.6f26008fab5ap+0", "0x1.6f26008fab5a1p+0"),
        ("log2 float64", "0x1.724286bb1acf8p+0", "0x1.724286bb1acf9p+0"),
        ("exp2 float32", "0x3feedea64c123422", "0x3feedea650123422"),
        ("cosh float32", "0x3feedea64c123422", "0x3feedea650123422"),
        ("log2 float32", "0x1.338ca9f24f53dp-4", "0x1.338caap-4"),
        ("log10 float32", "0x1.aa5aa5df25984p-5", "0x1.aa5aap-5"),
        ("asinh float32", "0x1.aa5aa5df25984p-5", "0x1.aa5aap-5"),
        ("acosh float32", "0x1.aa5aa5df25984p-5", "0x1.aa5aap-5"),
        ("sin float64", "0x1.fe7034129ef6fp-1", "0x1.fe7034129ef7p-1"),
    ],
    [
        ("sinh float64, cosh float64", "0x3fef31ce4fb2a63f", "0x3fef31ce4fb2a640"),
        ("log float64", "-0x1.713e31351ep-2", "-0x1.713e31351e001p-2"),
        ("log2 float64", "-0x1.1095feecdbp-1", "-0x1.1095feecdb001p-1"),
        ("cos float64", "0x1.3facb12d1755bp-4", "0x1.3facb12dp-4"),
    ],
    [
        ("pow float32", "0x1.338ca9f24f53dp-4", "0x1.338caap-4"),
        ("pow float64", "-0x1.4618bc21c6p-2", "-0x1.4618bc21c6001p-2"),
        ("cos float64", "-0x1.cbf4337c96f97p-57", "0"),
    ],
    [("pow float64", "0x1.3d82f484c84ccp-46", "0x1.3dp-46")],
]


def table_of(names: str) -> str:
    if names in ("sin float64", "cos float64"):
        return "sine_table"
    return "power_tables" if names.endswith("float32") or "pow" in names else "double_tables"


@pytest.mark.parametrize("rows", WRONG_ROWS)
def test_the_check_refuses_a_wrong_row(
    loops: Loops, wide: int, make: Callable[..., Loops], rows: list[tuple[str, str, str]]
) -> None:
    """One unit in the last place off, or more where that does not reach the result."""
    wrong: dict[str, dict[str, str]] = {}
    for names, number, other in rows:
        wrong.setdefault(table_of(names), {})[number] = other
    library = make(**wrong)
    for name in ", ".join(names for names, *_ in rows).split(", "):
        assert library.differences(wide, name, loops) > 0, name


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


# Of exp, which pow has the second change of, too; of log; and of pow alone.
OTHER_ROUNDINGS_OF_DOUBLES: list[dict[str, dict[str, str]]] = [
    {
        "double_functions": {
            "V::fused(low, square, V::add(r, tail))": "V::add(V::fused(low, square, r), tail)",
            "V::fused(square, V::all(-0x1.0000000000001p-1), low)": (
                "V::add(V::multiply(square, V::all(-0x1.0000000000001p-1)), low)"
            ),
        },
        "powers": {
            "V::fused(V::multiply(r, square), last, low)": (
                "V::add(V::multiply(V::multiply(r, square), last), low)"
            ),
        },
    },
    {
        "double_functions": {
            "V::fused(low, square, V::add(r, tail))": (
                "V::add(V::multiply(low, square), V::add(r, tail))"
            ),
            "V::fused(upper_square, half, V::subtract(r, high))": (  # close to 1
                "V::subtract(V::fused(upper_square, half, r), high)"
            ),
        },
    },
]


@pytest.mark.parametrize("changes", OTHER_ROUNDINGS_OF_DOUBLES)
def test_the_check_refuses_other_roundings_of_doubles(
    loops: Loops, wide: int, make: Callable[..., Loops], changes: dict[str, dict[str, str]]
) -> None:
    wrong = make(**changes)
    for name in ("exp", "log", "pow"):
        assert wrong.differences(wide, f"{name} float64", loops) > 0, name


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


OTHER_ROUNDINGS_OF_CALLED = [  # in each function that is made of others, or in what it calls
    {
        "V::less_fused(p, half_r, V::all(3.0))": (
            "V::subtract(V::all(3.0), V::multiply(p, half_r))"
        ),
        "V::fused(z, V::all(c1), V::all(c0))": ("V::add(V::multiply(z, V::all(c1)), V::all(c0))"),
        "V::add(V::all(0.354895765043919860), V::multiply(r, m))": (
            "V::fused(r, m, V::all(0.354895765043919860))"
        ),
    },
    {
        "V::less_fused(r, t, V::all(6.0))": "V::subtract(V::all(6.0), V::multiply(r, t))",
        "V::fused(z, V::all(6.666666666666735130e-01), V::multiply(square, p))": (
            "V::add(V::multiply(z, V::all(6.666666666666735130e-01)), V::multiply(square, p))"
        ),
        "V::subtract(V::all(term), V::multiply(r, m))": "V::less_fused(r, m, V::all(term))",
    },
    {
        "V::fused_less(x, e, square)": "V::subtract(V::multiply(x, e), square)",
        "V::add(one, square)": "V::fused(size, size, one)",
        "V::add(V::add(t, t), V::multiply(t, t))": "V::fused(t, t, V::add(t, t))",
    },
]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_the_check_refuses_other_roundings_of_what_doubles_call(
    loops: Loops, wide: int, make: Callable[..., Loops], which: int
) -> None:
    wrong = make(double_library_functions=OTHER_ROUNDINGS_OF_CALLED[which])
    names = ("sinh", "cosh", "asinh", "acosh", *(("atanh", "cbrt") if which < 2 else ()))
    for name in names:
        assert wrong.differences(wide, f"{name} float64", loops) > 0, name


def test_the_check_refuses_other_roundings_of_tables_that_doubles_call(
    loops: Loops, wide: int, make: Callable[..., Loops]
) -> None:
    """Of exp in sinh and cosh, of log in asinh, and of acosh above 2."""
    wrong = make(
        double_functions={
            "const Floats sum = V::fused(low, square, V::add(r, tail));": (
                "const Floats sum = V::add(V::multiply(low, square), V::add(r, tail));"
            ),
            "V::fused(square, V::all(-0x1.0000000000001p-1), low)": (
                "V::add(V::multiply(square, V::all(-0x1.0000000000001p-1)), low)"
            ),
        },
        double_library_functions={
            "V::subtract(V::multiply(x, x), one)": "V::fused_less(x, x, one)"
        },
    )
    for name in ("sinh", "cosh", "asinh", "acosh"):
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
