"""Operations on tensors of many ranks: the rules, by brute force against NumPy."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import layout, placement, sbp
from tests.support.distributed.programs import check, made, on_ranks

BINARY = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "floor_divide": lambda x, y: x // (abs(y) + 1),
    "less": lambda x, y: x < y,
    "where": lambda x, y: -x * y + 2,
}
SHAPES = [((4, 3), (4, 3)), ((4, 3), (3,)), ((4, 3), (4, 1)), ((1, 3), (4, 1)), ((2, 1), ())]
CHOICES = [sbp.broadcast, sbp.split(0), sbp.split(1), sbp.partial_sum, sbp.partial("max")]


def fitting(ndim: int) -> list[Any]:
    return [each for each in CHOICES if each.dim is None or each.dim < ndim]


def operands(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(-4, 5, size=shape) for shape in shapes]


@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands_in_all_layouts(name: str, shapes: Any) -> None:
    """Along one axis of the grid: any mixture."""

    def program() -> None:
        ranks = placement.all("cpu")
        a, b = operands(1, *shapes)
        expected = BINARY[name](a, b)
        for left, right in product(fitting(a.ndim), fitting(b.ndim)):
            x = made(a, layout(a.shape, ranks, left), 3)
            y = made(b, layout(b.shape, ranks, right), 4)
            check(BINARY[name](x, y), expected)

    on_ranks(program, 3)


def test_two_axes_at_random() -> None:
    def program() -> None:
        ranks = placement("cpu", [[0, 1], [2, 3]])
        for seed in range(60):
            rng = np.random.default_rng(seed)
            shapes = SHAPES[rng.integers(len(SHAPES))]
            values = operands(seed, *shapes)
            given = []
            for k, value in enumerate(values):
                choices = [each for each in fitting(value.ndim) if each.op != "max"]
                sbps = [choices[rng.integers(len(choices))] for _ in range(2)]
                given.append(made(value, layout(value.shape, ranks, sbps), seed + k))
            name = list(BINARY)[rng.integers(len(BINARY))]
            check(BINARY[name](*given), BINARY[name](*values))

    on_ranks(program, 4)


def test_what_stays_partial() -> None:
    """Nothing that is not linear in a partial sum, and no number beside it."""

    def program() -> None:
        ranks = placement.all("cpu")
        x = flow.full(4, flow.distributed.rank() + 1.0).to_global(ranks, sbp.partial_sum)
        y = flow.full(4, 2.0).to_global(ranks, sbp.broadcast)
        for z in (x + x, x - x, -x, x * 3, 3 * x, x * y, y * x, x / 2):
            assert z.sbp == (sbp.partial_sum,)
        for z in (x + 1, 1 - x, x + y, x * x, x / y, y / x, 2 / x, abs(x), x**2, flow.exp(x)):
            assert z.sbp == (sbp.broadcast,)
        assert (x + 1).tolist() == [4.0] * 4
        assert (x * x).tolist() == [9.0] * 4
        assert (2 / x).tolist() == [2 / 3] * 4

    on_ranks(program, 2)


def test_functions_of_the_table() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((5, 4), "float32"), rng.random((5, 4), "float32")

    def program() -> None:
        ranks = placement.all("cpu")
        rows = layout(a.shape, ranks, sbp.split(0))
        mine = rows.box(flow.distributed.rank())
        x, y = (flow.tensor(v[mine]).to_global(ranks, sbp.split(0)) for v in (a, b))
        check(flow.exp(x), np.exp(a))
        check(flow.maximum(x, y), np.maximum(a, b))
        check(flow.add(x, 1), a + 1)
        check(flow.multiply(b, x), a * b)
        check(x + b[0], a + b[0])
        check(b[:, :1] * x, b[:, :1] * a)
        check(x**0.5, a**0.5)
        with pytest.raises(TypeError, match="rank alone"):
            flow.add(x, flow.ones(4))

    on_ranks(program, 2)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
def test_reductions_in_all_layouts(name: str) -> None:
    def program() -> None:
        for ranks in (placement.all("cpu"), placement("cpu", [[0], [2]])):
            for shape in ((5, 3), (1, 4), (2, 3, 2)):
                (value,) = operands(2, shape)
                axes = (None, 0, -1, (0, 1))
                for one, axis, keepdims in product(fitting(len(shape)), axes, (False, True)):
                    sbps = [one, sbp.broadcast][: len(ranks.grid)]
                    x = made(value, layout(shape, ranks, sbps), 5)
                    expected = getattr(np, name)(value, axis=axis, keepdims=keepdims)
                    result = getattr(x, name)(axis=axis, keepdims=keepdims)
                    check(result, np.asarray(expected))
                    assert result.dtype == expected.dtype

    on_ranks(program, 3)


def test_one_element_is_whole_at_once() -> None:
    def program() -> None:
        ranks = placement.all("cpu")
        x = flow.arange(6.0).to_global(ranks, sbp.split(0))
        assert float(x.sum()) == 30.0
        assert float(x.mean()) == 2.5
        assert x.sum(keepdims=True).tolist() == [30.0]
        with pytest.raises(ValueError, match="without an identity"):
            flow.ones((0, 2)).to_global(ranks, sbp.broadcast).max(axis=0)
        with pytest.raises(IndexError, match="out of bounds"):
            x.sum(axis=1)

    on_ranks(program, 2)


def test_means() -> None:
    rng = np.random.default_rng(0)

    def program() -> None:
        ranks = placement.all("cpu")
        for dtype in ("float16", "float32", "int32", "bool"):
            value = (np.random.default_rng(1).random((6, 5)) * 9).astype(dtype)
            for one in (sbp.broadcast, sbp.split(0), sbp.split(1)):
                where = layout(value.shape, ranks, one)
                mine = flow.tensor(value[where.box(flow.distributed.rank())])
                for axis in (None, 0, 1):
                    y = mine.to_global(ranks, one).mean(axis=axis)
                    expected = value.mean(axis=axis)
                    assert y.dtype == expected.dtype
                    np.testing.assert_allclose(y.full().numpy(), expected, rtol=2e-3)

    del rng
    on_ranks(program, 3)


def test_products_in_all_layouts() -> None:
    def program() -> None:
        a, b = operands(7, (5, 4), (4, 6))
        for ranks, count in ((placement.all("cpu"), 1), (placement("cpu", [[0, 1], [2, 3]]), 2)):
            choices = [each for each in fitting(2) if each.op != "max" or count == 1]
            mixtures = list(product(choices, choices))
            rng = np.random.default_rng(3)
            for _ in range(25 if count == 1 else 60):
                picked = [mixtures[rng.integers(len(mixtures))] for _ in range(count)]
                left, right = zip(*picked, strict=True)
                x = made(a, layout(a.shape, ranks, left), 1)
                y = made(b, layout(b.shape, ranks, right), 2)
                check(x @ y, a @ b)
        with pytest.raises(ValueError, match="do not fit"):
            x @ x
        with pytest.raises(TypeError, match="expected two GlobalTensors"):
            x @ flow.ones((4, 2))

    on_ranks(program, 4)


def test_two_placements_need_a_word() -> None:
    def program() -> None:
        x = flow.ones(4).to_global(placement("cpu", [0]), sbp.broadcast)
        y = flow.ones(4).to_global(placement("cpu", [1]), sbp.broadcast)
        with pytest.raises(ValueError, match=r"placement=\.\.\."):
            x + y
        z = x.to_global(placement=placement("cpu", [1])) + y
        if flow.distributed.rank() == 1:
            assert z.tolist() == [2.0] * 4

    on_ranks(program, 2)


@pytest.mark.parametrize("sbps", [sbp.broadcast, sbp.split(0), sbp.split(1)], ids=str)
def test_full_of_an_array_is_broadcast_to_the_whole(sbps: Any) -> None:
    def program() -> None:
        ranks = placement("cpu", [0, 1])
        for value in (np.arange(3.0), np.arange(4.0)[:, None], [1, 2, 3], 5):
            expected = np.full((4, 3), value)
            check(flow.full((4, 3), value, placement=ranks, sbp=sbps), expected)
            check(flow.full((4, 3), fill_value=value, placement=ranks, sbp=sbps), expected)
        for wrong in (np.arange(6).reshape(2, 3), np.arange(4)):
            with pytest.raises(ValueError, match=r"does not broadcast to \(4, 3\)"):
                flow.full((4, 3), wrong, placement=ranks, sbp=sbps)

    on_ranks(program, 2)


def test_what_one_tensor_refuses_or_takes() -> None:
    def program() -> None:
        ranks = placement("cpu", [0, 1])
        x = flow.arange(6.0, placement=ranks, sbp=sbp.split(0))
        none = flow.zeros(0, placement=ranks, sbp=sbp.split(0))
        for mode in ("raise", "wrap", "clip"):
            with pytest.raises(IndexError, match="no elements to index"):
                flow.take(none, [0], axis=0, mode=mode)
        with pytest.raises(ValueError, match="mode"):
            flow.take(x, [0], axis=0, mode="clipp")
        with pytest.raises(IndexError, match="integers, got booleans"):
            flow.take(x, [True], axis=0)
        with pytest.raises(ValueError, match="axis is given twice"):
            flow.flip(x.reshape(2, 3), (0, 0))
        with pytest.raises(TypeError):
            flow.roll(x, 1.5)
        number = flow.full((), 3.0, placement=ranks, sbp=sbp.broadcast)
        for name in ("sum", "prod", "max", "min", "any", "all"):
            for axis in (0, -1):
                expected = getattr(np, name)(np.float64(3), axis=axis)
                check(getattr(flow, name)(number, axis=axis), np.asarray(expected))

    on_ranks(program, 2)


A = np.arange(20.0).reshape(5, 4) - 8
# Of NumPy, or of the package, and a tensor: arguments without names, in NumPy's order.
BY_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda m, x: m.sum(x, 0, None, None, True),
    "prod": lambda m, x: m.prod(x, 1, None, None, True),
    "max": lambda m, x: m.max(x, 0, None, True),
    "min": lambda m, x: m.min(x, None, None, True),
    "any": lambda m, x: m.any(x, 0, None, True),
    "all": lambda m, x: m.all(x, 0, None, True),
    "mean": lambda m, x: m.mean(x, 0, None, None, True),
    "mean in a dtype": lambda m, x: m.mean(x, 0, "float32"),
    "mean in integers": lambda m, x: m.mean(x + 0.5, 0, "int32"),
    "var": lambda m, x: m.var(x, 0, None, None, 1, True),
    "std": lambda m, x: m.std(x, 0, None, None, 1, True),
    "sum of a method": lambda m, x: x.sum(0, None, None, True),
    "max of a method": lambda m, x: x.max(1, None, True),
    "sort": lambda m, x: m.sort(x, 0, "stable"),
    "argsort": lambda m, x: m.argsort(x, 0, "stable"),
    "argsort of a method": lambda m, x: x.argsort(0),
    "count_nonzero": lambda m, x: m.count_nonzero(x, 0),
    "cumsum": lambda m, x: m.cumsum(x, 0, None, None),
    "cumprod": lambda m, x: m.cumprod(x, 0, None, None),
    "take": lambda m, x: m.take(x, [7, -9], 0, None, "wrap"),
    "clip": lambda m, x: m.clip(x, 0, 3, None),
    "concatenate": lambda m, x: m.concatenate([x, x], -1, None),
    "stack": lambda m, x: m.stack([x, x], 1, None),
    "dot": lambda m, x: m.dot(x, x.T, None),
    "dot of a number": lambda m, x: m.dot(2, x),
    "dot of integers and a number": lambda m, x: m.dot(x.astype("int8"), 2),
    "copy": lambda m, x: m.copy(x, "C"),
    "transpose": lambda m, x: x.transpose(1, 0),
    "transpose by a tuple": lambda m, x: x.transpose((1, 0)),
    "transpose of a row": lambda m, x: m.transpose(x[0], 0),
    "reshape": lambda m, x: m.reshape(x, np.int64(20)),
    "rows": lambda m, x: m.stack(list(x)),
}


@pytest.mark.parametrize("name", BY_PLACE)
def test_arguments_by_place(name: str) -> None:
    def program() -> None:
        expected = np.asarray(BY_PLACE[name](np, A))
        for how in (sbp.broadcast, sbp.split(0), sbp.split(1), sbp.partial_sum):
            x = BY_PLACE[name](flow, flow.tensor(A, placement=placement.all("cpu"), sbp=how))
            assert (x.shape, x.dtype) == (expected.shape, expected.dtype)
            np.testing.assert_allclose(x.full().numpy(), expected, rtol=1e-6)

    on_ranks(program, 2)


def test_a_target_by_place_is_refused() -> None:
    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.split(0))
        for call in (
            lambda: flow.sum(x, 0, None, x[0]),
            lambda: x.sum(0, None, x[0]),
            lambda: x.max(0, x[0]),
            lambda: x.clip(0, 1, x),
            lambda: flow.concat([x, x], 0, x),
            lambda: flow.take(x, [0], 0, x),
        ):
            with pytest.raises(TypeError, match="out: not for a GlobalTensor"):
                call()
        for name in ("sum", "mean", "std", "max", "any", "clip", "cumsum", "take", "argmax"):
            with pytest.raises(TypeError, match="out"):
                getattr(x, name)(0, out=x[0])

    on_ranks(program, 2)


# Along axis 0 of a number, which NumPy takes as one element in a row.
OF_A_NUMBER: dict[str, Callable[[Any, Any], Any]] = {
    "argsort": lambda m, x: m.argsort(x, 0),
    "argmax": lambda m, x: m.argmax(x, 0),
    "argmin": lambda m, x: m.argmin(x, -1, keepdims=True),
    "cumsum": lambda m, x: m.cumsum(x, 0),
    "cumprod": lambda m, x: m.cumprod(x, -1),
    "cumulative_sum": lambda m, x: m.cumulative_sum(x),
    "cumulative_prod": lambda m, x: m.cumulative_prod(x, axis=0, include_initial=True),
    "take": lambda m, x: m.take(x, [0, -1], 0),
    "squeeze": lambda m, x: m.squeeze(x, -1),
    "ascontiguousarray": lambda m, x: m.ascontiguousarray(x),
}


@pytest.mark.parametrize("name", OF_A_NUMBER)
def test_an_axis_of_a_number(name: str) -> None:
    def program() -> None:
        call = OF_A_NUMBER[name]
        for how in (sbp.broadcast, sbp.partial_sum):
            x = flow.tensor(3.5, placement=placement.all("cpu"), sbp=how)
            check(call(flow, x), np.asarray(call(np, np.array(3.5))))
        with pytest.raises(np.exceptions.AxisError):
            flow.cumsum(x, 1)
        with pytest.raises(TypeError, match="0-d"):
            iter(x)

    on_ranks(program, 2)


def test_bounds_beyond_the_numbers_of_a_dtype() -> None:
    def program() -> None:
        v = A.astype("int8")
        x = flow.tensor(v, placement=placement.all("cpu"), sbp=sbp.split(0))
        check(flow.clip(x, -300, 3), np.clip(v, -300, 3))
        check(flow.clip(x, None, 1000), v)
        check(flow.clip(x, x, 300), v)
        check(flow.clip(x, -300, v[:1]), np.clip(v, -300, v[:1]))

    on_ranks(program, 2)


def test_a_product_in_place() -> None:
    """What shares the memory sees it, as in NumPy."""

    def program() -> None:
        for how in (sbp.broadcast, sbp.split(0), sbp.split(1), sbp.partial_sum):
            x = flow.tensor(A[:4], placement=placement.all("cpu"), sbp=how)
            same, v = x, A[:4].copy()
            x @= flow.tensor(A[1:], placement=x.placement, sbp=sbp.split(0))
            v @= A[1:]
            assert same is x
            np.testing.assert_allclose(x.full().numpy(), v)
        with pytest.raises(ValueError, match="has no place"):
            x @= A[:4, :1]

    on_ranks(program, 2)


def test_where_of_a_condition_alone() -> None:
    def program() -> None:
        ranks = placement.all("cpu")
        for x, v in zip(
            flow.where(flow.tensor(A > 0, placement=ranks)), np.where(A > 0), strict=True
        ):
            check(x, v)
        with pytest.raises(TypeError, match=r"\[nonzero\] has no rule for split\(0\)"):
            flow.where(flow.tensor(A > 0, placement=ranks, sbp=sbp.split(0)))

    on_ranks(program, 2)


def test_a_list_is_no_tensor() -> None:
    """NumPy makes an array of it; asarray() gave the list back."""

    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.split(0))
        for call in (flow.asarray, flow.sort, flow.sum, flow.mean, flow.ravel, flow.zeros_like):
            with pytest.raises(TypeError, match=r"got list; flow\.stack"):
                call([x, x])
        for product_of in (flow.dot, flow.tensordot, flow.matmul):
            with pytest.raises(TypeError, match="expected two GlobalTensors, got list"):
                product_of(x, [1.0, 2.0, 3.0, 4.0])

    on_ranks(program, 2)


def test_shapes_that_do_not_fit_are_value_errors() -> None:
    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.split(0))
        with pytest.raises(ValueError, match="do not fit"):
            flow.concat([x, x[0]])
        with pytest.raises(ValueError, match="expected matrices"):
            x @ 2

    on_ranks(program, 2)


def test_a_device_is_decided_by_the_placement() -> None:
    """Else a part would be where no operation looks for it."""

    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.split(0))
        for call in (
            lambda: x.astype("float32", device="mock:0"),
            lambda: flow.zeros_like(x, device="mock:0"),
            lambda: flow.full_like(x, 3, device="mock:0"),
            lambda: flow.empty_like(x, placement=x.placement, device="mock:0"),
        ):
            with pytest.raises(TypeError, match="device: the placement decides"):
                call()

    on_ranks(program, 2)


def test_tensors_like_another_one_take_arguments_by_place() -> None:
    def program() -> None:
        ranks = placement.all("cpu")
        x = flow.tensor(A, placement=ranks, sbp=sbp.split(0))
        for names in ({}, {"placement": ranks}, {"sbp": sbp.split(1)}):
            made = flow.ones_like(x, "int8", "K", **names)
            check(made, np.ones_like(A, "int8"))
            check(flow.full_like(x, 3, "float32", None, **names), np.full_like(A, 3, "float32"))
            assert made.sbp == ((names.get("sbp", sbp.broadcast),) if names else x.sbp)
            with pytest.raises(TypeError, match="column-major"):
                flow.zeros_like(x, None, "F", **names)
        for shape in (1.5, "a", (2, 1.5)):
            with pytest.raises(TypeError, match="cannot be interpreted as an integer|iterable"):
                flow.zeros(shape, placement=ranks)

    on_ranks(program, 2)


# Of the package and a tensor: calls that succeed, and calls that do not.
OUTSIDE: dict[str, Callable[[Any], Any]] = {
    "concat of two narrow dtypes": lambda x: flow.concat([x.real.astype("float16"), narrow(x)]),
    "stack of two narrow dtypes": lambda x: flow.stack([narrow(x), x.real.astype("float16")]),
    "argmax": lambda x: flow.argmax(x, 0),
    "argmin": lambda x: flow.argmin(x),
    "argsort": lambda x: flow.argsort(x, 1),
    "concat by a rule": lambda x: flow.concat([x.real, x.real], dtype="int8"),
    "squeeze twice": lambda x: flow.squeeze(x[:1], (0, 0)),
    "take out of bounds": lambda x: flow.take(x, [0, 9], 0),
    "write what does not fit": lambda x: x.__setitem__(0, np.arange(3)),
    "full_like of what does not fit": lambda x: flow.full_like(x, np.arange(3)),
}


def narrow(x: Any) -> Any:
    return x.real.astype("bfloat16")


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_rank_outside_has_the_outcome_of_the_others(name: str) -> None:
    """The same dtype and layout, or the same error: it may decide how the program goes on."""

    def program() -> Any:
        told = []
        for how in (sbp.broadcast, sbp.split(0), sbp.split(1)):
            x = flow.tensor(A + 1j * A, placement=placement("cpu", [0, 1]), sbp=how)
            try:
                y = OUTSIDE[name](x)
                told.append((y.layout, y.dtype))
            except (IndexError, TypeError, ValueError) as error:
                told.append((type(error), str(error)))
        return told

    inside, other, outside = on_ranks(program, 3)
    assert inside == other == outside
