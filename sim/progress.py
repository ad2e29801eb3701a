"""Tells a person at a terminal what the simulation compiles, and how far it is."""

import sys
import threading
import time

_LEAST_SECONDS = 1.0  # between two lines of one kind


class Progress:
    """Lines on a terminal: what is compiled, and how much of it is done.

    Nothing is written where standard error is no terminal.

    Parameters
    ----------
    what : str
        Such as ``"the simulated driver"``.
    total : int, optional
        How many steps there are, where that is known.

    Examples
    --------
    >>> progress = Progress("an example", total=2)
    >>> progress.step()
    >>> progress.text()
    'oneflow_lite: compiling an example: 1 of 2'
    """

    def __init__(self, what: str, total: int = 0) -> None:
        self._what, self._total = what, total
        self._done = 0
        self._shown = time.monotonic()
        self._lock = threading.Lock()  # guards the fields above

    def text(self) -> str:
        """Return the line as it is now."""
        count = f"{self._done} of {self._total}" if self._total else f"{self._done} so far"
        return f"oneflow_lite: compiling {self._what}: {count}"

    def step(self, steps: int = 1) -> None:
        """Count, and write a line unless the last one is younger than a second. Any thread."""
        with self._lock:
            self._done += steps
            now = time.monotonic()
            is_last = self._done == self._total
            if not is_last and now - self._shown < _LEAST_SECONDS:
                return
            self._shown = now
            if sys.stderr is not None and sys.stderr.isatty():
                print(self.text(), file=sys.stderr, flush=True)
