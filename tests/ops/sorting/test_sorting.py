"""sort and argsort: NumPy's order and bits, stable in both directions, on every device."""

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.oracle import DTYPES, laid_out, same, values

SHAPES = (
    (0,),
    (1,),
    (2,),
    (17,),
    (300,),
    (5000,),
    (13, 70),
    (3, 40, 5),
    (9, 32),
    (9, 33),
    (0, 3),
    (3, 0),
)
FLOATS = ("float16", "float32", "float64")


def bits(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}"))


def positions(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The stable order of NumPy; descending: that of the reversed array, backwards."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    last = x.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_axis(dtype: str, descending: bool, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = values(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for axis in range(-len(shape), len(shape)):
            order = positions(x, axis, descending)
            same(order, flow.argsort(t, axis=axis, descending=descending))
            seen = flow.sort(t, axis=axis, descending=descending)
            same(np.take_along_axis(x, order, axis), seen)


@pytest.mark.parametrize("dtype", DTYPES)
def test_views(dtype: str, device: flow.Device) -> None:
    x = values((40, 31), dtype, 5)
    t = flow.tensor(x, device=device)
    pairs = [
        (x[::-1, ::3], t[::-1, ::3]),
        (x.T, t.T),
        (x[:, 1:2], t[:, 1:2]),
        (np.broadcast_to(x[:, :1], (40, 6)), flow.broadcast_to(t[:, :1], (40, 6))),
    ]
    for array, view in pairs:
        for axis in (0, 1):
            same(np.sort(array, axis=axis, kind="stable"), flow.sort(view, axis=axis))
            same(np.argsort(array, axis=axis, kind="stable"), flow.argsort(view, axis=axis))
        same(np.sort(array, axis=None, kind="stable"), flow.sort(view, axis=None))
        same(np.argsort(array, axis=None, kind="stable"), flow.argsort(view, axis=None))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("descending", [False, True])
def test_signed_zeros_and_payloads_keep_their_order(
    dtype: str, descending: bool, device: flow.Device
) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-2, 3, 3000).astype(dtype)
    x[rng.random(3000) < 0.3] *= -1  # zeros of both signs
    holes = rng.random(3000) < 0.1
    quiet = bits(np.array([np.nan], dtype))[0]
    bits(x)[holes] = quiet + rng.integers(1, 99, holes.sum()).astype(bits(x).dtype)
    order = positions(x, 0, descending)
    seen = flow.sort(flow.tensor(x, device=device), descending=descending)
    assert (bits(seen.numpy()) == bits(x[order])).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("descending", [False, True])
