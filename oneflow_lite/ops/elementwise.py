"""The table of elementwise operations: a row each, and the names that NumPy has for them.

To add an operation, add a row: ``name = op(name, ufunc, CUDA text, summary, operator)``, and if it
is differentiable ``vjp=``, the gradients of its operands.
"""

import builtins
import math
import operator
from functools import partial
from typing import TYPE_CHECKING, Any, SupportsIndex

import numpy as np
from numpy._core.umath import clip as _clip_ufunc  # type: ignore[attr-defined]

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype, isdtype, native
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.table import Cuda, Extremum, Linear, exported, op, part

_BITS = ([True, False], [True, True])
_MIXED = ([-1.5, 2.5], [2.0, -2.0])
_INVERSE = partial(Cuda, file="elementwise/complex_inverse.cuh")

# fmt: off
# --- arithmetic
add = op("add", np.add, Cuda("add(x, y)", empty="nothing_added<Value>()"), "Sum.", "add",
         adds=True, associative=True, exact=True, linear=Linear.ALL, vjp=("g", "g"))
subtract = op("subtract", np.subtract, "subtract(x, y)", "Difference.", "sub", exact=True,
              linear=Linear.ALL, vjp=("g", "-total(g)"))
multiply = op("multiply", np.multiply,
              Cuda("multiply(x, y)", empty="nothing_multiplied<Value>()", combine="product(x, y)"),
              "Product.", "mul", associative=True, exact=True, linear=Linear.ONE,
              vjp=("g * y", "g * x"))
divide = op("divide", np.divide, "divide(x, y)", "True quotient.", "truediv", exact=True,
            linear=Linear.FIRST, vjp=("g / y", "-(total(g * out) / y)"))
floor_divide = op("floor_divide", np.floor_divide,
                  Cuda("floor_divide(x, y)", standard="standard_floor_divide(x, y)"),
                  "Quotient, rounded down.", "floordiv", vjp=(None, None))
remainder = op("remainder", np.remainder, "remainder(x, y)",
               "Remainder of the floored quotient; it has the divisor's sign.", "mod", _MIXED,
               vjp=("g", "-total(g * floor_divide(x, y))"))
pow = op("pow", np.power, Cuda("pow(x, y)", refuses="is_negative_power(x, y)"),
         "First operand to the power of the second.", "pow", checks_exponent=True,
         vjp=("g * power_slope(x, y)", "g * out * power_log(x)"))
negative = op("negative", np.negative, "negative(x)", "Negation.", "neg", exact=True,
              linear=Linear.ALL, vjp="-g")
positive = op("positive", np.positive, "x", "A copy.", "pos", linear=Linear.ALL, vjp="g")
abs = op("abs", np.absolute, "absolute(x)", "Absolute value; the modulus of a complex number.",
         "abs", _MIXED, vjp="g * sign(x)")
reciprocal = op("reciprocal", np.reciprocal, "reciprocal(x)", "One over x.", "reciprocal",
                vjp="-g * out * out")
square = op("square", np.square, "square(x)", "x times x.", "square", exact=True, vjp="g * (x + x)")
sqrt = op("sqrt", np.sqrt, "sqrt(x)", "Square root.", "sqrt", vjp="g * 0.5 / out")
hypot = op("hypot", np.hypot, "hypot(x, y)", "Square root of the sum of squares, no overflow.",
           vjp=("g * x / out", "g * y / out"))
maximum = op("maximum", np.maximum, Cuda("maximum(x, y)", empty="least<Value>()"),
             "The larger; NaN where either is NaN.",
             associative=True, selects=True, extremum=Extremum(smallest=False, nan_wins=True),
             vjp=("where(out > y, g, 0)", "where(out > y, 0, g)"))
minimum = op("minimum", np.minimum, Cuda("minimum(x, y)", empty="greatest<Value>()"),
             "The smaller; NaN where either is NaN.",
             associative=True, selects=True, extremum=Extremum(smallest=True, nan_wins=True),
             vjp=("where(out < y, g, 0)", "where(out < y, 0, g)"))
sign = op("sign", np.sign, "sign(x)", "-1, 0 or 1; x / abs(x) of a complex number.",
          None, _MIXED, vjp=(None,))
