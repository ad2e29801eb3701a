"""``ONEFLOW_LITE_CUDA_SIM``: devices that are not there, by the driver of the source tree."""

import importlib
import sys
from pathlib import Path

_TREE = Path(__file__).parents[2]


def load() -> None:
    """Make the simulated driver that of this process. Before its first CUDA call.

    Raises
    ------
    ImportError
        Where the package is not in its source tree.
    RuntimeError
        Not on Linux, no compiler, or a driver is loaded already.
    ValueError
        For a value of the variable that the driver does not understand.
    """
    if not (_TREE / "sim" / "driver").is_dir():
        raise ImportError(
            "ONEFLOW_LITE_CUDA_SIM needs the simulated driver, which is in the source tree and not "
            "in the wheel: install the checkout by `pip install -e .`"
        )
    sys.path.insert(0, str(_TREE))
    try:
        simulation = importlib.import_module("sim")
        simulation.load()
        simulation.configure("")  # tells what is wrong with the variable
    finally:
        sys.path.remove(str(_TREE))
