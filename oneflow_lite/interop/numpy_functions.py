"""NumPy's functions on tensors: ``np.concatenate([t, u])``, ``np.linalg.inv(t)``.

NumPy hands such calls over. The function of this package with the same name does the work; the two
signatures translate the arguments. Results stay on the tensor's device. What is not there is a
TypeError: nothing is looked at behind the program's back.
"""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from oneflow_lite._C import Tensor
from oneflow_lite.device import default_device
from oneflow_lite.dtypes import result_type
from oneflow_lite.interop.numpy_ufuncs import (
    Function,
    array_ufunc,
    namespace,
    not_there,
)
from oneflow_lite.interop.orders import array_in_order
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.masking import store

__all__: list[str] = []

# NumPy's names where this package has the array API's.
_RENAMED = {
    "amax": "max",
    "amin": "min",
    "around": "round",
    "array": "tensor",
    "round_": "round",
}
_RENAMED_KEYWORDS = {"a_min": "min", "a_max": "max"}

# NumPy's code is right for tensors, as it only asks for their attributes; these never wait.
_BY_ATTRIBUTES = (np.shape, np.ndim, np.size, np.iscomplexobj, np.isrealobj)
_BY_DTYPES = (np.can_cast, np.common_type)
# These look: what they make is text or a file.
_LOOKING = (
    *(np.array_repr, np.array_str, np.array2string),
    *(np.save, np.savez, np.savez_compressed, np.savetxt),
)


def array_function(
    self: Tensor, func: Function, types: Iterable[type], args: Any, kwargs: Any
) -> Any:
    """Do what a function of NumPy does, by the function of this package of the same name.

    Raises
    ------
    TypeError
        Where this package has none, or none with such an argument.
    """
    for kind in types:
        if kind is not Tensor and not issubclass(kind, (Tensor, np.ndarray)):
            return NotImplemented
    with default_device(self.device):  # where arrays and new tensors go
        return _way(func)(args, kwargs)


@functools.lru_cache(maxsize=1024)
def _way(func: Function) -> Callable[[Any, Any], Any]:
    """Return what to do with the arguments of a function of NumPy."""
    special = _SPECIAL.get(func)
    if special is not None:
        return lambda args, kwargs: special(*args, **kwargs)
    if func in _BY_ATTRIBUTES:
        own = func._implementation  # type: ignore[attr-defined]
        return lambda args, kwargs: own(*args, **kwargs)
    if func in _BY_DTYPES:
        return lambda args, kwargs: func(*map(_stand_in, args), **kwargs)
    if func in _LOOKING:
        return lambda args, kwargs: func(
            *map(_seen, args), **{name: _seen(x) for name, x in kwargs.items()}
        )
    function = _named_like(func)
    if _parameters(func) is None or _parameters(function) is None:
        return lambda args, kwargs: function(*args, **kwargs)
    return functools.partial(_translated, func, function)


def _stand_in(x: Any) -> Any:
    return np.empty(0, x.dtype) if isinstance(x, Tensor) else x


def _seen(x: Any) -> Any:
    return array_in_order(x) if isinstance(x, Tensor) else x


def _path(func: Function) -> str:
    """``linalg.norm`` for ``numpy.linalg.norm``."""
    return ".".join([*func.__module__.split(".")[1:], func.__name__])


def _named_like(func: Function) -> Function:
    path = _path(func)
    for name in (path, _RENAMED.get(path)):
        found = namespace()
        for part in name.split(".") if name else ():
            found = getattr(found, part, None)
        if name and callable(found):
            return found  # type: ignore[no-any-return]
    raise not_there(path)


@functools.cache
def _parameters(function: Function) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:  # native
        return None


class _Plan(NamedTuple):
    """Where each argument of a call goes; a place counts first the operands, then the keywords."""

    operands: tuple[int, ...]
    named: tuple[tuple[str, int], ...]
    left: tuple[tuple[str, int], ...]  # what the function has no parameter for
    held: tuple[tuple[str, int], ...]  # of these, None counts as not given


