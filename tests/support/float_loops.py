"""The float32 and float64 loops of our own as a library, compiled with other formulas, too."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oneflow_lite import _C
from tests.support import ON_X86, ROOT
from tests.support.compiling import COMPILER, SOURCES, compiled

ROOM = Path("ops/elementwise/float_functions")
FORMULAS = ROOM / "formulas"
PARTS = ("avx2.cpp", "avx512.cpp", "agreement.cpp", "pair_inputs.cpp")
OF_FDLIBM = (
    *("expm1", "log1p", "atan", "cbrt", "sinh", "atanh", "log10"),
    *("cosh", "tan", "asin", "acos", "asinh", "acosh"),
)
ORDER = ("exp", "log", "tanh", "sin", "cos", "exp2", "log2", "pow", *OF_FDLIBM)  # of FloatFunction
OF_DOUBLES = (
    *("exp", "log", "sin", "cos", "exp2", "log2", "log10", "expm1", "log1p"),
    *("cbrt", "sinh", "atanh", "cosh", "asinh", "acosh"),
)
NAMES = [f"{name} float32" for name in ORDER if name != "pow"]
NAMES += [f"{name} float64" for name in OF_DOUBLES]
OF_LIBRARY = [*NAMES[5:], "pow float32", "pow float64"]  # with its formulas
ALL = [*NAMES, "pow float32", "pow float64"]
WIDEST = _C.CPU_ISAS.index(_C.widest_cpu_isa())
# The sources that are compiled anew with other formulas. Loops of wider vectors do not run here.
WITH_FORMULAS = ("avx2", "avx512")[: 1 + (_C.CPU_ISAS[WIDEST] == "avx512")]

MARKS = [
    pytest.mark.toolchain,
    pytest.mark.skipif(not ON_X86, reason="loops of x86"),
    pytest.mark.skipif(WIDEST == 0, reason="the processor has no AVX2"),
    pytest.mark.xdist_group("float_loops"),  # they share libraries that are compiled
]


class Loops:
    """A library of the loops, compiled from the sources with some of their text replaced. Of the
    rest, ``objects`` has what was compiled before.
    """

    def __init__(
        self, folder: Path, replaced: dict[str, dict[str, str]], objects: Path | None = None
    ) -> None:
        for part, changes in replaced.items():
            text = (ROOT / "csrc" / FORMULAS / part).read_text()
            for old, new in changes.items():
                assert text.count(old) == 1, (part, old)
                text = text.replace(old, new)
            (folder / FORMULAS).mkdir(parents=True, exist_ok=True)
            (folder / FORMULAS / part).write_text(text)
        flags = ["-Og", "-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-fPIC"]
        includes = [f"-I{folder}", f"-I{ROOT / 'csrc'}"]
        linked = []
        for source in (ROOT / "csrc" / ROOM / part for part in PARTS):
            is_kept = objects is not None and source.stem not in WITH_FORMULAS
            linked.append((objects if objects and is_kept else folder) / f"{source.stem}.o")
            if not is_kept:
                compiled([*COMPILER, *flags, *includes, "-c", source, "-o", linked[-1]])
        library = SOURCES / "libraries/float_functions.cpp"
        target = folder / "float_functions.so"
        compiled([*COMPILER, *flags, *includes, "-shared", library, *linked, "-o", target])
        self.library = ctypes.CDLL(str(target))
        self.library.loop_address.restype = ctypes.c_void_p
        self.library.is_told.restype = ctypes.c_bool
        self.library.points.restype = ctypes.c_int64
        for name in ("", "_from_library", "_from_odd", "_in_gaps"):
            getattr(self.library, f"differences{name}").restype = ctypes.c_int64

    def call(self, wide: int, name: str, x: np.ndarray, out: np.ndarray) -> None:
        """Of one-dimensional arrays, which may share memory."""
        place = [ctypes.c_void_p(x.ctypes.data), ctypes.c_ssize_t(x.strides[0])]
        place += [ctypes.c_void_p(out.ctypes.data), ctypes.c_ssize_t(out.strides[0])]
        self.library.call(wide, *kind(name), *place, ctypes.c_ssize_t(x.size))

    def differences(self, wide: int, name: str, other: "Loops") -> int:
        address = ctypes.c_void_p(other.library.loop_address(wide, *kind(name)))
        return int(self.library.differences(wide, *kind(name), address))

    def points(self, name: str) -> np.ndarray:
        found = np.zeros(100_000, dtype_of(name))
        pointer = ctypes.c_void_p(found.ctypes.data)
        count = self.library.points(*kind(name), pointer, ctypes.c_int64(found.size))
        assert 0 < count < found.size
        return found[:count]


def dtype_of(name: str) -> np.dtype[Any]:
    return np.dtype(name.split()[1])


def kind(name: str) -> tuple[int, int]:
    """The function and the size of an element, as the library has them."""
    return ORDER.index(name.split()[0]), dtype_of(name).itemsize
