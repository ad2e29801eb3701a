"""Sums of products in Einstein's notation: views, products of matrices and sums."""

import math
import string
from collections import Counter
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, bool as bool_dtype, canonical, result_type
from oneflow_lite.ops import reduction
from oneflow_lite.ops.masking import store
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.table import exported

# A letter of the subscripts, or a dimension of the ellipsis, counted from the right.
Label = str | int
_Shape = tuple[int, ...]


class _Part(NamedTuple):
    """A tensor and the label of each of its dimensions; no label stands twice."""

    x: Tensor
    labels: list[Label]


def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    casting: str = "safe",
    optimize: Any = True,
) -> Tensor:
    """Return sums of products in Einstein's notation.

    Pairs of operands go through ``matmul``: integers are exact, floats may round differently from
    ``numpy.einsum``.

    Parameters
    ----------
    subscripts : str
        Letters for the dimensions of each operand, ``"ij,jk->ik"``. Without ``->`` the result has
        the letters that stand once, in alphabetical order; ``...`` are broadcast dimensions, a
        letter twice in an operand its diagonal. NumPy's other form, ``einsum(x, [0, 1], y, [1, 2],
        [0, 2])``, works too.
    *operands : Tensor or array
        Operands.
    out : Tensor or array, optional
        Where the result goes; an array waits for it.
    dtype : dtype, optional
        To calculate in, and of the result; by default the promoted one, that of ``out`` included.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        Which casts of operands and to ``out`` are allowed; another one is a TypeError.
    optimize : bool or str
        How the order of the pairs is found, for more than two operands: False: from left to right;
        True: ``"greedy"``; or a method of ``numpy.einsum_path``.

    Returns
    -------
    Tensor
        A view where nothing is multiplied or summed.

    Examples
    --------
    >>> x = flow.tensor([[1, 2], [3, 4]])
    >>> flow.einsum("ij,kj->ik", x, x).numpy()
    array([[ 5, 11],
           [11, 25]])
    >>> flow.einsum("ii", x).item()
    5
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    given = on_one_device(*operands)
    shapes = tuple([x.shape for x in given])
    terms, output, sizes = _understood(subscripts, shapes)
    targets = [] if out is None else [out]
    wanted = result_type(*given, *targets) if dtype is None else canonical(dtype, "einsum")
    cast = (x if x.dtype is wanted else _cast(x, wanted, casting) for x in given)
    parts = [_diagonal(_Part(x, term)) for x, term in zip(cast, terms, strict=True)]
    value, labels = _multiplied(parts, _path(subscripts, shapes, optimize), output, sizes)
    if len(given) == 1 or labels != output:  # of one operand: a view
        value = _C.permute(value, [labels.index(label) for label in output])
    return value if out is None else store("einsum", out, value, casting)


def _cast(x: Tensor, dtype: DType, casting: str) -> Tensor:
    _C.require_castable("einsum", x.dtype, dtype, casting)
    return _C.astype(x, dtype, False)


def _multiplied(
    parts: list[_Part],
    path: Sequence[Sequence[int]],
    output: Sequence[Label],
    sizes: dict[Label, int],
) -> _Part:
    """The operands multiplied and summed, pair by pair in the order of the path."""
    for positions in path:
        group = [parts[i] for i in positions]
        parts = [part for i, part in enumerate(parts) if i not in positions]
        kept = {*output, *(label for part in parts for label in part.labels)}
        made = group[0]
        for i, part in enumerate(group[1:], 2):
            later = kept.union(*(rest.labels for rest in group[i:]))
            made = _product(made, part, later, output, sizes)
        parts.append(made)
    (result,) = parts
    return _summed(result, output)


# --- the subscripts


def _from_lists(arguments: Sequence[Any]) -> tuple[str, tuple[Any, ...]]:
    """The form ``x, [0, 1], y, [1, 2], [0, 2]`` as subscripts and operands."""
    count = len(arguments) // 2
    lists = [arguments[2 * i + 1] for i in range(count)]
    text = ",".join(map(_letters, lists))
    if len(arguments) % 2:
        text += "->" + _letters(arguments[-1])
    return text, tuple(arguments[2 * i] for i in range(count))


def _letters(numbers: Any) -> str:
    if not isinstance(numbers, Sequence):
        raise TypeError(f"[einsum] expected subscripts or a list, got {type(numbers).__name__}")
    try:
        return "".join("..." if n is Ellipsis else string.ascii_letters[n] for n in numbers)
    except (IndexError, TypeError):
        raise ValueError(f"[einsum] expected numbers from 0 to 51 or ..., got {numbers}") from None


def _parse(text: str, dims: Sequence[int]) -> tuple[list[list[Label]], list[Label]]:
    """Return the labels of the operands and of the result."""
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(dims):
        raise ValueError(f"[einsum] expected {len(terms)} operands for {text!r}, got {len(dims)}")
    labels = [_labels(term, ndim, text) for term, ndim in zip(terms, dims, strict=True)]
    widest = max((label for term in labels for label in term if isinstance(label, int)), default=0)
    if not arrow:
        counts = Counter(left.replace(",", "").replace(".", ""))
        once = sorted(letter for letter, count in counts.items() if count == 1)
        return labels, [*range(widest, 0, -1), *once]
    if widest and "..." not in right:
        raise ValueError(f"[einsum] expected '...' in the result of {text!r}")
    letters = len(right.replace("...", ""))
    output = _labels(right, letters + (widest if "..." in right else 0), text)
    known = {label for term in labels for label in term}
    for label, count in Counter(output).items():
        if label not in known:
            raise ValueError(f"[einsum] {label!r} of the result is in no operand of {text!r}")
        if count > 1:
            raise ValueError(f"[einsum] {label!r} stands twice in the result of {text!r}")
    return labels, output


def _labels(term: str, ndim: int, text: str) -> list[Label]:
    """Return the label of each of ``ndim`` dimensions."""
    before, ellipsis, after = term.partition("...")
    for letter in before + after:
        if letter not in string.ascii_letters:
            raise ValueError(f"[einsum] expected letters, ',', '->' and '...', got {text!r}")
    spread = ndim - len(before) - len(after)
    if spread < 0 or (spread and not ellipsis):
        raise ValueError(f"[einsum] {term!r} does not fit an operand of {ndim} dimensions")
    return [*before, *range(spread, 0, -1), *after]


@lru_cache(maxsize=256)
def _understood(
    subscripts: str, shapes: Sequence[_Shape]
) -> tuple[list[list[Label]], list[Label], dict[Label, int]]:
    """Return the labels of the operands and of the result, and their sizes; not to be changed."""
    terms, output = _parse(subscripts.replace(" ", ""), [len(shape) for shape in shapes])
    return terms, output, _sizes(terms, shapes)


def _sizes(terms: Sequence[Sequence[Label]], shapes: Sequence[_Shape]) -> dict[Label, int]:
    """The size of each label; 1 goes with every other size."""
    sizes: dict[Label, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        own: dict[Label, int] = {}
        for label, size in zip(term, shape, strict=True):
            known = sizes.setdefault(label, size)
            if own.setdefault(label, size) != size or (1 not in (known, size) and known != size):
                other = own[label] if own[label] != size else known
                raise ValueError(f"[einsum] dimension {label!r} has sizes {other} and {size}")
            sizes[label] = size if known == 1 else known
    return sizes


def _path(subscripts: str, shapes: Sequence[_Shape], optimize: Any) -> list[tuple[int, ...]]:
    """Which operands to take together; their product is appended to the others."""
    if len(shapes) <= 2 or optimize is False:
        return [tuple(range(len(shapes)))]
    method = "greedy" if optimize is True else optimize
    find = _find_path if isinstance(method, str) else _find_path.__wrapped__
    return find(subscripts, shapes, method)


@lru_cache(maxsize=256)
def _find_path(subscripts: str, shapes: Sequence[_Shape], method: Any) -> list[tuple[int, ...]]:
    stand_ins = [np.broadcast_to(np.float64(0), shape) for shape in shapes]
    return list(np.einsum_path(subscripts, *stand_ins, optimize=method)[0][1:])


# --- what is computed


def _diagonal(part: _Part) -> _Part:
    """Labels that stand twice become the diagonal."""
    x, labels = part
    if len(set(labels)) == len(labels):
        return part
    for label in [label for label, count in Counter(labels).items() if count > 1]:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = _C.diagonal(x, 0, first, second)
            labels = [*(one for i, one in enumerate(labels) if i not in (first, second)), label]
    return _Part(x, labels)


def _summed(part: _Part, kept: Collection[Label]) -> _Part:
    """Without the labels that nobody needs."""
    axes = [i for i, label in enumerate(part.labels) if label not in kept]
    if not axes:
        return part
    labels = [label for label in part.labels if label in kept]
    if part.x.dtype == bool_dtype:
        return _Part(reduction.any(part.x, axis=axes), labels)
    return _Part(reduction.sum(part.x, axis=axes, dtype=part.x.dtype), labels)


def _product(
    a: _Part, b: _Part, later: Collection[Label], output: Sequence[Label], sizes: dict[Label, int]
) -> _Part:
    """Summed over what neither the result nor another operand needs."""
    a = _summed(a, {*later, *b.labels})
    b = _summed(b, {*later, *a.labels})
    first = next((label for label in output if (label in a.labels) != (label in b.labels)), None)
    if first in b.labels and first is not None:
        a, b = b, a  # the result then lies as it is wanted
    shared = [label for label in a.labels if label in b.labels]
    gone = [label for label in shared if label not in later]
    batch = [label for label in shared if label in later]
    rows = _by_memory(a, set(a.labels).difference(shared))
    columns = _by_memory(b, set(b.labels).difference(shared))
    if not gone:
        order = batch + rows + columns
        return _Part(_aligned(a, order) * _aligned(b, order), order)
    # The larger one is not copied, where that can be.
    return _contracted(a, b, batch, rows, _by_memory(max(a, b, key=_size), gone), columns, sizes)


def _contracted(
    a: _Part,
    b: _Part,
    batch: list[Label],
    rows: list[Label],
    gone: list[Label],
    columns: list[Label],
    sizes: dict[Label, int],
) -> _Part:
    """One batched product of matrices: (batch, rows, gone) @ (batch, gone, columns)."""
    inner = math.prod(sizes[label] for label in gone)
    # A size of 1 is repeated along the sum.
    first, second = _aligned(a, batch + rows + gone), _aligned(b, batch + gone + columns)
    kept = len(batch)
    left, middle = first.shape[: kept + len(rows)], [sizes[label] for label in gone]
    right = second.shape[kept + len(gone) :]
    if first.shape != (*left, *middle):
        first = _C.broadcast_to(first, [*left, *middle])
    if second.shape != (*second.shape[:kept], *middle, *right):
        second = _C.broadcast_to(second, [*second.shape[:kept], *middle, *right])
    first = _reshaped(first, (*left[:kept], math.prod(left[kept:]), inner))
    second = _reshaped(second, (*second.shape[:kept], inner, math.prod(right)))
    made = _C.matmul(first, second)
    shape = (*made.shape[:kept], *left[kept:], *right)
    return _Part(_reshaped(made, shape), batch + rows + columns)


def _reshaped(x: Tensor, shape: _Shape) -> Tensor:
    return x if x.shape == shape else _C.reshape(x, shape, None)


def _size(part: _Part) -> int:
    return part.x.size


def _by_memory(part: _Part, labels: Collection[Label]) -> list[Label]:
    """Return the labels from the largest step to the smallest: such dimensions merge to a view."""
    steps = dict(zip(part.labels, part.x.strides, strict=True))
    return sorted(
        (label for label in part.labels if label in labels), key=lambda label: -abs(steps[label])
    )


def _aligned(part: _Part, order: Sequence[Label]) -> Tensor:
    """A view with the dimensions in this order; size 1 where it has none."""
    if part.labels == order:
        return part.x
    present = [label for label in order if label in part.labels]
    x = _C.permute(part.x, [part.labels.index(label) for label in present])
    if len(present) == len(order):
        return x
    shape = iter(x.shape)
    return _C.reshape(x, [next(shape) if label in present else 1 for label in order], None)


if not TYPE_CHECKING:
    __all__ = exported(globals())
