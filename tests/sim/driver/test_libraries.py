"""The simulated cuBLAS and NCCL, by their C interface."""

import ctypes
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sim
from tests.support.gpu import Code, Gate, Gpu, code, driver, ok

build = import_module("sim.build")
FOLDER = sim.load()
blas = ctypes.CDLL(str(FOLDER / "libcublas.so.13"))
nccl = ctypes.CDLL(str(FOLDER / "libnccl.so.2"))
blas.cublasGetStatusName.restype = ctypes.c_char_p

R_32F, R_64F, R_16F, R_8I, C_32F, C_64F, R_32I, R_16BF = 0, 1, 2, 3, 4, 5, 10, 14
TYPES = {  # numpy's type -> (of the elements, of the sum, its scale)
    np.float32: (R_32F, 68, np.float32),
    np.float64: (R_64F, 70, np.float64),
    np.float16: (R_16F, 68, np.float32),
    np.complex64: (C_32F, 68, np.complex64),
    np.complex128: (C_64F, 70, np.complex128),
}


GLOBAL = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL
RELAXED = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED


def size(value: int) -> Any:
    return ctypes.c_longlong(value)


def pointer(value: int) -> Any:
    return ctypes.c_void_p(value)


@pytest.fixture
def handle(gpu: Gpu) -> Any:
    created = ctypes.c_void_p()
    assert blas.cublasCreate_v2(ctypes.byref(created)) == 0
    yield created
    assert blas.cublasDestroy_v2(created) == 0


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("ta", "tb"), [(0, 0), (1, 0), (0, 2), (2, 1)])
def test_products(gpu: Gpu, handle: Any, dtype: type, ta: int, tb: int) -> None:
    rng = np.random.default_rng(ta * 3 + tb)
    m, n, k, batch = 5, 4, 7, 3

    def random(*shape: int) -> np.ndarray:
        values = rng.integers(-4, 5, (*shape, 2)).astype(np.float64)
        values = values[..., 0] + (1j * values[..., 1] if np.dtype(dtype).kind == "c" else 0)
        return values.astype(dtype)

    # Column-major: a matrix of (rows, columns) is stored as (columns, rows).
    a = random(batch, *((k, m) if ta == 0 else (m, k)))
    b = random(batch, *((n, k) if tb == 0 else (k, n)))
    c = random(batch, n, m)
    element, compute, scale = TYPES[dtype]
    alpha, beta = np.array(2, scale), np.array(3, scale)
    where = [gpu.put(x) for x in (a, b, c)]
    stream = gpu.stream()
    assert blas.cublasSetStream_v2(handle, pointer(int(stream))) == 0
    gate = Gate(stream)
    assert blas.cublasGemmStridedBatchedEx(
        handle, ta, tb, m, n, k, pointer(alpha.ctypes.data),
        pointer(where[0]), element, a.shape[2], size(m * k),
        pointer(where[1]), element, b.shape[2], size(n * k), pointer(beta.ctypes.data),
        pointer(where[2]), element, m, size(m * n), batch, compute, -1,
    ) == 0  # fmt: skip
    alpha[...] = beta[...] = 100  # they were read at the call
    gate.open()
    ok(driver.cuStreamSynchronize(stream))

    def op(x: np.ndarray, operation: int) -> np.ndarray:
        matrix = x.transpose(0, 2, 1)
        return [matrix, x, x.conj()][operation]

    expected = 2 * (op(a, ta) @ op(b, tb)) + 3 * c.transpose(0, 2, 1)
    assert (gpu.get(where[2], c).transpose(0, 2, 1) == expected).all()


def test_bytes_and_bfloat16(gpu: Gpu, handle: Any) -> None:
    a = np.arange(-8, 8, dtype=np.int8).reshape(4, 4)
    c = gpu.put(np.full((4, 4), -1, np.int32))
    one, zero = np.array(1, np.int32), np.array(0, np.int32)

    def multiply(
        one: np.ndarray, zero: np.ndarray, x: int, kind: int, c: int, out: int, by: int
    ) -> int:
        return blas.cublasGemmEx(
            handle, 0, 0, 4, 4, 4, pointer(one.ctypes.data), pointer(x), kind, 4, pointer(x), kind,
            4, pointer(zero.ctypes.data), pointer(c), out, 4, by, -1,
        )  # fmt: skip

    assert multiply(one, zero, gpu.put(a), R_8I, c, R_32I, 72) == 0
    ok(driver.cuCtxSynchronize())
    assert (gpu.get(c, np.empty((4, 4), np.int32)) == a.astype(int) @ a).all()
    wide = a.astype(np.float32)
    bfloat = gpu.put((wide.view(np.uint32) >> 16).astype(np.uint16))
    c = gpu.put(np.full((4, 4), np.nan, np.float32))  # beta is 0: not read
    assert multiply(one.astype("f4"), zero.astype("f4"), bfloat, R_16BF, c, R_32F, 68) == 0
    ok(driver.cuCtxSynchronize())
    assert (gpu.get(c, wide) == wide @ wide).all()


