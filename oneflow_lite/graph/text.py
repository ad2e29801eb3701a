"""Programs as text, and back.

A line for each value that is there from the beginning, then one for each operation:

    program step
    %0: f32[8,64] cpu = parameter x
    %1: f32[64,10] cpu = capture
    %2: f32[10] cpu = constant [0.0, 1.0, ...]
    %3: f32[8,10] cpu = matmul(%0, %1)  # net.py:31
    %4: f32[8,10] cpu = add(%3, %2)  # net.py:31
    %5: f32[8,10] cpu = multiply(%4, 0.5) into %4
    %1 := %6
    return %5

Numbers that a run is given, or computes from others, are slots:

    %s0: float = parameter rate
    %s1: float = mul(%s0, 0.5)  # net.py:30
    %7: f32[8,10] cpu = multiply(%6, %s1)  # net.py:31

A type shows its strides, in bytes, where elements do not lie row-major: ``f32[8,64]{4,32}``. A call
that is not elementwise stands behind its kind: ``reduce.sum[axes=(0,)](%3)``. Numbers without a
dtype are Python's, which promote nothing.

Extents that are not known yet have names: ``extents batch``, then ``%0: f32[batch,64] cpu``,
``{4*batch,4}``. Names of parameters are for readers: two programs that differ in them are equal.

Objects of Python stand before the values, and an operation names its own, and what it is ordered
by: ``none`` are the results of a function that writes to nothing.

    @0 = draw uniform(0.0, 1.0, 3)
    @1 = function
    %0: f64[3] cpu = source.uniform() from @0 ! rng:0
    none = host[name='show'](%0) from @1 ! io

The compute lane of an operation, where it is not that of whoever runs the program:

    %1: f64[3] cpu = exp(%0) lane 1
"""

import re
from ast import literal_eval
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from math import prod
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import device as device_of
from oneflow_lite.dtypes import SUPPORTED, computed_in
from oneflow_lite.graph.calls import call_of, head_of
from oneflow_lite.graph.copies import laid_out
from oneflow_lite.graph.ir import (
    OBJECT_KINDS,
    Bound,
    Function,
    GroupCall,
    HostObject,
    Op,
    Scalar,
    Site,
    Slot,
    Type,
    Value,
    row_major,
)
from oneflow_lite.graph.literals import (
    fitting,
    integer,
    literal,
    number_of,
    split,
    without_quotes,
)
from oneflow_lite.graph.stand_ins import evaluated, stand_ins

_LETTERS = {"b": "bool", "i": "i", "u": "u", "f": "f", "c": "c"}
_CODES = {
    dtype: "bf16" if dtype.name == "bfloat16" else _LETTERS[dtype.kind] + str(dtype.itemsize * 8)
    for dtype in SUPPORTED
} | {np.dtype(bool): "bool"}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}
_CONSTANTS_IN_TEXT = 16  # elements
_COMMENT = "  # "
_NO_EXTENTS: Mapping[int, str] = {}


def type_text(given: Type, extents: Mapping[int, str] = _NO_EXTENTS) -> str:
    """Return a type as programs show it; ``extents`` has texts of unknown ones, by number."""

    def numbers(given: tuple[int, ...]) -> str:
        return ",".join(extents.get(n) or str(n) for n in given)

    shape = numbers(given.shape)
    strides = "" if given.is_row_major else "{" + numbers(given.strides) + "}"
    return f"{_CODES[given.dtype]}[{shape}]{strides} {given.device}"


def text_of(name: str, functions: Mapping[str, Function]) -> str:
    """Return a whole program as text that parse() reads."""
    blocks = [f"program {name}"]
    for name, function in functions.items():
        if name != "main":
            blocks.append(_header(name, function))
        blocks.append("\n".join(_Printer(function).lines()))
    return "\n".join(blocks) + "\n"


def structure_of(functions: Mapping[str, Function]) -> str:
    """Return the text without lines, names, and elements of constants: what makes two equal."""
    blocks = []
    for name, function in functions.items():
        lines = _Printer(function, is_structure=True).lines()
        blocks.append("\n".join((_header(name, function), *lines)))
    return "\n".join(blocks)


def lines_of(function: Function) -> list[str]:
    """Return the lines of a function: its operations stand before its assigns and the return."""
    return list(_Printer(function).lines())


def _header(name: str, function: Function) -> str:
    return f"{'primitive' if function.primitive else 'function'} {name}"


def digest_of(constant: Tensor) -> str:
    """Return a hash of a constant's elements and dtype."""
    text = f"{_CODES[constant.dtype]}{constant.shape}".encode()
    return blake2b(text + constant.numpy().tobytes(), digest_size=16).hexdigest()


