"""Reductions: NumPy's dtypes, shapes and, over contiguous elements, bits."""

from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values
from tests.support.rounding import agrees, agrees_in_sums, has_own_kernels, near, of_products

pytestmark = pytest.mark.usefixtures("no_warnings")

NAMES = ("sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin")
ARG = ("argmax", "argmin")
NEEDS_ELEMENTS = ("max", "min", *ARG)
SHAPES = (
    (),
    (1,),
    (7,),
    (8,),
    (127,),
    (3, 5),
    (2, 3, 4),
    (1, 6, 1),
    (8193,),
    (129, 130),
    (5, 9001),
)


def axes_of(shape: tuple[int, ...], name: str) -> list[Any]:
    single = [None, *range(-len(shape), len(shape))]
    return single if name in ARG else [*single, (), tuple(range(len(shape))), (0, -1)[: len(shape)]]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_of_long_sums(dtype: str) -> None:
    random = np.random.default_rng(11)
    lengths = [
        *range(120, 150),
        *range(250, 600),
        *range(600, 1100, 11),
        1000,
        1023,
        4099,
        39_063,
        65_541,
        300_007,
    ]
    for length in lengths:
        x = random.normal(size=(3, length)).astype(dtype)
        x[1, length // 3] = np.nan
        t = flow.tensor(x)
        same(x.sum(axis=-1), t.sum(axis=-1))
        same(x[2, 1:].sum(), t[2, 1:].sum())
        same(x[::2, 5:].mean(axis=-1), t[::2, 5:].mean(axis=-1))
    for value in (-0.0, np.inf, -np.inf):
        x = np.full(1000, value, dtype)
        same(x.sum(), flow.tensor(x).sum())


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_of_very_many(dtype: str) -> None:
    size = 5_000_003  # divided among threads, whatever the dtype
    random = np.random.default_rng(12)
    x = random.integers(0 if dtype[0] in "ub" else -90, 100, size).astype(dtype)
    cases = [x, x[::-1], x[1::3], np.zeros(size, dtype), np.ones(size, dtype)]
    if x.dtype.kind in "fc":
        signs = np.where(x > 0, np.zeros(1, dtype), -np.zeros(1, dtype))
        spoiled = x.copy()
        spoiled[size // 2] = np.nan
        cases += [signs, spoiled]
    if x.dtype.kind == "c":  # zeros of both signs, and different numbers that are not comparable
        parts = np.copysign(random.integers(0, 2, 2 * size), random.normal(size=2 * size))
        for _ in range(2):
            cases.append(parts.astype(x.real.dtype).view(dtype))
            parts[5001::1001] = np.nan
    late, never = np.zeros(size, dtype), np.ones(size, dtype)
    late[-1], never[-1] = 1, 0
    for case in [*cases, late, late[::-1], never]:
        for threads in (1, 2, 7):
            with flow.flags(num_threads=threads):
                t = flow.tensor(case)
                for name in ("max", "min", "nanmax", "nanmin", "any", "all"):
                    same(getattr(np, name)(case), getattr(flow, name)(t))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bits(name: str, dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = values(shape, dtype, 7)
        if x.dtype.kind in "fc":  # infinities would hide the order of a sum
            x = np.asarray(np.nan_to_num(np.where(np.abs(x) < 100, x, 1.5)), dtype)
        if name == "prod" and has_own_kernels(device):
            x = of_products(x)
        t = flow.tensor(x, device=device)
        for axis in axes_of(shape, name):
            for keepdims in (False, True):
                keywords = {"axis": axis, "keepdims": keepdims}
                try:
                    expected = getattr(np, name)(x, **keywords)
                except (TypeError, ValueError) as error:
                    with pytest.raises(type(error)):
                        getattr(flow, name)(t, **keywords)
                else:
                    agrees(name, expected, getattr(flow, name)(t, **keywords), x, **keywords)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_special_values(name: str, dtype: str, device: flow.Device) -> None:
    own_kernels = has_own_kernels(device)
    for seed in range(6):
        x = values((61, 140), dtype, seed)
        if own_kernels and name in ("sum", "mean"):
            x = without_some(x, seed)
        for part in (x, x[:, :3], x[:1, :1] * np.nan, np.zeros_like(x), -np.zeros_like(x)):
            if own_kernels and name == "prod" and part.size > 1 and part.any():
                continue  # whether 0 meets infinity on the way depends on the order
            t = flow.tensor(part, device=device)
            for axis in (None, 0, 1):
                expected = getattr(np, name)(np.ascontiguousarray(part), axis=axis)
                seen = getattr(flow, name)(t, axis=axis)
                if own_kernels and name == "mean":
                    near_mean(part, axis, seen)
                else:
                    agrees(name, expected, seen, part, axis=axis)


def without_some(x: np.ndarray, seed: int) -> np.ndarray:
    """Either no infinities or nothing that overflows: of both, the order decides what is NaN."""
    parts = x.view(x.real.dtype)
    huge = parts == np.finfo(x.dtype).max
    gone = np.isinf(parts) if seed % 2 else huge
    return np.where(gone, parts.dtype.type(1), parts).view(x.dtype)


def near_mean(x: np.ndarray, axis: int | None, seen: flow.Tensor) -> None:
    """A sum that overflows has an infinite mean, of which a wider mean would not know."""
    summed_in = np.float32 if x.dtype == np.float16 else x.dtype
    wide = np.result_type(x.dtype, np.longdouble)
    total = np.sum(x.astype(wide), axis=axis).astype(summed_in)
    count = x.size if axis is None else x.shape[axis]
    size = np.where(np.isfinite(x), np.abs(x), 0).astype(summed_in).real
    near(np.asarray(total / count), seen.numpy(), np.asarray(np.mean(size, axis=axis)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_empty(name: str, shape: tuple[int, ...], device: flow.Device) -> None:
    for dtype in ("bool", "int8", "float32", "complex64"):
        x = np.empty(shape, dtype)
        t = flow.tensor(x, device=device)
        for axis in (None, *range(len(shape))):
            count = x.size if axis is None else shape[axis]
            if name in NEEDS_ELEMENTS and count == 0:
                with pytest.raises(ValueError, match=rf"\[{name}\]"):
                    getattr(flow, name)(t, axis=axis)
            else:
                expected = np.full(np.sum(x, axis=axis).shape, np.nan) if name == "mean" else None
                result = getattr(flow, name)(t, axis=axis)
                if expected is None:
                    same(getattr(np, name)(x, axis=axis), result)
                else:
                    assert result.shape == expected.shape
                    assert np.isnan(result.numpy()).all()


def test_no_elements_far_from_their_storage(device: flow.Device) -> None:
    """They have no place: no kernel is given one."""
    x, y = np.empty((0, 5, 1000), "int8"), np.arange(512, dtype="uint8")
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    for key in ((slice(None), slice(1, 4)), (slice(None), slice(None, None, -1)), (..., 990)):
        for name in ("sum", "prod", "any", "all", "count_nonzero"):
            same(getattr(np, name)(x[key], axis=0), getattr(flow, name)(t[key], axis=0))
            same(getattr(np, name)(x[key]), getattr(flow, name)(t[key]))
    same(y[512:].sum(), u[512:].sum())
    same(np.searchsorted(y[512:], y), flow.searchsorted(u[512:], u))
    same(np.isin(y, y[512:]), flow.isin(u, u[512:]))
    same(
        np.ones((2, 0)) @ np.ones((0, 3)),
        u[512:, None].reshape(2, 0) @ flow.ones((0, 3)).to(device),
    )


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "bool"])
def test_dtype_argument(dtype: str, device: flow.Device) -> None:
    x = np.asarray(np.arange(1, 60) % 5 + 1)
    for source in ("int8", "uint16", "bool", "float32"):
        a = x.astype(source)
        t = flow.tensor(a, device=device)
        for name in ("sum", "prod", "mean"):
            expected, seen = getattr(np, name)(a, dtype=dtype), getattr(flow, name)(t, dtype=dtype)
            agrees(name, expected, seen, a, dtype=dtype)


@pytest.mark.parametrize("name", NAMES)
def test_views(name: str, device: flow.Device) -> None:
    """Exact dtypes are equal; sums of floats in another order are close."""
    for dtype in ("int32", "uint64", "bool", "float32", "float64", "complex64"):
        x = np.asarray(values((40, 30, 20), dtype, 9))
        if x.dtype.kind in "fc":
            x = np.asarray(np.nan_to_num(np.where(np.abs(x) < 9, x, 1)), dtype)
        if name == "prod":
            x = np.asarray(np.where(x == 0, 0, 1), dtype)
        t = flow.tensor(x, device=device)
        pairs = [
            (x.T, t.T),
            (x[::-1, :, ::-2], t[::-1, :, ::-2]),
            (x[3:30:4, 5:, 1], t[3:30:4, 5:, 1]),
            (x.transpose(1, 0, 2), t.transpose(1, 0, 2)),
            (np.broadcast_to(x[0], (5, 30, 20)), flow.broadcast_to(t[0], (5, 30, 20))),
        ]
        for a, b in pairs:
            for axis in axes_of(a.shape, name):
                expected = np.asarray(getattr(np, name)(a, axis=axis))
                result = getattr(flow, name)(b, axis=axis)
                if expected.dtype.kind in "fc" and name in ("sum", "mean"):
                    assert result.dtype == expected.dtype
                    assert np.allclose(result.numpy(), expected, rtol=1e-4, atol=1e-3)
                else:
                    same(expected, result)


@pytest.mark.parametrize("axis", [None, 31, 0, (0, 31), tuple(range(32))])
@pytest.mark.parametrize("keepdims", [False, True])
def test_of_all_dimensions_that_there_can_be(axis: Any, keepdims: bool) -> None:
    array = np.arange(8.0).reshape((2, *(1,) * 29, 2, 2))
    x = flow.tensor(array)
    same(x.sum(axis=axis, keepdims=keepdims), array.sum(axis=axis, keepdims=keepdims))
    if not isinstance(axis, tuple):
        same(x.argmax(axis=axis, keepdims=keepdims), array.argmax(axis=axis, keepdims=keepdims))


def test_integer_mean_is_float64(device: flow.Device) -> None:
    for dtype in ("int8", "uint64", "bool", "int64"):
        x = values((1000,), dtype, 3)
        agrees_in_sums(np.mean(np.abs(x)), np.mean(x), flow.tensor(x, device=device).mean())


def test_sums_wrap_around_and_widen(device: flow.Device) -> None:
    same(np.uint64(255 * 9000), flow.sum(flow.full((9000,), 255, dtype="uint8", device=device)))
    big = np.array([2**63 - 1, 1])
    same(big.sum(), flow.tensor(big, device=device).sum())


@pytest.mark.parametrize("name", ["sum", "mean", "max"])
def test_large_in_both_modes(name: str, device: flow.Device, naive: bool) -> None:
    for dtype in ("float16", "float32", "float64", "int32"):
        x = np.random.default_rng(1).normal(0, 3, 300_007).astype(dtype)
        agrees(name, getattr(np, name)(x), getattr(flow.tensor(x, device=device), name)(), x)


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, 2), (0, -2), 10**30])
def test_bad_axes(axis: Any) -> None:
    x = flow.ones((2, 3))
    for name in NAMES:
        if name in ARG and isinstance(axis, tuple):
            continue
        with pytest.raises((ValueError, IndexError, OverflowError), match=r"\[\w+\]|int"):
            getattr(flow, name)(x, axis=axis)