def sgemm(handle: Any, a: int, c: int) -> int:
    """4 by 4, of zeros."""
    one, zero = np.array(1, np.float32), np.array(0, np.float32)
    return blas.cublasSgemm_v2(
        handle, 0, 0, 4, 4, 4, pointer(one.ctypes.data), pointer(a), 4, pointer(a), 4,
        pointer(zero.ctypes.data), pointer(c), 4,
    )  # fmt: skip


def test_a_product_of_pageable_memory_fails_when_it_runs(gpu: Gpu, handle: Any) -> None:
    host, matrix = np.zeros((4, 4), np.float32), gpu.put(np.zeros((4, 4), np.float32))
    assert sgemm(handle, host.ctypes.data, matrix) == 0
    assert code(driver.cuCtxSynchronize()) == Code.CUDA_ERROR_ILLEGAL_ADDRESS


def test_a_product_has_its_workspace_for_itself(gpu: Gpu, handle: Any) -> None:
    """Whoever keeps something there finds garbage; and what is written there spoils a product."""
    matrix = gpu.put(np.zeros((4, 4), np.float32))
    kept = (np.arange(1000) % 100).astype(np.uint8)  # garbage is from 128 on
    workspace = gpu.put(kept)
    assert blas.cublasSetWorkspace_v2(handle, pointer(workspace + 1), size(500)) == 7
    assert blas.cublasSetWorkspace_v2(handle, pointer(workspace), size(1000)) == 0
    seen = []
    for _ in range(2):
        assert sgemm(handle, matrix, matrix) == 0
        seen.append(gpu.get(workspace, kept))
    assert (seen[0] != kept).all()
    assert (seen[0] != seen[1]).all()
    assert blas.cublasSetStream_v2(handle, None) == 0  # which takes the workspace away
    ok(driver.cuMemcpyHtoD(workspace, kept.ctypes.data, 1000))
    assert sgemm(handle, matrix, matrix) == 0
    assert (gpu.get(workspace, kept) == kept).all()


def test_a_product_that_writes_its_own_workspace_fails(gpu: Gpu, handle: Any) -> None:
    matrix, workspace = (gpu.put(np.zeros((16, 16), np.float32)) for _ in range(2))
    assert blas.cublasSetWorkspace_v2(handle, pointer(workspace), size(1024)) == 0
    assert sgemm(handle, matrix, workspace) == 0
    assert code(driver.cuCtxSynchronize()) == Code.CUDA_ERROR_ILLEGAL_ADDRESS


def test_a_workspace_that_has_been_freed_fails(gpu: Gpu, handle: Any) -> None:
    matrix, workspace = (gpu.put(np.zeros((16, 16), np.float32)) for _ in range(2))
    assert blas.cublasSetWorkspace_v2(handle, pointer(workspace), size(1024)) == 0
    ok(driver.cuMemFree(workspace))
    assert sgemm(handle, matrix, matrix) == 0
    assert code(driver.cuCtxSynchronize()) == Code.CUDA_ERROR_ILLEGAL_ADDRESS


def test_a_product_in_a_graph_looks_for_its_matrices(gpu: Gpu, handle: Any) -> None:
    stream = gpu.stream()
    one = np.ones((4, 4), np.float32)
    matrix, result = gpu.put(one), gpu.put(np.zeros_like(one))
    workspace = gpu.put(np.zeros(256, np.uint8))
    assert blas.cublasSetStream_v2(handle, pointer(int(stream))) == 0
    assert blas.cublasSetWorkspace_v2(handle, pointer(workspace), size(256)) == 0
    ok(driver.cuStreamBeginCapture(stream, RELAXED))
    assert sgemm(handle, matrix, result) == 0
    replay = ok(driver.cuGraphInstantiate(ok(driver.cuStreamEndCapture(stream)), 0))
    for factor in (1, 2):
        given = (factor * one).astype(np.float32)
        ok(driver.cuMemcpyHtoD(matrix, given.ctypes.data, given.nbytes))
        ok(driver.cuGraphLaunch(replay, stream))
        assert (gpu.get(result, one, stream) == 4 * factor**2).all()
    ok(driver.cuMemFree(matrix))
    ok(driver.cuGraphLaunch(replay, stream))
    assert code(driver.cuStreamSynchronize(stream)) == Code.CUDA_ERROR_ILLEGAL_ADDRESS


