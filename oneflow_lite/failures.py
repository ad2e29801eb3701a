"""Exceptions of failed operations: one for each look, and a line of text for each."""

import os
from types import MemberDescriptorType
from typing import Any

# How the names of this package's files begin, and of no others: a program may be oneflow_lite_x.
FOLDER = os.path.join(os.path.dirname(__file__), "")

_EMPTY = object()  # a slot without a value
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: not one of the interpreter's own classes


def again(error: BaseException) -> BaseException:
    """Return a new exception like this one: its class, arguments, attributes and notes.

    An ``__init__`` or ``__new__`` of Python does not run again. Where the interpreter's own class
    refuses the arguments, it raises.
    """
    kind = type(error)
    native: Any = next(base for base in kind.__mro__ if not base.__flags__ & _HEAP_TYPE)
    arguments = native.__reduce__(error)[1]
    made: BaseException = native.__new__(kind, *arguments)
    native.__init__(made, *arguments)
    made.__dict__.update(error.__dict__)
    if hasattr(error, "__notes__"):
        made.__dict__["__notes__"] = list(error.__notes__)
    for base in kind.__mro__:
        if base.__flags__ & _HEAP_TYPE or base is native:
            _copy_members(base, error, made)
    return made


def _copy_members(base: type, error: BaseException, made: BaseException) -> None:
    """Copy slots, of Python and of the interpreter, of one class of the exception's."""
    for member in vars(base).values():
        if not isinstance(member, MemberDescriptorType):
            continue
        try:
            value = member.__get__(error)
            # The interpreter's slots have None for no value, and some refuse to be set to it.
            if getattr(made, member.__name__, _EMPTY) is not value:
                member.__set__(made, value)
        except AttributeError:  # an empty slot, or one that is filled by the arguments alone
            continue


def summary(error: BaseException) -> str:
    """Return one line: class, first line of the message, and where the operation was issued."""
    try:
        message = str(error)
    except Exception:  # a __str__ of the program's own
        message = "unprintable"
    parts = [
        f"{type(error).__name__}: {message}".splitlines()[0] if message else type(error).__name__
    ]
    return "; ".join(parts + list(getattr(error, "__notes__", ()))[-1:])
