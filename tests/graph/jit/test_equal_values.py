"""Values that are equal and not alike have programs of their own."""

import math
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PureWindowsPath
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

PAIRS: dict[str, tuple[Any, Any]] = {
    "sign": (Decimal("0"), Decimal("-0")),
    "places": (Decimal("1"), Decimal("1.0")),
    "in a tuple": ((1, Decimal("1")), (1, Decimal("1.0"))),
    "in a set": (frozenset([Decimal("1")]), frozenset([Decimal("1.0")])),
    "key": ({Decimal("1"): 2}, {Decimal("1.0"): 2}),
    "empty range": (range(3, 3), range(0)),
    "end of a range": (range(0, 3, 2), range(0, 4, 2)),
    "order of a set": (frozenset([8, 0]), frozenset([0, 8])),
    "fold": (datetime(2020, 1, 1), datetime(2020, 1, 1, fold=1)),
    "fold of a time": (time(1), time(1, fold=1)),
    "zone": (
        datetime(2020, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        datetime(2020, 1, 1, tzinfo=UTC),
    ),
    "name of a zone": (UTC, timezone(timedelta(0), "zero")),
    "capitals of a path": (PureWindowsPath("a"), PureWindowsPath("A")),
    "order of a union": (int | str, str | int),
}


@pytest.mark.parametrize("name", PAIRS)
def test_equal_values_that_are_not_alike(name: str) -> None:
    one, other = PAIRS[name]
    assert one == other
    seen: list[str] = []

    def note(given: Any, x: Any) -> Any:
        seen.append(repr(given))
        return x * 1

    run = flow.jit(note)
    for given in (one, one, one, other, other, one, other):
        run(given, flow.ones(2))
    assert seen == [repr(one), repr(other)]


NAN = float("nan")
COMPLEX = (complex, np.complex128, np.complex64)
NUMBERS: list[Any] = [float, complex, np.float64, np.float32, np.float16, np.longdouble]
NUMBERS += [np.complex128, np.complex64, flow.bfloat16.type]


@pytest.mark.parametrize("static", [(), ("given",)])
@pytest.mark.parametrize("kind", NUMBERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("is_held", [False, True])
def test_the_sign_of_nan(kind: Any, static: Any, is_held: bool) -> None:
    def note(given: Any, x: Any) -> Any:
        number = given[0] if is_held else given
        return flow.copysign(x, math.copysign(1, number.imag if kind in COMPLEX else number))

    run = flow.jit(note, static=static)
    numbers = [kind(complex(0, x)) if kind in COMPLEX else kind(x) for x in (NAN, -NAN)]
    plus, minus = [(x,) for x in numbers] if is_held else numbers
    for given in (plus, plus, plus, minus, minus, plus, minus):
        sign = 1 if given is plus else -1
        assert run(given, flow.ones(2)).tolist() == [sign, sign]
    assert run.report()["traces"] == 2


@pytest.mark.parametrize(
    "made", [lambda: Decimal("1.50"), lambda: Decimal("nan"), lambda: range(3)]
)
def test_values_that_are_alike(made: Any) -> None:
    run = flow.jit(lambda given, x: x * 1)
    for _ in range(4):
        run(made(), flow.ones(2))
    assert run.report()["traces"] == 1
