"""The array libraries to compare with: how each makes an array and finishes its work.

The optional ones are imported here and nowhere else.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

import oneflow_lite as flow


@dataclass(frozen=True)
class Library:
    """One contender's library.

    Attributes
    ----------
    array : callable
        An array of the library with the values of a NumPy array.
    numpy : str
        Expression that gives the NumPy array of ``{}``.
    finish : str
        Statement that waits until ``r`` and everything before has been computed.
    each : str
        Statement after each operation, without which a lazy library would not execute it.
    """

    name: str
    module: ModuleType
    version: str
    array: Callable[[np.ndarray], Any]
    numpy: str = "{}"
    finish: str = "pass"
    each: str = ""


def _numpy(module: ModuleType) -> Library:
    return Library("NumPy", module, module.__version__, lambda x: x.copy())


def _torch(module: ModuleType) -> Library:
    return Library(
        "PyTorch", module, module.__version__, lambda x: module.from_numpy(x.copy()), "{}.numpy()"
    )


def _jax(module: ModuleType) -> Library:
    return Library(
        "JAX",
        module,
        module.__version__,
        lambda x: module.device_put(x, module.devices("cpu")[0]),
        "np.asarray({})",
        "lib.block_until_ready(r)",
    )


def _mlx(module: ModuleType) -> Library:
    module.set_default_device(module.cpu)
    return Library(
        "MLX",
        module,
        module.__version__,
        module.array,
        "np.asarray({})",
        "lib.eval(r)",
        "lib.async_eval(r)",
    )


OURS = Library(
    "oneflow_lite", flow, flow.__version__, flow.tensor, "{}.numpy()", "lib.synchronize()"
)

# Module to import -> the library.
_OTHERS: dict[str, Callable[[ModuleType], Library]] = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
    "mlx.core": _mlx,
}


def installed() -> tuple[list[Library], list[str]]:
    """Return ours and every other library that is there, and the names of those that are not."""
    found, missing = [OURS], []
    for name, make in _OTHERS.items():
        try:
            module = importlib.import_module(name)
        except ImportError:
            missing.append(name)
        else:
            found.append(make(module))
    return found, missing