@pytest.mark.parametrize("name", [*NAMES, "var", "nanmax", "nanmin"])
def test_an_axis_error_is_numpys(name: str) -> None:
    with pytest.raises(AxisError, match=rf"\[{name}\] axis 2"):
        getattr(flow, name)(flow.ones((2, 3)), axis=2)


@pytest.mark.parametrize("axis", ["0", 1.0, [None], {}])
def test_axes_of_other_types(axis: Any) -> None:
    for name in NAMES:
        with pytest.raises(TypeError):
            getattr(flow, name)(flow.ones((2, 3)), axis=axis)


def test_complex_order_is_numpys(device: flow.Device) -> None:
    x = values((500,), "complex128", 2)
    for name in ("max", "min", "argmax", "argmin"):
        same(getattr(np, name)(x), getattr(flow, name)(flow.tensor(x, device=device)))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint64", "int32"])
def test_short_rows_have_numpys_bits(dtype: str) -> None:
    """Which NaN of two is kept, too."""
    rng = np.random.default_rng(4)
    for n in range(1, 131):
        x = np.asarray(rng.normal(0, 1, (2, 11, n)) * 10.0 ** rng.integers(-3, 4, (2, 11, n)))
        x[:, 3] = -0.0
        if dtype.startswith("float"):
            x[:, 4] *= float(np.finfo(dtype).tiny)
            for special in (np.inf, -np.inf, np.nan, -np.nan):
                x[:, 7:] = np.where(rng.random((2, 4, n)) < 0.1, special, x[:, 7:])
        x = x.astype(dtype)
        t = flow.tensor(x)
        for a, b in ((x, t), (x[::-1, ::-2], t[::-1, ::-2]), (x[..., ::2], t[..., ::2])):
            with np.errstate(all="ignore"):
                expected = np.sum(a, axis=-1)
            assert expected.tobytes() == flow.sum(b, axis=-1).numpy().tobytes(), n


