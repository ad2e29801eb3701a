"""Tensors to and from files: .npy and .npz; and to text."""

import os
from collections.abc import Mapping
from typing import IO, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.dtypes import canonical
from oneflow_lite.interop.dlpack import from_dlpack
from oneflow_lite.interop.orders import array_in_order, is_column_major, tensor_in_order
from oneflow_lite.ops.creation.data import tensor
from oneflow_lite.ops.manipulation.shapes import transpose

File = str | os.PathLike[str] | IO[bytes]

_MAX_HEADER_SIZE = 10000  # NumPy's
_BFLOAT16_IN_FILES = np.dtype("V2")


def save(file: File, arr: Any, allow_pickle: bool = True) -> None:
    """Write one tensor to a file in NumPy's .npy format; waits for it.

    The format has no bfloat16: ``load`` knows elements of two bytes without a type as that, and so
    does ``numpy.load(file).view(flow.bfloat16)``.

    Parameters
    ----------
    file : str, path or binary file
        A name gets the suffix ``.npy`` unless it has it.
    arr : Tensor or anything that ``tensor`` takes
        The value, written in row-major order unless it is column-major. Its device is not recorded.
    allow_pickle : bool
        Accepted, as in ``numpy.save``; it changes nothing, as tensors hold no objects.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> flow.save(file, flow.arange(3))
    >>> _ = file.seek(0)
    >>> np.load(file)
    array([0, 1, 2])
    """
    np.save(file, _value(arr), allow_pickle=False)


def savez(file: File, *tensors: Any, allow_pickle: bool = True, **named: Any) -> None:
    """Write tensors to a file in NumPy's .npz format; waits for them.

    Parameters
    ----------
    file : str, path or binary file
        A name gets the suffix ``.npz`` unless it has it.
    *tensors, **named
        Tensors without a name are called ``arr_0``, ``arr_1``, and so on.
    allow_pickle : bool
        As for ``save``.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> flow.savez(file, weights=flow.ones(2), bias=flow.zeros(1))
    >>> _ = file.seek(0)
    >>> sorted(flow.load(file))
    ['bias', 'weights']
    """
    np.savez(file, *map(_value, tensors), **_values(named))


def savez_compressed(file: File, *tensors: Any, allow_pickle: bool = True, **named: Any) -> None:
    """Write tensors to a compressed file in NumPy's .npz format; see ``savez``.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> flow.savez_compressed(file, weights=flow.ones(2))
    >>> _ = file.seek(0)
    >>> list(flow.load(file))
    ['weights']
    """
    np.savez_compressed(file, *map(_value, tensors), **_values(named))


