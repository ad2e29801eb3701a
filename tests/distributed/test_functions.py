"""Functions of the namespace on tensors of many ranks: in all layouts, against NumPy."""

import copy
import pickle
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import Placement, placement, sbp
from tests.support.distributed.programs import on_ranks

A = np.arange(24).reshape(6, 4) * 7 % 11 - 3.0
A[2, 1] = np.nan
CHOICES = [sbp.broadcast, sbp.split(0), sbp.split(1), sbp.partial_sum]
# (ranks of the world, grid of the tensor)
WORLDS: list[tuple[int, Any]] = [(2, [0, 1]), (3, [0, 1, 2]), (3, [2, 0]), (4, [[0, 1], [2, 3]])]

# Of NumPy, or of the package, and a tensor.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "T": lambda m, x: x.T,
    "mT": lambda m, x: m.matrix_transpose(x) if m is np else x.mT,
    "moveaxis": lambda m, x: m.moveaxis(m.expand_dims(x, 0), 0, -1),
    "swapaxes": lambda m, x: m.swapaxes(x, 0, 1),
    "ravel": lambda m, x: m.ravel(x),
    "reshape to 3": lambda m, x: x.reshape(2, 3, 4),
    "reshape rows": lambda m, x: x.reshape((3, 2, -1)),
    "reshape other": lambda m, x: m.reshape(x, (8, 3)),
    "expand_dims": lambda m, x: m.expand_dims(x, (1, 3)),
    "squeeze": lambda m, x: m.squeeze(m.expand_dims(x, (0, 2)), 0),
    "flip along 0": lambda m, x: m.flip(x, 0),
    "flip": lambda m, x: m.flip(x),
    "flip along 1 and 0": lambda m, x: m.flip(x, (1, 0)),
    "roll": lambda m, x: m.roll(x, 5),
    "roll along 0": lambda m, x: m.roll(x, 2, axis=0),
    "roll back": lambda m, x: m.roll(x, -7, axis=-2),
    "roll all round": lambda m, x: m.roll(x[:5, :3], (5, -6), axis=(0, 1)),
    "roll both": lambda m, x: m.roll(x, (3, 1), axis=(0, 1)),
    "take one row": lambda m, x: m.take(x, 1, axis=0),
    "take one column": lambda m, x: m.take(x, -1, axis=1),
    "take one of three": lambda m, x: m.take(x.reshape(2, 3, 4), 1, axis=1),
    "take rows": lambda m, x: m.take(x, [[0, 5], [2, 2]], axis=0),
    "take unsigned": lambda m, x: m.take(x, np.array([0, 3], "uint64"), axis=1, mode="wrap"),
    "broadcast_to": lambda m, x: m.broadcast_to(x, (2, 6, 4)),
    "broadcast a row": lambda m, x: m.broadcast_to(x[:1], (3, 4)),
    "concatenate along 0": lambda m, x: m.concatenate([x, x + 1], axis=0),
    "concatenate three": lambda m, x: m.concatenate([x[:1], x, x[2:]], axis=0),
    "concatenate dtypes": lambda m, x: m.concatenate([x > 0, m.nan_to_num(x).astype("int16")]),
    "concatenate along 1": lambda m, x: m.concatenate([x, x], axis=1),
    "concatenate all": lambda m, x: m.concatenate([x, x], axis=None),
    "stack": lambda m, x: m.stack([x, x * 2], axis=1),
    "sort along 0": lambda m, x: m.sort(x, axis=0),
    "sort": lambda m, x: m.sort(x),
    "argsort": lambda m, x: m.argsort(x, axis=0, kind="stable"),
    "cumsum": lambda m, x: m.cumsum(x),
    "cumsum along 0": lambda m, x: m.cumsum(x, axis=0),
    "cumsum along 1": lambda m, x: x.cumsum(1),
    "cumsum of int32": lambda m, x: m.cumsum(m.nan_to_num(x).astype("int32"), axis=0),
    "cumprod": lambda m, x: m.cumprod(x, axis=0),
    "cumulative_sum": lambda m, x: m.cumulative_sum(x, axis=0, include_initial=True),
    "argmax": lambda m, x: m.argmax(x),
    "argmax along 0": lambda m, x: m.argmax(x, axis=0),
    "argmin along 1": lambda m, x: m.argmin(x, axis=1, keepdims=True),
    "argmax without NaN": lambda m, x: m.argmax(m.nan_to_num(x), axis=0),
    "count_nonzero": lambda m, x: m.count_nonzero(x),
    "count_nonzero along 0": lambda m, x: m.count_nonzero(x, axis=0),
    "where": lambda m, x: m.where(x > 0, x, -1.0),
    "clip": lambda m, x: m.clip(x, -1, 2),
    "clip below": lambda m, x: m.clip(x, None, x * 0 + 1),
    "astype": lambda m, x: m.nan_to_num(x).astype("int32"),
    "take along 0": lambda m, x: m.take(x, [0, 5, 3, -1], axis=0),
    "take along 1": lambda m, x: m.take(x, np.array([[0, 1], [3, 2]]), axis=1),
    "take": lambda m, x: m.take(x, [0, 23, 7]),
    "take zeros": lambda m, x: m.signbit(m.take(m.where(x > 0, x, -0.0), [1, 4], axis=0)),
    "take booleans": lambda m, x: m.take(x > 0, [1, 4], axis=0),
    "var": lambda m, x: m.round(m.var(x, axis=0), 8),
    "std": lambda m, x: m.round(m.nan_to_num(x).std(ddof=1), 8),
    "mean": lambda m, x: m.mean(x, axis=1),
    "sum": lambda m, x: m.sum(x, axis=0),
    "sum along an integer of NumPy": lambda m, x: m.sum(x, axis=np.int64(0)),
    "mean along an array of axes": lambda m, x: m.mean(x, axis=tuple(np.array([0, 1]))),
    "max along an integer of NumPy": lambda m, x: x.max(np.uint8(1), keepdims=True),
    "shapes by integers of NumPy": lambda m, x: m.moveaxis(
        m.squeeze(m.expand_dims(x, np.int64(0)), np.int32(0)), np.int64(0), np.int8(1)
    ),
    "flip along an integer of NumPy": lambda m, x: m.flip(x, np.int64(0)),
    "tensordot of an integer of NumPy": lambda m, x: m.tensordot(
        m.nan_to_num(x), m.nan_to_num(x).T, axes=np.int64(1)
    ),
    "copy": lambda m, x: m.copy(x),
    "array": lambda m, x: m.array(x, ndmin=3),
    "array in a dtype": lambda m, x: m.array(x, "float32"),
    "asarray in a dtype": lambda m, x: m.asarray(x, "float32"),
    "amax": lambda m, x: m.amax(x, axis=0),
    "zeros_like": lambda m, x: m.zeros_like(x),
    "full_like of a tensor": lambda m, x: m.full_like(x, m.sum(m.nan_to_num(x), axis=0)),
    "full_like of an array": lambda m, x: m.full_like(x, np.arange(6)[:, None], dtype="int16"),
    "full_like": lambda m, x: m.full_like(x, 3, dtype="int8"),
    "matmul": lambda m, x: m.matmul(m.nan_to_num(x), m.nan_to_num(x).T),
    "matmul of a stack": lambda m, x: m.matmul(
        m.nan_to_num(x).reshape(3, 2, 4), m.nan_to_num(x).reshape(3, 4, 2)
    ),
    "matmul of a stack and a matrix": lambda m, x: (
        m.nan_to_num(x).reshape(3, 2, 4) @ m.nan_to_num(x)[:4]
    ),
    "matmul of stacks that broadcast": lambda m, x: m.matmul(
        m.nan_to_num(x).reshape(3, 1, 2, 4), m.nan_to_num(x).reshape(1, 2, 4, 3)
    ),
    "matmul of a row": lambda m, x: m.nan_to_num(x)[0] @ m.nan_to_num(x).T,
    "matmul of a column": lambda m, x: m.matmul(m.nan_to_num(x), m.nan_to_num(x)[1]),
    "matmul of two vectors": lambda m, x: m.matmul(m.nan_to_num(x)[0], m.nan_to_num(x)[1]),
    "dot": lambda m, x: m.dot(m.nan_to_num(x).reshape(3, 2, 4), m.nan_to_num(x)[:4]),
    "tensordot": lambda m, x: m.tensordot(
        m.nan_to_num(x).reshape(3, 2, 4), m.nan_to_num(x).reshape(4, 3, 2), axes=([0, 2], [1, 0])
    ),
    "tensordot over arrays of axes": lambda m, x: m.tensordot(
        *[m.nan_to_num(x).reshape(3, 2, 4)] * 2, axes=np.array([[0, 2], [-3, -1]])
    ),
    "tensordot over fewer than no axes": lambda m, x: m.tensordot(
        m.nan_to_num(x)[0], m.nan_to_num(x), axes=-1
    ),
    "outer": lambda m, x: m.tensordot(m.nan_to_num(x)[0], m.nan_to_num(x), axes=0),
    "var of complex numbers": lambda m, x: m.round(m.var(m.nan_to_num(x) * 1j + 2, axis=0), 8),
    "var of int32": lambda m, x: m.round(m.var(m.nan_to_num(x).astype("int32"), axis=1), 8),
    "var in float64": lambda m, x: m.round(m.var(m.nan_to_num(x), axis=0, dtype="float64"), 8),
    "isclose": lambda m, x: m.isclose(x, x, equal_nan=True),
    "isclose to a number": lambda m, x: m.isclose(x, 2.0, equal_nan=True),
    "round": lambda m, x: m.round(x / 3, 2),
    "diff": lambda m, x: m.diff(x, axis=0),
    "float16": lambda m, x: x.astype("float16"),
}

KEYS: list[Any] = [
    *(0, 5, -1, np.s_[1:], np.s_[:-1], np.s_[1:-1], np.s_[::2], np.s_[::-1], np.s_[4:1:-2]),
    *(np.s_[1:5, 0:2], np.s_[:, 1], np.s_[:, ::-1], np.s_[2, 3], np.s_[None, 2], np.s_[..., 0]),
    *(np.s_[3:3], np.s_[2:4, None, 1], np.s_[::3, ::2], np.s_[-1, None], np.s_[...], ()),
]


def layouts(ranks: Placement, choices: list[Any]) -> Any:
    return product(choices, repeat=len(ranks.grid))


def check(x: Any, expected: np.ndarray[Any, Any], what: Any) -> None:
    """Of all ranks of its placement; the others hold nothing."""
    whole = x.full()
    if x.placement.parallel_id(flow.distributed.rank()) is not None:
        np.testing.assert_array_equal(whole.numpy(), expected, str(what))
        assert whole.dtype == expected.dtype, what
    else:
        assert whole.size == 0
        assert x.dtype == expected.dtype, what


@pytest.mark.parametrize(("world", "grid"), WORLDS)
@pytest.mark.parametrize("name", CALLS)
def test_calls_in_all_layouts(name: str, world: int, grid: Any) -> None:
    call = CALLS[name]

    def program() -> None:
        ranks = placement("cpu", grid)
        for sbps in layouts(ranks, CHOICES):
            x = flow.tensor(A, placement=ranks, sbp=sbps)
            check(call(flow, x), np.asarray(call(np, A)), (name, sbps))

    on_ranks(program, world)


@pytest.mark.parametrize(("world", "grid"), WORLDS)
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_basic_indexing_in_all_layouts(key: Any, world: int, grid: Any) -> None:
    def program() -> None:
        ranks = placement("cpu", grid)
        for sbps in layouts(ranks, CHOICES):
            check(flow.tensor(A, placement=ranks, sbp=sbps)[key], A[key], sbps)
        for sbps in layouts(ranks, CHOICES[:3]):
            value = np.asarray(A[key]) * 2 + 100
            for kind in ("number", "array", "row", "tensor"):
                x, expected = flow.tensor(A, placement=ranks, sbp=sbps), A.copy()
                if kind == "number":
                    x[key] = expected[key] = 7
                elif kind == "array":
                    x[key] = expected[key] = value
                elif kind == "row" and value.ndim:
                    x[key] = expected[key] = value[-1:]
                elif kind == "tensor":
                    rows = sbp.split(0) if value.ndim else sbp.broadcast
                    x[key] = flow.tensor(value, placement=ranks, sbp=rows)
                    expected[key] = value
                check(x, expected, (sbps, kind))

    on_ranks(program, world)


@pytest.mark.parametrize(("world", "grid"), WORLDS)
def test_masks(world: int, grid: Any) -> None:
    def program() -> None:
        ranks = placement("cpu", grid)
        for sbps in layouts(ranks, CHOICES[:3]):
            x = flow.tensor(A, placement=ranks, sbp=sbps)
            x[x > 0] = 0
            check(x, np.where(A > 0, 0, A), sbps)
        if len(ranks.grid) == 1:
            x = flow.tensor(A, placement=ranks, sbp=sbp.split(0))
            check(x[x > 0], A[A > 0], "split")

    on_ranks(program, world)


@pytest.mark.parametrize(("world", "grid"), WORLDS)
def test_operators_in_place(world: int, grid: Any) -> None:
    """The tensor itself changes, in its layout; what does not fit into it is refused."""

    def program() -> None:
        ranks = placement("cpu", grid)
        row = flow.tensor(A[0], placement=ranks, sbp=sbp.broadcast)
        for sbps in layouts(ranks, CHOICES):
            x = kept = flow.tensor(A, placement=ranks, sbp=sbps)
            part = kept.to_local()
            x += row
            x *= 2
            assert x is kept
            assert x.sbp == sbps
            assert part.size == 0 or part.shares_storage(x.to_local())
            check(kept, (A + A[0]) * 2, sbps)
            with pytest.raises(TypeError, match=r"\[__iadd__\] a result of complex128"):
                x += 1j
            with pytest.raises(ValueError, match=r"\[__imul__\] a result of shape \(2, 6, 4\)"):
                x *= np.ones((2, 6, 4))
            check(kept, (A + A[0]) * 2, sbps)

    on_ranks(program, world)


@pytest.mark.parametrize(("world", "grid"), WORLDS)
def test_creation(world: int, grid: Any) -> None:
    def program() -> None:
        ranks = placement("cpu", grid)
        for sbps in layouts(ranks, [sbp.broadcast, sbp.split(0), sbp.partial_sum]):
            made = {"placement": ranks, "sbp": sbps}
            check(flow.zeros((5, 3), **made), np.zeros((5, 3)), sbps)
            check(flow.ones(4, dtype="int8", **made), np.ones(4, "int8"), sbps)
            check(flow.full((7,), 2.5, **made), np.full(7, 2.5), sbps)
            check(flow.arange(2, 11, 3, **made), np.arange(2, 11, 3), sbps)
            check(flow.linspace(0, 1, 9, **made), np.linspace(0, 1, 9), sbps)
            check(flow.eye(4, **made), np.eye(4), sbps)
            check(flow.tensor(A.tolist(), dtype="float32", **made), A.astype("float32"), sbps)
            assert flow.empty((3, 2), **made).shape == (3, 2)

    on_ranks(program, world)


WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "median": lambda m, x: m.median(x, axis=0),
    "svd": lambda m, x: m.linalg.svd(x)[1],
    "fft": lambda m, x: m.fft.fft(x),
    "einsum": lambda m, x: m.einsum("ij,kj->ik", x, x),
    "unique": lambda m, x: m.unique(x),
    "outer": lambda m, x: m.outer(x[0], x[1]),
    "nonzero": lambda m, x: m.nonzero(x)[1],
    "pad": lambda m, x: m.pad(x, 1),
    "split": lambda m, x: m.split(x, 2)[1],
    "tensordot": lambda m, x: m.tensordot(x, x.T, axes=1),
    "index arrays": lambda m, x: x[[0, 2]],
}


@pytest.mark.parametrize("name", WHOLE)
def test_functions_of_whole_tensors(name: str) -> None:
    """Each rank computes them; of parts they have no rule, and say what to write."""
    call, whole = WHOLE[name], np.nan_to_num(A)

    def program() -> None:
        x = flow.tensor(whole, placement=placement.all("cpu"), sbp=sbp.broadcast)
        found = call(flow, x)
        assert all(each.is_broadcast for each in found.sbp)
        np.testing.assert_allclose(found.numpy(), call(np, whole), rtol=1e-12, atol=1e-12)

    on_ranks(program, 2)


