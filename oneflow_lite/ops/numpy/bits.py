"""Bits as elements: eight of them to a byte, and bytes to bits."""

import operator
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import isdtype, uint8
from oneflow_lite.ops.creation.data import asarray, ascontiguousarray, tensor, zeros
from oneflow_lite.ops.manipulation.joining import concat
from oneflow_lite.ops.manipulation.shapes import normalize_axes
from oneflow_lite.ops.operands import is_by_columns
from oneflow_lite.ops.table import exported

_Order = Literal["big", "little"]


@_C.native(_C.paths.packbits)
def packbits(a: Any, /, axis: SupportsIndex | None = None, bitorder: _Order = "big") -> Tensor:
    """Return bytes of eight truths each; zeros are added to the last ones.

    Parameters
    ----------
    a : Tensor or array
        Integers or bools: a bit is set where an element is not 0.
    axis : int, optional
        The axis along which the elements are taken; None: all of them, flattened.
    bitorder : {"big", "little"}
        Whether the first of eight elements is the highest bit or the lowest.

    Returns
    -------
    Tensor
        Of uint8; the axis has an eighth of its size, rounded up.

    Raises
    ------
    TypeError
        For elements of another kind.
    ValueError
        For another order of bits. AxisError for an axis that is not there.

    Examples
    --------
    >>> flow.packbits(flow.tensor([1, 0, 0, 0, 0, 0, 1, 1, 1])).numpy()
    array([131, 128], dtype=uint8)
    """
    given = asarray(a)
    if not isdtype(given.dtype, ("bool", "integral")):
        raise TypeError(f"[packbits] expected integers or bools, got {given.dtype}")
    is_little = _is_little("packbits", bitorder)
    elements, along = _with_axis("packbits", given, axis)
    if not _C.device_types()[given.device.type].runs_host_kernels:
        return _composed_bytes(elements, along, is_little)
    extent = (elements.shape[along] + 7) // 8
    return _made("packbits", "pack_bits", elements, along, extent, is_little)


@_C.native(_C.paths.unpackbits)
def unpackbits(
    a: Any,
    /,
    axis: SupportsIndex | None = None,
    count: SupportsIndex | None = None,
    bitorder: _Order = "big",
) -> Tensor:
    """Return the bits of bytes as elements, 0 or 1; the inverse of ``packbits``.

    Parameters
    ----------
    a : Tensor or array
        Elements of uint8.
    axis : int, optional
        The axis along which the bits are put; None: the bytes are flattened.
    count : int, optional
        How many bits there are along the axis: others are left out, or zeros are added. A negative
        number leaves out so many at the end.
    bitorder : {"big", "little"}
        Whether the first of eight elements is the highest bit or the lowest.

    Returns
    -------
    Tensor
        Of uint8; the axis has the size ``count``, or eight times its size.

    Raises
    ------
    TypeError
        For elements of another dtype.
    ValueError
        For another order of bits, or where more bits are to be left out than there are. AxisError
        for an axis that is not there.

    Examples
    --------
    >>> flow.unpackbits(flow.tensor([131], dtype=flow.uint8)).numpy()
    array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    given = asarray(a)
    if given.dtype != uint8:
        raise TypeError(f"[unpackbits] expected uint8, got {given.dtype}")
    is_little = _is_little("unpackbits", bitorder)
    packed, along = _with_axis("unpackbits", given, axis)
    extent = 8 * packed.shape[along]
    wanted = extent if count is None else operator.index(count)
    if wanted < -extent:
        raise ValueError(
            f"[unpackbits] expected a count of at least {-extent}, which leaves out all bits, "
            f"got {wanted}"
        )
    if wanted < 0:
        wanted += extent
    if not _C.device_types()[given.device.type].runs_host_kernels:
        return _composed_bits(packed, along, wanted, is_little)
    return _made("unpackbits", "unpack_bits", packed, along, wanted, is_little)


def _made(op: str, kernel: str, x: Tensor, along: int, extent: int, is_little: bool) -> Tensor:
    """Return the result of a kernel; it is column-major where the operand is."""
    shape = (*x.shape[:along], extent, *x.shape[along + 1 :])
    output = (shape, uint8, x) if is_by_columns(x) else (shape, uint8)
    (made,) = _C.call_kernel(op, kernel, [x], [output], (along, is_little))
    return made


def _composed_bytes(elements: Tensor, along: int, is_little: bool) -> Tensor:
    """One operation after the other, where there is no kernel."""
    bits = ascontiguousarray(elements != 0)
    before, size, behind = bits.shape[:along], bits.shape[along], bits.shape[along + 1 :]
    rest = -size % 8
    if rest:
        added = zeros((*before, rest, *behind), "bool", device=bits.device)
        bits = concat([bits, added], along)
    grouped = _C.reshape(bits, (*before, (size + rest) // 8, 8, *behind), None)
    every: tuple[Any, ...] = (slice(None),) * (along + 1)
    places = _places(is_little)
    packed: Tensor = grouped[(*every, 0)] * (1 << places[0])
    for k in range(1, 8):
        packed = packed | grouped[(*every, k)] * (1 << places[k])
    return packed


def _composed_bits(packed: Tensor, along: int, wanted: int, is_little: bool) -> Tensor:
    """The same of bits."""
    before, size, behind = packed.shape[:along], packed.shape[along], packed.shape[along + 1 :]
    column = _C.reshape(ascontiguousarray(packed), (*before, size, 1, *behind), None)
    shifts = tensor(_places(is_little).reshape(-1, *[1] * len(behind)), uint8, packed.device)
    bits = _C.reshape((column >> shifts) & 1, (*before, size * 8, *behind), None)
    if wanted > 8 * size:
        added = zeros((*before, wanted - 8 * size, *behind), uint8, device=packed.device)
        return concat([bits, added], along)
    return ascontiguousarray(bits[(*[slice(None)] * along, slice(wanted))])


def _is_little(op: str, bitorder: str) -> bool:
    """Whether the first of eight elements is the lowest bit."""
    if bitorder not in ("big", "little"):
        raise ValueError(f"[{op}] expected bitorder 'big' or 'little', got {bitorder!r}")
    return bitorder == "little"


def _places(is_little: bool) -> Any:
    """The places in a byte of eight elements, in their order."""
    places = np.arange(8, dtype=np.uint8)
    return places if is_little else places[::-1]


def _with_axis(op: str, x: Tensor, axis: SupportsIndex | None) -> tuple[Tensor, int]:
    """The operand with at least one dimension, and the axis counted from 0."""
    if axis is None or x.ndim == 0:
        flat = _C.reshape(x, (-1,), None)
        x, axis = flat, 0 if axis is None else axis
    (along,) = normalize_axes(operator.index(axis), x.ndim, op)
    return x, along


if not TYPE_CHECKING:
    __all__ = exported(globals())
