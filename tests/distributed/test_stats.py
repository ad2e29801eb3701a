"""What ranks count of what they move, and operations that move what the program did not say."""

import inspect
import warnings
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import GlobalTensor, placement, sbp, stats
from tests.support.distributed.programs import on_ranks

ROWS, COLUMNS, WHOLE = sbp.split(0), sbp.split(1), sbp.broadcast


def ones(how: Any, shape: tuple[int, ...] = (4, 6), dtype: str = "float32") -> GlobalTensor:
    return flow.ones(shape, dtype=dtype, placement=placement.all("cpu"), sbp=how)


def implicit() -> list[tuple[str, int, int]]:
    """What has been counted, by the name of the operation."""
    found = sorted(stats().implicit, key=lambda each: each.operation)
    return [(each.operation, each.times, each.bytes) for each in found]


def test_an_operand_that_moves_is_counted_by_its_line() -> None:
    def program() -> None:
        rows, columns = ones(ROWS), ones(COLUMNS)
        for _ in range(3):
            both = rows + columns
        (entry,) = stats().implicit
        first = inspect.getsourcelines(program)[1]
        assert entry.line == f"{__file__}:{first + 3}"
        assert (entry.operation, entry.times) == ("add", 3)
        # Each of two ranks has 3 of 6 columns of 4 rows, and lacks as much of its 2 rows.
        assert entry.bytes == 3 * 2 * 3 * 4
        assert (entry.source, entry.target) == (columns.layout, rows.layout)
        assert both.layout == rows.layout

    on_ranks(program, 2)


CASES = {
    "matmul": lambda: ones(ROWS) @ ones(COLUMNS, (6, 8)),
    "sum": lambda: ones(sbp.partial("max")).sum(axis=0),
    "reshape": lambda: ones(COLUMNS).reshape(24),
    "concat": lambda: flow.concat([ones(ROWS), ones(COLUMNS)]),
    "broadcast_to": lambda: flow.broadcast_to(ones(ROWS, (1, 6)), (4, 6)),
    "sort": lambda: flow.sort(ones(ROWS), axis=0),
    "take": lambda: flow.take(ones(sbp.partial_sum), [1, 0], axis=0),
    "exp": lambda: flow.exp(ones(sbp.partial_sum)),
    "setitem": lambda: ones(ROWS).__setitem__(slice(None), ones(COLUMNS)),
    "__iadd__": lambda: ones(WHOLE).__iadd__(ones(ROWS)),
    "argmax": lambda: flow.argmax(ones(sbp.partial_sum), axis=1),
    "cumulative_sum": lambda: flow.cumulative_sum(ones(sbp.partial_sum), axis=0),
}


@pytest.mark.parametrize("name", CASES)
def test_operations_that_move_operands(name: str) -> None:
    def program() -> None:
        CASES[name]()
        assert [each[:2] for each in implicit()] == [(name, 1)]
        received = flow.tensor(stats().implicit[0].bytes)
        assert int(received.to_global(placement.all("cpu"), sbp.partial_sum).sum()) > 0

    on_ranks(program, 2)


def test_what_the_program_says_is_not_counted() -> None:
    def program() -> None:
        x = ones(ROWS)
        x.to_global(sbp=COLUMNS)
        x.full()
        x.sum()  # one element, which all ranks get
        x.mean(axis=0).full()
        x[1:]  # what is at borders
        x + ones(WHOLE)  # each rank takes its rows
        flow.cumsum(x, axis=0)
        flow.concat([flow.flip(x, axis=0), flow.roll(x, 1, axis=0)])
        assert stats().implicit == []
        assert stats().collectives > 0

    on_ranks(program, 3)


def test_collectives_and_bytes() -> None:
    def program() -> tuple[int, int, int]:
        x = ones(ROWS, (4, 6))
        before = stats()
        x.to_global(sbp=WHOLE)
        after = stats()
        return tuple(now - was for now, was in zip(after[:3], before[:3], strict=True))

    # Each of two ranks gives the other one its 2 rows of 6 float32.
    assert on_ranks(program, 2) == [(1, 48, 48)] * 2


def test_a_world_of_one_moves_nothing() -> None:
    with flow.flags(implicit_boxing="error"):
        assert (ones(ROWS) + ones(COLUMNS)).full().numpy().sum() == 48
    assert stats().implicit == []


