"""A smaller instruction set for all libraries alike: their variables, and a restart with them."""

import argparse
import os
import sys
from typing import Any

import numpy as np

from oneflow_lite import _C

NATIVE, AVX2 = "native", "avx2"
# Instruction set of our loops -> its name in tables. Tables have them in this order.
LABELS = {"avx512": "AVX-512", "avx2": "AVX2", "baseline": "baseline"}


def _beyond() -> list[str]:
    """What NumPy uses beyond AVX2, by its own names."""
    numpy: Any = np._core._multiarray_umath  # type: ignore[attr-defined]
    names = [name for name in numpy.__cpu_dispatch__ if name == "X86_V4" or "AVX512" in name]
    return [name for name in names if numpy.__cpu_features__[name]]


def within_avx2() -> dict[str, str]:
    """Return the variables that limit every library."""
    disabled = [*os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split(), *_beyond()]
    xla = os.environ.get("XLA_FLAGS", "").split()
    limit = "--xla_cpu_max_isa=AVX2"
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(disabled),
        "ONEFLOW_LITE_CPU_ISA": AVX2,
        "OPENBLAS_CORETYPE": "Haswell",
        "XLA_FLAGS": " ".join(xla if limit in xla else [*xla, limit]),
        "ATEN_CPU_CAPABILITY": AVX2,  # PyTorch's loops, and its products
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    }


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--isa`` to a benchmark's options."""
    parser.add_argument(
        "--isa", choices=(NATIVE, AVX2), default=NATIVE, help="limit all libraries alike"
    )


def restart(isa: str) -> None:
    """Start this process again where its environment does not limit the libraries yet.

    Raises
    ------
    SystemExit
        When the processor has no AVX2.
    """
    if isa == NATIVE:
        return
    wanted = within_avx2()
    if any(os.environ.get(name, "") != value for name, value in wanted.items()):
        sys.stdout.flush()
        arguments = [sys.executable, *sys.orig_argv[1:]]
        os.execve(sys.executable, arguments, {**os.environ, **wanted})
    if _C.cpu_isa() != AVX2:
        raise SystemExit(f"[--isa] wanted {AVX2}, but this processor has {_C.cpu_isa()} only")
