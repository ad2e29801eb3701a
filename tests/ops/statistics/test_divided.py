"""Large work that threads divide by places: few results of long rows, and counts. NumPy's bits,
whatever the number of threads."""

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.oracle import same

THREADS = (1, 2, 7)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64", "complex64", "complex128"])
def test_few_results_of_long_rows(dtype: str) -> None:
    random = np.random.default_rng(3)
    for shape, axis in (
        ((3, 90_001), -1),
        ((2, 5, 40_003), -1),
        ((33, 9_001), 1),
        ((2, 70_001, 3), 1),
    ):
        x = (random.normal(size=shape) * 3).astype(dtype)
        x[0].flat[7] = 0
        if x.dtype.kind in "fc":
            x[-1].flat[5] = np.nan
        for threads in THREADS:
            with flow.flags(num_threads=threads):
                t = flow.tensor(x)
                for name in ("min", "max", "any", "all", "argmax"):
                    same(getattr(np, name)(x, axis=axis), getattr(flow, name)(t, axis=axis))
                if axis == -1:
                    with np.errstate(all="ignore"):
                        same(np.sum(x, axis=axis), flow.sum(t, axis=axis))
                        same(np.prod(x, axis=axis), flow.prod(t, axis=axis))
                        same(np.min(x, axis=axis, initial=2), flow.min(t, axis=axis, initial=2))


@pytest.mark.parametrize("dtype", ["bool", "float32", "uint8"])
def test_places_of_many(dtype: str) -> None:
    random = np.random.default_rng(4)
    base = random.integers(0, 2, 600_000).astype(dtype)
    rare = np.zeros_like(base)
    rare[[0, 299_999, 599_999]] = 1
    for x in (base, rare, np.zeros_like(base), np.ones_like(base)):
        views = (x, x[::-1], x[1::2], x.reshape(600, 1000), x.reshape(1000, 600).T)
        for view in (*views, x.reshape(300, 2, 1000)[:, :, 3:], x.reshape(3, 200_000)):
            for threads in THREADS:
                with flow.flags(num_threads=threads):
                    seen = flow.nonzero(flow.tensor(view))
                    for expected, found in zip(np.nonzero(view), seen, strict=True):
                        same(expected, found)


def test_places_beside_a_view_of_the_same_memory() -> None:
    x = np.random.default_rng(5).integers(0, 2, (700, 800)).astype(bool)
    t = flow.tensor(x)
    for rows in (slice(3, 690), slice(None, None, -1), slice(1, None, 3)):
        for expected, found in zip(np.nonzero(x[rows, 5:]), flow.nonzero(t[rows, 5:]), strict=True):
            same(expected, found)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_counts_of_many(dtype: str) -> None:
    for bins in (1, 3, 255, 1024, 1025, 5000):
        x = np.random.default_rng(bins).integers(0, bins, 200_003) % (
            256 if dtype == "uint8" else bins
        )
        x = x.astype(dtype)
        for threads in THREADS:
            with flow.flags(num_threads=threads):
                t = flow.tensor(x)
                same(np.bincount(x), flow.bincount(t))
                same(np.bincount(x[::-1], minlength=7), flow.bincount(t[::-1], minlength=7))
                same(np.bincount(x[2::3]), flow.bincount(t[2::3]))


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("wrong", [3, 2**62, -1])
def test_numbers_without_a_bin(size: int, is_weighted: bool, wrong: int) -> None:
    """As another thread may leave them, once the largest one is known."""
    x = np.zeros(size, np.int64)
    x[size // 2] = wrong
    inputs = [flow.tensor(x), flow.ones(size, dtype="float64")][: 1 + is_weighted]
    outputs = [((3,), flow.float64 if is_weighted else flow.int64)]
    counts = _C.call_kernel("bincount", "bincount", inputs, outputs, elements=size)[0]
    with pytest.raises(RuntimeError, match="numbers below 3, got others: another thread wrote"):
        counts.numpy()
