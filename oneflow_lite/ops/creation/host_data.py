"""Tensors of what the host has: iterators, buffers, text, files of numbers. NumPy reads them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike
from oneflow_lite.dtypes import DType, canonical, float64
from oneflow_lite.ops.creation.data import asarray, ascontiguousarray, tensor
from oneflow_lite.ops.table import exported

_ORDERS = {"C", "C_CONTIGUOUS", "CONTIGUOUS"}
_COPIES = {"O", "OWNDATA", "W", "WRITEABLE"}
_ALWAYS = {"A", "ALIGNED", "E", "ENSUREARRAY"}


def fromiter(
    iter: Iterable[Any], dtype: Any, count: int = -1, *, device: DeviceLike = None
) -> Tensor:
    """Return a tensor of one dimension with what an iterator gives.

    Parameters
    ----------
    iter : iterable of numbers
        It is asked in the calling thread; 0-d tensors in it are looked at.
    dtype : dtype
        Of the result.
    count : int
        How many numbers are taken; -1: all. ValueError where there are less.
    device : Device or str, optional
        Where the result goes.

    Examples
    --------
    >>> flow.fromiter((n * n for n in range(4)), flow.int64).numpy()
    array([0, 1, 4, 9])
    """
    return tensor(np.fromiter(iter, _in_host_order("fromiter", dtype), count), device=device)


def frombuffer(
    buffer: Any,
    dtype: Any = float,
    count: int = -1,
    offset: int = 0,
    *,
    device: DeviceLike = None,
) -> Tensor:
    r"""Return a tensor of one dimension with a copy of the numbers in a buffer.

    Parameters
    ----------
    buffer : bytes, or an object with the buffer protocol
        The numbers. ``numpy.frombuffer`` shares them; this function does not.
    dtype : dtype
        Of the numbers; any byte order.
    count : int
        How many there are; -1: all.
    offset : int
        How many bytes are before them.
    device : Device or str, optional
        Where the result goes.

    Raises
    ------
    ValueError
        For a buffer that is too small, or whose size is no multiple of an element's.

    Examples
    --------
    >>> flow.frombuffer(b"\x01\x02", flow.uint8).numpy()
    array([1, 2], dtype=uint8)
    """
    wanted = _any_order("frombuffer", dtype)
    return tensor(np.frombuffer(buffer, wanted, count, offset), device=device)


def fromstring(
    string: str, dtype: Any = float, count: int = -1, *, sep: str, device: DeviceLike = None
) -> Tensor:
    """Return a tensor of one dimension with the numbers in a text.

    Parameters
    ----------
    string : str
        The text.
    dtype : dtype
        Of the result.
    count : int
        How many numbers are taken; -1: all.
    sep : str
        What is between them; there is no way to say that the text is binary.
    device : Device or str, optional
        Where the result goes.

    Raises
    ------
    ValueError
        For an empty ``sep``.

    Examples
    --------
    >>> flow.fromstring("1, 2", sep=",").numpy()
    array([1., 2.])
    """
    if not sep:
        raise ValueError("[fromstring] expected a separator; frombuffer() takes binary data")
    wanted = _any_order("fromstring", dtype)
    return tensor(np.fromstring(string, wanted, count, sep=sep), device=device)


def fromfile(
    file: Any,
    dtype: Any = float,
    count: int = -1,
    sep: str = "",
    offset: int = 0,
    *,
    device: DeviceLike = None,
) -> Tensor:
    r"""Return a tensor of one dimension with the numbers in a file, binary or text.

    Parameters
    ----------
    file : str, path or open file
        A file of the system: no object in memory.
    dtype : dtype
        Of the numbers; any byte order.
    count : int
        How many are read; -1: all.
    sep : str
        What is between the numbers of a text; "": the file is binary.
    offset : int
        How many bytes of a binary file are left out before them.
    device : Device or str, optional
        Where the result goes.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"\x01\x02")
    ...     file.flush()
    ...     flow.fromfile(file.name, flow.uint8).numpy()
    array([1, 2], dtype=uint8)
    """
    wanted = _any_order("fromfile", dtype)
    return tensor(np.fromfile(file, wanted, count, sep, offset), device=device)


def loadtxt(
    fname: Any, dtype: Any = float, *args: Any, device: DeviceLike = None, **kwargs: Any
) -> Tensor | tuple[Tensor, ...]:
    """Return the numbers in a text file; see ``numpy.loadtxt``.

    Parameters
    ----------
    fname : str, path, open file or lines
        The text.
    dtype : dtype
        Of the result; TypeError for records and text.
    device : Device or str, optional
        Where the result goes.
    *args, **kwargs
        As for ``numpy.loadtxt``: ``delimiter``, ``skiprows``, ``usecols``, ``unpack`` and so on.

    Examples
    --------
    >>> flow.loadtxt(["1 2", "3 4"]).numpy()
    array([[1., 2.],
           [3., 4.]])
    """
    wanted = _in_host_order("loadtxt", dtype)
    return tensor(np.loadtxt(fname, wanted, *args, **kwargs), device=device)


def genfromtxt(
    fname: Any, dtype: Any = float, *args: Any, device: DeviceLike = None, **kwargs: Any
) -> Tensor:
    """Return the numbers in a text file in which some are missing; see ``numpy.genfromtxt``.

    Parameters
    ----------
    fname : str, path, open file or lines
        The text.
    dtype : dtype, optional
        Of the result; None: what the numbers need. TypeError for records and text.
    device : Device or str, optional
        Where the result goes.
    *args, **kwargs
        As for ``numpy.genfromtxt``: ``delimiter``, ``filling_values`` and so on.

    Examples
    --------
    >>> flow.genfromtxt(["1,2", ",4"], delimiter=",").numpy()
    array([[ 1.,  2.],
           [nan,  4.]])
    """
    wanted = None if dtype is None else canonical(dtype, "genfromtxt")
    found: npt.NDArray[Any] = np.genfromtxt(fname, wanted, *args, **kwargs)
    return tensor(found, device=device)


def require(
    a: Any, dtype: Any = None, requirements: Any = None, *, device: DeviceLike = None
) -> Tensor:
    """Return the data as a tensor that is row-major, or a copy.

    Parameters
    ----------
    a : anything that ``asarray`` takes
        A tensor that fits is returned as it is.
    dtype : dtype, optional
        Of the result.
    requirements : str or sequence of str, optional
        "C": row-major; "O", "W": a copy, which owns its memory; "A", "E": tensors have this. There
        is no "F", which is a ValueError.
    device : Device or str, optional
        Where the result goes.

    Examples
    --------
    >>> flow.require(flow.zeros((2, 3)).T, requirements="C").strides
    (16, 8)
    """
    if not requirements:
        return asarray(a) if dtype is None and device is None else asarray(a, dtype, device=device)
    wanted = {str(one).upper() for one in requirements}
    unknown = wanted - _ORDERS - _COPIES - _ALWAYS
    if unknown:
        names = ", ".join(sorted(unknown))
        raise ValueError(f"[require] expected requirements among C, O, W, A and E, got {names}")
    given = asarray(a, dtype, device=device)
    if wanted & _ORDERS and not given.is_contiguous():
        given = ascontiguousarray(given)
    return _C.astype(given, given.dtype, True) if wanted & _COPIES and given is a else given


def _in_host_order(op: str, dtype: Any) -> DType:
    """The dtype of a result; None is float64, as everywhere in NumPy."""
    return float64 if dtype is None else canonical(dtype, op)


def _any_order(op: str, dtype: Any) -> np.dtype[Any]:
    """The dtype of numbers in memory or a file; the byte order is kept."""
    known = _in_host_order(op, dtype)
    wanted: np.dtype[Any] = np.dtype(known if dtype is None else dtype)
    return wanted


if not TYPE_CHECKING:
    __all__ = exported(globals())
