"""Programs as text, and back.

A line for each value that is there from the beginning, then one for each operation:

    program step
    %0: f32[8,64] cpu = parameter
    %1: f32[64,10] cpu = capture
    %2: f32[10] cpu = constant [0.0, 1.0, ...]
    %3: f32[8,10] cpu = matmul(%0, %1)  # net.py:31
    %4: f32[8,10] cpu = add(%3, %2)  # net.py:31
    %5: f32[8,10] cpu = multiply(%4, 0.5) into %4
    %1 := %6
    return %5

A type shows its strides, in bytes, where elements do not lie row-major: ``f32[8,64]{4,32}``. A call
that is not elementwise stands behind its kind: ``reduce.sum[axes=(0,)](%3)``. Numbers without a
dtype are Python's, which promote nothing.
"""

import re
from ast import literal_eval
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from importlib import import_module
from math import copysign
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import OpCall, Tensor
from oneflow_lite.device import device as device_of
from oneflow_lite.dtypes import SUPPORTED
from oneflow_lite.graph.ir import Bound, Function, Op, Scalar, Type, Value, row_major
from oneflow_lite.ops.creation.data import asarray

_LETTERS = {"b": "bool", "i": "i", "u": "u", "f": "f", "c": "c"}
_CODES = {
    dtype: "bf16" if dtype.name == "bfloat16" else _LETTERS[dtype.kind] + str(dtype.itemsize * 8)
    for dtype in SUPPORTED
} | {np.dtype(bool): "bool"}
_DTYPES = {code: dtype for dtype, code in _CODES.items()}
_CONSTANTS_IN_TEXT = 16  # elements
_WEAK_CODES = dict(zip((int, float, complex), _C.WEAK_CODES, strict=True))


def type_text(given: Type) -> str:
    """Return a type as programs show it."""
    shape = ",".join(map(str, given.shape))
    strides = "" if given.is_row_major else "{" + ",".join(map(str, given.strides)) + "}"
    return f"{_CODES[given.dtype]}[{shape}]{strides} {given.device}"


def text_of(name: str, functions: Mapping[str, Function]) -> str:
    """Return a whole program as text that parse() reads."""
    blocks = [f"program {name}"]
    for name, function in functions.items():
        if name != "main":
            blocks.append(f"function {name}")
        blocks.append("\n".join(_Printer(function).lines()))
    return "\n".join(blocks) + "\n"


def structure_of(functions: Mapping[str, Function]) -> str:
    """Return the text without lines, names, and elements of constants: what makes two equal."""
    blocks = []
    for name, function in functions.items():
        lines = _Printer(function, is_structure=True).lines()
        blocks.append("\n".join((f"function {name}", *lines)))
    return "\n".join(blocks)


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

    def lines(self) -> Iterator[str]:
        function = self.function
        for value in function.params:
            yield f"{self._defined(value)} = parameter"
        for bound in function.captures:
            yield f"{self._defined(bound.value)} = capture"
        for bound in function.constants:
            yield f"{self._defined(bound.value)} = constant {self._constant(bound)}"
        for op in function.ops:
            yield self._op(op)
        for target, last in function.assigns:
            yield f"{self._name(target)} := {self._name(last)}"
        yield ("return " + ", ".join(map(self._name, function.results))).rstrip()

    def _defined(self, value: Value) -> str:
        number = self.numbers.setdefault(value, len(self.numbers))
        return f"%{number}: {type_text(value.type)}"

    def _name(self, value: Value) -> str:
        return f"%{self.numbers[value]}" if value in self.numbers else "%?"

    def _constant(self, bound: Bound) -> str:
        if bound.tensor is None:
            raise ValueError("[Program] a constant has no tensor")
        if not self.is_structure and bound.value.type.size <= _CONSTANTS_IN_TEXT:
            array = bound.tensor.numpy()
            elements = array.astype(_wide(array.dtype)).ravel().tolist()
            text = f"[{', '.join(map(_literal, elements))}]"
            if _array(text, bound.value.type).tobytes() == array.tobytes():  # no odd NaN
                return text
        return digest_of(bound.tensor)

    def _op(self, op: Op) -> str:
        operands = ", ".join(
            _scalar_text(x) if isinstance(x, Scalar) else self._name(x) for x in op.operands
        )
        into = " into " + ", ".join(map(self._name, op.targets)) if op.targets else ""
        call = f"{head_of(op)}({operands}){into}"
        results = ", ".join(map(self._defined, op.results))
        site = f"  # {op.site[0]}:{op.site[1]}" if op.site and not self.is_structure else ""
        return f"{results} = {call}{site}"