fmax = op("fmax", np.fmax, Cuda("fmax(x, y)", empty="passed_over(least<Value>())"),
          "The larger; NaN only where both are NaN.",
          associative=True, selects=True, extremum=Extremum(smallest=False, nan_wins=False),
          vjp=("where((x > y) | (y != y), g, 0)", "where((x > y) | (y != y), 0, g)"))
fmin = op("fmin", np.fmin, Cuda("fmin(x, y)", empty="passed_over(greatest<Value>())"),
          "The smaller; NaN only where both are NaN.",
          associative=True, selects=True, extremum=Extremum(smallest=True, nan_wins=False),
          vjp=("where((x < y) | (y != y), g, 0)", "where((x < y) | (y != y), 0, g)"))
fmod = op("fmod", np.fmod, "fmod(x, y)",
          "Remainder of the truncated quotient; it has the dividend's sign.", None, _MIXED,
          vjp=("g", "-total(g * trunc(x / y))"))
fabs = op("fabs", np.fabs, "absolute(x)", "Absolute value, as a float.", None, _MIXED,
          vjp="g * sign(x)")
float_power = op("float_power", np.float_power, "pow(x, y)",
                 "First operand to the power of the second, in float64 at least.",
                 vjp=("g * power_slope(x, y)", "g * out * power_log(x)"))
cbrt = op("cbrt", np.cbrt, "cbrt(x)", "Cube root.", vjp="g / (3 * out * out)")
gcd = op("gcd", np.gcd, "gcd(x, y)", "Greatest common divisor.", associative=True)
lcm = op("lcm", np.lcm, "lcm(x, y)", "Least common multiple.")
heaviside = op("heaviside", np.heaviside, "heaviside(x, y)",
               "0 where x1 is negative, x2 where it is 0, 1 where it is positive.",
               vjp=(None, "where(x == 0, g, 0)"))
conj = op("conj", np.conjugate, "conj(x)", "Complex conjugate.", "conj", ([1 + 2j, 3 - 1j],),
          vjp="g")

# --- exponents and logarithms
exp = op("exp", np.exp, "exp(x)", "e to the power of x.", vjp="g * out")
exp2 = op("exp2", np.exp2, "exp2(x)", "2 to the power of x.", vjp="g * out * LN2")
expm1 = op("expm1", np.expm1, Cuda("expm1(x)", standard="standard_expm1(x)"),
           "exp(x) - 1, exact near 0.", vjp="g * (out + 1)")
log = op("log", np.log, "log(x)", "Natural logarithm.", vjp="g / x")
log1p = op("log1p", np.log1p, "log1p(x)", "log(1 + x), exact near 0.", vjp="g / (x + 1)")
log2 = op("log2", np.log2, "log2(x)", "Logarithm to base 2.", vjp="g / (x * LN2)")
log10 = op("log10", np.log10, "log10(x)", "Logarithm to base 10.", vjp="g / (x * LN10)")
logaddexp = op("logaddexp", np.logaddexp, "logaddexp(x, y)", "log(exp(x1) + exp(x2)).",
               vjp=("g * exp(-logaddexp(0.0, y - x))", "g * exp(-logaddexp(0.0, x - y))"))
logaddexp2 = op("logaddexp2", np.logaddexp2, "logaddexp2(x, y)", "log2(2**x1 + 2**x2).",
                vjp=("g * exp2(-logaddexp2(0.0, y - x))", "g * exp2(-logaddexp2(0.0, x - y))"))

# --- trigonometry
sin = op("sin", np.sin, "sin(x)", "Sine of radians.", vjp="g * cos(x)")
cos = op("cos", np.cos, "cos(x)", "Cosine of radians.", vjp="-g * sin(x)")
tan = op("tan", np.tan, "tan(x)", "Tangent of radians.", vjp="g * (1 + out * out)")
asin = op("asin", np.arcsin, _INVERSE("asin(x)"), "Inverse sine, in radians.",
          vjp="g / sqrt(1 - x * x)")
acos = op("acos", np.arccos, _INVERSE("acos(x)"), "Inverse cosine, in radians.",
          vjp="-g / sqrt(1 - x * x)")
