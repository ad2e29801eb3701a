"""What looks at elements along an axis: positions, orders, running sums, and elements by index."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import GlobalTensor, Tensor
from oneflow_lite.distributed.borders import concat
from oneflow_lite.distributed.functions import (
    on_whole,
    refuse_out,
    require_one_placement,
    rule,
)
from oneflow_lite.distributed.layout import Layout
from oneflow_lite.distributed.reductions import max, min, sum
from oneflow_lite.distributed.sbp import broadcast, partial, split
from oneflow_lite.distributed.shapes import (
    axis_of,
    expand_dims,
    moved,
    place_along,
    ravel,
    squeeze,
    with_part,
)
from oneflow_lite.ops import elementwise, indexing, searching, sorting
from oneflow_lite.ops.creation.data import full, tensor
from oneflow_lite.ops.creation.ranges import arange
from oneflow_lite.ops.indexing import mode_number
from oneflow_lite.ops.numpy import comparison, elementwise as extras
from oneflow_lite.ops.statistics import reduction, scan


@rule("where")
def where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    """Return elements of one tensor where a condition holds, and of another one elsewhere."""
    if x1 is None and x2 is None:
        return on_whole("nonzero", searching.nonzero, (condition,), {})
    return _C.elementwise_of_parts("where", searching.where, condition, x1, x2)


@rule("clip")
def clip(x: Any, /, min: Any = None, max: Any = None, out: None = None) -> GlobalTensor:
    """Return the tensor, kept between bounds."""
    bounds = [each for each in (min, max) if each is not None]

    def of_parts(part: Tensor, *given: Any) -> Tensor:
        low = given[0] if min is not None else None
        return elementwise.clip(part, low, given[-1] if max is not None else None)

    return _C.elementwise_of_parts("clip", of_parts, x, *bounds)


def _along(
    name: str, x: GlobalTensor, axis: Any, make: Callable[[Tensor, int], Tensor], dtype: Any = None
) -> GlobalTensor:
    """What is done to lanes of an axis that no axis of the grid splits."""
    along = axis_of(axis, x.ndim, name)
    if any(each.dim == along for each in x.sbp):
        others = [d for d in range(x.ndim) if d != along]
        if not others:
            raise TypeError(
                f"[{name}] has no rule for one dimension that is split; "
                "x.to_global(sbp=flow.distributed.sbp.broadcast) first "
                f"({x.size * x.dtype.itemsize:,} bytes a rank)"
            )
        widest = others[int(np.argmax([x.shape[d] for d in others]))]
        x = _C.bring(name, x, [split(widest) if each.dim == along else each for each in x.sbp])
    source = _C.bring(name, x, [broadcast if each.op is not None else each for each in x.sbp])
    return with_part(source, x.shape, source.sbp, lambda part: make(part, along), dtype)


@rule("sort")
def sort(
    x: GlobalTensor, /, axis: int | None = -1, kind: str | None = None, **options: Any
) -> GlobalTensor:
    """Return a sorted copy; the tensor is split along another axis first, if it has one."""
    if axis is None:
        return sort(ravel(x), 0, kind, **options)
    return _along("sort", x, axis, lambda part, at: sorting.sort(part, at, kind, **options))


@rule("argsort")
def argsort(
    x: GlobalTensor, /, axis: int | None = -1, kind: str | None = None, **options: Any
) -> GlobalTensor:
    """Return the positions that sort it; see ``sort``."""
    if axis is None or x.ndim == 0:
        return argsort(ravel(x), 0 if axis is None else axis, kind, **options)

    def make(part: Tensor, at: int) -> Tensor:
        return sorting.argsort(part, at, kind, **options)

    return _along("argsort", x, axis, make, "int64")


class _Running(NamedTuple):
    """A running sum or product, and what it is of all elements."""

    name: str
    function: Callable[..., Tensor]
    total: Callable[..., Tensor]
    join: Callable[[Tensor, Tensor], Tensor]


_SUM = _Running("cumulative_sum", scan.cumulative_sum, reduction.sum, elementwise.add)
_PROD = _Running("cumulative_prod", scan.cumulative_prod, reduction.prod, elementwise.multiply)


def _running(of: _Running, x: GlobalTensor, axis: int | None, dtype: Any) -> GlobalTensor:
    """Those of each part; then the parts before it are counted in."""
    if x.ndim == 0:
        x = ravel(x)
    if axis is None and x.ndim != 1:
        raise ValueError(f"[{of.name}] expected an axis for {x.ndim} dimensions")
    along = axis_of(0 if axis is None else axis, x.ndim, of.name)
    axes = [at for at, each in enumerate(x.sbp) if each.dim == along]
    sbps = list(x.sbp)
    for at, each in enumerate(sbps):
        if each.op is not None or (at in axes and len(axes) > 1):
            sbps[at] = broadcast
    source = _C.bring(of.name, x, sbps)
    wanted = of.function(full(1, 0, dtype=x.dtype), axis=0, dtype=dtype).dtype
    own = with_part(
        source, x.shape, sbps, lambda part: of.function(part, axis=along, dtype=wanted), wanted
    )
    if len(axes) != 1:
        return own
    (cut,) = axes
    shape = [x.placement.grid[cut] if d == along else extent for d, extent in enumerate(x.shape)]
    totals = with_part(
        source,
        shape,
        sbps,
        lambda part: of.total(part, axis=along, keepdims=True, dtype=own.dtype),
        own.dtype,
    )
    whole = totals.to_global(sbp=[broadcast if at == cut else each for at, each in enumerate(sbps)])
    place = place_along(x, cut)
    if place <= 0:
        return own
    before = tuple(slice(0, place) if d == along else slice(None) for d in range(x.ndim))
    offset = of.total(whole.to_local()[before], axis=along, keepdims=True, dtype=own.dtype)
    return _C.of_part(of.join(own.to_local(), offset), own.layout, x)


@rule("cumulative_sum")
def cumulative_sum(
    x: GlobalTensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> GlobalTensor:
    """Return the sums of all elements up to each one: in NumPy's order within a part."""
    return _with_initial(_running(_SUM, x, axis, dtype), axis, 0, include_initial)


