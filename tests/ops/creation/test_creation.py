"""Creation functions: NumPy's values and defaults, on every device."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, laid_out, same, values

LAYOUTS = ["plain", "fortran", "negative", "strided", "swapped"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_from_numpy(dtype: str, layout: str, device: flow.Device) -> None:
    for shape in [(), (0,), (3, 0), (5,), (4, 6), (2, 3, 4), (130, 131)]:
        x = laid_out(values(shape, dtype, 2), layout)
        t = flow.tensor(x, device=device)
        assert t.device == device
        assert t.is_contiguous()
        expected = np.array(x, dtype)
        x[...] = 0
        same(expected, t)


def test_from_odd_arrays(device: flow.Device) -> None:
    whole = np.arange(20.0)
    broadcast = np.broadcast_to(whole[:4], (3, 4))
    same(broadcast, flow.tensor(broadcast, device=device))
    read_only = whole.copy()
    read_only.flags.writeable = False
    same(whole, flow.tensor(read_only, device=device))
    record = np.zeros(5, [("a", "i1"), ("b", "f8")])
    record["b"] = 2.5
    same(record["b"], flow.tensor(record["b"], device=device))  # not aligned
    same(whole, flow.tensor(whole.view(np.ndarray)[::1], device=device))
    same(np.float32(3), flow.tensor(np.float32(3), device=device))
    masked = np.lib.stride_tricks.sliding_window_view(whole, 3)
    same(masked, flow.tensor(masked, device=device))
    same(np.array([1, 2], np.longlong).astype("i8"), flow.tensor(np.array([1, 2], np.longlong)))
    same(np.array([1, 2], "u8"), flow.tensor(np.array([1, 2], np.ulonglong)))


NESTED = [
    *(
        1,
        1.5,
        True,
        2j,
        [],
        [[]],
        [1, 2],
        [[1, 2.5], [3, 4]],
        [True, False],
        [1, True],
        [1j, 2],
        (1, (2)),
        range(4),
    ),
    *(
        2**63,
        -(2**63),
        [2**63, 0],
        [[[[1]]]],
        np.float16(1.5),
        [np.int8(1), np.int8(2)],
        [np.arange(3), np.arange(3)],
    ),
]


@pytest.mark.parametrize("data", NESTED, ids=repr)
def test_from_python(data: Any, device: flow.Device) -> None:
    same(np.asarray(data), flow.tensor(data, device=device))
    same(np.asarray(data, "complex128"), flow.tensor(data, dtype="complex128", device=device))


def test_from_tensors(device: flow.Device) -> None:
    x = flow.arange(6, device="mock:1")
    for t in (flow.tensor(x, device=device), flow.asarray(x, device=device)):
        assert t.device == device
        same(np.arange(6), t)
    assert not flow.tensor(x).shares_storage(x)
    assert flow.asarray(x) is x
    assert flow.asarray(x, dtype="int64") is x
    assert flow.asarray(x, copy=True) is not x
    assert flow.asarray(x, copy=False, device="mock:1", dtype="int64") is x
    for bad in ({"dtype": "int8"}, {"device": "cpu"}):
        with pytest.raises(ValueError, match=r"\[asarray\] copy=False"):
            flow.asarray(x, copy=False, **bad)
    with pytest.raises(ValueError, match=r"\[asarray\] copy=False"):
        flow.asarray([1, 2], copy=False)


def test_dtype_argument() -> None:
    same(np.array([1, 2], "f4"), flow.tensor([1, 2], dtype=flow.float32))
    same(np.array([1, 0], bool), flow.tensor([2.5, 0], dtype=bool))
    same(np.array([1, 2], "i1"), flow.tensor(np.array([1.9, 2.1]), dtype="int8"))
    assert flow.tensor([1], dtype=int).dtype == "int64"
    assert flow.tensor([1], dtype=float).dtype == "float64"
    assert flow.tensor([2**53 + 1], dtype="uint64").item() == 2**53 + 1
    assert flow.tensor([10**30], dtype="float64").item() == 1e30
    for bad in (300, -1):
        with pytest.raises(OverflowError):
            flow.tensor([bad], dtype="uint8")


class HasArray:
    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.arange(3.0)


def test_objects_with_an_array_interface() -> None:
    same(np.arange(3.0), flow.tensor(HasArray()))
    same(np.arange(3.0), flow.tensor(memoryview(np.arange(3.0))))
    same(np.frombuffer(b"\1\2", "u1"), flow.tensor(bytearray(b"\1\2")))


SHAPES = [0, 3, (), (0,), (2, 3), [4, 1], (2, 0, 3), np.int64(2), (np.int8(2), 3), (20_000,)]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_filled(shape: Any, device: flow.Device) -> None:
    for dtype in DTYPES:
        same(np.zeros(shape, dtype), flow.zeros(shape, dtype=dtype, device=device))
        same(np.ones(shape, dtype), flow.ones(shape, dtype=dtype, device=device))
        same(np.full(shape, 7, dtype), flow.full(shape, 7, dtype=dtype, device=device))
        x = flow.empty(shape, dtype=dtype, device=device)
        assert (x.shape, x.dtype, x.device) == (np.empty(shape).shape, dtype, device)
        assert x.numpy().shape == x.shape
        same(np.zeros(shape, dtype), flow.zeros_like(x))
        same(np.ones(shape, dtype), flow.ones_like(x))
        same(np.full(shape, 3, dtype), flow.full_like(x, 3))
        assert flow.empty_like(x).shape == x.shape
    for value in (1, 2.5, True, 1j, np.float32(2), np.int8(-1), float("nan")):
        same(np.full(shape, value), flow.full(shape, value, device=device))
    assert flow.zeros_like(x, dtype="int8", device="cpu").device == "cpu"


def test_defaults() -> None:
    assert (
        flow.zeros(1).dtype
        == flow.ones(1).dtype
        == flow.empty(1).dtype
        == flow.eye(1).dtype
        == "float64"
    )
    assert flow.arange(3).dtype == flow.full(1, 3).dtype == flow.tensor(3).dtype == "int64"
    assert flow.zeros(1).device == "cpu"
    with flow.device("mock:1"):
        with flow.device("cpu"):
            assert flow.zeros(1).device == "cpu"
        for made in (
            flow.zeros(1),
            flow.tensor([1]),
            flow.arange(2),
            flow.eye(2),
            flow.linspace(0, 1, 3),
            flow.full(2, 1),
        ):
            assert made.device == "mock:1"
    assert flow.tensor(1).device == "cpu"


def test_full_of_arrays(device: flow.Device) -> None:
    same(np.full((2, 3), [1, 2, 3]), flow.full((2, 3), [1, 2, 3], device=device))
    same(
        np.full((2, 3), [[1.5], [2]], "f4"),
        flow.full((2, 3), np.array([[1.5], [2]]), dtype="float32", device=device),
    )
    same(np.full(3, 4), flow.full(3, flow.tensor(4, device="mock:0"), device=device))


@pytest.mark.parametrize("number", [2**62, 2**63, 2**64, -(2**64), 2**1100], ids=hex)
def test_bools_of_long_integers(number: int, device: flow.Device) -> None:
    """As in NumPy, their truth counts, but where ``full`` takes them for C's long."""
    same(np.array(number, bool), flow.array(number, "bool", device=device))
    for numbers in ([number], [number, 0], [[number, 1]]):
        same(np.array(numbers, bool), flow.array(numbers, "bool", device=device))
        same(np.full((2, 2), [number, 0], bool), flow.full((2, 2), [number, 0], "bool"))
        x, t = np.zeros((2, 2), bool), flow.zeros((2, 2), "bool", device=device)
        x[:], t[:] = numbers, numbers
        same(x, t)
    for fill in (lambda m: m.full(2, number, "bool"), lambda m: m.full_like(m.ones(2) > 0, number)):
        try:
            expected = fill(np)
        except OverflowError:
            with pytest.raises(OverflowError, match=r"\[full\]"):
                fill(flow)
        else:
            same(expected, fill(flow))


