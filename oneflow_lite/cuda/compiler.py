"""The one seam to compilers of CUDA C++: NVRTC, or the host's where the driver is simulated."""

import functools
import importlib
import re
from collections.abc import Sequence
from typing import Any

from oneflow_lite.cuda.build_id import build_id
from oneflow_lite.flags import flags

_INSTALL = 'compiling CUDA kernels needs NVRTC: pip install "oneflow_lite[cuda]"'
_SIMULATION = "sim"  # the package of the simulated driver; imported where that is in use


class CompileError(RuntimeError):
    """The compiler refused the source; the message has its log."""


def compile(source: str, arch: str, options: Sequence[str] = ()) -> bytes:
    r"""Compile CUDA C++ to an image for ``cuModuleLoadData``. Nothing is cached here.

    Parameters
    ----------
    source : str
        One translation unit; it has no headers but those of the folders in ``options``.
    arch : str
        Such as ``"sm_90"``. For one that the compiler is too old for: the code of the nearest that
        it knows, as PTX where the device must translate it.
    options : sequence of str, default=()
        Of NVRTC, besides the architecture.

    Returns
    -------
    bytes
        A cubin, or what the simulated driver loads.

    Raises
    ------
    ImportError
        Where NVRTC is not installed.
    CompileError
        With the compiler's log.

    Examples
    --------
    >>> source = 'extern "C" __global__ void one(int* p) { *p = 1; }'
    >>> compile(source, "sm_90")[:4]
    b'\x7fELF'
    """
    if flags.cuda_sim is None:
        return _compile_by_nvrtc(source, arch, options)
    sim = importlib.import_module(_SIMULATION)
    try:
        image: bytes = sim.compile(source, arch, options)
    except sim.CompileError as error:
        raise CompileError(f"[cuda] the host's compiler refused a kernel:\n{error}") from None
    return image


def identity() -> str:
    """Return which compiler ``compile`` uses: images of two that differ are not the same.

    Examples
    --------
    >>> identity() == identity()
    True
    """
    return _nvrtc_identity() if flags.cuda_sim is None else _simulated_identity()


@functools.cache
def _nvrtc_identity() -> str:
    nvrtc = _nvrtc()
    major, minor = _checked(nvrtc.nvrtcVersion())
    return f"nvrtc {major}.{minor} {build_id(_nvrtc_library())}"


def _nvrtc_library() -> str:
    """The path of the library that the bindings call."""
    pathfinder = importlib.import_module("cuda.pathfinder")
    return str(pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path)


@functools.cache
def _simulated_identity() -> str:
    """Everything in sim/ counts: its headers are part of an image, its driver loads them."""
    build = importlib.import_module(f"{_SIMULATION}.build")
    sanitizer = build.sanitizer_from(None)
    return f"simulated {sanitizer} {build.digest(sanitizer)}"


@functools.cache
def _nvrtc() -> Any:
    """The bindings, after a call that has found the library."""
    try:
        nvrtc = importlib.import_module("cuda.bindings.nvrtc")
        nvrtc.nvrtcVersion()
    except (ImportError, RuntimeError) as error:  # no package; no library
        raise ImportError(f"[cuda] {_INSTALL} ({_first_line(error)})") from None
    return nvrtc


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def _checked(result: tuple[Any, ...]) -> Any:
    """The values of an NVRTC call that must succeed."""
    code, *values = result
    if code != 0:
        raise CompileError(f"[cuda] NVRTC failed: {code.name}")
    return values[0] if len(values) == 1 else values


def _compile_by_nvrtc(source: str, arch: str, options: Sequence[str]) -> bytes:
    nvrtc = _nvrtc()
    target = nearest(arch, tuple(_checked(nvrtc.nvrtcGetSupportedArchs())))
    arguments = [f"--gpu-architecture={target}".encode(), *(o.encode() for o in options)]
    program = _checked(nvrtc.nvrtcCreateProgram(source.encode(), b"kernel.cu", 0, [], []))
    try:
        (code,) = nvrtc.nvrtcCompileProgram(program, len(arguments), arguments)
        if code != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            log = bytearray(_checked(nvrtc.nvrtcGetProgramLogSize(program)))
            _checked(nvrtc.nvrtcGetProgramLog(program, log))
            text = log.rstrip(b"\0").decode(errors="replace")
            raise CompileError(f"[cuda] NVRTC refused a kernel for {arch}: {code.name}\n{text}")
        kind = "CUBIN" if target.startswith("sm_") else "PTX"
        image = bytearray(_checked(getattr(nvrtc, f"nvrtcGet{kind}Size")(program)))
        _checked(getattr(nvrtc, f"nvrtcGet{kind}")(program, image))
        return bytes(image)
    finally:
        _checked(nvrtc.nvrtcDestroyProgram(program))


def nearest(arch: str, supported: Sequence[int]) -> str:
    """Return what to compile for: ``arch``, or what a device of it can run.

    Code for sm_XY runs on devices sm_XZ with Z >= Y; PTX (``"compute_XY"``) on all later ones.

    Parameters
    ----------
    arch : str
        Such as ``"sm_90"``.
    supported : sequence of int
        What the compiler knows, such as 90, in rising order.

    Raises
    ------
    CompileError
        Where the compiler knows only later ones.

    Examples
    --------
    >>> nearest("sm_90", [80, 90]), nearest("sm_86", [80, 90]), nearest("sm_120", [80, 90])
    ('sm_90', 'sm_80', 'compute_90')
    """
    match = re.fullmatch(r"sm_(\d+)", arch)
    if match is None:
        raise ValueError(f"[cuda] arch {arch!r}: expected sm_NN")
    wanted = int(match[1])
    known = max((number for number in supported if number <= wanted), default=None)
    if known is None:
        raise CompileError(
            f"[cuda] this NVRTC has no code for {arch}, only from sm_{min(supported)} on: "
            "install an older nvidia-cuda-nvrtc"
        )
    return f"sm_{known}" if known // 10 == wanted // 10 else f"compute_{known}"
