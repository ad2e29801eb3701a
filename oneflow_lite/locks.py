"""Locks that a forked child finds free, as it has no other thread of its parent."""

import os
import threading
from typing import Any
from weakref import WeakSet

__all__: list[str] = []

_freed: "WeakSet[Any]" = WeakSet()


def make_lock() -> "threading.RLock":
    """Return a reentrant lock. The thread that forks keeps it in the child if it has it."""
    lock = threading.RLock()
    free_in_child(lock)
    return lock


def free_in_child(lock: Any) -> None:
    """Do for a lock of another library what is done for those of ``make_lock``."""
    _freed.add(lock)


def _free_in_child() -> None:
    for lock in _freed:
        if lock.acquire(blocking=False):
            lock.release()
        else:
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_in_child)
