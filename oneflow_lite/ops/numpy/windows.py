"""Windows: weights that fall off towards both ends of a row of samples."""

import math
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import float64, isdtype
from oneflow_lite.ops.creation.data import asarray, ones, zeros
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import abs, cos, exp, maximum, minimum, sqrt
from oneflow_lite.ops.table import exported

# Chebyshev coefficients of exp(-x) I0(x) for x up to 8, and of exp(-x) sqrt(x) I0(x) beyond: those
# of the Cephes library, which NumPy's i0 has.
_UP_TO_8 = (
    *(-4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16),
    *(1.71539128555513303061e-15, -1.16853328779934516808e-14, 7.67618549860493561688e-14),
    *(-4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11),
    *(9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9),
    *(-1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7),
    *(1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5),
    *(-5.75419501008210370398e-5, 1.88502885095841655729e-4, -5.76375574538582365885e-4),
    *(1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2),
    *(-2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2),
    *(1.71620901522208775349e-1, -3.04682672343198398683e-1, 6.76795274409476084995e-1),
)
_BEYOND_8 = (
    *(-7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17),
    *(3.46122286769746109310e-17, -2.82762398051658348494e-16, -3.42548561967721913462e-16),
    *(1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15),
    *(-4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13),
    *(7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11),
    *(-3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10),
    *(3.39623202570838634515e-9, 2.26666899049817806459e-8, 2.04891858946906374183e-7),
    *(2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3),
    *(8.04490411014108831608e-1,),
)


def bartlett(M: Any, *, device: DeviceLike = None) -> Tensor:  # noqa: N803 - NumPy's name
    """Return the Bartlett window: a triangle that is 0 at both ends.

    Parameters
    ----------
    M : int
        How many points; a tensor is looked at.
    device : Device or str, optional
        Where the window goes.

    Returns
    -------
    Tensor
        Of shape (M,) and dtype float64; empty where M is less than 1, and [1.0] for 1.

    Examples
    --------
    >>> flow.bartlett(5).numpy()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    n, last, whole = _places("bartlett", M, device)
    if whole is not None:
        return whole
    part = n / last
    return _C.where(n <= 0, 1 + part, 1 - part)


def blackman(M: Any, *, device: DeviceLike = None) -> Tensor:  # noqa: N803
    """Return the Blackman window, a sum of three cosines. Parameters as for ``bartlett``.

    Examples
    --------
    >>> flow.blackman(5).round(4).numpy()
    array([-0.  ,  0.34,  1.  ,  0.34, -0.  ])
    """
    n, last, whole = _places("blackman", M, device)
    if whole is not None:
        return whole
    one, two = cos(math.pi * n / last), cos(2.0 * math.pi * n / last)
    weights: Tensor = 0.42 + 0.5 * one + 0.08 * two
    return weights


def hamming(M: Any, *, device: DeviceLike = None) -> Tensor:  # noqa: N803
    """Return the Hamming window, a raised cosine. Parameters as for ``bartlett``.

    Examples
    --------
    >>> flow.hamming(5).round(4).numpy()
    array([0.08, 0.54, 1.  , 0.54, 0.08])
    """
    n, last, whole = _places("hamming", M, device)
    return 0.54 + 0.46 * cos(math.pi * n / last) if whole is None else whole


def hanning(M: Any, *, device: DeviceLike = None) -> Tensor:  # noqa: N803
    """Return the Hann window, a cosine that is 0 at both ends. Parameters as for ``bartlett``.

    Examples
    --------
    >>> flow.hanning(5).round(4).numpy()
    array([0. , 0.5, 1. , 0.5, 0. ])
    """
    n, last, whole = _places("hanning", M, device)
    return 0.5 + 0.5 * cos(math.pi * n / last) if whole is None else whole


def kaiser(M: Any, beta: Any, *, device: DeviceLike = None) -> Tensor:  # noqa: N803
    """Return the Kaiser window, made of Bessel functions; see ``i0``.

    Parameters
    ----------
    M : int
        How many points; a tensor is looked at.
    beta : float or Tensor
        The shape of the window: 0 is a rectangle. A tensor has no dimension, and is not looked at.
    device : Device or str, optional
        Where the window goes: by default to the device of beta.

    Returns
    -------
    Tensor
        Of shape (M,) and dtype float64; empty where M is less than 1, and [1.0] for 1.

    Examples
    --------
    >>> flow.kaiser(3, 14).round(8).numpy()
    array([7.73e-06, 1.00e+00, 7.73e-06])
    """
    count = _number("kaiser", M)
    width = asarray(beta, device=device)
    if width.ndim:
        raise ValueError(f"[kaiser] expected beta to be a number, got shape {width.shape}")
    width = _C.astype(width, float64, False)
    if count == 1:
        return ones(1, float64, device=width.device)
    half = (count - 1) / 2.0
    n = arange(0, count, device=width.device)
    return i0(width * sqrt(1 - ((n - half) / half) ** 2.0)) / i0(width)


def i0(x: Any) -> Tensor:
    """Return the modified Bessel function of the first kind, of order 0.

    Parameters
    ----------
    x : Tensor, array or scalar
        Real numbers.

    Returns
    -------
    Tensor
        Of the shape of x, and of its dtype where that is floating-point; else of float64.

    Raises
    ------
    TypeError
        For complex numbers.

    Notes
    -----
    A sum of Chebyshev polynomials, with the coefficients of the Cephes library, as in NumPy.

    Examples
    --------
    >>> flow.i0(flow.tensor([0.0, 1.0])).round(6).numpy()
    array([1.      , 1.266066])
    """
    given = asarray(x)
    if isdtype(given.dtype, "complex floating"):
        raise TypeError(f"[i0] expected real numbers, got {given.dtype}")
    if not isdtype(given.dtype, "real floating"):
        given = _C.astype(given, float64, False)
    given = abs(given)
    # Both sums are made of all numbers, of none for which one is not there.
    low, high = minimum(given, 8.0), maximum(given, 8.0)
    near = exp(low) * _chebyshev(low / 2.0 - 2, _UP_TO_8)
    far = exp(high) * _chebyshev(32.0 / high - 2.0, _BEYOND_8) / sqrt(high)
    return _C.where(given <= 8.0, near, far)


def _chebyshev(x: Tensor, factors: tuple[float, ...]) -> Tensor:
    """Return a sum of Chebyshev polynomials by Clenshaw's recurrence, the highest first."""
    b0: Any = factors[0]
    b1: Any = 0.0
    b2: Any = 0.0
    for factor in factors[1:]:
        b0, b1, b2 = x * b0 - b1 + factor, b0, b1
    total: Tensor = 0.5 * (b0 - b2)
    return total


def _number(op: str, x: Any) -> float:
    """Return how many points there are, of float64 as in NumPy; a tensor is looked at."""
    return float(_C.look(op, x) if isinstance(x, Tensor) else x)


def _places(op: str, count: Any, device: DeviceLike) -> tuple[Any, float, Tensor | None]:
    """Return the places of the points, twice as far from the middle, and the last one; or the
    whole window, of less than two points.
    """
    number = _number(op, count)
    if number < 1:
        return None, 0.0, zeros(0, float64, device=device)
    if number == 1:
        return None, 0.0, ones(1, float64, device=device)
    return arange(1 - number, number, 2, device=device), number - 1, None


if not TYPE_CHECKING:
    __all__ = exported(globals())