def _wide(dtype: np.dtype[Any]) -> Any:
    return np.float32 if dtype.name == "bfloat16" else dtype


def _array(text: str, given: Type) -> np.ndarray[Any, Any]:
    """Return the elements that a constant's text shows."""
    elements = [_number(x) for x in _split(text[1:-1])]
    return np.array(elements, _wide(given.dtype)).astype(given.dtype).reshape(given.shape)


def _literal(number: Any) -> str:
    """Return a number as _number() reads it: with the signs of zeros and of NaN."""
    if isinstance(number, complex):
        real, imag = _literal(number.real), _literal(number.imag)
        return f"({real}{'' if imag.startswith('-') else '+'}{imag}j)"
    is_negative_nan = isinstance(number, float) and number != number and copysign(1, number) < 0
    return "-nan" if is_negative_nan else repr(number)


def _scalar_text(scalar: Scalar) -> str:
    text = _literal(scalar.value)
    return text if scalar.weak else f"{_CODES[scalar.dtype]}({text})"


# --- calls


def head_of(op: Op) -> str:
    """Return a call without operands: its kind, where it is not elementwise, name, attributes."""
    call = op.call
    attributes = "".join(
        f"{', ' if i else ''}{key}={value!r}"
        for i, (key, value) in enumerate(attributes_of(op).items())
    )
    if call.kind == "view":
        name = f"view.{_view_name(op)}"
    elif call.kind in ("elementwise", call.name):
        name = call.name
    else:
        name = f"{call.kind}.{call.name}"
    return f"{name}[{attributes}]" if attributes else name


def _view_name(op: Op) -> str:
    """Return what a view is called: by how it lies in its operand."""
    (operand,) = op.values()
    before, after = operand.type, op.results[0].type
    if before.dtype != after.dtype:
        return "part"
    if after.size == before.size and op.call.attr[1] == 0:
        if sorted(zip(before.shape, before.strides, strict=True)) == sorted(
            zip(after.shape, after.strides, strict=True)
        ):
            return "transpose"
        return "reshape"
    is_repeated = any(
        stride == 0 and extent > 1
        for extent, stride in zip(after.shape, after.strides, strict=True)
    )
    return "broadcast_to" if is_repeated else "slice"


def attributes_of(op: Op) -> dict[str, Any]:
    """Return what of a call its operands and the types of its results do not tell."""
    call = op.call
    found = _ATTRIBUTES[call.kind](op) if call.kind in _ATTRIBUTES else {}
    if call.row is not None and call.codes != _codes_of(call.kind, op.operands, op.results):
        found["codes"] = call.codes
    return found


def _codes_of(kind: str, operands: Iterable[Value | Scalar], results: tuple[Value, ...]) -> Any:
    """Return the type codes that operands have by themselves."""
    if kind == "reduce":
        return (_code(results[0].type.dtype),) * 2
    return tuple(
        _code(x.type.dtype)
        if isinstance(x, Value)
        else _WEAK_CODES[type(x.value)]
        if x.weak
        else _code(x.dtype)
        for x in operands
    )


def _code(dtype: np.dtype[Any]) -> int:
    return _C.type_code(dtype)


def _array_attributes(op: Op) -> dict[str, Any]:
    call = op.call
    found: dict[str, Any] = {}
    if call.kernel != call.name:
        found["kernel"] = call.kernel
    if call.attr:
        found["attr"] = call.attr
    if call.loop is not None:
        found["loop"] = call.loop
    if call.elements >= 0:
        found["elements"] = call.elements
    if call.targets and call.targets != (1 << len(op.targets)) - 1:
        found["targets"] = call.targets
    return found


def _axes(bits: int) -> tuple[int, ...]:
    return tuple(d for d in range(bits.bit_length()) if bits >> d & 1)


_ATTRIBUTES: Mapping[str, Callable[[Op], dict[str, Any]]] = {
    "reduce": lambda op: {
        "axes": _axes(op.call.attr[0]),
        **({"keepdims": True} if op.call.attr[1] else {}),
    },
    "arg_reduce": lambda op: {
        **({"axis": op.call.attr[0]} if op.call.attr[0] >= 0 else {}),
        **({"keepdims": True} if op.call.attr[1] else {}),
    },
    "copy": lambda op: {"order": "K"} if op.call.attr[0] else {},
    "concat": lambda op: {"axis": op.call.attr[0]},
    "array": _array_attributes,
    "view": lambda op: {"offset": op.call.attr[1]} if op.call.attr[1] else {},
}


def call_of(
    kind: str,
    name: str,
    attributes: dict[str, Any],
    operands: tuple[Value | Scalar, ...],
    results: tuple[Type, ...],
    target_count: int = 0,
) -> OpCall:
    """Return the call with these attributes, as text shows them, on these operands."""
    given: dict[str, Any] = {"targets": (1 << target_count) - 1}
    rest = dict(attributes)
    if kind in ("elementwise", "matmul", "reduce"):
        own = _codes_of(kind, operands, tuple(Value(x) for x in results))
        given |= {"op": _C.op_named(name), "codes": rest.pop("codes", own)}
    if kind == "reduce":
        bits = sum(1 << axis for axis in rest.pop("axes"))
        given["attr"] = (bits, rest.pop("keepdims", False))
    elif kind == "arg_reduce":
        given["attr"] = (rest.pop("axis", -1), rest.pop("keepdims", False), name == "argmin")
    elif kind == "copy":
        given["attr"] = (rest.pop("order", "C") == "K",)
    elif kind == "concat":
        given["attr"] = (rest.pop("axis"),)
    elif kind == "view":
        x = results[0]
        given["attr"] = (_code(x.dtype), rest.pop("offset", 0), *x.shape, *x.strides)
    elif kind == "array":
        given["targets"] = rest.pop("targets", given["targets"])
        loop = rest.pop("loop", None)
        if loop is not None and loop[0] not in ("sort", "dot"):
            loop = (_ufunc(loop[0]), loop[1])
        given |= {"kernel": rest.pop("kernel", name), "attr": rest.pop("attr", ())}
        given |= {"loop": loop, "elements": rest.pop("elements", -1.0)}
    made = [x for k, x in enumerate(results) if not given["targets"] >> k & 1]
    if kind in ("fill", "empty", "array"):
        shown = results if kind == "fill" else made
        given["made"] = [(x.dtype, x.shape, x.strides) for x in shown]
    elif kind in ("copy", "where"):
        given["made"] = [(results[0].dtype, (), ())]
    if kind in ("where", "fill", "empty", "array", "transfer"):
        given["device"] = results[0].device
    if rest:
        raise ValueError(f"{name} has no attributes {', '.join(sorted(rest))}")
    return OpCall(kind, name, **given)


_UFUNCS = (np, *map(import_module, ("numpy.linalg._umath_linalg", "numpy.fft._pocketfft_umath")))


def _ufunc(name: str) -> np.ufunc:
    for module in _UFUNCS:
        found = getattr(module, name, None)
        if isinstance(found, np.ufunc):
            return found
    raise ValueError(f"NumPy has no ufunc {name}")


# --- reading

_TYPE = r"(\w+)\[([\d,]*)\](?:\{([\d,-]*)\})? ([\w:]+)"
_DEFINED = re.compile(rf"%(\d+): {_TYPE}")
_CALL = re.compile(r"([\w.]+)(?:\[(.*)\])?\((.*)\)(?: into (.*))?$")
_NAME = re.compile(r"%(\d+)$")
_TYPED = re.compile(r"(\w+)\((.*)\)$")


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
            if words[0] in ("program", "function"):
                if reader is not None:
                    raise ValueError(f"the function {reader.name} has no return before")
                if words[0] == "program":
                    name = rest
                reader = _Reader("main" if words[0] == "program" else rest, constants)
                if not reader.name or reader.name in functions:
                    raise ValueError("expected a name that no function has")
            elif reader is None:
                raise ValueError("expected program, or function, and its name")
            elif words[0] == "return":
                functions[reader.name] = reader.finish(rest)
                reader = None
            else:
                reader.read(line.strip())
        except (ValueError, TypeError, KeyError, IndexError, SyntaxError) as error:
            raise ValueError(f"[Program.parse] line {number}: {error}: {line.strip()}") from error
    if reader is not None:
        raise ValueError(f"[Program.parse] the function {reader.name} has no return")
    return name, functions


