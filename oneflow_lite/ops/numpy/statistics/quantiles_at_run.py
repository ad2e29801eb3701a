"""Quantiles of which only a run knows the parts, or how many elements each lane has.

The methods are those of ``quantile_methods.py``, of tensors in the place of numbers.
"""

from collections.abc import Callable, Sequence
from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import int64
from oneflow_lite.ops.elementwise import ceil, floor, maximum, minimum, rint
from oneflow_lite.ops.numpy.statistics.quantile_methods import PLOTTED, finds_elements

__all__: list[str] = []

Find = Callable[[Sequence[Tensor]], tuple[Tensor, list[Tensor]]]


def quantiles_at_run(
    find: Find, count: Tensor, parts: Sequence[Any], weak: bool, method: str
) -> tuple[Tensor | None, list[Tensor]]:
    """Return lanes as ``find`` arranges them, and the quantile of each part; None without parts.

    ``count`` is that of the elements: of all lanes, or of each one, in a last dimension of size 1.
    ``find`` gives the elements that a sort would put in places, without the last dimension.
    """
    places = [_place(method, count, _number(part)) for part in parts]
    if not places:
        return None, []
    last = count - 1
    if finds_elements(method) or (method == "linear" and places[0].dtype.kind in "iu"):
        return find([minimum(maximum(_whole(place), 0), last) for place in places])
    # Many lanes are longer than float16 counts: a place that is no number is beyond the last.
    before = [_C.where(x < _like(last, x), maximum(floor(x), 0), -1) for x in places]
    low = [_C.where(x < 0, last, _whole(x)) for x in before]
    high = [
        _C.where(place < 0, 0, minimum(one + 1, last))
        for place, one in zip(places, low, strict=True)
    ]
    lanes, found = find([*low, *high])
    results = []
    for k, place in enumerate(places):
        below, above = found[k], found[k + len(places)]
        share = _share(method, place, place - _like(before[k], place))
        share = _C.reshape(share, below.shape, None) if share.ndim else share
        difference = above - below
        # A part that is a number of Python's has the dtype of what it is multiplied with.
        kind = (difference * 0.5).dtype if weak else share.dtype
        from_above = above - difference * _C.astype(1 - share, kind, False)
        from_below = below + difference * _C.astype(share, kind, False)
        results.append(_C.where(share >= 0.5, from_above, from_below))
    return lanes, results


def _number(part: Any) -> Any:
    """A part as a float with a dtype, or as an integer without one."""
    if part.dtype.kind == "f" or part.dtype.kind == "V":
        return part
    return _whole(part) if isinstance(part, Tensor) else int(part)


def _whole(x: Tensor) -> Tensor:
    return _C.astype(x, int64, False)


def _like(x: Tensor, other: Tensor) -> Tensor:
    return _C.astype(x, other.dtype, False)


def _place(method: str, count: Tensor, part: Any) -> Tensor:
    """The place of a part in lanes of so many elements, as ``places_of`` has it."""

    def times(number: Tensor) -> Tensor:
        is_integer = isinstance(part, int) or part.dtype == int64
        product: Tensor = (number if is_integer else _like(number, part)) * part
        return product

    if method in PLOTTED:
        alpha, beta = PLOTTED[method]
        plotted: Tensor = times(count) + (alpha + part * (1 - alpha - beta)) - 1
        return plotted
    if method == "averaged_inverted_cdf":
        return times(count) - 1
    if method == "inverted_cdf":
        return ceil(times(count) - 1)
    if method == "closest_observation":
        place = times(count) - 1 - 0.5
        before = floor(place)
        is_odd = (place == before) & (before % 2 == 1)
        return _C.where(is_odd, before, before + 1)
    place = times(count - 1)
    if method == "linear":
        return place
    if method == "midpoint":
        middle: Tensor = 0.5 * (floor(place) + ceil(place))
        return middle
    rounded = {"lower": floor, "higher": ceil, "nearest": rint}[method]
    return rounded(place)


def _share(method: str, place: Tensor, share: Tensor) -> Tensor:
    """How much the upper one of two elements counts, as ``share_of`` has it."""
    if method == "averaged_inverted_cdf":
        return _like(_C.where(share == 0, 0.5, 1.0), share)
    if method == "midpoint":
        return _like(_C.where(place % 1 == 0, 0.0, 0.5), share)
    return share
