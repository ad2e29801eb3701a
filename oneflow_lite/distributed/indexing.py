"""Basic indexing of tensors of many ranks: views where nothing is cut, else copies that move.

Along a dimension that no axis of the grid splits, each rank indexes its part. Along a split one,
each rank has some of the elements that are wanted, and they move until they are balanced: of
``x[1:]``, a row at each border. The result is then no view, as NumPy's would be, but a copy.
"""

from collections.abc import Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.creation import of_array
from oneflow_lite.distributed.functions import is_here, on_whole, replaced, require_together
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.sbp import Sbp, broadcast, split
from oneflow_lite.distributed.shapes import broadcast_to, cuts, expand_dims, squeeze


class _Along(NamedTuple):
    """What is wanted along one dimension: elements start, start + step, ..., so many."""

    start: int
    step: int
    length: int

    def within(self, box: slice) -> tuple[int, int]:
        """The numbers, from the first to before the last, of the elements within a range."""
        if self.step > 0:
            a = -((self.start - box.start) // self.step)
            b = -((self.start - box.stop) // self.step)
        else:
            a = -((box.stop - 1 - self.start) // -self.step)
            b = (self.start - box.start) // -self.step + 1
        a = min(max(a, 0), self.length)
        return a, min(max(b, a), self.length)

    def of_part(self, box: slice) -> slice:
        """The same as a slice of the part that has this range."""
        a, b = self.within(box)
        if a == b:
            return slice(0, 0)
        first = self.start + a * self.step - box.start
        last = self.start + (b - 1) * self.step - box.start
        end: int | None = last + (1 if self.step > 0 else -1)
        return slice(first, None if end is not None and end < 0 else end, self.step)


class _Key(NamedTuple):
    """A basic index: what is wanted along each dimension, and the shape of the result."""

    along: list[_Along]
    gone: list[int]  # dimensions with an integer
    new: list[int]  # of the result

    def shape(self) -> list[int]:
        return [each.length for each in self.along]


def _is_basic(key: Any) -> bool:
    keys = key if isinstance(key, tuple) else (key,)
    return all(
        each is None
        or each is Ellipsis
        or (isinstance(each, slice) and Tensor not in map(type, (each.start, each.stop, each.step)))
        or _is_integer(each)
        for each in keys
    )


def _is_integer(key: Any) -> bool:
    """Of Python or of NumPy, whose arrays without dimensions may be masks."""
    if isinstance(key, (np.ndarray, np.generic)):
        return key.ndim == 0 and key.dtype.kind in "iu"
    return hasattr(key, "__index__") and not isinstance(key, (bool, Tensor))


def _parsed(key: Any, shape: Sequence[int]) -> _Key:
    keys = list(key) if isinstance(key, tuple) else [key]
    ellipses = [place for place, each in enumerate(keys) if each is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index has at most one ellipsis ('...')")
    given = len([each for each in keys if each is not None and each is not Ellipsis])
    if given > len(shape):
        raise IndexError(f"too many indices: {given} for a tensor of {len(shape)} dimensions")
    rest = [slice(None)] * (len(shape) - given)
    at = ellipses[0] if ellipses else len(keys)
    keys[at : at + 1] = rest
    along: list[_Along] = []
    gone, new, place = [], [], 0
    for each in keys:
        if each is None:
            new.append(place)
            place += 1
            continue
        dim = len(along)
        if isinstance(each, slice):
            start, stop, step = each.indices(shape[dim])
            along.append(_Along(start, step, len(range(start, stop, step))))
            place += 1
            continue
        number = index(each)
        if not -shape[dim] <= number < shape[dim]:
            raise IndexError(
                f"index {number} is out of bounds for axis {dim} with size {shape[dim]}"
            )
        along.append(_Along(number % shape[dim], 1, 1))
        gone.append(dim)
    return _Key(along, gone, new)


def _shape_of(key: _Key) -> list[int]:
    """The shape of what it gives, as NumPy counts it."""
    shape = [each.length for d, each in enumerate(key.along) if d not in key.gone]
    for place in key.new:
        shape.insert(place, 1)
    return shape


def _is_all(along: _Along, extent: int) -> bool:
    return (along.start, along.step, along.length) == (0, 1, extent)


def _cut(x: GlobalTensor, key: _Key, name: str) -> tuple[GlobalTensor, int]:
    """The tensor so that at most one cut dimension is split, and by one axis; that axis, or -1."""
    sbps: list[Sbp] = list(x.sbp)
    axes = [
        axis
        for axis, each in enumerate(sbps)
        if each.dim is not None and not _is_all(key.along[each.dim], x.shape[each.dim])
    ]
    dims = [each.dim for each in sbps]
    keeps = [axis for axis in axes if dims.count(dims[axis]) == 1][:1]
    for axis in axes:
        if axis not in keeps:
            sbps = [broadcast if each.dim == dims[axis] else each for each in sbps]
    return _C.bring(name, x, sbps), keeps[0] if keeps else -1


def _local(x: GlobalTensor, key: _Key) -> tuple[slice, ...]:
    """The key of this rank's part."""
    box = x.layout.box(_C.rank_of(x))
    assert box is not None
    return tuple(each.of_part(extent) for each, extent in zip(key.along, box, strict=True))


def _ranges(x: GlobalTensor, key: _Key, axis: int) -> list[tuple[int, int]]:
    """Which of the wanted elements the ranks along an axis have: their first ones, and how many."""
    dim = x.sbp[axis].dim
    assert dim is not None
    found = [key.along[dim].within(slice(*own)) for own in cuts(_C.layout_of(x), axis)]
    return [(a, b - a) for a, b in found]


def getitem(x: GlobalTensor, key: Any) -> GlobalTensor:
    """Return some of its elements; see the head of this file.

    Masks and index arrays are taken of tensors that each rank has all of, and a mask of the same
    layout of one that is split along its first dimension.
    """
    if not _is_basic(key):
        return _advanced(x, key)
    wanted = _parsed(key, x.shape)
    source, axis = _cut(x, wanted, "getitem")
    part = source.to_local()
    made = part[_local(source, wanted)] if is_here(x) else part
    layout = Layout(wanted.shape(), x.placement, list(source.sbp))
    if axis < 0:
        result = _C.of_part(made, layout, x)
    else:
        result = _C.balance(made, layout, axis, _ranges(source, wanted, axis), x)
    if wanted.gone:
        result = squeeze(result, wanted.gone)
    return expand_dims(result, wanted.new) if wanted.new else result


def _advanced(x: GlobalTensor, key: Any) -> GlobalTensor:
    require_together("getitem", x, key)
    by_rows = len(x.sbp) == 1 and x.sbp[0] == split(0)
    given = _mask_of(x, key) if by_rows else None
    if given is None:
        made: GlobalTensor = on_whole("getitem", lambda part, at: part[at], (x, key), {})
        return made
    mask = _C.bring("getitem", given, list(x.sbp)).to_local()
    found = x.to_local()[mask] if is_here(x) else x.to_local()
    result: GlobalTensor = found.to_global(x.placement, x.sbp)
    return result


def setitem(x: GlobalTensor, key: Any, value: Any) -> None:
    """Write to some of its elements; each rank writes to what it has of them.

    Raises
    ------
    TypeError
        For a tensor of this rank alone, and for masks and index arrays of a tensor of which a rank
        has only a part.
    ValueError
        For partial values, which no element can be written to, and two placements.
    OverflowError
        For Python's integers that its dtype cannot hold.
    """
    if any(each.op is not None for each in x.sbp):
        raise ValueError(
            "[setitem] ranks have values that add up to the elements, and not these; "
            "x = x.to_global(sbp=flow.distributed.sbp.broadcast) makes them whole"
        )
    require_together("setitem", x, (key, value))
    if not isinstance(value, GlobalTensor):
        value = _as_array(x, value)
    if not _is_basic(key):
        return _set_advanced(x, key, value)
    wanted = _parsed(key, x.shape)
    if not isinstance(value, GlobalTensor):
        array = value.reshape(value.shape[_leading(value, wanted) :])
        array = np.broadcast_to(array, _shape_of(wanted)).reshape(wanted.shape())
        if is_here(x):
            x.to_local()[_local(x, wanted)] = _piece(x, wanted, array)
        return None
    if extra := _leading(value, wanted):
        value = squeeze(value, tuple(range(extra)))
    given = broadcast_to(value, _shape_of(wanted))
    if wanted.new:
        given = squeeze(given, wanted.new)
    if wanted.gone:
        given = expand_dims(given, wanted.gone)
    return _write(x, wanted, given)


def _leading(value: Any, key: _Key) -> int:
    """How many dimensions of extent 1 come before those of the key; NumPy drops them."""
    extra = value.ndim - len(_shape_of(key))
    return extra if extra > 0 and value.shape[:extra] == (1,) * extra else 0


def _write(x: GlobalTensor, key: _Key, value: GlobalTensor) -> None:
    """Write a value of the shape of the key. It moves to the ranks that have these elements."""
    axes = [axis for axis, each in enumerate(x.sbp) if each.dim is not None]
    if len(axes) == 1:
        given = _C.bring("setitem", value, list(x.sbp))
        made = _C.unbalance(given, axes[0], _ranges(x, key, axes[0]))
    else:
        made = _C.bring("setitem", value, [broadcast] * len(x.sbp)).to_local()
        made = _piece(x, key, made) if is_here(x) else made
    if is_here(x):
        x.to_local()[_local(x, key)] = made


def _piece(x: GlobalTensor, key: _Key, value: Any) -> Any:
    """The part of a value of the shape that the key has, for this rank."""
    box = x.layout.box(_C.rank_of(x))
    assert box is not None
    ranges = [each.within(extent) for each, extent in zip(key.along, box, strict=True)]
    return value[tuple(slice(a, b) for a, b in ranges)]


def _set_advanced(x: GlobalTensor, key: Any, value: Any) -> None:
    """Write at a mask or at index arrays. These, and the value, move to where x is."""
    is_number = isinstance(value, np.ndarray) and value.ndim == 0
    if is_number and (given_mask := _mask_of(x, key)) is not None:
        mask = _C.bring("setitem", given_mask, list(x.sbp)).to_local()
        if is_here(x):
            x.to_local()[mask] = value
        return
    if any(not each.is_broadcast for each in x.sbp):
        raise TypeError(
            f"[setitem] has no rule for index arrays of {', '.join(map(str, x.sbp))}; "
            "x.to_global(sbp=flow.distributed.sbp.broadcast) first"
        )

    def whole(each: GlobalTensor) -> Tensor:
        return _C.bring("setitem", each, list(x.sbp)).to_local()

    at, given = replaced(key, whole), replaced(value, whole)
    if is_here(x):
        x.to_local()[at] = given


def _mask_of(x: GlobalTensor, key: Any) -> GlobalTensor | None:
    """A key that is a mask of its shape, with the split of x; None: it is something else."""
    if not isinstance(key, (GlobalTensor, np.ndarray)) or key.dtype.kind != "b":
        return None
    if key.shape != x.shape:
        return None
    mask: GlobalTensor = of_array(key, x, x.sbp)
    return mask


def _as_array(x: GlobalTensor, value: Any) -> np.ndarray[Any, Any]:
    """What is no tensor, for x: numbers that x cannot hold are an error on all ranks."""
    made = np.asarray(value)
    is_weak = isinstance(value, (int, float, complex, np.generic, list, tuple))
    is_large = made.dtype.kind == "O" and all(isinstance(each, int) for each in made.flat)
    if not is_weak or not (is_large or made.dtype.kind in "biufcV"):
        return made
    made = np.empty(made.shape, x.dtype)
    made[...] = value
    return made
