"""Native paths of functions that have more parameters than their paths know."""

import inspect
from collections.abc import Callable
from typing import TypeVar

from oneflow_lite import _C
from oneflow_lite._C import NativePath

_Function = TypeVar("_Function", bound=Callable[..., object])


def native_unless(path: NativePath, *names: str) -> Callable[[_Function], _Function]:
    """Return ``_C.native(path)`` for a function that has parameters which the path does not know.

    A path binds the parameters that the function has when it is decorated. These are without the
    given names, so that a call with one of them does not fit, and goes to the function. So does one
    that gives a parameter behind them by position.

    Parameters
    ----------
    path : NativePath
        As for ``_C.native``.
    names : str
        Parameters of the function, all of which have a default.

    Raises
    ------
    TypeError
        Where the function has no such parameter.

    Examples
    --------
    >>> from oneflow_lite.ops.paths import native_unless
    >>> native_unless(flow._C.paths.cumsum, "out")(lambda x, axis, dtype: x)
    Traceback (most recent call last):
    TypeError: [native_unless] expected a parameter out among x, axis, dtype
    """

    def decorate(function: _Function) -> _Function:
        own = function.__code__, function.__defaults__, function.__kwdefaults__
        _leave_out(function, names)
        try:
            return _C.native(path)(function)
        finally:
            function.__code__, function.__defaults__, function.__kwdefaults__ = own

    return decorate


def _leave_out(function: Callable[..., object], names: tuple[str, ...]) -> None:
    """Give a function, which must not be called then, the parameters without some of them.

    What is behind one of these is named in calls.
    """
    given, code = inspect.signature(function).parameters, function.__code__
    for name in names:
        if name not in given:
            raise TypeError(f"[native_unless] expected a parameter {name} among {', '.join(given)}")
    known = [each for each in given.values() if each.name not in names]
    first = next(i for i, name in enumerate(given) if name in names)
    placed = known[: min(first, code.co_argcount)]
    named = known[len(placed) :]
    order = [each.name for each in known]
    function.__code__ = code.replace(
        co_argcount=len(placed),
        co_kwonlyargcount=len(named),
        co_varnames=(*order, *(name for name in code.co_varnames if name not in order)),
    )
    defaults = {each.name: each.default for each in known if each.default is not each.empty}
    function.__defaults__ = tuple(defaults[x.name] for x in placed if x.name in defaults)
    function.__kwdefaults__ = {x.name: defaults[x.name] for x in named if x.name in defaults}