@pytest.mark.parametrize("numbers", [[2**70, -3], [2**70, -2.5]])
def test_lists_with_long_integers_are_assigned(numbers: list[float], device: flow.Device) -> None:
    for dtype in ("float16", "float32", "float64", "complex64"):
        x, t = np.zeros(2, dtype), flow.zeros(2, dtype, device=device)
        with np.errstate(all="ignore"):
            x[:] = numbers
            same(np.array(numbers, dtype), flow.array(numbers, dtype, device=device))
        t[:] = numbers
        same(x, t)
    with pytest.raises(OverflowError):
        flow.zeros(2, "int64", device=device)[:] = numbers


def test_objects_with_strided_numbers_are_assigned(device: flow.Device) -> None:
    """What __array__ returns has other things between its elements."""

    class Given:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
            return self.array if dtype is None else self.array.astype(dtype)

    records = np.zeros(3, [("number", "O"), ("other", "i8")])
    records["number"], records["other"] = [2**70, 1, 2], 12345
    for array in (records["number"], np.array([2**70, 1, 2] + [3] * 997, object)[::-1][:3]):
        t = flow.zeros(3, device=device)
        t[:] = Given(array)
        same(array.astype(np.float64), t)


ARANGES = [
    *(
        (5,),
        (0,),
        (2, 5),
        (5, 2),
        (0, 1, 0.1),
        (5, 0, -2),
        (3.5,),
        (-3,),
        (1, 10, 3),
        (0.5, 4),
        (1, 2, 5),
        (0, 2**40, 2**38),
    ),
]


