"""divmod, modf, frexp and ldexp: NumPy's dtypes and bits, by our names and by NumPy's."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same, values

pytestmark = pytest.mark.usefixtures("no_warnings")

REAL = ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64")
FLOATS = ("float16", "float32", "float64")
ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, -1e-8, 6e4]


def floats(dtype: str, count: int = 4000) -> np.ndarray:
    """Floats of all sizes: any bits, subnormal numbers of each length, and special ones."""
    width = np.dtype(dtype).itemsize
    random = np.random.default_rng(1)
    unsigned = f"uint{8 * width}"
    anything = np.frombuffer(random.bytes(width * count), unsigned)
    digits = np.finfo(dtype).nmant
    small = (anything & np.array((1 << digits) - 1, unsigned)) >> (anything % digits)
    limits = np.finfo(dtype)
    ends = [limits.tiny, limits.max, limits.smallest_subnormal, np.nextafter(limits.tiny, 0)]
    special = np.array([*ODD, *ends, *(-x for x in ends)], dtype)
    found = np.concatenate([anything.view(dtype), small.view(dtype), -small.view(dtype), special])
    return np.where(np.isnan(found), np.array(np.nan, dtype), found)


def layouts(x: np.ndarray) -> list[np.ndarray]:
    """The same elements without a dimension, none, with steps, and in two dimensions."""
    return [x, x[0], x[:0], x[::-2], x[:12].reshape(3, 4).T, x[:12].reshape(3, 4)[:, ::2]]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["frexp", "modf"])
def test_parts_of_floats(name: str, dtype: str, device: flow.Device) -> None:
    for x in layouts(floats(dtype)):
        expected = getattr(np, name)(x)
        t = flow.tensor(x, device=device)
        for seen in (getattr(flow, name)(t), getattr(np, name)(t), getattr(flow, name)(x)):
            assert isinstance(seen, tuple)
            same(expected, seen)
        assert getattr(flow, name)(t)[0].device == device


@pytest.mark.parametrize("dtype", REAL)
def test_parts_of_integers(dtype: str, device: flow.Device) -> None:
    x = values((3, 4), dtype, 1)
    t = flow.tensor(x, device=device)
    for name in ("frexp", "modf"):
        same(getattr(np, name)(x), getattr(flow, name)(t))
    same(np.ldexp(x, 3), flow.ldexp(t, 3))


@pytest.mark.parametrize("dtype", FLOATS)
def test_ldexp(dtype: str, device: flow.Device) -> None:
    x = floats(dtype)
    t = flow.tensor(x, device=device)
    random = np.random.default_rng(2)
    for low, high in ((-3, 3), (-40, 40), (-300, 300), (-2300, 2300), (-(2**31), 2**31 - 1)):
        for kind in ("int32", "int64"):
            power = random.integers(low, high, x.shape).astype(kind)
            same(np.ldexp(x, power), flow.ldexp(t, flow.tensor(power, device=device)))
    for number in (2, -7, np.int8(3), True, [1] * len(x)):
        same(np.ldexp(x, number), flow.ldexp(t, number))
        same(np.ldexp(x, number), np.ldexp(t, number))
    for one, power in zip(layouts(x), layouts(random.integers(-30, 30, x.shape)), strict=True):
        given = flow.tensor(one, device=device), flow.tensor(power, device=device)
        same(np.ldexp(one, power), flow.ldexp(*given))
    column = np.arange(-3, 3)[:, None]
    same(np.ldexp(x[:9], column), flow.ldexp(t[:9], column))
    mantissa, exponent = flow.frexp(t)
    same(x, flow.ldexp(mantissa, exponent))


@pytest.mark.parametrize("dtype", [*REAL, *FLOATS])
def test_divmod(dtype: str, device: flow.Device) -> None:
    x, y = values((4, 5), dtype, 1), values((5,), dtype, 2)
    a, b = flow.tensor(x, device=device), flow.tensor(y, device=device)
    with np.errstate(all="ignore"):
        same(np.divmod(x, y), flow.divmod(a, b))
        same(np.divmod(x, y), np.divmod(a, b))
        same(np.divmod(x, y), np.divmod(x, b))
        same(np.divmod(x.T, y[:4]), flow.divmod(a.T, b[:4]))
    if dtype != "bool":
        same(np.divmod(x, 3), flow.divmod(a, 3))
        same(np.divmod(7, np.abs(y) + y.dtype.type(1)), flow.divmod(7, abs(b) + 1))


def test_bfloat16(device: flow.Device) -> None:
    """The exponents of float32 numbers, which bfloat16's are; mantissas fit."""
    t = flow.tensor([0.0, -0.0, 1.5, -3e38, 1e-40, np.inf, -np.inf], flow.bfloat16, device)
    x = t.numpy().astype("float32")
    for name in ("frexp", "modf"):
        expected = getattr(np, name)(x)
        parts = getattr(flow, name)(t)
        assert parts[0].dtype == flow.bfloat16
        same(expected, [a.astype(b.dtype) for a, b in zip(parts, expected, strict=True)])
    assert flow.ldexp(t, 3).dtype == flow.bfloat16
    same(np.ldexp(x, 3), flow.ldexp(t, 3).astype("float32"))


