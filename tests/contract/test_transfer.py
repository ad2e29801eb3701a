"""Copies between devices: right at once, whatever is written to their source afterwards."""

import itertools

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import DTYPES, same, values

DEVICES = ("cpu", "mock:0", "mock:1")
PAIRS = list(itertools.product(DEVICES, DEVICES))
SLOW = "h2d=200MB/s,d2h=200MB/s,d2d=200MB/s,jitter=100us,launch=50us"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_pair(source: str, target: str, naive: bool) -> None:
    for dtype in DTYPES:
        for shape in [(), (0,), (3, 0, 2), (5,), (60, 70)]:
            x = values(shape, dtype, 1)
            t = flow.tensor(x, device=source)
            moved = t.to(target)
            assert (moved.device, moved.shape, moved.dtype) == (target, t.shape, t.dtype)
            assert (moved is t) == (source == target)
            same(x, moved)
            same(x, t.to(target, copy=True).to(source))


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_views(source: str, target: str) -> None:
    x = values((20, 30), "float32", 2)
    t = flow.tensor(x, device=source)
    for view in (
        lambda a: a.T,
        lambda a: a[::-1, ::3],
        lambda a: a[3:9],
        lambda a: a[:, 4],
        lambda a: a[2, 5, ...],
    ):
        same(view(x), view(t).to(target, copy=True))
    same(np.broadcast_to(x[0], (4, 30)), flow.broadcast_to(t[0], (4, 30)).to(target, copy=True))


@pytest.mark.parametrize("device", DEVICES[1:])
@pytest.mark.parametrize("size", [1, 1000, 300_000])
def test_the_numpy_source_is_written_to_at_once(device: str, size: int) -> None:
    with flow.flags(mock=SLOW):
        source = np.zeros(size)
        tensors = []
        for i in range(12):
            source[...] = i
            tensors.append(flow.tensor(source, device=device))
        source[...] = -1
        results = [t + 0 for t in tensors]
        for i, result in enumerate(results):
            same(np.full(size, float(i)), result)


@pytest.mark.parametrize(("source", "target"), [p for p in PAIRS if p[0] != p[1]])
@pytest.mark.parametrize("size", [10, 200_000])
def test_the_source_tensor_is_written_to_at_once(source: str, target: str, size: int) -> None:
    with flow.flags(mock=SLOW):
        t = flow.zeros(size, dtype="int32", device=source)
        copies = []
        for _ in range(10):
            copies.append(t.to(target))
            t += 1
        for i, copy in enumerate(copies):
            same(np.full(size, i, "int32"), copy)
        same(np.full(size, 10, "int32"), t)


@pytest.mark.parametrize("device", DEVICES[1:])
def test_the_target_is_written_to_and_read_at_once(device: str) -> None:
    with flow.flags(mock=SLOW):
        for i in range(20):
            x = flow.full(50_000, i, device=device)
            y = x.cpu()
            y += 1
            z = y.to(device)
            z *= 2
            x -= 1
            same(np.full(50_000, 2 * (i + 1)), z)
            same(np.full(50_000, i + 1), y)


def test_round_trips_with_dropped_handles() -> None:
    with flow.flags(mock=SLOW):
        x = np.arange(30_000.0)
        t = flow.tensor(x)
        for i in range(30):
            t = (t.to(DEVICES[i % 3]) + 1).T
        same(x + 30, t)


@pytest.mark.parametrize("device", DEVICES[1:])
def test_temporaries_are_not_reused_under_a_copy(device: str) -> None:
    """The contiguous copy that a transposed view needs has no handle while d2h reads it."""
    with flow.flags(mock="jitter=50us,launch=20us,h2d=1GB/s,d2h=500MB/s"):
        counts = []
        for _ in range(150):
            x = flow.full((3, 7000), 7, device=device)
            y = x.T.cpu()
            counts.append((y == 7).sum())
            del y
            for _ in range(3):
                flow.sin(x.T + 1.0)
        assert all(count.item() == 21000 for count in counts)


@pytest.mark.parametrize("size", [1, 1000, 300_000])
def test_what_comes_to_the_host_goes_back_at_once(device: str, size: int) -> None:
    sources = [flow.full(size, float(i), device=device) for i in range(20)]
    back = [x.to("cpu", copy=True).to(device, copy=True) for x in sources]
    for i, x in enumerate(back):
        same(np.full(size, float(i)), x)


def test_host_functions_between_copies() -> None:
    def double(source: np.ndarray, target: np.ndarray) -> None:
        np.multiply(source, 2, out=target)

    with flow.flags(mock=SLOW):
        results = []
        for i in range(15):
            x = flow.full(40_000, i, device="mock:0")
            host = x.cpu()
            doubled = flow.empty(40_000, dtype="int64")
            flow.vm.host_func(double, reads=[host], writes=[doubled])
            host[...] = -1
            results.append(doubled.mock(1) + 1)
        for i, result in enumerate(results):
            same(np.full(40_000, 2 * i + 1), result)


def test_names() -> None:
    t = flow.arange(3)
    assert t.cpu() is t
    assert t.mock().device == t.mock(0).device == t.to("mock").device == "mock:0"
    assert (
        t.mock(1).device
        == t.to(flow.Device("mock:1")).device
        == t.to_device("mock:1").device
        == "mock:1"
    )
    assert t.to("float32").dtype == "float32"
    assert t.to(flow.float32).device == "cpu"
    with pytest.raises(ValueError, match="stream"):
        t.to_device("cpu", stream=3)
    with pytest.raises(Exception, match=r"(?i)cuda"):
        t.cuda()