@pytest.mark.parametrize("arguments", ARANGES, ids=str)
def test_arange(arguments: tuple[Any, ...], device: flow.Device) -> None:
    same(np.arange(*arguments), flow.arange(*arguments, device=device))
    same(
        np.arange(*arguments, dtype="float32"),
        flow.arange(*arguments, dtype="float32", device=device),
    )


@pytest.mark.parametrize(
    "arguments",
    [(0, 1, 5), (0, 1, 1), (3, -3, 0), (1, 1, 4), (0, 1j, 3), (-1.5, 2, 50_000)],
    ids=str,
)
def test_linspace(arguments: tuple[Any, ...], device: flow.Device) -> None:
    for endpoint in (True, False):
        same(
            np.linspace(*arguments, endpoint=endpoint),
            flow.linspace(*arguments, endpoint=endpoint, device=device),
        )


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("k", [-5, -1, 0, 2, 9])
def test_eye(n: int, k: int, device: flow.Device) -> None:
    same(np.eye(n, k=k), flow.eye(n, k=k, device=device))
    same(np.eye(n, 3, k=k, dtype="int8"), flow.eye(n, 3, k=k, dtype="int8", device=device))


# --- the order in memory, and shapes of the functions that make a tensor like another one

MAKE_LIKE: dict[str, tuple[Any, ...]] = {
    "zeros_like": (), "ones_like": (), "empty_like": (), "full_like": (3,)
}  # fmt: skip
SHAPES_FOR_LIKE = [None, 3, (), (4, 2), [2, 5, 3], (0, 2), (2, 3, 4), (1, 1)]


def lying(x: Any) -> list[Any]:
    """Views of an array of three dimensions, and of fewer, in several orders of their axes."""
    return [
        x,
        x.T,
        x.transpose(1, 0, 2),
        x[::-1, :, ::2],
        x[0].T,
        x[0, 0],
        x[0, 0, 0, ...],
        x[:0].T,
    ]


@pytest.mark.parametrize("name", MAKE_LIKE)
@pytest.mark.parametrize("order", ["K", "C", "A", None, "c"])
def test_shapes_of_what_is_made_like(name: str, order: Any, device: flow.Device) -> None:
    base = values((2, 3, 4), "int16", 4)
    theirs, ours = getattr(np, name), getattr(flow, name)
    for seen, x in zip(lying(base), lying(flow.tensor(base, device=device)), strict=True):
        for shape in SHAPES_FOR_LIKE:
            expected = theirs(seen, *MAKE_LIKE[name], shape=shape, order=order)
            by_protocol = theirs(x, *MAKE_LIKE[name], shape=shape, order=order)
            for made in (ours(x, *MAKE_LIKE[name], shape=shape, order=order), by_protocol):
                assert (made.shape, made.dtype) == (expected.shape, expected.dtype)
                assert made.device == device
                assert made.size == 0 or made.strides == expected.strides, (shape, x.strides)
                assert name == "empty_like" or made.tolist() == expected.tolist()