@rule("cumulative_prod")
def cumulative_prod(
    x: GlobalTensor, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> GlobalTensor:
    """Return the products of all elements up to each one; see ``cumulative_sum``."""
    return _with_initial(_running(_PROD, x, axis, dtype), axis, 1, include_initial)


def _with_initial(
    made: GlobalTensor, axis: int | None, first: int, is_wanted: bool
) -> GlobalTensor:
    if not is_wanted:
        return made
    along = axis_of(0 if axis is None else axis, made.ndim, "cumulative")
    shape = [1 if d == along else extent for d, extent in enumerate(made.shape)]
    sbps = [broadcast if each.dim == along else each for each in made.sbp]
    layout = Layout(shape, made.placement, sbps)
    box = layout.box(_C.rank_of(made))
    extents = [0] * made.ndim if box is None else [each.stop - each.start for each in box]
    part = full(extents, first, dtype=made.dtype, device=made.to_local().device)
    return concat([_C.of_part(part, layout, made), made], axis=along)


@rule("cumsum")
def cumsum(
    x: GlobalTensor, /, axis: int | None = None, dtype: Any = None, out: None = None
) -> GlobalTensor:
    """Return the running sums; without an axis, of the flattened tensor."""
    return _running(_SUM, ravel(x) if axis is None else x, axis, dtype)


@rule("cumprod")
def cumprod(
    x: GlobalTensor, /, axis: int | None = None, dtype: Any = None, out: None = None
) -> GlobalTensor:
    """Return the running products; without an axis, of the flattened tensor."""
    return _running(_PROD, ravel(x) if axis is None else x, axis, dtype)


def _position(name: str, x: GlobalTensor, axis: int | None, keepdims: bool) -> GlobalTensor:
    """Where the first largest, or smallest, element along an axis is; NaN is both."""
    if axis is None or x.ndim == 0:
        found = _position(name, ravel(x), 0 if axis is None else axis, False)
        return expand_dims(found, tuple(range(x.ndim))) if keepdims and x.ndim else found
    along = axis_of(axis, x.ndim, name)
    if x.shape[along] == 0:
        raise ValueError(f"[{name}] of no elements along axis {axis}")
    source = _C.bring(name, x, [broadcast if each.op is not None else each for each in x.sbp])
    box = source.layout.box(_C.rank_of(x))
    shape = [1 if d == along else extent for d, extent in enumerate(x.shape)]
    extreme = (max if name == "argmax" else min)(source, along, keepdims=True)
    best = extreme.to_global(
        sbp=[broadcast if each.dim in (None, along) else each for each in source.sbp]
    ).to_local()
    sbps = [partial("min") if each.dim == along else each for each in source.sbp]
    layout = Layout(shape, x.placement, sbps)
    part = source.to_local()
    if box is None:
        made = full(0, 0, dtype="int64", device=part.device)
    else:
        # NaN is unlike itself, and NumPy's extreme where there is one.
        hits = (part == best) | ((part != part) & (best != best))
        places = arange(box[along].start, box[along].stop, device=part.device)
        column = places.reshape([-1 if d == along else 1 for d in range(x.ndim)])
        last = searching.where(hits, column, x.shape[along])
        extents = [1 if d == along else n for d, n in enumerate(part.shape)]
        if part.shape[along]:
            made = reduction.min(last, axis=along, keepdims=True)
        else:
            made = full(extents, x.shape[along], dtype="int64", device=part.device)
    whole = _C.of_part(made, layout, x).to_global(
        sbp=[broadcast if each.dim is None else each for each in sbps]
    )
    return whole if keepdims else squeeze(whole, along)


@rule("argmax")
def argmax(
    x: GlobalTensor, /, axis: int | None = None, out: Any = None, *, keepdims: bool = False
) -> GlobalTensor:
    """Return where the first largest element along an axis is; NaN is the largest."""
    refuse_out("argmax", out)
    return _position("argmax", x, axis, keepdims)


@rule("argmin")
def argmin(
    x: GlobalTensor, /, axis: int | None = None, out: Any = None, *, keepdims: bool = False
) -> GlobalTensor:
    """Return where the first smallest element along an axis is; NaN is the smallest."""
    refuse_out("argmin", out)
    return _position("argmin", x, axis, keepdims)


@rule("count_nonzero")
def count_nonzero(x: GlobalTensor, /, axis: Any = None, *, keepdims: bool = False) -> GlobalTensor:
    """Return how many elements are not zero."""
    return sum(x != 0, axis, dtype="int64", keepdims=keepdims)


@rule("take")
def take(
    x: GlobalTensor, /, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise"
) -> GlobalTensor:
    """Return elements, or parts along an axis, by indices that each rank has all of.

    Along a split axis each rank gives what it has; the result is whole on all of them.
    """
    if axis is None or x.ndim == 0:
        x, axis = ravel(x), 0 if axis is None else axis
    along = axis_of(axis, x.ndim, "take")
    mode_number(mode, "take")
    wanted = _indices_of(x, indices)
    if x.shape[along] == 0 and wanted.size:
        raise IndexError(f"[take] axis {along} has no elements to index")
    source = _C.bring("take", x, [broadcast if each.op is not None else each for each in x.sbp])
    added = wanted.ndim - 1
    shape = [*x.shape[:along], *wanted.shape, *x.shape[along + 1 :]]
    sbps = [
        partial("any" if x.dtype.kind == "b" else "sum") if was.dim == along else each
        for was, each in zip(
            source.sbp, moved(source.sbp, lambda d: d + added if d > along else d), strict=True
        )
    ]
    cut = any(each.op is not None for each in sbps)
    if mode == "raise":
        _require_within(wanted if cut else indices, along, x.shape[along])
    box = source.layout.box(_C.rank_of(x))
    part = source.to_local()
    if box is None:
        made = part
    elif not cut:
        made = indexing.take(part, wanted, axis=along, mode=mode)
    else:
        made = _taken(part, wanted, along, box[along], x.shape[along], mode)
    result = _C.of_part(made, Layout(shape, x.placement, sbps), x)
    return result.to_global(sbp=[broadcast if each.op is not None else each for each in sbps])


def _indices_of(x: GlobalTensor, indices: Any) -> Tensor:
    if isinstance(indices, GlobalTensor):
        require_one_placement("take", x, indices)
        return _wide(_C.bring("take", indices, [broadcast] * len(x.sbp)).to_local())
    if isinstance(indices, Tensor):
        raise TypeError(
            "[take] indices are a Tensor of this rank alone; to_global() says that all have them"
        )
    return _wide(tensor(np.asarray(indices), device=x.to_local().device))


def _require_within(indices: Any, axis: int, extent: int) -> None:
    """IndexError for indices out of bounds; those of a global tensor are not looked at."""
    if isinstance(indices, GlobalTensor):
        return
    number = np.asarray(indices.numpy() if isinstance(indices, Tensor) else indices)
    number = number.astype("int64")
    if number.size and not -extent <= number.min() <= number.max() < extent:
        raise IndexError(f"[take] an index is out of bounds for axis {axis} with size {extent}")


def _wide(indices: Tensor) -> Tensor:
    """Indices as int64, which holds each extent; those of uint64 wrap, as in one tensor."""
    if indices.dtype.kind not in "iu" and indices.size:
        got = "booleans" if indices.dtype.kind == "b" else indices.dtype
        raise IndexError(f"[take] indices must be integers, got {got}")
    return indices.astype("int64")


def _taken(part: Tensor, wanted: Tensor, axis: int, box: slice, extent: int, mode: str) -> Tensor:
    """What this rank has of the elements; -0.0 elsewhere, which changes no sum, not even -0.0."""
    if mode == "wrap":
        wanted = wanted % extent
    elif mode == "clip":
        wanted = elementwise.clip(wanted, 0, extent - 1)
    else:
        wanted = searching.where(wanted < 0, wanted + extent, wanted)
    zeros = {"f": -0.0, "V": -0.0, "c": complex(-0.0, -0.0), "b": False}  # V: bfloat16
    nothing: Any = zeros.get(part.dtype.kind, 0)
    if part.shape[axis] == 0:
        shape = [*part.shape[:axis], *wanted.shape, *part.shape[axis + 1 :]]
        return full(shape, nothing, dtype=part.dtype, device=part.device)
    is_mine = (wanted >= box.start) & (wanted < box.stop)
    own = elementwise.clip(wanted - box.start, 0, part.shape[axis] - 1)
    found = indexing.take(part, own, axis=axis)
    mask = is_mine.reshape([*wanted.shape, *[1] * (part.ndim - axis - 1)])
    return searching.where(mask, found, full((), nothing, dtype=part.dtype, device=part.device))


def _elementwise(function: Callable[..., Tensor], count: int) -> Callable[..., GlobalTensor]:
    """The rule of a function that is one of elements, though no row of the op table."""

    def call(*args: Any, **names: Any) -> GlobalTensor:
        operands, others = args[:count], args[count:]
        return _C.elementwise_of_parts(
            function.__name__, lambda *parts: function(*parts, *others, **names), *operands
        )

    return call


for _unary in (
    *(elementwise.round, elementwise.real, elementwise.imag, extras.angle, extras.fix),
    *(extras.nan_to_num, extras.sinc, extras.isneginf, extras.isposinf, extras.isreal),
    extras.iscomplex,
):
    rule(_unary.__name__)(_elementwise(_unary, 1))
rule("isclose")(_elementwise(comparison.isclose, 2))