class _Reader:
    """A function while it is read."""

    def __init__(self, name: str, constants: Mapping[str, Any]) -> None:
        self.name = name
        self.known_constants = constants
        self.values: dict[int, Value] = {}
        self.params: list[Value] = []
        self.captures: list[Bound] = []
        self.constants: list[Bound] = []
        self.ops: list[Op] = []
        self.assigns: list[tuple[Value, Value]] = []

    def finish(self, results: str) -> Function:
        return Function(
            self.name,
            tuple(self.params),
            tuple(self.captures),
            tuple(self.constants),
            tuple(self.ops),
            tuple(self._value(x) for x in _split(results)),
            tuple(self.assigns),
        )

    def read(self, line: str) -> None:
        if " := " in line:
            target, last = line.split(" := ")
            self.assigns.append((self._value(target), self._value(last)))
            return
        left, _, right = line.partition(" = ")
        types = self._types(left)
        if right == "parameter":
            self.params.append(self._define(types[0]))
        elif right == "capture":
            self.captures.append(Bound(self._define(types[0]), None))
        elif right.startswith("constant "):
            tensor = self._constant(right.removeprefix("constant "), types[0][1])
            self.constants.append(Bound(self._define(types[0]), tensor))
        else:
            self._op(types, right)

    def _op(self, types: list[tuple[int, Type]], text: str) -> None:
        text, _, place = text.partition("  # ")
        found = _CALL.match(text)
        if not found:
            raise ValueError("expected a call")
        head, attributes, inside, into = found.groups()
        kind, name = _kind_and_name(head)
        operands = tuple(self._operand(x) for x in _split(inside))
        targets = tuple(self._value(x) for x in _split(into or ""))
        parts = (part.split("=", 1) for part in _split(attributes or ""))
        given = {key: literal_eval(value) for key, value in parts}
        result_types = tuple(x for _, x in types)
        call = call_of(kind, name, given, operands, result_types, len(targets))
        operands = tuple(
            Scalar(call.scalar_dtype(k), x.value, x.weak) if isinstance(x, Scalar) else x
            for k, x in enumerate(operands)
        )
        file, _, line = place.rpartition(":")
        site = (file, int(line)) if place else None
        self.ops.append(Op(call, operands, targets, tuple(map(self._define, types)), site))

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
        if text.startswith("%"):
            return self._value(text)
        typed = _TYPED.match(text)
        if typed and typed[1] in _DTYPES:
            return Scalar(_DTYPES[typed[1]], _number(typed[2]), False)
        value = _number(text)
        return Scalar(np.dtype(type(value)), value, True)

    def _types(self, text: str) -> list[tuple[int, Type]]:
        found = [(int(m[1]), _type(m[2], m[3], m[4], m[5])) for m in _DEFINED.finditer(text)]
        if not found:
            raise ValueError("expected a value and its type")
        return found

    def _constant(self, text: str, given: Type) -> Tensor:
        if text.startswith("["):
            return asarray(_array(text, given), device=given.device, copy=True)
        if text not in self.known_constants:
            raise ValueError(f"the constant {text} is not given; pass it in constants=")
        return asarray(self.known_constants[text], device=given.device, copy=True)


def _kind_and_name(head: str) -> tuple[str, str]:
    kind, dot, name = head.partition(".")
    if dot:
        return kind, name
    return (head, head) if head in _C.CALL_KINDS else ("elementwise", head)


def _number(text: str) -> Any:
    text = text.strip()
    try:
        if text in ("inf", "-inf", "nan", "-nan"):
            return float(text)
        number = complex(text) if "j" in text else literal_eval(text)
    except (ValueError, SyntaxError):
        number = None
    if not isinstance(number, bool | int | float | complex):
        raise ValueError(f"expected a number, got {text}")
    return number


def _type(code: str, shape: str, strides: str | None, device: str) -> Type:
    if code not in _DTYPES:
        raise ValueError(f"there is no dtype {code}")
    dtype = _DTYPES[code]
    dims = tuple(int(n) for n in shape.split(",") if n)
    if strides is not None:
        steps = tuple(int(n) for n in strides.split(",") if n)
    else:
        steps = row_major(dims, dtype.itemsize)
    if len(steps) != len(dims):
        raise ValueError(f"{len(dims)} dimensions have {len(steps)} strides")
    return Type(dtype, dims, steps, device_of(device))


def _split(text: str) -> list[str]:
    """Split at the commas that stand in no parentheses, brackets or quotes."""
    parts, depth, start, quote = [], 0, 0, ""
    for i, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts
