"""Completion: a function that has been pushed, as the thread that pushed it sees it."""

import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite.flags import LOG
from oneflow_lite.locks import make_lock

if TYPE_CHECKING:
    import asyncio

# The phases of csrc/python/engine/call.h.
_QUEUED, _RUNNING, _RETURNED, _FAILED, _CANCELLED = range(5)


class _Watch:
    """Who is to be told of the end of a completion. Made at the first need.

    ``concurrent.futures`` looks at a future's ``_condition``, ``_state`` and ``_waiters``; these
    have the same meaning here. It takes the conditions of several futures in one order, so each has
    a lock of its own.
    """

    def __init__(self) -> None:
        # A Condition's own `with` may fail on its way out for want of memory, and keep the lock.
        self.lock = make_lock()
        self.condition = threading.Condition(self.lock)
        self.callbacks: list[Callable[[Completion], Any]] = []
        self.waiters: list[Any] = []
        self.is_begun = False  # it will be told, or has been
        self.is_told = False

    def begin(self, of: "Completion") -> None:
        """Be told of the end. It may fail, and the next caller begins again."""
        if of.done():
            self.tell(of)
        else:
            of._when_over(lambda: self.tell(of))
        self.is_begun = True

    def tell(self, of: "Completion") -> None:
        """Once: wake those that wait, then call the callbacks."""
        with self.lock:
            if self.is_told:
                return
            self.is_told = True
            for waiter in self.waiters:
                if of.cancelled():
                    waiter.add_cancelled(of)
                elif of._phase == _FAILED:
                    waiter.add_exception(of)
                else:
                    waiter.add_result(of)
            self.condition.notify_all()
        callbacks, self.callbacks = self.callbacks, []
        for callback in callbacks:
            _call(callback, of)


_making = make_lock()  # of watches: held for moments, and no other lock is taken meanwhile


def _call(
    callback: Callable[["Completion"], Any],
    of: "Completion",
    caught: type[BaseException] = BaseException,
) -> None:
    """Nobody can be given what a callback raises, so it is logged."""
    try:
        callback(of)
    except caught:
        LOG.exception("a callback of %r failed", of)


if TYPE_CHECKING:

    class _Base(_C.Completion, Future[Any]):  # type: ignore[misc]
        """To checkers it is a future, as ``concurrent.futures`` takes it for one."""

else:
    _Base = _C.Completion


