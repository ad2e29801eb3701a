"""Calls as texts show them: a name and attributes, and the call that these describe.

Attributes are what of a call its operands and the types of its results do not tell.
"""

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from operator import index
from typing import Any, cast

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import OpCall
from oneflow_lite.graph.ir import GroupCall, Op, Scalar, Slot, Type, Value
from oneflow_lite.ops.gufunc import core_dimensions

_WEAK_CODES = dict(zip((int, float, complex), _C.WEAK_CODES, strict=True))


def head_of(op: Op, extents: Mapping[int, str]) -> str:
    """Return a call without operands: its kind, where it is not elementwise, name, attributes.

    ``extents`` has what stands for unknown extents, by number.
    """
    call = op.call
    attributes = "".join(
        f"{', ' if i else ''}{key}={_shown(value, extents)}"
        for i, (key, value) in enumerate(attributes_of(op).items())
    )
    if call.kind == "view":
        name = f"view.{_view_name(op)}"
    elif call.kind in ("elementwise", "host", call.name):
        name = call.kind if call.kind == "host" else call.name
    else:
        name = f"{call.kind}.{call.name}"
    return f"{name}[{attributes}]" if attributes else name


def _shown(value: Any, extents: Mapping[int, str]) -> str:
    if isinstance(value, tuple) and extents:
        items = [_shown(x, extents) for x in value]
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    return extents.get(value, repr(value)) if type(value) is int else repr(value)


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
    return tuple(_code(x.type.dtype) if isinstance(x, Value) else _scalar_code(x) for x in operands)


def _scalar_code(scalar: Scalar) -> int:
    if not scalar.weak:
        return _code(scalar.dtype)
    kind = scalar.value.kind if isinstance(scalar.value, Slot) else type(scalar.value)
    return _WEAK_CODES[kind]


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
    return found | _target_attributes(op)


def _target_attributes(op: Op) -> dict[str, Any]:
    """Return which results are next versions of the targets; nothing where the first ones are."""
    targets = op.call.targets
    return {"targets": targets} if targets != _first(len(op.targets)) else {}


def _first(count: int) -> int:
    """Return the bits of so many first results."""
    return (1 << count) - 1


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
    "call": _target_attributes,
    "view": lambda op: {"offset": op.call.attr[1]} if op.call.attr[1] else {},
    "host": lambda op: {"name": op.call.name},
}


_MASK_BITS = 64  # of axes


def call_of(
    kind: str,
    name: str,
    attributes: dict[str, Any],
    operands: tuple[Value | Scalar, ...],
    results: tuple[Type, ...],
    target_count: int = 0,
) -> OpCall:
    """Return the call with these attributes, as text shows them, on these operands."""
    rest = dict(attributes)
    given: dict[str, Any] = {"targets": _first(target_count)}
    if kind in ("array", "call"):
        given["targets"] = rest.pop("targets", given["targets"])
    if kind in ("elementwise", "matmul", "reduce"):
        own = _codes_of(kind, operands, tuple(Value(x) for x in results))
        given |= {"op": _C.op_named(name), "codes": rest.pop("codes", own)}
    if kind == "reduce":
        axes = rest.pop("axes")
        if not all(0 <= axis < _MASK_BITS for axis in axes):
            raise ValueError(f"expected axes, got {axes}")
        bits = sum(1 << axis for axis in axes)
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
    elif kind == "host":
        name = rest.pop("name")
    elif kind == "array":
        loop = rest.pop("loop", None)
        if loop is not None and loop[0] not in ("sort", "dot"):
            loop = (_ufunc(loop[0]), loop[1])
        given |= {"kernel": rest.pop("kernel", name), "attr": rest.pop("attr", ())}
        given |= {"loop": loop, "elements": rest.pop("elements", -1.0)}
    if rest:
        raise ValueError(f"{name} has no attributes {', '.join(sorted(rest))}")
    if kind == "call":
        return cast(OpCall, GroupCall(name, index(given["targets"])))
    made = [x for k, x in enumerate(results) if not given["targets"] >> k & 1]
    if kind in ("fill", "empty", "array", "source"):
        shown = results if kind == "fill" else made
        given["made"] = [(x.dtype, x.shape, x.strides) for x in shown]
    elif kind in ("copy", "where"):
        given["made"] = [(results[0].dtype, (), ())]
    if kind in ("where", "fill", "empty", "array", "transfer", "source") and results:
        given["device"] = results[0].device
    return OpCall(kind, name, **given)


_UFUNCS = (np, *map(import_module, ("numpy.linalg._umath_linalg", "numpy.fft._pocketfft_umath")))

# Fourier transforms, whose loops read the first point.
_TRANSFORMS = [x for x in vars(_UFUNCS[2]).values() if isinstance(x, np.ufunc)]


def verify_core(op: Op) -> None:
    """Raise ValueError unless a call of a generalized ufunc has the dimensions that its loop takes.

    That the operands have them is checked when the call is made again.
    """
    call = op.call
    if call.kernel != "gufunc" or call.loop is None:
        return
    layout, signature = core_dimensions(_ufunc(call.loop[0]))
    if tuple(call.attr[4:]) != layout:
        raise ValueError(f"{call.loop[0]} has the core dimensions {signature}")
    if _ufunc(call.loop[0]) in _TRANSFORMS and op.values()[0].type.shape[-1:] == (0,):
        raise ValueError(f"{call.loop[0]} expected at least one point, got none")
    place = _SMALLEST.get(call.loop[0])
    if place is None:
        return
    matrix, given = op.values()[0].type.shape, (*op.values(), *op.results)[place].type.shape
    if given[-1] != min(matrix[-2:]):
        raise ValueError(f"{call.loop[0]} expected {min(matrix[-2:])} numbers, got {given[-1]}")


# Operands and results with as many numbers as the smaller extent of the matrix before them.
_SMALLEST = {
    **{"svd": 1, "svd_s": 2, "svd_f": 2, "qr_reduced": 1, "qr_complete": 1},
    **{"qr_r_raw": -1, "lstsq": -1},
}


def _ufunc(name: str) -> np.ufunc:
    for module in _UFUNCS:
        found = getattr(module, name, None)
        if isinstance(found, np.ufunc):
            return found
    raise ValueError(f"NumPy has no ufunc {name}")