atan = op("atan", np.arctan, _INVERSE("atan(x)"), "Inverse tangent, in radians.",
          vjp="g / (1 + x * x)")
atan2 = op("atan2", np.arctan2, "atan2(x, y)", "Angle of the point (x2, x1), in radians.",
           vjp=("g * (y / hypot(x, y)) / hypot(x, y)", "-g * (x / hypot(x, y)) / hypot(x, y)"))
sinh = op("sinh", np.sinh, "sinh(x)", "Hyperbolic sine.", vjp="g * cosh(x)")
cosh = op("cosh", np.cosh, "cosh(x)", "Hyperbolic cosine.", vjp="g * sinh(x)")
tanh = op("tanh", np.tanh, Cuda("tanh(x)", standard="standard_tanh(x)"),
          "Hyperbolic tangent.", vjp="g * (1 - out * out)")
asinh = op("asinh", np.arcsinh, _INVERSE("asinh(x)"), "Inverse hyperbolic sine.",
           vjp="g / sqrt(x * x + 1)")
acosh = op("acosh", np.arccosh, _INVERSE("acosh(x)"), "Inverse hyperbolic cosine.",
           None, ([1.0, 2.0],), vjp="g / (sqrt(x - 1) * sqrt(x + 1))")
atanh = op("atanh", np.arctanh, _INVERSE("atanh(x)"), "Inverse hyperbolic tangent.",
           vjp="g / (1 - x * x)")
deg2rad = op("deg2rad", np.deg2rad, "deg2rad(x)", "Degrees as radians.", vjp="deg2rad(g)")
rad2deg = op("rad2deg", np.rad2deg, "rad2deg(x)", "Radians as degrees.", vjp="rad2deg(g)")

# --- rounding and the parts of a number
ceil = op("ceil", np.ceil, "ceil(x)", "The nearest integer not below.", None, _MIXED, vjp=(None,))
floor = op("floor", np.floor, "floor(x)", "The nearest integer not above.", None, _MIXED,
           vjp=(None,))
trunc = op("trunc", np.trunc, "trunc(x)", "The nearest integer towards 0.", None, _MIXED,
           vjp=(None,))
rint = op("rint", np.rint, "rint(x)", "The nearest integer, ties to even.", None, _MIXED,
          vjp=(None,))
copysign = op("copysign", np.copysign, "copysign(x, y)", "x1 with the sign of x2.", None, _MIXED,
              vjp=("g * sign(x) * signs(y)", None))
nextafter = op("nextafter", np.nextafter, "nextafter(x, y)", "Float next to x1 towards x2.")
spacing = op("spacing", np.spacing, "spacing(x)", "Distance to the next float away from 0.",
             vjp=(None,))
ldexp = op("ldexp", np.ldexp, "ldexp(x, y)",
           "x1 times 2 to the power of x2, rounded once; the inverse of frexp.", None,
           ([0.5, -0.75], [4, 0]), vjp=("ldexp(g, y)", None))
part("modf_fraction", np.modf, 0, "fraction(x)", "fraction", vjp="where(isinf(x), 0, g)")
part("modf_whole", np.modf, 1, "trunc(x)", "whole", vjp=(None,))
part("frexp_mantissa", np.frexp, 0, "mantissa(x)", "mantissa",
     vjp="ldexp(g, -frexp_exponent(x))")
part("frexp_exponent", np.frexp, 1, "exponent(x)", "exponent", vjp=(None,))
signbit = op("signbit", np.signbit, "signbit(x)", "The sign bit is set.", None, _MIXED)

# --- comparison and classification
equal = op("equal", np.equal, "equal(x, y)", "x1 == x2.", "eq")
not_equal = op("not_equal", np.not_equal, "!equal(x, y)", "x1 != x2.", "ne")
less = op("less", np.less, "less(x, y)", "x1 < x2.", "lt")
less_equal = op("less_equal", np.less_equal, "less_equal(x, y)", "x1 <= x2.", "le")
greater = op("greater", np.greater, "less(y, x)", "x1 > x2.", "gt")
greater_equal = op("greater_equal", np.greater_equal, "less_equal(y, x)", "x1 >= x2.", "ge")
isfinite = op("isfinite", np.isfinite, "isfinite(x)", "Neither infinite nor NaN.")
isinf = op("isinf", np.isinf, "isinf(x)", "Positive or negative infinity.")
isnan = op("isnan", np.isnan, "isnan(x)", "Not a number.")

