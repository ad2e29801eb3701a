"""The table of elementwise operations: a row each, and the names that NumPy has for them.

To add an operation, add a row: ``name = op(name, ufunc, CUDA text, cost, summary, operator)``.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy._core.umath import clip as _clip_ufunc  # type: ignore[attr-defined]

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import isdtype
from oneflow_lite.ops.creation import asarray
from oneflow_lite.ops.table import exported, op

_BITS = ([True, False], [True, True])
_MIXED = ([-1.5, 2.5], [2.0, -2.0])

# fmt: off
# --- arithmetic
add = op("add", np.add, "x + y", 1, "Sum.", "add")
subtract = op("subtract", np.subtract, "x - y", 1, "Difference.", "sub")
multiply = op("multiply", np.multiply, "x * y", 1, "Product.", "mul")
divide = op("divide", np.divide, "x / y", 4, "True quotient.", "truediv")
floor_divide = op("floor_divide", np.floor_divide, "floor(x / y)", 6, "Quotient, rounded down.",
                  "floordiv")
remainder = op("remainder", np.remainder, "x - y * floor(x / y)", 8,
               "Remainder of the floored quotient; it has the divisor's sign.", "mod", _MIXED)
pow = op("pow", np.power, "pow(x, y)", 20, "First operand to the power of the second.", "pow")
negative = op("negative", np.negative, "-x", 1, "Negation.", "neg")
positive = op("positive", np.positive, "x", 1, "A copy.", "pos")
abs = op("abs", np.absolute, "abs(x)", 1, "Absolute value; the modulus of a complex number.", "abs",
         _MIXED)
reciprocal = op("reciprocal", np.reciprocal, "1 / x", 4, "One over x.")
square = op("square", np.square, "x * x", 1, "x times x.")
sqrt = op("sqrt", np.sqrt, "sqrt(x)", 6, "Square root.")
hypot = op("hypot", np.hypot, "hypot(x, y)", 10, "Square root of the sum of squares, no overflow.")
maximum = op("maximum", np.maximum, "max(x, y)", 1, "The larger; NaN where either is NaN.")
minimum = op("minimum", np.minimum, "min(x, y)", 1, "The smaller; NaN where either is NaN.")
sign = op("sign", np.sign, "(x > 0) - (x < 0)", 2, "-1, 0 or 1; x / abs(x) of a complex number.",
          None, _MIXED)
conj = op("conj", np.conjugate, "conj(x)", 1, "Complex conjugate.", None, ([1 + 2j, 3 - 1j],))

# --- exponents and logarithms
exp = op("exp", np.exp, "exp(x)", 10, "e to the power of x.")
expm1 = op("expm1", np.expm1, "expm1(x)", 15, "exp(x) - 1, exact near 0.")
log = op("log", np.log, "log(x)", 10, "Natural logarithm.")
log1p = op("log1p", np.log1p, "log1p(x)", 15, "log(1 + x), exact near 0.")
log2 = op("log2", np.log2, "log2(x)", 10, "Logarithm to base 2.")
log10 = op("log10", np.log10, "log10(x)", 12, "Logarithm to base 10.")
logaddexp = op("logaddexp", np.logaddexp, "logaddexp(x, y)", 30, "log(exp(x1) + exp(x2)).")

# --- trigonometry
sin = op("sin", np.sin, "sin(x)", 12, "Sine of radians.")
cos = op("cos", np.cos, "cos(x)", 12, "Cosine of radians.")
tan = op("tan", np.tan, "tan(x)", 20, "Tangent of radians.")
asin = op("asin", np.arcsin, "asin(x)", 15, "Inverse sine, in radians.")
acos = op("acos", np.arccos, "acos(x)", 15, "Inverse cosine, in radians.")
atan = op("atan", np.arctan, "atan(x)", 15, "Inverse tangent, in radians.")
atan2 = op("atan2", np.arctan2, "atan2(x, y)", 20, "Angle of the point (x2, x1), in radians.")
sinh = op("sinh", np.sinh, "sinh(x)", 20, "Hyperbolic sine.")
cosh = op("cosh", np.cosh, "cosh(x)", 20, "Hyperbolic cosine.")
tanh = op("tanh", np.tanh, "tanh(x)", 12, "Hyperbolic tangent.")
asinh = op("asinh", np.arcsinh, "asinh(x)", 20, "Inverse hyperbolic sine.")
acosh = op("acosh", np.arccosh, "acosh(x)", 20, "Inverse hyperbolic cosine.", None, ([1.0, 2.0],))
atanh = op("atanh", np.arctanh, "atanh(x)", 20, "Inverse hyperbolic tangent.")

# --- rounding and the parts of a number
ceil = op("ceil", np.ceil, "ceil(x)", 1, "The nearest integer not below.", None, _MIXED)
floor = op("floor", np.floor, "floor(x)", 1, "The nearest integer not above.", None, _MIXED)
trunc = op("trunc", np.trunc, "trunc(x)", 1, "The nearest integer towards 0.", None, _MIXED)
rint = op("rint", np.rint, "rint(x)", 1, "The nearest integer, ties to even.", None, _MIXED)
copysign = op("copysign", np.copysign, "copysign(x, y)", 2, "x1 with the sign of x2.", None, _MIXED)
nextafter = op("nextafter", np.nextafter, "nextafter(x, y)", 10, "Float next to x1 towards x2.")
signbit = op("signbit", np.signbit, "signbit(x)", 1, "The sign bit is set.", None, _MIXED)

# --- comparison and classification
equal = op("equal", np.equal, "x == y", 1, "x1 == x2.", "eq")
not_equal = op("not_equal", np.not_equal, "x != y", 1, "x1 != x2.", "ne")
less = op("less", np.less, "x < y", 1, "x1 < x2.", "lt")
less_equal = op("less_equal", np.less_equal, "x <= y", 1, "x1 <= x2.", "le")
greater = op("greater", np.greater, "x > y", 1, "x1 > x2.", "gt")
greater_equal = op("greater_equal", np.greater_equal, "x >= y", 1, "x1 >= x2.", "ge")
isfinite = op("isfinite", np.isfinite, "isfinite(x)", 1, "Neither infinite nor NaN.")
isinf = op("isinf", np.isinf, "isinf(x)", 1, "Positive or negative infinity.")
isnan = op("isnan", np.isnan, "isnan(x)", 1, "Not a number.")

# --- logic and bits
logical_and = op("logical_and", np.logical_and, "x && y", 1, "Both are true.", None, _BITS)
logical_or = op("logical_or", np.logical_or, "x || y", 1, "Either is true.", None, _BITS)
logical_xor = op("logical_xor", np.logical_xor, "!x != !y", 1, "Exactly one is true.", None, _BITS)
logical_not = op("logical_not", np.logical_not, "!x", 1, "Not true.", None, _BITS)
bitwise_and = op("bitwise_and", np.bitwise_and, "x & y", 1, "Bits set in both.", "and")
bitwise_or = op("bitwise_or", np.bitwise_or, "x | y", 1, "Bits set in either.", "or")
bitwise_xor = op("bitwise_xor", np.bitwise_xor, "x ^ y", 1, "Bits set in exactly one.", "xor")
bitwise_invert = op("bitwise_invert", np.invert, "~x", 1, "Every bit flipped.", "invert")
bitwise_left_shift = op("bitwise_left_shift", np.left_shift, "x << y", 1,
                        "Bits moved towards the high end.", "lshift")
bitwise_right_shift = op("bitwise_right_shift", np.right_shift, "x >> y", 1,
                         "Bits moved towards the low end, keeping the sign.", "rshift")

_clip = op("clip", _clip_ufunc, "min(max(x, y), z)", 2, "x kept between y and z.", None,
           ([1.0, 5.0], [2.0, 2.0], [4.0, 4.0]))
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
invert = bitwise_not = bitwise_invert
left_shift = bitwise_left_shift
mod = remainder
power = pow
right_shift = bitwise_right_shift
true_divide = divide


def clip(x: Any, /, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    """Return x, kept between min and max.

    Parameters
    ----------
    x : Tensor, array or scalar
        Operand.
    min, max : Tensor, array or scalar, optional
        Bounds; None: no bound on this side. Where min exceeds max the result is max.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        Of the promoted dtype of all operands.

    Examples
    --------
    >>> flow.clip(flow.tensor([-1.0, 0.5, 2.0]), 0.0, 1.0).numpy()
    array([0. , 0.5, 1. ])
    """
    if not (isinstance(min, Tensor) or isinstance(max, Tensor)):
        x = asarray(x)
    if isinstance(x, Tensor) and isdtype(x.dtype, "integral"):
        # A bound beyond all numbers of the dtype is none, as in NumPy.
        limits = np.iinfo(x.dtype)
        min = None if type(min) is int and min <= limits.min else min
        max = None if type(max) is int and max >= limits.max else max
    if min is None and max is None:
        return positive(x, out=out) if out is not None else _C.copy(asarray(x))
    if max is None:
        return maximum(x, min, out=out)
    if min is None:
        return minimum(x, max, out=out)
    return _clip(x, min, max, out=out)


def round(x: Any, /, *, out: Tensor | None = None) -> Tensor:
    """Return the nearest integers, ties to even, in the dtype of x (integers are copied).

    Examples
    --------
    >>> flow.round(flow.tensor([0.5, 1.5, -2.7])).numpy()
    array([ 0.,  2., -3.])
    """
    given = asarray(x)
    if not isdtype(given.dtype, "integral"):
        return rint(given, out=out)
    return _C.copy(given) if out is None else positive(given, out=out)


def real(x: Any, /) -> Tensor:
    """Return the real part: a view of a complex tensor, x itself otherwise."""
    return asarray(x).real


def imag(x: Any, /) -> Tensor:
    """Return the imaginary part: a view of a complex tensor, zeros otherwise."""
    return asarray(x).imag


if not TYPE_CHECKING:
    __all__ = exported(globals())
