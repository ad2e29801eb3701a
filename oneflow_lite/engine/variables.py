"""Variables: what functions read and write and the library does not see."""

from collections.abc import Callable
from typing import Any

from oneflow_lite import _C
from oneflow_lite.engine.completion import Completion
from oneflow_lite.engine.names import label


class Var(_C.Var):
    """A token for anything that functions read and write: a file, a table, a socket.

    Parameters
    ----------
    name : str, optional
        For errors and reports.

    Examples
    --------
    >>> log = flow.engine.Var("log")
    >>> log.name, log.deleted
    ('log', False)
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, name: str = "") -> "Var":
        """Take the name."""
        return super().__new__(cls, name)

    def __reduce__(self) -> Any:
        raise TypeError("a Var is a token: a copy of it would order nothing")

    def delete(self) -> Completion:
        """Let no function use it any more; those pushed before are not concerned.

        Returns
        -------
        Completion
            It is over when all uses that were pushed before are.

        Raises
        ------
        RuntimeError
            It has been deleted.

        Examples
        --------
        >>> file = flow.engine.Var("file")
        >>> done = file.delete()
        >>> file.deleted
        True
        """
        return _C._delete(self, None, "delete")

    def clear_error(self) -> None:
        """Let functions that are pushed from now on use it, though one has failed that wrote it.

        Examples
        --------
        >>> table = flow.engine.Var("table")
        >>> failed = flow.engine.push(lambda: 1 / 0, writes=[table])
        >>> skipped = flow.engine.push(int, reads=[table])
        >>> table.clear_error()
        >>> flow.engine.push(int, reads=[table]).result()
        0
        >>> skipped.exception()
        ZeroDivisionError('division by zero')
        """
        _C._clear_error(self)

    def __repr__(self) -> str:
        return f"Var({self.name!r})" + (" (deleted)" if self.deleted else "")


def delete(var: Var, fn: Callable[[], Any] | None = None) -> Completion:
    """Delete a variable, and run a function when all uses that were pushed before have ended.

    Parameters
    ----------
    var : Var
        No function may use it any more.
    fn : callable, optional
        Called without arguments, also if a use has failed: it gives back what the variable stands
        for.

    Returns
    -------
    Completion
        Its result is that of the function.

    Raises
    ------
    TypeError
        For what is no variable, or no function.
    RuntimeError
        It has been deleted.

    Examples
    --------
    >>> rows, table = [1, 2], flow.engine.Var("table")
    >>> done = flow.engine.push(lambda: rows.append(3), writes=[table])
    >>> flow.engine.delete(table, rows.clear).wait()
    >>> rows
    []
    """
    return _C._delete(var, fn, label("delete", fn, default="delete"))
