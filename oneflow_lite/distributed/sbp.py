"""How the ranks along one axis of a grid hold a tensor: split, broadcast or partial.

The words are OneFlow's (https://arxiv.org/abs/2110.15032).
"""

from operator import index

from oneflow_lite import _C

__all__ = ["broadcast", "partial", "partial_sum", "split"]

Sbp = _C.Sbp

broadcast: Sbp = Sbp.broadcast()
"""Each rank has all of the tensor."""


def split(dim: int) -> Sbp:
    """Each rank has a part along a dimension; sizes of parts differ by one at most.

    Parameters
    ----------
    dim : int
        Of the tensor; a negative one counts from the last.

    Returns
    -------
    Sbp

    Examples
    --------
    >>> from oneflow_lite.distributed import sbp
    >>> sbp.split(0)
    split(0)
    """
    return Sbp.split(index(dim))


def partial(op: str) -> Sbp:
    """Each rank has something of the tensor's shape; the operator over these gives the tensor.

    Parameters
    ----------
    op : str
        "sum", "prod", "max", "min", "any" or "all".

    Returns
    -------
    Sbp

    Raises
    ------
    ValueError
        For another operator.

    Examples
    --------
    >>> from oneflow_lite.distributed import sbp
    >>> sbp.partial("max").op
    'max'
    """
    return Sbp.partial(op)


partial_sum: Sbp = Sbp.partial("sum")
"""The sum of what the ranks have is the tensor."""