@pytest.mark.parametrize("name", ["median", "svd", "fft", "unique", "pad", "index arrays"])
def test_functions_without_a_rule(name: str) -> None:
    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.split(0))
        words = r"has no rule for split\(0\); x.to_global\(sbp=flow.distributed.sbp.broadcast\)"
        with pytest.raises(TypeError, match=rf"{words} first \(192 bytes a rank\)"):
            WHOLE[name](flow, x)

    on_ranks(program, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: x[6], IndexError, "index 6 is out of bounds for axis 0 with size 6"),
        (lambda x: x[0, 0, 0], IndexError, "too many indices"),
        (lambda x: x[..., ...], IndexError, "at most one ellipsis"),
        (lambda x: x.reshape(5, 5), ValueError, r"\[reshape\] a tensor of shape \(6, 4\)"),
        (lambda x: flow.squeeze(x, 0), ValueError, r"\[squeeze\] axis 0 has extent 6"),
        (lambda x: flow.sum(x, axis=2), IndexError, "axis 2"),
        (lambda x: flow.take(x, [6], axis=0), IndexError, r"\[take\] an index is out of bounds"),
        (lambda x: flow.take(x, flow.tensor([0]), axis=0), TypeError, "this rank alone"),
        (lambda x: flow.concat([x, flow.ones((6, 4))]), TypeError, r"to_global\(\) makes it one"),
        (lambda x: flow.concat([x, x.T]), ValueError, r"\[concat\] shapes"),
        (lambda x: flow.concat([flow.ones((6, 4)), x]), TypeError, r"to_global\(\) makes it one"),
        (lambda x: flow.stack([flow.ones((6, 4)), x]), TypeError, r"\[stack\] one operand is a"),
        (lambda x: flow.concat([x, x], out=x), TypeError, r"y\[\.\.\.\] = flow\.concat\(\.\.\.\)"),
        (lambda x: flow.stack([x, x], out=x), TypeError, r"y\[\.\.\.\] = flow\.stack\(\.\.\.\)"),
        (lambda x: flow.add(x, x, out=x), TypeError, r"y\[\.\.\.\] = flow\.add\(\.\.\.\)"),
        (lambda x: flow.exp(flow.ones(4), out=x), TypeError, r"\[exp\] out: not for a .*Global"),
        (lambda x: flow.sum(x, 0, out=flow.ones(4)), TypeError, r"\[sum\] out: not for a Global"),
        (lambda x: flow.argmax(x, 0, x), TypeError, r"\[argmax\] out: not for a GlobalTensor"),
        (lambda x: x.argmin(out=x), TypeError, r"\[argmin\] out: not for a GlobalTensor"),
        (
            lambda x: flow.argmin(flow.ones((6, 4)), 0, x),
            TypeError,
            r"\[argmin\] out: not for a GlobalTensor",
        ),
        (lambda x: flow.asarray(x, device="cpu"), TypeError, r"x\.to_global\(placement=\.\.\.\)"),
        (lambda x: flow.array(x, order="C"), TypeError, r"\[array\] order: not for a Glob"),
        (lambda x: flow.asarray(x, "int8", copy=False), ValueError, "float64 becomes int8"),
        (lambda x: np.asarray(x), TypeError, r"x\.full\(\)\.numpy\(\)"),
        (lambda x: np.array([x, x]), TypeError, "is no array"),
        *(
            (
                lambda x, name=name: getattr(np, name)(x, axis=0),
                TypeError,
                rf"\[{name}\] a GlobalTensor is no array, .* x\.{name}\(\.\.\.\), or flow\.{name}",
            )
            for name in ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std")
        ),
        (lambda x: f"{x:.2f}", RuntimeError, r"\[format\] this rank has a part of .* full\(\)"),
        (lambda x: pickle.dumps(x), TypeError, r"\[pickle\] .* flow\.distributed\.save\(path, x\)"),
        (lambda x: x.to_global(sbp=sbp.partial("any")), TypeError, r"x\.astype\('bool'\)"),
        (
            lambda x: x.to_local().to_global(x.placement, sbp.partial("all")),
            TypeError,
            r"\[to_global\] partial\(all\) is of bools, got float64",
        ),
        (
            lambda x: flow.ones(3, placement=x.placement, sbp=sbp.partial("any")),
            TypeError,
            "of bools",
        ),
        (
            lambda x: flow.distributed.to_global([x, x], sbp=sbp.partial("any")),
            TypeError,
            "of bools",
        ),
        (lambda x: flow.sort(x.ravel()), TypeError, r"\[sort\] has no rule for one dimension"),
        (lambda x: flow.broadcast_to(x, (5, 4)), ValueError, "does not broadcast"),
        (lambda x: x.__setitem__(0, flow.ones(4)), TypeError, "a Tensor of this rank alone"),
        (lambda x: flow.add(x, [1.0] * 4), TypeError, "beside a GlobalTensor, got list"),
        (lambda x: flow.maximum((1.0,), x), TypeError, "beside a GlobalTensor, got tuple"),
        (lambda x: x.__setitem__([0], 1), TypeError, "no rule for index arrays"),
        (lambda x: x.__setitem__(0, [1, 2]), ValueError, "broadcast"),
        (lambda x: flow.zeros(3, placement="cpu"), TypeError, r"\[zeros\] placement: expected"),
        (lambda x: flow.zeros(3, placement=x.placement, sbp=1), TypeError, "sbp"),
        (
            lambda x: flow.zeros(3, placement=x.placement, device="cpu"),
            TypeError,
            "the placement decides",
        ),
        (lambda x: flow.ones(4, placement=x.placement, sbp=[sbp.broadcast] * 2), ValueError, "sbp"),
        (lambda x: flow.where(x), TypeError, "nonzero"),
        (lambda x: flow.var(x, ddof=1, correction=1), ValueError, "give one of them"),
    ],
)
def test_wrong_input(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.split(0))
        with pytest.raises(error, match=message):
            call(x)

    on_ranks(program, 2)


def test_partial_values_are_no_elements_to_write_to() -> None:
    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.partial_sum)
        with pytest.raises(ValueError, match="add up to the elements"):
            x[0] = 1

    on_ranks(program, 2)


def test_slices_of_a_tensor_that_is_split() -> None:
    """The slices are keys, which such tensors take."""

    def program() -> None:
        a = np.arange(6.0).reshape(3, 2)
        x = flow.tensor(a, placement=placement.all("cpu"), sbp=sbp.split(0))
        slices = flow.unstack(x)
        assert [one.full().tolist() for one in slices] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]

    on_ranks(program, 2)