def test_a_graph_takes_over_a_product_of_other_matrices(gpu: Gpu, handle: Any) -> None:
    stream = gpu.stream()
    ones, twos = (np.full((4, 4), number, np.float32) for number in (1, 2))
    workspace, result = gpu.put(np.zeros(256, np.uint8)), gpu.put(np.zeros_like(ones))
    assert blas.cublasSetStream_v2(handle, pointer(int(stream))) == 0
    assert blas.cublasSetWorkspace_v2(handle, pointer(workspace), size(256)) == 0
    graphs = []
    for matrix in (ones, twos):
        ok(driver.cuStreamBeginCapture(stream, RELAXED))
        assert sgemm(handle, gpu.put(matrix), result) == 0
        graphs.append(ok(driver.cuStreamEndCapture(stream)))
    replay = ok(driver.cuGraphInstantiate(graphs[0], 0))
    ok(driver.cuGraphExecUpdate(replay, graphs[1]))
    ok(driver.cuGraphLaunch(replay, stream))
    assert (gpu.get(result, ones, stream) == 16).all()


def test_a_captured_product_needs_a_workspace_of_the_caller(gpu: Gpu, handle: Any) -> None:
    stream = gpu.stream()
    matrix = gpu.put(np.zeros((4, 4), np.float32))
    assert blas.cublasSetStream_v2(handle, pointer(int(stream))) == 0
    ok(driver.cuStreamBeginCapture(stream, RELAXED))
    assert sgemm(handle, matrix, matrix) == 13  # execution failed
    ended = code(driver.cuStreamEndCapture(stream))
    assert ended == Code.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
    assert sgemm(handle, matrix, matrix) == 0


def test_no_handle_is_made_where_a_capture_forbids_memory(gpu: Gpu) -> None:
    for mode, status in ((GLOBAL, 3), (RELAXED, 0)):  # allocation failed
        stream, created = gpu.stream(), ctypes.c_void_p()
        ok(driver.cuStreamBeginCapture(stream, mode))
        assert blas.cublasCreate_v2(ctypes.byref(created)) == status
        spoiled = code(driver.cuStreamEndCapture(stream))
        assert (spoiled == Code.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) == (status > 0)
        if not status:
            assert blas.cublasDestroy_v2(created) == 0


def test_a_handle_takes_memory_of_the_device(gpu: Gpu) -> None:
    sim.configure("library=10MB")
    created, another = ctypes.c_void_p(), ctypes.c_void_p()
    assert blas.cublasCreate_v2(ctypes.byref(created)) == 0
    assert ok(driver.cuMemGetInfo())[0] == 6 << 20
    assert blas.cublasCreate_v2(ctypes.byref(another)) == 3  # allocation failed
    assert blas.cublasDestroy_v2(created) == 0
    assert ok(driver.cuMemGetInfo())[0] == 16 << 20
    sim.configure("library=4MB")


def test_arguments_of_products_are_checked(gpu: Gpu, handle: Any) -> None:
    one = np.array(1, np.float32)
    scale = pointer(one.ctypes.data)
    matrix = pointer(gpu.put(np.zeros((4, 4), np.float32)))

    def sgemm(handle: Any, m: int = 4, lead: int = 4, a: Any = matrix) -> int:
        return blas.cublasSgemm_v2(
            handle, 0, 0, m, 4, 4, scale, a, lead, matrix, 4, scale, matrix, 4
        )

    assert sgemm(handle) == 0
    assert sgemm(handle, m=0, a=None) == 0
    assert sgemm(handle, lead=3) == 7
    assert sgemm(handle, m=-1) == 7
    assert sgemm(None) == 1
    assert blas.cublasGetStatusName(7) == b"CUBLAS_STATUS_INVALID_VALUE"
    mixed = blas.cublasGemmEx(
        handle, 0, 0, 4, 4, 4, scale, matrix, R_32F, 4, matrix, R_64F, 4, scale, matrix, R_32F, 4,
        68, -1,
    )  # fmt: skip
    assert mixed == 15


