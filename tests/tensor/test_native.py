"""Functions with a native path: the path and the function give the same, or fail alike.

Those that are native as a whole give NumPy's results.
"""

import ast
import copy
import inspect
import pickle
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite._C import NativeFunction, native
from oneflow_lite.dtypes import SUPPORTED
from oneflow_lite.ops.operands import on_one_device
from tests.support import ON_X86
from tests.support.oracle import DTYPES, values

FUNCTIONS = {n: f for n in dir(flow) if isinstance(f := getattr(flow, n), NativeFunction)}
METHODS = {n: f for n, f in vars(flow.Tensor).items() if isinstance(f, NativeFunction)}

AXES = (None, 0, 1, -1, 2, -3, True, np.int64(1), (0, 1), (1, 1), [0], (), "0", 1.0)
DTYPE_NAMES = (None, flow.float32, np.int8, "uint16", "f8", float, bool, int, complex, "text", 3)
SHAPES = (0, 3, -1, (2, 3), [2], (), (0, 2), (2, -1), np.int64(2), "2", 1.5, (1.5,), (True, 2))


def creation() -> dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]]:
    """NumPy's function, and what both are given, by the name of the function."""
    shaped: list[Any] = [(shape,) for shape in SHAPES[:-1]]
    shaped += [(2, dtype) for dtype in DTYPE_NAMES if dtype] + [(), (2, None, None, None)]
    numbers = (0, -7, 2.5, True, 1j, 2**70, np.float32(3), np.array([1, 2]), "x", None, [1, 2])
    datas = [*numbers[:7], [], [1, 2], [[1.5], [2]], (True, 2), [1, [2]], [2**63], [2**70], "ab"]
    datas += [[1j], np.arange(6)[::2], np.arange(3, dtype=">i4"), np.float16(2), np.array(["a"])]
    datas += [np.zeros((2, 0)), range(3), [np.float32(1), 2], {1: 2}]
    data = [(one, *rest) for one in datas for rest in ((), ("float32",))]
    ranges: list[Any] = [(0,), (1023,), (1025,), (2, 8, 3), (9, 3, -4), (0.5, 3), (0, 1, 0.25)]
    ranges += [(2**62, 2**62 + 3), (True, 4), (4, None, 2), (1, 2, 0), (5000,), (np.int8(3),)]
    ranges += [(-(2**63), 2**63 - 1, 2**62), ("a",), (1j,), (float("nan"),), (1.0, 2), (0, 5, -1)]
    ranges += [(2**70,), (np.array(4),), (1, 5000, 2), (5, None, 1.0), (None,), (3, 0)]
    return {
        **{name: (getattr(np, name), shaped) for name in ("zeros", "ones")},
        "full": (np.full, [(2, n) for n in numbers] + [(2, n, "int8") for n in numbers[:4]]),
        **dict.fromkeys(("tensor", "asarray"), (np.asarray, data)),
        "arange": (np.arange, ranges + [(0, 4, 1, dtype) for dtype in DTYPE_NAMES]),
    }


def of_places(
    x: flow.Tensor, y: flow.Tensor, searched: Sequence[Any]
) -> dict[str, list[tuple[Any, ...]]]:
    """The same of functions by masks, indices, and numbers of places."""
    row = flow.ravel(x)
    first = x[0] if x.ndim and x.shape[0] else x
    line = flow.sort(row) if row.dtype.kind != "c" else row
    axes = [(x, axis) for axis in AXES] + [(x, axis, True) for axis in AXES] + [(x,), (), (x, 0, 2)]
    order = flow.argsort(row)
    indices = (order, order[::-2], order.astype("int32"), [0, -1], [0, 9], 1.5, 1)
    masks = (x > 1, row > 1, (row > 1)[:2], [True, False], first)
    one = order * 0
    numbers = [(one, c) for c in ([row, row[::-1]], (row, line, x), [x], [], [row, 1], [y, y])]
    keys: list[Any] = [(row, line), [x, x.T], [x, x, -y], (row,), [], x, [row, [1]], (x, y), (x, x)]
    powers: list[Any] = [(), (0,), (3,), (3, True), (-1,), (2.0,), (2, 1), (None, False)]
    moves = (1, -1, 0, 7, (1, 2), [1], (0, -2), True, 1.5, np.int64(2))
    return {
        "roll": [(x, n, axis) for n in moves for axis in (*AXES, (0, 0), (1, 0), (0, 5))],
        "take_along_axis": [
            *((given, i, axis) for i in indices for given in (row, x) for axis in AXES),
            *((x, flow.argsort(x, axis=axis), axis) for axis in (0, -1) if x.ndim > 1),
        ],
        "compress": [*((mask, x) for mask in masks), *((masks[2], x, axis) for axis in AXES)],
        "extract": [(mask, given) for mask in masks for given in (x, row)],
        "choose": numbers,
        "ravel_multi_index": [
            ((i, i), shape, *order)
            for i in (*indices[:3], [0, 5], 1.5)
            for shape in ((9, 10), (9,), 3, [10, 10])
            for order in ((), ("raise", "F"), ("wrap",), ("raise", "A"))
        ],
        "lexsort": [(key, *rest) for key in keys for rest in ((), (0,), (1,), (-2,), (None,))],
        "digitize": [(*pair, *right) for pair in searched for right in ((), (True,), (1,))],
        **dict.fromkeys(("cumsum", "cumprod"), axes + [(x, None, d) for d in DTYPE_NAMES]),
        "repeat": [(x, n, axis) for n in (0, 2, 3, True, -1, [2], 1.5) for axis in AXES],
        "pad": [
            (x, width, mode)
            for width in (0, 1, -1, True, 1.5, (1, 2), (1,), [[1, 0], (0, 2)], ((1, 2),), [1, [2]])
            for mode in ("constant", "edge", "wrap", "most", None)
        ],
        "vander": [(given, *rest) for given in (row, x, [1, 2]) for rest in powers],
    }


def of_tensors(x: flow.Tensor, y: flow.Tensor) -> dict[str, list[tuple[Any, ...]]]:
    """Positional arguments by the name of the function."""
    first = x[0] if x.ndim and x.shape[0] else x
    axes = [(x, axis) for axis in AXES] + [(x, axis, True) for axis in AXES] + [(x,), (), (x, 0, 2)]
    few: list[Any] = [(x,), (3,), ()]
    parts: list[Any] = [(x, x), [x], [x, y], (x, x.numpy()), [], x, [x, 1], (first, x)]
    joined = [(part, *rest) for part in parts for rest in ((), (0,), (-1,), (1,), (9,), (None,))]
    modes = ((), ("full",), ("same",), ("valid",), ("most",), (None,), (0,), (np.str_("same"),))
    row = flow.ravel(x)
    rows = ((x, first), (row, x), (row, row[::-1]), (row, row[:2]), (row[::2], row), (row, y))
    others = ((x, 2), ([1, 2], y), (y, flow.zeros(0)), (y, y.numpy()), (y, y.mock(1)), (x,))
    windows = [(*pair, *mode) for pair in (*rows, *others) for mode in modes]
    line = flow.sort(row) if row.dtype.kind != "c" else row
    searched = ((line, x), (line, first), (x, x), (line[::2], x.T), (line, y), (line, x.mock(1)))
    searched += tuple((line, n) for n in (1, 2.5, True, 2**70, np.float64(1), np.int64(2), [1, 2]))
    sides = ((), ("right",), ("both",), (None,), ("left", flow.argsort(row)), ("left", None))
    lines = [(x, line, line), (x.T, line, line[::-1]), (x, line[::2], line[::2]), (x, x, x)]
    lines += [(x, [0, 1, 3], [2, 0.5, 1]), ([1.5], line, line), (x, [True, 2], [0, 1]), (x, [], [])]
    lines += [(n, line, line) for n in (1, 2.5, True, 1j, None, "a", np.float64(1), np.ones(2))]
    lines += [(1.5, [1, 2], (3, 5)), (2, line, line[:2]), (x, line, line.mock(1)), (1.5, 2.5, 3.5)]
    orders = [*((axis,) for axis in AXES), (0, "little"), (0, "middle"), (None, None)]
    ends = ((), (1, 2.5), (None, 1j), (1, None), (first, None), (None, None, 2.0))
    return {
        **of_places(x, y, searched),
        "searchsorted": [(*pair, *side) for pair in searched for side in sides],
        "interp": [(*given, *end) for given in lines for end in ends],
        **dict.fromkeys(("convolve", "correlate"), windows),
        **dict.fromkeys(("max", "min", "any", "all", "argmax", "argmin"), axes),
        **dict.fromkeys(("sum", "prod"), axes + [(x, None, d) for d in DTYPE_NAMES]),
        **dict.fromkeys(("concat", "stack"), joined),
        **dict.fromkeys(("sort", "argsort"), few),
        "packbits": [(given, *rest) for given in (x, x > 1, x.T, [1, 0]) for rest in orders],
        "unpackbits": [
            (given, axis, *rest)
            for given in (x, (x > 1).view("uint8"), (x > 1).view("uint8").T)
            for axis in AXES
            for rest in ((), (3,), (-3,), (99,), (-99,), (None, "little"), (True, "big"), (1.5,))
        ],
        "take": [(x, i, axis) for i in (0, [0, -1], [7], [], 1.5, True, "a") for axis in AXES],
        "where": [
            (x, a, b) for a in (x, 1, None, 2.5, [1, 2], "a") for b in (y, first, 0, np.ones(3))
        ],
    }


