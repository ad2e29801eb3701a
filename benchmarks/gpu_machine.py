"""What the machine of the GPU check is: the device as the driver has it, versions, bandwidths.

The bandwidths are the driver's own, by cuda-bindings: pinned memory, no library between.
"""

import importlib
import platform
import shutil
import subprocess
import time
from collections.abc import Callable
from importlib import metadata
from typing import Any

import numpy as np

import oneflow_lite as flow
from gpu_rows import Rows
from oneflow_lite.cuda import compiler
from oneflow_lite.cuda.kernels import cache
from timing import Summary

PACKAGES = (
    *("numpy", "pybind11", "cuda-bindings", "cuda-pathfinder", "cuda-python", "pytest"),
    *("nvidia-cuda-nvrtc", "nvidia-cublas", "torch", "cupy-cuda13x", "cupy", "jax", "jaxlib"),
    *("numba", "numba-cuda", "ml_dtypes"),
)
# Attributes of a device that explain figures, by the driver's names without CU_DEVICE_ATTRIBUTE_.
ATTRIBUTES = (
    *("CLOCK_RATE", "MULTIPROCESSOR_COUNT", "MEMORY_CLOCK_RATE", "GLOBAL_MEMORY_BUS_WIDTH"),
    *("L2_CACHE_SIZE", "ASYNC_ENGINE_COUNT", "CONCURRENT_KERNELS", "ECC_ENABLED", "TCC_DRIVER"),
    *("COMPUTE_MODE", "UNIFIED_ADDRESSING", "MANAGED_MEMORY", "PAGEABLE_MEMORY_ACCESS"),
    *("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN", "MAX_THREADS_PER_MULTIPROCESSOR", "WARP_SIZE"),
    *("MEMORY_POOLS_SUPPORTED", "HOST_NATIVE_ATOMIC_SUPPORTED", "PCI_BUS_ID", "INTEGRATED"),
)


def check(rows: Rows, setting: Any) -> None:
    """Describe the machine, and measure what the driver's copies reach."""
    for key, value in description().items():
        rows.add(key, note=value)
    rows.log("machine", "\n".join(f"{key}: {value}" for key, value in description().items()))
    with rows.attempt("driver's attributes"):
        _attributes(rows)
    if shutil.which("nvidia-smi"):
        with rows.attempt("nvidia-smi"):
            done = subprocess.run(
                ["nvidia-smi", "-q"], capture_output=True, text=True, timeout=20, check=False
            )
            rows.log("nvidia-smi -q", (done.stdout + done.stderr)[:40_000])
    with rows.attempt("first kernel"):
        x = flow.ones(16, device="cuda:0")
        assert (x + x).tolist() == [2.0] * 16
        rows.log("flow.vm.stats()", str(flow.vm.stats()))
    with rows.attempt("bandwidth"):
        _bandwidth(rows, (1 << 20) if setting.tiny else (256 << 20), 2 if setting.tiny else 10)


def description() -> dict[str, str]:
    """Return device, driver, versions and state of the kernel cache, by name."""
    found = {"Python": platform.python_version(), "system": platform.platform()}
    found["oneflow_lite"] = flow.__version__
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    for index in range(flow.cuda.device_count()):
        found[f"cuda:{index}"] = str(flow.cuda.get_device_properties(index))
    found["kernel compiler"] = _said(compiler.identity)
    found["kernels in the cache"] = cache_state()
    found["flags"] = ", ".join(
        f"{r.variable}={v}" for r, v, s in flow.flags.rows() if s != "default"
    )
    return found


def _said(function: Callable[[], str]) -> str:
    try:
        return function()
    except Exception as error:  # the check goes on without it, and says so
        return f"{type(error).__name__}: {error}"


def cache_state() -> str:
    """Return how many kernels are kept on disk, and where."""
    files = list(cache.folder().iterdir()) if cache.folder().is_dir() else []
    size = sum(file.stat().st_size for file in files)
    return f"{len(files)} files, {size >> 10} KiB, in {cache.folder()}"


def current_driver() -> Any:
    """Return the bindings; the device's context is the calling thread's."""
    driver = importlib.import_module("cuda.bindings.driver")
    flow.ones(1, device="cuda:0").numpy()
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    return driver


def ok(result: tuple[Any, ...]) -> Any:
    """Return the values of a call of the driver that must succeed."""
    if int(result[0]):
        raise RuntimeError(f"the driver says {result[0]!r}")
    return result[1] if len(result) == 2 else result[1:]


def _attributes(rows: Rows) -> None:
    driver = current_driver()
    version = ok(driver.cuDriverGetVersion())
    rows.add("driver", note=f"{version // 1000}.{version % 1000 // 10}")
    lines = []
    for name in ATTRIBUTES:
        attribute = getattr(driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}", None)
        if attribute is not None:
            code, value = driver.cuDeviceGetAttribute(attribute, 0)
            lines.append(f"{name}: {value if int(code) == 0 else code!r}")
    free, total = ok(driver.cuMemGetInfo())
    rows.log("the driver's attributes of cuda:0", "\n".join([*lines, f"free {free} of {total}"]))


def _bandwidth(rows: Rows, size: int, samples: int) -> None:
    """Copies of one block, timed by events on one stream; both directions at once on two."""
    driver = current_driver()
    stream, other = (ok(driver.cuStreamCreate(1)) for _ in range(2))
    events = [ok(driver.cuEventCreate(0)) for _ in range(2)]
    device, second = (ok(driver.cuMemAlloc(size)) for _ in range(2))
    host, back = (ok(driver.cuMemHostAlloc(size, 0)) for _ in range(2))

    def h2d(on: Any) -> None:
        ok(driver.cuMemcpyHtoDAsync(device, host, size, on))

    def d2h(on: Any) -> None:
        ok(driver.cuMemcpyDtoHAsync(back, second, size, on))

    def both() -> None:
        ok(driver.cuEventRecord(events[0], stream))
        ok(driver.cuStreamWaitEvent(other, events[0], 0))
        h2d(stream)
        d2h(other)
        ok(driver.cuEventRecord(events[1], other))
        ok(driver.cuStreamWaitEvent(stream, events[1], 0))

    def timed(work: Callable[[], object]) -> float:
        begin, end = (ok(driver.cuEventCreate(0)) for _ in range(2))
        ok(driver.cuEventRecord(begin, stream))
        work()
        ok(driver.cuEventRecord(end, stream))
        ok(driver.cuStreamSynchronize(stream))
        ok(driver.cuStreamSynchronize(other))
        return max(1e-6, 1e-3 * float(ok(driver.cuEventElapsedTime(begin, end))))

    cases = {
        "h2d, pinned": (lambda: h2d(stream), 1),
        "d2h, pinned": (lambda: d2h(stream), 1),
        "d2d, read + written": (
            lambda: ok(driver.cuMemcpyDtoDAsync(second, device, size, stream)),
            2,
        ),
    }
    for name, (work, factor) in cases.items():
        timed(work)
        rates = Summary.of([1e-9 * factor * size / timed(work) for _ in range(samples)])
        rows.summary(name, "driver", rates, 1, unit="GB/s", note=f"{size >> 20} MiB")
    rates = Summary.of([1e-9 * 2 * size / timed(both) for _ in range(samples)])
    rows.summary("h2d and d2h at once", "driver", rates, 1, unit="GB/s")
    _pageable(rows, driver, device, size, samples)
    for block in (device, second):
        ok(driver.cuMemFree(block))
    for block in (host, back):
        ok(driver.cuMemFreeHost(block))


def _pageable(rows: Rows, driver: Any, device: Any, size: int, samples: int) -> None:
    """What the driver's own staging reaches, and one thread's memcpy, which staging costs."""
    array, target = np.ones(size, np.uint8), np.empty(size, np.uint8)

    def timed(work: Callable[[], object]) -> float:
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin

    cases: dict[str, Callable[[], object]] = {
        "h2d, pageable": lambda: ok(driver.cuMemcpyHtoD(device, array.ctypes.data, size)),
        "d2h, pageable": lambda: ok(driver.cuMemcpyDtoH(target.ctypes.data, device, size)),
        "memcpy of the host, one thread": lambda: np.copyto(target, array),
    }
    for name, work in cases.items():
        timed(work)
        rates = Summary.of([1e-9 * size / timed(work) for _ in range(samples)])
        rows.summary(name, "driver" if "memcpy" not in name else "NumPy", rates, 1, unit="GB/s")