@pytest.mark.parametrize("dtype", [x for x in DTYPES if x not in ("bool", "float16")])
def test_columns_have_numpys_bits(dtype: str) -> None:
    """Around the number of rows that are added at once and the columns that are; NaN as in rows."""
    rng = np.random.default_rng(6)
    shapes = [(rows, n) for rows in (1, 2, 7, 8, 9, 17, 40) for n in (1, 3, 31, 257)]
    for shape in [*shapes, (9, 2049), (8, 4096), (11, 4099), (3, 20_001), (1001, 12), (300, 500)]:
        x = rng.normal(0, 1, shape) * 10.0 ** rng.integers(-3, 4, shape)
        x[:, ::5] = -0.0
        if dtype[0] in "fc":
            for special in (np.inf, -np.inf, np.nan, -np.nan):
                x[:, 1::7] = np.where(rng.random(x[:, 1::7].shape) < 0.05, special, x[:, 1::7])
        with np.errstate(invalid="ignore"):
            x = (x + 1j * x[::-1]).astype(dtype) if dtype[0] == "c" else x.astype(dtype)
        t = flow.tensor(x)
        views = ((x, t), (x[::-1], t[::-1]), (x[:, 1:], t[:, 1:]), (x[::2, ::-2], t[::2, ::-2]))
        for a, b in [*views, (np.stack([x, x[::-1]]), flow.stack([t, t[::-1]]))]:
            with np.errstate(all="ignore"):
                expected = np.sum(a, axis=-2, dtype=dtype)
            assert expected.tobytes() == flow.sum(b, axis=-2, dtype=dtype).numpy().tobytes(), shape


