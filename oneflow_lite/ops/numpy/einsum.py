"""Sums of products in Einstein's notation: views, products of matrices and sums.

What is to be done follows from the subscripts and the shapes: it is planned once for each.
"""

import math
import operator
import string
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import DType, bool as bool_dtype, canonical, result_type
from oneflow_lite.ops.masking import required_target, store
from oneflow_lite.ops.operands import on_one_device
from oneflow_lite.ops.statistics import reduction
from oneflow_lite.ops.table import exported

# A letter of the subscripts, or a dimension of the ellipsis, counted from the right.
Label = str | int
_Shape = tuple[int, ...]

_NUMBERED = string.ascii_uppercase + string.ascii_lowercase  # in alphabetical order


class _Part(NamedTuple):
    """A value of the plan, and the label of each of its dimensions; no label stands twice."""

    place: int
    shape: _Shape
    strides: _Shape
    labels: list[Label]


class _Step(NamedTuple):
    """The next value: a function of one or two earlier ones; what is not needed again goes."""

    function: Callable[..., Tensor]
    first: int
    second: int | None
    args: tuple[Any, ...]
    done: list[int]


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
    ``numpy.einsum``. Where nothing is multiplied or summed, the result is a view.

    Parameters
    ----------
    subscripts : str
        Letters for the dimensions of each operand, ``"ij,jk->ik"``. Without ``->`` the result has
        the letters that stand once, in alphabetical order; ``...`` are broadcast dimensions, a
        letter twice in an operand its diagonal. NumPy's other form, ``einsum(x, [0, 1], y, [1, 2],
        [0, 2])``, has lists or arrays of numbers from 0 to 51.
    *operands : Tensor or array
        Operands.
    out, casting
        As for ``concat``; the rule is for operands and for the result.
    dtype : dtype, optional
        To calculate in, and of the result; by default the promoted one, that of ``out`` included.
    optimize : bool or str
        How the order of the pairs is found, for more than two operands: False: from left to right;
        True: ``"greedy"``; or a method of ``numpy.einsum_path``.

    Examples
    --------
    >>> x = flow.tensor([[1, 2], [3, 4]])
    >>> flow.einsum("ij,kj->ik", x, x).numpy()
    array([[ 5, 11],
           [11, 25]])
    """
    if not isinstance(subscripts, str):
        subscripts, operands = _from_lists((subscripts, *operands))
    layouts: Any = _C.layouts(operands)
    if layouts is None:
        operands = tuple(on_one_device(*operands))
        layouts = _C.layouts(operands)
    wanted = None if dtype is None else canonical(dtype, "einsum")
    if out is not None and wanted is None:
        own = [dtype for _, _, dtype in _C.parts_of_layouts(layouts)]
        wanted = result_type(*own, required_target("einsum", out))
    plan = _plan if isinstance(optimize, (bool, str)) else _plan.__wrapped__
    steps = plan(subscripts, layouts, wanted, casting, optimize)
    result = _C.run_steps(operands, steps)
    return result if out is None else store("einsum", out, result, casting)


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
    """Letters whose alphabetical order is that of the numbers."""
    if not np.iterable(numbers):
        raise TypeError(f"[einsum] expected subscripts or a list, got {type(numbers).__name__}")
    return "".join([_letter(number) for number in numbers])


def _letter(number: Any) -> str:
    if number is Ellipsis:
        return "..."
    try:
        place = None if isinstance(number, bool) else operator.index(number)
    except TypeError:
        place = None
    if place is None:
        kind = type(number).__name__
        raise TypeError(f"[einsum] expected numbers from 0 to 51 or ..., got {kind}")
    if not 0 <= place < len(_NUMBERED):
        raise ValueError(f"[einsum] expected numbers from 0 to 51 or ..., got {place}")
    return _NUMBERED[place]


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


class _Recorder:
    """Writes steps down, with the shapes and strides that their results have."""

    def __init__(self, given: int, dtype: DType) -> None:
        self.steps: list[_Step] = []
        self.given = self.count = given
        self.dtype = dtype

    def _step(
        self, function: Callable[..., Tensor], first: int, second: int | None, *args: Any
    ) -> int:
        self.steps.append(_Step(function, first, second, args, []))
        self.count += 1
        return self.count - 1

    def cast(self, part: _Part, dtype: DType, casting: str) -> _Part:
        _C.require_castable("einsum", dtype, self.dtype, casting)
        if dtype == self.dtype:
            return part
        return part._replace(place=self._step(_C.astype, part.place, None, self.dtype, False))

    def permuted(self, part: _Part, labels: list[Label]) -> _Part:
        """Return a view; also of what is in order."""
        axes = [part.labels.index(label) for label in labels]
        place = self._step(_C.permute, part.place, None, axes)
        shape, strides = ([values[i] for i in axes] for values in (part.shape, part.strides))
        return _Part(place, tuple(shape), tuple(strides), labels)

    def diagonal(self, part: _Part, first: int, second: int) -> _Part:
        place = self._step(_C.diagonal, part.place, None, 0, first, second)
        kept = [i for i in range(len(part.shape)) if i not in (first, second)]
        step = part.strides[first] + part.strides[second]
        return _Part(
            place,
            (*(part.shape[i] for i in kept), part.shape[first]),
            (*(part.strides[i] for i in kept), step),
            [*(part.labels[i] for i in kept), part.labels[first]],
        )

    def summed(self, part: _Part, kept: Collection[Label]) -> _Part:
        """Without the labels that nobody needs."""
        axes = tuple([i for i, label in enumerate(part.labels) if label not in kept])
        if not axes:
            return part
        if self.dtype == bool_dtype:
            place = self._step(reduction.any, part.place, None, axes)
        else:
            place = self._step(reduction.sum, part.place, None, axes, self.dtype)
        shape = [n for i, n in enumerate(part.shape) if i not in axes]
        return _new(place, shape, [label for label in part.labels if label in kept])

    def reshaped(self, part: _Part, shape: _Shape) -> _Part:
        if part.shape == shape:
            return part
        return _new(self._step(_C.reshape, part.place, None, shape, None), shape, part.labels)

    def broadcast(self, part: _Part, shape: _Shape) -> _Part:
        if part.shape == shape:
            return part
        return _new(self._step(_C.broadcast_to, part.place, None, shape), shape, part.labels)

    def multiplied(self, a: _Part, b: _Part, labels: list[Label]) -> _Part:
        place = self._step(operator.mul, a.place, b.place)
        return _new(place, np.broadcast_shapes(a.shape, b.shape), labels)

    def matrix_product(self, a: _Part, b: _Part, batch: int, labels: list[Label]) -> _Part:
        place = self._step(_C.matmul, a.place, b.place)
        leading = np.broadcast_shapes(a.shape[:batch], b.shape[:batch])
        return _new(place, (*leading, *a.shape[batch:-1], *b.shape[batch + 1 :]), labels)

    def finished(self) -> list[tuple[Any, ...]]:
        """Return the steps as run_steps() takes them; each value goes with its last use."""
        last: dict[int, _Step] = {}
        for step in self.steps:
            last |= {place: step for place in (step.first, step.second) if place is not None}
        for place, step in last.items():
            if place >= self.given:
                step.done.append(place)
        return [(*step[:-1], tuple(step.done)) for step in self.steps]


def _new(place: int, shape: Sequence[int], labels: list[Label]) -> _Part:
    """A row-major value; of a reshaped one the strides do not matter any more."""
    steps = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return _Part(place, tuple(shape), tuple(steps), labels)


@lru_cache(maxsize=1024)
def _plan(
    subscripts: str,
    given: bytes,
    dtype: DType | None,
    casting: str,
    optimize: Any,
) -> list[tuple[Any, ...]]:
    """Return the steps from the operands, of these layouts, to the result, the last value."""
    layouts = _C.parts_of_layouts(given)
    shapes = tuple([shape for shape, _, _ in layouts])
    terms, output = _parse(subscripts.replace(" ", ""), [len(shape) for shape in shapes])
    sizes = _sizes(terms, shapes)
    computed = result_type(*[own for _, _, own in layouts]) if dtype is None else dtype
    recorder = _Recorder(len(layouts), computed)
    parts = []
    for place, ((shape, strides, own), term) in enumerate(zip(layouts, terms, strict=True)):
        part = recorder.cast(_Part(place, shape, strides, term), own, casting)
        parts.append(_diagonal(recorder, part))
    for positions in _path(subscripts, shapes, optimize):
        group = [parts[i] for i in positions]
        parts = [part for i, part in enumerate(parts) if i not in positions]
        kept = {*output, *(label for part in parts for label in part.labels)}
        made = group[0]
        for i, part in enumerate(group[1:], 2):
            later = kept.union(*(rest.labels for rest in group[i:]))
            made = _product(recorder, made, part, later, output, sizes)
        parts.append(made)
    (result,) = parts
    result = recorder.summed(result, output)
    if result.labels != output or not recorder.steps:  # of one operand: a view
        recorder.permuted(result, output)
    return recorder.finished()


def _diagonal(recorder: _Recorder, part: _Part) -> _Part:
    """Labels that stand twice become the diagonal."""
    for label in [label for label, count in Counter(part.labels).items() if count > 1]:
        while part.labels.count(label) > 1:
            first = part.labels.index(label)
            part = recorder.diagonal(part, first, part.labels.index(label, first + 1))
    return part


def _product(
    recorder: _Recorder,
    a: _Part,
    b: _Part,
    later: Collection[Label],
    output: Sequence[Label],
    sizes: dict[Label, int],
) -> _Part:
    """Summed over what neither the result nor another operand needs."""
    a = recorder.summed(a, {*later, *b.labels})
    b = recorder.summed(b, {*later, *a.labels})
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
        a, b = _aligned(recorder, a, order), _aligned(recorder, b, order)
        return recorder.multiplied(a, b, order)
    # The larger one is not copied, where that can be.
    gone = _by_memory(max(a, b, key=lambda part: math.prod(part.shape)), gone)
    return _contracted(recorder, a, b, batch, rows, gone, columns, sizes)


def _contracted(
    recorder: _Recorder,
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
    first = _aligned(recorder, a, batch + rows + gone)
    second = _aligned(recorder, b, batch + gone + columns)
    kept = len(batch)
    left, middle = first.shape[: kept + len(rows)], [sizes[label] for label in gone]
    right = second.shape[kept + len(gone) :]
    first = recorder.broadcast(first, (*left, *middle))
    second = recorder.broadcast(second, (*second.shape[:kept], *middle, *right))
    # Without a batch, a vector is one of the matrices.
    heights = (math.prod(left[kept:]),) if rows or batch else ()
    widths = (math.prod(right),) if columns or batch else ()
    first = recorder.reshaped(first, (*left[:kept], *heights, inner))
    second = recorder.reshaped(second, (*second.shape[:kept], inner, *widths))
    made = recorder.matrix_product(first, second, kept, batch + rows + columns)
    return recorder.reshaped(made, (*made.shape[:kept], *left[kept:], *right))


def _by_memory(part: _Part, labels: Collection[Label]) -> list[Label]:
    """Return the labels from the largest step to the smallest: such dimensions merge to a view."""
    steps = dict(zip(part.labels, part.strides, strict=True))
    return sorted(
        (label for label in part.labels if label in labels), key=lambda label: -abs(steps[label])
    )


def _aligned(recorder: _Recorder, part: _Part, order: list[Label]) -> _Part:
    """A view with the dimensions in this order; size 1 where it has none, but in front."""
    present = [label for label in order if label in part.labels]
    if part.labels != present:
        part = recorder.permuted(part, present)
    if len(present) == len(order):
        return part
    sizes = dict(zip(present, part.shape, strict=True))
    start = next((i for i, label in enumerate(order) if label in sizes), len(order))
    return recorder.reshaped(part, tuple([sizes.get(label, 1) for label in order[start:]]))


def einsum_path(*operands: Any, optimize: Any = "greedy") -> tuple[list[Any], str]:
    """Return in which order ``numpy.einsum`` would contract operands, and what that costs, as text.

    Only shapes and dtypes are asked for. ``flow.einsum`` has an order of its own.

    Parameters
    ----------
    *operands
        As for ``einsum``.
    optimize : bool, str, tuple or list
        As for ``numpy.einsum_path``.

    Examples
    --------
    >>> flow.einsum_path("ij,jk,kl->il", *[flow.ones((2, 2))] * 3)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    given = [
        np.broadcast_to(np.empty((), x.dtype), x.shape)
        if isinstance(x, Tensor)
        else _C.held(x, "einsum_path")
        for x in operands
    ]
    path, report = np.einsum_path(*given, optimize=optimize)
    return path, report


if not TYPE_CHECKING:
    __all__ = exported(globals())
