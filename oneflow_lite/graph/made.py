"""Executables as they are made, for those who want to see all that a script makes."""

from collections.abc import Iterator
from contextlib import contextmanager

from oneflow_lite._C import Executable

_watching: list[list[Executable]] = []


@contextmanager
def watched() -> Iterator[list[Executable]]:
    """Keep what any thread makes in the block, in order."""
    found: list[Executable] = []
    _watching.append(found)
    try:
        yield found
    finally:
        del _watching[next(k for k, each in enumerate(_watching) if each is found)]


def note(run: Executable) -> None:
    """An executable was made."""
    for found in _watching:
        found.append(run)
