"""Each row of the op table on tensors of many ranks, in all mixtures of sbps, against NumPy."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import layout, placement, sbp
from oneflow_lite.ops.table import ROWS, Linear, Pattern, Row
from tests.support.distributed.programs import made, on_ranks
from tests.support.oracle import same

SHAPES = ((5, 4), (4,))  # of the operands; the second one broadcasts
CHOICES = [sbp.broadcast, sbp.split(0), sbp.split(1), sbp.partial_sum]
ELEMENTWISE = [name for name, row in ROWS.items() if row.properties.pattern == Pattern.ELEMENTWISE]


def operands(row: Row) -> list[np.ndarray[Any, Any]]:
    """Whole numbers of the first dtype that it is defined for: partial sums of them are exact."""
    rng = np.random.default_rng(len(row.name))
    for dtype in ("float64", "int64", "bool"):
        given = [rng.integers(0, 7, SHAPES[k % 2]).astype(dtype) for k in range(row.ufunc.nin)]
        try:
            with np.errstate(all="ignore"):
                row.ufunc(*given)
        except TypeError:
            continue
        return given
    raise AssertionError(row.name)


def stays_partial(linear: Linear, sbps: tuple[Any, ...]) -> bool:
    """What the table promises of partial sums."""
    partial = [each == sbp.partial_sum for each in sbps]
    if not any(partial):
        return False
    others = [each.is_broadcast for each, is_sum in zip(sbps, partial, strict=True) if not is_sum]
    return {
        Linear.NONE: False,
        Linear.ALL: all(partial),
        Linear.ONE: sum(partial) == 1 and all(others),
        Linear.FIRST: False,  # by a number only
    }[linear]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_row_in_all_mixtures(name: str) -> None:
    row = ROWS[name]
    given = operands(row)
    with np.errstate(all="ignore"):
        expected = row.ufunc(*given)
    expected = expected if isinstance(expected, tuple) else (expected,)

    def program() -> None:
        ranks = placement.all("cpu")
        choices = [
            [each for each in CHOICES if each.dim is None or each.dim < x.ndim] for x in given
        ]
        if given[0].dtype == bool:
            choices = [[each for each in some if each.op is None] for some in choices]
        for sbps in product(*choices):
            tensors = [
                made(x, layout(x.shape, ranks, one), 7) for x, one in zip(given, sbps, strict=True)
            ]
            results = row.op(*tensors)
            results = results if isinstance(results, tuple) else (results,)
            for result, whole in zip(results, expected, strict=True):
                is_partial = stays_partial(row.properties.linear, sbps)
                assert (result.sbp == (sbp.partial_sum,)) == is_partial, (name, sbps, result.layout)
                if is_partial:  # the sign of a zero is not kept
                    np.testing.assert_array_equal(result.full().numpy(), whole)
                else:
                    same(result.full().numpy(), whole)

    on_ranks(program, 2)


@pytest.mark.parametrize(
    ("name", "number", "is_kept"),
    [
        *(("divide", 4, True), ("divide", 0, False), ("divide", np.inf, False)),
        *(("multiply", -2.0, True), ("multiply", 0, True), ("multiply", np.inf, False)),
        *(("multiply", np.nan, False), ("multiply", 2j, False), ("add", 1, False)),
        *(("divide", np.float64(0), False), ("divide", np.array([2.0, 0.0]), False)),
    ],
)
def test_partial_sums_and_a_number(name: str, number: Any, is_kept: bool) -> None:
    """They stay so where the sum of the parts must be what the operation makes of the sum."""

    def program() -> None:
        sign = 1 if flow.distributed.rank() else -2  # -2 + 1: infinities of both signs
        part = flow.full(2, float(sign)).to_global(placement.all("cpu"), sbp.partial_sum)
        made = getattr(flow, name)(part, number)
        assert (made.sbp == (sbp.partial_sum,)) == is_kept
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(np.full(2, -1, "float32"), number)
        np.testing.assert_array_equal(made.full().numpy(), expected)

    on_ranks(program, 2)


def test_products_say_what_to_write() -> None:
    def program() -> None:
        x = flow.ones((4, 4), placement=placement.all("cpu"), sbp=sbp.split(0))
        for name in set(ROWS) - set(ELEMENTWISE):
            with pytest.raises(TypeError, match="operator @"):
                ROWS[name].op(x, x)

    on_ranks(program, 2)
