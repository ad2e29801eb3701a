"""How far a row's result on a CUDA device, by a kernel of its own, may be from NumPy's.

Rows that are not named here have NumPy's bits, and so have all integers and bool. What NumPy gives
as NaN, infinity or zero, sign included, the device gives so, too: bounds are for other values.
"""

from collections.abc import Sequence

import numpy as np

# Largest errors in float32 and float64, in units in the last place, that the appendix on
# mathematical functions of the CUDA C++ Programming Guide states (tests of NVIDIA, no proofs).
_OF_CUDA = {
    **{"cbrt": (1, 1), "hypot": (3, 2), "pow": (4, 2), "float_power": (4, 2)},
    **{"exp": (2, 1), "exp2": (2, 1), "expm1": (1, 1), "log": (1, 1), "log1p": (1, 1)},
    **{"log2": (1, 1), "log10": (2, 1), "sin": (2, 2), "cos": (2, 2), "tan": (4, 2)},
    **{"asin": (2, 2), "acos": (2, 2), "atan": (2, 2), "atan2": (3, 2)},
    **{"sinh": (3, 2), "cosh": (2, 1), "tanh": (2, 1)},
    **{"asinh": (3, 3), "acosh": (4, 3), "atanh": (3, 2)},
    # log1p(exp(x)), in units of 1 at least: a sum of terms may cancel
    **{"logaddexp": (3, 2), "logaddexp2": (3, 2)},
}
# Made of a row, and one rounded product or quotient: relative errors stay, units may be halved.
_MADE_OF = {"angle in degrees": "atan2", "sinc": "sin"}
_OF_NUMPY = 4  # what its own vectorized loops may be wrong by
_OF_FLOAT16 = 2  # one rounding to float16 of a result that is right in float32; NumPy's loops: one
# Of complex numbers errors are in units of the modulus; what is not here has twice a real bound.
# Some of NumPy's loops make products and quotients with multiply-add.
_OF_COMPLEX = {
    **dict.fromkeys(("multiply", "square", "abs", "sqrt", "sign"), 4),
    **dict.fromkeys(("divide", "reciprocal"), 6),
}
# Which of -0 and 0 wins differs from one of NumPy's loops to the other.
_ANY_ZERO = ("maximum", "minimum", "fmax", "fmin", "clip")

Given = Sequence[np.ndarray]


def is_exact(name: str, *dtypes: str) -> bool:
    """A row's results on operands of these dtypes are NumPy's bits."""
    inexact = {*_OF_CUDA, *_ANY_ZERO}
    if any(np.dtype(dtype).kind == "c" for dtype in dtypes):
        inexact.update(_OF_COMPLEX)
    return name not in inexact


def agrees(name: str, given: Given, expected: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Where the device's result is one that it may have; the operands were NumPy's, too."""
    if expected.dtype.kind == "V":  # bfloat16, of whose NaN NumPy does not know
        expected, seen = expected.astype(np.float32), seen.astype(np.float32)
    with np.errstate(all="ignore"):
        if expected.dtype.kind == "c":
            return _complex_agrees(name, given, expected, seen)
        good = _same(expected, seen)
        if expected.dtype.kind != "f":
            return good
        if name in _ANY_ZERO:
            return good | (expected == seen)
        if name == "abs" and given[0].dtype.kind == "c":
            return good | _near(expected, seen, _OF_COMPLEX[name])
        return good | _near(expected, seen, _ulps(name, expected.dtype), _least(name))


def _same(expected: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Bit for bit, but for the sign and payload of NaN."""
    same = expected == seen
    if expected.dtype.kind != "f":
        return np.asarray(same)
    same &= np.signbit(expected) == np.signbit(seen)
    return np.asarray(same | (np.isnan(expected) & np.isnan(seen)))


def _near(
    expected: np.ndarray, seen: np.ndarray, ulps: float | np.ndarray, least: float = 0
) -> np.ndarray:
    """Within so many units in the last place, of `least` at least; not NaN, infinite or 0."""
    unit = np.spacing(np.maximum(np.abs(expected), np.asarray(least, expected.real.dtype)))
    plain = np.isfinite(expected) & (expected != 0) & (seen != 0)
    return np.asarray(plain & (np.abs(seen - expected) <= ulps * unit))


def _least(name: str) -> float:
    """Sums of terms that cancel are wrong in units of the terms."""
    return 1 if name in ("logaddexp", "logaddexp2") else 0


def _ulps(name: str, dtype: np.dtype) -> int:
    """Of a function of real numbers: the device's error and NumPy's."""
    if name in _MADE_OF:
        return 2 * _ulps(_MADE_OF[name], dtype) + 1
    if name not in _OF_CUDA:
        return 0
    single, double = _OF_CUDA[name]
    return {2: _OF_FLOAT16, 4: single + _OF_NUMPY, 8: double + _OF_NUMPY}[dtype.itemsize]


def _complex_agrees(name: str, given: Given, expected: np.ndarray, seen: np.ndarray) -> np.ndarray:
    ulps = _OF_COMPLEX.get(name) or 2 * _ulps(name, expected.real.dtype)
    scaled = ulps * _growth(name, given)
    parts = ((expected.real, seen.real), (expected.imag, seen.imag))
    good, signs = np.ones(expected.shape, bool), np.ones(expected.shape, bool)
    for wanted, part in parts:
        # Beside NaN an infinity has any sign.
        beside_nan = np.isnan(expected) & (np.abs(wanted) == np.abs(part))
        good &= _same(wanted, part) | beside_nan | _near(wanted, part, scaled)
        signs &= (wanted != 0) | (part != 0) | (np.signbit(wanted) == np.signbit(part))
    open_ = scaled * np.finfo(expected.dtype).eps >= 1  # nothing is known of the angle
    if name in ("multiply", "square"):  # by multiply-add or not, terms out of range make others
        terms = [np.abs(x * y) for x in _parts(given[0]) for y in _parts(given[-1])]
        tiny = np.finfo(expected.dtype).tiny
        open_ = np.any([np.isinf(t) for t in terms], axis=0) & ~np.isfinite(seen)
        signs |= np.any([t < tiny for t in terms], axis=0)
    return np.asarray(good | open_ | (signs & np.isfinite(seen) & _near(expected, seen, scaled)))


def _parts(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return z.real, z.imag


def _growth(name: str, given: Given) -> float | np.ndarray:
    """What a function makes of a relative error of 1 in what it computes first, at least 1."""
    if name not in ("pow", "float_power"):
        return 1
    exponent = given[1] * np.log(given[0].astype(np.complex128))  # of e
    return np.fmax(np.abs(exponent), 1)