def outcome(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> tuple[Any, ...]:
    """All there is to tell of a result, or of an error."""
    try:
        result = function(*arguments, **keywords)
    except Exception as error:  # the point is which one
        return type(error), str(error).splitlines()[0]
    values = result.numpy().tobytes()
    return values, result.shape, result.strides, result.dtype, str(result.device)


def check(name: str, *arguments: Any, **keywords: Any) -> None:
    function = FUNCTIONS[name]
    wanted = outcome(function.__wrapped__, *arguments, **keywords)
    assert outcome(function, *arguments, **keywords) == wanted, (name, arguments, keywords)


@pytest.mark.parametrize("name", creation())
@pytest.mark.filterwarnings("ignore")
def test_creation(name: str, device: flow.Device) -> None:
    numpys, calls = creation()[name]
    with flow.device(device):
        for arguments in calls:
            result, *told = outcome(FUNCTIONS[name], *arguments)
            wanted = attempt(numpys, *arguments)
            dtype = None if isinstance(wanted, Exception) else wanted.dtype.newbyteorder("=")
            if dtype not in SUPPORTED:
                assert isinstance(result, type), arguments
                continue
            assert result == wanted.astype(dtype).tobytes(), arguments
            assert (told[0], *told[2:]) == (wanted.shape, dtype, str(device))


def check_operations(views: Iterable[np.ndarray], device: str | flow.Device) -> None:
    for seen in views:
        x = flow.asarray(seen, device=device)
        for name, calls in of_tensors(x, flow.ones(3, device=device)).items():
            for arguments in calls:
                check(name, *arguments)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_operations(dtype: str) -> None:
    host = values((2, 3), dtype, 5)
    check_operations((host, host.T, host[:, ::-1], host[:0], host[0], host[0, 0]), "cpu")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.filterwarnings("ignore")
def test_operations_of_a_device(dtype: str, device: flow.Device) -> None:
    """The paths are the same as on the CPU, and each call waits for the device."""
    host = values((2, 3), dtype, 5)
    check_operations((host.T, host[0]), device)


def whole() -> dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]]:
    """NumPy's function, and what both are given after x, by the name of the function."""
    # NumPy takes neither lists as axes nor bool in the place of integers.
    axes: list[tuple[Any, ...]] = [(a,) for a in AXES if not isinstance(a, (bool, list))]
    pairs = [(a, b) for a in (0, -1, 5, (0, 1), "0") for b in (1, -2, -9, None, (1, 0), (1, 1))]
    orders: list[tuple[Any, ...]] = [(a,) for a in ((1, 0), [0, 1], (0, 0), (0,), (-1, 0), "01")]
    typed = [(dtype,) for dtype in DTYPE_NAMES if dtype]
    shapes = [(shape,) for shape in (*SHAPES[:-1], 6, (3, 2), (2, 1, 3), (-1, -1), 2**70)]
    return {
        "squeeze": (np.squeeze, [*axes, ()]),
        "expand_dims": (np.expand_dims, axes),
        "flip": (np.flip, [*axes, ()]),
        "moveaxis": (np.moveaxis, pairs),
        "swapaxes": (np.swapaxes, pairs),
        "permute_dims": (np.transpose, orders),
        "transpose": (np.transpose, [*orders, (None,), ()]),
        "reshape": (np.reshape, shapes),
        "broadcast_to": (np.broadcast_to, shapes),
        "astype": (np.ndarray.astype, typed),
        **{name: (getattr(np, name), [*typed, ()]) for name in ("zeros_like", "ones_like")},
        "full_like": (np.full_like, [(n,) for n in (1, 2.5, 2**70, [1, 2, 3], np.int8(3))]),
        "ascontiguousarray": (np.ascontiguousarray, [*typed, ()]),
        "ravel": (np.ravel, [()]),
        "flatten": (np.ndarray.flatten, [()]),
    }