class Completion(_Base):
    """A function in flight, or its outcome: what ``push`` returns.

    It has the methods of ``concurrent.futures.Future``, is accepted by
    ``concurrent.futures.wait`` and ``as_completed``, and can be awaited in any asyncio loop.

    Examples
    --------
    >>> from oneflow_lite import engine
    >>> done = engine.push(lambda: 6 * 7)
    >>> done.result()
    42
    """

    __slots__ = ("__weakref__", "_watch")

    def done(self) -> bool:
        """Whether it has returned, failed or been cancelled. Never waits.

        Examples
        --------
        >>> done = flow.engine.push(int)
        >>> done.wait()
        >>> done.done()
        True
        """
        return self._phase > _RUNNING

    def running(self) -> bool:
        """Whether the function is in its call, or has returned and not completed.

        Examples
        --------
        >>> done = flow.engine.push(int)
        >>> done.wait()
        >>> done.running()
        False
        """
        return self._phase == _RUNNING

    def cancelled(self) -> bool:
        """Whether it was cancelled before it began.

        Examples
        --------
        >>> done = flow.engine.push(int)
        >>> done.wait()
        >>> done.cancelled()
        False
        """
        return self._phase == _CANCELLED

    def cancel(self) -> bool:
        """Cancel the function if it has not begun.

        Functions and operations that need what it would have written are skipped, and raise
        ``CancelledError`` with the line of its push.

        Returns
        -------
        bool
            False: it has begun, or is over.

        Examples
        --------
        >>> done = flow.engine.push(int)
        >>> done.wait()
        >>> done.cancel()
        False
        """
        if self._phase == _CANCELLED:
            return True
        if not self._cancel():
            return False
        watch = getattr(self, "_watch", None)
        if watch is not None:
            watch.tell(self)
        return True

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is over; raise what it raised.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None: as long as it takes.

        Raises
        ------
        TimeoutError
            It is not over after that time.
        CancelledError
            It was cancelled.
        Exception
            What the function raised, or what its operands have failed with.

        Examples
        --------
        >>> flow.engine.push(int).wait()
        """
        exception = self.exception(timeout)
        if exception is not None:
            raise exception

    def result(self, timeout: float | None = None) -> Any:
        """Wait until it is over; return what the function returned, or raise what it raised.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None: as long as it takes.

        Returns
        -------
        object
            What the function returned; of one that completes later, the ``result`` that it gave.

        Raises
        ------
        TimeoutError, CancelledError, Exception
            As of ``wait``.

        Examples
        --------
        >>> flow.engine.push(lambda: "done").result(timeout=60)
        'done'
        """
        self.wait(timeout)
        return self._result()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait until it is over; return what it raised, or None.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None: as long as it takes.

        Returns
        -------
        BaseException or None
            A new one each time, with the line of the push.

        Raises
        ------
        TimeoutError, CancelledError
            As of ``wait``.

        Examples
        --------
        >>> flow.engine.push(lambda: 1 / 0).exception()
        ZeroDivisionError('division by zero')
        """
        if not self._wait(timeout):
            raise TimeoutError(f"the function is not over after {timeout} s")
        if self._phase == _CANCELLED:
            raise CancelledError
        return self._failure() if self._phase == _FAILED else None

    def add_done_callback(self, fn: Callable[["Completion"], Any]) -> None:
        """Call ``fn(self)`` when it is over, on a thread of the machine.

        If it is over, the function is called now. What it raises is logged. Of one that is called
        now, ``KeyboardInterrupt`` and ``SystemExit`` are the caller's.

        Parameters
        ----------
        fn : callable
            Called with this completion.

        Examples
        --------
        >>> seen = []
        >>> done = flow.engine.push(int)
        >>> done.wait()
        >>> done.add_done_callback(seen.append)
        >>> seen == [done]
        True
        """
        watch = self._watched()
        with watch.lock:
            if not watch.is_told:
                watch.callbacks.append(fn)
                return
        _call(fn, self, Exception)

    def __await__(self) -> Generator[Any, None, Any]:
        # A task runs, so asyncio is there; the package does not import it, which takes long.
        loop: asyncio.AbstractEventLoop = sys.modules["asyncio"].get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def give() -> None:
            if future.done():  # the task was cancelled meanwhile
                return
            if self.cancelled():
                future.cancel()
                return
            failure = self._failure()
            if failure is None:
                future.set_result(self._result())
            else:
                future.set_exception(_raisable(failure))

        if self.done():
            give()
        else:
            self.add_done_callback(lambda _: _to_loop(loop, give))
        return future.__await__()

    def __repr__(self) -> str:
        phases = ("queued", "running", "returned", "failed", "cancelled")
        return f"<Completion {phases[self._phase]}>"

    def _watched(self) -> _Watch:
        watch: _Watch | None = getattr(self, "_watch", None)
        if watch is None:
            made = _Watch()
            with _making:
                watch = getattr(self, "_watch", None)
                if watch is None:
                    watch = self._watch = made
        # Without a lock, as it may wait for room in the window. Where two threads begin, the first
        # notice tells.
        if not watch.is_begun:
            watch.begin(self)
        return watch

    @property
    def _condition(self) -> threading.Condition:  # type: ignore[override]
        return self._watched().condition

    @property
    def _state(self) -> str:  # type: ignore[override]
        if not self._watched().is_told:
            return "PENDING"
        return "CANCELLED_AND_NOTIFIED" if self.cancelled() else "FINISHED"

    @property
    def _waiters(self) -> list[Any]:  # type: ignore[override]
        return self._watched().waiters


def _raisable(failure: BaseException) -> BaseException:
    """Return what an await raises: a StopIteration would end the coroutine, as if it returned."""
    if not isinstance(failure, StopIteration):
        return failure
    error = RuntimeError("the function raised StopIteration, which no coroutine can raise")
    error.__cause__ = failure
    return error


def _to_loop(loop: "asyncio.AbstractEventLoop", give: Callable[[], None]) -> None:
    """A loop that has been closed has no task that waits."""
    try:
        loop.call_soon_threadsafe(give)
    except RuntimeError:
        if not loop.is_closed():
            raise


_C.Completion._set_class(Completion)
