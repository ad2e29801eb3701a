"""The methods of GlobalTensor: other layouts, looks, and how it is shown."""

import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C, display
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed import indexing, products, shapes
from oneflow_lite.distributed.functions import RULES, is_here, refuse_out_by_place
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.placement import Placement
from oneflow_lite.distributed.sbp import Sbp, broadcast

__all__ = ["GlobalTensor"]

_METHODS: dict[str, Any] = {}


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function of this file a method of GlobalTensor."""
    _METHODS[function.__name__] = function
    return function


def list_of_sbps(sbp: Sbp | Sequence[Sbp]) -> list[Sbp]:
    """One for each axis of a grid; TypeError for anything else."""
    sbps = [sbp] if isinstance(sbp, Sbp) else list(sbp)
    for each in sbps:
        if not isinstance(each, Sbp):
            raise TypeError(f"[to_global] sbp: expected an Sbp, got {type(each).__name__}")
    return sbps


def require_placement(placement: object, name: str = "to_global") -> None:
    """TypeError for anything else."""
    if not isinstance(placement, Placement):
        found = type(placement).__name__
        raise TypeError(f"[{name}] placement: expected a Placement, got {found}")


# --- from a local tensor


def assembled(parts: Tensor, placement: Placement, sbp: Sbp | Sequence[Sbp]) -> GlobalTensor:
    """Make one tensor of what each rank has: ``Tensor.to_global``."""
    require_placement(placement)
    return _C.assemble(parts, placement, list_of_sbps(sbp))


# --- other layouts


def _placement(self: GlobalTensor) -> Placement:
    """The ranks that hold it."""
    return _C.layout_of(self).placement


def _sbp(self: GlobalTensor) -> tuple[Sbp, ...]:
    """How they hold it, for each axis of the grid."""
    return _C.layout_of(self).sbp


@_method
def _in_layout(
    self: GlobalTensor,
    placement: Placement | None = None,
    sbp: Sbp | Sequence[Sbp] | None = None,
) -> GlobalTensor:
    """Return the same tensor in another layout; its elements move.

    Parameters
    ----------
    placement : Placement, optional
        By default its own. All ranks of both call this.
    sbp : Sbp or sequence of Sbp, optional
        By default its own.

    Returns
    -------
    GlobalTensor
        The tensor itself where nothing changes.

    Raises
    ------
    ValueError
        For a rank that is not in the world, and another number of sbps than the grid has axes.
    TypeError
        For ``partial("any")`` and ``partial("all")`` of what is no bool.

    Examples
    --------
    >>> ranks = flow.distributed.placement("cpu", ranks=[0])
    >>> x = flow.arange(4).to_global(ranks, flow.distributed.sbp.split(0))
    >>> x.to_global(sbp=flow.distributed.sbp.broadcast).sbp
    (broadcast,)
    """
    own: Layout = _C.layout_of(self)
    if placement is not None or not isinstance(sbp, Sbp):
        return _C.box(self, _target(own, placement, sbp))
    target = _targets.get((own, sbp))
    if target is None:
        target = _targets[own, sbp] = _target(own, placement, sbp)
    return _C.box(self, target)


# Layouts stay for good; to make one of lists takes as long as a small collective.
_targets: dict[tuple[Layout, Sbp], Layout] = {}


def _target(own: Layout, placement: Placement | None, sbp: Sbp | Sequence[Sbp] | None) -> Layout:
    require_placement(placement or own.placement)
    sbps = list(own.sbp) if sbp is None else list_of_sbps(sbp)
    return Layout(list(own.shape), placement or own.placement, sbps)


@_method
def to_local(self: GlobalTensor) -> Tensor:
    """Return this rank's part; a tensor without elements where it holds nothing.

    It is no copy: what is written to it is written to this tensor.

    Examples
    --------
    >>> ranks = flow.distributed.placement("cpu", ranks=[0])
    >>> flow.arange(4).to_global(ranks, flow.distributed.sbp.split(0)).to_local().tolist()
    [0, 1, 2, 3]
    """
    return self._part()


@_method
def full(self: GlobalTensor) -> Tensor:
    """Return all of it, on each rank of its placement; all of them call it.

    Where x is broadcast, that is the part itself: what is written to it is written to x.

    Examples
    --------
    >>> ranks = flow.distributed.placement("cpu", ranks=[0])
    >>> flow.ones(2).to_global(ranks, flow.distributed.sbp.partial_sum).full().tolist()
    [1.0, 1.0]
    """
    whole: GlobalTensor = _in_layout(self, sbp=[broadcast] * len(_sbp(self)))
    return whole._part()


# --- looks


def _value(self: GlobalTensor, method: str) -> Tensor:
    """All of it, where this rank has that; a look never communicates."""
    layout = _C.layout_of(self)
    if layout.box(_C.rank_of(self)) is None:
        raise RuntimeError(
            f"[{method}] rank {_C.rank_of(self)} holds nothing of a tensor on {layout.placement}"
        )
    if any(not sbp.is_broadcast for sbp in layout.sbp):
        raise RuntimeError(
            f"[{method}] this rank has a part of {layout}; full(), which all of its ranks call, "
            "gives each of them the whole"
        )
    return self._part()


@_method
def numpy(self: GlobalTensor) -> npt.NDArray[Any]:
    """Return the value as a NumPy array, where this rank has all of it; waits for it."""
    return _value(self, "numpy").numpy()


@_method
def __array__(self: GlobalTensor, *_: Any, **_names: Any) -> Any:  # noqa: N807
    raise TypeError(
        f"[__array__] a GlobalTensor is no array: it is {_C.layout_of(self)}; x.numpy() where each "
        "rank has all of it, else x.full().numpy() on all of its ranks"
    )


@_method
def __reduce_ex__(self: GlobalTensor, protocol: Any) -> Any:  # noqa: N807
    raise TypeError(
        f"[pickle] a GlobalTensor is of many ranks: it is {_C.layout_of(self)}; "
        "flow.distributed.save(path, x) writes it, and x.full(), which all of its ranks call, or "
        "x.to_local() can be pickled"
    )


@_method
def __copy__(self: GlobalTensor) -> GlobalTensor:  # noqa: N807
    copied: GlobalTensor = RULES["copy"](self)
    return copied


@_method
def __deepcopy__(self: GlobalTensor, memo: dict[int, Any]) -> GlobalTensor:  # noqa: N807
    return self.__copy__()


def _without_out(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function as a method; NumPy's function of the name calls it with ``out``."""

    @functools.wraps(function)
    def method(self: GlobalTensor, *args: Any, **names: Any) -> Any:
        if "out" in names:
            raise TypeError(
                f"[{name}] a GlobalTensor is no array, and takes no out=, which "
                f"numpy.{name}(x) gives it: x.{name}(...), or flow.{name}(x, ...)"
            )
        refuse_out_by_place(name, function, (self, *args))
        return function(self, *args, **names)

    return method


