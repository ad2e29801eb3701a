"""NumPy's calls on tensors: the short ways give what the long ways give, and stay short."""

import inspect
import itertools
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.interop.numpy_ufuncs import array_ufunc
from oneflow_lite.ops.table import ROWS
from tests.support.oracle import values

Call = Callable[..., Any]

UFUNCS = [row.ufunc for row in ROWS.values()] + [np.matmul, np.divmod, np.vecdot, np.degrees]


class Scalar(np.float64):
    """A number that answers ufuncs itself."""

    def __array_ufunc__(self, *given: Any, **keywords: Any) -> str:  # type: ignore[override]
        return "its own"


class Number(float):
    pass


def result_of(call: Call, *given: Any, **keywords: Any) -> Any:
    """What a call gives, as values that compare; of an error its type and text."""
    try:
        made = call(*given, **keywords)
    except (TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)
    if not isinstance(made, flow.Tensor):
        return type(made), repr(made)
    return made.dtype, made.device, made.shape, made.numpy().tobytes()


def check_native_path(ufunc: np.ufunc, device: flow.Device) -> None:
    x = flow.tensor(values((2, 2), "float32", 1), device=device)
    i = flow.tensor(np.asarray([[1, 2], [3, 4]], "int16"), device=device)
    others = [x, i, x[0], i[0, 0], np.ones((2, 2)), np.float32(2), np.int8(3), np.bool_(True)]
    others += [2.5, 2, True, 1j, 2**70, np.longdouble(1), np.str_("a"), [1, 2], "a", None]
    others += [Scalar(2), Number(2), np.ma.masked_array([1.0, 2.0]), flow.ones((5,)), np.array("a")]
    for other in others:
        rest = [other] * (ufunc.nin - 1)
        for given in ([x, *rest], [i, *rest], [*rest, x], [x] * ufunc.nin, [i], []):
            if not any(isinstance(one, flow.Tensor) for one in given):
                continue
            for out in ((), (flow.empty((2, 2), dtype="complex128", device=device),)):
                call = (x, ufunc, "__call__", *given)
                assert result_of(array_ufunc, *call, out=out) == result_of(
                    array_ufunc.__wrapped__, *call, out=out
                ), (given, out)


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_the_native_path_of_ufuncs(ufunc: np.ufunc) -> None:
    check_native_path(ufunc, flow.device("cpu"))


@pytest.mark.parametrize(
    "ufunc", [np.add, np.isnan, ROWS["clip"].ufunc, np.matmul], ids=lambda f: f.__name__
)
def test_the_native_path_of_ufuncs_on_devices(ufunc: np.ufunc, device: flow.Device) -> None:
    check_native_path(ufunc, device)


def test_outs_of_the_native_path(device: flow.Device) -> None:
    x = flow.tensor([1.0, 2.0], device=device)
    y, small = flow.zeros(2, device=device), flow.zeros(3, device=device)
    for out in ((y, y), (np.zeros(2),), (None,), [y], (small,), y):
        seen = result_of(array_ufunc, x, np.add, "__call__", x, x, out=out)
        assert seen == result_of(array_ufunc.__wrapped__, x, np.add, "__call__", x, x, out=out)
    out = flow.zeros(2, device=device)
    assert np.add(x, np.float64(1), out) is out
    assert out.tolist() == [2, 3]
    assert np.multiply(Scalar(2), x) == "its own"


def functions_called(call: Call) -> list[str]:
    """The Python functions that a call runs."""
    called: list[str] = []

    def note(frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)

    call()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return called[1:]  # without the lambda itself


def test_ufuncs_of_tensors_run_no_python_code(device: flow.Device) -> None:
    x = flow.ones(16, dtype="float32", device=device)
    number, array = np.float64(2), np.ones(16)
    for call in (
        lambda: np.add(x, x),
        lambda: np.exp(x),
        lambda: number * x,
        lambda: array - x,
        lambda: array < x,
        lambda: np.add(x, 1, out=x),
        lambda: np.matmul(x, x),
    ):
        assert functions_called(call) == []


CALLS: list[Call] = [
    lambda x: np.sum(x, axis=0),
    lambda x: np.concatenate([x, x]),
    lambda x: np.concatenate([x, x], axis=0, dtype="float64"),
    lambda x: np.mean(x, keepdims=True),
    lambda x: np.clip(x, 0, a_max=1),
    lambda x: np.where(x > 0, x, 1),
    lambda x: np.linalg.norm(x, ord=None),
    lambda x: np.einsum("i,i->", x, x),
    lambda x: np.zeros_like(x, shape=(2, 2)),
    lambda x: np.shape(x),
    lambda x: np.broadcast_arrays(x, x)[0],
]


