"""Why a function was traced again, in words."""

from collections.abc import Sequence
from typing import Any

from oneflow_lite._C import Device
from oneflow_lite.graph.arguments.parameters import Parameters
from oneflow_lite.graph.jit.keys import Part
from oneflow_lite.graph.sites import at, user_site
from oneflow_lite.graph.trees import MAPPINGS

_FIELDS = ("tensor", "dtype", "shape", "strides", "device")  # of a part of a tensor


def reason_of(
    parameters: Parameters, known: Sequence[dict[str, Part]], now: dict[str, Part]
) -> str:
    """Return what of the arguments the nearest program does not have, and the user's line."""
    if not known:
        return "it is the first call"
    nearest = min(known, key=lambda before: distance(before, now))
    for path in (*now, *nearest):
        one, other = nearest.get(path), now.get(path)
        if one == other:
            continue
        text = f"{_described(parameters.path(path), one, other)}{at(user_site())}"
        if one and other and _is_tensor(one) and _is_tensor(other) and one[2] != other[2]:
            parts = (before.get(path, ()) for before in (*known, now))
            shapes = {part[2] for part in parts if part and _is_tensor(part)}
            text += f"; {len(shapes)} shapes so far"
        return text
    return f"the default device or a flag changed{at(user_site())}"


def distance(before: dict[str, Part], now: dict[str, Part]) -> int:
    """Return how many arguments, or parts of them, are not as before."""
    far = 0
    for path in {*before, *now}:
        one, other = before.get(path, ()), now.get(path, ())
        is_alike = one and other and _is_tensor(one) and _is_tensor(other)
        fields = zip(one[1:], other[1:], strict=False) if is_alike else ((one, other),)
        far += sum(x != y for x, y in fields)
    return far


def _described(path: str, before: Part | None, now: Part | None) -> str:
    if before is None or now is None:
        return f"{path} {'is new' if before is None else 'is gone'}"
    if not (_is_tensor(before) and _is_tensor(now)):
        for one, other in zip(before[1:], now[1:], strict=False):
            if one != other and _is_attribute(one) and _is_attribute(other):
                return f"{path}.{other[0]} is another one"
        return f"{path} {_shown(before)} -> {_shown(now)}"
    for field, one, other in zip(_FIELDS, before, now, strict=False):
        if one == other:
            continue
        if field == "tensor":
            return f"{path} is {'the same tensor as' if other < one else 'not'} another argument"
        if field in ("shape", "strides") and len(one) == len(other):
            d = next(d for d, (n, m) in enumerate(zip(one, other, strict=True)) if n != m)
            return f"{path}.{field}[{d}] {one[d]} -> {other[d]}"
        return f"{path}.{field} {one} -> {other}"
    return f"{path} {_shown(before)} -> {_shown(now)}"  # an array and a tensor


def _is_attribute(item: Any) -> bool:
    """Tell whether an item of a part is an attribute that is no field."""
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)


def _is_tensor(part: Part) -> bool:
    return isinstance(part[0], int)


def _shown(part: Part) -> str:
    if _is_tensor(part):
        return f"{'tensor' if isinstance(part[-1], Device) else 'array'} {part[1]}{part[2]}"
    kind, *rest = part
    if kind in MAPPINGS:
        keys = (item for item in rest if isinstance(item, tuple))  # a factory is none
        return f"{kind.__name__} of {', '.join(map(_value, keys))}"
    if rest and isinstance(rest[0], tuple | frozenset):
        return _value(part)
    return f"{kind.__name__} {rest[0]}" if rest else kind.__name__


def _value(part: Part) -> str:
    """Return a value of the key as text."""
    kind, x = part
    if isinstance(x, tuple | frozenset):
        return f"{kind.__name__}({', '.join(map(_value, x))})"
    return x if isinstance(x, str) and not issubclass(kind, str) else repr(x)
