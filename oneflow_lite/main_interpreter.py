"""Refuses subinterpreters: the machine, like NumPy, is one for the process."""

import importlib


def require() -> None:
    """Raise ImportError unless the calling thread runs the main interpreter."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # of Python 3.13, and of those before
        try:
            interpreters = importlib.import_module(name)
        except ImportError:
            continue
        if interpreters.get_current() != interpreters.get_main():
            raise ImportError(
                "oneflow_lite cannot be imported in a subinterpreter: import it in the main "
                "interpreter of the process"
            )
        return
