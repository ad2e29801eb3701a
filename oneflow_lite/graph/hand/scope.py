"""Scope: the parameters of programs that are built by hand, by name."""

import threading
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from oneflow_lite._C import Tensor
from oneflow_lite.graph.nearest import nearest
from oneflow_lite.graph.sites import here, like
from oneflow_lite.ops.creation.data import asarray

_threads = threading.local()  # .scopes: of each thread, those of its scope_guard blocks


class Scope(MutableMapping[str, Tensor]):
    """Tensors by name: what the parameters of a program hold between its runs.

    A run of the startup program makes them, and other runs read and write them. What is put in
    is copied. What is got out is the tensor itself: a later run may write to it.

    Examples
    --------
    >>> scope = flow.graph.Scope()
    >>> scope["w"] = [1.0, 2.0]
    >>> scope["w"].tolist(), list(scope)
    ([1.0, 2.0], ['w'])
    """

    __slots__ = ("__weakref__", "_tensors")

    def __init__(self) -> None:
        self._tensors: dict[str, Tensor] = {}

    def __getitem__(self, name: str) -> Tensor:
        try:
            return self._tensors[name]
        except KeyError:
            raise KeyError(
                f"[Scope] has no {name!r}{nearest(name, self._tensors)}; the startup program puts "
                f"parameters in{here()}"
            ) from None

    def __setitem__(self, name: str, value: Any) -> None:
        if not isinstance(name, str):
            raise TypeError(f"[Scope] expected a name, got {type(name).__name__}{here()}")
        try:
            self._tensors[name] = asarray(value, copy=True)
        except (TypeError, ValueError, OverflowError) as error:
            raise like(error, f"[Scope] {name!r}: {error}{here()}") from None

    def __delitem__(self, name: str) -> None:
        self[name]
        del self._tensors[name]

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._tensors))

    def __len__(self) -> int:
        return len(self._tensors)

    def __repr__(self) -> str:
        return f"Scope({', '.join(self._tensors)})"

    def adopt(self, name: str, x: Tensor) -> None:
        """Hold the tensor itself."""
        self._tensors[name] = x


_GLOBAL = Scope()


def global_scope() -> Scope:
    """Return the scope of the thread's innermost ``scope_guard``, or that of the process.

    Examples
    --------
    >>> with flow.graph.scope_guard(flow.graph.Scope()) as scope:
    ...     flow.graph.global_scope() is scope
    True
    """
    scopes = getattr(_threads, "scopes", None)
    return scopes[-1] if scopes else _GLOBAL


def check_scope(op: str, scope: Any) -> None:
    """Refuse what is no scope."""
    if not isinstance(scope, Scope):
        raise TypeError(f"{op} scope: expected a Scope, got {type(scope).__name__}{here()}")


@contextmanager
def scope_guard(scope: Scope) -> Iterator[Scope]:
    """Run the thread's programs in a scope, for the time of a ``with`` block.

    Examples
    --------
    >>> with flow.graph.scope_guard(flow.graph.Scope()):
    ...     len(flow.graph.global_scope())
    0
    """
    check_scope("[scope_guard]", scope)
    if not hasattr(_threads, "scopes"):
        _threads.scopes = []
    _threads.scopes.append(scope)
    try:
        yield scope
    finally:
        _threads.scopes.pop()