def test_columns_that_are_added_to_one_of_their_rows() -> None:
    x = np.random.default_rng(7).normal(size=(20, 300)).astype(np.float32)
    for row in (0, 5, 19):
        a, b = x.copy(), flow.tensor(x)
        np.sum(a, axis=0, out=a[row])
        flow.sum(b, axis=0, out=b[row])
        assert a.tobytes() == b.numpy().tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_of_the_best(dtype: str) -> None:
    """Ties, signed zeros and NaN, around the sizes of groups and blocks, in every direction."""
    rng = np.random.default_rng(5)
    kind = np.dtype(dtype).kind
    for n in (1, 2, 15, 16, 17, 63, 64, 65, 129, 600, 1023, 1025, 5000):
        for low, high, share in ((0, 1, 0.0), (-2, 3, 0.0), (-2, 3, 0.01), (-100, 100, 0.001)):
            x = rng.integers(0 if kind in "ub" else low, high, (3, n)).astype(dtype)
            if kind in "fc":
                x = np.where(rng.random(x.shape) < 0.4, -x, x)
                x[rng.random(x.shape) < share] = rng.choice([np.nan, -np.nan])
            if kind == "c":
                x.imag = rng.permuted(x.real)
            t = flow.tensor(x)
            pairs = ((x, t), (x[:, ::-1], t[:, ::-1]), (x[:, ::3], t[:, ::3]), (x.T, t.T))
            for a, b in pairs:
                for axis in (None, 0, 1):
                    for name in ARG:
                        same(getattr(np, name)(a, axis=axis), getattr(flow, name)(b, axis=axis))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "complex128"])