@pytest.mark.parametrize("name", whole())
def test_results_are_numpys(name: str, device: flow.Device) -> None:
    numpys, calls = whole()[name]
    host = values((2, 3), "float32", 5)
    if not ON_X86:  # casts of what an integer does not hold depend on the place in an array
        host = np.abs(host) % 100
    base = flow.asarray(host, device=device)
    whole_of, reverse = slice(None), slice(None, None, -1)
    for key in (..., (whole_of, reverse), slice(0), 0, (slice(1), slice(1)), (0, 0, ...)):
        seen, x = host.T[key], base.T[key]
        for arguments in calls:
            try:
                wanted = numpys(seen, *arguments)
            except (TypeError, ValueError):
                with pytest.raises((TypeError, ValueError, OverflowError)):
                    getattr(flow, name)(x, *arguments)
                continue
            result = getattr(flow, name)(x, *arguments)
            assert (result.shape, result.device) == (wanted.shape, x.device), arguments
            assert result.numpy().tobytes() == wanted.tobytes(), arguments
            if name == "flatten" or np.shares_memory(wanted, seen):  # else it may be a view
                assert result.shares_storage(x) == (name != "flatten"), arguments


ERRORS: list[tuple[Callable[[flow.Tensor], Any], type[Exception], str]] = [
    (lambda x: flow.flip(x, 2), AxisError, "[flip] axis 2 is out of bounds for 2 dimensions"),
    (lambda x: flow.flip(x, "0"), TypeError, "'str' object cannot be interpreted as an int"),
    (lambda x: flow.squeeze(x, 0), ValueError, "[squeeze] expected size 1 along axis 0, got "),
    (lambda x: flow.squeeze(x, 2**70), AxisError, f"[squeeze] axis {2**70} is out of bounds"),
    (lambda x: flow.expand_dims(x, (0, -4)), ValueError, "[expand_dims] an axis is given twi"),
    (lambda x: flow.moveaxis(x, 0, (0, 1)), ValueError, "[moveaxis] expected as many destina"),
    (lambda x: flow.swapaxes(x, 0, (0, 1)), ValueError, "[swapaxes] expected one axis, got ("),
    (lambda x: flow.transpose(x, (0,)), ValueError, "[permute_dims] expected 2 axes, got 1"),
    (lambda x: flow.permute_dims(x, None), TypeError, "[permute_dims] expected an integer or"),
    (lambda x: flow.reshape(x, (4,)), ValueError, "[reshape] cannot reshape (2, 3) (6 elemen"),
    (lambda x: flow.reshape(x), TypeError, "reshape() missing 1 required positional argument"),
    (lambda x: flow.ravel(x, 1), TypeError, "[ravel] order: expected a string, got int"),
    (lambda x: flow.zeros((2, -1)), ValueError, "[zeros] negative dimension in shape (2, -1)"),
    (lambda x: flow.ones(3, [[]]), TypeError, "[ones] unsupported dtype [[]]; supported: bool"),
    (lambda x: flow.zeros_like(x, "M8[s]"), TypeError, "[zeros_like] unsupported dtype M8[s]; s"),
    (lambda x: flow.full(2, 2**70), TypeError, "[full] unsupported dtype object; supported: bool"),
    (lambda x: flow.ones(3, device="none"), ValueError, '[device] no device "none"; expected'),
    (lambda x: flow.asarray(x, int, copy=False), ValueError, "[asarray] copy=False, but a copy"),
    (lambda x: flow.asarray(x, "S3"), TypeError, "[tensor] unsupported dtype S3; supported: boo"),
    (lambda x: flow.tensor([[1], 2]), ValueError, "[tensor] setting an array element with a se"),
    (lambda x: flow.arange(), TypeError, "[arange] expected start or stop, got neither"),
    (lambda x: flow.concat([x[0, 0]]), ValueError, "[concat] 0-d tensors cannot be joined; use "),
    (lambda x: flow.stack([x, x[0]]), ValueError, "[stack] expected equal shapes, got (2, 3), ("),
    (lambda x: x.reshape(np.ones(2)), TypeError, "[reshape] expected integers, got numpy.float64"),
    (lambda x: x.copy("C", 1), TypeError, "copy() takes from 1 to 2 positional arguments but 3 "),
    (lambda x: flow.Tensor.reshape(3, 1), TypeError, "[reshape] expected a tensor, got int"),
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=[text for *_, text in ERRORS])
def test_errors_say_what_was_given(
    call: Callable[[flow.Tensor], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=re.escape(text)):
        call(flow.zeros((2, 3)))


def test_a_sequence_may_lie_about_its_length() -> None:
    class Axes(list[int]):
        def __len__(self) -> int:
            return 20

    with pytest.raises(ValueError, match="expected 20 axes, got 1"):
        flow.expand_dims(flow.ones(2), Axes([0]))
    assert flow.squeeze(flow.ones((1, 2)), Axes([0])).shape == (2,)


def test_operands_that_are_no_tensors_become_some() -> None:
    for given in ([[1, 2, 3]], np.ones((1, 3)), ((1, 2, 3),)):
        assert flow.squeeze(given).tolist() == np.squeeze(given).tolist()
    name = "".join(["ax", "is"])  # another object than the parameter's name
    assert flow.expand_dims(flow.ones(3), **{name: 1}).shape == (3, 1)


def test_keywords(device: flow.Device) -> None:
    x = flow.asarray(values((3, 4), "float32", 1), device=device)
    mask, out = x > 0, flow.zeros(4, "float32", device=device)
    for keywords in (
        *({"axis": 0}, {"keepdims": True}, {"axis": 1, "keepdims": 1}, {"axis": (0, 1)}),
        *({"initial": 3.0}, {"where": mask, "initial": 1}, {"axis": 0, "out": out}, {"x": x}),
        *({"out": 3}, {"where": True}, {"keep_dims": True}, {"".join(["ax", "is"]): 1}),
    ):
        for name in ("sum", "max", "prod", "any"):
            check(name, x, **keywords)
    for keywords in (
        *({"axis": 0}, {"axis": None}, {"axis": 5}, {"descending": True}, {"descending": 1}),
        *({"stable": False}, {"kind": "stable"}, {"kind": "no"}, {"stable": None, "axis": -2}),
    ):
        check("sort", x, **keywords)
        check("argsort", x, **keywords)
    for copied in (True, False, None, 1, 0):
        assert (flow.asarray(x, copy=copied) is x) == (not copied)
        assert (flow.astype(x, "float32", copy=copied) is x) == (not copied)
        assert (flow.array(x, copy=copied) is x) == (not copied)


def test_operands_come_to_one_device(device: flow.Device) -> None:
    x = flow.ones((2, 3), "float32", device=device)
    others = (1, 2.5, True, 1j, 2**70, np.float32(3), np.arange(3), [1, 2], ((1.5,), [2]), [True])
    others += (
        [1, [2]],
        [None],
        "text",
        None,
        np.arange(3, dtype=">i4"),
        [],
        range(3),
        [x[0], x[1]],
    )
    for other in (*others, x, x.mock(1)):
        for given in ((), (x,), (other,), (x, other), (other, other), (other, x, 2)):
            home = next((one.device for one in given if isinstance(one, flow.Tensor)), None)
            wanted = attempt(placed, given, home)
            seen = attempt(on_one_device, *given)
            assert type(wanted) is type(seen)
            if isinstance(wanted, Exception):
                assert str(wanted) == str(seen)
                continue
            for one, two, operand in zip(wanted, seen, given, strict=True):
                assert outcome(flow.asarray, one) == outcome(flow.asarray, two)
                assert (one is operand) == (two is operand) == isinstance(operand, flow.Tensor)


def placed(operands: tuple[Any, ...], home: flow.Device | None) -> list[flow.Tensor]:
    return [x if isinstance(x, flow.Tensor) else flow.asarray(x, device=home) for x in operands]


def attempt(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:  # the point is which one
        return error


def test_steps_of_a_plan() -> None:
    x, y = flow.ones((2, 3)), flow.ones((3, 2))
    permute: Any = (_C.permute, 1, None, ([1, 0],), ())
    assert _C.run_steps((x, y), [permute]).shape == (2, 3)
    product = (_C.matmul, 0, 1, (), ())
    steps = [product, (_C.reshape, 2, None, ((4,), None), (2,))]
    assert _C.run_steps([x, y], steps).tolist() == [3.0] * 4
    assert _C.run_steps((x,), []) is x
    for wrong, error in (
        ([(_C.permute, 2, None, ([1, 0],), ())], IndexError),
        ([(_C.permute, "1", None, ([1, 0],), ())], (IndexError, TypeError)),
        ([(_C.matmul, 0, 0, (), ())], ValueError),
        ([*steps, (_C.reshape, 2, None, ((4,), None), ())], TypeError),  # the product is gone
        ([(*product[:4], (7,))], IndexError),
        ([product[:4]], ValueError),
        ([product[0]], TypeError),
        (3, TypeError),
    ):
        with pytest.raises(error):
            _C.run_steps((x, y), wrong)  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        _C.run_steps((), [])


def test_methods_are_bound() -> None:
    x = flow.arange(6).reshape(2, 3)
    assert x.sum(1).tolist() == flow.Tensor.sum(x, axis=1).tolist() == [3, 12]
    bound = x.transpose
    assert bound().shape == bound(1, 0).shape == bound((1, 0)).shape == bound(None).shape == (3, 2)
    assert x.reshape(3, 2).tolist() == x.reshape((3, 2)).tolist() == x.reshape([3, -1]).tolist()
    assert x.permute_dims(1, 0).shape == (3, 2)
    assert x.reshape(6, copy=True).shares_storage(x) is False
    assert x[0, 0].reshape().shape == ()
    assert flow.Tensor.__dict__["sum"].__get__(None, flow.Tensor) is flow.sum
    for wrong in ((9,), (-1, -1), ("a",), ((1.5,),), (2, "3")):
        with pytest.raises((ValueError, TypeError)):
            x.reshape(*wrong)


@pytest.mark.parametrize(
    "function", [*FUNCTIONS.values(), *METHODS.values()], ids=lambda f: f.__name__
)
def test_it_looks_like_the_function(function: Any) -> None:
    original = function.__wrapped__
    assert inspect.isfunction(original)
    assert inspect.signature(function) == inspect.signature(original)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(function, name) == getattr(original, name)
    assert repr(function) == repr(original)
    assert copy.deepcopy(function) is function


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_pickled_by_name(name: str) -> None:
    assert pickle.loads(pickle.dumps(FUNCTIONS[name])) is FUNCTIONS[name]


def test_what_has_no_path() -> None:
    with pytest.raises(AttributeError, match="no attribute 'check'"):
        _ = _C.paths.check
    with pytest.raises(TypeError, match=r"expected a path of _C\.paths, got function"):
        native(check)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a function, got int"):
        native(_C.paths.sum)(3)  # type: ignore[type-var]
    with pytest.raises(TypeError):
        NativeFunction()


def test_every_path_has_a_function() -> None:
    paths = [path for path in vars(_C.paths).values() if isinstance(path, _C.NativePath)]
    assert len(paths) > 10
    assert [path.name for path in paths if path.functions == 0] == []


def test_functions_without_a_body_are_native_as_a_whole() -> None:
    for file in Path(flow.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and [x.arg for x in node.args.args[:1]] != [
                "self"
            ]:
                decorators = " ".join(map(ast.unparse, node.decorator_list))
                # A path that does not know all parameters leaves some calls to the body.
                paths = re.findall(r"_C\.native\(_C\.paths\.(\w+)\)", decorators)
                has_body = len(node.body) > 1 or ast.get_docstring(node) is None
                assert has_body != any(getattr(_C.paths, name).is_whole for name in paths), (
                    node.name
                )


def test_float_ranges_are_numpys() -> None:
    rng = np.random.default_rng(3)
    for start, stop, step in rng.normal(0, 5, (300, 3)).round(3).tolist():
        for arguments in ((start, stop, step), (start, stop), (stop,), (int(start), stop, step)):
            expected = np.arange(*arguments)
            assert flow.arange(*arguments).numpy().tobytes() == expected.tobytes()


def test_one_element_is_written_where_it_is(device: flow.Device, naive: bool) -> None:
    x = flow.zeros((2, 3), device=device)
    view = x[1]
    x[1, 2] = 5
    view[0] = True
    x[0][1] = np.float32(2.5)
    assert x.tolist() == [[0, 2.5, 0], [1, 0, 5]]
    with pytest.raises(OverflowError):
        flow.zeros(2, "int8", device=device)[0] = 300
    with pytest.raises(IndexError):
        x[2] = 1
    with pytest.raises(ValueError, match="broadcast|read-only"):
        flow.broadcast_to(x[0, 0], (3,))[...] = 1


def test_memory_limit_is_told() -> None:
    with flow.flags(memory_limit=1 << 40):
        assert flow.memory_stats("cpu")["limit"] == 1 << 40
