"""bfloat16 computes: ml_dtypes' dtype and casts; all else is float32's result, rounded once."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.ops.table import ROWS
from tests.support.bfloat16 import ALL, B, bits, check, is_exact, ml_dtypes, numbers, rounded, wide
from tests.support.oracle import DTYPES, same, values

SIZES = (0, 1, 5, 2049, 20011)
REDUCTIONS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}

pytestmark = pytest.mark.usefixtures("no_warnings")


# --- what it is


def test_name() -> None:
    assert flow.bfloat16 == B
    assert flow.bfloat16.type is ml_dtypes.bfloat16
    for named in (flow.bfloat16, "bfloat16", ml_dtypes.bfloat16, np.dtype("bfloat16")):
        assert flow.zeros(3, dtype=named).dtype == flow.bfloat16
        assert flow.ones(3).astype(named).dtype == flow.bfloat16
        assert flow.ones(3).to(named).dtype == flow.bfloat16
    assert flow.tensor(np.zeros(2, B).astype(B.newbyteorder("S"))).dtype == flow.bfloat16
    with pytest.raises(TypeError, match="unsupported dtype"):
        flow.zeros(2, dtype="V2")
    with pytest.raises(TypeError, match="float16, bfloat16, float32"):
        flow.zeros(2, dtype=object)


def test_limits_and_kinds() -> None:
    known, limits = ml_dtypes.finfo(B), flow.finfo("bfloat16")
    for name in ("bits", "eps", "epsneg", "max", "min", "tiny", "smallest_subnormal", "resolution"):
        assert getattr(limits, name) == float(getattr(known, name))
    assert limits == flow.finfo(flow.ones(1, dtype=B))
    assert limits.dtype == B
    assert flow.isdtype(B, "real floating")
    assert flow.isdtype(B, ("bool", "numeric"))
    assert not flow.isdtype(B, ("bool", "integral", "complex floating"))
    with pytest.raises(ValueError, match=r"\[iinfo\].*bfloat16"):
        flow.iinfo(B)


# As float16, and with it float32: what NumPy finds for ml_dtypes' ufuncs.
@pytest.mark.parametrize("other", DTYPES)
def test_promotion(other: str) -> None:
    x, y = flow.ones(2, dtype=B), flow.ones(2, dtype=other)
    expected = (np.ones(2, B) + np.ones(2, other)).dtype
    for a, b in ((x, y), (y, x)):
        assert (a + b).dtype == flow.result_type(a, b) == flow.result_type(a.dtype, b) == expected
        assert flow.promote(a.dtype, b.dtype) == expected
        assert flow.concat([a, b]).dtype == flow.where(a > 0, a, b).dtype == expected
        assert (a == b).dtype == "bool"
        assert (a @ b).dtype == expected
    for casting in ("no", "equiv", "safe", "same_kind", "unsafe"):
        same_kind = (other, casting) == ("float16", "same_kind")
        assert flow.can_cast(B, other, casting) == (np.can_cast(B, other, casting) or same_kind)
        loses = other.startswith("complex") and casting == "same_kind"  # allowed by ml_dtypes only
        assert flow.can_cast(other, B, casting) == (np.can_cast(other, B, casting) and not loses)


def test_scalars() -> None:
    x = flow.ones(2, dtype=B)
    for scalar, expected in ((True, B), (2, B), (0.1, B), (1j, "complex64")):
        assert (x + scalar).dtype == (scalar + x).dtype == flow.result_type(x, scalar) == expected
    assert flow.result_type(B, 1, 2.0) == B
    assert flow.result_type(1, 1.0) == "float64"
    assert flow.result_type(B, "int8", 1.0) == B
    assert flow.result_type(B, "float16", 1) == "float32"
    assert (x * np.float32(2)).dtype == "float32"
    assert (x * ml_dtypes.bfloat16(2)).dtype == B
    # Numbers are rounded first, as those beside float16 are.
    assert (x * 0.1 == 0.1).all().item()
    assert (flow.where(x == 1, 0.1, x) == 0.1).all().item()
    check(rounded(wide(np.ones(2, B)) + np.float32(B.type(1.001))), x + 1.001)
    with pytest.raises(OverflowError):
        x + 10**400


# --- values


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_casts(dtype: str, device: flow.Device) -> None:
    given = ALL
    if np.dtype(dtype).kind in "iu":  # in range: what C leaves open is the device's
        low, high = (-120, 120) if np.dtype(dtype).kind == "i" else (0, 250)
        given = ALL[(wide(ALL) >= low) & (wide(ALL) <= high)]
    there = flow.tensor(given, device=device).astype(dtype)
    source = values((20011,), dtype, 3) if dtype != "bfloat16" else ALL
    back = flow.tensor(source, device=device).astype(B) if np.dtype(dtype).kind != "c" else None
    if is_exact(device) and np.dtype(dtype).kind != "c":
        np.testing.assert_array_equal(bits(there), bits(given.astype(dtype)))
        np.testing.assert_array_equal(bits(back), bits(source.astype(B)))
    else:
        same(wide(given.astype(dtype)), wide(there.numpy()))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rounding(dtype: str, device: flow.Device) -> None:
    """Ties, what overflows, what is subnormal, NaN of any payload: strided and not."""
    halves = np.arange(0, 2**32, 2**15 - 7, dtype=np.uint64).astype(np.uint32)
    near = (np.arange(65536, dtype=np.uint32) << 16)[:, None] + [0x7FFF, 0x8000, 0x8001]
    given = np.concatenate([halves, near.ravel().astype(np.uint32)]).view(np.float32).astype(dtype)
    for view in (slice(None), slice(None, None, -3)):
        seen, expected = flow.tensor(given, device=device)[view].astype(B), given[view].astype(B)
        if is_exact(device):
            np.testing.assert_array_equal(bits(seen), bits(expected))
        else:
            same(wide(expected), wide(seen.numpy()))


@pytest.mark.parametrize("name", ROWS)
def test_elementwise(name: str, device: flow.Device) -> None:
    ufunc = ROWS[name].ufunc
    is_own = _C.properties_of(ROWS[name].op)["bfloat16"]
    for shape in [(), (3, 4), *SIZES]:
        given = [numbers(shape, 10 + i) for i in range(ufunc.nin)]
        tensors = [flow.tensor(x, device=device) for x in given]
        try:
            of_wide = ufunc(*(given if is_own else map(wide, given)))
        except TypeError:
            with pytest.raises(TypeError, match=rf"\[{name}\] is not defined for bfloat16"):
                getattr(flow, name)(*tensors)
            return
        check(rounded(of_wide), getattr(flow, name)(*tensors), is_exact(device))


def test_every_number(device: flow.Device) -> None:
    x = flow.tensor(ALL, device=device)
    for name in ("negative", "abs", "sqrt", "floor", "sign", "isnan", "signbit", "isfinite"):
        check(rounded(ROWS[name].ufunc(wide(ALL))), getattr(flow, name)(x))
    check(np.spacing(ALL), flow.spacing(x))
    for step in (1, 12345):
        other = np.roll(ALL, step)
        check(np.nextafter(ALL, other), flow.nextafter(x, flow.tensor(other, device=device)))


def test_views_and_targets(device: flow.Device) -> None:
    given = numbers((150, 151))
    x = flow.tensor(given, device=device)
    check(rounded(wide(given.T[::2]) * wide(given[:1, 0])), x.T[::2] * x[:1, 0])
    out = flow.zeros((150, 151), dtype=B, device=device)
    assert flow.add(x, x, out=out) is out
    check(rounded(wide(given) * 2), out)
    expected = rounded(wide(given) + np.float32(0.5))
    x += 0.5
    check(expected, x)
    x[1:] *= x[:-1]  # overlaps
    expected[1:] = rounded(wide(expected[1:]) * wide(expected[:-1]))
    check(expected, x)
    half = flow.zeros((150, 151), dtype="float16", device=device)
    flow.multiply(out, 1, out=half)
    same(rounded(wide(given) * 2).astype(np.float32).astype(np.float16), half)
    with pytest.raises(TypeError, match="cannot cast bfloat16 to int64"):
        flow.add(x, x, out=flow.zeros((150, 151), dtype="int64", device=device))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["multiply", "hypot", "add", "exp"])
def test_targets_of_another_dtype(name: str, dtype: str, device: flow.Device, naive: bool) -> None:
    """The result is rounded to bfloat16, then cast: eager, in a trace, and with ndarray as out."""
    ufunc, function = ROWS[name].ufunc, getattr(flow, name)
    for shape, wider in [((), ()), ((7, 5), (7, 5)), ((5,), (3, 5)), ((20011,), (20011,))]:
        plain = [np.random.default_rng(i).normal(size=shape).astype(B) for i in range(ufunc.nin)]
        given = [flow.tensor(x, device=device) for x in plain]
        expected = np.broadcast_to(function(*given).numpy(), wider).astype(dtype)
        if is_exact(device):
            check(rounded(ufunc(*map(wide, plain))), function(*given))

        def into(*given: flow.Tensor, to: Any = wider) -> flow.Tensor:
            out = flow.zeros((*to, 2), dtype, device=device)[..., 0]
            assert function(*given, out=out) is out
            return out

        same(expected, into(*given))
        same(expected, flow.jit(into)(*given))
        target = flow.zeros(wider, dtype, device=device)
        same(expected, function(*given, out=target))
        array = np.zeros(wider, dtype)
        same(expected, function(*given, out=array))


def chain(x: Any, y: Any, f: Any, cast: Callable[[Any], Any]) -> Any:
    """Several operations, each rounded by ``cast``."""
    a = cast(cast(x * 2) + y)
    b = cast(f.tanh(a))
    c = cast(f.where(b > 0, b, cast(y - x)))
    return cast(cast(c * c) + cast(f.exp(cast(-a))))


@pytest.mark.parametrize("fusion", ["0", "always"])
def test_fusion_changes_no_bit(fusion: str, naive: bool) -> None:
    x, y = (np.random.default_rng(i).normal(size=300_007).astype(B) for i in range(2))
    expected = chain(wide(x), wide(y), np, lambda v: wide(rounded(v)))
    with flow.flags(fusion=fusion):
        seen = chain(flow.tensor(x), flow.tensor(y), flow, lambda v: v)
        check(rounded(expected), seen)
        total = flow.sum(chain(flow.tensor(x), flow.tensor(y), flow, lambda v: v))
        check(np.add.reduce(rounded(expected), dtype=np.float32).astype(B), total)


# --- reductions and running sums: float32, rounded at the end


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, device: flow.Device) -> None:
    function = getattr(flow, name)
    for shape, axis in [((20011,), None), ((7, 300), 0), ((7, 300), 1), ((3, 4, 5), (0, 2))]:
        given = np.random.default_rng(1).uniform(0.9, 1.1, shape).astype(B)
        expected = REDUCTIONS[name].reduce(given, axis, dtype=np.float32)
        x = flow.tensor(given, device=device)
        check(rounded(expected), function(x, axis=axis))
    assert flow.sum(flow.full(4096, 1, dtype=B, device=device)).item() == 4096
    assert flow.sum(flow.ones(3, dtype=B, device=device), initial=0.1).item() == 3.09375
    assert flow.sum(flow.zeros(0, dtype=B, device=device)).dtype == B
    with pytest.raises(ValueError, match="no elements"):
        flow.max(flow.zeros(0, dtype=B, device=device))


def test_statistics(device: flow.Device) -> None:
    given = np.random.default_rng(1).normal(3, 1, (50, 70)).astype(B)
    x, exact = flow.tensor(given, device=device), given.astype(float)
    holes = np.where(given > 4, B.type(np.nan), given)
    y = flow.tensor(holes, device=device)
    for seen, expected in (
        *((flow.mean(x, axis=1), exact.mean(1)), (flow.mean(x), exact.mean())),
        *((flow.var(x, axis=0), exact.var(0)), (flow.std(x, ddof=1), exact.std(ddof=1))),
        (flow.nanmean(y, axis=1), np.nanmean(holes.astype(float), 1)),
        (flow.nanvar(y, axis=0), np.nanvar(holes.astype(float), 0)),
        (flow.median(x), np.median(exact)),
    ):
        assert seen.dtype == B
        np.testing.assert_allclose(wide(seen.numpy()), expected, rtol=2.0**-8)
    assert flow.mean(x, dtype="float32").dtype == "float32"


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int16"])
def test_roots_are_rounded_once(dtype: str, device: flow.Device) -> None:
    given = np.random.default_rng(1).normal(3, 40, (300, 50)).astype(B).astype(dtype)
    x = flow.tensor(given, device=device)
    wide_x = x if dtype == "int16" else x.astype("float32")
    for function in (flow.std, flow.nanstd):
        exact = function(wide_x, axis=1, ddof=1, dtype="float32")
        check(rounded(exact.numpy()), function(x, axis=1, ddof=1, dtype=B))
        if dtype == "bfloat16":
            check(rounded(exact.numpy()), function(x, axis=1, ddof=1))


def test_norms_are_rounded_once(device: flow.Device) -> None:
    given = np.random.default_rng(1).normal(size=(300, 5, 10)).astype(B)
    x = flow.tensor(given, device=device)
    wide_x, linalg = x.astype("float32"), flow.linalg
    for norm in (
        *(lambda t, p=p: linalg.norm(t, p, axis=-1) for p in (None, 0, 1, 2, 3, 0.5, np.inf)),
        *(lambda t, p=p: linalg.norm(t, p, axis=(1, 2)) for p in (None, "fro", 1, np.inf)),
        *(lambda t, p=p: linalg.vector_norm(t, axis=1, ord=p) for p in (1, 2, 3, -np.inf)),
        lambda t: linalg.vector_norm(t, axis=(0, 2), keepdims=True),
        *(lambda t: linalg.matrix_norm(t, keepdims=True), linalg.vector_norm, linalg.norm),
    ):
        check(rounded(norm(wide_x).numpy()), norm(x))


def test_running_sums(device: flow.Device) -> None:
    given = np.random.default_rng(1).uniform(0.5, 1.5, (40, 30)).astype(B)
    x = flow.tensor(given, device=device)
    check(rounded(np.cumsum(wide(given), 0)), flow.cumsum(x, 0))
    check(rounded(np.cumprod(wide(given), 1)), flow.cumprod(x, 1))
    check(rounded(np.cumsum(wide(given))), flow.cumsum(x))
    longer = flow.cumulative_sum(x, axis=1, include_initial=True)
    assert longer.shape == (40, 31)
    assert longer.dtype == B
    check(np.maximum.accumulate(wide(given)).astype(B), flow.maximum.accumulate(x))


# --- order


@pytest.mark.parametrize("size", SIZES)
def test_order(size: int, device: flow.Device) -> None:
    given = numbers(size)
    x = flow.tensor(given, device=device)
    stable = np.argsort(wide(given), kind="stable")
    np.testing.assert_array_equal(bits(flow.sort(x)), bits(given[stable]))
    same(stable, flow.argsort(x))
    down = flow.argsort(x, descending=True).numpy()
    np.testing.assert_array_equal(bits(flow.sort(x, descending=True)), bits(given[down]))
    np.testing.assert_array_equal(wide(given[down]), np.sort(wide(given))[::-1])
    if size:
        same(np.argmax(wide(given)), flow.argmax(x))
        same(np.argmin(wide(given)), flow.argmin(x))
    np.testing.assert_array_equal(wide(flow.unique(x).numpy()), np.unique(wide(given)))
    same(np.nonzero(wide(given)), flow.nonzero(x))
    ordered, needles = np.sort(wide(given)), numbers(100, 7)
    for side in ("left", "right"):
        places = flow.searchsorted(flow.sort(x), flow.tensor(needles, device=device), side=side)
        same(np.searchsorted(ordered, wide(needles), side), places)
    same(np.isin(wide(given), wide(needles)), flow.isin(x, flow.tensor(needles, device=device)))


def test_order_of_every_number() -> None:
    mixed = np.random.default_rng(2).permutation(ALL)
    same(np.argsort(wide(mixed), kind="stable"), flow.argsort(flow.tensor(mixed)))
    rows = mixed.reshape(256, 256)
    for axis in (0, 1):
        stable = np.argsort(wide(rows), axis, "stable")
        expected = np.take_along_axis(rows, stable, axis)
        np.testing.assert_array_equal(bits(flow.sort(flow.tensor(rows), axis=axis)), bits(expected))
        same(np.argmax(wide(rows), axis), flow.argmax(flow.tensor(rows), axis=axis))
        same(np.argmin(wide(rows), axis), flow.argmin(flow.tensor(rows), axis=axis))


# --- products


@pytest.mark.parametrize(
    ("left", "right"),
    [((40, 50), (50, 30)), ((50,), (50, 30)), ((3, 40, 50), (50,)), ((2, 0), (0, 3)), ((9,), (9,))],
)
def test_products(left: Any, right: Any, device: flow.Device) -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-4, 5, shape).astype(B) for shape in (left, right))
    x, y = flow.tensor(a, device=device), flow.tensor(b, device=device)
    check(rounded(np.matmul(wide(a), wide(b))), x @ y)
    check(rounded(np.matmul(wide(a[..., ::-1]), wide(b))), x[..., ::-1] @ y)
    small = flow.tensor(b.astype(np.int8), device=device)
    check(rounded(np.matmul(wide(a), wide(b))), x @ small)


def test_products_are_rounded_once() -> None:
    ones, tiny = np.ones((1, 257), B), np.full((257, 1), 2.0**-8, B)
    tiny[0] = 1
    assert (flow.tensor(ones) @ flow.tensor(tiny)).item() == 2.0
    gram = numbers((60, 60)).clip(-3, 3)
    gram[np.isnan(wide(gram))] = 0
    x = flow.tensor(gram)
    np.testing.assert_allclose(
        wide((x @ x.T).numpy()), wide(gram) @ wide(gram).T, rtol=2.0**-7, atol=1e-2
    )


def test_products_without_a_library(run_program: Callable[..., Any]) -> None:
    code = """
