"""Selecting elements by conditions and by numbers."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import bool as bool_dtype, int64, isdtype, result_type
from oneflow_lite.ops.creation.data import asarray, zeros_like
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.elementwise import clip
from oneflow_lite.ops.indexing import mode_number, take, take_along_axis
from oneflow_lite.ops.manipulation.joining import stack
from oneflow_lite.ops.manipulation.shapes import broadcast_arrays, ravel
from oneflow_lite.ops.masking import store, written
from oneflow_lite.ops.operands import dimensions, is_weak, on_one_device
from oneflow_lite.ops.statistics.reduction import any
from oneflow_lite.ops.statistics.scan import cumsum
from oneflow_lite.ops.table import exported


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Tensor:
    """Return, at each place, the choice of the first condition that is true there.

    Parameters
    ----------
    condlist : sequence of Tensor or array
        Of bool; all operands are broadcast against each other.
    choicelist : sequence of Tensor, array or scalar
        One for each condition.
    default : Tensor, array or scalar
        Where none is true.

    Examples
    --------
    >>> x = flow.arange(6)
    >>> flow.select([x < 2, x > 3], [x, x * 10], 7).numpy()
    array([ 0,  1,  7,  7, 40, 50])
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"[select] expected a choice for each of {len(condlist)} conditions, got "
            f"{len(choicelist)}"
        )
    if not len(condlist):
        raise ValueError("[select] expected at least one condition, got none")
    given = on_one_device(*condlist, *choicelist, default)
    conditions, choices = given[: len(condlist)], given[len(condlist) :]
    for condition in conditions:
        if condition.dtype != bool_dtype:
            raise TypeError(f"[select] expected conditions of bool, got {condition.dtype}")
    values = [
        value if is_weak(value) else x
        for value, x in zip((*choicelist, default), choices, strict=True)
    ]
    dtype = result_type(*values)
    result = _C.astype(choices[-1], dtype, False)
    for condition, choice in zip(conditions[::-1], choices[-2::-1], strict=True):
        result = _C.where(condition, _C.astype(choice, dtype, False), result)
    return result


@_C.native(_C.paths.choose, "out")
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Tensor:
    """Return, at each place, the choice that has the number given there.

    Parameters
    ----------
    a : Tensor or array of int
        The numbers.
    choices : sequence of Tensor or array, or Tensor
        All operands are broadcast against each other.
    out : Tensor or array, optional
        Where the result goes, cast as ``astype`` does; an array waits for it.
    mode : {"raise", "wrap", "clip"}
        What a number without a choice does: a ValueError at the look, counting on from the other
        end, or the nearest choice.

    Examples
    --------
    >>> flow.choose(flow.tensor([1, 0, 1]), [[1, 2, 3], [10, 20, 30]]).numpy()
    array([10,  2, 30])
    """
    if out is not None:
        stored: Tensor = store("choose", out, choose(a, choices, mode=mode), "unsafe")
        return stored
    how = mode_number(mode, "choose")
    parts = list(choices)
    numbers, *options = on_one_device(a, *parts)
    if not isdtype(numbers.dtype, ("integral", "bool")):
        raise TypeError(f"[choose] expected integers, got {numbers.dtype}")
    if not options:
        raise ValueError("[choose] expected at least one choice, got none")
    weak = [part if is_weak(part) else x for part, x in zip(parts, options, strict=True)]
    dtype, count = result_type(*weak), len(options)
    index, *options = broadcast_arrays(
        _C.astype(numbers, int64, False), *(_C.astype(x, dtype, False) for x in options)
    )
    if how == mode_number("wrap", "choose"):
        index = index % count
    elif how == mode_number("clip", "choose"):
        index = clip(index, 0, count - 1)
    else:  # a negative number is out of range too
        index = _C.where(index < 0, count, index)
    lanes = stack(options)
    if how != mode_number("raise", "choose"):
        return take_along_axis(lanes, index[None], axis=0)[0, ...]
    outputs = [((1, *index.shape), dtype)]
    attr = (0, True)  # along the first axis; one out of range is a ValueError
    (chosen,) = _C.call_kernel(
        *("choose", "take_along_axis", [lanes, index[None]], outputs, attr), elements=index.size
    )
    return chosen[0, ...]


_PARTS = (
    "how many elements a function gets depends on values; choose with flow.where(condition, "
    "function(x), other), or do it outside of the function that is recorded"
)


