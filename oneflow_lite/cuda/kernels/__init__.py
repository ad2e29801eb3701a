"""Kernels of CUDA devices: generated from the op table, compiled at first use, cached."""

import logging
import os
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from oneflow_lite.cuda import compiler
from oneflow_lite.cuda.kernels import cache
from oneflow_lite.cuda.kernels.request import Request as Request
from oneflow_lite.cuda.kernels.source import source
from oneflow_lite.flags import LOG

__all__ = ["OPTIONS", "Request", "image_of", "make"]

# No contraction to multiply-add: plain arithmetic has NumPy's bits.
OPTIONS = ("--std=c++17", "--fmad=false", "--device-as-default-execution-space")

_SLOW_SECONDS = 0.1  # of a compilation that is worth a line in the log
_Wanted = tuple[Request, str, str]  # with the architecture and the name
_Images = dict[_Wanted, "Future[bytes | None]"]


class _Made:
    """The images that this process has or is making: whoever comes second waits for the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards _images
        self._images: _Images = {}

    def get(self, wanted: _Wanted) -> bytes | None:
        with self._lock:
            image = self._images.get(wanted)
            is_first = image is None
            if image is None:
                image = self._images[wanted] = Future()
        if is_first:
            try:
                image.set_result(_image(*wanted))
            except BaseException as error:
                with self._lock:
                    del self._images[wanted]  # the next one tries again
                image.set_exception(error)
        return image.result()


_made = _Made()
_warned = threading.Event()  # of a slow compilation


def _forget() -> None:
    """In a child: a thread of the parent that was making an image does not exist here."""
    global _made
    _made = _Made()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def make(request: Request, arch: str, name: str = "kernel") -> bytes | None:
    """Return the image of a kernel for ``cuModuleLoadData``.

    It takes one structure by value: ``Args`` in the family's ``.cuh`` file. May be called from any
    thread; several that ask for the same kernel compile it once.

    Parameters
    ----------
    request : Request
        What the kernel does.
    arch : str
        Of the device, such as ``"sm_90"``.
    name : str
        Of its one entry.

    Returns
    -------
    bytes or None
        None where there is no text for this.

    Raises
    ------
    ImportError
        Where there is no compiler.
    CompileError
        Where it refuses the source.

    Examples
    --------
    >>> unknown = Request("elementwise", "no such op", (), (), (), True, False)
    >>> make(unknown, "sm_90") is None
    True
    """
    return _made.get((request, arch, name))


def make_for(*call: Any) -> bytes | None:
    """``make`` as the native core calls it: with the fields of a request, the architecture and the
    name of the entry.
    """
    *fields, arch, name = call
    return make(Request(*fields), arch, name)


def _image(request: Request, arch: str, name: str) -> bytes | None:
    text = source({name: request})
    if text is None:
        return None
    begin = time.perf_counter()
    image, is_new = _cached(text, arch, OPTIONS)
    if is_new:
        _log_slow(request, arch, time.perf_counter() - begin)
    return image


def image_of(text: str, arch: str, options: Sequence[str] = ()) -> bytes:
    """Return the image of a user's source for ``cuModuleLoadData``, compiled or from the cache.

    Parameters
    ----------
    text : str
        CUDA C++.
    arch : str
        Of the device, such as ``"sm_90"``.
    options : sequence of str, default=()
        Of NVRTC, besides the architecture.

    Raises
    ------
    ImportError, CompileError
        As of ``compiler.compile``.

    Examples
    --------
    >>> image_of('extern "C" __global__ void one(int* p) { *p = 1; }', "sm_90")[1:4]
    b'ELF'
    """
    return _cached(text, arch, ("--std=c++17", *options))[0]


def _cached(text: str, arch: str, options: Sequence[str]) -> tuple[bytes, bool]:
    """The image, and whether it was compiled now."""
    name = cache.key(compiler.identity(), arch, tuple(options), text)
    image = cache.load(name)
    if image is not None:
        return image, False
    image = compiler.compile(text, arch, options)
    cache.store(name, image)
    return image, True


def _log_slow(request: Request, arch: str, seconds: float) -> None:
    """Log a slow compilation, which the call that needs it waits for: the first at a level that is
    shown by default, as a stall has no other sign; the others, of which a program may have dozens,
    as information.
    """
    if seconds <= _SLOW_SECONDS:
        return
    level = logging.INFO if _warned.is_set() else logging.WARNING
    _warned.set()
    LOG.log(
        level,
        "[cuda] compiled %s %s(%s) for %s in %.0f ms; kept for the next time",
        *(request.kind, request.op, ", ".join(request.dtypes), arch, 1e3 * seconds),
    )
