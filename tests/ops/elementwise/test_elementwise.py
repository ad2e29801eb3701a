"""Elementwise functions: NumPy's dtypes and bits, for every row of the table."""

import inspect
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.table import ROWS
from tests.support.oracle import DTYPES, laid_out, same, same_as, values

pytestmark = pytest.mark.usefixtures("no_warnings", "on_the_device")

NAMES = [name for name in ROWS if name != "clip"]
LARGE = 20011  # a worker runs it; no multiple of a vector
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")
LOOKS = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64")


@pytest.fixture(scope="module")
def on_the_device() -> Iterator[None]:
    """No row, copy, fill or choice takes its operands from a CUDA device to the host."""
    before = flow.cuda.host_operations()
    yield
    if flow.flags.cuda_kernels:
        after = set(flow.cuda.host_operations()) - set(before)
        assert not after & {*ROWS, "copy", "astype", "full", "where"}


def operands(name: str, dtype: str, shape: tuple[int, ...], layout: str) -> list[np.ndarray]:
    """Random numbers; shift counts and integer exponents are small."""
    given = [values(shape, dtype, 10 + i) for i in range(ROWS[name].ufunc.nin)]
    if name in (*SHIFTS, "pow") and given[1].dtype.kind in "iu":
        given[1] = np.asarray(given[1] % 5).astype(dtype)
    return [laid_out(x, layout) for x in given]


def defined(name: str, *given: Any) -> Any:
    """NumPy's result, or None where it has none."""
    try:
        return ROWS[name].ufunc(*given)
    except TypeError:
        return None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits(name: str, dtype: str, device: flow.Device) -> None:
    for shape in [(), (0,), (5,), (3, 4), (LARGE,)]:
        given = operands(name, dtype, shape, "plain")
        expected = defined(name, *given)
        tensors = [flow.tensor(x, device=device) for x in given]
        if expected is None or expected.dtype == object:
            with pytest.raises(TypeError, match=re.escape(f"[{name}]")):
                getattr(flow, name)(*tensors)
        else:
            same_as(name, given, expected, getattr(flow, name)(*tensors))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("view", ["transposed", "negative", "strided", "rows", "broadcast"])
def test_bits_of_views(name: str, view: str, device: flow.Device) -> None:
    """Views of tensors; all dtypes in one test."""
    views: dict[str, Callable[[Any], Any]] = {
        "transposed": lambda x: x.T,
        "negative": lambda x: x[::-1, ::-1],
        "strided": lambda x: x[::3, 1::2],
        "rows": lambda x: x[2:7],
        "broadcast": lambda x: x[:, :1],
    }
    for dtype in ("int16", "uint64", "float16", "float32", "float64", "complex64", "bool"):
        for shape in [(9, 11), (150, 151)]:
            given = operands(name, dtype, shape, "plain")
            one, other = views[view], (lambda x: x[:1]) if view == "broadcast" else views[view]
            changed = [(one, other)[i % 2](x) for i, x in enumerate(given)]
            expected = defined(name, *changed)
            if expected is None:
                continue
            tensors = [flow.tensor(x, device=device) for x in given]
            views_of_tensors = ((one, other)[i % 2](t) for i, t in enumerate(tensors))
            same_as(name, changed, expected, getattr(flow, name)(*views_of_tensors))


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name: str, device: flow.Device) -> None:
    """Each special value against each other one."""
    for dtype in ("float16", "float32", "float64"):
        limits = np.finfo(dtype)
        ends = [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, limits.eps]
        column = np.array([0.0, -0.0, 1, -1, 0.5, -2.5, np.inf, -np.inf, np.nan, *ends], dtype)
        given = [column, column[:, None]][: ROWS[name].ufunc.nin]
        expected = defined(name, *given)
        if expected is not None:
            tensors = (flow.tensor(x, device=device) for x in given)
            same_as(name, given, expected, getattr(flow, name)(*tensors))
    for dtype in ("int8", "uint8", "int64", "uint64"):
        limits = np.iinfo(dtype)
        column = np.array([0, 1, 2, limits.max, limits.max - 1, limits.min, limits.min + 1], dtype)
        exponents = np.array([0, 1, 2, 3, 4, 5, 6], dtype)
        second = exponents if name in (*SHIFTS, "pow") else column
        given = [column, second[:, None]][: ROWS[name].ufunc.nin]
        expected = defined(name, *given)
        if expected is not None:
            tensors = (flow.tensor(x, device=device) for x in given)
            same_as(name, given, expected, getattr(flow, name)(*tensors))


