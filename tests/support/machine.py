"""What the tests of the machine share: work that is held until a test lets it go."""

import sys
import threading
from collections.abc import Callable

import oneflow_lite as flow


class Gate:
    """A host function that runs until ``open``; in a ``with`` block, opened at its end.

    ``tensor`` is a cpu tensor of zeros that the function writes: what uses it waits for the gate.
    """

    def __init__(self, size: int = 4) -> None:
        self.tensor = flow.zeros(size)
        self._opened = threading.Event()
        self._begun = threading.Event()

    def __enter__(self) -> "Gate":
        def hold(_: object) -> None:
            self._begun.set()
            self._opened.wait()

        self.call = flow.vm.host_func(hold, writes=[self.tensor])
        self._begun.wait()
        return self

    def __exit__(self, *exception: object) -> None:
        self.open()
        self.call.wait()

    def open(self) -> None:
        self._opened.set()

    def on(self, device: flow.Device | str) -> flow.Tensor:
        """Zeros on a device, not there before the gate is opened."""
        return self.tensor.to(device)


def run_in_threads(work: Callable[[int], None], count: int) -> None:
    """Call ``work(i)`` in a thread for each i; what one of them raises is a failure here."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    failures: list[object] = []
    hook, threading.excepthook = threading.excepthook, failures.append
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.excepthook = hook
    assert not failures


def in_thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def line_of(error: BaseException) -> str:
    """The note that says where the failed operation was issued."""
    (note,) = error.__notes__
    return str(note)


def here() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno
