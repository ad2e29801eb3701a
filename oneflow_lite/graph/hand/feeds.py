"""What a run is fed: checks against data(), and the sizes that unknown extents have."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Device, OutOfMemoryError, Tensor
from oneflow_lite.flags import flags
from oneflow_lite.graph.hand.declared import Declared, Feed
from oneflow_lite.graph.hand.extents import Dim, is_unknown, sized
from oneflow_lite.graph.hand.numbers import fed_number
from oneflow_lite.graph.ir import row_major
from oneflow_lite.graph.nearest import nearest
from oneflow_lite.graph.sites import at, here
from oneflow_lite.graph.tracing import Spec
from oneflow_lite.ops.creation.data import asarray, empty

Shape = tuple[int, ...]


def check_names(op: str, declared: Declared, feed: Mapping[str, Any]) -> None:
    """Refuse what is no mapping of names of feeds."""
    if not isinstance(feed, Mapping):
        raise TypeError(f"{op} feed: expected a dict of names, got {type(feed).__name__}{here()}")
    known = [*declared.feeds, *declared.numbers]
    for name in feed:
        if name not in declared.feeds and name not in declared.numbers:
            raise ValueError(f"{op} has no feed {name!r}{nearest(str(name), known)}{here()}")


def fed_all(
    op: str, declared: Declared, feed: Mapping[str, Any], device: Device
) -> dict[str, Tensor | float | complex]:
    """Return what is fed, checked against data() and number()."""
    check_names(op, declared, feed)
    return {
        name: fed_number(op, declared.numbers[name], x)
        if name in declared.numbers
        else fed(op, declared, declared.feeds[name], x, device)
        for name, x in feed.items()
    }


def fed(op: str, declared: Declared, feed: Feed, given: Any, device: Device) -> Tensor:
    """Return what is fed as a row-major tensor of the declared dtype.

    It is on the device that takes the place of the block's, or on another one that data() names.

    Raises
    ------
    ValueError
        Rank, a known extent or the dtype is another one; lists are ragged.
    OutOfMemoryError
        There is no room for a copy.
    """
    dtype, home = feed.value.type.dtype, feed.value.type.device
    device = device if home == declared.device else home
    if isinstance(given, Tensor) and is_of_a_program(declared, given):
        raise _mismatch(op, feed, "a tensor of a program, which has no value")
    try:
        if not isinstance(given, Tensor | np.ndarray | np.generic):
            given = _listed(op, feed, given, dtype)
        elif given.dtype != dtype:
            raise _mismatch(op, feed, f"of dtype {given.dtype}")
        check_shape(op, feed, given.shape)
        x = _row_major(asarray(given, dtype=dtype, device=device), dtype, device)
        if isinstance(given, Tensor) and 0 in given.strides:
            _check_copy(x)
        return x
    except MemoryError as error:
        shape = tuple(getattr(given, "shape", ()))
        raise OutOfMemoryError(
            f"{op} feed {feed.name}{at(feed.site)}: no memory for a copy of shape {shape}: {error}"
            f"{here()}"
        ) from None


def _row_major(x: Tensor, dtype: np.dtype[Any], device: Device) -> Tensor:
    if x.strides == row_major(x.shape, dtype.itemsize):
        return x
    whole = empty(x.shape, dtype=dtype, device=device)
    whole[...] = x
    return whole


def _check_copy(x: Tensor) -> None:
    """Wait for the copy of a broadcast feed, which may be far larger than what was given.

    Not where looks are reported or refused. A feed that has failed is an error of the results.
    """
    failure = _C.failure(x, "run") if flags.implicit_sync == "allow" else None
    if isinstance(failure, MemoryError):
        raise failure


def is_of_a_program(declared: Declared, x: Tensor) -> bool:
    """Return whether it is a tensor of this program, or has extents of another one."""
    return is_unknown(x.shape) or declared.recorder.find(x) is not None


def _listed(op: str, feed: Feed, given: Any, dtype: np.dtype[Any]) -> Any:
    """Return numbers and lists as an array that the dtype can hold."""
    try:
        array = np.asarray(given)
    except (ValueError, TypeError) as error:
        raise _mismatch(op, feed, f"no array ({error})") from None
    kind = np.dtype(np.float32) if dtype.name == "bfloat16" else dtype
    if array.dtype.kind in "iu" and kind.kind in "iu":
        limits = np.iinfo(kind.name)
        beyond = array[(array < limits.min) | (array > limits.max)]
        if beyond.size:
            raise _mismatch(op, feed, f"a list with {beyond.flat[0]}, beyond {kind}")
    elif array.size and not np.can_cast(array.dtype, kind, "same_kind"):
        raise _mismatch(op, feed, f"of dtype {array.dtype}")
    return array


def check_shape(op: str, feed: Feed, shape: Shape) -> None:
    """Refuse another rank, or another extent where it is known."""
    pairs = zip(shape, feed.shape, strict=False)
    is_same = all(isinstance(n, Dim) or n == m for m, n in pairs)
    if len(shape) != len(feed.shape) or not is_same:
        raise _mismatch(op, feed, f"of shape {tuple(shape)}")


def _mismatch(op: str, feed: Feed, given: str) -> ValueError:
    return ValueError(
        f"{op} feed {feed.name} is {given}, expected {feed.value.type.dtype} of shape {feed.shape}"
        f"{at(feed.site)}"
    )


def given_shape(op: str, feed: Feed, given: Any) -> Shape:
    """Return a shape that is given by itself, by a spec, or by what will be fed."""
    if isinstance(given, Tensor | np.ndarray | Spec):
        if given.dtype != feed.value.type.dtype:
            raise _mismatch(op, feed, f"of dtype {given.dtype}")
        shape = tuple(given.shape)
    else:
        shape = tuple(given) if isinstance(given, Sequence) else (given,)
    if not all(isinstance(n, int) and n >= 0 for n in shape):
        raise _mismatch(op, feed, f"of shape {given!r}")
    check_shape(op, feed, shape)
    return shape


def sizes_of(
    op: str, declared: Declared, shapes: Mapping[str, Shape], needed: Sequence[Feed]
) -> dict[str, int]:
    """Return the sizes of the unknown extents; those that nobody gives are left out.

    Raises
    ------
    ValueError
        Two feeds that are needed give one extent different sizes.
    """
    sizes: dict[str, int] = {}
    origin: dict[str, str] = {}
    others = [feed for feed in declared.feeds.values() if feed not in needed]
    for feed in (*needed, *others):
        for axis, extent in enumerate(feed.shape):
            if feed.name not in shapes or not isinstance(extent, Dim) or not extent.is_name:
                continue
            size = shapes[feed.name][axis]
            if sizes.setdefault(repr(extent), size) != size and feed in needed:
                raise ValueError(
                    f"{op} the extent {extent!r} is {sizes[repr(extent)]} in feed "
                    f"{origin[repr(extent)]} and {size} in feed {feed.name}{at(feed.site)}; give "
                    "one of them a name of its own in data()"
                )
            origin.setdefault(repr(extent), feed.name)
    for feed in needed:
        wanted = tuple(sized(n, sizes) for n in feed.shape)
        if shapes[feed.name] != wanted:
            raise _mismatch(op, feed, f"of shape {shapes[feed.name]}")
    return sizes