def test_the_first_of_many(dtype: str) -> None:
    """Of pieces, the first of the best wins."""
    x = np.zeros((1301, 1001), dtype)
    for places in ((), (912_000,), (911_000, 911_001), (300_000, 900_000), (1, 912_000)):
        x.flat[list(places)] = np.nan if np.dtype(dtype).kind in "fc" else 1
        t = flow.tensor(x)
        for a, b in ((x, t), (x.T, t.T), (x[::-1], t[::-1])):
            for axis in (None, 0, 1):
                for name in ARG:
                    same(getattr(np, name)(a, axis=axis), getattr(flow, name)(b, axis=axis))


# --- statistics


STATISTICS = ("var", "std", "ptp", "nansum", "nanprod", "nanmax", "nanmin", "nanmean")


def tame(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Numbers whose sums stay finite in every order."""
    x = values(shape, dtype, seed)
    return x if x.dtype.kind not in "fc" else np.asarray(np.where(np.abs(x) < 99, x, 1.5), dtype)


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_statistics(name: str, dtype: str, device: flow.Device) -> None:
    for shape in SHAPES:
        x = tame(shape, dtype, 5)
        if name == "nanprod" and has_own_kernels(device):
            x = of_products(x)
        t = flow.tensor(x, device=device)
        for axis in axes_of(shape, name):
            if name == "ptp" and dtype == "bool":
                with pytest.raises(TypeError, match=r"\[subtract\].*bool"):
                    flow.ptp(t, axis)
                continue
            for keywords in ({"axis": axis, "keepdims": True}, {"axis": axis}):
                expected = getattr(np, name)(x, **keywords)
                agrees(name, expected, getattr(flow, name)(t, **keywords), x, **keywords)


@pytest.mark.parametrize("name", [name for name in STATISTICS if name.startswith("nan")])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.filterwarnings("ignore:.*(All-NaN|Mean of empty):RuntimeWarning")
def test_nan_is_passed_over(name: str, dtype: str, device: flow.Device) -> None:
    x = tame((9, 120), dtype, 6)
    x[::2, ::3] = np.nan
    x[4] = np.nan
    if name == "nanprod" and has_own_kernels(device):
        x = of_products(x)
    t = flow.tensor(x, device=device)
    for axis in (None, 0, 1):
        expected, seen = getattr(np, name)(x, axis=axis), getattr(flow, name)(t, axis=axis)
        agrees(name, expected, seen, x, axis=axis)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64", "bool"])
@pytest.mark.filterwarnings("ignore:Degrees of freedom")
def test_corrections(name: str, dtype: str, device: flow.Device) -> None:
    x = tame((7, 30), dtype, 8)
    t = flow.tensor(x, device=device)
    for less in (0, 1, 1.5, 0.1, 7, 30, 31, -2.5, float("inf")):
        for axis in (0, 1, (0, 1)):
            expected = getattr(np, name)(x, axis=axis, ddof=less)
            keywords = {"axis": axis, "ddof": less}
            agrees(name, expected, getattr(flow, name)(t, **keywords), x, **keywords)
            agrees(
                name, expected, getattr(flow, name)(t, axis=axis, correction=less), x, **keywords
            )
    for wanted in ("float32", "float64", "complex128"):
        if dtype != "complex64" or wanted == "complex128":
            expected = getattr(np, name)(x, axis=0, dtype=wanted)
            seen = getattr(flow, name)(t, axis=0, dtype=wanted)
            agrees(name, expected, seen, x, axis=0, dtype=wanted)
    agrees(name, getattr(np, name)(x.T, axis=0), getattr(t.T, name)(axis=0), x.T, axis=0)
    with pytest.raises(ValueError, match=rf"\[{name}\] correction and ddof"):
        getattr(flow, name)(t, correction=1, ddof=1)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.filterwarnings("ignore:Degrees of freedom", "ignore:Mean of empty slice")
def test_variance_of_little(name: str, device: flow.Device) -> None:
    for shape in ((0,), (0, 3), (1,), ()):
        x = np.ones(shape)
        t = flow.tensor(x, device=device)
        same(getattr(np, name)(x), getattr(flow, name)(t))
        same(getattr(np, name)(x, ddof=1), getattr(flow, name)(t, ddof=1))


def test_average(device: flow.Device) -> None:
    def check(
        x: np.ndarray, t: flow.Tensor, numpys: tuple[Any, ...], ours: tuple[Any, ...]
    ) -> None:
        size = np.average(np.abs(x), *numpys)
        agrees_in_sums(size, np.average(x, *numpys), flow.average(t, *ours))

    for dtype in ("int32", "float32", "float64", "complex64", "bool"):
        x, rows = tame((5, 40), dtype, 3), np.arange(1, 201).reshape(5, 40)
        for weight in (rows, rows.astype("float32"), rows.astype("float64")):
            t, w = flow.tensor(x, device=device), flow.tensor(weight, device=device)
            for axis in (None, 0, 1, -1, (0, 1)):
                check(x, t, (axis,), (axis,))
                check(x, t, (axis, weight), (axis, w))
            check(x, t, (1, weight[0]), (1, w[0]))
            check(x, t, (0, weight[:, 0]), (-2, w[:, 0]))
            check(x, t, (0, weight[:, 0]), (0, weight[:, 0]))


def test_names_of_numpy() -> None:
    assert flow.amax is flow.max
    assert flow.amin is flow.min


def test_masks_starts_and_targets(device: flow.Device) -> None:
    """Of whole numbers: NumPy adds the runs of a masked sum apart, which rounds otherwise."""
    mask = np.asarray([True, False, True, True])
    for dtype in ("int8", "float32"):
        x = np.arange(-6, 6).reshape(3, 4).astype(dtype)
        t = flow.tensor(x, device=device)
        for name in ("sum", "prod", "max", "min", "any", "all"):
            ours, numpys = getattr(flow, name), getattr(np, name)
            start = {} if name in ("any", "all") else {"initial": 2}
            for where in (mask, x > 0, True):
                keywords = {"axis": 1, "where": where, **start}
                for given in (keywords, keywords | {"keepdims": True}):
                    seen, expected = ours(t, **given), np.asarray(numpys(x, **given))
                    assert (seen.dtype, seen.device) == (expected.dtype, device)
                    assert np.array_equal(seen.numpy(), expected)
            out = flow.zeros(4, dtype=numpys(x).dtype, device=device)
            assert ours(t, axis=0, out=out) is out
            assert np.array_equal(out.numpy(), numpys(x, axis=0))
    for name in ("max", "min"):
        with pytest.raises(ValueError, match=rf"\[{name}\].*initial"):
            getattr(flow, name)(t, where=t > 0)
        assert getattr(flow, name)(t[:0], initial=3).item() == 3
    with pytest.raises(ValueError, match=r"\[sum\] expected out"):
        flow.sum(t, axis=0, out=flow.zeros(3, device=device))
    with pytest.raises(ValueError, match=r"\[where\].*different devices.*mock:1"):
        flow.sum(t, where=flow.ones(4, dtype=bool, device="mock:1"))
