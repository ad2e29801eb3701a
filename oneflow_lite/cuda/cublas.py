"""Where cuBLAS is. The native core asks when the first product is made on a device."""

import ctypes
import importlib

_NAMES = ("libcublas.so.13", "libcublas.so.12")


def find() -> str:
    """Return the path of cuBLAS, or ``""`` where it is not installed.

    It may be a wheel (``pip install "oneflow_lite[cuda-blas]"``), a CUDA of the system, or loaded
    already.

    Examples
    --------
    >>> isinstance(find(), str)
    True
    """
    try:
        pathfinder = importlib.import_module("cuda.pathfinder")
    except ImportError:
        return _by_name()
    try:
        found: str | None = pathfinder.load_nvidia_dynamic_lib("cublas").abs_path
    except pathfinder.DynamicLibNotFoundError:
        return ""
    return found or ""


def _by_name() -> str:
    """Without a finder: what the dynamic linker knows."""
    for name in _NAMES:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return name
    return ""
