"""Products of tensors on a device, by the library and by kernels of our own: every form of kernel,
tile and loader, edges, layouts, cut sums; the same bits each time; nothing through the host."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
import sim
from oneflow_lite import _C

DTYPES = ("bool", "int8", "uint16", "int32", "uint64", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64", "complex64", "complex128")
HALVES = {"float16": 2e-3, "bfloat16": 1.6e-2}  # with the bound of one rounding
CUDA = "cuda:0"


@pytest.fixture(params=[True, False], ids=["library", "own"])
def library(request: pytest.FixtureRequest) -> Iterator[bool]:
    with flow.flags(cuda_blas=request.param):
        assert (_C.cublas_version() > 0) == request.param
        yield request.param


@pytest.fixture
def own() -> Iterator[None]:
    with flow.flags(cuda_blas=False):
        yield


def numbers(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Small whole numbers: their products and sums are exact."""
    made = np.random.default_rng(seed).integers(-2, 3, shape)
    if dtype[0] == "c":
        made = made + 1j * np.random.default_rng(seed + 100).integers(-2, 3, shape)
    return made.astype(dtype)


def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Exact, in the dtype of x; NumPy sums float16 in float16, and has no bfloat16."""
    wide = "float64" if str(x.dtype) in HALVES else x.dtype
    return np.matmul(x.astype(wide), y.astype(wide)).astype(x.dtype)


def check(x: np.ndarray, y: np.ndarray, *, of_x: Any = None, of_y: Any = None) -> None:
    """x @ y; ``of_x`` and ``of_y`` take views."""
    take_x, take_y = of_x or (lambda z: z), of_y or (lambda z: z)
    t, u = flow.tensor(x, device=CUDA), flow.tensor(y, device=CUDA)
    seen = take_x(t) @ take_y(u)
    assert str(seen.device) == CUDA
    np.testing.assert_array_equal(seen.numpy(), product(take_x(x), take_y(y)))


def calls_of_library() -> int:
    """What ran on the device without a launch of ours."""
    flow.synchronize()
    seen = sim.counters()
    return seen["run"]["kernels"] - seen["calls"].get("cuLaunchKernel", 0)


EDGES = [
    *((1, 1, 1), (33, 31, 35), (32, 32, 32), (65, 17, 3), (130, 5, 260), (2, 300, 2), (3, 1, 200)),
    *((1, 9, 40), (40, 9, 1), (1, 5000, 1), (300, 2000, 1), (1, 2100, 70), (0, 3, 4), (4, 0, 3)),
]


@pytest.mark.parametrize("shape", EDGES, ids=str)
@pytest.mark.usefixtures("own")
def test_edges(shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    for dtype in (*DTYPES, *FLOATS):
        check(numbers((m, k), dtype), numbers((k, n), dtype, 1))


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float64", "complex128", "int64", "bool"]
)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_tiles_of_each_size(dtype: str, turned: tuple[bool, bool], library: bool) -> None:
    for m, k, n in ((520, 40, 530), (300, 33, 290), (70, 70, 50)):
        x = numbers((k, m) if turned[0] else (m, k), dtype)
        y = numbers((n, k) if turned[1] else (k, n), dtype, 1)
        before = calls_of_library()
        check(
            x,
            y,
            of_x=(lambda z: z.T) if turned[0] else None,
            of_y=(lambda z: z.T) if turned[1] else None,
        )
        is_served = library and dtype in FLOATS
        assert (calls_of_library() > before) == is_served


VIEWS: dict[str, Any] = {
    "plain": lambda z: z,
    "misaligned": lambda z: z[..., 1:, 1:],
    "every second": lambda z: z[..., ::2, ::2],
    "backward": lambda z: z[..., ::-1, ::-1],
    "one row": lambda z: flow_or_numpy(z).broadcast_to(z[..., :1, :], z.shape),
    "one column": lambda z: flow_or_numpy(z).broadcast_to(z[..., :1], z.shape),
}


def flow_or_numpy(x: Any) -> Any:
    return np if isinstance(x, np.ndarray) else flow


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "int8"])
def test_views(name: str, dtype: str, library: bool) -> None:
    view = VIEWS[name]
    x, y = numbers((66, 66), dtype), numbers((66, 66), dtype, 1)
    check(x, y, of_x=view, of_y=view)
    check(x, y, of_x=lambda z: view(z).T, of_y=view)
    check(x, y, of_x=view, of_y=lambda z: view(z)[:, :1])
    check(x, y, of_x=lambda z: view(z)[:1], of_y=view)


BATCHES = [
    *(((7, 5, 6), (6, 4)), ((5, 6), (7, 6, 4)), ((7, 5, 6), (7, 6, 4)), ((3, 1, 5, 6), (2, 6, 4))),
    *(((30, 1, 2, 3), (1, 20, 3, 2)), ((2, 1, 3, 1, 4, 5), (3, 1, 2, 5, 4))),
]


@pytest.mark.parametrize(("a", "b"), BATCHES, ids=str)
def test_batches(a: tuple[int, ...], b: tuple[int, ...], library: bool) -> None:
    for dtype in ("float16", "float32", "complex128", "uint16"):
        x, y = numbers(a, dtype), numbers(b, dtype, 1)
        check(x, y)
        check(x, y, of_x=lambda z: z[::-1], of_y=lambda z: z[..., ::-1])
        check(x[..., :1, :], y)
        check(x, y[..., :1])


@pytest.mark.usefixtures("own")
def test_cut_sums_are_the_same_each_time() -> None:
    rng = np.random.default_rng(0)
    for dtype in FLOATS:
        for m, k, n in ((3, 9000, 5), (1, 30000, 1), (2, 5000, 1), (40, 4000, 1)):
            x, y = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
            t, u = flow.tensor(x, device=CUDA), flow.tensor(y, device=CUDA)
            first = (t @ u).numpy()
            wide = "complex128" if dtype[0] == "c" else "float64"
            tolerance = HALVES.get(dtype, 1e-4)
            exact = x.astype(wide) @ y.astype(wide)
            np.testing.assert_allclose(first, exact, rtol=tolerance, atol=tolerance * k**0.5)
            for _ in range(2):
                assert (t @ u).numpy().tobytes() == first.tobytes()


def test_a_nan_spoils_its_row_and_zeros_keep_theirs(library: bool) -> None:
    for dtype in FLOATS:
        x = numbers((70, 40), dtype)
        x[5, 39], x[6, 0] = np.nan, np.inf
        y = np.ones((40, 33), dtype)
        seen = (flow.tensor(x, device=CUDA) @ flow.tensor(y, device=CUDA)).numpy()
        assert np.isnan(seen[5]).all()
        assert not np.isfinite(seen[6]).any()
        assert np.isfinite(np.delete(seen, (5, 6), axis=0)).all()


def test_nothing_goes_through_the_host(library: bool) -> None:
    for dtype in ("float32", "int32", "complex64"):
        x, y = (flow.tensor(numbers((6, 5, 7), dtype, seed), device=CUDA) for seed in (1, 2))
        for result in (
            flow.matmul(x, flow.matrix_transpose(y)),
            flow.dot(x[0], y[0].T),
            flow.inner(x, y),
            flow.outer(x[0, 0], y[0, 0]),
            flow.linalg.outer(x[0, 0], y[0, 0]),
            flow.vecdot(x, y),
            flow.linalg.vecdot(x, y),
            flow.vdot(x, y),
            flow.matvec(x, y[:, 0]),
            flow.vecmat(x[..., 0], y),
            flow.tensordot(x, y, axes=((0, 2), (0, 2))),
            flow.linalg.multi_dot([x[0], y[0].T, x[0]]),
            flow.linalg.matrix_power(flow.matmul(x[0], y[0].T), 3),
            flow.einsum("aij,akj->aik", x, y),
            flow.einsum("aij,bkj,blk->ail", x, y, y[..., :5]),
        ):
            assert np.isfinite(result.numpy()).all()
    assert "matmul" not in flow.cuda.host_operations()
    assert flow.cuda.host_operations() == []


def test_several_threads_and_both_modes(library: bool) -> None:
    x, y = numbers((90, 80), "float32"), numbers((80, 70), "float32", 1)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(4):
                check(x, y)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with flow.flags(sync=True):
        check(x, y)
    assert failures == []


def test_tf32_is_asked_for() -> None:
    with flow.flags(cuda_tf32=True):
        check(numbers((20, 30), "float32"), numbers((30, 20), "float32", 1))


def test_a_library_that_cannot_be_loaded_is_said() -> None:
    """In a process of its own: what was found once stays."""
    code = """
import oneflow_lite as flow
from oneflow_lite import _C
_C.set_cublas_finder(lambda: "/nowhere/libcublas.so.13")
x = flow.ones((3, 3), device="cuda:0")
try:
    (x @ x).numpy()
except RuntimeError as error:
    assert "cannot be loaded" in str(error) and "ONEFLOW_LITE_CUDA_BLAS=0" in str(error), error
else:
    raise AssertionError("there is no such library")
with flow.flags(cuda_blas=False):
    assert (x @ x).sum().item() == 27
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
