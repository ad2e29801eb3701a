"""An unknown extent as an argument of a function of the library: an operand, or refused with the
function and the line."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, Scope, TraceError

# By the operation that the error names; each is called with x of shape (N0, 4).
REFUSED: dict[str, Callable[[Any], Any]] = {
    "full": lambda x: flow.full((x.shape[0],), x.shape[0]),
    "full_like": lambda x: flow.full_like(x, x.shape[0]),
    "tensor": lambda x: flow.tensor([x.shape[0]]),
    "setitem": lambda x: (x + 1).__setitem__(0, x.shape[0]),
    "permutation": lambda x: flow.random.permutation(x.shape[0]),
    "pad": lambda x: flow.pad(x, x.shape[0]),
    "repeat": lambda x: flow.repeat(x, x.shape[0], axis=0),
    "sum": lambda x: x.sum(axis=(x.shape[0],)),
    "mean": lambda x: flow.mean(x, axis=x.shape[0]),
    "argmax": lambda x: x.argmax(axis=x.shape[0]),
    "expand_dims": lambda x: flow.expand_dims(x, x.shape[0]),
    "permute_dims": lambda x: x.transpose(x.shape[0], 0),
    "stack": lambda x: flow.stack([np.ones(()), x.shape[0]]),
    "sin": lambda x: flow.sin(x.shape[0]),
    "add": lambda x: flow.add(x.shape[0], 2.0),
    "matmul": lambda x: (x + 1).__imatmul__(x.shape[0]),
    "hash": lambda x: x.shape[0] in {5},
    "str": lambda x: str(x.shape[0]),
    "format": lambda x: f"{x.shape[0]}",
    "pickle": lambda x: pickle.dumps(x.shape),
    "sqrt": lambda x: np.sqrt(x.shape[0]),
    "isfinite": lambda x: np.isfinite(2 * x.shape[0] - x.shape[0]),
}
STRIDES: dict[str, Callable[[Any], Any]] = {
    "turned": lambda x: x.T.copy().strides,
    "a part": lambda x: x.T.copy()[:, :2].strides,
    "back": lambda x: x.T.copy()[::-1].strides,
    "made contiguous": lambda x: flow.ascontiguousarray(x.T).strides,
}
DATA: dict[str, Callable[[Any], Any]] = {
    "an array of objects": lambda x: flow.tensor(np.array([x.shape[0], 1])),
    "in a list": lambda x: flow.asarray([[1, 2], np.array(x.shape)]),
    "an operand": lambda x: x + np.array(x.shape, dtype=object)[1:] * x.shape[0],
    "without a dimension": lambda x: flow.full(3, np.array(x.shape[0])),
}
OPERATORS: dict[str, Callable[[Any], Any]] = {
    "rshift": lambda x: x.shape[0] >> 1,
    "and": lambda x: 7 & x.shape[0],
    "abs": lambda x: abs(x.shape[0] - 5),
    "invert": lambda x: ~x.shape[0],
    "round": lambda x: round(x.shape[0]),
    "matmul": lambda x: x @ x.shape[0],
    "truediv": lambda x: np.int64(7) / x.shape[0],
    "mul": lambda x: np.float32(2) * x.shape[0],
}
# Shapes by NumPy, of x of shape (N0, 4).
SHAPES: dict[str, Callable[[Any], Any]] = {
    "np.int64 * n": lambda n: np.int64(2) * n,
    "n * np.int64": lambda n: n * np.int64(2),
    "np.int64 + n": lambda n: np.int64(2) + n,
    "np.int32 - n": lambda n: -(np.int32(2) - n),
    "n - np.uint8": lambda n: n - np.uint8(2),
    "n // np.int64": lambda n: 6 * n // np.int64(2),
    "np.multiply": lambda n: np.multiply(n, 2),
    "np.prod": lambda n: np.prod((n, 4)),
    "np.sum": lambda n: np.sum((n, 4)),
    "turned": lambda n: tuple(np.array((n, 4))[[1, 0]]),
    "objects": lambda n: tuple(np.array((n, 4), dtype=object) + 1),
}
# On integers, and on x of shape (N0, 4).
OPERANDS: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda k, n: (k & n, n & k),
    "or": lambda k, n: (k | n, n | k),
    "xor": lambda k, n: (k ^ n, n ^ k),
    "shifts": lambda k, n: (k << n, n >> (k & 3)),
    "divmod": lambda k, n: (*divmod(k, n), *divmod(n, k + 1)),
    "np.add": lambda k, n: (np.add(k, n), np.maximum(n, k)),
    "where, an array": lambda k, n: (
        flow.where(k > 2, n, np.ones(4, "int16")),
        flow.where(k > 2, np.ones(4, "float32"), n),
        flow.where(np.array([True, False, True, True]), n, k),
    ),
    "where, a number": lambda k, n: (
        flow.where(k > 2, n, np.float32(1)),
        flow.where(k > 2, np.bool_(True), n),
    ),
    "isclose": lambda k, n: (flow.isclose(k, n), flow.isclose(n, k * 0.5)),
}
# On integers of a dtype, the count is out of its range.
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "operators": lambda k, n: (k < 30 * n, 30 * n <= k, k == 60 * n, k != 60 * n, k > -30 * n),
    "negative": lambda k, n: (k >= -n, -n < k),
    "functions": lambda k, n: (
        flow.less(k, 99 * n),
        flow.greater_equal(-n, k),
        np.equal(99 * n, k),
    ),
}
_MAKERS = ("full", "full_like")  # of a tensor, by which they are named


@pytest.mark.parametrize("op", REFUSED)
def test_what_needs_the_number_is_refused_with_its_line(op: str) -> None:
    line = REFUSED[op].__code__.co_firstlineno
    with pytest.raises(TraceError, match=r"unknown extent N0 is") as caught:  # noqa: SIM117
        with flow.graph.building(Program("main")):
            REFUSED[op](flow.graph.data("x", (None, 4)))
    assert str(caught.value).startswith(f"[{'tensor' if op in _MAKERS else op}] ")
    assert f"test_extents_as_arguments.py:{line})" in str(caught.value)


@pytest.mark.parametrize("name", STRIDES)
def test_strides_that_depend_on_an_extent_are_refused(name: str) -> None:
    line = STRIDES[name].__code__.co_firstlineno
    wanted = rf"^\[strides\] .*unknown.*arguments\.py:{line}\)"
    with pytest.raises(TraceError, match=wanted), flow.graph.building(Program("main")):
        STRIDES[name](flow.graph.data("x", (None, 4)))


def test_known_strides_are_numbers() -> None:
    with flow.graph.building(Program("main")):
        x = flow.graph.data("x", (None, 4))
        assert (x.strides, x.T.strides, x[::-1].strides) == ((32, 8), (8, 32), (-32, 8))
        assert flow.graph.data("y", (None, 1 << 20)).strides == (8 << 20, 8)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64", "bool", "float32"])
@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_with_a_count_out_of_range_are_eagers(name: str, dtype: str) -> None:
    f, main = COMPARED[name], Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", (None,), dtype)
        y = f(x, x.shape[0])
    for size in (1, 5, 9):
        given = (np.arange(size) * 30).astype(dtype)
        wanted, found = f(flow.tensor(given), size), Executor().run(main, {"x": given}, y)
        assert [a.tolist() for a in found] == [b.tolist() for b in wanted]


@pytest.mark.parametrize("name", DATA)
def test_data_with_an_extent_is_refused_with_its_line(name: str) -> None:
    line = DATA[name].__code__.co_firstlineno
    with pytest.raises(  # noqa: SIM117
        TraceError, match=rf"^\[\w+\] the unknown extent .*N0 is an element .*arguments.py:{line}\)"
    ):
        with flow.graph.building(Program("main")):
            DATA[name](flow.graph.data("x", (None, 4)))


@pytest.mark.parametrize("op", OPERATORS)
def test_operators_that_need_the_number_are_refused_with_their_line(op: str) -> None:
    line = OPERATORS[op].__code__.co_firstlineno
    with pytest.raises(TraceError, match=rf"{op}.*arguments\.py:{line}\)"):  # noqa: SIM117
        with flow.graph.building(Program("main")):
            OPERATORS[op](flow.graph.data("x", (None, 4)))


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_computed_with_numpy(name: str) -> None:
    main = Program("main")
    with flow.graph.building(main):
        y = flow.zeros(SHAPES[name](flow.graph.data("x", (None, 4)).shape[0]))
    for size in (3, 7):
        wanted = flow.zeros(SHAPES[name](size))
        assert Executor().run(main, {"x": np.zeros((size, 4))}, y).shape == wanted.shape


@pytest.mark.parametrize("name", OPERANDS)
def test_an_operand_beside_a_tensor_is_one_of_eagers(name: str) -> None:
    f, main = OPERANDS[name], Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", (None, 4), "int32")
        y = f(x, x.shape[0])
    for size in (1, 3, 7):
        given = np.arange(size * 4, dtype="int32").reshape(size, 4)
        wanted, found = f(flow.tensor(given), size), Executor().run(main, {"x": given}, y)
        for a, b in zip(found, wanted, strict=True):
            assert (a.dtype, a.shape, a.tolist()) == (b.dtype, b.shape, b.tolist())


def test_an_operand_in_place_is_written_to_the_parameter() -> None:
    main, startup = Program("main"), Program("startup")
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", (None,))
        w = flow.graph.parameter("w", 2, init=1.0)
        w += x.shape[0]
    exe, scope = Executor(), Scope()
    exe.run(startup, scope=scope)
    for size in (3, 4):
        exe.run(main, {"x": np.zeros(size)}, [x], scope=scope)
    assert scope["w"].tolist() == [8.0, 8.0]


@pytest.mark.parametrize("look", [flow.nonzero, lambda x: x[x > 0]], ids=["nonzero", "mask"])
def test_numbers_that_stand_for_extents_are_in_no_error(look: Callable[[Any], Any]) -> None:
    with pytest.raises(TraceError, match=r"a tensor of shape \(2\*N0, 4\)"):  # noqa: SIM117
        with flow.graph.building(Program("main")):
            x = flow.graph.data("x", (None, 4))
            look(flow.concat([x, x]))


@pytest.mark.parametrize("number", [293701, 2 * 293701 - 1, -293701])
def test_numbers_that_may_stand_for_extents_are_no_operands(number: int) -> None:
    text = rf"\[add\] \(.*the number {number} in it may stand"
    with pytest.raises(TraceError, match=text):  # noqa: SIM117
        with flow.graph.building(Program("main")):
            _ = flow.graph.data("x", (None,), "int64") + number
    with flow.graph.building(Program("main")):  # which no extent is made of
        _ = flow.graph.data("x", 4, "int64") + number
