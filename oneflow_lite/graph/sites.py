"""Lines of the user's program, for errors."""

import contextlib
import os
import sys

import numpy as np

from oneflow_lite import failures
from oneflow_lite.graph.ir import Site

_GRAPH = os.path.join(os.path.dirname(__file__), "")
_PASSED_OVER = (
    failures.FOLDER,
    os.path.join(os.path.dirname(np.__file__), ""),
    contextlib.__file__,  # of blocks
)


def user_site() -> Site | None:
    """Return the file and line of the innermost frame outside of this package and NumPy."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PASSED_OVER):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def user_call() -> str | None:
    """Return the name of the function of this package that the user's line has called.

    None: it is an operator, or a function of C.
    """
    frame, inside = sys._getframe(1), None
    while frame.f_code.co_filename.startswith(_PASSED_OVER):
        inside = frame.f_code
        if frame.f_back is None:
            return None
        frame = frame.f_back
    if inside is None or inside.co_filename.startswith(_GRAPH):
        return None
    return inside.co_name


def like(error: Exception, text: str) -> Exception:
    """Return an error of the same kind that says more: by its class, or the built-in one."""
    kind = next(
        x for x in (OverflowError, TypeError, ValueError, Exception) if isinstance(error, x)
    )
    return kind(text)


def here() -> str:
    """Return the line of the user's program that is running, for the end of a sentence."""
    return at(user_site())


def at(site: Site | None) -> str:
    """Return a line as it stands in a sentence: `` (net.py:31)``."""
    return f" ({site[0]}:{site[1]})" if site else ""
