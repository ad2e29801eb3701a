"""A CUDA driver without a GPU: libcuda, cuBLAS and NCCL on the host, for tests.

``sim.load()`` before the first CUDA call of the process; see README.md here.
"""

import ctypes
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

from sim.build import LIBRARIES, build
from sim.compiler import CompileError, compile

__all__ = [
    "CompileError",
    "compile",
    "configure",
    "counted",
    "counters",
    "is_loaded",
    "load",
    "reset_faults",
]

_libraries: list[ctypes.CDLL] = []


def load(directory: str | PathLike[str] | None = None, *, sanitizer: str | None = None) -> Path:
    """Make the simulated libraries those of this process; builds them if needed.

    Whoever opens ``libcuda.so.1`` by its name afterwards gets them: cuda-bindings, the C++ core.

    Parameters
    ----------
    directory : path, optional
        Where builds are kept, by default the user's cache folder.
    sanitizer : {"", "thread", "address"}, optional
        By default what ``OFL_SIM_SANITIZE`` says.

    Returns
    -------
    Path
        The folder of the libraries.

    Raises
    ------
    RuntimeError
        Not on Linux, no compiler, or another CUDA driver has been loaded already.

    Examples
    --------
    >>> folder = load()
    >>> counters()["live"]["streams"]
    0
    """
    if sys.platform != "linux":
        raise RuntimeError(f"the simulated CUDA driver needs Linux, this is {sys.platform}")
    folder = build(directory, sanitizer=sanitizer)
    if not _libraries:
        loaded = loaded_driver()
        if loaded is not None:
            raise RuntimeError(f"{loaded} is loaded already: call sim.load() before any CUDA call")
        for library in LIBRARIES:
            _libraries.append(ctypes.CDLL(str(folder / library.name), ctypes.RTLD_GLOBAL))
        _driver().simcuda_configure.restype = ctypes.c_char_p
        _driver().simcuda_counters.restype = ctypes.c_size_t
    return folder


def loaded_driver() -> str | None:
    """The path of the libcuda.so.1 of this process, None if it has none."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if "/libcuda.so" in path:
            return path
    return None


def is_loaded() -> bool:
    """Whether ``load`` has been called.

    Examples
    --------
    >>> is_loaded()
    True
    """
    return bool(_libraries)


def configure(text: str) -> None:
    """Set knobs, ``"key=value,..."`` as in ONEFLOW_LITE_CUDA_SIM, after those of the environment.

    Parameters
    ----------
    text : str
        What README.md lists. The shape of the machine is fixed by cuInit.

    Raises
    ------
    ValueError
        For an item that is not understood, here or in the environment; those before it hold.

    Examples
    --------
    >>> configure("jitter=20us,seed=7")
    >>> configure("jitter=0")
    """
    problem = _driver().simcuda_configure(text.encode())
    if problem is not None:
        raise ValueError(problem.decode())


def counters() -> dict[str, dict[str, int]]:
    """Count calls by name, what is alive, and the operations that streams have run.

    Examples
    --------
    >>> sorted(counters())
    ['calls', 'live', 'run']
    """
    size = _driver().simcuda_counters(None, ctypes.c_size_t(0))
    while True:
        buffer = ctypes.create_string_buffer(size)
        needed = _driver().simcuda_counters(buffer, ctypes.c_size_t(size))
        if needed <= size:
            result: dict[str, dict[str, int]] = json.loads(buffer.value)
            return result
        size = needed


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the calls of the driver in a ``with`` block, by name, in all threads of the process.

    The counts are there when the block has ended. How often a program looks whether work is done
    (cuEventQuery) depends on time.

    Yields
    ------
    Counter
        Calls that were made in the block; a name that was not called counts 0.

    Examples
    --------
    >>> from cuda.bindings import driver
    >>> with counted() as calls:
    ...     _ = driver.cuInit(0)
    >>> calls
    Counter({'cuInit': 1})
    """
    before = Counter(counters()["calls"])
    made: Counter[str] = Counter()
    yield made
    made.update(Counter(counters()["calls"]) - before)


def reset_faults() -> None:
    """Forget the injected failures that have not happened.

    Examples
    --------
    >>> configure("fail=cuMemAlloc:1:2")
    >>> reset_faults()
    """
    _driver().simcuda_reset_faults()


def _driver() -> ctypes.CDLL:
    if not _libraries:
        raise RuntimeError("the simulated CUDA driver is not loaded: call sim.load() first")
    return _libraries[0]