@pytest.mark.parametrize("name", [n for n in NAMES if ROWS[n].ufunc.nin == 2])
def test_promotion_table(name: str) -> None:
    """Every pair of dtypes: NumPy's dtype and value, or an error where NumPy has one."""
    for a in DTYPES:
        for b in DTYPES:
            x, y = np.array([3, 1, 2]).astype(a), np.array([1, 2, 1]).astype(b)
            expected = defined(name, x, y)
            if expected is None:
                with pytest.raises(TypeError, match=re.escape(f"[{name}]")):
                    getattr(flow, name)(flow.tensor(x), flow.tensor(y))
            else:
                same(expected, getattr(flow, name)(flow.tensor(x), flow.tensor(y)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "pow", "less", "maximum", "equal"])
def test_scalars_are_weak(name: str, dtype: str, device: flow.Device) -> None:
    x = np.array([1, 0, 1]).astype(dtype)
    for scalar in (
        True,
        2,
        0.5,
        2.0,
        1e300,
        1j,
        np.int16(2),
        np.float32(2),
        np.float64(2),
        np.uint8(1),
    ):
        for reverse in (False, True):
            given = (scalar, x) if reverse else (x, scalar)
            tensors = tuple(flow.tensor(g, device=device) if g is x else g for g in given)
            expected = defined(name, *given)
            if expected is None:
                with pytest.raises(TypeError):
                    getattr(flow, name)(*tensors)
            else:
                same_as(name, given, expected, getattr(flow, name)(*tensors))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("scalar", [300, -1, -129, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30])
def test_integers_out_of_range(dtype: str, scalar: int) -> None:
    """Arithmetic refuses, comparisons answer: as NumPy does."""
    x = np.array([0, 1, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    for function in (operator.add, operator.mul, operator.and_, operator.sub, operator.floordiv):
        for reverse in (False, True):
            arrays = (scalar, x) if reverse else (x, scalar)
            tensors = (scalar, flow.tensor(x)) if reverse else (flow.tensor(x), scalar)
            try:
                expected = function(*arrays)
            except OverflowError:
                with pytest.raises(OverflowError):
                    function(*tensors)
            else:
                same(expected, function(*tensors))
    for function in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        same(function(x, scalar), function(flow.tensor(x), scalar))
        same(function(scalar, x), function(scalar, flow.tensor(x)))


def test_large_integers_compare_exactly(device: flow.Device) -> None:
    x = np.array([2**63 - 1, -(2**63), 2**53 + 1, 0])
    y = np.array([2**63, 2**64 - 1, 2**53 + 1, 0], "uint64")
    for function in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        same(function(x, y), function(flow.tensor(x, device=device), flow.tensor(y, device=device)))
        same(function(x, 2**53 + 1), function(flow.tensor(x, device=device), 2**53 + 1))


OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.pow),
]


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators(function: Callable[[Any, Any], Any], device: flow.Device) -> None:
    for dtype in ("int32", "uint8", "float32", "complex128", "bool"):
        x, y = np.array([1, 1, 1]).astype(dtype), np.array([1, 2, 1]).astype(dtype)
        for b in (y, 2, 1.5):
            for reverse in (False, True):
                arrays = (b, x) if reverse else (x, b)
                tensors = tuple(
                    flow.tensor(g, device=device) if isinstance(g, np.ndarray) else g
                    for g in arrays
                )
                try:
                    expected = function(*arrays)
                except TypeError:
                    with pytest.raises(TypeError):
                        function(*tensors)
                else:
                    same(expected, function(*tensors))


