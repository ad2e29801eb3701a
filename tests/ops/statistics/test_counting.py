"""bincount, digitize, histogram: NumPy's numbers, on every device."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same
from tests.support.rounding import has_own_kernels


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "uint64", "int64"])
def test_bincount(dtype: str, device: flow.Device) -> None:
    rng = np.random.default_rng(1)
    for n, minlength in ((0, 0), (0, 3), (1, 0), (500, 0), (500, 300)):
        x = rng.integers(0, 2 if dtype == "bool" else 90, n).astype(dtype)
        t = flow.tensor(x, device=device)
        same(np.bincount(x, minlength=minlength), flow.bincount(t, minlength=minlength))
        same(np.bincount(x[::-2]), flow.bincount(t[::-2]))
        for kind in ("float32", "int16", "float64"):
            weights = rng.normal(0, 9, n).astype(kind)
            seen = flow.bincount(t, flow.tensor(weights, device=device), minlength)
            same(np.bincount(x, weights, minlength), seen)  # of no elements, in int64


def test_wrong_counts(device: flow.Device) -> None:
    t = flow.tensor([1, 2, 2], device=device)
    for call, error, text in (
        (lambda: flow.bincount(t - 2), ValueError, "at least 0, got a negative"),
        (lambda: flow.bincount(t, minlength=-1), ValueError, "minlength"),
        (lambda: flow.bincount(t, [1.0]), ValueError, r"weights of shape \(3,\), got \(1,\)"),
        (lambda: flow.bincount(t, t + 1j), TypeError, "real weights"),
        (lambda: flow.bincount(t * 1.5), TypeError, "integers, got float64"),
        (lambda: flow.bincount(flow.ones((2, 2), device=device)), ValueError, "one dimension"),
    ):
        with pytest.raises(error, match=r"\[bincount\] expected .*" + text):
            call()


@pytest.mark.parametrize("largest", [2**63 - 1, 2**63 - 2, 2**60])
@pytest.mark.parametrize("size", [1, 100_000])
def test_counts_that_no_memory_holds(largest: int, size: int) -> None:
    x = flow.full(size, largest, dtype=flow.int64)
    for minlength in (0, 5):
        with pytest.raises(ValueError, match="can be counted|too big"):
            flow.bincount(x, minlength=minlength)


@pytest.mark.parametrize("right", [False, True])
def test_digitize(right: bool, device: flow.Device) -> None:
    x = np.array([[0.2, 6.4, 3.0, np.nan], [1.6, 2.5, -1.0, np.inf]])
    edges = np.array([0.0, 1.0, 2.5, 4.0, 10.0])
    t = flow.tensor(x, device=device)
    for bins in (edges, edges[::-1], edges[:1], edges[:0], np.array([1, 1, 2]), np.array([3, 3])):
        same(np.digitize(x, bins, right), flow.digitize(t, flow.tensor(bins, device=device), right))
        same(np.digitize(3, bins, right), flow.digitize(flow.tensor(3, device=device), bins, right))
    with pytest.raises(ValueError, match=r"\[digitize\] expected bins that only"):
        flow.digitize(t, [1, 3, 2])
    with pytest.raises(TypeError, match="real"):
        flow.digitize(t + 1j, [1, 2])
    with pytest.raises(ValueError, match="one dimension"):
        flow.digitize(t, [[1, 2]])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "int64", "float32", "float64"])
def test_digitize_by_bins_of_the_same_dtype(dtype: str, device: flow.Device, naive: bool) -> None:
    rng = np.random.default_rng(3)
    for shape in ((), (1,), (50,), (4, 5), (0,)):
        x = np.asarray(rng.integers(0, 20, shape)).astype(dtype)
        edges = np.unique(rng.integers(0, 20, 9)).astype(dtype)
        for bins in (edges, np.repeat(edges, 2), edges[::-1], edges[::2], edges[:1]):
            for right in (False, True):
                given = (flow.tensor(one, device=device) for one in (x.T, bins))
                same(np.digitize(x.T, bins, right), flow.digitize(*given, right))
    if dtype[0] == "f":
        bins = flow.tensor(np.array([1, np.nan, 3], dtype), device=device)
        with pytest.raises(ValueError, match="only ascend"):
            flow.digitize(bins, flow.tensor(np.array([1, 2, 0], dtype), device=device))
        same(np.digitize(bins.numpy(), [1, 2]), flow.digitize(bins, [1, 2]))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "float64"]
)
def test_histogram(dtype: str, device: flow.Device) -> None:
    x = (np.random.default_rng(2).normal(0, 5, (40, 20))).astype(dtype)
    t = flow.tensor(x, device=device)
    for bins in (10, 1, 37, [0, 1, 2], [-3.5, 0.0, 0.0, 7.0], np.array([2.0, 2.0])):
        for limits in (None, (-4, 4.5), (1, 1)):
            for density in (False, True):
                with np.errstate(all="ignore"):
                    array = x.astype("uint8") if dtype == "bool" else x
                    expected = np.histogram(array, bins, limits, density=density)
                seen = flow.histogram(t, bins, limits, density)
                same(expected[0], seen[0])
                same(expected[1], seen[1])


def test_histogram_of_special_values(device: flow.Device) -> None:
    x = np.array([0.0, -0.0, np.inf, 1.0, np.nan, 2.0, 3.0])
    t = flow.tensor(x, device=device)
    same(np.histogram(x, 4, (0, 2))[0], flow.histogram(t, 4, (0, 2))[0])
    same(np.histogram(x, [0, 1, np.inf])[0], flow.histogram(t, [0, 1, np.inf])[0])
    for one, other in zip(np.histogram(x[:0]), flow.histogram(t[:0]), strict=True):
        same(one, other)


WEIGHTS = ["float64", "float32", "float16", "int8", "uint64", "int64", "complex64", "complex128"]


def alike(expected: np.ndarray, seen: flow.Tensor, narrowest: str) -> None:
    """The bits; where a device adds by kernels of its own, numbers as near as another order comes.

    Edges of narrow floats may then be off by a rounding, too.
    """
    if not has_own_kernels(seen.device) or expected.dtype.kind not in "fc":
        return same(expected, seen)
    assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape)
    array, largest = seen.numpy(), np.abs(expected[np.isfinite(expected)]).max(initial=0)
    tolerance = {"float16": 5e-2, "float32": 1e-4, "complex64": 1e-4}.get(narrowest, 1e-9)
    np.testing.assert_allclose(array, expected, tolerance, tolerance * largest)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("weight", [*WEIGHTS, "bool"])
@pytest.mark.filterwarnings("ignore")
def test_weighted_histogram(dtype: str, weight: str, device: flow.Device) -> None:
    rng = np.random.default_rng(7)
    narrow = (each for each in ("float16", "float32", "complex64") if each in (dtype, weight))
    narrowest = next(narrow, "float64")
    for shape in ((), (0,), (30,), (4, 5)):
        x = rng.permutation(np.arange(np.prod(shape, dtype=int)) * 1.5 - 9).reshape(shape)
        x, w = x.astype(dtype), np.asarray(rng.normal(size=shape) * 5).astype(weight)
        t, v = flow.tensor(x, device=device), flow.tensor(w, device=device)
        for bins in (5, 1, [-8, 0, 0, 4.5, 30], np.float32([-3, 7])):
            for how in ((None, False), ((-7, 20.5), False), (None, True)):
                if weight == "bool" and not isinstance(bins, int) and x.size:
                    for function, given in ((np.histogram, x), (flow.histogram, t)):
                        with pytest.raises(TypeError):
                            function(given, bins, *how, w)
                    continue
                wanted = np.histogram(x.T, bins, *how, w.T)
                for seen in (
                    flow.histogram(t.T, bins, *how, v.T),
                    flow.histogram(t.T, bins, *how, w.T),
                ):
                    for one, other in zip(wanted, seen, strict=True):
                        alike(one, other, narrowest)


def test_weighted_histogram_of_truths(device: flow.Device) -> None:
    x, w = np.array([True, False, True]), np.array([1, 2, 4])
    for bins in (2, [0, 1, 2]):
        wanted = np.histogram(x.astype("uint8"), bins, weights=w)
        for one, other in zip(
            wanted, flow.histogram(flow.tensor(x, device=device), bins, weights=w), strict=True
        ):
            same(one, other)


@pytest.mark.parametrize("weight", WEIGHTS[:3])
def test_weights_are_summed_in_blocks(weight: str, device: flow.Device) -> None:
    rng = np.random.default_rng(8)
    x = rng.permutation(np.linspace(-3, 3, 70_001))  # no two are equal
    w = rng.normal(size=x.size).astype(weight)
    t, v = flow.tensor(x, device=device), flow.tensor(w, device=device)
    for bins, limits in ((9, (-2, 2.5)), (4, None), ([-2.5, -1, 0, 0.1, 2], None)):
        wanted = np.histogram(x, bins, limits, weights=w)
        for one, other in zip(wanted, np.histogram(t, bins, limits, weights=v), strict=True):
            alike(one, other, weight)


def test_weighted_histograms_in_programs() -> None:
    x, w = flow.tensor([1.0, 2.0, 3.0, 4.5]), flow.tensor([1, 2, 3, 4])
    for call in (
        lambda x, w: flow.histogram(x, [0.0, 2, 4], weights=w),
        lambda x, w: flow.histogram(x, 3, (0, 5), weights=w, density=True),
    ):
        recorded = flow.jit(call)
        for shift in (0, 1):
            for one, other in zip(call(x + shift, w * 2), recorded(x + shift, w * 2), strict=True):
                same(one.numpy(), other)
    with pytest.raises(RuntimeError, match=r"\[histogram\] needs the values"):
        flow.jit(lambda x, w: flow.histogram(x, 3, weights=w))(x, w)


def test_wrong_histograms(device: flow.Device) -> None:
    t = flow.tensor([1.0, np.nan], device=device)
    for call, error, text in (
        (lambda: flow.histogram(t), ValueError, "range of .* is not finite"),
        (lambda: flow.histogram(t, "auto"), ValueError, "not finite"),
        (lambda: flow.histogram(t, 0, (0, 1)), ValueError, "bins"),
        (lambda: flow.histogram(t, 2, (1, 0)), ValueError, "max must be larger than min"),
        (lambda: flow.histogram(t, 1.5, (0, 1)), TypeError, "bins"),
        (lambda: flow.histogram(t, [3, 1]), ValueError, "bins that ascend"),
        (lambda: flow.histogram(t, [[3, 1]]), ValueError, "one dimension"),
        (lambda: flow.histogram(t + 1j), TypeError, "real numbers"),
        (lambda: flow.histogram(t, 2, (0, 1), weights=[1]), ValueError, "weights of shape"),
        (lambda: flow.histogram(t, 2, (0, 1), weights=3), ValueError, "weights of shape"),
    ):
        with pytest.raises(error, match=r"\[histogram\] .*" + text):
            call()


EDGES = {
    "even": [-8.0, -4.0, 0.0, 4.0, 8.0],
    "uneven": [-9.0, -8.5, 0.0, 0.0, 1.0, 90.0],
    "wide": [-np.inf, -1.0, 2.0, np.inf],
    "with NaN": [-1.0, 2.0, np.nan],
    "NaN first": [np.nan, 1.0, 2.0],
    "one bin": [-2.0, 2.0],
}


@pytest.mark.parametrize("edges", EDGES)
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64"]
)
def test_histogram_of_many(dtype: str, edges: str, device: flow.Device, naive: bool) -> None:
    columns = 20_001 if device.type == "cuda" else 70_001  # simulated kernels are slow
    x = np.random.default_rng(2).normal(0, 5, (3, columns))
    x = np.abs(x).astype(dtype) if dtype[0] == "u" else x.astype(dtype)
    if dtype[0] == "f":
        x[0, ::97], x[1, ::89] = np.nan, np.inf
        x[2, ::83] = 0.0 if dtype == "float16" else -0.0  # NumPy's sort of float16 missorts -0
    t = flow.tensor(x, device=device)
    for array, seen in ((x, t), (x.T[::3], t.T[::3])):
        given = array.astype("uint8") if dtype == "bool" else array
        same(np.histogram(given, EDGES[edges])[0], flow.histogram(seen, EDGES[edges])[0])
        same(np.histogram(given, 7, (-6, 3.3))[0], flow.histogram(seen, 7, (-6, 3.3))[0])
        many = 300 if dtype == "float16" else 5000
        same(np.histogram(given, many, (-6, 3.3))[0], flow.histogram(seen, many, (-6, 3.3))[0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_histogram_at_the_edges(dtype: str, device: flow.Device) -> None:
    """The edges and their neighbours, and long stretches of which some or all are outside."""
    for bins, limits in ((10, (0, 1)), (7, (-6.0, 3.3)), (1000, (0.1, 0.3))):
        edges = np.histogram_bin_edges(np.zeros(1, dtype), bins, limits).astype(dtype)
        near = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
        beyond = np.full(700, limits[1] + 1, dtype)
        x = np.concatenate([near, beyond, -beyond - 9, near[:1], beyond, near.astype("int8"), near])
        t = flow.tensor(x.astype(dtype), device=device)
        same(np.histogram(x.astype(dtype), bins, limits)[0], flow.histogram(t, bins, limits)[0])


def test_edges_on_the_host_are_not_waited_for() -> None:
    x = flow.tensor([0.0, 1.5, 3.0]).mock()
    for bins in ([0, 2, 4], np.array([0, 2, 4])):
        with flow.flags(implicit_sync="error"):
            counts, edges = flow.histogram(x, bins)
        assert counts.device == edges.device == x.device
        same(np.array([2, 1]), counts)


def test_histogram_of_bins_with_edges_of_bool_or_a_number_in_an_array(device: flow.Device) -> None:
    x = np.array([0, 1, 1])
    t = flow.tensor(x, device=device)
    for bins in (np.array([False, True]), np.array(2)):
        for density in (False, True):
            expected = np.histogram(x, bins, density=density)
            seen = flow.histogram(t, flow.tensor(bins, device=device), density=density)
            for one, other in zip(expected, seen, strict=True):
                same(one, other)


def test_histogram_of_wide_integers(device: flow.Device) -> None:
    """The numbers of their edges are no floats."""
    for dtype, first in (("int64", -(2**62)), ("uint64", 2**63)):
        edges = np.arange(9).astype(dtype) * 3 + np.array(first, dtype)
        x = np.random.default_rng(0).integers(0, 30, 2000).astype(dtype) + edges[0] - 1
        t = flow.tensor(x, device=device)
        same(np.histogram(x, edges)[0], flow.histogram(t, flow.tensor(edges, device=device))[0])
        bounds = edges.astype("float64")
        same(np.histogram(x, bounds)[0], flow.histogram(t, flow.tensor(bounds, device=device))[0])


def test_edges_about_as_near_as_neighbouring_floats(device: flow.Device) -> None:
    """Times in nanoseconds, for one: their places between the edges are off by several bins."""
    start = 1_700_000_000_000_000_000
    for edges, x in (
        (start + np.arange(257) * 100, start + np.arange(25600)),
        (np.uint64(2**63) + np.arange(65, dtype="uint64") * np.uint64(700), None),
        (1e16 + np.arange(41) * 0.25, np.array([1e16 + 2])),
        (-1e16 + np.arange(41) * 0.25, None),
    ):
        given = np.linspace(edges[0], edges[-1], 3000).astype(edges.dtype) if x is None else x
        same(
            np.histogram(given, edges)[0],
            flow.histogram(flow.tensor(given, device=device), flow.tensor(edges, device=device))[0],
        )


def test_places_of_masks(device: flow.Device) -> None:
    """Masks of all lengths around eight, with none, some and all true, and by steps."""
    rng = np.random.default_rng(3)
    for n in (*range(26), 1000, 5003):
        for share in (0.0, 0.02, 0.5, 1.0):
            mask = rng.random(n) < share
            t = flow.tensor(mask, device=device)
            for one, other in ((mask, t), (mask[::-1], t[::-1]), (mask[::3], t[::3])):
                same(np.nonzero(one)[0], flow.nonzero(other)[0])
                same(np.flatnonzero(one), flow.flatnonzero(other))
                for dtype in ("uint8", "complex128"):
                    x = np.arange(len(one)).astype(dtype)
                    same(x[one], flow.tensor(x, device=device)[other])
    wide = rng.random((300, 70)) < 0.3
    for one, other in zip(np.nonzero(wide), flow.nonzero(flow.tensor(wide)), strict=True):
        same(one, other)


RULES = ("auto", "fd", "doane", "scott", "stone", "rice", "sturges", "sqrt")


@pytest.mark.filterwarnings("ignore:The number of bins estimated may be suboptimal")
@pytest.mark.parametrize("rule", RULES)
def test_bins_of_a_rule(device: flow.Device, rule: str) -> None:
    numbers = np.random.default_rng(0).normal(size=200)
    for a in (numbers, (numbers * 9).astype("int8"), numbers[:1], numbers[:0], numbers > 0):
        x = flow.tensor(a, device=device)
        for limits in (None, (-1.0, 2.0)):
            counts, edges = np.histogram(a.astype("uint8") if a.dtype == bool else a, rule, limits)
            for ours, theirs in zip(flow.histogram(x, rule, limits), (counts, edges), strict=True):
                assert (ours.device, ours.dtype) == (device, theirs.dtype)
                assert ours.numpy().tobytes() == theirs.tobytes()
            assert flow.histogram_bin_edges(x, rule, limits).tolist() == edges.tolist()


def test_wrong_rules(device: flow.Device) -> None:
    x = flow.ones(3, device=device)
    for call in (flow.histogram, flow.histogram_bin_edges):
        with pytest.raises(ValueError, match=r"^\[histogram\w*\] 'best' is not a valid estimator"):
            call(x, "best")
        with pytest.raises(TypeError, match="a number of bins beside weights, got 'auto'"):
            call(x, "auto", weights=x)
