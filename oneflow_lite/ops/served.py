"""Public functions are made to take tensors of many ranks, and to make them."""

import sys
from types import FunctionType
from typing import Any

from oneflow_lite import _C

_HOMES = ("oneflow_lite.ops", "oneflow_lite.linalg", "oneflow_lite.fft")


def serve(*namespaces: dict[str, Any]) -> None:
    """Have the functions of namespaces called by their rule where they refuse what they get.

    A tensor of one rank alone takes the way that it took before.
    """
    known: dict[FunctionType, Any] = {}  # some have two names
    for namespace in namespaces:
        for name, function in list(namespace.items()):
            if not isinstance(function, FunctionType) or name.startswith("_"):
                continue
            if not function.__module__.startswith(_HOMES):
                continue
            if function not in known:
                known[function] = _C.native(_C.paths.of_many_ranks)(function)
            served = known[function]
            home = vars(sys.modules[function.__module__])
            if home.get(served.__name__) is function:  # pickled by this name
                home[served.__name__] = served
            namespace[name] = served
