"""A dependence engine for any function: pushed with what it reads and what it changes.

The machine runs a function when its turn has come, at the same time as whatever does not touch the
same things. The rules are those of MXNet's engine (Chen et al., *MXNet: A Flexible and Efficient
Machine Learning Library for Heterogeneous Distributed Systems*, 2015, section 4).
"""

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.engine.completion import Completion
from oneflow_lite.engine.cuda_kernel import CudaKernel
from oneflow_lite.engine.functions import CFunction, Operator, push, push_async
from oneflow_lite.engine.run import Run, View
from oneflow_lite.engine.variables import Var, delete

__all__ = [
    "CFunction",
    "Completion",
    "CudaKernel",
    "Operator",
    "Run",
    "Var",
    "View",
    "delete",
    "push",
    "push_async",
    "wait",
    "wait_all",
]


def wait(var: Var | Tensor) -> None:
    """Wait until all uses of a variable or a tensor that were pushed so far have ended.

    Parameters
    ----------
    var : Var or Tensor
        Reads and writes of it are waited for.

    Raises
    ------
    TypeError
        For anything else.
    Exception
        The error of a function that should have written it.

    Examples
    --------
    >>> seen, table = [], flow.engine.Var("table")
    >>> done = flow.engine.push(lambda: seen.append(1), reads=[table])
    >>> flow.engine.wait(table)
    >>> seen
    [1]
    """
    _C._wait_for(var)


def wait_all() -> None:
    """Wait until everything that was pushed or issued so far has run, on all devices.

    What functions push while they run, after this call has begun, is not waited for.

    Raises
    ------
    Exception
        The first error that no ``wait_all`` or ``synchronize`` has seen yet. Later ones that it has
        seen are not raised by the next call; they stay with their completions.

    Examples
    --------
    >>> done = flow.engine.push(int)
    >>> flow.engine.wait_all()
    >>> done.done()
    True
    """
    _C.synchronize(None)
