"""The methods of NumPy's ufuncs on the functions of this package: ``flow.add.reduce(x)``."""

from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Op, Tensor
from oneflow_lite.interop.numpy_ufuncs import NOT_GIVEN, call_method
from oneflow_lite.ops.table import ROWS

__all__: list[str] = []


def reduce(
    self: Op,
    x: Any,
    /,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Tensor:
    """Return what a binary operation makes of all elements along axes.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    axis : int, sequence of int or None
        The axes that go; None: all. Where the order matters, one axis.
    dtype : dtype, optional
        To compute in, and of the result.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.
    keepdims : bool
        Keep the axes, with size 1.
    initial : scalar, optional
        What to begin with; by default the identity, or the first element where there is none.
    where : Tensor or array of bool
        Which elements count; broadcast to the shape of x.

    Raises
    ------
    TypeError
        For operations of one operand, and where the result would have another dtype.
    ValueError
        For no elements where there is no identity.

    Examples
    --------
    >>> flow.add.reduce(flow.tensor([[1, 2], [3, 4]])).numpy()
    array([4, 6])
    """
    keywords = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "where": where}
    return _called(self, "reduce", (x,), out, keywords | {"initial": initial})


def accumulate(self: Op, x: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None) -> Tensor:
    """Return what a binary operation makes of all elements up to each one.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    axis : int
        The axis to go along.
    dtype : dtype, optional
        To compute in, and of the result. By default that of x; for sums and products see
        ``cumulative_sum``.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.

    Raises
    ------
    TypeError
        For operations whose result has another dtype than their operands.

    Examples
    --------
    >>> flow.maximum.accumulate(flow.tensor([2, 1, 3, 0])).numpy()
    array([2, 2, 3, 3])
    """
    return _called(self, "accumulate", (x,), out, {"axis": axis, "dtype": dtype})


def outer(self: Op, a: Any, b: Any, /, *, out: Any = None, **keywords: Any) -> Tensor:
    """Return a binary operation of each element of a with each of b.

    Parameters
    ----------
    a, b : Tensor or array
        Operands, of any shapes.
    out : Tensor or array, optional
        Where the result goes, of shape ``a.shape + b.shape``.
    **keywords
        ``where``, ``dtype`` and ``casting`` of the operation.

    Examples
    --------
    >>> flow.subtract.outer(flow.tensor([1, 2]), flow.tensor([0, 10])).numpy()
    array([[ 1, -9],
           [ 2, -8]])
    """
    return _called(self, "outer", (a, b), out, keywords)


def at(self: Op, x: Any, indices: Any, /, *values: Any) -> None:
    """Apply the operation in place at some elements, once for each time that one is named.

    ``x[indices] += values`` adds once where an index comes twice. NumPy computes this on the host,
    in the machine's order: the call does not wait, unless x is an array.

    Parameters
    ----------
    x : Tensor or array
        What is written.
    indices : Tensor, array, int, slice, or tuple of them
        As in ``x[indices]``.
    *values : Tensor, array or scalar
        The second operand of a binary operation, broadcast to the shape of ``x[indices]``.

    Raises
    ------
    TypeError
        Where the result is complex and x is not. NumPy casts any other result as ``astype`` does.
    IndexError
        At x, for an index out of bounds.

    Examples
    --------
    >>> counts = flow.zeros(3, dtype="int64")
    >>> flow.add.at(counts, flow.tensor([0, 2, 0]), 1)
    >>> counts.numpy()
    array([2, 0, 1])
    """
    _called(self, "at", (x, indices, *values), None, {})


def reduceat(
    self: Op, x: Any, indices: Any, /, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Tensor:
    """Return what a binary operation makes of slices that begin at the indices.

    Slice k is ``x[indices[k]:indices[k + 1]]``. The last one goes to the end. One whose index is
    not below the next has its first element alone. NumPy computes this on the host, in the
    machine's order: the call does not wait.

    Parameters
    ----------
    x : Tensor or array
        Operand, of one dimension or more.
    indices : Tensor or array of int
        Of one dimension.
    axis : int
        The axis to go along.
    dtype : dtype, optional
        To compute in, and of the result.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.

    Raises
    ------
    IndexError
        At the result, for an index out of bounds.

    Examples
    --------
    >>> flow.add.reduceat(flow.tensor([1, 2, 3, 4]), [0, 2]).numpy()
    array([3, 7])
    """
    return _called(self, "reduceat", (x, indices), out, {"axis": axis, "dtype": dtype})


def _called(
    op: Op, method: str, inputs: tuple[Any, ...], out: Any, keywords: dict[str, Any]
) -> Tensor:
    given = (*inputs, out, *keywords.values())
    if any(isinstance(x, _C.GlobalTensor) for x in given):
        raise TypeError(
            f"[{op.__name__}.{method}] expected tensors of this rank, got a GlobalTensor"
        )
    made: Tensor = call_method(op, method, inputs, out, keywords)
    return made


def _of_ufunc(name: str) -> property:
    def get(self: Op) -> Any:
        return getattr(ROWS[self.__name__].ufunc, name)

    return property(get, doc=f"``{name}`` of NumPy's ufunc.")


METHODS = {
    function.__name__: function for function in (reduce, accumulate, outer, at, reduceat)
} | {name: _of_ufunc(name) for name in ("nin", "nout", "nargs", "identity")}