@pytest.mark.parametrize("exponent", [2, 3, 0, 1, -1, 0.5, 2.0, -1.0, 1.0, -0.5, 0.0, 2j, True, 10])
@pytest.mark.parametrize(
    "dtype", ["float16", "float32", "float64", "complex64", "complex128", "int32", "bool"]
)
def test_powers(dtype: str, exponent: Any, device: flow.Device) -> None:
    for size in (13, LARGE):
        x = values((size,), dtype, 5)
        if np.dtype(dtype).kind in "bi" and not isinstance(exponent, complex) and exponent < 0:
            continue
        same_as("pow", (x, exponent), x**exponent, flow.tensor(x, device=device) ** exponent)
        t = flow.tensor(x, device=device)
        y = x.copy()
        try:
            y **= exponent
        except TypeError:
            with pytest.raises(TypeError):
                t **= exponent
        else:
            t **= exponent
            same_as("pow", (x, exponent), y, t)


@pytest.mark.parametrize("size", [3, LARGE])
@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_negative_exponents_of_integers(
    dtype: str, size: int, device: flow.Device, naive: bool
) -> None:
    """NumPy raises ValueError; here the tensor does, when it is looked at, and says where."""
    exponents = np.zeros(size, dtype)
    exponents[-1] = -1
    x, y = flow.full((size,), 2, dtype=dtype, device=device), flow.tensor(exponents, device=device)
    powers = x**y
    later = powers + 1
    for poisoned in (powers, later, later):
        with pytest.raises(ValueError, match="negative") as caught:
            poisoned.numpy()
        assert any("test_elementwise.py:" in note for note in caught.value.__notes__)
    assert (x.numpy() == 2).all()
    with pytest.raises(ValueError, match="negative"):
        flow.synchronize()
    flow.synchronize()
    with pytest.raises(ValueError, match="negative"):
        (x**-1).numpy()
    with pytest.raises(ValueError, match="negative"):
        flow.synchronize()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_integer_division_by_zero(dtype: str, device: flow.Device) -> None:
    limits = np.iinfo(dtype)
    x = np.array([0, 1, 5, limits.max, limits.min], dtype)
    y = np.array([0, 0, 0, 0, 0], dtype)
    for divisor in (y, y - 1 if limits.min < 0 else y):
        for name in ("floor_divide", "remainder", "divide"):
            same(
                ROWS[name].ufunc(x, divisor),
                getattr(flow, name)(
                    flow.tensor(x, device=device), flow.tensor(divisor, device=device)
                ),
            )
    same(x // 0, flow.tensor(x, device=device) // 0)
    same(x % 0, flow.tensor(x, device=device) % 0)


IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv),
    *(operator.imod, operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.ipow),
]


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", DTYPES)
def test_in_place_casts_like_numpy(function: Callable[[Any, Any], Any], a: str) -> None:
    for b in DTYPES:
        x, y = np.array([3, 2, 1]).astype(a), np.array([1, 2, 1]).astype(b)
        t, u = flow.tensor(x), flow.tensor(y)
        try:
            function(x, y)
        except TypeError:
            with pytest.raises(TypeError):
                function(t, u)
        else:
            assert function(t, u) is t
        same(x, t)


def test_in_place_needs_the_shape() -> None:
    x = flow.zeros(3)
    with pytest.raises(ValueError, match=r"\[add\].*\(2, 3\).*\(3,\)"):
        x += flow.zeros((2, 3))
    with pytest.raises(ValueError, match="broadcast"):
        flow.broadcast_to(x, (2, 3))[...] = 1
    with pytest.raises(ValueError, match="broadcast"):
        view = flow.broadcast_to(x, (2, 3))
        view += 1


