"""How a tensor is shown: its elements, or why they are not there."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C, failures
from oneflow_lite._C import Tensor
from oneflow_lite.ops.manipulation.joining import concat

_DEBUGGERS = ("bdb", "pydevd", "_pydevd")  # how the names of their modules begin


def tensor_repr(self: Tensor) -> str:
    """Return the elements as text; waits for them, but for a failed tensor raises nothing.

    A tensor whose operation failed is shown as ``tensor(<failed: ...>)``, with the error and the
    line that issued the operation. In a debugger, a tensor that is not ready is shown as
    ``tensor(<pending>)``: what it waits for may be stopped, too. While a function is traced, a
    tensor is ``tensor(<recorded>)``.
    """
    if _C.is_recording():
        return _instead_of_elements(self, "<recorded>")
    if _is_debugged() and not self.is_ready():
        return _instead_of_elements(self, "<pending>")
    failure = _C.failure(self, "__repr__")
    if failure is None:
        try:
            return _elements(self)
        except Exception as error:  # the copy to the host has failed
            failure = error
    return _instead_of_elements(self, f"<failed: {failures.summary(failure)}>")


def tensor_str(self: Tensor) -> str:
    """Return the number of a 0-d tensor as text, as of NumPy's scalars, and else the repr.

    So it does where there is no number to show: of a failed tensor, while a function is traced.
    """
    if self.ndim or _C.is_recording() or (_is_debugged() and not self.is_ready()):
        return tensor_repr(self)
    if _C.failure(self, "__str__") is not None:
        return tensor_repr(self)
    try:
        return str(self.numpy()[()])
    except Exception:  # the copy to the host has failed, and the repr says why
        return tensor_repr(self)


def _instead_of_elements(x: Tensor, text: str) -> str:
    return f"tensor({text}, shape={x.shape}, dtype={x.dtype.name}, device='{x.device}')"


def _elements(x: Tensor) -> str:
    prefix = "tensor("
    options = np.get_printoptions()  # how many elements are shown at each end, and of how many
    edge, threshold = options["edgeitems"], options["threshold"]
    long = x.size > threshold
    shown = _edges(x, edge) if long and edge > 0 else x.numpy()
    text = np.array2string(shown, separator=", ", prefix=prefix, threshold=0 if long else threshold)
    shape = f", shape={x.shape}" if long or not x.size else ""
    return f"{prefix}{text}{shape}, dtype={x.dtype.name}, device='{x.device}')"


def _edges(x: Tensor, edge: int) -> npt.NDArray[Any]:
    """What a summary of x shows; only this is copied from the device.

    Long dimensions keep both ends and one more element, which stands for the rest: NumPy's summary
    of the result is that of x.
    """
    kept = 2 * edge + 1
    for axis in sorted(range(x.ndim), key=lambda axis: -x.shape[axis]):
        if x.shape[axis] > kept:
            before = (slice(None),) * axis
            ends = [x[(*before, slice(edge + 1))], x[(*before, slice(-edge, None))]]
            x = concat(ends, axis)
    return x.numpy()


def _is_debugged() -> bool:
    """Whether a debugger follows this thread: pdb and others made of bdb, or pydevd.

    They set the thread's trace function (so do coverage tools, which do not stop anything), or are
    the debugger of ``sys.monitoring``. After the fact (``pdb.pm()``) nothing is stopped.
    """
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12
    if monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None:
        return True
    trace = sys.gettrace()
    if trace is None:
        return False
    names = [base.__module__ for base in type(getattr(trace, "__self__", trace)).__mro__]
    names.append(getattr(trace, "__module__", None) or "")
    return any(name.startswith(_DEBUGGERS) for name in names)