def test_short_lanes_with_equal_elements(dtype: str, descending: bool, device: flow.Device) -> None:
    rng = np.random.default_rng(5)
    for n in range(1, 18):
        x = rng.integers(0, 4, (60, n)).astype(dtype)
        if dtype in FLOATS:
            x[rng.random(x.shape) < 0.3] *= -1  # zeros of both signs
            holes = rng.random(x.shape) < 0.3
            quiet = bits(np.array([np.nan], dtype))[0]
            payloads = rng.integers(1, 99, holes.sum()).astype(bits(x).dtype)
            bits(x)[holes] = quiet + payloads
        for array in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
            order = positions(array, 1, descending)
            t = flow.tensor(array, device=device)
            same(order, flow.argsort(t, axis=1, descending=descending))
            seen = flow.sort(t, axis=1, descending=descending).numpy()
            assert seen.tobytes() == np.take_along_axis(array, order, 1).tobytes()


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64", "complex128", "complex64"])
def test_keys_that_differ_in_their_lowest_bits(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(4)
    near = rng.integers(0, 5, 4000)
    far = np.where(rng.random(4000) < 0.5, np.uint64(1) << np.uint64(62), np.uint64(0))
    x = near.astype("uint64") + far
    if dtype == "float64":
        x = (1.0 + near * 2.0**-52) * np.where(far > 0, 1e300, -1e-300)
    elif dtype.startswith("complex"):
        x = near + 1j * rng.integers(0, 5, 4000)
        x[::7] = complex(np.nan, 1)
        x[::11] = complex(3, np.nan)
    x = x.astype(dtype)
    for descending in (False, True):
        order = positions(x, 0, descending)
        same(order, flow.argsort(flow.tensor(x, device=device), descending=descending))
        same(x[order], flow.sort(flow.tensor(x, device=device), descending=descending))


@pytest.mark.parametrize("dtype", DTYPES)
def test_without_numpys_sort(dtype: str) -> None:
    """The kernels have a way of their own where NumPy hands out no sort function."""
    x = values((700,), dtype, 1)
    t = flow.tensor(x)
    (seen,) = _C.call_kernel("sort", "sort", [t], [(x.shape, x.dtype)], (0, False, True))
    same(np.sort(x, kind="stable"), seen)
    (seen,) = _C.call_kernel("argsort", "argsort", [t], [(x.shape, flow.int64)], (0, False))
    same(np.argsort(x, kind="stable"), seen)


def test_large_in_both_modes(device: flow.Device, naive: bool) -> None:
    for dtype in ("int32", "float64", "complex64", "uint8"):
        x = values((200_003,), dtype, 6)
        t = flow.tensor(laid_out(x, "strided"), device=device)
        same(np.sort(x, kind="stable"), flow.sort(t))
        same(np.argsort(x, kind="stable"), flow.argsort(t))


def test_many_dimensions(device: flow.Device) -> None:
    x = values((2, 3) * 5, "int32", 1)
    turned = tuple(range(9, -1, -1))
    t = flow.permute_dims(flow.tensor(x, device=device), turned)
    same(np.sort(x.transpose(turned), 3), flow.sort(t, axis=3))


def test_methods(device: flow.Device) -> None:
    x = values((6, 50), "float32", 8)
    t = flow.tensor(x, device=device)
    view = t[:, ::-2]
    same(np.argsort(x, axis=0, kind="stable"), t.argsort(axis=0))
    before = t * 1
    assert view.sort() is None
    x[:, ::-2].sort(kind="stable")
    same(x, t)
    t.sort(0, kind="stable")
    x.sort(0, kind="stable")
    same(x, t)
    assert not before.shares_storage(t)


def test_unstable_is_accepted(device: flow.Device) -> None:
    x = values((500,), "int16", 2)
    t = flow.tensor(x, device=device)
    for keywords in ({"stable": False}, {"stable": None}, {"kind": "quicksort"}):
        same(np.sort(x), flow.sort(t, **keywords))
        same(np.argsort(x, kind="stable"), flow.argsort(t, **keywords))


def test_bad_arguments() -> None:
    x = flow.ones((2, 3))
    with pytest.raises(IndexError, match="0 dimensions"):
        flow.sort(flow.tensor(1.0))
    for function in (flow.sort, flow.argsort):
        for axis in (2, -3):
            with pytest.raises(IndexError, match=r"\[\w+\] axis -?\d is out of bounds"):
                function(x, axis=axis)
            with pytest.raises(ValueError, match="out of bounds"):
                function(x, axis=axis)
        with pytest.raises(TypeError):
            function(x, axis=1.5)
        with pytest.raises(ValueError, match="expected kind"):
            function(x, kind="bubble")
        assert function(flow.ones(()), axis=None).shape == (1,)


@pytest.mark.parametrize("seed", [2, 12, 14, 21])
def test_float16_with_many_infinities(seed: int, device: flow.Device) -> None:
    """NumPy's vectorized sort of float16, which its own `unique` takes, leaves these unsorted."""
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(20000) * 20000).astype("float16")
    x[rng.random(20000) < 0.3] = -np.inf
    places = rng.permutation(20000)
    for bits_of, first in ((0x8000, 0), (0x0000, 50), (0x7E01, 100), (0xFE02, 130)):
        x.view("uint16")[places[first : first + 30]] = bits_of
    ordered = np.sort(x, kind="stable")
    t = flow.tensor(x, device=device)
    assert np.array_equal(bits(ordered), bits(flow.sort(t).numpy()))
    rows, columns = x[:19200].reshape(8, 2400), x[:19200].reshape(2400, 8)
    for lanes, axis in ((rows, 1), (columns, 0)):
        seen = flow.sort(flow.tensor(lanes, device=device), axis=axis).numpy()
        assert np.array_equal(bits(np.sort(lanes, axis, kind="stable")), bits(seen))
    is_new = np.append(True, (ordered[1:] != ordered[:-1]) & ~np.isnan(ordered[:-1]))
    same(ordered[is_new], flow.unique(t))
    parted = flow.partition(t, 12000).numpy()
    assert parted[12000] == ordered[12000]
    assert np.nanmax(parted[:12000]) <= ordered[12000]
    same(np.searchsorted(ordered, x), flow.searchsorted(flow.sort(t), t))
    numbers = ordered[~np.isnan(ordered)]
    median = (numbers[len(numbers) // 2] + numbers[(len(numbers) - 1) // 2]) / 2
    assert flow.median(t[~flow.isnan(t)]).item() == np.float16(median)
