"""argmax and argmin along rows of a few elements, which are searched side by side."""

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

pytestmark = pytest.mark.usefixtures("no_warnings")


def with_ties(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Few different numbers, zeros of both signs and NaN among them."""
    pool = values((9,), dtype, 5)
    if pool.dtype.kind in "fc":
        pool[:4] = [0.0, -0.0, np.nan, -np.inf]
    if pool.dtype.kind == "c":
        pool[4:6] = [complex(1, np.nan), complex(np.nan, 1)]
    # NaN in some rows only, as it decides all alone.
    random = np.random.default_rng(6)
    chosen = pool[random.integers(0, 9, shape)]
    is_free = random.random((*shape[:-1], 1)) < 0.7
    return np.where(np.isnan(chosen) & is_free, pool[0], chosen)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_rows_of_each_length(name: str, dtype: str, device: flow.Device) -> None:
    for length in (*range(1, 19), 31, 32, 33):
        for rows in (1, 7, 8, 9, 600):
            x = with_ties((rows, length), dtype)
            t = flow.tensor(x, device=device)
            same(getattr(np, name)(x, axis=1), getattr(flow, name)(t, axis=1), f"{length}")


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex64"])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_rows_that_lie_otherwise(name: str, dtype: str, device: flow.Device) -> None:
    for length in (3, 5, 12):
        x = with_ties((3, 40, length), dtype)
        t = flow.tensor(x, device=device)
        of_numpy, own = getattr(np, name), getattr(flow, name)
        for view in (np.s_[:, :, ::-1], np.s_[::-1, ::-1], np.s_[:, ::3, ::2], np.s_[1]):
            same(of_numpy(x[view], axis=-1), own(t[view], axis=-1))
        same(of_numpy(x, axis=1, keepdims=True), own(t, axis=1, keepdims=True))
        wide = np.broadcast_to(x[:, :1], x.shape)
        same(of_numpy(wide, axis=-1), own(flow.broadcast_to(t[:, :1], x.shape), axis=-1))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_many_short_rows_on_any_number_of_threads(threads: int) -> None:
    x = with_ties((90_001, 3), "float32")
    with flow.flags(num_threads=threads):
        for name in ("argmax", "argmin"):
            same(getattr(np, name)(x, axis=1), getattr(flow, name)(flow.tensor(x), axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["all", "any", "max", "min"])
def test_truths_of_rows_of_each_length(name: str, dtype: str, device: flow.Device) -> None:
    random = np.random.default_rng(7)
    for length in (*range(1, 19), 31, 63, 64, 65, 200):
        # As many true elements as make both answers common.
        share = 0.5 ** (1 / length)
        of_all = random.random((70, length)) < (share if name in ("all", "min") else 1 - share)
        x = of_all if name in ("max", "min") else of_all.astype(dtype)
        t = flow.tensor(x, device=device)
        of_numpy, own = getattr(np, name), getattr(flow, name)
        for k in range(length):  # one element decides, wherever it is
            x[k % 70] = name in ("all", "min")
            x[k % 70, k] = not x[k % 70, k]
        t[...] = x
        same(of_numpy(x, axis=1), own(t, axis=1), f"{length}")
        same(of_numpy(x[:, ::-1], axis=-1), own(t[:, ::-1], axis=-1), f"{length} reversed")
        for view in (np.s_[::2], np.s_[:, :-1]):
            if x[view].size:
                same(of_numpy(x[view], axis=1), own(t[view], axis=1), f"{length} {view}")


def test_truths_of_odd_bytes(device: flow.Device) -> None:
    bits = np.array(
        [[0, 2, 128, 255, 1, 3, 7, 9, 64], [4, 8, 16, 32, 64, 128, 255, 1, 2]], np.uint8
    )
    for x in (bits.view(np.bool_), bits[:, 1:].copy().view(np.bool_), bits[:, :1].view(np.bool_)):
        t = flow.tensor(x, device=device)
        same(np.all(x, axis=1), flow.all(t, axis=1))
        same(np.any(x, axis=1), flow.any(t, axis=1))