@_method
def item(self: GlobalTensor, *index: int) -> Any:
    """Return an element as a Python number, where this rank has all of it; waits for it."""
    return _value(self, "item").item(*index)


@_method
def tolist(self: GlobalTensor) -> Any:
    """Return the value as lists of numbers, where this rank has all of it; waits for it."""
    return _value(self, "tolist").tolist()


@_method
def __bool__(self: GlobalTensor) -> bool:  # noqa: N807
    return bool(_value(self, "bool"))


@_method
def __int__(self: GlobalTensor) -> int:  # noqa: N807
    return int(_value(self, "int"))


@_method
def __float__(self: GlobalTensor) -> float:  # noqa: N807
    return float(_value(self, "float"))


@_method
def __format__(self: GlobalTensor, spec: str) -> str:  # noqa: N807
    return format(_value(self, "format"), spec) if spec else str(self)


@_method
def __divmod__(self: GlobalTensor, other: Any) -> Any:  # noqa: N807
    return self // other, self % other


@_method
def __rdivmod__(self: GlobalTensor, other: Any) -> Any:  # noqa: N807
    return other // self, other % self


@_method
def __repr__(self: GlobalTensor) -> str:  # noqa: N807
    layout = _C.layout_of(self)
    if layout.box(_C.rank_of(self)) is None:
        return f"GlobalTensor({layout}, dtype={self.dtype.name}; rank {_C.rank_of(self)}: nothing)"
    part = display.tensor_repr(self._part())
    return f"GlobalTensor({layout}; rank {_C.rank_of(self)}: {part})"