import numpy as np, oneflow_lite as flow
a, b = (np.arange(n).reshape(s) % 7 for n, s in ((24, (2, 3, 4)), (20, (4, 5))))
x, y = flow.tensor(a, dtype="bfloat16"), flow.tensor(b, dtype="bfloat16")
assert (x @ y).tolist() == (a @ b).tolist() and (x @ y).dtype == flow.bfloat16
assert (y.T[:, ::-1] @ y).tolist() == (b.T[:, ::-1] @ b).tolist()
"""
    done = run_program(code, blas_core="numpy")
    assert done.returncode == 0, done.stderr


def test_both_floats_of_two_bytes_in_one_program(naive: bool) -> None:
    """Operations of random pairs of dtypes: the resolution's table does not mix them up."""
    dtypes = ("float16", "bfloat16", "float32", "int8", "int32", "bool")
    given = {d: flow.tensor([1.0, 2.0, 0.0]).astype(d) for d in dtypes}
    for a, b in itertools.product(dtypes, dtypes):
        plain = [np.array([1, 2, 0]).astype(d) for d in (a, b)]
        for name in ("add", "multiply", "maximum", "less", "divide"):
            seen = getattr(flow, name)(given[a], given[b])
            check(getattr(np, name)(*plain), seen)


def test_integers_after_numpy_has_written_bfloat16(run_program: Callable[..., Any]) -> None:
    """NumPy then answers bfloat16 for integers, for itself and for whoever asks it."""
    code = """
import ml_dtypes, numpy as np, oneflow_lite as flow
a, out = np.array([3, -2], "int8"), np.zeros(2, ml_dtypes.bfloat16)
x = flow.tensor(a)
for name in ("copysign", "hypot", "arctan2"):
    ufunc = getattr(np, name)
    ufunc(a, a, out=out)
    assert ufunc.resolve_dtypes((a.dtype, a.dtype, None))[-1] == ml_dtypes.bfloat16
    assert getattr(flow, name)(x, x).dtype == flow.float16, name
    assert ufunc(x, x, casting="safe").dtype == flow.float16, name
np.sqrt(np.abs(a), out=out)
assert flow.sqrt(x).dtype == flow.float16
assert flow.copysign(x, x).tolist() == [3, -2]
"""
    done = run_program(code)
    assert done.returncode == 0, done.stderr