def _translated(func: Function, function: Function, args: Any, kwargs: Any) -> Any:
    """Call ``function`` with what ``func`` was given."""
    values, names = (*args, *kwargs.values()), tuple(kwargs)
    optional = _optional(func, len(args), names)
    defaults = tuple([_is_default(values[place], default) for place, default in optional])
    plan = _plan(func, function, len(args), names, defaults)
    operands = [values[place] for place in plan.operands]
    named = {name: values[place] for name, place in plan.named}
    if not plan.left and not plan.held:
        return function(*operands, **named)
    left = {name: values[place] for name, place in plan.left}
    held = {name: values[place] for name, place in plan.held if values[place] is not None}
    return _finished(func, function, operands, named, left | held)


@functools.lru_cache(maxsize=1024)
def _places(func: Function, count: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the place of each parameter that a call gives; places, of ``*args``, ``**kwargs``.

    Raises
    ------
    TypeError
        Where NumPy's function does not take such a call.
    """
    keywords = {name: count + i for i, name in enumerate(names)}
    return inspect.signature(func).bind(*range(count), **keywords).arguments


@functools.lru_cache(maxsize=1024)
def _optional(func: Function, count: int, names: tuple[str, ...]) -> list[tuple[int, Any]]:
    """Return the places of arguments that have a default, and the default."""
    parameters = _parameters(func) or {}
    return [
        (place, parameters[name].default)
        for name, place in _places(func, count, names).items()
        if parameters[name].default is not inspect.Parameter.empty
    ]


@functools.lru_cache(maxsize=4096)
def _plan(
    func: Function,
    function: Function,
    count: int,
    names: tuple[str, ...],
    defaults: tuple[bool, ...],
) -> _Plan:
    source, target = _parameters(func) or {}, _parameters(function) or {}
    given = _places(func, count, names)
    optional = _optional(func, count, names)
    idle = {place for (place, _), same in zip(optional, defaults, strict=True) if same}
    positions = [p for p in target.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    operands: list[int] = []
    named: dict[str, int] = {}
    left: dict[str, int] = {}
    held: dict[str, int] = {}
    for i, (name, parameter) in enumerate(source.items()):
        if name not in given:
            continue
        place, wanted = given[name], _RENAMED_KEYWORDS.get(name, name)
        known = target.get(wanted)
        if wanted == "out" and known is None:
            held[name] = place
        elif parameter.kind is parameter.VAR_POSITIONAL:
            operands += place
        elif parameter.kind is parameter.VAR_KEYWORD:
            named |= place
        elif i == len(operands) < len(positions) and positions[i].name == wanted:
            operands.append(place)
        elif known and known.kind is not known.POSITIONAL_ONLY and place not in idle:
            named[wanted] = place
        elif known is None and place in idle:
            continue
        elif i == len(operands) < len(positions) and positions[i].name not in source:
            operands.append(place)
        elif place not in idle:
            left[name] = place
    return _Plan(tuple(operands), tuple(named.items()), tuple(left.items()), tuple(held.items()))


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (
        type(value) is type(default) and isinstance(value, (int, str)) and value == default
    )


def _finished(
    func: Function,
    function: Function,
    operands: list[Any],
    named: dict[str, Any],
    left: dict[str, Any],
) -> Any:
    """Call the function, and do what it has no parameters for."""
    path = _path(func)
    left.pop("subok", None)
    out = left.pop("out", None)
    if left.get("order") == "C":
        del left["order"]
    if left:
        raise TypeError(f"[numpy.{path}] {', '.join(left)}: not there for tensors")
    result = function(*operands, **named)
    return result if out is None else store(f"numpy.{path}", out, result)


# --- functions that need more than another name


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return _named_like(np.nonzero)(asarray(condition))
    if x is None or y is None:
        raise ValueError("[numpy.where] expected both x and y, or neither")
    return _named_like(np.where)(asarray(condition), x, y)


_SPECIAL: dict[Function, Function] = {
    np.where: _where,
    np.result_type: result_type,
}

METHODS = {
    "__array_ufunc__": array_ufunc,
    "__array_function__": array_function,
    "__array_priority__": 1000.0,  # of older code that asks for it instead
}