def test_out(device: flow.Device) -> None:
    x = np.array([2.5, -7.25])
    t = flow.tensor(x, device=device)
    first, second = flow.zeros(2, device=device), np.zeros(2)
    assert flow.modf(t, out=(first, second))[0] is first
    same(np.modf(x), (first, second))
    only = flow.zeros(2, device=device)
    results = np.modf(t, out=(None, only))
    assert results[1] is only
    same(np.modf(x), results)
    exponents = flow.zeros(2, dtype="int64", device=device)
    assert np.frexp(t, out=(None, exponents))[1] is exponents
    assert exponents.tolist() == [2, 3]
    quotient = flow.zeros(2, dtype="float32", device=device)
    flow.divmod(t, 2.0, quotient)
    assert quotient.tolist() == [1.0, -4.0]
    assert flow.ldexp(t, 1, out=only) is only
    assert np.ldexp(t, 1, out=only) is only
    assert only.tolist() == [5.0, -14.5]
    for name in ("modf", "frexp"):
        for wrong in (only, (only,), [only, only]):
            with pytest.raises(TypeError, match=rf"\[{name}\] expected out to be a tuple of two"):
                getattr(flow, name)(t, out=wrong)
    with pytest.raises(TypeError, match="cast"):
        flow.modf(t, out=(exponents, None))


@pytest.mark.parametrize("name", ["divmod", "modf", "frexp"])
def test_both_outputs_or_none_are_written(name: str, device: flow.Device) -> None:
    operands = [flow.tensor([2.5, -7.25], device=device)]
    operands += [2.0] * (name == "divmod")
    narrow = "bool" if name == "frexp" else "int64"
    for wrong in (flow.zeros(3, device=device), flow.zeros(2, dtype=narrow, device=device)):
        first = flow.full(2, 9.0, device=device)
        with pytest.raises((TypeError, ValueError)):
            getattr(flow, name)(*operands, out=(first, wrong))
        assert first.tolist() == [9.0, 9.0]


@pytest.mark.parametrize(
    ("name", "operands"),
    [
        ("modf", ([1j],)),
        ("frexp", ([1j],)),
        ("ldexp", ([1j], [1])),
        ("ldexp", ([1.0], [1.0])),
        ("ldexp", ([1.0], np.array([1], "uint64"))),
        ("divmod", ([1j], [1j])),
    ],
)
def test_refused_dtypes(name: str, operands: Any) -> None:
    with pytest.raises(TypeError):
        getattr(np, name)(*operands)
    with pytest.raises(TypeError, match="expected|not supported|no loop|complex|not defined"):
        getattr(flow, name)(*operands)


def test_recorded(device: flow.Device) -> None:
    x = floats("float32", 40)
    t = flow.tensor(x, device=device)

    @flow.jit
    def parts(t: flow.Tensor, n: flow.Tensor) -> Any:
        return *flow.frexp(t), *flow.modf(t), *flow.divmod(t, 3), flow.ldexp(t, n)

    n = np.arange(x.size) - 60
    with np.errstate(all="ignore"):
        expected = (*np.frexp(x), *np.modf(x), *np.divmod(x, 3), np.ldexp(x, n))
    for _ in range(3):
        same(expected, parts(t, flow.tensor(n, device=device)))


def test_gradients_of_fractions(device: flow.Device) -> None:
    t = flow.tensor([0.3, -1.2, 2.5, -0.0, np.inf], device=device)
    assert flow.grad(lambda t: flow.modf(t)[0].sum())(t).tolist() == [1, 1, 1, 1, 0]
    assert flow.grad(lambda t: flow.modf(t)[1].sum())(t).tolist() == [0] * 5


