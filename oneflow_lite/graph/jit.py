"""flow.graph.jit: a function that is traced at its first call, and runs as a whole from then on."""

import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import update_wrapper
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Executable, Tensor
from oneflow_lite.device import resolve
from oneflow_lite.flags import flags
from oneflow_lite.graph.executable import compile
from oneflow_lite.graph.tracing import Result, Traced, trace
from oneflow_lite.graph.trees import mapped
from oneflow_lite.graph.watching import Call, Watch, watches
from oneflow_lite.ops.creation.data import asarray

_WARN_AT = 8  # programs of one function


def jit(function: Callable[..., Any], *, max_programs: int = 64) -> "Jitted":
    """Return the function, traced once for each kind of arguments and run as a whole.

    A call finds the program by the types of the tensors and NumPy arrays in its arguments, and
    by the values of all others, which are a part of the program: numbers, strings, None.
    Results have eager's bits; writes to arguments and captured tensors are seen as in eager.
    Where a captured tensor is in a variable, attribute or container in reach of the function or
    of an argument such as a model, and another one is put there, the next call traces again.
    Inside a recording the function is called as it is.

    Parameters
    ----------
    function
        What trace() can record.
    max_programs
        How many programs are kept; the one that was used longest ago goes first.

    Raises
    ------
    TraceError
        From a call: the function does what cannot be recorded; names the line.
    TypeError
        From a call: an argument that is no tensor cannot be compared, as it is not hashable.
    ValueError
        From a call: an argument that is written to shares its memory with another one.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> @flow.graph.jit
    ... def step(x, w, rate):
    ...     w -= rate * x
    ...     return w.sum()
    >>> w = flow.ones(3)
    >>> step(flow.ones(3), w, 0.5).item(), w.tolist()
    (1.5, [0.5, 0.5, 0.5])
    >>> step.report()["programs"]
    1
    """
    return Jitted(function, max_programs)


@dataclass(frozen=True)
class _Entry:
    """A program for one kind of arguments."""

    traced: Traced
    run: Executable
    watched: list[Watch]