# --- logic and bits
logical_and = op("logical_and", np.logical_and, Cuda("truth(x) && truth(y)", empty="Value(true)"),
                 "Both are true.", None, _BITS, associative=True, selects=True)
logical_or = op("logical_or", np.logical_or, Cuda("truth(x) || truth(y)", empty="Value(false)"),
                "Either is true.", None, _BITS, associative=True, selects=True)
logical_xor = op("logical_xor", np.logical_xor, Cuda("truth(x) != truth(y)", empty="Value(false)"),
                 "Exactly one is true.", None, _BITS, associative=True)
logical_not = op("logical_not", np.logical_not, "!truth(x)", "Not true.", None, _BITS)
bitwise_and = op("bitwise_and", np.bitwise_and, Cuda("x & y", empty="Value(~Value(0))"),
                 "Bits set in both.", "and", associative=True)
bitwise_or = op("bitwise_or", np.bitwise_or, Cuda("x | y", empty="Value(0)"),
                "Bits set in either.", "or", associative=True)
bitwise_xor = op("bitwise_xor", np.bitwise_xor, Cuda("x ^ y", empty="Value(0)"),
                 "Bits set in exactly one.", "xor", associative=True)
bitwise_invert = op("bitwise_invert", np.invert, "bitwise_invert(x)",
                    "Every bit flipped.", "invert")
bitwise_left_shift = op("bitwise_left_shift", np.left_shift, "left_shift(x, y)",
                        "Bits moved towards the high end.", "lshift")
bitwise_right_shift = op("bitwise_right_shift", np.right_shift, "right_shift(x, y)",
                         "Bits moved towards the low end, keeping the sign.", "rshift")
bitwise_count = op("bitwise_count", np.bitwise_count, "bitwise_count(x)",
                   "How many bits of the absolute value are set.")

_clip = op("clip", _clip_ufunc, "clip(x, y, z)", "x kept between y and z.", None,
           ([1.0, 5.0], [2.0, 2.0], [4.0, 4.0]),
           vjp=("where((x >= y) & (x <= z), g, 0)", "where((x < y) & (y <= z), g, 0)",
                "where(maximum(x, y) > z, g, 0)"))
# fmt: on

# --- NumPy's names
absolute = abs
arccos = acos
arccosh = acosh
arcsin = asin
arcsinh = asinh
arctan = atan
arctan2 = atan2
arctanh = atanh
conjugate = conj
degrees = rad2deg
radians = deg2rad
invert = bitwise_not = bitwise_invert
left_shift = bitwise_left_shift
mod = remainder
power = pow
right_shift = bitwise_right_shift
true_divide = divide


def _one_of(bound: Any, older: Any) -> Any:
    if bound is not None and older is not None:
        raise ValueError("[clip] min and a_min are the same, and so are max and a_max")
    return older if bound is None else bound


