"""Rows of the table: what one says of its operation holds, and the native core knows it."""

import re
from dataclasses import fields
from itertools import product
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.ops.statistics import reducing
from oneflow_lite.ops.table import PARTS, REDUCTIONS, ROWS, Effect, Pattern, Properties, Row
from tests.support import ROOT
from tests.support.oracle import same, values

pytestmark = pytest.mark.usefixtures("no_warnings")

OF_PYTHON = ("extremum",)  # which native code is told of otherwise
BINARY = [name for name, row in ROWS.items() if row.ufunc.nin == 2]


def known_natively(properties: Properties, operands: int) -> dict[str, Any]:
    """What the native core makes of the properties."""
    known = {field.name: getattr(properties, field.name) for field in fields(properties)}
    for name in ("reads", "reuses"):
        known[name] &= (1 << operands) - 1
    known["by_lanes"] = properties.by_lanes
    return {name: value for name, value in known.items() if name not in OF_PYTHON}


def operands(row: Row, seed: int) -> list[np.ndarray]:
    """Small whole numbers, and special ones, of the first dtype that it is defined for."""
    for dtype in ("float64", "int64", "bool"):
        given = [values((4000,), dtype, seed + k) for k in range(row.ufunc.nin)]
        given = [x % 5 if dtype == "int64" else np.rint(x).astype(dtype) for x in given]
        try:
            row.ufunc(*given)
        except TypeError:
            continue
        return given
    raise AssertionError(row.name)


@pytest.mark.parametrize("name", ROWS)
def test_native_core_knows_the_properties(name: str) -> None:
    row = ROWS[name]
    seen = _C.properties_of(row.op)
    assert seen.items() >= known_natively(row.properties, row.ufunc.nin).items()
    assert seen["standard"] == (row.cuda.standard != "")


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_results_of_their_ufuncs(name: str, device: flow.Device) -> None:
    """Whatever the dtype, they are elementwise, and they are no public functions."""
    row = PARTS[name]
    assert _C.op_named(name) is row.op
    assert not hasattr(flow, name)
    assert row.ufunc.nout > 1
    seen = _C.properties_of(row.op)
    assert seen.items() >= known_natively(row.properties, row.ufunc.nin).items()
    for dtype in ("bool", "int8", "uint16", "int64", "float16", "float32", "float64"):
        x = values((300,), dtype, 5)
        same(row.ufunc(x)[row.result], row.op(flow.tensor(x, device=device)))
    with pytest.raises(TypeError, match=rf"\[{row.ufunc.__name__}\] is not defined for complex64"):
        row.op(flow.tensor([1j], "complex64", device))


def test_rows_of_results_that_ufuncs_have_not() -> None:
    for result in (-1, 1):
        with pytest.raises(ValueError, match=rf"\[register_op\] third: .*no result {result}"):
            _C.register_op("third", np.sin, Properties(), "third", "", None, result)


def test_reductions_have_the_properties_of_their_rows() -> None:
    own = {"pattern": Pattern.REDUCTION, "reads": 1, "reuses": 0}
    for name, row in REDUCTIONS.items():
        seen = _C.properties_of(getattr(reducing, name.upper()))
        assert seen == _C.properties_of(row.op) | own


def test_names_in_the_native_core_are_rows() -> None:
    text = (ROOT / "csrc/ops/elementwise/known_loops.cpp").read_text("utf-8")
    names = re.findall(r'^    (?:{|arithmetic\()"(\w+)", ', text, re.MULTILINE)
    assert len(names) > 20
    assert len(set(names)) == len(names)
    assert set(names) <= set(ROWS)
    parts = re.findall(r'\bpart\("(\w+)", ', text)
    assert len(set(parts)) == len(parts)
    assert set(PARTS) <= set(parts) <= {*ROWS, *PARTS}


@pytest.mark.parametrize("name", ROWS)
def test_effect_and_operands(name: str, device: flow.Device) -> None:
    """Without an effect it does the same again, changes nothing and waits for nobody. The result
    may be where an operand is that it reuses, and follows from the values of those that it reads.
    """
    row = ROWS[name]
    given, others = operands(row, 1), operands(row, 50)
    tensors = [flow.tensor(x, device=device) for x in given]
    assert row.properties.effect == Effect.NONE
    with flow.flags(implicit_sync="error"):
        result, again = row.op(*tensors), row.op(*tensors)
    same(result.numpy(), again)
    same(given, tensors)
    for k in range(row.ufunc.nin):
        changed = [*tensors[:k], flow.tensor(others[k], device=device), *tensors[k + 1 :]]
        differs = not np.array_equal(row.op(*changed).numpy(), result.numpy(), equal_nan=True)
        assert differs == bool(row.properties.reads >> k & 1)
        if row.properties.reuses >> k & 1 and result.dtype == given[k].dtype:
            target = tensors[k].copy()
            row.op(*tensors[:k], target, *tensors[k + 1 :], out=target)
            same(result.numpy(), target)


@pytest.mark.parametrize("name", ROWS)
def test_pattern(name: str, device: flow.Device) -> None:
    """Elements are made of those at their own place."""
    row = ROWS[name]
    assert row.properties.pattern == Pattern.ELEMENTWISE
    given = [np.where(x == 0, True, x) for x in operands(row, 7)]  # of equal zeros either may win
    places = np.random.default_rng(3).permutation(len(given[0]))
    whole = row.op(*(flow.tensor(x, device=device) for x in given))
    moved = row.op(*(flow.tensor(x[places], device=device) for x in given))
    same(whole.numpy()[places], moved)


@pytest.mark.parametrize("name", BINARY)
def test_what_reductions_and_scans_rely_on(name: str) -> None:
    properties, ufunc = ROWS[name].properties, ROWS[name].ufunc
    for dtype in ("bool", "int64"):
        numbers = np.arange(2 if dtype == "bool" else 6).astype(dtype)
        x, y, z = (np.array(column) for column in zip(*product(numbers, repeat=3), strict=True))
        if properties.associative and f"{x.dtype.char * 2}->{x.dtype.char}" in ufunc.types:
            np.testing.assert_array_equal(ufunc(ufunc(x, y), z), ufunc(x, ufunc(y, z)))
        if properties.adds:
            np.testing.assert_array_equal(ufunc(x, y), x + y)
        if properties.selects and ufunc(x, y).dtype == dtype:
            assert np.isin(ufunc(x, y), numbers).all()
            assert ((ufunc(x, y) == x) | (ufunc(x, y) == y)).all()
    if properties.extremum:
        assert (ufunc(1.0, 2.0) == 1) == properties.extremum.smallest
        assert np.isnan(ufunc(np.nan, 1.0)) == properties.extremum.nan_wins
    if "ll->l" in ufunc.types:
        try:
            ufunc(2, -1)
        except ValueError:
            assert properties.checks_exponent
        else:
            assert not properties.checks_exponent