class Ranks:
    """One communicator a device, with a stream each."""

    def __init__(self, gpus: list[Gpu]) -> None:
        self.gpus = gpus
        self.comms = (ctypes.c_void_p * len(gpus))()
        assert nccl.ncclCommInitAll(self.comms, len(gpus), None) == 0
        self.streams = []
        for gpu in gpus:
            gpu.use()
            self.streams.append(gpu.stream())

    def put(self, arrays: list[np.ndarray]) -> list[int]:
        pointers = []
        for gpu, array in zip(self.gpus, arrays, strict=True):
            gpu.use()
            pointers.append(gpu.put(array))
        return pointers

    def call(self, function: Any, rank: int, *arguments: Any) -> None:
        self.gpus[rank].use()
        comm = ctypes.c_void_p(self.comms[rank])
        assert function(*arguments, comm, pointer(int(self.streams[rank]))) == 0

    def finish(self) -> None:
        for stream, comm in zip(self.streams, self.comms, strict=True):
            ok(driver.cuStreamSynchronize(stream))
            assert nccl.ncclCommDestroy(ctypes.c_void_p(comm)) == 0


FLOAT, SUM, MAX, AVERAGE = 7, 0, 2, 4


@pytest.mark.parametrize(
    ("operation", "reduce"), [(SUM, np.sum), (MAX, np.max), (AVERAGE, np.mean)]
)
def test_all_reduce_in_place(gpu: Gpu, other: Gpu, operation: int, reduce: Any) -> None:
    ranks = Ranks([gpu, other])
    arrays = [np.arange(100, dtype=np.float32), np.arange(100, 0, -1).astype(np.float32)]
    pointers = ranks.put(arrays)
    for rank, p in enumerate(pointers):  # one thread, no group: calls only queue
        count = ctypes.c_size_t(100)
        ranks.call(nccl.ncclAllReduce, rank, pointer(p), pointer(p), count, FLOAT, operation)
    ranks.finish()
    for p in pointers:
        assert (gpu.get(p, arrays[0]) == reduce(arrays, axis=0)).all()


def test_other_collectives(gpu: Gpu, other: Gpu) -> None:
    ranks = Ranks([gpu, other])
    arrays = [np.arange(6, dtype=np.float32) + 10 * rank for rank in range(2)]
    sources = ranks.put(arrays)
    targets = ranks.put([np.zeros(12, np.float32)] * 2)
    halves = ranks.put([np.zeros(3, np.float32)] * 2)
    six, three = ctypes.c_size_t(6), ctypes.c_size_t(3)
    for rank in range(2):
        source, target, half = (pointer(x[rank]) for x in (sources, targets, halves))
        ranks.call(nccl.ncclAllGather, rank, source, target, six, FLOAT)
        ranks.call(nccl.ncclReduceScatter, rank, source, half, three, FLOAT, SUM)
        ranks.call(nccl.ncclBroadcast, rank, source, source, six, FLOAT, 1)
    ranks.finish()
    for rank in range(2):
        assert (gpu.get(targets[rank], np.empty(12, np.float32)) == np.concatenate(arrays)).all()
        part = (arrays[0] + arrays[1])[3 * rank : 3 * rank + 3]
        assert (gpu.get(halves[rank], part) == part).all()
        assert (gpu.get(sources[rank], arrays[1]) == arrays[1]).all()


def test_send_and_receive_cross(gpu: Gpu, other: Gpu) -> None:
    ranks = Ranks([gpu, other])
    arrays = [np.full(10, rank + 1, np.float32) for rank in range(2)]
    sources, targets = ranks.put(arrays), ranks.put([np.zeros(10, np.float32)] * 2)
    count = ctypes.c_size_t(10)
    assert nccl.ncclGroupStart() == 0
    for rank in range(2):
        ranks.call(nccl.ncclSend, rank, pointer(sources[rank]), count, FLOAT, 1 - rank)
        ranks.call(nccl.ncclRecv, rank, pointer(targets[rank]), count, FLOAT, 1 - rank)
    assert nccl.ncclGroupEnd() == 0
    ranks.finish()
    for rank in range(2):
        assert (gpu.get(targets[rank], arrays[0]) == arrays[1 - rank]).all()


def test_builds_that_another_user_may_have_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / f"plain-{build.digest('')}"
    folder.mkdir(mode=0o755)
    assert build.build(tmp_path, sanitizer="") == folder
    folder.chmod(0o775)
    with pytest.raises(RuntimeError, match="no other one may write"):
        build.build(tmp_path, sanitizer="")
    folder.chmod(0o700)
    with monkeypatch.context() as other:
        other.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
        with pytest.raises(RuntimeError, match="to be a folder of user"):
            build.build(tmp_path, sanitizer="")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert build.default_directory().is_absolute()
