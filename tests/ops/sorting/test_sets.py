"""Set functions: the standard's and NumPy's, element for element."""

import threading

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError, trace
from tests.support.oracle import DTYPES, same, values

SHAPES = ((), (0,), (1,), (2, 0), (40,), (7, 9), (3000,))


def unsigned(array: np.ndarray) -> np.ndarray:
    """Without negative zeros: which of the zeros NumPy keeps is not said."""
    return array + np.zeros((), array.dtype) if array.dtype.kind in "fc" else array


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_is_numpys(dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = unsigned(values(shape, dtype, seed))
        t = flow.tensor(x, device=device)
        for equal_nan in (True, False):
            parts = {"return_index": True, "return_inverse": True, "return_counts": True}
            expected = np.unique(x, **parts, equal_nan=equal_nan)
            seen = flow.unique(t, **parts, equal_nan=equal_nan)
            assert isinstance(seen, tuple)
            for one, other in zip(expected, seen, strict=True):
                same(one, other)
            same(expected[0], flow.unique(t, equal_nan=equal_nan))
            values_only, counts = flow.unique(t, return_counts=True, equal_nan=equal_nan)
            same(expected[0], values_only)
            same(expected[3], counts)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_standards_functions(dtype: str, device: flow.Device) -> None:
    for seed, shape in enumerate(SHAPES):
        x = unsigned(values(shape, dtype, seed + 20))
        t = flow.tensor(x, device=device)
        expected = np.unique_all(x)
        result = flow.unique_all(t)
        assert result._fields == ("values", "indices", "inverse_indices", "counts")
        for one, other in zip(expected, result, strict=True):
            same(one, other)
        assert result.inverse_indices.shape == x.shape
        counted, inverted = flow.unique_counts(t), flow.unique_inverse(t)
        assert counted._fields == ("values", "counts")
        assert inverted._fields == ("values", "inverse_indices")
        same(expected.values, counted.values)
        same(expected.counts, counted.counts)
        same(expected.values, inverted.values)
        same(expected.inverse_indices, inverted.inverse_indices)
        same(expected.values, flow.unique_values(t))


def test_nans_are_distinct_and_zeros_equal(device: flow.Device) -> None:
    x = np.array([-0.0, np.nan, 0.0, np.nan, 1.0, -0.0])
    t = flow.tensor(x, device=device)
    found = flow.unique_all(t)
    same(np.array([-0.0, 1.0, np.nan, np.nan]), found.values)  # the zero that comes first
    same(np.array([3, 1, 1, 1]), found.counts)
    same(np.array([0, 4, 1, 3]), found.indices)
    same(np.array([0, 2, 0, 3, 1, 0]), found.inverse_indices)
    same(np.array([-0.0, 1.0, np.nan]), flow.unique(t))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_runs_of_every_length(dtype: str, device: flow.Device) -> None:
    lengths = [*range(1, 40), 1, 1, 1, 64, 2, 15, 16, 17]
    x = np.repeat(np.arange(len(lengths)), lengths).astype(dtype)
    for start in range(0, 40, 3):
        t = flow.tensor(x[start:][::-1], device=device)
        values_only, counts = flow.unique(t, return_counts=True)
        for one, other in zip(np.unique_counts(x[start:]), (values_only, counts), strict=True):
            same(one, other)
    if dtype[0] == "f":
        x[5:60] = np.nan
        for equal_nan in (True, False):
            seen = flow.unique(flow.tensor(x, device=device), equal_nan=equal_nan)
            same(np.unique(x, equal_nan=equal_nan), seen)


def test_unique_of_views(device: flow.Device) -> None:
    x = values((50, 40), "int8", 1)
    t = flow.tensor(x, device=device)
    for array, view in ((x[::-2, ::3], t[::-2, ::3]), (x.T, t.T)):
        for one, other in zip(np.unique_all(array), flow.unique_all(view), strict=True):
            same(one, other)
    wide = flow.broadcast_to(t[:1], (9, 40))
    same(np.unique(np.broadcast_to(x[:1], (9, 40))), flow.unique_values(wide))


@pytest.mark.parametrize("dtype", DTYPES)
def test_unique_slices(dtype: str, device: flow.Device) -> None:
    parts = {"return_index": True, "return_inverse": True, "return_counts": True}
    for seed, shape in enumerate(
        ((0,), (5,), (40, 1), (300, 2), (9, 30), (2, 0), (0, 3), (4, 3, 2))
    ):
        x = unsigned(values(shape, dtype, seed)) if seed % 2 else _of_few(shape, dtype, seed)
        t = flow.tensor(x, device=device)
        for axis in range(-len(shape), len(shape)):
            expected = np.unique(x, axis=axis, **parts)
            same(expected, flow.unique(t, axis=axis, **parts), f"{shape} {axis}")
            same(expected, np.unique(t, axis=axis, **parts))
            same(expected[0], flow.unique(t, axis=axis))
            same(expected[::3], flow.unique(t, return_counts=True, axis=axis))
            same(expected[:2], flow.unique(t, True, axis=axis))
    x = _of_few((60, 4), dtype, 1)
    t = flow.tensor(x, device=device)
    same(np.unique(x[::-2, ::3].T, axis=1, **parts), flow.unique(t[::-2, ::3].T, axis=1, **parts))
    same(np.unique(x, axis=0, return_inverse=True), flow.unique(t, return_inverse=True, axis=0))
    assert flow.unique(t, axis=0).device == device


def _of_few(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Numbers of which slices are often equal."""
    x = np.asarray(np.random.default_rng(seed).integers(0, 2, shape)).astype(dtype)
    return (x * 1j).astype(dtype) + x[::-1] if dtype[0] == "c" else x


def test_unique_slices_with_nan_and_zeros(device: flow.Device) -> None:
    x = np.array([[np.nan, 1], [0.0, 2], [np.nan, 1], [-0.0, 2], [3, np.nan], [3, 1]])
    t = flow.tensor(x, device=device)
    for equal_nan in (True, False):
        expected = np.unique(x, True, True, True, axis=0, equal_nan=equal_nan)
        same(expected, flow.unique(t, True, True, True, axis=0, equal_nan=equal_nan))


def test_unique_of_a_wrong_axis(device: flow.Device) -> None:
    for shape, axis in (((2, 2), 2), ((2, 2), -3), ((3,), 1), ((), 0)):
        with pytest.raises(np.exceptions.AxisError, match=r"\[unique\]"):
            flow.unique(flow.ones(shape, device=device), axis=axis)


def test_unique_slices_are_refused_in_a_program() -> None:
    with pytest.raises(TraceError, match="needs the values of"):
        trace(lambda x: flow.unique(x, axis=0), flow.ones((2, 2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_isin(dtype: str, device: flow.Device) -> None:
    x, y = values((20, 30), dtype, 3), values((70,), dtype, 4)
    t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
    for array, view in ((x, t), (x[::2, ::-1].T, t[::2, ::-1].T), (x[:0], t[:0])):
        for tests, view2 in ((y, u), (y[:0], u[:0]), (y[::-3], u[::-3])):
            for invert in (False, True):
                expected = np.isin(array, tests, invert=invert)
                same(expected, flow.isin(view, view2, invert=invert))


def test_isin_of_scalars_and_mixed_dtypes(device: flow.Device) -> None:
    t = flow.tensor([1, 2, 3], device=device)
    same(np.array([False, True, False]), flow.isin(t, 2))
    same(np.array([False, True, False]), flow.isin(t, [2.0, 2.5]))
    same(np.array(True), flow.isin(2, t))
    same(np.array([True, False, False]), flow.isin(t, flow.tensor([True], device=device)))
    big, small = np.array([2**63, 2**63 - 1, 0, 5], "uint64"), np.array([-(2**63), -1, 5])
    a, b = flow.tensor(big, device=device), flow.tensor(small, device=device)
    same(np.array([False, False, False, True]), flow.isin(a, b))
    same(np.array([False, False, True]), flow.isin(b, a))
    same(np.array([True, True, False]), flow.isin(b, a, invert=True))
    assert flow.isin(t, 2).device == device


@pytest.mark.parametrize("dtype", DTYPES)
def test_sets_of_two(dtype: str, device: flow.Device) -> None:
    for seed, sizes in enumerate([(80, 50), (0, 4), (4, 0), (0, 0), (1, 1)]):
        x, y = (unsigned(values((n,), dtype, 5 * seed + n)) for n in sizes)
        t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
        for name in ("intersect1d", "union1d", "setdiff1d"):
            same(getattr(np, name)(x, y), getattr(flow, name)(t, u))


def test_sets_of_two_shapes_and_dtypes(device: flow.Device) -> None:
    x, y = np.array([[3, 1], [2, 3]]), np.array([2.0, 3.0, 7.5])
    t = flow.tensor(x, device=device)
    for name in ("intersect1d", "union1d", "setdiff1d"):
        same(getattr(np, name)(x, y), getattr(flow, name)(t, y))
    distinct, others = np.array([5, 1, 4, 2]), np.array([2, 5, 9])
    for name in ("intersect1d", "setdiff1d"):
        expected = getattr(np, name)(distinct, others, assume_unique=True)
        given = flow.tensor(distinct, device=device)
        same(expected, getattr(flow, name)(given, others, assume_unique=True))


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint64", "int8"), ("float32", "int64")])
@pytest.mark.parametrize("is_unique", [False, True])
def test_where_common_elements_are(
    dtypes: tuple[str, str], is_unique: bool, device: flow.Device
) -> None:
    rng = np.random.default_rng(5)
    for shape in ((), (0,), (7,), (3, 4), (40,)):
        x, y = (
            rng.integers(0, 12, n).astype(d) for n, d in zip((shape, (9,)), dtypes, strict=True)
        )
        if is_unique:
            x, y = rng.permutation(np.unique(x)), np.unique(y)
        t, u = flow.tensor(x, device=device), flow.tensor(y, device=device)
        wanted = np.intersect1d(x, y[::2], is_unique, True)
        for seen in (
            flow.intersect1d(t, u[::2], is_unique, True),
            np.intersect1d(t, u[::2], assume_unique=is_unique, return_indices=True),
        ):
            for one, other in zip(wanted, seen, strict=True):
                same(one, other)
    twice = np.array([3, 1, 3, np.nan, np.nan])
    for one, other in zip(
        np.intersect1d(twice, [3.0, 3, 1], True, True),
        flow.intersect1d(flow.tensor(twice, device=device), [3.0, 3, 1], True, True),
        strict=True,
    ):
        same(one, other)
    assert isinstance(flow.intersect1d(t, u, return_indices=False), flow.Tensor)
    with pytest.raises(RuntimeError, match="needs the values"):
        flow.jit(lambda x: flow.intersect1d(x, x, return_indices=True))(t)


def test_looks_may_be_refused() -> None:
    x = flow.tensor(values((1000,), "float64", 1))
    gate = threading.Event()
    written = flow.vm.host_func(lambda array: gate.wait(60), writes=[x])
    try:
        with flow.flags(implicit_sync="error"):
            flow.isin(x, x)
            with pytest.raises(RuntimeError, match=r"\[unique_values\] waits"):
                flow.unique_values(x)
    finally:
        gate.set()
        written.wait()


def test_two_devices_are_refused() -> None:
    with pytest.raises(ValueError, match="cpu.*mock:0|mock:0.*cpu"):
        flow.isin(flow.ones(2), flow.ones(2, device="mock:0"))


def test_large_in_both_modes(device: flow.Device, naive: bool) -> None:
    x = values((100_001,), "int32", 2)
    for one, other in zip(
        np.unique_all(x), flow.unique_all(flow.tensor(x, device=device)), strict=True
    ):
        same(one, other)


def sets_of(t: flow.Tensor, u: flow.Tensor) -> list[flow.Tensor]:
    """All that set functions tell of two tensors."""
    of_two = (flow.intersect1d, flow.union1d, flow.setdiff1d, flow.setxor1d)
    told = [function(t, u) for function in of_two]
    told += [flow.unique_values(t), *flow.unique_counts(t), *flow.unique_inverse(t)]
    told += [*flow.unique_all(t), flow.unique(t), *flow.unique(t, True, True, True)]
    return told


@pytest.mark.parametrize("dtype", [*DTYPES, "bfloat16"])
def test_small_sets_have_the_bits_of_instructions(dtype: str) -> None:
    """Signed zeros and NaN among them. While somebody observes, instructions make them."""
    wide = "float32" if dtype == "bfloat16" else dtype
    for seed, (n, m) in enumerate(
        [(1, 1), (2, 1), (16, 3), (300, 400), (0, 5), (5, 0), (900, 900)]
    ):
        t, u = (flow.astype(flow.tensor(values((k,), wide, seed + k)), dtype) for k in (n, m))
        for x, y in ((t, u), (t[::-1], u[::2]), (flow.broadcast_to(t, (2, n)), u)):
            flow.synchronize()
            here = sets_of(x, y)
            with flow.profiler.profile():
                issued = sets_of(x, y)
            for one, other in zip(here, issued, strict=True):
                assert one.dtype == other.dtype
                assert one.shape == other.shape
                assert one.numpy().tobytes() == other.numpy().tobytes()


def test_distinct_bytes_of_many_elements() -> None:
    for dtype in ("bool", "int8", "uint8"):
        x = values((100_000,), dtype, 3)
        for one, other in zip(np.unique_all(x), flow.unique_all(flow.tensor(x)), strict=True):
            same(one, other)


def test_bools_of_other_bytes_are_true() -> None:
    x = flow.tensor(np.array([2, 0, 255, 1], "uint8").view("bool"))
    assert flow.unique_values(x).numpy().tobytes() == b"\x00\x01"
    assert flow.unique_all(x).counts.tolist() == [1, 3]
    assert flow.union1d(x, x).tolist() == [False, True]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int16", "bool"])
def test_sets_of_two_with_nans(dtype: str) -> None:
    """In one of them, in both, alone; with all of one before the other."""
    random = np.random.default_rng(4)
    parts = [(random.random(n) * most).astype(dtype) for n in (0, 1, 40, 500) for most in (3, 100)]
    parts += [part + np.asarray(200).astype(dtype) for part in parts[-3:]]
    if np.dtype(dtype).kind in "fc":
        parts += [np.append(part, [np.nan, np.nan]).astype(dtype) for part in parts]
    for a in parts:
        for b in parts:
            for name in ("intersect1d", "setdiff1d", "setxor1d", "union1d"):
                seen = getattr(flow, name)(flow.asarray(a), flow.asarray(b)).numpy()
                same(getattr(np, name)(a, b), seen)