def test_copies_have_memory_of_their_own() -> None:
    makers: list[Callable[[Any], Any]] = [
        *(flow.array, flow.copy, copy.copy, copy.deepcopy, lambda x: x.copy()),
        lambda x: flow.asarray(x, copy=True),
        lambda x: flow.asarray(x, x.dtype, copy=True),
    ]

    def program() -> None:
        for how in (sbp.broadcast, sbp.split(0), sbp.partial_sum):
            x = flow.tensor(A, placement=placement.all("cpu"), sbp=how)
            for make in makers:
                y = make(x)
                assert y.layout == x.layout
                y += 1
                check(x, A, how)
                check(y, A + 1, how)
            for same in (
                *(flow.asarray(x), flow.array(x, copy=None), flow.asarray(x, x.dtype)),
                *(flow.asarray(x, copy=False), flow.asarray(x, dtype="float64", copy=False)),
            ):
                assert same is x

    on_ranks(program, 2)


def test_take_by_small_integers() -> None:
    """An extent that the dtype of the index cannot hold."""

    def program() -> None:
        x = flow.tensor(np.arange(300.0), placement=placement.all("cpu"), sbp=sbp.split(0))
        for values, dtype in (([1, 200], "uint8"), ([-1, 5, -128], "int8"), ([3], "int16")):
            index = np.array(values, dtype)
            expected = np.arange(300.0)[index.astype(int)].tolist()
            whole = flow.tensor(index, placement=x.placement)
            for mode in ("raise", "wrap"):
                assert flow.take(x, index, mode=mode).tolist() == expected
                assert flow.take(x, whole, mode=mode).tolist() == expected

    on_ranks(program, 2)


def test_take_keeps_the_sign_of_zeros() -> None:
    def program() -> None:
        for dtype in ("float16", flow.bfloat16, "float32", "complex64"):
            value = np.array([-0.0, 1, -2, -0.0]).astype(dtype)
            x = flow.tensor(value, placement=placement.all("cpu"), sbp=sbp.split(0))
            taken = flow.take(x, [0, 3, 1]).astype("complex64").numpy().real
            assert np.signbit(taken).tolist() == [True, True, False]

    on_ranks(program, 2)


def test_means_of_bfloat16_are_rounded_once() -> None:
    """They are added in float32, as those of one device are."""
    values = np.random.default_rng(3).uniform(1, 2, (600, 7)).astype("float32")

    def program() -> None:
        whole = flow.tensor(values).astype(flow.bfloat16)
        x = flow.tensor(values, placement=placement.all("cpu"), sbp=sbp.split(0)).astype("bfloat16")
        for name in ("mean", "var", "std"):
            for axis in (None, 0, 1):
                wide = getattr(flow, name)(whole.astype("float32"), axis)
                found = getattr(flow, name)(x, axis)
                assert found.dtype == flow.bfloat16
                assert found.full().tolist() == wide.astype("bfloat16").tolist(), (name, axis)

    on_ranks(program, 2)


def test_any_and_all_are_of_bools() -> None:
    def program() -> None:
        own = flow.tensor([flow.distributed.rank() == 1, True])
        for op, expected in (("any", [True, True]), ("all", [False, True])):
            x = own.to_global(placement.all("cpu"), sbp.partial(op))
            assert x.full().tolist() == expected

    on_ranks(program, 2)


def test_a_format() -> None:
    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.split(0))
        assert f"{x[1, 2].to_global(sbp=sbp.broadcast):.2f}" == f"{A[1, 2]:.2f}"
        assert f"{x}" == str(x)

    on_ranks(program, 2)


def test_divmod() -> None:
    def program() -> None:
        x = flow.tensor(A, placement=placement.all("cpu"), sbp=sbp.split(0))
        for made, wanted in ((divmod(x, 2), divmod(A, 2)), (divmod(9, x + 1), divmod(9, A + 1))):
            for own, known in zip(made, wanted, strict=True):
                np.testing.assert_array_equal(own.full().numpy(), known)

    on_ranks(program, 2)
