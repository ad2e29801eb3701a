"""Where results go: the ``out`` of functions that are no elementwise ones and no reductions.

Which casts are allowed is tested in tests/tensor/test_casting.py.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same

pytestmark = pytest.mark.usefixtures("no_warnings")

Shape = tuple[int, ...]
Call = Callable[..., Any]  # xp, x and the keywords of the call
MASK = np.array([True, False, True])
NUMBERS = np.array([[1, 0, 1], [0, 0, 1]])

# The operand's shape, and what is called.
CASES: dict[str, tuple[Shape, Call]] = {
    "take": ((3, 4), lambda xp, x, **to: xp.take(x, [2, 0, 1], axis=0, **to)),
    "take flat": ((3, 4), lambda xp, x, **to: xp.take(x, [[2, 9], [0, 1]], **to)),
    "take one": ((3, 4), lambda xp, x, **to: xp.take(x, 5, **to)),
    "take none": ((3, 4), lambda xp, x, **to: xp.take(x, np.zeros((0, 2), int), axis=1, **to)),
    "take wrapped": ((3, 4), lambda xp, x, **to: xp.take(x, [7, -9], axis=1, mode="wrap", **to)),
    "take method": ((3, 4), lambda xp, x, **to: x.take([0, 2], axis=1, **to)),
    "compress": ((3, 4), lambda xp, x, **to: xp.compress(MASK, x, axis=0, **to)),
    "compress flat": ((3, 4), lambda xp, x, **to: xp.compress(MASK, x, **to)),
    "compress none": ((3, 4), lambda xp, x, **to: xp.compress([False], x, axis=1, **to)),
    "compress method": ((3, 4), lambda xp, x, **to: x.compress(MASK, axis=1, **to)),
    "choose": ((2, 3), lambda xp, x, **to: xp.choose(like(x, NUMBERS), [x, x[::-1]], **to)),
    "choose method": ((2, 3), lambda xp, x, **to: like(x, NUMBERS).choose([x, 2 * x], **to)),
    "choose one": ((), lambda xp, x, **to: xp.choose(like(x, 1), [x, 2 * x], **to)),
    "cumsum": ((3, 4), lambda xp, x, **to: xp.cumsum(x, axis=0, **to)),
    "cumsum flat": ((3, 4), lambda xp, x, **to: xp.cumsum(x, **to)),
    "cumsum none": ((3, 0), lambda xp, x, **to: xp.cumsum(x, axis=1, **to)),
    "cumsum method": ((3, 4), lambda xp, x, **to: x.cumsum(axis=-1, **to)),
    "cumprod": ((3, 4), lambda xp, x, **to: xp.cumprod(x, axis=1, **to)),
    "cumprod method": ((3, 4), lambda xp, x, **to: x.cumprod(0, **to)),
    "cumulative_sum": ((4,), lambda xp, x, **to: xp.cumulative_sum(x, **to)),
    "cumulative_sum from 0": (
        (3, 4),
        lambda xp, x, **to: xp.cumulative_sum(x, axis=1, include_initial=True, **to),
    ),
    "cumulative_prod": ((3, 4), lambda xp, x, **to: xp.cumulative_prod(x, axis=0, **to)),
    "cumulative_prod from 1": (
        (3, 4),
        lambda xp, x, **to: xp.cumulative_prod(x, axis=0, include_initial=True, **to),
    ),
    "nancumsum": ((3, 4), lambda xp, x, **to: xp.nancumsum(x, axis=1, **to)),
    "nancumprod": ((3, 4), lambda xp, x, **to: xp.nancumprod(x, axis=1, **to)),
    "dot": ((3, 3), lambda xp, x, **to: xp.dot(x, x, **to)),
    "dot of vectors": ((4,), lambda xp, x, **to: xp.dot(x, x, **to)),
    "dot of many": ((2, 3, 3), lambda xp, x, **to: xp.dot(x, x, **to)),
    "dot of nothing": ((3, 0), lambda xp, x, **to: xp.dot(x, x.T, **to)),
    "dot method": ((3, 3), lambda xp, x, **to: x.dot(x.T, **to)),
    "matmul": ((3, 3), lambda xp, x, **to: xp.matmul(x, x, **to)),
    "matmul of many": ((2, 3, 4), lambda xp, x, **to: xp.matmul(x, x[0].T, **to)),
    "matmul of vectors": ((4,), lambda xp, x, **to: xp.matmul(x, x, **to)),
    "matmul of a vector": ((3, 3), lambda xp, x, **to: xp.matmul(x, x[0], **to)),
    "matmul of nothing": ((0, 3), lambda xp, x, **to: xp.matmul(x, x.T, **to)),
    "outer of vectors": ((3,), lambda xp, x, **to: xp.outer(x, x, **to)),
    "outer": ((2, 2), lambda xp, x, **to: xp.outer(x, x[0], **to)),
    "vecdot": ((3, 4), lambda xp, x, **to: xp.vecdot(x, x[0], **to)),
    "vecdot along": ((3, 4), lambda xp, x, **to: xp.vecdot(x, x, axis=0, **to)),
    "matvec": ((2, 3, 4), lambda xp, x, **to: xp.matvec(x, x[0, 0], **to)),
    "vecmat": ((2, 3, 4), lambda xp, x, **to: xp.vecmat(x[0, :, 0], x, **to)),
    "trace": ((3, 4), lambda xp, x, **to: xp.trace(x, 1, **to)),
    "trace of many": ((3, 4, 2), lambda xp, x, **to: xp.trace(x, axis1=1, axis2=2, **to)),
    "trace method": ((3, 4), lambda xp, x, **to: x.trace(**to)),
    "multi_dot": ((3, 3), lambda xp, x, **to: xp.linalg.multi_dot([x, x, x], **to)),
    "multi_dot of four": ((3, 3), lambda xp, x, **to: xp.linalg.multi_dot([x, x, x.T, x], **to)),
    "multi_dot of two": ((3, 3), lambda xp, x, **to: xp.linalg.multi_dot([x, x[0]], **to)),
}
PLACES = {  # results are int64
    "nanargmax": ((3, 4), lambda xp, x, **to: xp.nanargmax(x, axis=1, **to)),
    "nanargmax of all": ((3, 4), lambda xp, x, **to: xp.nanargmax(x, **to)),
    "nanargmin": ((3, 4), lambda xp, x, **to: xp.nanargmin(x, axis=0, keepdims=True, **to)),
}


def like(x: Any, array: Any) -> Any:
    """An array as a tensor beside x, where that is one."""
    return flow.tensor(array, device=x.device) if isinstance(x, flow.Tensor) else np.array(array)


def given(shape: Shape, dtype: str, seed: int = 3) -> np.ndarray:
    """Small whole numbers, of which sums and products are exact."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def filled(shape: Shape, dtype: Any, device: flow.Device) -> flow.Tensor:
    return flow.full(shape, 7, dtype=dtype, device=device)


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex64"])
@pytest.mark.parametrize("name", CASES | PLACES)
def test_the_result_is_in_out(name: str, dtype: str, device: flow.Device) -> None:
    shape, call = (CASES | PLACES)[name]
    x = given(shape, dtype)
    t = flow.tensor(x, device=device)
    wanted = call(flow, t).numpy()
    numpys = np.full(wanted.shape, 7, wanted.dtype)
    call(np, x, out=numpys)
    assert np.array_equal(wanted, numpys)
    out = filled(wanted.shape, wanted.dtype, device)
    assert call(flow, t, out=out) is out
    same(wanted, out)
    array = np.full_like(wanted, 7)
    assert call(flow, t, out=array) is array
    same(wanted, flow.tensor(array))
    out = filled(wanted.shape, wanted.dtype, device)
    if "method" not in name and name != "vecdot along":  # axis= of ufuncs is not there by np
        assert call(np, t, out=out) is out
        same(wanted, out)
    assert call(flow, t, out=None) is not out


@pytest.mark.parametrize("name", CASES | PLACES)
def test_out_may_have_gaps(name: str, device: flow.Device) -> None:
    shape, call = (CASES | PLACES)[name]
    x = given(shape, "float64")
    t, wanted = flow.tensor(x, device=device), np.asarray(call(np, x))
    whole = filled((*wanted.shape, 3, 2), wanted.dtype, device)
    out = whole[..., 1, 1]
    assert call(flow, t, out=out) is out
    expected = np.full(whole.shape, 7, wanted.dtype)
    expected[..., 1, 1] = wanted
    same(expected, whole)


@pytest.mark.parametrize("name", CASES)
def test_out_may_be_the_memory_of_the_operand(name: str, device: flow.Device) -> None:
    shape, call = CASES[name]
    x = given(shape, "float64")
    wanted = np.asarray(call(np, x))
    for start in (0, 1):
        whole = filled((40,), "float64", device)
        t = whole[: x.size].reshape(shape)
        t[...] = flow.tensor(x, device=device)
        out = whole[start : start + wanted.size].reshape(wanted.shape)
        assert out.shares_storage(t)
        call(flow, t, out=out)
        same(wanted, out)
    if wanted.shape == shape:
        t = flow.tensor(x, device=device)
        assert call(flow, t, out=t) is t
        same(wanted, t)


@pytest.mark.parametrize("name", CASES | PLACES)
def test_a_target_that_does_not_fit(name: str, device: flow.Device) -> None:
    shape, call = (CASES | PLACES)[name]
    x = given(shape, "float64")
    t, wanted = flow.tensor(x, device=device), np.asarray(call(np, x))
    longer = (*wanted.shape[:-1], wanted.shape[-1] + 1) if wanted.ndim else (2,)
    for wrong in {longer, wanted.shape[1:]} - {wanted.shape}:
        if name == "matmul of vectors":
            continue  # NumPy broadcasts the product
        if wrong:  # NumPy's running sums crash where out has no dimensions
            with pytest.raises((ValueError, TypeError, IndexError)):
                call(np, x, out=np.full(wrong, 7, wanted.dtype))
        out = filled(wrong, wanted.dtype, device)
        with pytest.raises(ValueError, match="expected out of shape"):
            call(flow, t, out=out)
        same(np.full(wrong, 7, wanted.dtype), out)
    for other in ([7] * 3, 7.0):
        with pytest.raises(TypeError, match=r"expected out to be a tensor or array, got \w+"):
            call(flow, t, out=other)
    out = np.full_like(wanted, 7)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        call(flow, t, out=out)


@pytest.mark.parametrize("name", CASES | PLACES)
def test_in_a_compiled_function(name: str, device: flow.Device) -> None:
    shape, call = (CASES | PLACES)[name]
    run = flow.jit(lambda x, out: call(flow, x, out=out))
    for seed in (1, 2):
        x = given(shape, "float64", seed)
        wanted = np.asarray(call(np, x))
        out = filled(wanted.shape, wanted.dtype, device)
        same(wanted, run(flow.tensor(x, device=device), out))
        same(wanted, out)


@pytest.mark.parametrize("name", ["take", "cumsum", "dot", "matmul", "outer", "trace", "choose"])
def test_gradients_go_through_a_target(name: str, device: flow.Device) -> None:
    shape, call = CASES[name]
    x = flow.tensor(given(shape, "float64"), device=device)
    result = call(flow, x)

    def loss(x: flow.Tensor) -> flow.Tensor:
        out = flow.zeros(result.shape, device=device)
        call(flow, x, out=out)
        return flow.sum(out * out)

    wanted = flow.grad(lambda x: flow.sum(call(flow, x) ** 2))(x)
    same(wanted.numpy(), flow.grad(loss)(x))


def test_products_go_to_larger_targets(device: flow.Device) -> None:
    """As to those of ufuncs; the dimensions of one product are not broadcast."""
    x = given((3, 3), "float64")
    t = flow.tensor(x, device=device)
    for name, first in (("matmul", x), ("matvec", x), ("vecmat", x), ("vecdot", x), ("outer", x)):
        function, numpys = getattr(flow, name), getattr(np, name)
        wanted = np.asarray(numpys(first, x))
        out = filled((2, *wanted.shape), "float32", device)
        assert function(t, t, out=out) is out
        same(np.broadcast_to(wanted, out.shape).astype("float32"), out)
    for name, a, wrong in (("matmul", x[:1], (3, 3)), ("matvec", x[:1], (3,))):
        b = x if name == "matmul" else x[0]
        with pytest.raises(ValueError, match="core dimension"):
            getattr(np, name)(a, b, out=np.zeros(wrong))
        with pytest.raises(ValueError, match=rf"\[{name}\] expected out of shape"):
            getattr(flow, name)(
                *(flow.tensor(one, device=device) for one in (a, b)),
                out=flow.zeros(wrong, device=device),
            )


def test_products_take_a_tuple_as_ufuncs_do(device: flow.Device) -> None:
    t = flow.tensor(given((2, 2), "float64"), device=device)
    for function in (flow.matmul, flow.vecdot, flow.matvec, flow.vecmat):
        out = function(t, t) * 0
        assert function(t, t, out=(out,)) is out
        same(function(t, t).numpy(), out)
        with pytest.raises(TypeError, match="got tuple"):
            function(t, t, out=(out, out))


def test_scaling_by_dot_is_a_multiplication(device: flow.Device) -> None:
    x = flow.arange(3, device=device)
    out = flow.zeros((2, 3), dtype="float32", device=device)
    assert flow.dot(2, x, out=out) is out
    assert out.tolist() == [[0, 2, 4]] * 2
    assert np.dot(2, np.arange(3), out=np.zeros((2, 3), "f4")).tolist() == out.tolist()
    with pytest.raises(TypeError, match=r"\[dot\] cannot cast int64 to bool"):
        flow.dot(x, 2, out=flow.zeros(3, dtype=bool, device=device))


def test_chains_of_vectors_go_to_matrices(device: flow.Device) -> None:
    """NumPy puts the product of rows and columns into out, and returns it without these."""
    x = given((3, 3), "float64")
    row = x[0]
    for arrays, shape in (
        ([row, x, x], (1, 3)),
        ([x, x, row], (3, 1)),
        ([row, x, x, row], (1, 1)),
        ([row, row], ()),
    ):
        numpys = np.zeros(shape)
        wanted = np.linalg.multi_dot(arrays, out=numpys)
        tensors = [flow.tensor(one, device=device) for one in arrays]
        out, array = flow.zeros(shape, device=device), np.zeros(shape)
        same(np.asarray(wanted), flow.linalg.multi_dot(tensors, out=out))
        same(numpys, out)
        assert np.array_equal(flow.linalg.multi_dot(tensors, out=array), wanted)
        assert np.array_equal(array, numpys)
    with pytest.raises(ValueError, match=r"\[multi_dot\] expected out of shape \(1, 3\)"):
        flow.linalg.multi_dot([row, x, x], out=flow.zeros(3))


def test_running_sums_are_made_in_the_dtype_of_a_wider_out(device: flow.Device) -> None:
    x = np.array([2.0**24, 1, 1, 0.75], "float32")
    for name in ("cumsum", "cumulative_sum", "nancumsum"):
        for target in ("float32", "float64", "int64", "bool"):
            numpys = getattr(np, name)(x, out=np.zeros(4, target))
            out = flow.zeros(4, dtype=target, device=device)
            getattr(flow, name)(flow.tensor(x, device=device), out=out)
            same(numpys, out)
        wide = getattr(np, name)(x, dtype="float64", out=np.zeros(4, "float32"))
        out = flow.zeros(4, dtype="float32", device=device)
        getattr(flow, name)(flow.tensor(x, device=device), dtype="float64", out=out)
        same(wide, out)


def test_what_a_smaller_target_of_take_cannot_hold_is_lost(device: flow.Device) -> None:
    x = np.arange(0, 500, 100)
    t = flow.tensor(x, device=device)
    for call in (
        lambda xp, x, out: xp.take(x, [1, 3], out=out),
        lambda xp, x, out: xp.compress([False, True, False, True], x, out=out),
    ):
        out = flow.zeros(2, dtype="int8", device=device)
        call(flow, t, out)
        same(call(np, x, np.zeros(2, "int8")), out)
        for other in ("float64", "uint64"):
            with pytest.raises(TypeError, match="expected out of a dtype that casts to int64"):
                call(flow, t, flow.zeros(2, dtype=other, device=device))


def test_an_index_that_is_out_of_range(device: flow.Device) -> None:
    t, out = flow.arange(3, device=device), flow.zeros(1, dtype="int64", device=device)
    with pytest.raises(IndexError, match=r"\[take\] index 3 is out of bounds"):
        flow.take(t, [3], out=out)
    assert out.tolist() == [0]


def test_out_by_position(device: flow.Device) -> None:
    """Where NumPy has it."""
    x = given((3, 3), "float64")
    t = flow.tensor(x, device=device)
    calls: dict[str, Call] = {
        "take": lambda xp, x, to: xp.take(x, [1, 0, 1], 0, to, "wrap"),
        "take method": lambda xp, x, to: x.take([1, 0, 4], 0, to, "clip"),
        "compress": lambda xp, x, to: xp.compress([True] * 3, x, 0, to),
        "compress method": lambda xp, x, to: x.compress([True] * 3, 0, to),
        "choose": lambda xp, x, to: xp.choose(like(x, 3), [x, x + 1], to, "wrap"),
        "cumsum": lambda xp, x, to: xp.cumsum(x, 0, None, to),
        "cumprod method": lambda xp, x, to: x.cumprod(0, None, to),
        "nancumsum": lambda xp, x, to: xp.nancumsum(x, 0, None, to),
        "dot": lambda xp, x, to: xp.dot(x, x, to),
        "dot method": lambda xp, x, to: x.dot(x, to),
        "outer": lambda xp, x, to: xp.outer(x[0], x[0], to),
        "trace": lambda xp, x, to: xp.trace(x, 0, 0, 1, None, to[0, 0, ...]),
        "irfft": lambda xp, x, to: xp.fft.irfft(x, 3, -1, None, to),
        "fftn": lambda xp, x, to: xp.fft.irfftn(x, (3, 3), (0, 1), None, to),
    }
    for name, call in calls.items():
        array, out = np.zeros((3, 3)), flow.zeros((3, 3), device=device)
        call(np, x, array)
        call(flow, t, out)
        same(array, out, name)
