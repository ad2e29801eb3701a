"""Native paths that know some parameters of a function only: those of its short calls."""

from collections.abc import Callable
from typing import Any, TypeVar

from oneflow_lite import _C
from oneflow_lite._C import NativePath

_Function = TypeVar("_Function", bound=Callable[..., Any])


def short_calls(path: NativePath, known: Any) -> Callable[[_Function], _Function]:
    """Return a decorator that gives a function a native path for its short calls.

    A call that gives other parameters than the path knows goes to the function itself, which has a
    body for it. It may call itself by the parameters that the path knows.

    Parameters
    ----------
    path : NativePath
        One of ``_C.paths``.
    known : function
        Of which the parameters are those that the path knows, in its order and with the defaults of
        the function; it is not called.

    Examples
    --------
    >>> from oneflow_lite import _C
    >>> from oneflow_lite.ops.short_calls import short_calls
    >>> @short_calls(_C.paths.copy, lambda x, /: None)
    ... def copied(x, /, count=1):
    ...     return [copied(x) for _ in range(count)]
    >>> copied(flow.ones(2)).tolist(), len(copied(flow.ones(2), count=3))
    ([1.0, 1.0], 3)
    """

    def decorate(function: Any) -> Any:
        own = function.__code__, function.__defaults__, function.__kwdefaults__
        # The extension reads the parameters here, once.
        function.__code__, function.__defaults__ = known.__code__, known.__defaults__
        function.__kwdefaults__ = known.__kwdefaults__
        try:
            return _C.native(path)(function)
        finally:
            function.__code__, function.__defaults__, function.__kwdefaults__ = own

    return decorate
