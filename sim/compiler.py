"""Compiles CUDA C++ for the host: the image that the simulated driver loads.

Kernels are found by their declaration, ``extern "C" __global__ void name(...)``, with or without
``__launch_bounds__``; arguments of a macro or kernels that a macro makes are not found.
"""

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from os import environ
from pathlib import Path

from sim.progress import Progress

INCLUDE = Path(__file__).parent / "include"
SANITIZERS = ("", "thread", "address")

_KERNEL = re.compile(
    r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*(?P<bounds>\((?:[^()]|\([^()]*\))*\))\s*)?"
    r"(?:void\s+)?(?P<name>\w+)\s*\("
)
_DYNAMIC_SHARED = re.compile(
    r"extern\s+__shared__\s+(?:__align__\s*\(\s*\d+\s*\)\s*|alignas\s*\([^)]*\)\s*)?"
    r"(?P<type>[\w:\s]+?)\s+(?P<name>\w+)\s*\[\s*\]\s*;"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CLAIMS = re.compile(r"atomicCAS\s*\(")
_WAITS = re.compile(r"__sync(threads|warp)|__shfl_|__ballot_sync|__a(ny|ll)_sync|__match_any_sync")
# No contraction, as results must not depend on the host; and sanitizers do not know of fibers.
_FLAGS = (
    *("-std=c++17", "-O1", "-g0", "-w", "-fPIC", "-shared", "-ffp-contract=off"),
    *("-fvisibility=hidden", "-fno-gnu-unique", "-fno-exceptions"),
    "-fno-asynchronous-unwind-tables",
)
_SANITIZER_FLAGS = {
    "": ("-fsanitize=alignment",),
    "thread": ("-g1", "-fsanitize=thread", "--param=tsan-instrument-func-entry-exit=0"),
    "address": ("-g1", "-fsanitize=address", "--param=asan-stack=0", "-fno-omit-frame-pointer"),
}


# What -fsanitize=alignment calls is in sim_alignment.h, and not in the library that it asks for.
_LIBRARIES = {"": ("-nodefaultlibs", "-lm", "-lc", "-lgcc"), "thread": (), "address": ()}

_KERNELS = Progress("kernels for the simulated GPU, each once")


class CompileError(RuntimeError):
    """The compiler refused the source; the message is its log."""


def compiler() -> list[str]:
    """The command of the host's C++ compiler: ``CXX``, or ``g++``."""
    command = shlex.split(environ.get("CXX", "g++"))
    if not command or shutil.which(command[0]) is None:
        raise RuntimeError(f"no C++ compiler: {' '.join(command) or 'CXX is empty'}")
    return command


def sanitizer_from(name: str | None) -> str:
    """``name``, or what OFL_SIM_SANITIZE says if it is None."""
    chosen = environ.get("OFL_SIM_SANITIZE", "") if name is None else name
    if chosen not in SANITIZERS:
        raise ValueError(f"sanitizer {chosen!r}: expected one of thread, address, or nothing")
    return chosen


def compile(
    source: str, arch: str, options: Sequence[str] = (), *, sanitizer: str | None = None
) -> bytes:
    r"""Compile CUDA C++ to an image for ``cuModuleLoadData`` of the simulated driver.

    Parameters
    ----------
    source : str
        CUDA C++ with kernels that are plain ``extern "C"`` functions.
    arch : str
        ``"sm_90"`` and the like; becomes ``__CUDA_ARCH__``.
    options : sequence of str, default=()
        As NVRTC takes them. Definitions and folders of headers are passed on; what concerns the
        device's code generation is accepted and has no effect.
    sanitizer : {"", "thread", "address"}, optional
        By default what ``OFL_SIM_SANITIZE`` says.

    Returns
    -------
    bytes
        A shared object of the host.

    Raises
    ------
    CompileError
        With the compiler's log.

    Examples
    --------
    >>> image = compile('extern "C" __global__ void one(int* p) { *p = 1; }', "sm_90")
    >>> image[:4]
    b'\x7fELF'
    """
    chosen = sanitizer_from(sanitizer)
    flags = [*_FLAGS, *_SANITIZER_FLAGS[chosen], *host_options(arch, options)]
    bare = _COMMENT.sub("", source)
    if _WAITS.search(bare):
        flags.append("-DSIM_FIBERS")
    if _CLAIMS.search(bare):
        flags.append("-DSIM_UNORDERED=true")
    # Not a TemporaryDirectory, which goes when the process or a forked child of it leaves.
    folder = Path(tempfile.mkdtemp(prefix="sim-"))
    try:
        target = folder / "kernels.so"
        command = [*compiler(), "-x", "c++", *flags, f"-I{INCLUDE}", "-o", str(target), "-"]
        command += _LIBRARIES[chosen]
        text = host_source(source, bare)
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=False)
        _KERNELS.step()
        if done.returncode:
            raise CompileError(done.stderr.decode(errors="replace"))
        return target.read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def host_source(source: str, bare: str) -> str:
    """What the host's compiler reads; lines keep their numbers."""
    kernels = {match["name"]: match["bounds"] or "()" for match in _KERNEL.finditer(bare)}
    body = _DYNAMIC_SHARED.sub(
        r"\g<type>* const \g<name> = reinterpret_cast<\g<type>*>(sim::place.dynamic_shared);",
        source,
    )
    records = "".join(f"SIM_KERNEL({name}, {bounds})\n" for name, bounds in kernels.items())
    return f'#include "sim_cuda.h"\n#line 1 "kernel.cu"\n{body}\n{records}'


def host_options(arch: str, options: Sequence[str]) -> list[str]:
    """The host compiler's flags for NVRTC's; ValueError for one that is not known."""
    match = re.fullmatch(r"(?:sm|compute|lto)_(\d+)[af]?", arch)
    if match is None:
        raise ValueError(f"arch {arch!r}: expected sm_NN or compute_NN")
    flags = [f"-D__CUDA_ARCH__={int(match[1]) * 10}", "-D__CUDACC__", "-D__CUDACC_RTC__"]
    passed = {"-D": "-D", "--define-macro": "-D", "-U": "-U", "-I": "-I", "--include-path": "-I"}
    ignored = (
        *("--gpu-architecture", "-arch", "--std", "-std", "--fmad", "-fmad", "--use_fast_math"),
        *("-use_fast_math", "--ftz", "-ftz", "--prec-div", "--prec-sqrt", "--maxrregcount"),
        *("-default-device", "--device-as-default-execution-space", "-lineinfo", "--extra-"),
        *("--generate-line-info", "-G", "--device-debug", "--no-cache", "--split-compile"),
        *("--restrict", "-restrict", "--minimal", "--diag-", "--ptxas-options", "-w", "--pch"),
        *("--disable-warnings", "--relocatable-device-code", "--dopt", "--builtin-"),
    )
    remaining = list(options)
    while remaining:
        option = remaining.pop(0)
        prefix = next(
            (p for p in sorted(passed, key=len, reverse=True) if option.startswith(p)), ""
        )
        if prefix:
            value = option[len(prefix) :].lstrip("=").strip() or remaining.pop(0)
            if prefix not in ("-I", "--include-path") or not (Path(value) / "cuda_fp16.h").exists():
                flags.append(passed[prefix] + value)  # the simulation has its own CUDA headers
        elif not option.startswith(ignored):
            raise ValueError(f"option {option!r} is not known to the simulated compiler")
    return flags