def test_gradients(device: flow.Device) -> None:
    """Mantissas and ``ldexp`` are linear between powers of 2; exponents are constant."""
    x = np.array([0.3, -1.2, 2.5, 0.0])
    powers = np.array([1, -2, 3, 4])
    n = flow.tensor(powers, device=device)
    for dtype in ("float32", "float64"):
        t = flow.tensor(x, dtype, device)
        scaled = flow.grad(lambda t: flow.ldexp(t, n).sum())(t)
        same((2.0**powers).astype(dtype), scaled)
        mantissas = flow.grad(lambda t: flow.frexp(t)[0].sum())(t)
        same((2.0 ** -np.frexp(x)[1]).astype(dtype), mantissas)
        same(np.zeros(4, dtype), flow.grad(lambda t: flow.spacing(t).sum())(t))


KEYWORDS: dict[str, tuple[Any, ...]] = {
    "divmod": (np.array([5, -7, 3], "int8"), np.array([2, 3, -2], "int8")),
    "modf": (np.array([2.5, -0.25, np.inf], "float32"),),
    "frexp": (np.array([8.0, -0.75, 0.0], "float32"),),
    "ldexp": (np.array([0.5, -0.75, 3.0], "float32"), np.array([4, 0, -2], "int32")),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_keywords_of_ufuncs(name: str, device: flow.Device) -> None:
    arrays = KEYWORDS[name]
    given = [flow.tensor(x, device=device) for x in arrays]
    count = getattr(np, name).nout
    mask = np.array([True, False, True])
    for dtype in (None, "float64", "float16", "int8"):
        for casting in ("no", "safe", "same_kind", "unsafe"):
            numpys = tuple(
                np.full(3, 9, "int16" if dtype == "int8" else "float64") for _ in range(count)
            )
            outs = tuple(flow.tensor(x, device=device) for x in numpys)
            keywords = {"dtype": dtype, "casting": casting}
            try:
                expected = getattr(np, name)(*arrays, out=numpys, where=mask, **keywords)
            except TypeError:
                with pytest.raises(TypeError, match=rf"\[{name}|\[floor_divide|\[numpy|ufunc"):
                    getattr(flow, name)(*given, out=outs, where=mask, **keywords)
                continue
            seen = getattr(flow, name)(*given, out=outs, where=mask, **keywords)
            same(expected, seen)
    for order in ("K", "C", "A"):
        same(getattr(np, name)(*arrays, order=order), getattr(flow, name)(*given, order=order))
    with pytest.raises(TypeError, match=rf"{name}\].* order"):
        getattr(flow, name)(*given, order="F")
    with pytest.raises((TypeError, ValueError), match=rf"\[{name}\]"):
        getattr(flow, name)(*given, out=(flow.zeros(3),) * 3)


@pytest.mark.parametrize("name", ["divmod", "modf", "frexp"])
def test_outputs_by_their_places(name: str, device: flow.Device) -> None:
    ours, theirs = getattr(flow, name), getattr(np, name)
    given = [np.float32([2.5, -7, 0.5]), np.float32([2, 3, -1])][: theirs.nin]
    tensors = [flow.tensor(x, device=device) for x in given]
    expected = theirs(*given)
    outs = [flow.zeros(3, x.dtype, device=device) for x in expected]
    for targets in (outs, (outs[0], None), (None, outs[1]), (None, None)):
        seen = ours(*tensors, *targets)
        for target, one, wanted in zip(targets, seen, expected, strict=True):
            assert target is None or one is target
            same(wanted, one)
    assert ours(*tensors, outs[0])[0] is outs[0]
    with pytest.raises(TypeError, match=rf"\[{name}\] expected out by its place or .*, got both"):
        ours(*tensors, outs[0], out=tuple(outs))
    with pytest.raises(TypeError, match=rf"\[{name}\] expected out to be a tensor or array"):
        ours(*tensors, tuple(outs))


def test_what_a_mask_leaves_out_of_parts_is_zero(device: flow.Device) -> None:
    x = flow.tensor([2.5, -0.25], device=device)
    fraction, whole = flow.modf(x, where=[True, False])
    assert (fraction.tolist(), whole.tolist()) == ([0.5, 0.0], [2.0, 0.0])