class Jitted:
    """What jit() returns."""

    def __init__(self, function: Callable[..., Any], max_programs: int) -> None:
        if not callable(function):
            raise TypeError(f"[jit] expected a function, got {type(function).__name__}")
        if max_programs < 1:
            raise ValueError(f"[jit] max_programs: expected at least 1, got {max_programs}")
        self._function = function
        self._most = max_programs
        self._entries: OrderedDict[Any, _Entry] = OrderedDict()
        self._lock = threading.RLock()  # guards the entries; one thread traces, others wait
        self._reasons: list[str] = []
        update_wrapper(self, function)

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Make a method of it: jitted methods of different objects have programs of their own."""
        if owner is None:
            return self
        bound = Jitted(self._function.__get__(owner, kind), self._most)
        vars(owner)[self._function.__name__] = bound
        return bound

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        if _C.is_recording():
            return self._function(*args, **kwargs)
        tensors: list[Tensor] = []
        key = _key(args, kwargs, tensors)
        call = Call(self._function, args, kwargs)
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._traced(key, call, tensors, self._why(key))
            else:
                self._entries.move_to_end(key)
                for watch in entry.watched:
                    if not watch.is_there(call):
                        entry = self._traced(key, call, tensors, f"{watch.text} is another tensor")
                        break
        results = entry.run(*tensors)
        tree = entry.traced.results
        if type(tree) is Result:
            return results[tree.number]
        return mapped(tree, lambda x, _: results[x.number] if type(x) is Result else x)

    def _traced(self, key: Any, call: Call, tensors: list[Tensor], reason: str) -> _Entry:
        traced = trace(self._function, *call.args, **call.kwargs)
        run = compile(traced.program)
        bound = traced.program.main.captures
        captures = [x.tensor for x in bound if x.tensor is not None]
        entry = _Entry(traced, run, watches(call, captures, tensors))
        self._entries[key] = entry
        self._entries.move_to_end(key)
        self._reasons.append(reason)
        if len(self._reasons) == _WARN_AT:
            warnings.warn(
                f"[jit] {traced.program.name} was traced {_WARN_AT} times; at last: {reason}",
                RuntimeWarning,
                stacklevel=3,
            )
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)
        return entry

    def _why(self, key: Any) -> str:
        """Return what of the arguments the nearest program does not have."""
        if not self._entries:
            return "it is the first call"
        parts = dict(key[1:])
        nearest = min(
            (dict(known[1:]) for known in reversed(self._entries)),
            key=lambda known: len(parts.items() ^ known.items()),
        )
        for path in (*parts, *nearest):
            before, now = nearest.get(path, ("nothing",)), parts.get(path, ("nothing",))
            if before != now:
                return f"{path}: {_shown(before)} -> {_shown(now)}"
        return "the default device or a flag changed"

    def explain(self) -> list[str]:
        """Return why each trace was made, in order."""
        return list(self._reasons)

    def report(self) -> dict[str, Any]:
        """Return traces and their reasons, and what is known of each program that is kept."""
        with self._lock:
            entries = list(self._entries.values())
        return {
            "traces": len(self._reasons),
            "programs": len(entries),
            "reasons": list(self._reasons),
            "runs": [entry.run.report() for entry in entries],
            "captures": [sorted({watch.text for watch in entry.watched}) for entry in entries],
        }

    def clear(self) -> None:
        """Forget all programs."""
        with self._lock:
            self._entries.clear()


def _shown(part: tuple[Any, ...]) -> str:
    return " ".join(map(str, part))


def _key(args: Any, kwargs: dict[str, Any], tensors: list[Tensor]) -> tuple[Any, ...]:
    """Return what the program depends on; the tensors are those of the parameters, in order."""
    parts: list[Any] = [(resolve(None), flags.array_api)]
    numbers: dict[int, int] = {}
    for i, x in enumerate(args):
        _add_part(x, f"args[{i}]", parts, tensors, numbers)
    for name, x in kwargs.items():
        _add_part(x, name, parts, tensors, numbers)
    return tuple(parts)


def _add_part(
    x: Any, path: str, parts: list[Any], tensors: list[Tensor], numbers: dict[int, int]
) -> None:
    kind = type(x)
    if kind is Tensor:
        number = numbers.setdefault(id(x), len(tensors))
        if number == len(tensors):
            tensors.append(x)
        parts.append((path, ("tensor", number, x.dtype, x.shape, x.strides, x.device)))
    elif isinstance(x, np.ndarray):
        number = numbers.setdefault(id(x), len(tensors))
        if number == len(tensors):
            tensors.append(asarray(np.ascontiguousarray(x), copy=True))
        parts.append((path, ("array", number, x.dtype, x.shape)))
    elif kind is dict:
        parts.append((path, (kind, len(x))))
        for key, item in x.items():
            _add_part(item, f"{path}[{key!r}]", parts, tensors, numbers)
    elif isinstance(x, tuple) and hasattr(x, "_fields"):
        parts.append((path, (kind,)))
        for name, item in zip(x._fields, x, strict=True):
            _add_part(item, f"{path}.{name}", parts, tensors, numbers)
    elif kind in (list, tuple):
        parts.append((path, (kind, len(x))))
        for i, item in enumerate(x):
            _add_part(item, f"{path}[{i}]", parts, tensors, numbers)
    elif is_dataclass(x) and not isinstance(x, type):
        parts.append((path, (kind,)))
        for field in fields(x):
            if field.init:
                _add_part(getattr(x, field.name), f"{path}.{field.name}", parts, tensors, numbers)
    else:
        parts.append((path, (kind, _static(x, path))))


def _static(x: Any, path: str) -> Any:
    """Return what tells two values apart: also 0.0 from -0.0, and NaN is itself."""
    if isinstance(x, float | complex):
        return repr(x)
    try:
        hash(x)
    except TypeError:
        raise TypeError(
            f"[jit] {path} is a {type(x).__name__}, which is not hashable; pass tensors, NumPy "
            "arrays, numbers, strings, or containers of them"
        ) from None
    return x
