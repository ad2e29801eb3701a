"""The library of matrix products: which one, and for which kind of core.

The build puts it into the package. It is loaded when the first product of floating-point matrices
is issued.
"""

import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from oneflow_lite import _C
from oneflow_lite.flags import LOG, PREFIX, flags
from oneflow_lite.locks import make_lock

_FOLDER = Path(__file__).parents[1] / "openblas"
_PREFIX = "scipy_"  # of its symbols
_CORE_VARIABLE = "OPENBLAS_CORETYPE"
# What each kind of core must have, by processor; OpenBLAS itself does not look.
_AVX2 = {"avx2", "fma", "bmi2"}
_AVX512 = {*_AVX2, "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
_NEEDS: dict[str, dict[str, set[str]]] = {
    "x86_64": {
        "Prescott": {"sse3"},
        "Nehalem": {"sse4.2"},
        "Sandybridge": {"avx"},
        "Haswell": _AVX2,
        "Zen": _AVX2,
        "SkylakeX": _AVX512,
    },
    "aarch64": {
        "ARMv8": set(),
        "CortexA57": set(),
        "NeoverseN1": {"atomics", "asimddp"},
        "NeoverseV1": {"sve"},
        "NeoverseN2": {"sve"},
    },
}
_CORES = {"avx512": "SkylakeX", "avx2": "Haswell", "baseline": "Nehalem"}  # by _C.CPU_ISAS


class Blas(NamedTuple):
    """What products use: OpenBLAS's version, its core type; or why NumPy's loops are used.

    With ``own_loops``, large products of float32 and float64 are ours
    (``csrc/ops/product/gemm_panels.h``).
    """

    name: str
    core: str
    own_loops: bool = False


_lock = make_lock()  # guards the one below while it is found
_found: Blas | None = None


def check_core() -> None:
    """ValueError unless this processor can be a core of the kind that flag ``blas_core`` names."""
    core = str(flags.blas_core)
    if core not in ("auto", "numpy"):
        _check(f"{PREFIX}BLAS_CORE={core}", core)


def core_types() -> list[str]:
    """Return the kinds of core that this processor can be."""
    return [core for core in _NEEDS.get(platform.machine(), {}) if not _lacking(core)]


def _lacking(core: str) -> list[str]:
    """Return what a kind of core has and this processor lacks; nothing of an unknown kind."""
    known = {name.lower(): needs for name, needs in _NEEDS.get(platform.machine(), {}).items()}
    return sorted(known.get(core.lower(), set()) - set(_C.cpu_features()))


def _check(given: str, core: str) -> None:
    """OpenBLAS takes any core type that it is told, and ends in an illegal instruction."""
    if core.lower() in (name.lower() for name in core_types()):
        return
    lacking = _lacking(core)
    reason = f"which needs {', '.join(lacking)}" if lacking else "which is not known"
    if lacking and flags.cpu_isa != "auto":
        reason += f"; flag cpu_isa is {flags.cpu_isa}"
    raise ValueError(
        f"[blas] {given}: expected auto, numpy or a core type that this processor can be "
        f"({', '.join(core_types())}), got {core}, {reason}"
    )


def in_force() -> Blas:
    """Return the library in force; load it where that was not tried yet."""
    global _found
    with _lock:
        if _found is None:
            _found = _find()
        return _found


def _find() -> Blas:
    if flags.blas_core == "numpy":
        return Blas("NumPy's loops (flag blas_core)", "")
    path = _library()
    if path is None:
        return Blas("NumPy's loops (this build has no OpenBLAS)", "")
    asked = os.environ.get(_CORE_VARIABLE, "")
    if flags.blas_core == "auto" and _lacking(asked):
        _check(f"{_CORE_VARIABLE}={asked}", asked)
    wanted = _core()
    is_free = flags.blas_core == "auto" and _CORE_VARIABLE not in os.environ
    own_loops = is_free and _C.has_panel_loops()
    try:
        # It makes no threads: the helpers of the cpu call it.
        with _environment(OPENBLAS_NUM_THREADS="1", OPENBLAS_CORETYPE=wanted):
            config, core = _C.load_blas(str(path), _PREFIX, own_loops)
    except RuntimeError as error:
        LOG.warning("products go through NumPy's loops: %s", error)
        return Blas(f"NumPy's loops ({error})", "")
    if wanted and core.lower() != wanted.lower():  # of another version of the library
        LOG.warning("OpenBLAS has no core type %s here, it uses %s", wanted, core)
    return Blas(" ".join(config.split()[:2]), core, own_loops)


def _library() -> Path | None:
    """Return the path of the library, if it came with the package."""
    suffix = "dylib" if sys.platform == "darwin" else "so"
    path = _FOLDER / f"libscipy_openblas.{suffix}"
    return path if path.exists() else None


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Set what the library reads while it is loaded, if not empty; ``os.environ`` is as before."""
    given = {name: value for name, value in variables.items() if value}
    for name, value in given.items():
        os.putenv(name, value)
    try:
        yield
    finally:
        for name in given:
            if name in os.environ:
                os.putenv(name, os.environ[name])
            else:
                os.unsetenv(name)


def _core() -> str:
    """Return the core type to ask for; empty: OpenBLAS's own choice.

    For AVX-512 cores that are not Intel's, its choice has been Haswell, at half the speed. Where
    flag ``cpu_isa`` limits our own loops, it gets a core that has no more.
    """
    if flags.blas_core != "auto":
        return str(flags.blas_core)
    if os.environ.get(_CORE_VARIABLE):
        return ""
    isa = _C.cpu_isa()
    if isa != _C.widest_cpu_isa() or (isa == "avx512" and not _C.cpu_is_intel()):
        return _CORES[isa]
    return ""


_C.set_blas_finder(in_force)
