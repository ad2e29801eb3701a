"""What is known of a pass before it runs."""

from dataclasses import dataclass
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


def check_info(op: str, level: Any, name: Any, required: Any) -> None:
    """Raise TypeError where arguments of ``op`` are no level, name and prerequisites of a pass."""
    if type(level) is not int:
        raise TypeError(f"[{op}] opt_level: expected an integer, got {level!r}")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"[{op}] name: expected a string, got {name!r}")
    is_list = isinstance(required, list | tuple | set | frozenset)
    if not is_list or not all(isinstance(x, str) for x in required):
        raise TypeError(f"[{op}] required: expected a list of names, got {required!r}")
