"""What one rank's tensors and functions know of tensors of many ranks, whose package is imported at
the first use.
"""

import importlib
import sys
from types import FunctionType
from typing import Any, cast

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor

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


def to_global(self: Tensor, placement: Any, sbp: Any) -> GlobalTensor:
    """Make one tensor of what each rank has.

    All ranks call it, each with a tensor of its own, and it waits until they have told each other
    the shapes. Ranks outside the placement may give any tensor, and hold nothing of the result.

    Parameters
    ----------
    placement : Placement
        The ranks that hold the result.
    sbp : Sbp or sequence of Sbp
        One for each axis of the grid. ``split(d)``: the tensors are parts along a dimension, of any
        sizes; elements move until they are as balanced as ``numpy.array_split`` cuts them.
        ``broadcast``: the value is that of the first rank. ``partial(op)``: they are values that
        the operator is over.

    Returns
    -------
    GlobalTensor

    Raises
    ------
    ValueError
        On all ranks, for tensors that are no parts of one: other dtypes, dimensions or extents.
    TypeError
        On all ranks, for ``partial("any")`` and ``partial("all")`` of what is no bool.
    RankError, DesyncError
        Where another rank has failed, or does something else.

    Examples
    --------
    >>> ranks = flow.distributed.placement("cpu", ranks=[0])
    >>> flow.arange(4).to_global(ranks, flow.distributed.sbp.split(0)).layout
    (4,) split(0) on cpu [0]
    """
    made: Any = importlib.import_module("oneflow_lite.distributed.global_tensor")
    return cast("GlobalTensor", made.assembled(self, placement, sbp))


METHODS = {"to_global": to_global}
