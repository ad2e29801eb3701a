"""Jitted methods of objects: how an object keeps one, and how one is pickled."""

import pickle
from inspect import getattr_static
from typing import Any

from oneflow_lite.graph.trees import KeptMethod


def kept_method(held: dict[str, Any], descriptor: Any, owner: Any) -> Any:
    """Return a method that an object keeps in its dict, or has there; None: neither.

    A shallow copy keeps that of its original, other copies keep none. They have one where it is an
    attribute of the original, too: it is kept from then on.
    """
    kept = held.get(descriptor._kept_as)
    if type(kept) is KeptMethod and kept.method is not None and kept.method._owner is owner:
        return kept.method
    for x in list(held.values()):
        if type(x) is type(descriptor) and x._descriptor is descriptor and x._owner is owner:
            held[descriptor._kept_as] = KeptMethod(x)
            return x
    return None


def reduced_method(descriptor: Any, owner: Any) -> tuple[Any, ...]:
    """Return what a pickle of an object's method is: the object, and the method's name in it.

    That of a class is one of its metaclass, or a classmethod.

    Raises
    ------
    PicklingError
        The object has another method of that name.
    """
    for kind in type(owner).__mro__:
        for name, x in vars(kind).items():
            if x is descriptor and getattr(type(owner), name, None) is descriptor:
                return getattr, (owner, name)
    for kind in owner.__mro__ if isinstance(owner, type) else ():
        for name, x in vars(kind).items():
            is_wrapped = isinstance(x, classmethod) and x.__func__ is descriptor
            if is_wrapped and getattr_static(owner, name) is x:
                return getattr, (owner, name)
    raise pickle.PicklingError(
        f"[jit] {descriptor.__qualname__} is no attribute of {type(owner).__name__}, or another "
        "method overrides it: pickle the object, and take the method from there"
    )


def qualified_name(op: str, function: Any, wrapper: Any) -> str:
    """Return where a pickle finds the wrapper of a function, as it finds functions.

    Raises
    ------
    PicklingError
        It wraps an object, which has no name.
    """
    name = getattr(wrapper, "__qualname__", None)
    if type(name) is str:
        return name
    raise pickle.PicklingError(
        f"[{op}] the wrapper of an object of {type(function).__name__} is not pickled: pickle the "
        f"object, and call flow.{op} on it"
    )


def without_self(chosen: frozenset[int | str]) -> tuple[int | str, ...]:
    """Return what an option of a function names of its method: names, and places after them."""
    names = {x for x in chosen if isinstance(x, str)}
    return tuple(names) if names else tuple(x - 1 for x in chosen if isinstance(x, int))
