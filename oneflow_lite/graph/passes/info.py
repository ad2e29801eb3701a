"""What is known of a pass before it runs."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from operator import index
from typing import Any

KNOWN_NAMES: dict[str, None] = {}  # of all passes that there have been


@dataclass(frozen=True, slots=True)
class PassInfo:
    """The name of a pass, the level from which ``Sequential`` runs it, and what runs before it.

    ``required`` has the names of its prerequisites, which are registered passes.
    """

    level: int
    name: str
    required: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        KNOWN_NAMES.setdefault(self.name)


def level_of(op: str, what: str, given: Any) -> int:
    """Return a level that is given to ``op``: any integer but a truth, or TypeError."""
    if not isinstance(given, bool):
        with suppress(TypeError):
            return index(given)
    raise TypeError(f"[{op}] {what}: expected an integer, got {given!r}")


def checked_info(op: str, level: Any, name: Any, required: Any) -> tuple[int, tuple[str, ...]]:
    """Return the level and the prerequisites of a pass that are given to ``op``, or TypeError."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"[{op}] name: expected a string, got {name!r}")
    is_list = isinstance(required, Iterable) and not isinstance(required, str)
    names = tuple(required) if is_list else (None,)
    if not all(isinstance(x, str) for x in names):
        raise TypeError(f"[{op}] required: expected a list of names, got {required!r}")
    return level_of(op, "opt_level", level), names
