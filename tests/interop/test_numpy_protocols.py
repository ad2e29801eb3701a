"""NumPy's functions and ufuncs called on tensors: NumPy's results, as tensors on their device."""

import copy
import itertools
import operator
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.table import ROWS
from tests.support.oracle import DTYPES, compare, same, same_as, values
from tests.support.rounding import agrees, agrees_in_sums, has_own_kernels, of_products

Call = Callable[..., Any]


def attempt(call: Call, *operands: Any) -> Any:
    """The result, or the type of what is raised."""
    try:
        with np.errstate(all="ignore"):
            return call(*operands)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        return error


def agree(
    call: Call, device: flow.Device, *operands: Any, alike: Callable[..., None] = same
) -> None:
    """The call gives the same with arrays as with tensors of them, which stay where they are."""
    given = [flow.tensor(x, device=device) if isinstance(x, np.ndarray) else x for x in operands]
    expected, seen = attempt(call, *operands), attempt(call, *given)
    if isinstance(expected, Exception):
        assert isinstance(seen, Exception), f"expected {expected!r}, got {seen}"
        return
    if isinstance(seen, Exception):
        raise seen
    if not isinstance(expected, tuple):
        expected, seen = (expected,), (seen,)
    for e, s in zip(expected, seen, strict=True):
        assert isinstance(s, flow.Tensor), s
        assert s.device == device
        alike(e, s)


# --- ufuncs


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.name)
def test_every_ufunc_of_the_table(row: Any, device: flow.Device) -> None:
    for dtype in ("bool", "int8", "uint32", "float32", "complex128"):
        operands = [values((3, 4), dtype, i) for i in range(row.ufunc.nin)]
        if row.ufunc is np.power and operands[1].dtype.kind in "iu":
            operands[1] = operands[1] % 4
        agree(row.ufunc, device, *operands, alike=partial(same_as, row.name, operands))


BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv]
BINARY += [operator.mod, operator.and_, operator.or_, operator.xor, operator.lshift, divmod]
BINARY += [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
BINARY += [operator.matmul]


@pytest.mark.parametrize("operation", BINARY, ids=lambda f: f.__name__)
def test_arrays_and_scalars_on_the_left(operation: Call, device: flow.Device) -> None:
    for dtype in ("int16", "float32"):
        x = np.asarray([[3, 5], [7, 2]], dtype)
        t = flow.tensor(x, device=device)
        for left in (np.asarray([[1, 2], [3, 4]], dtype), np.int64(9), np.float64(2.5)):
            agree(lambda y, left=left: operation(left, y), device, x)
        assert attempt(operation, x, t).__class__ is attempt(operation, t, t).__class__


def test_sequences_in_operators(device: flow.Device) -> None:
    x = np.asarray([3.0, 5.0])
    for operation in (operator.add, operator.sub, operator.mul, operator.eq, operator.lt):
        agree(lambda y, f=operation: f(y, [1, 5]), device, x)
        agree(lambda y, f=operation: f((2.0, 5), y), device, x)
    assert 5.0 in flow.tensor(x, device=device)
    assert 4 not in flow.tensor(x, device=device)
    t = flow.tensor(x, device=device)
    t += [1, 2]
    assert t.tolist() == [4, 7]
    with pytest.raises(ValueError, match="broadcast"):
        t - [1, 2, 3]
    with pytest.raises(ValueError, match="inhomogeneous"):
        t - [1, [2, 3]]


def test_out(device: flow.Device) -> None:
    x, y = np.asarray([1.0, 2.0]), np.asarray([[10.0], [20.0]])
    t = flow.tensor(x, device=device)
    out = flow.zeros((2, 2), device=device)
    assert np.add(x, y, out=out) is out
    assert np.multiply(out, t, out=(out,)) is out
    assert out.tolist() == [[11, 24], [21, 44]]
    array = np.zeros((2, 2))
    assert np.add(t, y, out=array) is array
    assert array.tolist() == [[11, 12], [21, 22]]
    x += t
    assert isinstance(x, np.ndarray)
    assert x.tolist() == [2, 4]
    small = flow.zeros(2, dtype="float32", device=device)
    assert np.sqrt(t, out=small).dtype == "float32"
    for wrong in (flow.zeros(2, dtype="int8", device=device), np.zeros(2, "int8")):
        with pytest.raises(TypeError):
            np.sqrt(t, out=wrong)
    for wrong in (flow.zeros(3, device=device), np.zeros(3)):
        with pytest.raises(ValueError, match=r"shape|broadcast"):
            np.sqrt(t, out=wrong)
    both = flow.zeros(2, device=device), flow.zeros(2, device=device)
    np.divmod(flow.tensor([7.0, 9.0], device=device), 2, out=both)
    assert [one.tolist() for one in both] == [[3, 4], [1, 1]]


def test_where(device: flow.Device) -> None:
    x, y = values((3, 4), "float32", 1), values((4,), "float32", 2)
    mask = np.arange(12).reshape(3, 4) % 3 == 0
    for given in (mask, mask[0], flow.tensor(mask, device=device)):
        expected = np.full((3, 4), 9, "float32")
        out = flow.tensor(expected, device=device)
        host = expected.copy()
        numpy_mask = np.asarray(given)
        with np.errstate(all="ignore"):
            np.divide(x, y, out=expected, where=numpy_mask)
        t = flow.tensor(x, device=device)
        assert np.divide(t, y, out=out, where=given) is out
        assert np.divide(t, y, out=host, where=given) is host
        assert compare(expected, out.numpy()) is None
        assert compare(expected, host) is None
    new = np.negative(flow.ones((2, 2), device=device), where=[True, False])
    assert new.tolist() == [[-1, 0], [-1, 0]]
    with pytest.raises(TypeError, match="bool"):
        np.negative(flow.ones(2), where=np.array([1, 0]))


def test_dtype_casting_and_signature(device: flow.Device) -> None:
    x, i = values((5,), "float64", 1), values((5,), "int16", 2)
    agree(lambda a, b: np.add(a, b, dtype="float32"), device, x, i)
    agree(lambda a: np.add(a, 1, dtype="float32"), device, i)
    agree(lambda a: np.add(a, 2.5, dtype="int8"), device, i)
    agree(lambda a: np.add(a, a, dtype="int8", casting="unsafe"), device, i)
    agree(lambda a: np.add(a, a, dtype="int8"), device, x)
    agree(lambda a: np.add(a, a, casting="no"), device, i)
    agree(lambda a, b: np.add(a, b, casting="no"), device, x, i)
    agree(lambda a, b: np.add(a, b, signature="ff->f"), device, x, i)
    agree(lambda a, b: np.less(a, b, signature=("f", "f", None)), device, x, i)
    agree(lambda a: np.sqrt(a, dtype="complex128"), device, i)
    with pytest.raises(TypeError, match=r"\[numpy.add\] order: .* got 'F'"):
        np.add(flow.ones(2), 1, order="F")


@pytest.mark.filterwarnings("ignore:Casting complex")
@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
def test_numbers_in_a_loop_that_is_named(casting: Any, device: flow.Device) -> None:
    for ufunc, x, dtype in itertools.product(
        (np.add, np.floor_divide, np.less, np.logical_and),
        (1, 2**40, 2.7, True, 2 + 0j),
        (None, "uint32", "int64", "float64", "bool"),
    ):
        for a in (np.asarray([1, 3], "int32"), np.asarray([1, 3], "float32")):
            keywords = {"dtype": dtype, "casting": casting}
            agree(lambda y, f=ufunc, x=x, k=keywords: f(y, x, **k), device, a)
            agree(lambda y, f=ufunc, x=x, k=keywords: f(x, y, **k), device, a)
    for x in (1, 1.5, 2**40, 2**70):
        call = partial(np.less, signature="ii->?", casting=casting)
        if casting != "equiv":
            agree(lambda y, x=x, f=call: f(y, x), device, np.asarray([1, 3], "int32"))
    bits = np.asarray([1, 3], "uint64")
    agree(lambda y: np.bitwise_and(y, 0.0, dtype=bool, casting=casting), device, bits)
    agree(lambda y: np.power(y, 2 + 0j, dtype="int8", casting=casting), device, bits)


def test_a_number_that_is_not_equivalent(device: flow.Device) -> None:
    """NumPy's own resolution of such a call would crash."""
    for ufunc, keywords in ((np.add, {"dtype": "uint32"}), (np.multiply, {"dtype": "float32"})):
        with pytest.raises(TypeError, match="Python int to .* under the casting rule 'equiv'"):
            ufunc(flow.tensor([1], device=device), 1, casting="equiv", **keywords)
    assert np.add(flow.tensor([1], device=device), 1, casting="equiv").tolist() == [2]
    with pytest.raises(TypeError, match="complex number"):
        np.add(flow.tensor([1], device=device), 1 + 2j, dtype="int8", casting="unsafe")


REDUCED = [np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or]
REDUCED += [np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logaddexp, np.hypot, np.subtract]


# As functions, which round otherwise where a device adds in an order of its own.
_FUNCTIONS = {np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min"}


def agree_reduced(ufunc: np.ufunc, device: flow.Device, x: np.ndarray, **keywords: Any) -> None:
    alike = same
    if ufunc in _FUNCTIONS:
        given = {"axis": 0} | keywords
        alike = partial(agrees, _FUNCTIONS[ufunc], x=x, **given)
    agree(lambda a: ufunc.reduce(a, **keywords), device, x, alike=alike)


@pytest.mark.parametrize("ufunc", REDUCED, ids=lambda u: u.__name__)
def test_reduce(ufunc: np.ufunc, device: flow.Device) -> None:
    for dtype in ("bool", "int8", "uint64", "float16", "float64", "complex64"):
        x = values((3, 4), dtype, 1)
        if ufunc is np.multiply and has_own_kernels(device):
            x = of_products(x)
        for keywords in ({}, {"axis": 1}, {"axis": None}, {"axis": (0, 1)}, {"keepdims": True}):
            agree_reduced(ufunc, device, x, **keywords)
        agree_reduced(ufunc, device, x, axis=2)
        agree_reduced(ufunc, device, x[:0])
        agree_reduced(ufunc, device, x, initial=1)
    x = values((40,), "int32", 3)
    mask = x % 2 == 0
    agree(lambda a: ufunc.reduce(a, where=mask), device, x)
    if ufunc is not np.subtract:
        agree(lambda a: ufunc.reduce(a, where=mask, initial=5), device, x)
    agree(lambda a: ufunc.reduce(a, dtype="int64"), device, x)


def test_functions_that_reduce_under_a_mask(device: flow.Device) -> None:
    """Of whole numbers: NumPy adds the runs of a masked sum apart, which rounds otherwise."""
    mask = np.asarray([True, False, True, True])
    for dtype in ("int8", "float32", "complex64"):
        x = np.arange(-6, 6).reshape(3, 4).astype(dtype)
        for function in (np.sum, np.prod, np.any, np.all):
            agree(lambda a, f=function: f(a, where=mask), device, x)
            agree(lambda a, f=function: f(a, where=a > 0, axis=1, keepdims=True), device, x)
        if dtype != "complex64":
            agree(lambda a: np.max(a, where=mask, initial=0), device, x)
            agree(lambda a: np.min(a, where=mask), device, x)


def test_reduce_into(device: flow.Device) -> None:
    t = flow.arange(6, device=device).reshape(2, 3)
    out = flow.zeros(3, device=device)
    assert np.add.reduce(t, out=out) is out
    assert out.tolist() == [3, 5, 7]
    array = np.zeros(2, int)
    assert np.max(t, axis=1, out=array) is array
    assert array.tolist() == [2, 5]


def test_other_methods_of_ufuncs(device: flow.Device) -> None:
    x, y = values((2, 3), "int32", 1), values((4,), "float64", 2)
    agree(np.multiply.outer, device, x, y)
    agree(lambda a: np.add.outer(a, 1), device, x)
    agree(lambda a: np.subtract.outer(np.arange(3), a), device, x)
    if hasattr(flow, "cumulative_sum"):
        agree(lambda a: np.add.accumulate(a, axis=1), device, x)
        agree(lambda a: np.cumsum(a), device, x)
        agree(lambda a: np.cumsum(a, axis=1, dtype="float32"), device, x)
    agree(lambda a: np.add.reduceat(a, [0, 1], axis=1), device, x)
    t = flow.tensor(x, device=device)
    for call, name in (
        (lambda: np.isnat(t), "isnat"),
        (lambda: np.power.reduce(t), "power.reduce"),
    ):
        with pytest.raises(TypeError, match=rf"\[numpy.{name}\] no implementation.*numpy\(\)"):
            call()


def test_other_libraries_have_their_turn() -> None:
    class Other:
        def __array_ufunc__(self, *arguments: Any, **keywords: Any) -> str:
            return "other"

        def __array_function__(self, *arguments: Any) -> str:
            return "other"

    t = flow.ones(2)
    assert np.add(t, Other()) == np.add(Other(), t) == "other"
    assert np.concatenate([t, Other()]) == "other"
    for wrong in ("text", object(), None):
        with pytest.raises(TypeError):
            np.add(t, wrong)


# --- all other functions

FUNCTIONS: dict[str, tuple[Call, ...]] = {
    "sum": (np.sum, lambda a: np.sum(a, axis=0), lambda a: np.sum(a, 1, "complex128")),
    "sum and more": (lambda a: np.sum(a, axis=1, initial=3), lambda a: np.prod(a, initial=2)),
    "max": (np.max, np.amax, lambda a: np.max(a, initial=99), lambda a: np.min(a, 1)),
    "any": (np.any, np.all, lambda a: np.any(a, axis=0, keepdims=True)),
    "mean": (np.mean, lambda a: np.mean(a, axis=(0, 1)), np.prod),
    "arg": (np.argmax, lambda a: np.argmin(a, axis=1, keepdims=True)),
    "reshape": (lambda a: np.reshape(a, (2, 6)), lambda a: np.reshape(a, -1), np.ravel),
    "axes": (np.transpose, lambda a: np.transpose(a, (1, 0)), lambda a: np.moveaxis(a, 0, 1)),
    "dimensions": (lambda a: np.expand_dims(a, (0, 2)), lambda a: np.squeeze(a[:1], axis=0)),
    "broadcast": (
        lambda a: np.broadcast_to(a, (2, 3, 4)),
        lambda a: tuple(np.broadcast_arrays(a, a[:1])),
    ),
    "join": (
        lambda a: np.concatenate([a, a]),
        lambda a: np.concatenate((a, np.ones((3, 4), "float32")), axis=1),
        lambda a: np.concatenate([a, a], axis=None, dtype="complex128"),
        lambda a: np.concatenate([a, a], dtype="bool"),
        lambda a: np.concat([a, a], 1),
        lambda a: np.stack([a, a], axis=-1),
        lambda a: np.stack([a, a], dtype="complex128", casting="safe"),
    ),
    "where": (lambda a: np.where(a > 1, a, 0), lambda a: np.where([True, False] * 2, 1.5, a)),
    "clip": (
        lambda a: np.clip(a, 1, 3),
        lambda a: np.clip(a, None, 3),
        lambda a: np.clip(a, a_min=1, a_max=None),
        lambda a: np.clip(a, min=2),
    ),
    "like": (
        lambda a: np.zeros_like(a),
        lambda a: np.ones_like(a, dtype="int8"),
        lambda a: np.full_like(a, 3),
        lambda a: np.full_like(a, 3, dtype="complex64", subok=True),
        lambda a: np.zeros_like(a, shape=(2, 0)),
        lambda a: np.ones_like(a, shape=3, order="C"),
    ),
    "made like": (
        lambda a: np.asarray([1, 2], like=a),
        lambda a: np.array([1, 2], dtype="float32", like=a),
        lambda a: np.zeros((2, 2), like=a),
        lambda a: np.full(2, 7, like=a),
        lambda a: np.arange(2, 9, 3, like=a),
        lambda a: np.eye(3, like=a),
    ),
    "parts": (np.real, np.imag, np.round, np.copy),
    "matmul": (lambda a: np.matmul(a, np.ones((4, 2), a.dtype)), np.matrix_transpose),
}
IN_LIKE = ("made like",)
SUMS = ("sum", "sum and more", "mean", "matmul")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str, device: flow.Device) -> None:
    for dtype in ("int16", "float32", "complex128"):
        x = values((3, 4), dtype, 5)
        for call in FUNCTIONS[name]:
            if dtype == "complex128" and name in ("clip", "max", "arg"):
                continue
            alike = partial(agrees_in_sums, call(np.abs(x))) if name in SUMS else same
            agree(call, device, x, alike=alike)


OTHERS: dict[str, Call] = {
    "linalg.inv": lambda a: np.linalg.inv(a),
    "linalg.norm": lambda a: np.linalg.norm(a, axis=1),
    "linalg.vector_norm": lambda a: np.linalg.vector_norm(a, axis=1, keepdims=True),
    "linalg.cholesky": lambda a: np.linalg.cholesky(a),
    "linalg.solve": lambda a: np.linalg.solve(a, np.ones(3)),
    "fft.fft": lambda a: np.fft.fft(a, axis=0),
    "fft.rfft": lambda a: np.fft.rfft(a, n=5, norm="ortho"),
    "sort": lambda a: np.sort(a, axis=0),
    "argsort": lambda a: np.argsort(a, axis=0, stable=True),
    "take": lambda a: np.take(a, [0, 2], axis=1),
    "std": lambda a: np.std(a, axis=0),
    "var": lambda a: np.var(a, axis=0, ddof=1),
    "cumsum": lambda a: np.cumsum(a, axis=1),
    "roll": lambda a: np.roll(a, 1, axis=0),
    "flip": lambda a: np.flip(a, axis=0),
    "tile": lambda a: np.tile(a, (2, 1)),
    "repeat": lambda a: np.repeat(a, 2, axis=1),
    "vstack": lambda a: np.vstack([a, a]),
    "diff": lambda a: np.diff(a, axis=0),
    "isclose": lambda a: np.isclose(a, a + 1e-12),
    "nonzero": lambda a: np.nonzero(a > 2),
    "tril": lambda a: np.tril(a),
    "tensordot": lambda a: np.tensordot(a, a, axes=1),
    "einsum": lambda a: np.einsum("ij,jk->ik", a, a),
    "searchsorted": lambda a: np.searchsorted(a[0] * 0 + np.arange(3.0), 1.5 + 0 * a[0]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_the_package_has_is_found_by_its_name(name: str, device: flow.Device) -> None:
    """And what it has not is a TypeError that says how to go on."""
    x = np.asarray([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 5.0]])
    found: Any = flow
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not None or (name == "cumsum" and hasattr(flow, "cumulative_sum")):
        agree(OTHERS[name], device, x)
    else:
        with pytest.raises(TypeError, match=r"\[numpy\..*no implementation.*numpy\(\)"):
            OTHERS[name](flow.tensor(x, device=device))


def test_arguments_that_are_not_there() -> None:
    t = flow.ones((2, 2))
    for call, words in (
        (lambda: np.zeros_like(t, order="F"), r"\[zeros_like\] order"),
        (lambda: np.transpose(t, nothing=1), "nothing"),
        (lambda: np.is_busday(t), r"\[numpy.is_busday\] no implementation found"),
    ):
        with pytest.raises(TypeError, match=words):
            call()


def test_out_of_functions(device: flow.Device) -> None:
    t = flow.arange(6, device=device).reshape(2, 3)
    out = flow.zeros((4, 3), device=device)
    assert np.concatenate([t, t], out=out) is out
    assert out[2:].tolist() == t.tolist()
    array = np.zeros((2, 6))
    assert np.concatenate([t, t], axis=1, out=array) is array
    assert array[:, 3:].tolist() == t.tolist()
    array = np.zeros(2)
    assert np.mean(t, axis=1, out=array) is array
    assert array.tolist() == [1, 4]
    with pytest.raises(TypeError, match="cannot cast float64 to int64"):
        np.std(t, axis=1, out=np.zeros(2, int))
    assert np.mean(t, where=t > 1).item() == 3.5


def test_copyto(device: flow.Device) -> None:
    t = flow.zeros((2, 3), dtype="float32", device=device)
    np.copyto(t, np.arange(3))
    assert t.tolist() == [[0, 1, 2]] * 2
    np.copyto(t, 7, where=[True, False, False])
    assert t.tolist() == [[7, 1, 2]] * 2
    array = np.zeros((2, 3))
    np.copyto(array, t, where=t > 1)
    assert array.tolist() == [[7, 0, 2]] * 2
    with pytest.raises(TypeError, match="cast"):
        np.copyto(t, np.asarray([1j, 2, 3]))


def test_what_is_known_without_the_value_does_not_wait() -> None:
    gate = threading.Event()
    t = flow.zeros((2, 3), dtype="float32")
    call = flow.vm.host_func(lambda _: gate.wait(60), writes=[t])
    try:
        with flow.flags(implicit_sync="error"):
            assert np.shape(t) == (2, 3)
            assert (np.ndim(t), np.size(t), np.size(t, 1)) == (2, 6, 3)
            assert not np.iscomplexobj(t)
            assert np.isrealobj(t)
            assert np.result_type(t, "int64", 1.0) == "float64"
            assert np.result_type(t, 1.0) == np.dtype(np.common_type(t)) == "float32"
            assert np.can_cast(t, "float64")
            assert not np.can_cast(t, "int8", casting="same_kind")
            results = np.concatenate([t, np.sin(t) + np.ones(3)]), np.mean(t), np.zeros_like(t)
            with pytest.raises(RuntimeError, match="not ready"):
                np.array_repr(t)
    finally:
        gate.set()
    assert call.result() is True
    assert results[0].tolist() == [[0] * 3] * 2 + [[1] * 3] * 2
    assert np.array_repr(results[1]) == "array(0., dtype=float32)"


def test_the_default_device_is_left_as_it_was() -> None:
    with flow.device("mock:1"):
        assert np.add(np.ones(2), flow.ones(2, device="mock:0")).device == "mock:0"
        with pytest.raises(TypeError):
            np.is_busday(flow.ones(2, device="mock:0"))
        assert flow.zeros(1).device == "mock:1"


def test_mixed_devices_are_an_error() -> None:
    a, b = flow.ones(2, device="cpu"), flow.ones(2, device="mock:0")
    for call in (np.add, lambda x, y: np.concatenate([x, y]), lambda x, y: np.add(x, x, out=y)):
        with pytest.raises(ValueError, match="different devices|mock:0"):
            call(a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_of_a_tensor(dtype: str, device: flow.Device) -> None:
    x = values((3, 2), dtype, 4)
    t = flow.tensor(x, device=device)
    for one in (np.copy(t), copy.copy(t), copy.deepcopy(t)):
        assert compare(x, one.numpy()) is None
        assert not one.shares_storage(t)
    for order in ("K", "C", "A", None, "c"):
        assert np.copy(t.T, order).strides == np.copy(x.T, order).strides
    with pytest.raises(ValueError, match="got 'Q'"):
        np.copy(t, order="Q")


def test_may_share_memory(device: flow.Device) -> None:
    t = flow.ones((3, 4), device=device)
    assert np.may_share_memory(t, t[1:])
    assert not np.may_share_memory(t, t + 1)
    assert not np.may_share_memory(t, np.ones(3))
    assert not np.may_share_memory(np.ones(3), t)
    if device.type == "cpu":
        array = np.asarray(memoryview(t))
        assert np.may_share_memory(t, array)
        assert np.may_share_memory(array[2:], t[2])
        assert not np.may_share_memory(array[2:], t[:1])