class _Printer:
    """The lines of a function; values are numbered as they come."""

    def __init__(self, function: Function, is_structure: bool = False) -> None:
        self.function = function
        self.is_structure = is_structure
        self.numbers: dict[Value, int] = {}
        self.slots = {slot: f"%s{k}" for k, slot in enumerate(function.slots)}
        self.objects = {x: f"@{k}" for k, x in enumerate(function.objects)}
        self.extents = _NO_EXTENTS if is_structure else function.extents

    def lines(self) -> Iterator[str]:
        function = self.function
        if self.extents:
            names = (text for _, text in sorted(self.extents.items()) if text.isidentifier())
            yield f"extents {', '.join(names)}"
        for used in function.objects:
            yield f"{self.objects[used]} = {used.kind} {used.text}".rstrip()
        for value in function.params:
            yield f"{self._defined(value)} = {self._parameter(value)}"
        for bound in function.captures:
            yield f"{self._defined(bound.value)} = capture"
        for bound in function.constants:
            yield f"{self._defined(bound.value)} = constant {self._constant(bound)}"
        for slot in function.slots:
            yield self._slot(slot)
        for op in function.ops:
            yield self._op(op)
        for target, last in function.assigns:
            yield f"{self._name(target)} := {self._name(last)}"
        yield ("return " + ", ".join(map(self._name, function.results))).rstrip()

    def _defined(self, value: Value) -> str:
        number = self.numbers.setdefault(value, len(self.numbers))
        return f"%{number}: {type_text(value.type, self.extents)}"

    def _parameter(self, given: Value | Slot) -> str:
        name = "" if self.is_structure else self.function.names.get(given, "")
        is_plain = name.isprintable() and name == name.strip() and name[:1] not in ("'", '"')
        return f"parameter {name if is_plain else repr(name)}".rstrip()

    def _name(self, value: Value) -> str:
        return f"%{self.numbers[value]}" if value in self.numbers else "%?"

    def _constant(self, bound: Bound) -> str:
        if bound.tensor is None:
            raise ValueError("[Program] a constant has no tensor")
        if not self.is_structure and bound.value.type.size <= _CONSTANTS_IN_TEXT:
            array = bound.tensor.numpy()
            elements = array.astype(computed_in(array.dtype)).ravel().tolist()
            text = f"[{', '.join(map(literal, elements))}]"
            if _array(text, bound.value.type).tobytes() == array.tobytes():  # no odd NaN
                return text
        return digest_of(bound.tensor)

    def _slot(self, slot: Slot) -> str:
        operands = ", ".join(
            self.slots.get(x, "%s?") if isinstance(x, Slot) else literal(x) for x in slot.operands
        )
        call = f"{slot.operation}({operands})" if slot.operation else self._parameter(slot)
        return f"{self.slots[slot]}: {slot.kind.__name__} = {call}{self._site(slot.site)}"

    def _site(self, site: Site | None) -> str:
        return f"{_COMMENT}{site[0]}:{site[1]}" if site and not self.is_structure else ""

    def _operand(self, x: Value | Scalar) -> str:
        if isinstance(x, Value):
            return self._name(x)
        return self.slots.get(x.value, "%s?") if isinstance(x.value, Slot) else _scalar_text(x)

    def _op(self, op: Op) -> str:
        operands = ", ".join(map(self._operand, op.operands))
        into = " into " + ", ".join(map(self._name, op.targets)) if op.targets else ""
        used = f" from {self.objects.get(op.object, '@?')}" if op.object else ""
        lane = "" if op.lane is None else f" lane {op.lane}"
        effects = f" ! {', '.join(op.effects)}" if op.effects else ""
        call = f"{head_of(op, self.extents)}({operands}){into}{used}{lane}{effects}"
        results = ", ".join(map(self._defined, op.results)) or "none"
        return f"{results} = {call}{self._site(op.site)}"


def _array(text: str, given: Type) -> np.ndarray[Any, Any]:
    """Return the elements that a constant's text shows."""
    elements = [number_of(x) for x in split(text[1:-1])]
    return fitting(elements, given.dtype).reshape(given.shape)


def _scalar_text(scalar: Scalar) -> str:
    text = literal(scalar.value)
    return text if scalar.weak else f"{_CODES[scalar.dtype]}({text})"


# --- reading

_TYPE = r"(\w+)\[([\w,*+-]*)\](?:\{([\w,*+-]*)\})? ([\w:]+)"
_DEFINED = re.compile(rf"%(\d+): {_TYPE}")
_CALL = re.compile(
    r"([\w.]+)(?:\[(.*)\])?\((.*)\)"
    r"(?: into ([^@!]*?))?(?: from @(\d+))?(?: lane (\d+))?(?: ! (.*))?$"
)
_NAME = re.compile(r"%(\d+)$")
_ASSIGN = re.compile(r"(%\d+) := (.*)$")
_SLOT = re.compile(r"%s(\d+): (float|complex) = (?:parameter(?: (.*))?|(\w+)\((.*)\))$")
_TYPED = re.compile(r"(\w+)\((.*)\)$")
_LINE_BITS = 31
_MOST_BYTES = 1 << 63
_WRONG = (ValueError, TypeError, KeyError, IndexError, SyntaxError, ArithmeticError, MemoryError)


