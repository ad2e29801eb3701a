"""What operands, keys, values and targets may be: of many ranks, and of one placement."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import placement, sbp
from tests.support.distributed.programs import on_ranks

A = np.array([[1.0, 2.0], [3.0, 5.0]])
INDEX = np.array([1, 0])
MASK = np.array([[True, False], [True, True]])
LAYOUTS = [sbp.broadcast, sbp.split(0), sbp.partial_sum]


def spread(values: Any, how: Any = sbp.broadcast, ranks: Any = None) -> Any:
    """A tensor of values that all ranks give."""
    ranks = placement.all("cpu") if ranks is None else ranks
    return flow.tensor(values, placement=ranks, sbp=how)


# Of a tensor of all ranks, and one of this rank alone that is not the same on all.
WITH_OWN: dict[str, Callable[[Any, Any], Any]] = {
    "kron": flow.kron,
    "outer": lambda x, own: flow.outer(x[0], own),
    "einsum": lambda x, own: flow.einsum("ij,j->i", x, own),
    "isin": flow.isin,
    "solve": flow.linalg.solve,
    "searchsorted": lambda x, own: flow.searchsorted(x[0], own),
    "interp": lambda x, own: flow.interp(own, x[0], x[1]),
    "take_along_axis": lambda x, own: flow.take_along_axis(x, own.astype("int64")[None], axis=0),
    "put": lambda x, own: flow.put(x, [0, 1], own),
    "full_like": lambda x, own: flow.full_like(x, own),
    "full_like of one of this rank": lambda x, own: flow.full_like(own, x[0]),
    "multi_dot": lambda x, own: flow.linalg.multi_dot([x, x, own]),
    "getitem": lambda x, own: x[own.astype("int64")],
    "getitem of a mask": lambda x, own: x[own > 0],
    "getitem of a tuple": lambda x, own: x[own.astype("int64"), 0],
    "getitem of a number": lambda x, own: x[own[0].astype("int64")],
    "getitem of a slice": lambda x, own: x[own[1].astype("int64") :],
    "setitem of a slice": lambda x, own: x.__setitem__(slice(own[1].astype("int64"), None), 3.0),
    "setitem of a key": lambda x, own: x.__setitem__(own.astype("int64"), 3.0),
    "setitem of a tuple": lambda x, own: x.__setitem__((own.astype("int64"), 0), 3.0),
    "setitem of a value": lambda x, own: x.__setitem__(0, own),
    "setitem of a list": lambda x, own: x.__setitem__(0, [own[0], 1.0]),
    "tensor": lambda x, own: flow.tensor(own, placement=x.placement),
    "asarray": lambda x, own: flow.asarray(own, placement=x.placement, sbp=sbp.split(0)),
    "full": lambda x, own: flow.full((2,), own[0], placement=x.placement),
    "full of a name": lambda x, own: flow.full((2,), fill_value=own[0], placement=x.placement),
}


@pytest.mark.parametrize("name", WITH_OWN)
def test_tensors_of_one_rank_are_refused(name: str) -> None:
    """Each rank would have a value of its own of what all should have."""

    def program() -> None:
        own = flow.tensor([0.0, 1.0]) * flow.distributed.rank()
        x = spread(A)
        with pytest.raises(TypeError, match=r"rank alone; x\.to_global\(placement, sbp\)"):
            WITH_OWN[name](x, own)
        assert x.tolist() == A.tolist()

    on_ranks(program, 2)


WITH_OTHER: dict[str, Callable[[Any, Any], Any]] = {
    "getitem of a mask": lambda x, of: x[of(MASK)],
    "setitem of a mask": lambda x, of: x.__setitem__(of(MASK), 7.0),
    "setitem of an index": lambda x, of: x.__setitem__(of(INDEX), 7.0),
    "setitem of a tuple": lambda x, of: x.__setitem__((of(INDEX), 0), 7.0),
    "setitem of a value": lambda x, of: x.__setitem__(..., of(A)),
    "setitem of a row": lambda x, of: x.__setitem__(0, of(A[1])),
    "setitem at an index": lambda x, of: x.__setitem__(INDEX, of(A)),
}


@pytest.mark.parametrize("name", WITH_OTHER)
def test_two_placements_are_refused(name: str) -> None:
    """Their parts do not fit to each other, also where they have one shape."""

    def program() -> None:
        for one, other in (([0, 1], [1, 0]), ([0, 1], [1, 2]), ([0, 1], [[0, 1]])):
            here, there = placement("cpu", one), placement("cpu", other)
            for how in (sbp.broadcast, sbp.split(0)):
                x = spread(A, how, here)
                hows = [how] * len(there.grid)
                with pytest.raises(ValueError, match=r"operands are on .*placement=\.\.\."):
                    WITH_OTHER[name](x, lambda v: spread(v, hows, there))  # noqa: B023
                assert flow.distributed.rank() == 2 or x.full().tolist() == A.tolist()

    on_ranks(program, 3)


def test_writes_at_indices_of_all_layouts() -> None:
    """Index and value are made whole, as x is; that is counted with what moves by itself."""

    def program() -> None:
        for index in LAYOUTS:
            for value in LAYOUTS:
                x, expected = spread(np.zeros((3, 2))), np.zeros((3, 2))
                x[spread(INDEX, index)] = spread(A, value)
                expected[INDEX] = A
                np.testing.assert_array_equal(x.numpy(), expected)
                x[spread(INDEX, index), 1] = spread(A[0] + 9, value)
                expected[INDEX, 1] = A[0] + 9
                np.testing.assert_array_equal(x.numpy(), expected)
                x[INDEX] = spread(A[0], value)
                expected[INDEX] = A[0]
                np.testing.assert_array_equal(x.numpy(), expected)
        for how in LAYOUTS[:2]:
            x, expected = spread(A), A.copy()
            x[spread(MASK, how)] = np.array([7.0, 8.0, 9.0])
            expected[MASK] = [7.0, 8.0, 9.0]
            np.testing.assert_array_equal(x.numpy(), expected)
        with flow.flags(implicit_boxing="error"):
            x = spread(A)
            with pytest.raises(RuntimeError, match=r"\[setitem\] moves an operand"):
                x[INDEX] = spread(A, sbp.split(0))
            with pytest.raises(RuntimeError, match=r"\[setitem\] moves an operand"):
                x[spread(INDEX, sbp.split(0))] = 1
            np.testing.assert_array_equal(x.numpy(), A)

    on_ranks(program, 2)


VALUES: list[Any] = [
    *(300, [300], (300, 1, 2, 3), [[300]], np.int64(300), float("nan"), 1j),
    *(1.5, [1.5, 2, 3, 4], True, [[1, 2, 3, 4]], np.array([300]), np.full((1, 1, 4), 2), -1),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
@pytest.mark.parametrize("how", LAYOUTS[:2], ids=str)
def test_values_are_written_as_to_a_local_tensor(how: Any, value: Any) -> None:
    """What it refuses all ranks refuse, those without a place to write to, too."""

    def program() -> None:
        for ranks in (placement.all("cpu"), placement("cpu", [0, 2])):
            for write in (
                lambda x: x.__setitem__(..., value),
                lambda x: x.__setitem__(slice(0, 4), value),
                lambda x: x.__setitem__((None, slice(None)), value),
            ):
                x, local = spread(np.zeros(4, "int8"), how, ranks), flow.zeros(4, dtype="int8")
                try:
                    write(local)
                except Exception as error:
                    with pytest.raises(type(error)):
                        write(x)
                else:
                    write(x)
                if ranks.parallel_id(flow.distributed.rank()) is not None:
                    assert x.full().tolist() == local.tolist()

    on_ranks(program, 3)


def test_numbers_at_a_mask() -> None:
    def program() -> None:
        x = spread(np.zeros((2, 2), "int8"), sbp.split(0))
        with pytest.raises(OverflowError, match="300 out of bounds for int8"):
            x[spread(MASK, sbp.split(0))] = 300
        x[spread(MASK, sbp.split(0))] = np.array(7)
        assert x.full().tolist() == (MASK * 7).tolist()

    on_ranks(program, 2)


@pytest.mark.parametrize("name", ["permutation", "shuffle", "choice", "permuted"])
def test_generators_of_each_rank_are_refused(name: str) -> None:
    """Each rank would have an order of its own of a tensor that all have."""

    def program() -> None:
        x = spread(np.arange(8))
        for source in (flow.random, flow.random.default_rng()):
            if not hasattr(source, name):
                continue
            with pytest.raises(TypeError, match=rf"\[{name}\] each rank .* flow.random.Philox"):
                getattr(source, name)(x)
        assert x.tolist() == list(range(8))

    on_ranks(program, 2)


# Of a tensor of all ranks and the array that it was made of, which is the same on all.
WITH_ARRAY: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "dot": (flow.dot, lambda a: a @ a),
    "dot from the left": (lambda x, a: flow.dot(a[0], x), lambda a: a[0] @ a),
    "dot of a number": (lambda x, a: flow.dot(x, a[0, 0]), lambda a: a * a[0, 0]),
    "tensordot": (lambda x, a: flow.tensordot(x, a, 1), lambda a: np.tensordot(a, a, 1)),
    "matmul": (lambda x, a: x @ a, lambda a: a @ a),
    "matmul from the left": (lambda x, a: a @ x, lambda a: a @ a),
    "matmul of a vector": (lambda x, a: a[0] @ x, lambda a: a[0] @ a),
    "concat": (lambda x, a: flow.concat([x, a]), lambda a: np.concatenate([a, a])),
    "concat after it": (lambda x, a: flow.concat([a, x], axis=1), lambda a: np.hstack([a, a])),
    "concat of all": (lambda x, a: flow.concat([a[0], x], axis=None), lambda a: np.append(a[0], a)),
    "stack": (lambda x, a: flow.stack([x, a]), lambda a: np.stack([a, a])),
}


@pytest.mark.parametrize("how", [*LAYOUTS, sbp.split(1)], ids=str)
@pytest.mark.parametrize("name", WITH_ARRAY)
def test_arrays_count_as_broadcast(name: str, how: Any) -> None:
    function, numpys = WITH_ARRAY[name]

    def program() -> None:
        x = spread(A, how)
        np.testing.assert_array_equal(function(x, A).full().numpy(), numpys(A))

    on_ranks(program, 3)


def test_arrays_beside_a_tensor_of_some_ranks() -> None:
    def program() -> None:
        ranks = placement("cpu", ranks=[1, 2])
        x = spread(A, sbp.split(0), ranks)
        for made in (x @ A, flow.concat([A, x]), flow.stack([x, A])):
            whole = made.full()
            assert whole.size == (made.size if flow.distributed.rank() else 0)

    on_ranks(program, 3)


def test_arrays_are_masks() -> None:
    def program() -> None:
        with flow.flags(implicit_boxing="error"):
            for how in (sbp.broadcast, sbp.split(0), sbp.split(1)):
                x, expected = spread(A, how), A.copy()
                x[MASK] = 2.0
                expected[MASK] = 2.0
                np.testing.assert_array_equal(x.full().numpy(), expected)
            x = spread(A, sbp.split(0))
            np.testing.assert_array_equal(x[MASK].full().numpy(), A[MASK])

    on_ranks(program, 2)


@pytest.mark.parametrize("name", ["matmul", "matmul from the left", "concat", "stack"])
def test_an_array_moves_nothing_beside_a_whole_tensor(name: str) -> None:
    def program() -> None:
        x = spread(A, sbp.broadcast)
        with flow.flags(implicit_boxing="error"):
            np.testing.assert_array_equal(WITH_ARRAY[name][0](x, A).numpy(), WITH_ARRAY[name][1](A))

    on_ranks(program, 2)


def test_a_tensor_of_this_rank_is_no_factor_from_the_left() -> None:
    def program() -> None:
        with pytest.raises(TypeError, match="to_global"):
            flow.ones((2, 2)) @ spread(A)
        with pytest.raises(TypeError, match="to_global"):
            [[1.0, 2.0]] @ spread(A)

    on_ranks(program, 2)


# --- targets: results of many ranks go nowhere but into a new tensor

WITH_OUT = ("matmul", "dot", "outer", "take", "cumsum", "vecdot", "trace", "fft.fft")
TO_OUT: dict[str, Callable[[Any, flow.Tensor, Any], Any]] = {  # a function, and two tensors
    "all of many ranks": lambda f, t, x: f(x, x, out=x),
    "of one rank": lambda f, t, x: f(x, x, out=t),
    "from one rank": lambda f, t, x: f(t, t, out=x),
}


@pytest.mark.parametrize("kind", [sbp.broadcast, sbp.split(0)], ids=str)
def test_many_ranks_have_no_target(kind: Any) -> None:
    def program() -> None:
        t = flow.ones((4, 4))
        x = flow.ones((4, 4), placement=placement.all("cpu"), sbp=kind)
        for path in WITH_OUT:
            name = path.rpartition(".")[2]
            function = flow.fft.fft if name == "fft" else getattr(flow, name)
            words = rf"\[{name}\] out: not for a GlobalTensor; y\[\.\.\.\] = flow\.{name}\("
            for call in TO_OUT.values():
                with pytest.raises(TypeError, match=words):
                    call(function, t, x)
        for name in ("take", "outer", "dot"):
            args = (x, [0], 0, x) if name == "take" else (x, x, x)  # by position
            with pytest.raises(TypeError, match=rf"\[{name}\] out: not for a GlobalTensor"):
                getattr(flow, name)(*args)
        for name in ("cumsum", "cumprod", "take"):
            with pytest.raises(TypeError, match=rf"\[{name}\] a GlobalTensor is no .* no out="):
                getattr(x, name)([0], out=x)
        assert (t.numpy() == 1).all()

    on_ranks(program, 2)


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64", "complex64"])
def test_large_integers_are_written_as_in_numpy(dtype: str) -> None:
    def program() -> None:
        for how in (sbp.broadcast, sbp.split(0)):
            x, v = spread(np.zeros(4, dtype), how), np.zeros(4, dtype)
            if v.dtype.kind in "iu":
                for value in (1 << 70, [1, 1 << 70, 2, 3]):
                    with pytest.raises(OverflowError):
                        x[...] = value
            else:
                x[1:] = v[1:] = 1 << 70
                x[:2] = v[:2] = [1 << 65, -(1 << 65)]
            np.testing.assert_array_equal(x.full().numpy(), v)

    on_ranks(program, 2)


def test_an_array_without_dimensions_is_a_mask_or_an_index() -> None:
    def program() -> None:
        x, v = spread(A), A.copy()
        for key in (np.array(True), np.array(False), np.array(1), (0, np.array(-1))):
            np.testing.assert_array_equal(x[key].numpy(), v[key])
        x[np.array(True)] = v[np.array(True)] = 3.0
        x[np.array(False)] = v[np.array(False)] = 4.0
        np.testing.assert_array_equal(x.numpy(), v)
        with pytest.raises(IndexError):
            x[np.array(1.0)]

    on_ranks(program, 2)
