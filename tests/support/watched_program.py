"""Calls every function of the op modules on few elements or none, while the module numpy_watch
stands before NumPy's loops and sorts: ``watched_program FOLDER``, which has that module.

Prints the calls that NumPy itself would not make, and how many calls there were, as JSON.
"""

import json
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np
from numpy.fft import _pocketfft_umath
from numpy.linalg import _umath_linalg

LOOPS = {
    id(ufunc): ufunc
    for module in (np, np._core.umath, _umath_linalg, _pocketfft_umath)
    for ufunc in vars(module).values()
    if isinstance(ufunc, np.ufunc)
}
sys.path.insert(0, sys.argv[1])
numpy_watch = import_module("numpy_watch")
for ufunc in LOOPS.values():
    numpy_watch.watch(ufunc)

flow = import_module("oneflow_lite")  # takes the loops as it is imported
fft, linalg, ops = (import_module(f"oneflow_lite.{name}") for name in ("fft", "linalg", "ops"))

SHAPES = ((), (0,), (1,), (5,), (0, 3), (3, 0), (1, 1), (2, 2, 2))
DTYPES = ("bool", "int16", "uint64", "float16", "float32", "complex128")
DTYPES += ("bfloat16",) if hasattr(flow, "bfloat16") else ()
REFUSED = (TypeError, ValueError, IndexError, OverflowError, RuntimeError, AttributeError)


def functions(package: ModuleType) -> Iterator[Callable[..., Any]]:
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        module = import_module(found.name)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if callable(value) and not isinstance(value, type):
                yield value


def layouts(x: np.ndarray) -> Iterator[np.ndarray]:
    """Contiguous, with gaps, backwards, and at an odd address."""
    yield x
    yield np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x
    yield x[..., ::-1] if x.ndim else x
    odd = np.empty(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    odd[...] = x
    yield odd


def settled(value: Any) -> None:
    """Have it computed."""
    for item in value if isinstance(value, (tuple, list)) else [value]:
        if isinstance(item, flow.Tensor):
            item.numpy()


def calls(f: Callable[..., Any], x: Any, y: Any) -> Iterator[Callable[[], Any]]:
    """Calls that leave x as it is; y is written where it stands at the place of out."""
    yield lambda: f(x)
    yield lambda: f(x, y)
    yield lambda: f(x, axis=0)
    yield lambda: f(x, axis=-1)


def main() -> None:
    everything = [*functions(ops), *functions(linalg), *functions(fft)]
    for dtype, shape in product(DTYPES, SHAPES):
        ones = np.ones(shape, getattr(flow, dtype))
        for x, y in zip(layouts(ones), layouts(ones.copy()), strict=True):
            for f in everything:
                for call in calls(f, flow.asarray(x), flow.asarray(y)):
                    with suppress(*REFUSED):
                        settled(call())
    print(json.dumps(numpy_watch.seen()))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    main()