@pytest.mark.parametrize("key", ["[1:]", "[::-1]", "[:-1]", "[::2]", ".T"])
@pytest.mark.parametrize("size", [8, 200])
def test_overlapping_operands_in_place(key: str, size: int, device: flow.Device) -> None:
    """As if the operands were copied first."""
    x = values((size, size), "float64", 3)
    t = flow.tensor(x, device=device)
    other = {
        "[1:]": "[:-1]",
        "[::-1]": "[:]",
        "[:-1]": "[1:]",
        "[::2]": f"[:{size // 2}]",
        ".T": "[:]",
    }[key]
    for line in ("target += source", "target[...] = source", "np.add(target, source, out=source)"):
        names: dict[str, Any] = {"np": np, "x": x, "t": t}
        exec(f"target, source = x{key}, x{other}\n{line}", names)
        exec(
            f"target, source = t{key}, t{other}\n{line.replace('np.', 'flow.')}",
            {**names, "flow": flow},
        )
        same(x, t)


def test_out(device: flow.Device) -> None:
    x = flow.tensor([1.0, 4.0, 9.0], device=device)
    out = flow.zeros((2, 3), dtype="float32", device=device)
    assert flow.sqrt(x, out=out) is out
    same(np.array([[1, 2, 3], [1, 2, 3]], "f4"), out)
    flow.add(x, x, out=out[:, ::-1])
    same(np.array([[18, 8, 2], [18, 8, 2]], "f4"), out)
    with pytest.raises(TypeError, match=r"\[add\].*float64.*int32"):
        flow.add(x, x, out=flow.zeros(3, dtype="int32", device=device))
    with pytest.raises(TypeError, match=r"\[add\] out must be a tensor or array, got list"):
        flow.add(x, x, out=[0.0] * 3)


def test_out_of_scalars_takes_the_device_of_out(device: flow.Device) -> None:
    out = flow.zeros(3, device=device)
    flow.multiply(2.0, 3.0, out=out)
    same(np.full(3, 6.0), out)
    flow.add(np.arange(3.0), 1, out=out)
    same(np.arange(3.0) + 1, out)


def test_no_tensor_gives_a_tensor_on_the_default_device() -> None:
    assert flow.add(1, 2).item() == 3
    with flow.device("mock:1"):
        assert flow.sqrt(np.array([4.0])).device == "mock:1"
        assert flow.add(1, 2.5).device == "mock:1"
    same(np.add(1, 2.5), flow.add(1, 2.5))


@pytest.mark.parametrize("dtype", DTYPES)
def test_clip(dtype: str, device: flow.Device) -> None:
    x = values((5, 400), dtype, 4)
    t = flow.tensor(x, device=device)
    bounds: list[tuple[Any, Any]] = [(0, 1), (None, 1), (1, None), (1, 0), (x[0], x[1])]
    if x.dtype.kind == "f":
        bounds += [(-0.0, 0.0), (np.nan, 1.0), (0.0, np.inf)]
    for low, high in bounds:
        given = [
            flow.tensor(b, device=device) if isinstance(b, np.ndarray) else b for b in (low, high)
        ]
        try:
            expected = np.clip(x, low, high)
        except TypeError:
            continue
        same_as("clip", (x,), expected, flow.clip(t, *given))
    same(x, flow.clip(t))


@pytest.mark.parametrize("dtype", DTYPES)
def test_real_imag_and_round(dtype: str, device: flow.Device) -> None:
    x = values((4, 30), dtype, 6)
    t = flow.tensor(x, device=device)
    same(x.real, flow.real(t))
    same(x.imag, flow.imag(t))
    if dtype != "bool":
        same(np.round(x), flow.round(t))
    if x.dtype.kind == "c":
        t.imag[...] = 3
        x.imag[...] = 3
        same(x, t)


