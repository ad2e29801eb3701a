"""Locks that a forked child finds free, as it has no other thread of its parent."""

import os
import threading
from weakref import WeakSet

__all__: list[str] = []

_made: "WeakSet[threading.RLock]" = WeakSet()


def make_lock() -> "threading.RLock":
    """Return a reentrant lock. The thread that forks keeps it in the child if it has it."""
    lock = threading.RLock()
    _made.add(lock)
    return lock


def _free_in_child() -> None:
    for lock in _made:
        if lock.acquire(blocking=False):
            lock.release()
        else:
            lock._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
