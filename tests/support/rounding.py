"""When a reduction of a device's own kernels is right: exact where NumPy's is, and where the order
of sums decides how they are rounded, as near to the exact value as short chains of sums come.
And which roundings the functions of the C library have: glibc's releases differ.
"""

import math
from typing import Any

import numpy as np

import oneflow_lite as flow
from tests.support.oracle import same

_WIDER = {"float16": "float64", "float32": "float64", "float64": "longdouble"}
_WIDER |= {"complex64": "complex128", "complex128": "clongdouble"}
_EXTREMES = ("max", "min", "nanmax", "nanmin", "ptp")
_STEPS = 16  # roundings of a value on its way, for as many elements as tests have
# Results of functions whose products and sums are fused. glibc has these from 2.39 on, and in
# updates of earlier releases. Other releases give the number before or after.
OF_FUSED = {
    "log2 float64": {
        "0x1.a9620103e60b3p-1": "-0x1.11cc9747ad9f1p-2",
        "0x1.c7be84dd694c3p-1": "-0x1.57e6295f3399bp-3",
        "0x1.7f6288173c742p+0": "0x1.2a510e8ecad4bp-1",
    },
    "log1p float64": {
        "0x1.1fb04d1bb22f3p-1": "0x1.c89973b0de02bp-2",
        "0x1.8dbcc1f57d286p-2": "0x1.5009fafbae7e4p-2",
        "0x1.ff70ab36bdf4dp-3": "0x1.c88ccf092ee24p-3",
    },
    "expm1 float64": {
        "0x1.12ac62d938506p-2": "0x1.3b0a012b7bee7p-2",
        "0x1.68a48bcd91be6p-2": "0x1.b04fb03e32446p-2",
        "0x1.0f155b1c81a82p+0": "0x1.e21cf3def7587p+0",
    },
}
_PARTS = dict.fromkeys(("sinh float64", "cosh float64"), "expm1 float64")  # functions they call
_PARTS |= dict.fromkeys(("atanh float64", "asinh float64", "acosh float64"), "log1p float64")


def has_own_kernels(device: flow.Device) -> bool:
    """Whether reductions on the device have other bits than the host's."""
    return device.type == "cuda" and bool(flow.flags.cuda_kernels)


def wider(x: np.ndarray) -> np.ndarray:
    return x.astype(_WIDER.get(x.dtype.name, x.dtype.name))


def agrees(name: str, expected: Any, seen: flow.Tensor, x: np.ndarray, **keywords: Any) -> None:
    """Fail unless a reduction of x, by this name, is NumPy's or nearer to the exact value.

    ``expected`` is NumPy's, ``keywords`` are those of the call.
    """
    expected = np.asarray(expected)
    if not has_own_kernels(seen.device) or expected.dtype.kind not in "fc":
        same(expected, seen)
        return
    if name in _EXTREMES:  # which of -0 and 0 wins is open
        same(expected + 0, seen.numpy() + 0)
        return
    assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype)
    given = wider(x if "dtype" not in keywords else x.astype(keywords["dtype"]))
    options = {k: v for k, v in keywords.items() if k != "dtype"}
    with np.errstate(all="ignore"):
        exact = np.asarray(getattr(np, name)(given, **options))
        scale = np.asarray(_scale(name, given, exact, options))
    near(exact, seen.numpy(), scale, expected)


def agrees_in_sums(size: Any, expected: Any, seen: flow.Tensor) -> None:
    """Fail unless a result that is made of sums is NumPy's, or as near as another order comes.

    ``size`` is the same result of the terms' absolute values: roundings are proportional to it.
    """
    expected = np.asarray(expected)
    if not has_own_kernels(seen.device) or expected.dtype.kind not in "fc":
        same(expected, seen)
        return
    assert (seen.shape, seen.dtype) == (expected.shape, expected.dtype)
    near(expected, seen.numpy(), np.abs(np.asarray(size)))


def near(
    exact: np.ndarray, seen: np.ndarray, scale: np.ndarray, expected: np.ndarray | None = None
) -> None:
    """Fail unless ``seen`` is ``exact`` rounded, or off by some roundings of ``scale``; or what is
    expected, as where sums of a narrow dtype overflow."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(seen.dtype)
        allowed = _STEPS * np.finfo(seen.dtype).eps * scale.astype(rounded.real.dtype)
        numpys = rounded if expected is None else expected
        for part in ("real", "imag"):
            one, other, third = (getattr(x, part) for x in (rounded, seen, numpys))
            alike = _equal(one, other) | _equal(third, other)
            alike |= np.isfinite(one) & (np.abs(one - other) <= allowed)
            assert alike.all(), (one[~alike][:5], other[~alike][:5], allowed[~alike][:5])


def _equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray((x == y) | (np.isnan(x) & np.isnan(y)))


def _scale(name: str, x: np.ndarray, exact: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    """What errors of the result are proportional to."""
    size = np.abs(x if x.dtype.kind in "fc" else x.astype(np.float64))  # squares wrap around
    size = np.where(np.isfinite(size), size, 0)
    if "prod" in name:
        return np.abs(exact) * x.size
    if name in ("var", "std", "nanvar", "nanstd"):
        squares = np.mean(
            size**2, **{k: v for k, v in options.items() if k in ("axis", "keepdims")}
        )
        return 2 * (np.sqrt(squares) if name.endswith("std") else squares)
    return np.asarray(getattr(np, name.removeprefix("nan"))(size, **options))


def of_products(x: np.ndarray) -> np.ndarray:
    """Floats whose products neither overflow nor vanish in any order."""
    if x.dtype.kind not in "fc":
        return x
    near_one = np.where(np.arange(x.size).reshape(x.shape) % 2, 1 + x / 64, 1 / (1 + x / 64))
    return np.asarray(np.where(np.abs(x) < 9, near_one, np.where(np.isnan(x), x, 1)), x.dtype)


def is_as_fused(name: str) -> bool:
    """Whether the C library's function of this name and dtype is the fused one, or calls it; True
    of others.
    """
    name = _PARTS.get(name, name)
    function = getattr(math, name.split()[0], None)
    return function is None or all(
        function(float.fromhex(x)) == float.fromhex(y) for x, y in OF_FUSED.get(name, {}).items()
    )
