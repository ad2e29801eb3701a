"""What is known of a pass before it runs."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PassInfo:
    """The name of a pass, the level from which ``Sequential`` runs it, and what runs before it.

    ``required`` has the names of its prerequisites, which are registered passes.
    """

    level: int
    name: str
    required: tuple[str, ...] = ()