@pytest.mark.parametrize("a", LOOKS)
@pytest.mark.parametrize("shape", [(), (0, 3), (7,), (40, 700)])
def test_where(a: str, shape: tuple[int, ...], device: flow.Device) -> None:
    mask = values(shape, "bool", 1)
    x = values(shape, a, 2)
    for b in DTYPES:
        y = values(shape, b, 3)
        given = [flow.tensor(v, device=device) for v in (mask, x, y)]
        same(np.where(mask, x, y), flow.where(*given))
    same(np.where(mask, x, True), flow.where(given[0], given[1], True))
    same(
        np.where(x, x, x[..., :1] if shape else x),
        flow.where(given[1], given[1], given[1][..., :1] if shape else given[1]),
    )
    if shape:
        for expected, seen in zip(np.where(x), flow.where(given[1]), strict=True):
            same(expected, seen)


def test_numpy_names() -> None:
    for name, row in ROWS.items():
        if hasattr(flow, row.ufunc.__name__) and name != "clip":
            assert getattr(flow, row.ufunc.__name__) is getattr(flow, name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 2, 7])
def test_round_to_decimals(dtype: str, decimals: int, device: flow.Device) -> None:
    x = values((500,), dtype, 4)
    t = flow.tensor(x, device=device)
    if dtype == "bool" and decimals:
        with pytest.raises(TypeError, match=r"\[round\] bool"):
            flow.round(t, decimals)
        return
    expected = np.round(x, decimals)
    same(expected, flow.round(t, decimals))
    same(expected, t.round(decimals=decimals))
    out = flow.zeros(500, dtype=expected.dtype, device=device)
    if decimals < 0 and x.dtype.kind in "iu":  # the quotients are floats, as in NumPy
        with pytest.raises(TypeError):
            np.round(x, decimals, out=x)
        with pytest.raises(TypeError, match=r"\[round\] cannot cast float64 to"):
            flow.round(t, decimals, out=out)
        return
    assert flow.round(t, decimals, out=out) is out
    same(expected, out)


@pytest.mark.parametrize("name", ROWS)
def test_signatures(name: str) -> None:
    count = ROWS[name].ufunc.nin
    given = list(inspect.signature(ROWS[name].op).parameters.values())
    operands, out, named = given[:count], given[count], given[count + 1 :]
    assert [p.name for p in operands] == (["x"] if count == 1 else ["x1", "x2", "x3"][:count])
    assert {p.kind for p in operands} == {inspect.Parameter.POSITIONAL_ONLY}
    anywhere = inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert (out.name, out.kind, out.default) == ("out", anywhere, None)
    assert [p.name for p in named] == ["where", "casting", "order", "dtype"]
    assert {p.kind for p in named} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**70, -(2**63) - 1])
def test_integers_of_more_than_64_bits(number: int, device: flow.Device) -> None:
    """As in NumPy, their truth is an error, and so is what compares them with bool."""
    truths = (np.logical_and, np.logical_or, np.logical_xor)
    compared = (np.equal, np.less, np.greater_equal)
    for dtype in ("bool", "int8", "uint64", "float32", "complex128"):
        x = np.ones(2, dtype)
        t = flow.tensor(x, device=device)
        for ufunc in (*truths, *compared):
            call = getattr(flow, ufunc.__name__)
            if ufunc in truths or dtype == "bool":
                for operands in ((x, number), (number, x)):
                    with pytest.raises(OverflowError):
                        ufunc(*operands)
                for operands in ((t, number), (number, t)):
                    with pytest.raises(OverflowError):
                        call(*operands)
            else:
                same(ufunc(x, number), call(t, number))
                same(ufunc(number, x), call(number, t))
    with pytest.raises(OverflowError):
        flow.tensor([True], device=device) == number  # noqa: B015
    assert flow.logical_and(flow.tensor([0, 1], device=device), 2**63 - 1).tolist() == [False, True]


def test_rounding_to_more_decimals_than_floats_have(device: flow.Device) -> None:
    for dtype in ("float16", "float32", "float64"):
        x = np.asarray([1.5, 0.0, -3.0], dtype)
        for decimals in (308, 309, 400, -308, -400):
            with np.errstate(all="ignore"):
                same(np.round(x, decimals), flow.round(flow.tensor(x, device=device), decimals))