def test_a_value_for_another_shape(device: flow.Device) -> None:
    x = flow.ones((3, 2), device=device).T
    made = flow.full_like(x, [1, 2, 3], "int8", shape=(2, 3))
    same(np.full_like(np.ones((2, 3)), [1, 2, 3], "int8"), made)
    assert made.strides == (1, 2)
    assert flow.zeros_like([1, 2], shape=4, device=device).device == device


@pytest.mark.parametrize("name", MAKE_LIKE)
def test_wrong_shapes_and_orders(name: str) -> None:
    x, ours, theirs = flow.ones((2, 3)), getattr(flow, name), getattr(np, name)
    for keywords, error in (
        ({"shape": (2, -1)}, ValueError),
        ({"shape": "ab"}, TypeError),
        ({"shape": 1.5}, TypeError),
        ({"order": "X"}, ValueError),
        ({"order": 3}, TypeError),
        ({"form": 3}, TypeError),
    ):
        for function, given in ((theirs, x.numpy()), (ours, x)):
            with pytest.raises(error):
                function(given, *MAKE_LIKE[name], **keywords)
    with pytest.raises(TypeError, match=rf"\[{name}\] order: .* row-major one"):
        ours(x, *MAKE_LIKE[name], order="F")


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "full"])
def test_orders_of_what_is_made_of_a_shape(name: str, device: flow.Device) -> None:
    make, rest = getattr(flow, name), (7,) if name == "full" else ()
    for order in ("C", "c", None):
        made = make((2, 3), *rest, "int8", order, device=device)
        assert made.is_contiguous()
        assert name == "empty" or made.tolist() == make((2, 3), *rest).tolist()
    for order, error in (("K", ValueError), ("F", TypeError), (1, TypeError)):
        with pytest.raises(error, match=rf"\[{name}\] order"):
            make(3, *rest, order=order)


def test_orders_of_data(device: flow.Device) -> None:
    host = values((3, 4), "float32", 2)
    x = flow.tensor(host, device=device)
    for make in (flow.asarray, flow.asanyarray):
        assert make(x, order="C") is x
        assert make(x.T, None, "K").strides == make(x.T, order="A").strides == (4, 16)
        assert make(x.T, order="C").is_contiguous()
        assert make(x[:, ::2], order="A").is_contiguous()
        same(host.T, make(x.T, order="C"))
        assert make(x, copy=True) is not x
        assert make(x, copy=False) is x
        for copy in ({"dtype": int}, {"order": "C"}):
            with pytest.raises(ValueError, match="copy=False"):
                make(x.T, copy=False, **copy)
    same(host.T, flow.array(x.T, order="C", ndmin=3)[0])
    assert flow.array(x.T, order="C").is_contiguous()
    with pytest.raises(TypeError, match=r"\[array\] order"):
        flow.array(x, order="F")  # type: ignore[arg-type]


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="ndmax is new in it")
def test_ndmax() -> None:
    arrays: tuple[Any, ...] = (1, [1, 2], [[1]], [[[1.5]]], np.ones((2, 2)), [np.ones(2)], range(3))
    for data in arrays:
        for ndmin in (0, 1, 2):
            for ndmax in (0, 1, 2, 3, -1, 70):
                try:
                    expected = np.array(data, ndmin=ndmin, ndmax=ndmax)
                except ValueError:
                    with pytest.raises(ValueError, match=r"\[array\]"):
                        flow.array(data, ndmin=ndmin, ndmax=ndmax)
                else:
                    same(expected, flow.array(data, ndmin=ndmin, ndmax=ndmax))
    assert flow.array(flow.ones((2, 2)), ndmax=1).shape == (2, 2)
