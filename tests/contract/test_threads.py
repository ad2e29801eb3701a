"""Large work on the cpu is shared by helper threads; how many never shows in the result."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

pytestmark = pytest.mark.slow

THREADS = (1, 2, 3, 7)
SHAPES = ((1_000_003,), (1000, 1003), (7, 300, 517), (3, 400_000), (400_000, 3))
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "reversed": lambda x: x[..., ::-1],
    "every other": lambda x: x[::2],
}
# Every one takes the namespace and an array, of NumPy's or a tensor.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda np_, x: x + x,
    "add a row": lambda np_, x: x + x[:1],
    "sin": lambda np_, x: np_.sin(x),
    "compare what was cast": lambda np_, x: x.astype(np.float32) > x,
    "cast": lambda np_, x: x.astype(np.complex128),
    "where": lambda np_, x: np_.where(x > 0, x, -x),
    "sum": lambda np_, x: x.sum(),
    "sum of what is cast": lambda np_, x: x.astype(np.float32).sum(dtype=np.float64),
    "mean of integers": lambda np_, x: (x * 100).astype(np.int16).mean(),
    "sum along the first": lambda np_, x: x.sum(axis=0),
    "sum along the last": lambda np_, x: x.sum(axis=-1),
    "max along the first": lambda np_, x: x.max(axis=0),
    "max along the last": lambda np_, x: x.max(axis=-1),
}


def numbers(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return (np.random.default_rng(0).normal(size=shape) * 50).astype(dtype)


def same_bits(got: np.ndarray, wanted: np.ndarray) -> bool:
    alike = got.dtype == wanted.dtype and got.shape == wanted.shape
    return alike and np.ascontiguousarray(got).tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32], ids=lambda d: d.__name__)
@pytest.mark.parametrize("program", PROGRAMS)
def test_bits_are_numpys_at_any_number_of_threads(program: str, dtype: Any) -> None:
    run = PROGRAMS[program]
    for shape in SHAPES:
        array = numbers(shape, dtype)
        tensor = flow.tensor(array)
        for view in VIEWS.values():
            with np.errstate(all="ignore"):
                wanted = np.asarray(run(np, view(array)))
            for threads in THREADS:
                with flow.flags(num_threads=threads):
                    assert same_bits(run(flow, view(tensor)).numpy(), wanted), (shape, threads)


BATCHES: dict[str, Callable[[Any, Any], Any]] = {
    "inverse": lambda np_, x: np_.linalg.inv(x),
    "determinant": lambda np_, x: np_.linalg.det(x),
    "solve": lambda np_, x: np_.linalg.solve(x, x[::-1]),
    "qr": lambda np_, x: np_.linalg.qr(x)[1],
    "singular values": lambda np_, x: np_.linalg.svd(x)[1],
    "eigenvectors": lambda np_, x: np_.linalg.eigh(x)[1],
    "transform": lambda np_, x: np_.fft.fft(x),
    "transform along the first": lambda np_, x: np_.fft.fft(x, axis=0),
    "transform of reals": lambda np_, x: np_.fft.rfft(x.real),
    "transform to reals": lambda np_, x: np_.fft.irfft(x),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128], ids=lambda d: d.__name__)
@pytest.mark.parametrize("program", BATCHES)
def test_bits_of_batches_are_numpys_at_any_number_of_threads(program: str, dtype: Any) -> None:
    run = BATCHES[program]
    for shape in ((4001, 6, 6), (3, 1501, 5, 5)):
        array = numbers(shape, dtype)
        tensor = flow.tensor(array)
        for view in (lambda x: x, lambda x: x.mT, lambda x: x[::-2]):
            wanted = np.asarray(run(np, view(array)))
            for threads in THREADS:
                with flow.flags(num_threads=threads):
                    assert same_bits(run(flow, view(tensor)).numpy(), wanted), (shape, threads)


def positions(shape: tuple[int, ...], below: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, below, shape)


ARRANGED: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda np_, x: np_.sort(x),
    "sort along the first": lambda np_, x: np_.sort(x, axis=0),
    "order": lambda np_, x: np_.argsort(x, axis=0, stable=True),
    "running sums": lambda np_, x: np_.cumsum(x, axis=-1),
    "running sums along the first": lambda np_, x: np_.cumsum(x, axis=0),
    "rows by number": lambda np_, x: x[np_.asarray(positions((3, 200_000 // x.shape[1]), len(x)))],
    "few long rows": lambda np_, x: x[np_.asarray(positions((3,), len(x)))],
    "elements by numbers": lambda np_, x: x[
        np_.asarray(positions((900, 800), len(x))), np_.asarray(positions((800,), x.shape[1]))
    ],
    "take along": lambda np_, x: np_.take_along_axis(x, np_.argsort(x, axis=1, stable=True), 1),
    "take along a long axis": lambda np_, x: np_.take_along_axis(
        x.reshape(-1), np_.asarray(positions((700_001,), x.size)), 0
    ),
    "places among the sorted": lambda np_, x: np_.searchsorted(np_.sort(x[0]), x.reshape(-1)),
    "which are there": lambda np_, x: np_.isin(x, x[1]),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16], ids=lambda d: d.__name__)
@pytest.mark.parametrize("program", ARRANGED)
def test_arranging_is_the_same_at_any_number_of_threads(program: str, dtype: Any) -> None:
    run = ARRANGED[program]
    for shape in ((700, 1009), (5, 100_003), (90_001, 7)):
        array = numbers(shape, dtype)
        tensor = flow.tensor(array)
        for view in ("whole", "reversed"):
            wanted = run(np, VIEWS[view](array))
            for threads in THREADS:
                with flow.flags(num_threads=threads):
                    got = run(flow, VIEWS[view](tensor)).numpy()
                assert same_bits(got, wanted), (shape, view, threads)


def test_the_first_index_out_of_range_is_named() -> None:
    x, places = flow.arange(1000), positions((700_000,), 1000)
    places[[650_000, 300_000, 20_000]] = 5000, 4000, 3000
    for threads in THREADS:
        with flow.flags(num_threads=threads):
            with pytest.raises(IndexError, match="3000"):
                x[flow.asarray(places)].numpy()
            with pytest.raises(IndexError, match="3000"):
                flow.take_along_axis(x, flow.asarray(places), axis=0).numpy()
    with pytest.raises(IndexError):
        flow.synchronize()


def test_a_singular_matrix_in_any_thread_is_an_error() -> None:
    array = numbers((4001, 6, 6), np.float64)
    array[3777] = 1
    for threads in THREADS:
        with flow.flags(num_threads=threads):
            with pytest.raises(np.linalg.LinAlgError, match="singular"):
                flow.linalg.inv(flow.tensor(array)).numpy()
            assert same_bits(
                flow.linalg.inv(flow.tensor(array[:3000])).numpy(), np.linalg.inv(array[:3000])
            )
    with pytest.raises(np.linalg.LinAlgError):
        flow.synchronize()


def test_work_that_reads_what_it_writes_is_not_divided() -> None:
    """A loop that runs ahead of its own writes is one loop."""
    array = np.arange(1_000_000.0)
    tensor = flow.tensor(array)
    with flow.flags(num_threads=7):
        np.add(array[1:], array[:-1], out=array[:-1])
        flow.add(tensor[1:], tensor[:-1], out=tensor[:-1])
        assert same_bits(tensor.numpy(), array)


def test_an_error_in_a_piece_is_the_operations() -> None:
    base = flow.full((500_000,), 2, dtype=flow.int64)
    exponent = flow.zeros((500_000,), dtype=flow.int64)
    exponent[-1] = -1
    with flow.flags(num_threads=3):
        failed = base**exponent
        with pytest.raises(ValueError, match="negative integer powers"):
            failed.numpy()
        assert (base + 1).sum().item() == 1_500_000
    with pytest.raises(ValueError, match="negative integer powers"):
        flow.synchronize()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork.*:RuntimeWarning")
def test_a_forked_child_has_helpers_of_its_own() -> None:
    with flow.flags(num_threads=3):
        x = flow.ones(1_000_000)
        assert (x + 1).sum().item() == 2_000_000
        child = os.fork()
        if child == 0:
            os._exit(0 if (x + 2).sum().item() == 3_000_000 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert (x + 3).sum().item() == 4_000_000


def test_the_default_is_what_the_process_may_use(run_program: Callable[..., Any]) -> None:
    code = "import oneflow_lite as flow; print(flow.flags.num_threads)"
    assert run_program(code, num_threads="").stdout == "0\n"
    assert run_program(code, num_threads="5").stdout == "5\n"


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted there")
def test_a_helper_shares_array_kernels_of_the_calling_thread(
    run_program: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Each of them is too short to wake one; the bits are those of one thread."""
    code = """
import time
from pathlib import Path
import numpy as np, oneflow_lite as flow

def helpers():
    return sum(p.read_text() == "cpu helper\\n" for p in Path("/proc/self/task").glob("*/comm"))

rng = np.random.default_rng(0)
images, kernels = (flow.tensor(rng.random(shape, np.float32))
                   for shape in ((32, 16, 8, 8), (32, 16, 3, 3)))
with flow.flags(num_threads=1):
    wanted = flow.conv2d(images, kernels, 2, 1).numpy().tobytes()
assert helpers() == 0
end, more = time.monotonic() + 60, 4
while more > 0 and time.monotonic() < end:
    for _ in range(50):
        results = flow.conv2d(images, kernels, 2, 1)
        flow.synchronize()
        assert results.numpy().tobytes() == wanted
    more -= helpers() > 0
assert more == 0
"""
    done = run_program(code, inline="50us", num_threads="2")
    assert done.returncode == 0, done.stderr