def test_an_error_comes_on_all_ranks_before_anything_moves() -> None:
    def program() -> float:
        rows, columns = ones(ROWS), ones(COLUMNS)
        before = stats().collectives
        with pytest.raises(RuntimeError, match=r"(?s)\[add\] moves an operand.*x\.to_global"):
            rows + columns
        assert stats()[0] == before
        assert stats().implicit == []
        return float((rows + columns.to_global(sbp=ROWS)).sum())

    with flow.flags(implicit_boxing="error"):
        assert on_ranks(program, 3) == [48.0] * 3


def test_a_warning_comes_once_for_each_line() -> None:
    def program() -> None:
        rows, columns = ones(ROWS), ones(COLUMNS)
        for _ in range(4):
            rows + columns
        rows * columns

    with flow.flags(implicit_boxing="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        flow.distributed.run(program, 2)
    places = sorted((each.filename, each.lineno) for each in caught)
    first = inspect.getsourcelines(program)[1]
    assert places == [(__file__, first + 3)] * 2 + [(__file__, first + 4)] * 2
    assert all(issubclass(each.category, RuntimeWarning) for each in caught)


def test_a_warning_that_is_an_error_comes_before_anything_moves() -> None:
    def program() -> None:
        rows, columns = ones(ROWS), ones(COLUMNS)
        before = stats().collectives
        with pytest.raises(RuntimeWarning, match="moves an operand"):
            rows + columns
        assert stats().collectives == before

    with flow.flags(implicit_boxing="warn"), warnings.catch_warnings():
        warnings.simplefilter("error")
        flow.distributed.run(program, 2)


def test_new_tensors_like_one_of_many_ranks() -> None:
    def program() -> None:
        everywhere, first = placement.all("cpu"), placement("cpu", [0])
        x = ones(ROWS, dtype="int16")
        made = flow.zeros_like(x, placement=first, sbp=WHOLE)
        assert (made.layout.placement, made.dtype, made.shape) == (first, x.dtype, x.shape)
        assert flow.full_like(x, 7, sbp=COLUMNS).layout.sbp == (COLUMNS,)
        assert flow.ones_like(flow.ones(3), placement=everywhere).full().tolist() == [1, 1, 1]
        for refused in (
            lambda: flow.zeros_like(x, shape=(2,)),
            lambda: flow.full_like(x, 7, shape=3),
            lambda: flow.ones_like(x, shape=(2, 2), placement=first),
        ):
            with pytest.raises(TypeError, match=r"_like\] shape: not for a GlobalTensor"):
                refused()
        assert flow.empty_like(x, order="C").shape == x.shape
        with pytest.raises(TypeError, match=r"\[zeros_like\] order"):
            flow.zeros_like(x, order="F")
        with pytest.raises(TypeError, match=r"\[asarray\].*x\.to_global"):
            flow.asarray(x, placement=everywhere)

    on_ranks(program, 2)


def test_outputs_and_weights_of_quantiles() -> None:
    """Outputs are refused by name and by place; weights are of all ranks, as what they weigh."""

    def program() -> None:
        everywhere = placement.all("cpu")
        x = flow.tensor([[1.0, 2, 3], [4, 5, 6]], placement=everywhere)
        out, weights = flow.zeros(2, placement=everywhere), flow.ones((2, 3), placement=everywhere)
        refused: list[Any] = [
            lambda: flow.median(x, 1, out=out),
            lambda: flow.nanmedian(x, 1, out),
            lambda: flow.quantile(x, 0.5, 1, out),
            lambda: flow.percentile(x, 50, 1, out=flow.zeros(2)),
        ]
        for call in refused:
            with pytest.raises(TypeError, match=r"\] out: not for a GlobalTensor"):
                call()
        assert out.full().tolist() == [0, 0]
        how: dict[str, Any] = {"axis": 1, "method": "inverted_cdf"}
        found = flow.quantile(x, 0.5, **how, weights=weights)
        assert found.to_local().tolist() == [2, 5]
        assert flow.histogram(x, 2, weights=weights)[0].to_local().tolist() == [3, 3]
        for call in (
            lambda: flow.quantile(x, 0.5, **how, weights=flow.ones((2, 3))),
            lambda: flow.histogram(x, 2, weights=flow.ones((2, 3))),
        ):
            with pytest.raises(TypeError, match="a Tensor of this rank alone"):
                call()

    on_ranks(program, 2)