def savetxt(fname: Any, X: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N803
    r"""Write a tensor of one or two dimensions to a text file; waits for it.

    Parameters
    ----------
    fname : str, path or open file
        A name with the suffix ``.gz`` is compressed.
    X : Tensor or anything that ``tensor`` takes
        The values.
    *args, **kwargs
        As for ``numpy.savetxt``: ``fmt``, ``delimiter``, ``header`` and so on.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> flow.savetxt(file, flow.eye(2), "%d")
    >>> file.getvalue()
    '1 0\n0 1\n'
    """
    np.savetxt(fname, _value(X), *args, **kwargs)


def tofile(self: Tensor, fid: Any, /, sep: str = "", format: str = "%s") -> None:
    """Write the values to a file, in row-major order; see ``numpy.ndarray.tofile``.

    Parameters
    ----------
    fid : str, path or file
        Where they go. ``flow.fromfile`` reads them.
    sep : str
        What stands between the elements as text; empty: they are written as bytes.
    format : str
        How each element is written as text.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryFile() as file:
    ...     flow.tensor([1, 2]).tofile(file)
    ...     _ = file.seek(0)
    ...     flow.fromfile(file, "int64").tolist()
    [1, 2]
    """
    self.numpy().tofile(fid, sep, format)


class Archive(dict[str, Tensor]):
    """The tensors of a .npz file by their names, used as NumPy's is; it holds no file open."""

    @property
    def files(self) -> list[str]:
        """The names."""
        return list(self)

    def close(self) -> None:
        """Do nothing: the file was closed when it was read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load(
    file: File,
    mmap_mode: str | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Literal["ASCII", "latin1", "bytes"] = "ASCII",
    *,
    max_header_size: int = _MAX_HEADER_SIZE,
    device: DeviceLike = None,
) -> Tensor | Archive:
    """Return what a .npy or .npz file holds: a tensor, or a dict of them.

    Parameters
    ----------
    file : str, path or binary file
        Written by ``save``, ``savez`` or NumPy, of any byte order. The order of the elements is
        kept. Pickled objects are refused.
    mmap_mode : {None, "r", "r+", "c"}
        Map a .npy file into memory instead of reading it; see ``numpy.memmap``. On the cpu the
        tensor lies over the file, read-only for "r"; the file then has the byte order of the
        machine.
    allow_pickle, fix_imports, encoding
        Accepted, as in ``numpy.load``; they change nothing, as tensors hold no objects.
    max_header_size : int
        The longest header of a file that is read, in characters.
    device : Device or str, optional
        Where the tensors go; the thread's default device unless given.

    Raises
    ------
    ValueError
        For a file of another format, of pickled objects, or of a byte order that is not mapped.
    TypeError
        For elements that tensors do not have, and for what is no array in an archive.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.eye(2))
    >>> _ = file.seek(0)
    >>> flow.load(file)
    tensor([[1., 0.],
            [0., 1.]], dtype=float64, device='cpu')
    """
    target = resolve(device)
    mode: Any = mmap_mode  # one of NumPy's, or its error
    found = np.load(file, mode, False, fix_imports, encoding, max_header_size=max_header_size)
    if isinstance(found, np.ndarray):
        if mmap_mode is not None:
            _check_mapped(found)
        return tensor_of(found, target, mapped=mmap_mode is not None)
    with found:
        return Archive(
            {name: tensor_of(_member(found, name), target, mapped=False) for name in found.files}
        )


def _member(archive: Any, name: str) -> npt.NDArray[Any]:
    """Return an array of an archive; NumPy gives the bytes of what is no array."""
    found: Any = archive[name]
    if isinstance(found, bytes):
        raise TypeError(f"[load] {name!r} in the archive: expected an array, got bytes")
    return found  # type: ignore[no-any-return]


def _check_mapped(found: npt.NDArray[Any]) -> None:
    """Refuse elements that a tensor cannot lie over."""
    if found.dtype != _BFLOAT16_IN_FILES:
        canonical(found.dtype, "load")
    if not found.dtype.isnative:
        raise ValueError(
            f"[load] mmap_mode: expected elements in the byte order of this machine, got "
            f"{found.dtype.str!r}; load the file without mmap_mode"
        )


def tensor_of(found: npt.NDArray[Any], target: Device, mapped: bool) -> Tensor:
    """What a file holds; of bfloat16 it says only that elements have two bytes.

    Of a mapped file, or an array that nobody else has, the tensor is the memory itself.
    """
    if not mapped and is_column_major(found):
        return transpose(tensor_of(found.T, target, mapped))
    is_bfloat16 = found.dtype.char == "V" and found.dtype == _BFLOAT16_IN_FILES
    if is_bfloat16:
        canonical("bfloat16", "load")  # needs a package
    bits = found.view(np.uint16) if is_bfloat16 else found
    x = from_dlpack(bits) if mapped else tensor(bits, device="cpu" if is_bfloat16 else target)
    return _C.to_device(_C.reinterpret(x, "bfloat16", "load") if is_bfloat16 else x, target, False)


def _value(x: Any) -> npt.NDArray[Any]:
    if isinstance(x, Tensor):
        return array_in_order(x)
    is_array = isinstance(x, np.ndarray)
    return np.asarray(tensor_in_order(x, "cpu") if is_array else tensor(x, device="cpu"))


def _values(named: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(x) for name, x in named.items()}


METHODS = {"tofile": tofile}