def test_signatures_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = flow.ones(4)
    expected = [result_of(call, x) for call in CALLS]

    def refuse(*given: Any) -> Any:
        raise AssertionError("a signature is read again")

    monkeypatch.setattr(inspect, "signature", refuse)
    monkeypatch.setattr(inspect.Signature, "bind", refuse)
    assert [result_of(call, x) for call in CALLS] == expected


def test_calls_of_one_form_with_other_values(device: flow.Device) -> None:
    """A default, an equal value and another value of one parameter are told apart."""
    array = np.arange(6.0).reshape(2, 3)
    x = flow.tensor(array, device=device)
    for axis in (None, 0, 1, -1, None, (0, 1), 0):
        for keepdims in (False, True, False):
            expected = result_of(
                lambda *given: flow.tensor(np.sum(*given), device=device),
                array,
                axis,
                None,
                None,
                keepdims,
            )
            assert result_of(np.sum, x, axis, None, None, keepdims) == expected
    for order in ("C", "K", "F", "C", "A"):
        seen = result_of(np.zeros_like, x, None, order)
        assert (seen[0] is TypeError) == (order == "F")
    for out in (None, flow.zeros((2, 3), device=device), None):
        made = np.cumsum(x, 1, None, out)
        assert made.tolist() == np.cumsum(array, 1).tolist()
        assert out is None or made is out


@pytest.mark.parametrize("order", ["K", "C", "A", "c", None])
def test_ufuncs_take_an_order(order: Any, device: flow.Device) -> None:
    array = np.arange(24.0).reshape(2, 3, 4)
    layouts = (lambda x: x, lambda x: x.T, lambda x: x.swapaxes(0, 1), lambda x: x[0].T)
    calls: list[Callable[[Any], Any]] = [
        lambda x: np.add(x, 1, order=order),
        lambda x: np.add(x, x, order=order),
        lambda x: np.add(x, x.copy(), order=order),
        lambda x: np.add(x, 1, dtype="float32", order=order),
        lambda x: np.divmod(x, 2, order=order),
        lambda x: np.multiply.outer(x, [1.0, 2.0], order=order),
        lambda x: np.negative(x, order=order, out=np.empty_like(x)),
    ]
    for layout, call in itertools.product(layouts, calls):
        theirs, ours = call(layout(array)), call(layout(flow.tensor(array, device=device)))
        pairs = zip(theirs, ours, strict=True) if type(ours) is tuple else [(theirs, ours)]
        for one, other in pairs:
            assert one.tolist() == other.tolist()
            assert one.strides == other.strides


def test_wrong_calls_are_refused_each_time(device: flow.Device) -> None:
    x = flow.ones(3, device=device)
    for _ in range(2):
        with pytest.raises(TypeError):
            np.sum(x, 0, axis=0)
        with pytest.raises(TypeError, match="not there for tensors"):
            np.sort(x, order="a")
        with pytest.raises(TypeError, match="no implementation"):
            np.is_busday(x)
        with pytest.raises(TypeError, match="power.reduce"):
            np.power.reduce(x.astype("int32"))
        with pytest.raises(ValueError, match="got 'Q'"):
            np.add(x, 1, order="Q")  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="subok: expected bool"):
            np.add(x, 1, subok=None)  # type: ignore[call-overload]


def test_new_tensors_are_where_the_operands_are(device: flow.Device) -> None:
    x = flow.ones(3, device=device)
    for home in ("cpu", "mock:1"):
        with flow.device(home):
            assert np.concatenate([np.ones(3), x]).device == device
            assert np.where([True, False, True], x, 0).device == device
            assert operator.add(np.ones(3), x).device == device
            assert flow.zeros(1).device == flow.device(home)


def test_products_by_numpys_ufuncs(device: flow.Device) -> None:
    t, u = flow.arange(4.0, device=device).reshape(2, 2), flow.ones((2, 2), device=device)
    out = flow.zeros((3, 2, 2), device=device)
    assert np.matmul(t, u, out=out) is out
    assert out.tolist() == [[[1, 1], [5, 5]]] * 3
    assert np.vecdot(t, u, axis=0).tolist() == [2, 4]
    assert np.matmul(t, u, dtype="float32").dtype == "float32"
    with pytest.raises(ValueError, match=r"\[matmul\]"):
        np.matmul(t, u, out=flow.zeros((2, 1, 2), device=device))
    with pytest.raises(TypeError, match=r"\[numpy.vecdot\] keepdims: not there for tensors"):
        np.vecdot(t, u, keepdims=True)
    with pytest.raises(TypeError, match=r"\[numpy.matmul\] where, signature: not there"):
        np.matmul(t, u, signature="dd->d")


def test_numbers_stay_weak(device: flow.Device) -> None:
    t = flow.tensor([1.5, 3.0], dtype="float32", device=device)
    for pair in (np.divmod(t, 2), np.divmod(7, t)):
        assert [x.dtype for x in pair] == ["float32", "float32"]
    assert np.ldexp(t, 2).dtype == "float32"