def parse(text: str, constants: Mapping[str, Any]) -> tuple[str, dict[str, Function]]:
    """Return the name and the functions of a program from its text."""
    functions: dict[str, Function] = {}
    name, reader = "", None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split(None, 1)
        if not words:
            continue
        try:
            rest = "".join(words[1:]).strip()
            if words[0] in ("program", "function", "primitive"):
                if reader is not None:
                    raise ValueError(f"the function {reader.name} has no return before")
                if words[0] == "program":
                    name = rest
                name_of = "main" if words[0] == "program" else rest
                reader = _Reader(name_of, constants, words[0] == "primitive")
                if not reader.name or reader.name in functions:
                    raise ValueError("expected a name that no function has")
            elif reader is None:
                raise ValueError("expected program, or function, and its name")
            elif words[0] == "extents":
                reader.declare_extents(rest)
            elif words[0] == "return":
                functions[reader.name] = reader.finish(rest)
                reader = None
            else:
                reader.read(line.strip())
        except _WRONG as error:
            raise ValueError(f"[Program.parse] line {number}: {error}: {line.strip()}") from error
    if reader is not None:
        raise ValueError(f"[Program.parse] the function {reader.name} has no return")
    return name, functions


class _Reader:
    """A function while it is read."""

    def __init__(self, name: str, constants: Mapping[str, Any], primitive: bool) -> None:
        self.name = name
        self.primitive = primitive
        self.known_constants = constants
        self.values: dict[int, Value] = {}
        self.params: list[Value] = []
        self.captures: list[Bound] = []
        self.constants: list[Bound] = []
        self.ops: list[Op] = []
        self.assigns: list[tuple[Value, Value]] = []
        self.slots: list[Slot] = []
        self.objects: list[HostObject] = []
        self.names: dict[Value | Slot, str] = {}
        self.extents: dict[int, str] = {}
        self.sizes: dict[str, int] = {}

    def finish(self, results: str) -> Function:
        return Function(
            self.name,
            tuple(self.params),
            tuple(self.captures),
            tuple(self.constants),
            tuple(self.ops),
            tuple(self._value(x) for x in split(results)),
            tuple(self.assigns),
            tuple(self.slots),
            tuple(self.objects),
            self.names,
            self.extents,
            self.primitive,
        )

    def read(self, line: str) -> None:
        assign = _ASSIGN.match(line)
        if assign:
            self.assigns.append((self._value(assign[1]), self._value(assign[2])))
            return
        if line.startswith("%s"):
            self._slot(line)
            return
        left, _, right = line.partition(" = ")
        if left.startswith("@"):
            return self._object(left, right)
        types = [] if left == "none" else self._types(left)
        if right.split(" ", 1)[0] == "parameter":
            self.params.append(self._define(types[0]))
            self._name(self.params[-1], right.removeprefix("parameter"))
        elif right == "capture":
            self.captures.append(Bound(self._define(types[0]), None))
        elif right.startswith("constant "):
            tensor = self._constant(right.removeprefix("constant "), types[0][1])
            self.constants.append(Bound(self._define(types[0]), tensor))
        else:
            self._op(types, right)

    def declare_extents(self, names: str) -> None:
        """Read which extents are unknown: their line stands before all values."""
        if self.values or self.sizes:
            raise ValueError("expected the extents once, before all values")
        self.sizes = stand_ins(split(names))
        self.extents |= {number: name for name, number in self.sizes.items()}

    def _name(self, given: Value | Slot, text: str) -> None:
        name = text.strip()
        if name:
            self.names[given] = literal_eval(name) if name[0] in "'\"" else name

    def _extents(self, text: str) -> tuple[int, ...]:
        return tuple(
            integer(x if x.isdecimal() else evaluated(x, self.sizes, self.extents), "a size")
            for x in text.split(",")
            if x
        )

    def _op(self, types: list[tuple[int, Type]], text: str) -> None:
        text, place = _with_place(text)
        found = _CALL.match(text)
        if not found:
            raise ValueError("expected a call")
        head, attributes, inside, into, source, lane, effects = found.groups()
        kind, name = _kind_and_name(head)
        operands = tuple(self._operand(x) for x in split(inside))
        targets = tuple(self._value(x) for x in split(into or ""))
        parts = (part.split("=", 1) for part in split(attributes or ""))
        given = {key: evaluated(value, self.sizes, self.extents) for key, value in parts}
        result_types = tuple(x for _, x in types)
        call = call_of(kind, name, given, operands, result_types, len(targets))
        if not isinstance(call, GroupCall):
            operands = tuple(
                Scalar(call.scalar_dtype(k), x.value, x.weak) if isinstance(x, Scalar) else x
                for k, x in enumerate(operands)
            )
        results = tuple(map(self._define, types))
        used = None if source is None else self.objects[int(source)]
        written = tuple(split(effects or ""))
        number = None if lane is None else integer(lane, "a lane")
        op = Op(call, operands, targets, results, _site(place), used, written, number)
        self.ops.append(op)

    def _object(self, left: str, right: str) -> None:
        kind, _, text = right.partition(" ")
        if left != f"@{len(self.objects)}" or kind not in OBJECT_KINDS:
            raise ValueError(f"expected @{len(self.objects)} and {', '.join(OBJECT_KINDS)}")
        if kind == "philox":
            integer(text, "how many counters")
        self.objects.append(HostObject(kind, text, None))

    def _slot(self, line: str) -> None:
        text, place = _with_place(line)
        found = _SLOT.match(line) or _SLOT.match(text)
        if not found or int(found[1]) != len(self.slots):
            raise ValueError("expected the next number and how it is computed")
        operands = tuple(
            self._slot_named(x) if x.startswith("%") else number_of(x)
            for x in split(found[5] or "")
        )
        kind = {"float": float, "complex": complex}[found[2]]
        site = _site(place) if found[4] else None
        self.slots.append(Slot(kind, found[4], operands, site))
        self._name(self.slots[-1], found[3] or "")

    def _slot_named(self, text: str) -> Slot:
        number = text.removeprefix("%s")
        if not number.isdecimal() or int(number) >= len(self.slots):
            raise ValueError(f"there is no number {text}")
        return self.slots[int(number)]

    def _define(self, numbered: tuple[int, Type]) -> Value:
        number, given = numbered
        if number in self.values:
            raise ValueError(f"%{number} is there already")
        return self.values.setdefault(number, Value(given))

    def _value(self, text: str) -> Value:
        found = _NAME.match(text.strip())
        if not found or int(found[1]) not in self.values:
            raise ValueError(f"there is no value {text.strip()}")
        return self.values[int(found[1])]

    def _operand(self, text: str) -> Value | Scalar:
        if text.startswith("%s"):
            slot = self._slot_named(text)
            return Scalar(np.dtype(slot.kind), slot, True)
        if text.startswith("%"):
            return self._value(text)
        typed = _TYPED.match(text)
        if typed and typed[1] in _DTYPES:
            dtype, number = _DTYPES[typed[1]], number_of(typed[2])
            fitting([number], dtype)
            return Scalar(dtype, number, False)
        value = number_of(text)
        return Scalar(np.dtype(type(value)), value, True)

    def _types(self, text: str) -> list[tuple[int, Type]]:
        found = [(int(m[1]), self._type(*m.groups()[1:])) for m in _DEFINED.finditer(text)]
        if not found:
            raise ValueError("expected a value and its type")
        return found

    def _type(self, code: str, shape: str, strides: str | None, device: str) -> Type:
        if code not in _DTYPES:
            raise ValueError(f"there is no dtype {code}")
        dtype = _DTYPES[code]
        dims = self._extents(shape)
        if any(n < 0 for n in dims):
            raise ValueError(f"expected extents, got {shape}")
        if prod(max(n, 1) for n in dims) * dtype.itemsize >= _MOST_BYTES:
            raise ValueError(f"the shape [{shape}] is too big")
        steps = row_major(dims, dtype.itemsize) if strides is None else self._extents(strides)
        if len(steps) != len(dims):
            raise ValueError(f"{len(dims)} dimensions have {len(steps)} strides")
        return Type(dtype, dims, steps, device_of(device))

    def _constant(self, text: str, given: Type) -> Tensor:
        if text.startswith("["):
            return laid_out(_array(text, given), given)
        if text not in self.known_constants:
            raise ValueError(f"the constant {text} is not given; pass it in constants=")
        return laid_out(self.known_constants[text], given)


def _with_place(text: str) -> tuple[str, str]:
    """Return what stands before a comment, which none of its strings has, and the comment."""
    end = without_quotes(text).find(_COMMENT)
    return (text, "") if end < 0 else (text[:end], text[end + len(_COMMENT) :])


def _site(place: str) -> Site | None:
    file, _, line = place.rpartition(":")
    if not place:
        return None
    number = integer(line, "a line", _LINE_BITS)
    if number < 0:
        raise ValueError(f"expected a line, got {number}")
    return file, number


def _kind_and_name(head: str) -> tuple[str, str]:
    kind, dot, name = head.partition(".")
    if dot:
        return kind, name
    return (head, head) if head in _C.CALL_KINDS else ("elementwise", head)
