"""Partial sums that meet other dtypes, infinities, and what is nearly 0: as the whole does."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp
from tests.support.distributed.programs import on_ranks

# The parts of two ranks. Their sum has another value in int8, and as a bool.
PARTS = {
    "int8": np.array([[127, 100], [1, 100]], "int8"),
    "uint8": np.array([[200, 1], [100, 2]], "uint8"),
    "int16": np.array([[32767, 3], [1, 4]], "int16"),
    "bool": np.array([[True, True], [True, False]]),
    "float16": np.array([[60000, 1], [60000, -1]], "float16"),
}

# Of the package or NumPy, a tensor, and what makes a tensor of the values of the others.
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda m, x, of: x.sum(),
    "sum over no axes": lambda m, x, of: x.sum(axis=()),
    "sum in its dtype": lambda m, x, of: x.sum(dtype=x.dtype),
    "sum in a wide dtype": lambda m, x, of: x.sum(dtype="float64"),
    "mean": lambda m, x, of: x.mean(),
    "var": lambda m, x, of: x.var(),
    "half": lambda m, x, of: x / np.float32(2),
    "a Python float": lambda m, x, of: x * 2.5,
    "a Python integer": lambda m, x, of: x * 3,
    "a number of NumPy": lambda m, x, of: x * np.int64(1),
    "an array": lambda m, x, of: x * np.array([1, 2]),
    "a tensor": lambda m, x, of: x * of(np.array([3, 1]), sbp.broadcast),
    "plus itself": lambda m, x, of: x + x,
    "plus a partial sum": lambda m, x, of: x + of(np.array([7, 9]), sbp.partial_sum),
    "product": lambda m, x, of: m.multiply(x, x),
    "matmul": lambda m, x, of: x @ of(np.array([[1, 2], [3, 4]]), sbp.broadcast),
    "matmul from the right": lambda m, x, of: of(np.array([1, 2]), sbp.broadcast) @ x,
    "dot": lambda m, x, of: m.dot(x, x.astype("int32")),
    "tensordot": lambda m, x, of: m.tensordot(x, of(np.array([1, 2]), sbp.broadcast), axes=1),
    "cumsum": lambda m, x, of: m.cumsum(x, axis=0),
    "where": lambda m, x, of: m.where(x > 0, x, np.int64(5)),
    "concat": lambda m, x, of: m.concat([x, x.astype("int16")]),
    "astype": lambda m, x, of: x.astype("int32"),
}


def partial_sum(parts: Any) -> Any:
    """The sum of what this rank and the other one have."""
    mine = flow.tensor(parts[flow.distributed.rank()])
    return mine.to_global(placement.all("cpu"), sbp.partial_sum)


@pytest.mark.parametrize("dtype", PARTS)
def test_dtypes_meet_the_whole(dtype: str) -> None:
    """Parts in a wider dtype would not wrap, and not be cut to a bool, as their sum does."""
    whole = np.add(*PARTS[dtype]) if dtype != "float16" else np.array([np.inf, 0], "float16")

    def program() -> None:
        ranks = placement.all("cpu")
        for name, call in CALLS.items():
            x = partial_sum(PARTS[dtype])
            found = call(flow, x, lambda a, how: flow.tensor(a, placement=ranks, sbp=how))
            with np.errstate(all="ignore"):
                expected = np.asarray(call(np, whole, lambda a, how: a))
            np.testing.assert_array_equal(found.full().numpy(), expected, name)
            assert found.dtype == expected.dtype, name

    on_ranks(program, 2)


@pytest.mark.parametrize(
    ("dtype", "factor", "term"), [("int8", 7, 50), ("uint16", 150, 20000), ("bool", 1, 1)]
)
def test_products_and_sums_of_small_dtypes(dtype: str, factor: int, term: int) -> None:
    """What they leave partial is in the dtype of the result, and meets another one as a whole."""
    a, b = (np.full((4, 4), each).astype(dtype) for each in (factor, term))

    def program() -> None:
        ranks = placement.all("cpu")
        columns = flow.tensor(a, placement=ranks, sbp=sbp.split(1))
        rows = flow.tensor(a, placement=ranks, sbp=sbp.split(0))
        terms = flow.tensor(b, placement=ranks, sbp=sbp.split(0))
        for found, whole in (
            (columns @ rows, a @ a),
            (terms.sum(axis=0, dtype=dtype), b.sum(axis=0, dtype=dtype)),
        ):
            assert found.sbp == (sbp.partial_sum,)
            np.testing.assert_array_equal(found.full().numpy(), whole)
            assert found.sum().item() == whole.sum()
            np.testing.assert_array_equal((found * 3).full().numpy(), whole * 3)
            np.testing.assert_array_equal((found / 3).full().numpy(), whole / 3)
            np.testing.assert_array_equal((found + np.int64(1)).full().numpy(), whole + np.int64(1))

    on_ranks(program, 2)


def test_sums_of_one_dtype_stay_partial() -> None:
    """Integers wrap the same however they are added."""

    def program() -> None:
        x = partial_sum(PARTS["int8"])
        narrow = flow.tensor(np.int8([2, 3]), placement=x.placement, sbp=sbp.broadcast)
        wide = partial_sum(PARTS["int8"].astype("int64"))
        array = np.array([2, 3])
        for found, expected in (
            (x * 2, [0, -112]),
            (x * narrow, [0, 88]),
            (x - x, [0, 0]),
            (-x, [-128, 56]),
            (wide * narrow, [256, 600]),
            (wide * array, [256, 600]),
            (wide.sum(axis=()), [128, 200]),
        ):
            assert found.sbp == (sbp.partial_sum,)
            assert found.full().tolist() == expected

    on_ranks(program, 2)


def test_factors_that_are_not_finite() -> None:
    """Parts of both signs would be infinite with either."""

    def program() -> None:
        tiny = {"float64": 1e-320, "float32": 1e-39, "float16": 1e-5}
        for dtype, nearly_nothing in tiny.items():
            x = partial_sum(np.array([[2.0, 2.0], [-1.0, -1.0]], dtype))
            whole = np.ones(2, dtype)
            for of in (
                lambda v: v * np.array([np.inf, 2], v.dtype),
                lambda v: v * np.array([2, np.nan], v.dtype)[::-1],
                lambda v: v * np.full((), -np.inf, v.dtype),
                lambda v: v * v.dtype.type("inf"),
                lambda v: v / nearly_nothing,  # noqa: B023  (called in its turn)
                lambda v: v / v.dtype.type(0),
                lambda v: v / 0,
            ):
                with np.errstate(all="ignore"):
                    expected = of(whole)
                np.testing.assert_array_equal(of(x).full().numpy(), expected)
                assert of(x).dtype == dtype
            for kept in (x * np.array([3, 2], dtype), x * 3, x / 3, x * np.int8(3)):
                assert kept.sbp == (sbp.partial_sum,)

    on_ranks(program, 2)
