"""Where the libraries of CUDA are that the native core opens when it first needs them."""

import ctypes
import importlib
import os

from oneflow_lite import _C


def find_cublas() -> str:
    """Return the path of cuBLAS, or ``""`` where it is not installed.

    It may be a wheel (``pip install "oneflow_lite[cuda-blas]"``), a CUDA of the system, or loaded
    already. It is wanted by the first product on a device.

    Examples
    --------
    >>> isinstance(find_cublas(), str)
    True
    """
    return _find("cublas", ("libcublas.so.13", "libcublas.so.12"))


def find_nccl() -> str:
    """Return the path of NCCL, or ``""`` where it is not installed.

    It may be a wheel (``pip install "oneflow_lite[nccl]"``), one of the system, or loaded already.
    It is wanted when ranks first send each other what lies on devices. Where the environment lets
    its ranks share a device, ours may, too.

    Examples
    --------
    >>> isinstance(find_nccl(), str)
    True
    """
    _C.let_nccl_share_devices(os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE") == "1")
    return _find("nccl", ("libnccl.so.2",))


def _find(name: str, files: tuple[str, ...]) -> str:
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return _by_name(files)
    try:
        found: str | None = pathfinder.load_nvidia_dynamic_lib(name).abs_path
    except pathfinder.DynamicLibNotFoundError:
        return ""
    return found or ""


def _by_name(files: tuple[str, ...]) -> str:
    """Without a finder: what the dynamic linker knows."""
    for name in files:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return ""
