"""Extents that a program does not know when it is built: None in the shape of data().

While a program is built, a prime number stands for each of them, and Python sees a Dim. A run knows
the extents, and makes the types of all values anew (instance.py).

    None ─► stand-in (a prime) ─► calls infer shapes ─► a number near k · prime + c ─► k · N + c
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations_with_replacement
from typing import Any, NoReturn
from weakref import WeakSet

import numpy as np

from oneflow_lite._C import Recorder, Tensor, TraceError
from oneflow_lite.graph.hand.ranges import arange, linspace
from oneflow_lite.graph.ir import Function
from oneflow_lite.graph.sites import at, here, user_call, user_site
from oneflow_lite.graph.stand_ins import MOST, stand_ins

LEAST = 1 << 17  # smaller numbers have nothing to do with a stand-in; kLeastStandIn
_NEAR, _NEARER = 1 << 10, 1 << 6  # what may be added to one stand-in, and to two
_FEW = 8  # of one stand-in beside others; elements beside a stand-in

Terms = Mapping[tuple[str, ...], int]  # by product of unknown extents; (): the constant


_alive: "WeakSet[Unknowns]" = WeakSet()


def who_knows(x: Tensor) -> "Unknowns | None":
    """Return the unknown extents of the program that a tensor without a value is of."""
    for unknowns in _alive:
        if unknowns.names and unknowns.recorder.find(x) is not None:
            return unknowns
    return None


def shape_of(x: Tensor, numbers: tuple[int, ...]) -> "tuple[int | Dim, ...]":
    """Return the shape of a tensor without values: a Dim for each stand-in among the numbers."""
    unknowns = who_knows(x)
    if unknowns is not None:
        return tuple(unknowns.decode(number) for number in numbers)
    return numbers


def strides_of(x: Tensor, numbers: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a tensor without values.

    No expression of an extent is the stride for all sizes: an empty axis counts as one element.

    Raises
    ------
    TraceError
        One of them depends on an unknown extent.
    """
    unknowns = who_knows(x)
    if unknowns is None:
        return numbers
    if x.is_contiguous():
        is_known = not is_unknown(x.shape[1:])
    else:
        is_known = all(unknowns.meaning(n // x.dtype.itemsize) is None for n in numbers)
    if not is_known:
        raise TraceError(
            f"[strides] the strides of a tensor of shape {x.shape} depend on an unknown extent"
            f"{here()}: give the extent in data()"
        )
    return numbers


class Unknowns:
    """The unknown extents of one program, by name."""

    def __init__(
        self, recorder: Recorder, operand: Callable[["Dim", Tensor, bool], Tensor]
    ) -> None:
        self.names: list[str] = []
        self.recorder = recorder
        self.operand = operand
        self.arange = arange
        self.linspace = linspace
        self.handed: dict[int, Dim] = {}  # by the number that calls got in their place
        self.limits: dict[Any, Any] = {}  # what slices ask of extents: limits.py
        self.views: dict[Any, Any] = {}  # lines of views by value and layout: limits.py
        self.known: set[int] = set()  # large numbers that stand for nothing
        self._products: list[tuple[int, tuple[str, ...]]] = []
        _alive.add(self)

    def dim(self, name: str) -> "Dim":
        """Return the extent of this name, a new one where there is none."""
        if name not in self.names:
            if len(self.names) == MOST:
                raise ValueError(
                    f"[data] at most {MOST} unknown extents, got {name} besides "
                    f"{', '.join(self.names)}{here()}"
                )
            self.names.append(name)
            products = [
                product
                for degree in (1, 2, 3)
                for product in combinations_with_replacement(sorted(self.names), degree)
            ]
            numbers = self.stand_ins()
            self._products = sorted(
                ((_value(product, numbers), product) for product in products), reverse=True
            )
        return Dim(self, {(name,): 1})

    def stand_ins(self, which: int = 0) -> dict[str, int]:
        """Return the numbers that stand for the extents; there are two for each."""
        return stand_ins(self.names, which)

    def decode(self, number: int) -> "int | Dim":
        """Return what an extent means that calls made of known ones and stand-ins."""
        found = self.meaning(number)
        return number if found is None else self.handed.setdefault(number, found)

    def meaning(self, number: int) -> "Dim | None":
        """Return what a number is most likely made of; None: of no unknown extent."""
        if abs(number) < LEAST or number in self.known or not self.names:
            return None
        if number in self.handed:
            return self.handed[number]
        found = self._near_one(number, _NEAR) or self._near_two(number)
        return Dim(self, min(found, key=lambda terms: abs(terms.get((), 0)))) if found else None

    def readable(self, text: str) -> str:
        """Return a text with extents in place of the numbers that stand for them."""

        def name(found: "re.Match[str]") -> str:
            meant = self.meaning(int(found[0]))
            return found[0] if meant is None else meant.text

        return re.sub(r"(?<![\w.])\d{6,}(?!\w|\.\d)", name, text)

    def readable_shapes(self, text: str) -> str:
        """Return a text with extents in its shapes, and all other numbers as they are."""
        return re.sub(r"shape \([^()]*\)", lambda found: self.readable(found[0]), text)

    def near(self, number: int) -> "Dim | None":
        """Return what an extent means that differs by a few from a multiple of a stand-in."""
        found = self._near_one(number, _FEW)
        return Dim(self, found[0]) if len(found) == 1 else None

    def is_made_of_one(self, number: int) -> bool:
        """Return whether an operand is a number that stands for an extent, or was computed of one.

        A run would compute with that number, whatever the extent is: such operands are a Dim.
        """
        is_large = abs(number) >= LEAST and number not in self.known
        return is_large and bool(self._near_one(number, _FEW))

    def _near_one(self, number: int, near: int) -> list[dict[tuple[str, ...], int]]:
        """Return the ways to be near a multiple of one product."""
        found = []
        for value, product in self._products:
            count = (number + value // 2) // value
            if count and abs(number - count * value) <= near:
                found.append({product: count, (): number - count * value})
        return found

    def _near_two(self, number: int) -> list[dict[tuple[str, ...], int]]:
        """Return the ways to be near a sum of a few of one product and a multiple of another."""
        return [
            {product: count, **terms}
            for value, product in self._products
            for count in range(1, _FEW)
            for terms in self._near_one(number - count * value, _NEARER)
            if next(iter(terms)) > product
        ]


def _value(product: tuple[str, ...], sizes: Mapping[str, int]) -> int:
    value = 1
    for name in product:
        value *= sizes[name]
    return value


def sized(extent: "int | Dim", sizes: Mapping[str, int]) -> int:
    """Return the number that an extent is when the unknown ones have these sizes."""
    if isinstance(extent, int):
        return extent
    return sum(count * _value(product, sizes) for product, count in extent.terms.items())


def texts_of(function: Function, unknowns: Unknowns) -> dict[int, str]:
    """Return what the numbers in a function's types and attributes stand for, by number."""
    texts = {number: name for name, number in unknowns.stand_ins().items()}
    if not texts:
        return {}
    made = (x for op in function.ops for x in op.results)
    numbers = {n for x in (*function.inputs(), *made) for n in (*x.type.shape, *x.type.strides)}
    numbers.update(n for op in function.ops for n in op.call.attr if isinstance(n, int))
    for number in numbers:
        found = unknowns.meaning(number)
        if found is not None:
            texts[number] = found.text
    return texts


def is_unknown(extents: Iterable["int | Dim"]) -> bool:
    """Return whether one of the extents is not known."""
    return any(isinstance(extent, Dim) for extent in extents)


class Dim:
    """An extent that is not known while a program is built.

    It can stand in a new shape, be compared with itself, be multiplied by integers and added to
    them, and be an operand of an operation on tensors. ``repr`` is its name, for a look at a shape.
    All else raises TraceError.
    """

    __slots__ = ("terms", "unknowns")

    def __init__(self, unknowns: Unknowns, terms: Terms) -> None:
        self.unknowns = unknowns
        self.terms = {product: count for product, count in terms.items() if count}

    @property
    def stand_in(self) -> int:
        """The number that calls get in its place."""
        number = sized(self, self.unknowns.stand_ins())
        self.unknowns.handed.setdefault(number, self)
        return number

    @property
    def text(self) -> str:
        """It as programs show it."""
        return repr(self).replace(" ", "")

    def __repr__(self) -> str:
        parts = []
        for product, count in sorted(self.terms.items(), reverse=True):
            name = "*".join(product)
            parts.append(str(count) if not name else name if count == 1 else f"{count}*{name}")
        return " + ".join(parts).replace("+ -", "- ")

    def __hash__(self) -> int:
        self._refuse("is a key of", "hash")

    def __str__(self) -> str:
        return self._text("str")

    def __format__(self, spec: str) -> str:
        return self._text("format")

    def _text(self, op: str) -> str:
        """Return its name for a message of the library; a text of the program needs the number."""
        if user_call() is None:
            self._refuse("is converted to text by", op)
        return repr(self)

    def __copy__(self) -> "Dim":
        return self

    def __deepcopy__(self, _: Any) -> "Dim":
        return self

    def __reduce_ex__(self, _: Any) -> NoReturn:
        self._refuse("is pickled by", "pickle")

    def __eq__(self, other: object) -> Any:
        if isinstance(other, Tensor):
            return self._with_tensor(operator.eq, other, True)
        is_extent = isinstance(other, int | np.integer | Dim)
        difference = self._sum(other, -1) if is_extent else self
        if isinstance(difference, int):
            return difference == 0
        self._refuse("is compared with")

    def __ne__(self, other: object) -> Any:
        if isinstance(other, Tensor):
            return self._with_tensor(operator.ne, other, True)
        return not self == other

    def __add__(self, other: Any) -> Any:
        return self._linear(operator.add, other, lambda: self._sum(other, 1))

    def __radd__(self, other: Any) -> Any:
        return self._linear(operator.add, other, lambda: self._sum(other, 1), False)

    def __sub__(self, other: Any) -> Any:
        return self._linear(operator.sub, other, lambda: self._sum(other, -1))

    def __rsub__(self, other: Any) -> Any:
        return self._linear(operator.sub, other, lambda: (-self)._sum(other, 1), False)

    def __mul__(self, other: Any) -> Any:
        return self._linear(operator.mul, other, lambda: self._product(other))

    def __rmul__(self, other: Any) -> Any:
        return self._linear(operator.mul, other, lambda: self._product(other), False)

    def _linear(
        self,
        op: Callable[[Any, Any], Any],
        other: Any,
        on_extents: Callable[[], Any],
        is_first: bool = True,
    ) -> Any:
        """Return what an operator gives that extents have."""
        if isinstance(other, Dim | np.integer) or type(other) is int:
            return on_extents()
        return self._operand(op, other, is_first)

    def _operand(self, op: Callable[[Any, Any], Any], other: Any, is_first: bool = True) -> Any:
        """Return what an operator gives that is for tensors only."""
        if isinstance(other, Tensor):
            return self._with_tensor(op, other, is_first)
        self._refuse(f"is an operand ({op.__name__.rstrip('_')}) of")

    def _sum(self, other: Any, sign: int) -> Any:
        terms = dict(self.terms)
        for product, count in _terms(other).items():
            terms[product] = terms.get(product, 0) + sign * count
        return _made(self.unknowns, terms)

    def _product(self, other: Any) -> Any:
        terms: dict[tuple[str, ...], int] = {}
        for one, count in self.terms.items():
            for two, times in _terms(other).items():
                product = tuple(sorted((*one, *two)))
                terms[product] = terms.get(product, 0) + count * times
        return _made(self.unknowns, terms)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *given: Any, **named: Any) -> Any:
        """Call NumPy's ufunc on it as on any object; a tensor beside it makes it an operand."""
        if any(_has_own_ufuncs(x) for x in (*given, *named.get("out", ()))):
            return NotImplemented
        objects = [np.array(x, dtype=object) if isinstance(x, Dim) else x for x in given]
        try:
            return getattr(ufunc, method)(*objects, **named)
        except TypeError:  # the ufunc has no loop for objects, or asks them for a method
            self._refuse("is an operand of", ufunc.__name__)

    def _with_tensor(self, op: Callable[[Any, Any], Any], x: Tensor, is_first: bool) -> Any:
        operand = self.unknowns.operand(self, x, op in _COMPARISONS)
        return op(operand, x) if is_first else op(x, operand)

    def beside(self, x: Any, op: str) -> Tensor:
        """Return it as an operand of a function of the library, beside another one."""
        if not isinstance(x, Tensor):
            self._refuse("is an operand, beside no tensor, of", op)
        return self.unknowns.operand(self, x, op in _COMPARISONS.values())

    def refuse(self, op: str) -> NoReturn:
        """Raise TraceError: a function of the library needs a number."""
        self._refuse("is a number for", op)

    def refuse_element(self, op: str) -> NoReturn:
        """Raise TraceError: it is data of a function of the library."""
        inner = user_call()  # converted(): the Python part of flow.tensor and the like
        self._refuse("is an element for", op if inner == "converted" else inner or op)

    def _refuse(self, what: str, op: str | None = None) -> NoReturn:
        raise TraceError(
            f"[{op or user_call() or 'Dim'}] the unknown extent {self!r} {what} something that "
            f"needs its value{at(user_site())}: programs are built before extents are known; use "
            "k * extent + c, or give the extent in data()"
        )

    @property
    def names(self) -> set[str]:
        """The unknown extents that it is made of."""
        return {name for product in self.terms for name in product}

    @property
    def is_name(self) -> bool:
        """It is one unknown extent by itself."""
        return any(self.terms == {(name,): 1} for name in self.unknowns.names)

    def __neg__(self) -> "Dim":
        return Dim(self.unknowns, {product: -count for product, count in self.terms.items()})

    def __pos__(self) -> "Dim":
        return self

    def __index__(self) -> int:
        self._refuse("is a number for")

    def __floordiv__(self, other: Any) -> Any:
        if self._is_divided_by(other):
            terms = {product: count // int(other) for product, count in self.terms.items()}
            return _made(self.unknowns, terms)
        return self._operand(operator.floordiv, other)

    def __mod__(self, other: Any) -> Any:
        if self._is_divided_by(other):
            return self.terms.get((), 0) % int(other)
        return self._operand(operator.mod, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __rfloordiv__(self, other: Any) -> Any:
        return self._operand(operator.floordiv, other, False)

    def __rmod__(self, other: Any) -> Any:
        return self._operand(operator.mod, other, False)

    def _is_divided_by(self, other: Any) -> bool:
        """Whatever the extents are, the remainder is that of the constant."""
        counts = (count for product, count in self.terms.items() if product)
        is_integer = type(other) is int or isinstance(other, np.integer)
        return is_integer and other != 0 and all(n % other == 0 for n in counts)

    def arange(self, start: Any, stop: Any, step: Any, dtype: Any, device: Any) -> Tensor:
        """Return what flow.arange gives where one of its numbers is an unknown extent."""
        return self.unknowns.arange(start, stop, step, dtype, device)

    def linspace(self, start: Any, stop: Any, endpoint: bool, dtype: Any, device: Any) -> Tensor:
        """Return what flow.linspace gives for so many numbers."""
        return self.unknowns.linspace(self, start, stop, endpoint, dtype, device)

    __int__ = __float__ = __complex__ = __trunc__ = __index__

    def __round__(self, digits: int | None = None) -> NoReturn:
        self._refuse("is a number for", "round")

    def __abs__(self) -> NoReturn:
        self._refuse("is an operand (abs) of")

    def __invert__(self) -> NoReturn:
        self._refuse("is an operand (invert) of")

    def __matmul__(self, other: Any) -> NoReturn:
        self._refuse("is an operand (matmul) of")

    __rmatmul__ = __matmul__

    def __bool__(self) -> bool:
        self._refuse("decides")


def _has_own_ufuncs(x: Any) -> bool:
    """It says itself what a ufunc of NumPy is on it, as tensors do."""
    return hasattr(x, "__array_ufunc__") and not isinstance(x, Dim | np.ndarray | np.generic)


def _terms(x: Any) -> Terms:
    return x.terms if isinstance(x, Dim) else {(): int(x)}


def _made(unknowns: Unknowns, terms: Terms) -> "int | Dim":
    made = Dim(unknowns, terms)
    if any(made.terms) or not made.terms:
        return made if made.terms else 0
    return made.terms[()]


def _of_tensors(op: Callable[[Any, Any], Any], is_first: bool) -> Callable[[Dim, Any], Any]:
    return lambda self, other: self._operand(op, other, is_first)


# They take any integer beside integers; other operations convert it to the dtype of the tensor.
_COMPARISONS = {
    operator.lt: "less",
    operator.le: "less_equal",
    operator.eq: "equal",
    operator.ne: "not_equal",
    operator.gt: "greater",
    operator.ge: "greater_equal",
}
_BITWISE = (operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift)
for _op in (operator.truediv, operator.pow, *_BITWISE):
    _name = _op.__name__.rstrip("_")
    setattr(Dim, f"__{_name}__", _of_tensors(_op, True))
    setattr(Dim, f"__r{_name}__", _of_tensors(_op, False))
for _op in (operator.lt, operator.le, operator.gt, operator.ge):
    setattr(Dim, f"__{_op.__name__}__", _of_tensors(_op, True))