def piecewise(
    x: Any, condlist: Any, funclist: Sequence[Any], *arguments: Any, **keywords: Any
) -> Tensor:
    """Return what a function makes of x where its condition holds.

    Parameters
    ----------
    x : Tensor or array
        Operand.
    condlist : sequence of Tensor or array, or one of them
        Conditions of x's shape. Where several hold the last counts.
    funclist : sequence of callable or scalar
        One for each condition, and perhaps one for where none holds. A callable is given the
        elements for which the condition holds, in one dimension: how many is looked at.
    *arguments, **keywords
        Passed on to callables.

    Examples
    --------
    >>> x = flow.tensor([-2.0, 3.0])
    >>> flow.piecewise(x, [x < 0, x >= 0], [lambda part: -part, 10]).numpy()
    array([ 2., 10.])
    """
    given = asarray(x)
    # One condition, as an array or a list of its elements; more are a list or one array of them.
    if isinstance(condlist, (list, tuple)):
        single = not condlist or (given.ndim > 0 and dimensions(condlist[0], "piecewise") == 0)
    else:
        single = dimensions(condlist, "piecewise") <= (given.ndim > 0)
    conditions = [
        _C.astype(asarray(one, device=given.device), bool_dtype, False)
        for one in ([condlist] if single else condlist)
    ]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~any(stack(conditions), 0))
    if len(funclist) != len(conditions):
        n = len(conditions)
        raise ValueError(f"[piecewise] expected {n} or {n + 1} functions, got {len(funclist)}")
    result = zeros_like(given)
    for condition, function in zip(conditions, funclist, strict=True):
        value = function
        if isinstance(function, Callable):  # type: ignore[arg-type]
            _C.refuse_while_recording("piecewise", _PARTS)
            part = _C.getitem(given, condition, "piecewise")
            if not part.size:
                continue
            value = function(part, *arguments, **keywords)
        _C.setitem(result, condition, value, "piecewise")
    return result


@_C.native(_C.paths.place)
def place(x: Tensor, /, mask: Any, vals: Any) -> None:
    """Write values, in place, one after the other where a mask of x's size is true.

    Parameters
    ----------
    x : Tensor
        Written to.
    mask : Tensor or array
        What is not 0 is true. It is not looked at.
    vals : Tensor, array or scalar
        From the first again where there are too few. Of none, the mask is looked at.

    Examples
    --------
    >>> x = flow.arange(5)
    >>> flow.place(x, x > 1, [10, 20])
    >>> x.numpy()
    array([ 0,  1, 10, 20, 10])
    """
    chosen, values = _written("place", x, mask, vals)
    if values.size and x.size:
        order = cumsum(ravel(chosen)) - 1
        _chosen_from(x, chosen, take(values, clip(order, 0, None), mode="wrap"))
    elif x.size and _C.look("place", any(chosen)):
        raise ValueError("[place] expected at least one value, got none")


@_C.native(_C.paths.putmask)
def putmask(x: Tensor, /, mask: Any, values: Any) -> None:
    """Write, in place, the value of the same place where a mask of x's size is true.

    Parameters as for ``place``; values are repeated until they have x's size.

    Examples
    --------
    >>> x = flow.arange(5)
    >>> flow.putmask(x, x > 1, [10, 20])
    >>> x.numpy()
    array([ 0,  1, 10, 20, 10])
    """
    chosen, given = _written("putmask", x, mask, values)
    if given.size and x.size:
        if given.size != x.size:
            given = take(given, arange(x.size, device=x.device), mode="wrap")
        _chosen_from(x, chosen, given)


def _written(op: str, x: Any, mask: Any, values: Any) -> tuple[Tensor, Tensor]:
    if not isinstance(x, Tensor):
        raise TypeError(f"[{op}] expected a tensor to write to, got {type(x).__name__}")
    chosen = _C.astype(asarray(mask, device=_home(mask, x)), bool_dtype, False)
    if chosen.size != x.size:
        raise ValueError(f"[{op}] expected a mask of size {x.size}, got shape {chosen.shape}")
    return chosen, ravel(written(op, values, x, "safe"))


def _home(given: Any, x: Tensor) -> Any:
    return None if isinstance(given, Tensor) else x.device


def _chosen_from(x: Tensor, mask: Tensor, values: Tensor) -> None:
    shaped = _C.reshape(values, x.shape, None)
    _C.assign(x, _C.where(_C.reshape(mask, x.shape, None), shaped, x))


if not TYPE_CHECKING:
    __all__ = exported(globals())