def _bounds_within(x: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return the bounds; one beyond all numbers of an integer dtype is none, as in NumPy."""
    dtype = getattr(x, "dtype", None)  # an array's, too
    if getattr(dtype, "kind", "") not in ("i", "u"):
        return low, high
    limits = np.iinfo(dtype)
    return (
        None if type(low) is int and low <= limits.min else low,
        None if type(high) is int and high >= limits.max else high,
    )


def _given(where: Any, casting: Any, order: Any, dtype: Any) -> dict[str, Any]:
    """Return the options of a call; none where all of them have their defaults."""
    if where is True and casting == "same_kind" and order == "K" and dtype is None:
        return {}
    return {"where": where, "casting": casting, "order": order, "dtype": dtype}


def clip(
    x: Any,
    /,
    min: Any = None,
    max: Any = None,
    out: Any = None,
    *,
    a_min: Any = None,
    a_max: Any = None,
    where: Any = True,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
) -> Tensor:
    """Return x, kept between min and max.

    Parameters
    ----------
    x : Tensor, array or scalar
        Operand.
    min, max : Tensor, array or scalar, optional
        Bounds; None: no bound on this side. Where min exceeds max the result is max.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.
    a_min, a_max
        Older names of min and max.
    where, casting, order, dtype
        As for ``maximum``.

    Returns
    -------
    Tensor
        Of the promoted dtype of all operands.

    Raises
    ------
    ValueError
        Where a bound is given by both of its names.

    Examples
    --------
    >>> flow.clip(flow.tensor([-1.0, 0.5, 2.0]), 0.0, 1.0).numpy()
    array([0. , 0.5, 1. ])
    """
    if a_min is not None or a_max is not None:
        min, max = _one_of(min, a_min), _one_of(max, a_max)
    if not (isinstance(min, Tensor) or isinstance(max, Tensor)):
        x = asarray(x)
    min, max = _bounds_within(x, min, max)
    options = _given(where, casting, order, dtype)
    if min is None and max is None:
        if out is None and not options:
            return _like_it(asarray(x))
        return positive(x, out=out, **options)
    if max is None:
        return maximum(x, min, out=out, **options)
    if min is None:
        return minimum(x, max, out=out, **options)
    clipped: Tensor = _clip(x, min, max, out=out, **options)
    return clipped


def _like_it(x: Tensor) -> Tensor:
    """A copy with x's order of axes."""
    return _C.astype(x, x.dtype, True)


def round(x: Any, /, decimals: SupportsIndex = 0, out: Any = None) -> Tensor:
    """Return the nearest numbers with so many decimals, ties to even, in the dtype of x.

    Parameters
    ----------
    x : Tensor, array or scalar
        Operand; integers are changed by negative ``decimals`` only.
    decimals : int
        Negative: tens, hundreds and so on.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.

    Examples
    --------
    >>> flow.round(flow.tensor([0.5, 1.5, -2.7])).numpy()
    array([ 0.,  2., -3.])
    >>> flow.round(flow.tensor([3.14159]), 2).item()
    3.14
    """
    given, digits = asarray(x), operator.index(decimals)
    if isdtype(given.dtype, "integral") and digits >= 0:
        rounded = _like_it(given) if out is None else given
    elif digits == 0:
        rounded = rint(given)
    elif given.dtype == bool_dtype and out is None:
        raise TypeError(f"[round] bool has no decimals, got {digits}")
    elif isdtype(given.dtype, "complex floating"):
        rounded = _like_it(given)
        for part in (rounded.real, rounded.imag):
            round(part, digits, out=part)
    else:
        rounded = _scaled_and_rounded(given, digits, out)
    if out is None:
        return rounded
    nearest: Tensor = store("round", out, rounded, widens=True)
    return nearest


def _scaled_and_rounded(x: Tensor, digits: int, out: Any) -> Tensor:
    """Real numbers with so many decimals; the steps are rounded to the dtype of ``out``, if any."""
    if not -(2**31) <= digits < 2**31:
        raise OverflowError(f"[round] decimals: expected an integer of 32 bits, got {digits}")
    power = builtins.abs(digits)
    scale = 10.0**power if power <= 308 else math.inf  # the result is then NaN, as NumPy's
    up, down = (multiply, divide) if digits > 0 else (divide, multiply)
    scaled, wanted = up(x, scale), x.dtype
    if out is not None and (target := native(required_target("round", out).dtype)) is not None:
        wanted = target
        _C.require_castable("round", scaled.dtype, wanted, "same_kind")
        scaled = _C.astype(scaled, wanted, False)
    return _C.astype(down(rint(scaled), scale), wanted, False)


def real(x: Any, /) -> Tensor:
    """Return the real part: a view of a complex tensor, x itself otherwise.

    Examples
    --------
    >>> flow.real(flow.tensor([1 + 2j])).numpy()
    array([1.])
    """
    return asarray(x).real


@_C.native(_C.paths.imag)
def imag(x: Any, /) -> Tensor:
    """Return the imaginary part: a view of a complex tensor, zeros otherwise.

    Examples
    --------
    >>> flow.imag(flow.tensor([1 + 2j])).numpy()
    array([2.])
    """
    return asarray(x).imag


around = round  # NumPy's other name

if not TYPE_CHECKING:
    __all__ = exported(globals())
