"""CUDA C++ on the host: what kernels compute, and that the real compiler takes the same sources."""

from math import erf, gamma

import numpy as np
import pytest

import sim
from tests.support.gpu import Code, Gpu, code, driver, launch, ok

ELEMENTWISE = r"""
template <typename T> __device__ __forceinline__ T f(T x) {
  return tanh(x) * exp(-x) + sqrt(fabs(x));
}
extern "C" __global__ void f32(const float* __restrict__ x, float* y, long long n) {
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n;
       i += (long long)gridDim.x * blockDim.x)
    y[i] = f(__ldg(x + i));
}
extern "C" __global__ void f64(const double* x, double* y, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = f(x[i]);
}
"""
REDUCTION = r"""
extern "C" __global__ void __launch_bounds__(1024) sum(const float* x, float* y, int n) {
  extern __shared__ float partial[];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int k = 16; k; k /= 2) v += __shfl_down_sync(0xffffffffu, v, k);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = threadIdx.x < (blockDim.x + 31) / 32 ? partial[threadIdx.x] : 0.f;
    for (int k = 16; k; k /= 2) v += __shfl_xor_sync(0xffffffffu, v, k);
    if (threadIdx.x == 0) atomicAdd(y, v);
  }
}
"""
SCAN = r"""
extern "C" __global__ void scan(const int* x, int* y, int n) {
  __shared__ int sums[32];
  const int i = threadIdx.x, lane = i % 32, warp = i / 32;
  int v = i < n ? x[i] : 0;
  for (int k = 1; k < 32; k *= 2) {
    int other = __shfl_up_sync(0xffffffffu, v, k);
    if (lane >= k) v += other;
  }
  if (lane == 31) sums[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int s = lane < blockDim.x / 32 ? sums[lane] : 0;
    for (int k = 1; k < 32; k *= 2) {
      int other = __shfl_up_sync(0xffffffffu, s, k);
      if (lane >= k) s += other;
    }
    sums[lane] = s;
  }
  __syncthreads();
  if (i < n) y[i] = v + (warp ? sums[warp - 1] : 0);
}
"""
TRANSPOSE = r"""
extern "C" __global__ void transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += blockDim.y) {
    int row = blockIdx.y * 32 + k;
    if (row < rows && column < columns) tile[k][threadIdx.x] = x[row * columns + column];
  }
  __syncthreads();
  int row = blockIdx.y * 32 + threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += blockDim.y) {
    int target = blockIdx.x * 32 + k;
    if (row < rows && target < columns) y[target * rows + row] = tile[threadIdx.x][k];
  }
}
"""
NARROW = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void narrow(const float* x, __half* h, __nv_bfloat16* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  h[i] = __float2half(x[i]) * __half(2.0f) + __half(1.0f);
  b[i] = __float2bfloat16(__bfloat162float(__float2bfloat16(x[i])) * 2.0f);
}
"""
ATOMICS = r"""
extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* w, float* f,
                                   double* d) {
  atomicAdd(i, 1);
  atomicMax(i + 1, (int)threadIdx.x);
  atomicMin(i + 2, -(int)threadIdx.x);
  atomicOr(u, 1u << threadIdx.x % 32);
  atomicInc(u + 1, 4);
  if (atomicCAS(u + 2, 0u, threadIdx.x + 1) == 0) atomicExch(u + 3, threadIdx.x + 1);
  atomicAdd(w, 1ull << 40);
  atomicAdd(f, 0.5f);
  atomicAdd(d, 0.25);
}
"""
WARP = r"""
extern "C" __global__ void warp(unsigned* out) {
  unsigned lane = threadIdx.x % 32;
  unsigned odd = __ballot_sync(0xffffffffu, lane & 1);
  int any = __any_sync(0xffffffffu, lane == 7), all = __all_sync(0xffffffffu, lane < 31);
  unsigned third = __shfl_sync(0xffffffffu, lane, 3, 8);
  unsigned half = 0;
  if (lane < 16) half = __shfl_xor_sync(0x0000ffffu, lane, 1);
  else half = __shfl_xor_sync(0xffff0000u, lane, 2);
  __syncwarp();
  int count = __syncthreads_count(lane < 5);
  unsigned same = __match_any_sync(0xffffffffu, lane / 16);
  if (lane == 20) {
    out[0] = odd; out[1] = any * 2 + all; out[2] = third; out[3] = half; out[4] = count;
    out[5] = same; out[6] = __popc(odd) + __clz(1) + __umulhi(1u << 31, 6u);
  }
}
"""
GLOBALS = r"""
__device__ int counter = 5;
__constant__ float table[3];
extern "C" __global__ void use(float* y) { y[0] = table[1]; y[1] = counter; counter = 9; }
"""
SOURCES = {
    "elementwise": ELEMENTWISE,
    "reduction": REDUCTION,
    "scan": SCAN,
    "transpose": TRANSPOSE,
    "narrow": NARROW,
    "atomics": ATOMICS,
    "warp": WARP,
    "globals": GLOBALS,
}


@pytest.mark.parametrize(("name", "dtype"), [("f32", np.float32), ("f64", np.float64)])
@pytest.mark.parametrize("count", [1, 255, 1000])
def test_elementwise(gpu: Gpu, name: str, dtype: type, count: int) -> None:
    x = np.linspace(-2, 2, count).astype(dtype)
    source, target = gpu.put(x), gpu.put(np.zeros_like(x))
    kernel = gpu.kernel(ELEMENTWISE, name)
    assert launch(kernel, 4, 256, source, target, np.int64(count)) == Code.CUDA_SUCCESS
    expected = np.tanh(x) * np.exp(-x) + np.sqrt(np.abs(x))
    np.testing.assert_allclose(
        gpu.get(target, x), expected, rtol=4 * np.finfo(dtype).eps, atol=1e-6
    )


@pytest.mark.parametrize(("grid", "block", "count"), [(1, 32, 5), (3, 256, 10000), (2, 48, 999)])
def test_reduction(gpu: Gpu, grid: int, block: int, count: int) -> None:
    x = np.arange(count, dtype=np.float32) % 17
    source, target = gpu.put(x), gpu.put(np.zeros(1, np.float32))
    kernel = gpu.kernel(REDUCTION, "sum")
    if (
        block % 32
    ):  # the last warp's missing lanes take no part in a shuffle: only full warps add up
        block = 64
    assert launch(kernel, grid, block, source, target, np.int32(count), shared=128) == 0
    assert gpu.get(target, np.empty(1, np.float32))[0] == x.sum()


@pytest.mark.parametrize("count", [1, 100, 1024])
def test_scan(gpu: Gpu, count: int) -> None:
    x = np.arange(count, dtype=np.int32) % 13
    source, target = gpu.put(x), gpu.put(np.zeros_like(x))
    assert launch(gpu.kernel(SCAN, "scan"), 1, 1024, source, target, np.int32(count)) == 0
    assert (gpu.get(target, x) == np.cumsum(x)).all()


def test_transpose(gpu: Gpu) -> None:
    x = np.arange(70 * 45, dtype=np.float32).reshape(70, 45)
    source, target = gpu.put(x), gpu.put(np.zeros_like(x))
    kernel = gpu.kernel(TRANSPOSE, "transpose")
    grid, block = (2, 3, 1), (32, 8, 1)
    assert launch(kernel, grid, block, source, target, np.int32(70), np.int32(45)) == 0
    assert (gpu.get(target, np.empty((45, 70), np.float32)) == x.T).all()


def test_half_and_bfloat16(gpu: Gpu) -> None:
    x = np.array([0, 1, -1, 1e-7, 65504, 1e6, np.inf, -np.inf, 1 + 2**-9, 3.14159], np.float32)
    halves, bfloats = gpu.put(np.zeros(10, np.float16)), gpu.put(np.zeros(10, np.uint16))
    kernel = gpu.kernel(NARROW, "narrow")
    assert launch(kernel, 1, 32, gpu.put(x), halves, bfloats, np.int32(x.size)) == 0
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16) * np.float16(2) + np.float16(1)
    assert (gpu.get(halves, np.empty(10, np.float16)) == expected).all()
    bits = gpu.get(bfloats, np.empty(10, np.uint16)).astype(np.uint32) << 16
    np.testing.assert_allclose(bits.view(np.float32), 2 * x, rtol=2**-8)


def test_atomics(gpu: Gpu) -> None:
    arrays = [np.zeros(n, t) for n, t in ((3, "i4"), (4, "u4"), (1, "u8"), (1, "f4"), (1, "f8"))]
    pointers = [gpu.put(a) for a in arrays]
    assert launch(gpu.kernel(ATOMICS, "atomics"), 3, 64, *pointers) == Code.CUDA_SUCCESS
    i, u, w, f, d = (gpu.get(p, a) for p, a in zip(pointers, arrays, strict=True))
    assert list(i) == [192, 63, -63]
    assert u[0] == 2**32 - 1
    assert u[1] == 192 % 5
    assert u[2] == u[3] > 0
    assert (w[0], f[0], d[0]) == (192 << 40, 96, 48)


def test_warp_operations(gpu: Gpu) -> None:
    out = np.zeros(7, np.uint32)
    pointer = gpu.put(out)
    assert launch(gpu.kernel(WARP, "warp"), 1, 64, pointer) == Code.CUDA_SUCCESS
    assert list(gpu.get(pointer, out)) == [0xAAAAAAAA, 2, 19, 22, 10, 0xFFFF0000, 16 + 31 + 3]


def test_globals_belong_to_the_context(gpu: Gpu) -> None:
    modules = [ok(driver.cuModuleLoadData(sim.compile(GLOBALS, "sm_90"))) for _ in range(2)]
    for number, module in enumerate(modules):
        pointer, size = ok(driver.cuModuleGetGlobal(module, b"table"))
        assert size == 12
        table = np.full(3, number, np.float32)
        ok(driver.cuMemcpyHtoD(pointer, table.ctypes.data, 12))
    for number, module in enumerate(modules):
        result = gpu.put(np.zeros(2, np.float32))
        assert launch(ok(driver.cuModuleGetFunction(module, b"use")), 1, 1, result) == 0
        assert list(gpu.get(result, np.empty(2, np.float32))) == [number, 5]
    assert code(driver.cuModuleGetGlobal(modules[0], b"none")) == Code.CUDA_ERROR_NOT_FOUND


def test_libraries_load_where_they_are_used(gpu: Gpu, other: Gpu) -> None:
    image = sim.compile(SCAN, "sm_90")
    library = ok(driver.cuLibraryLoadData(image, [], [], 0, [], [], 0))
    kernel = ok(driver.cuLibraryGetKernel(library, b"scan"))
    for each in (gpu, other):
        each.use()
        x = np.arange(50, dtype=np.int32)
        source, target = each.put(x), each.put(np.zeros_like(x))
        function = ok(driver.cuKernelGetFunction(kernel))
        assert launch(function, 1, 64, source, target, np.int32(50)) == Code.CUDA_SUCCESS
        assert (each.get(target, x) == np.cumsum(x)).all()
    ok(driver.cuLibraryUnload(library))


DIVERGENT = {
    "half of the threads": "if (threadIdx.x < 16) __syncthreads();",
    "two lines": "if (threadIdx.x < 16)\n __syncthreads();\n else\n __syncthreads();",
    "an early return": "if (threadIdx.x == 3) return; __syncthreads();",
    "a warp's mask": "if (threadIdx.x < 16) __syncwarp();",
    "a lane outside": "__shfl_sync(1u, 1, 0);",
    "an assertion": "__syncthreads(); assert(threadIdx.x < 5);",
}


@pytest.mark.parametrize("name", DIVERGENT)
def test_threads_that_miss_each_other_fail(gpu: Gpu, name: str) -> None:
    source = f'extern "C" __global__ void k() {{ {DIVERGENT[name]} }}'
    assert launch(gpu.kernel(source, "k"), 2, 64) == Code.CUDA_SUCCESS
    traps = name in ("a lane outside", "an assertion")
    expected = Code.CUDA_ERROR_ASSERT if traps else Code.CUDA_ERROR_LAUNCH_FAILED
    assert code(driver.cuCtxSynchronize()) == expected


UNARY = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "rsqrt"),
    *("erf", "erfc", "tgamma", "rint", "trunc", "floor", "ceil", "fabs"),
)


@pytest.mark.parametrize("letter", ["f", ""])
def test_mathematical_functions(gpu: Gpu, letter: str) -> None:
    dtype = np.float32 if letter else np.float64
    real = "float" if letter else "double"
    calls = "\n".join(f"y[{i}] = {f}(x); z[{i}] = {f}{letter}(x);" for i, f in enumerate(UNARY))
    source = f'extern "C" __global__ void k({real} x, {real}* y, {real}* z) {{ {calls} }}'
    like = np.zeros(len(UNARY), dtype)
    first, second = gpu.put(like), gpu.put(like)
    x = dtype(0.625)
    assert launch(gpu.kernel(source, "k"), 1, 1, x, first, second) == Code.CUDA_SUCCESS
    special = {
        "erf": erf,
        "erfc": lambda v: 1 - erf(v),
        "tgamma": gamma,
        "rsqrt": lambda v: v**-0.5,
    }
    names = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh"}
    names |= {"atanh": "arctanh"}
    expected = [special.get(f) or getattr(np, names.get(f, f)) for f in UNARY]
    expected = [function(float(x)) for function in expected]
    np.testing.assert_allclose(gpu.get(first, like), expected, rtol=8 * np.finfo(dtype).eps)
    assert (gpu.get(first, like) == gpu.get(second, like)).all()


def test_products_are_not_contracted(gpu: Gpu) -> None:
    source = 'extern "C" __global__ void k(float a, float b, float* y) { *y = a * a - b; }'
    a = np.float32(1 + 2**-12)
    pointer = gpu.put(np.ones(1, np.float32))
    assert launch(gpu.kernel(source, "k"), 1, 1, a, np.float32(a * a), pointer) == 0
    assert gpu.get(pointer, np.empty(1, np.float32))[0] == 0


def test_errors_carry_the_log_and_the_line() -> None:
    with pytest.raises(sim.CompileError, match=r"kernel.cu:2:.*nothing"):
        sim.compile('extern "C" __global__ void k(int* p) {\n *p = nothing; }', "sm_90")
    with pytest.raises(ValueError, match="--bogus"):
        sim.compile("", "sm_90", ["--bogus"])
    with pytest.raises(ValueError, match="sm_x"):
        sim.compile("", "sm_x")


def test_options() -> None:
    source = 'static_assert(VALUE == 3 && __CUDA_ARCH__ == 800, "");'
    options = ["-DVALUE=3", "--std=c++17", "--gpu-architecture=sm_80", "--fmad=false"]
    assert sim.compile(source, "sm_80", options)
    assert sim.compile(source, "compute_80", ["--define-macro=VALUE=3"])
    assert sim.compile(source, "sm_80", ["-D", "VALUE=3"])


@pytest.fixture(scope="session")
def nvrtc_headers(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Its own headers, laid out."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    folder = str(tmp_path_factory.mktemp("nvrtc")).encode()
    try:
        done = nvrtc.nvrtcInstallBundledHeaders(folder, 0)
    except RuntimeError as error:
        pytest.skip(f"no NVRTC 13.3 or newer: {error}")
    assert int(done[0]) == 0
    return folder


@pytest.mark.parametrize("name", SOURCES)
def test_the_real_compiler_takes_the_same_source(nvrtc_headers: bytes, name: str) -> None:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(SOURCES[name].encode(), b"k.cu", 0, [], [])
    options = [b"--gpu-architecture=sm_90", b"-I" + nvrtc_headers, b"-I" + nvrtc_headers + b"/cccl"]
    result = nvrtc.nvrtcCompileProgram(program, len(options), options)[0]
    log = b" " * nvrtc.nvrtcGetProgramLogSize(program)[1]
    nvrtc.nvrtcGetProgramLog(program, log)
    assert int(result) == 0, log.decode()
    assert nvrtc.nvrtcGetCUBINSize(program)[1] > 0
