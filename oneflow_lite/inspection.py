"""What the namespace says about itself: the version of the array API standard, devices, dtypes."""

from collections.abc import Iterable
from typing import Any, TypeVar

from oneflow_lite import dtypes as types
from oneflow_lite._C import Device
from oneflow_lite.device import DeviceLike, devices, resolve
from oneflow_lite.dtypes import DType
from oneflow_lite.flags import flags

__all__ = ["VERSIONS", "__array_namespace_info__", "array_api_version", "returned"]

Item = TypeVar("Item")

VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")  # whose names are all here

_MAX_DIMS = 32
_STANDARD = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)


def array_api_version() -> str:
    """Return the version of the standard that the namespace announces; see flag ``array_api``."""
    return "2024.12" if flags.array_api == "numpy" else str(flags.array_api)


def returned(items: Iterable[Item]) -> list[Item] | tuple[Item, ...]:
    """Return several results as the announced version has them: lists, and tuples from 2025.12."""
    return list(items) if array_api_version() < "2025.12" else tuple(items)


class _Info:
    """The inspection functions of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """Return what the library can do: indexing, shapes, the number of dimensions."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _MAX_DIMS,
        }

    def default_device(self) -> Device:
        """Return the calling thread's default device."""
        return resolve(None)

    def devices(self) -> list[Device] | tuple[Device, ...]:
        """Return every device that is present."""
        return returned(devices())

    def default_dtypes(self, *, device: DeviceLike = None) -> dict[str, DType]:
        """Return the dtypes of results that no argument decides; the same on every device."""
        resolve(device)
        return {
            "real floating": types.float64,
            "complex floating": types.complex128,
            "integral": types.int64,
            "indexing": types.int64,
        }

    def dtypes(
        self, *, device: DeviceLike = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """Return the standard's dtypes of a kind (None: all), by name; no float16, no bfloat16.

        Parameters
        ----------
        device : Device or str, optional
            All have the same.
        kind : str or tuple of str, optional
            As for ``isdtype``.
        """
        resolve(device)
        known: dict[str, DType] = {name: getattr(types, name) for name in _STANDARD}
        if kind is None:
            return known
        return {name: dtype for name, dtype in known.items() if types.isdtype(dtype, kind)}


def __array_namespace_info__() -> _Info:  # noqa: N807
    """Return the inspection functions of the standard.

    Examples
    --------
    >>> info = flow.__array_namespace_info__()
    >>> info.default_dtypes()["integral"]
    dtype('int64')
    >>> info.dtypes(kind="complex floating")
    {'complex64': dtype('complex64'), 'complex128': dtype('complex128')}
    """
    return _Info()