@_method
def __iter__(self: GlobalTensor) -> Iterator[GlobalTensor]:  # noqa: N807
    if self.ndim == 0:
        raise TypeError("[iter] expected a dimension, got a 0-d tensor")
    return (self[k] for k in range(len(self)))


@_method
def transpose(self: GlobalTensor, *axes: Any) -> GlobalTensor:
    """Return the tensor with its dimensions in another, by default the opposite, order."""
    return shapes.transpose(self, axes[0] if len(axes) == 1 else axes or None)


_METHODS["to_global"] = _METHODS.pop("_in_layout")
_METHODS["__str__"] = __repr__
_METHODS["__array_ufunc__"] = None  # NumPy's arrays leave operators to it
_METHODS["layout"] = property(_C.layout_of, doc="Its layout: shape, placement and sbp.")
_METHODS["placement"] = property(_placement)
_METHODS["sbp"] = property(_sbp)
_METHODS["T"] = property(shapes.transpose, doc="Its dimensions in the opposite order.")
_METHODS["mT"] = property(lambda x: shapes.swapaxes(x, -1, -2), doc="Its last two exchanged.")
_METHODS["real"] = property(RULES["real"], doc="The real parts of its elements.")
_METHODS["imag"] = property(RULES["imag"], doc="The imaginary parts of its elements.")
_METHODS["__getitem__"] = indexing.getitem
_METHODS["__setitem__"] = indexing.setitem
_METHODS["__matmul__"] = products.matmul
_METHODS["__rmatmul__"] = lambda b, a: products.matmul(a, b)
# Methods that are functions of the namespace.
_REDUCTIONS = ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std")
_OTHERS_WITH_OUT = ("clip", "cumsum", "cumprod", "take")
_FUNCTIONS = (
    *("reshape", "swapaxes", "ravel", "flatten", "squeeze", "astype"),
    *("argmax", "argmin", "argsort", "copy"),
)
_METHODS |= {name: RULES[name] for name in _FUNCTIONS}
_METHODS |= {name: _without_out(name, RULES[name]) for name in _REDUCTIONS + _OTHERS_WITH_OUT}


def _in_place(name: str, operator: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """An operator whose result goes into the left operand, as each rank has it."""

    def write(self: GlobalTensor, other: Any) -> Any:
        made = operator(self, other)
        if made is NotImplemented:
            return NotImplemented
        if made.shape != self.shape:
            raise ValueError(
                f"[{name}] a result of shape {made.shape} has no place in {self.shape}"
            )
        if not np.can_cast(made.dtype, self.dtype, "same_kind"):
            raise TypeError(f"[{name}] a result of {made.dtype} has no place in {self.dtype}")
        part = _C.bring(name, made, list(self.sbp)).to_local()
        if is_here(self):
            self.to_local()[...] = part
        return self

    return write


for _operator in (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, operator.pow, operator.and_, operator.or_, operator.xor),
    *(operator.lshift, operator.rshift, operator.matmul),
):
    _name = f"__i{_operator.__name__.strip('_')}__"
    _METHODS[_name] = _in_place(_name, _operator)
for _name, _function in _METHODS.items():
    setattr(GlobalTensor, _name, _function)
