"""``x.flat``: the elements of a tensor in row-major order, to iterate over, read and write."""

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from oneflow_lite._C import Tensor
from oneflow_lite.ops.creation.data import asarray
from oneflow_lite.ops.manipulation.shapes import ravel, reshape
from oneflow_lite.ops.numpy.shapes import resize

__all__: list[str] = []


class FlatIterator:
    """What ``x.flat`` is: an iterator over the elements that takes indices, too.

    An element is a 0-d copy, and what other indices choose is a new tensor. What is written is
    flattened, and begins again where it is shorter than the elements that are chosen.
    """

    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("_next", "base")

    def __init__(self, base: Tensor) -> None:
        """Begin at the first element of a tensor."""
        self.base = base
        self._next = 0

    @property
    def index(self) -> int:
        """Return which element comes next."""
        return self._next

    @property
    def coords(self) -> tuple[int, ...]:
        """Return the indices of the next element."""
        return _coords(self._next, self.base.shape)

    def __len__(self) -> int:
        """Return how many elements there are."""
        return self.base.size

    def __iter__(self) -> Iterator[Tensor]:
        """Return the iterator, which goes on where it is."""
        return self

    def __next__(self) -> Tensor:
        """Return the next element."""
        if self._next >= self.base.size:
            raise StopIteration
        element = _element(self.base, self.coords)
        self._next += 1
        return element

    def __getitem__(self, key: Any) -> Tensor:
        """Return the elements that a key chooses, as a new tensor."""
        along = _along("flat", key)
        if isinstance(along, (int, np.integer)):
            return _element(self.base, _place(along, self.base))
        elements = ravel(self.base)
        chosen = elements[along]
        return chosen.copy() if chosen.shares_storage(elements) else chosen

    def __setitem__(self, key: Any, values: Any) -> None:
        """Write values to the elements that a key chooses, in their order."""
        along = _along("flat", key)
        given = _given(values, self.base)
        if isinstance(along, (int, np.integer)):
            place = _place(along, self.base)
            if isinstance(given, Tensor) and given.ndim:
                raise ValueError(f"[flat] expected a number for one element, got {given.shape}")
            self.base[place] = given
            return
        elements = reshape(self.base, (-1,))
        if isinstance(given, Tensor):
            if not given.size:
                return
            chosen = elements[along]
            if not chosen.size:
                return
            one = given.size == 1
            given = reshape(given, ()) if one else resize(given, chosen.shape)
        elements[along] = given
        if not elements.shares_storage(self.base):
            self.base[...] = reshape(elements, self.base.shape)

    def copy(self) -> Tensor:
        """Return the elements in a new tensor of one dimension."""
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return the elements in an array of one dimension; waits for them."""
        if copy is False:
            raise ValueError("[flat] copy=False, but the elements become an array by a copy only")
        return np.array(self.base.numpy().reshape(-1), dtype)

    def __eq__(self, other: Any) -> Any:
        """Compare the elements."""
        return ravel(self.base) == _values(other)

    def __ne__(self, other: Any) -> Any:
        """Compare the elements."""
        return ravel(self.base) != _values(other)

    def __lt__(self, other: Any) -> Any:
        """Compare the elements."""
        return ravel(self.base) < _values(other)

    def __le__(self, other: Any) -> Any:
        """Compare the elements."""
        return ravel(self.base) <= _values(other)

    def __gt__(self, other: Any) -> Any:
        """Compare the elements."""
        return ravel(self.base) > _values(other)

    def __ge__(self, other: Any) -> Any:
        """Compare the elements."""
        return ravel(self.base) >= _values(other)


def _coords(index: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indices of an element in row-major order."""
    coords: list[int] = []
    for extent in reversed(shape[1:]):
        index, at = divmod(index, extent)
        coords.append(at)
    return (index, *reversed(coords)) if shape else ()


def _place(index: Any, x: Tensor) -> tuple[int, ...]:
    """Return the indices of an element, which may be counted from the end."""
    at = operator.index(index)
    if not -x.size <= at < x.size:
        raise IndexError(f"[flat] index {at} is out of bounds for {x.size} elements")
    return _coords(at % x.size, x.shape)


def _element(x: Tensor, place: tuple[int, ...]) -> Tensor:
    """Return an element as a 0-d copy."""
    return x[place] if place else x.copy()  # x[()] is a view


def _values(other: Any) -> Any:
    return ravel(other.base) if isinstance(other, FlatIterator) else other


def _given(values: Any, base: Tensor) -> Any:
    """A number as it is; else what is written, as a tensor."""
    if isinstance(values, FlatIterator):
        values = values.copy()
    if isinstance(values, (Tensor, np.ndarray)):
        return asarray(values, device=base.device)
    if isinstance(values, (list, tuple, range)):
        return asarray(values, base.dtype, device=base.device)
    return values


def _along(op: str, key: Any) -> Any:
    """Return the key of the one dimension there is."""
    if isinstance(key, tuple):
        if len(key) > 1:
            raise IndexError(f"[{op}] expected one index, got {len(key)}")
        key = key[0] if key else ...
    if key is None or isinstance(key, (bool, np.bool_)):
        raise IndexError(f"[{op}] expected an integer, a slice or an array of indices, got {key}")
    return key


def flat_of(self: Tensor) -> FlatIterator:
    """Return the elements in row-major order, to iterate over, to index and to write to.

    Examples
    --------
    >>> x = flow.zeros((2, 2))
    >>> x.flat[1:3] = [5, 6]
    >>> x.tolist()
    [[0.0, 5.0], [6.0, 0.0]]
    """
    return FlatIterator(self)


def set_flat(self: Tensor, values: Any) -> None:
    """Write values to the elements in row-major order, from the first value on again and again."""
    FlatIterator(self)[...] = values
