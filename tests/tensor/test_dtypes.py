"""Element types: names, promotion, limits."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES


def test_names_are_numpys() -> None:
    for name in DTYPES:
        assert getattr(flow, name) == np.dtype(name)
        assert flow.zeros(1, dtype=name).dtype is flow.zeros(1, dtype=getattr(flow, name)).dtype


@pytest.mark.parametrize("a", DTYPES)
def test_promotion(a: str) -> None:
    for b in DTYPES:
        x, y = flow.zeros(1, dtype=a), flow.zeros(1, dtype=b)
        expected = np.promote_types(a, b)
        assert flow.promote(a, b) == flow.result_type(a, b) == flow.result_type(x, y) == expected
        assert flow.can_cast(a, b) == flow.can_cast(x, b) == np.can_cast(a, b)
        assert (x + y).dtype == expected if a != "bool" or b != "bool" else True
        assert flow.where(flow.tensor([True]), x, y).dtype == expected
        assert flow.concat([x, y]).dtype == expected
    for scalar in (True, 1, 1.0, 1j):
        assert flow.result_type(flow.zeros(1, dtype=a), scalar) == np.result_type(
            np.zeros(1, a), scalar
        )


@pytest.mark.parametrize(
    "bad",
    [
        None,
        "object",
        "U3",
        object,
        str,
        "M8[s]",
        np.longdouble,
        "float128",
        "nope",
        3,
        [("a", int)],
        np.dtype("V3"),
        "int7",
        float("nan"),
    ],
    ids=repr,
)
def test_unsupported(bad: Any) -> None:
    calls = [
        lambda: flow.zeros(1).astype(bad),
        lambda: flow.promote(bad, "int8"),
        lambda: flow.isdtype(bad, "bool"),
        lambda: flow.zeros(1).to(bad),
    ]
    if bad is not None:  # NumPy's choice
        calls += [
            lambda: flow.zeros(1, dtype=bad),
            lambda: flow.tensor([1], dtype=bad),
            lambda: flow.arange(3, dtype=bad),
        ]
    for call in calls:
        with pytest.raises((TypeError, ValueError), match=r"\[\w+\]"):
            call()


def test_byte_order_does_not_matter() -> None:
    assert flow.zeros(1, dtype=">f4").dtype == "float32"
    assert flow.tensor(np.arange(3, dtype=">i2")).dtype == "int16"


def test_isdtype() -> None:
    kinds = [
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
        "numeric",
    ]
    for name in DTYPES:
        for kind in kinds:
            assert flow.isdtype(name, kind) == np.isdtype(np.dtype(name), kind)
        assert flow.isdtype(name, ("bool", "numeric"))
        assert flow.isdtype(name, np.dtype(name))
    with pytest.raises(ValueError, match=r"\[isdtype\] unknown kind 'float'"):
        flow.isdtype("float32", "float")


@pytest.mark.parametrize("name", DTYPES)
def test_limits(name: str) -> None:
    kind = np.dtype(name).kind
    if kind in "iu":
        expected, limits = np.iinfo(name), flow.iinfo(name)
        assert (limits.bits, limits.max, limits.min) == (expected.bits, expected.max, expected.min)
        assert limits.dtype == name
        assert flow.iinfo(flow.zeros(1, dtype=name)) == flow.iinfo(np.zeros(1, name)) == limits
    else:
        with pytest.raises(ValueError, match=rf"\[iinfo\].*{name}"):
            flow.iinfo(name)
    if kind in "fc":
        known, numbers = np.finfo(name), flow.finfo(name)
        for attribute in ("eps", "epsneg", "max", "min", "smallest_normal", "tiny", "resolution"):
            number = getattr(numbers, attribute)
            assert type(number) is float
            assert number == getattr(known, attribute)
        assert (numbers.bits, numbers.dtype) == (known.bits, known.dtype)
        assert numbers.smallest_subnormal == known.smallest_subnormal
        assert numbers.precision == known.precision
        assert flow.finfo(flow.zeros(1, dtype=name)) == flow.finfo(np.zeros(1, name)[0]) == numbers
    else:
        with pytest.raises(ValueError, match=rf"\[finfo\].*{name}"):
            flow.finfo(name)


def test_limits_of_python_numbers() -> None:
    assert flow.finfo(1.0) == flow.finfo(float) == flow.finfo("float64")
    assert flow.iinfo(1) == flow.iinfo(int) == flow.iinfo("int64")
    assert flow.finfo(1j).dtype == "float64"
    with pytest.raises(ValueError, match=r"\[iinfo\].*bool"):
        flow.iinfo(True)


def test_can_cast() -> None:
    for a in DTYPES:
        for b in DTYPES:
            for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
                assert flow.can_cast(a, b, casting) == np.can_cast(a, b, casting)


def test_constants() -> None:
    assert (flow.pi, flow.e, flow.inf, flow.newaxis) == (np.pi, np.e, np.inf, None)
    assert flow.euler_gamma == np.euler_gamma
    assert flow.nan != flow.nan
