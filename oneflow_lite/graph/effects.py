"""What programs do besides computing values: draws of random numbers, functions of the host.

An operation with effects writes tokens: those of one token run in the order of the program. ``io``
is that of host functions, ``rng:0`` that of the first of NumPy's generators. ``comm:`` and
``reader:`` are kept for collective communication and readers of data. Counted random numbers need
no token: each operation knows its place in the stream, and a run takes all places at once.
"""

import re
from typing import Any

from oneflow_lite._C import OpCall, Tensor
from oneflow_lite.graph.ir import Function, HostObject, Op
from oneflow_lite.random.counter_stream import Counted

_COUNTERS = 1 << 128
_WORD = (1 << 64) - 1
_FIRST_WORD = 1  # of the key and the counter in the attr of a call of philox

_TOKEN = re.compile(r"io$|(rng|comm|reader):\w+$")


def is_token(name: str) -> bool:
    """Return whether operations may have an effect of this name."""
    return bool(_TOKEN.match(name))


_OBJECTS = {"host": "function", "source": "draw"}


def missing_object(op: Op) -> str | None:
    """Return the kind of object that an operation must use, and does not; None: all is well."""
    wanted = _OBJECTS.get(op.call.kind)
    return None if wanted is None or (op.object and op.object.kind == wanted) else wanted


def missing_effect(op: Op) -> str | None:
    """Return the effect that an operation of its kind must have, and has not; None: all is well."""
    if op.call.kind == "host" and "io" not in op.effects:
        return "io"
    if op.call.kind == "source" and not any(token.startswith("rng:") for token in op.effects):
        return "rng:0"
    return None


def philox_of(call: OpCall, key: int, counter: int) -> OpCall:
    """Return the call with this key and counter."""
    attr = list(call.attr)
    attr[_FIRST_WORD : _FIRST_WORD + 3] = _words(key, counter)
    return OpCall(
        call.kind,
        call.name,
        kernel=call.kernel,
        attr=tuple(attr),
        targets=call.targets,
        made=call.made,
        device=call.device,
    )


def word_places(number: int) -> list[tuple[int, int]]:
    """Return where the numbers of the draw of that number go: in attr, from those of a run."""
    return [(_FIRST_WORD + k, 3 * number + k) for k in range(3)]


def generators(function: Function) -> list[Any]:
    """Return the generators that a run draws from."""
    known = [x for x in function.objects if x.object is not None]
    streams = [x.object for x in known if x.kind == "philox"]
    return streams + [x.object.generator for x in known if x.kind == "draw"]


class Objects:
    """The objects of the operations of a recording, and the tokens that they write."""

    def __init__(self, notes: dict[int, Any]) -> None:
        counted = [x for x in notes.values() if isinstance(x, Counted)]
        self.known = {id(x.stream): HostObject("philox", str(x.taken), x.stream) for x in counted}
        self._generators: dict[int, str] = {}  # tokens by identity

    def of(self, call: OpCall) -> tuple[HostObject | None, tuple[str, ...]]:
        """Return the object and the effects of an operation."""
        x = call.object
        if x is None:
            return None, ()
        if call.kind == "host":
            return self.known.setdefault(id(x), HostObject("function", "", x)), ("io",)
        if call.kind == "source":
            number = len(self._generators)
            token = self._generators.setdefault(id(x.generator), f"rng:{number}")
            return self.known.setdefault(id(x), HostObject("draw", x.text, x)), (token,)
        return self.known[id(x)], ()


class Draws:
    """What a run of a function takes from sources of random numbers, in the program's order."""

    def __init__(self, function: Function) -> None:
        objects = [x for x in function.objects if x.kind == "philox"]
        self._streams = [(x.object, int(x.text)) for x in objects]
        self._places = [
            (objects.index(op.object), _counter(op.call))
            for op in function.ops
            if op.object is not None and op.object.kind == "philox"
        ]
        self._sources = [op for op in function.ops if op.call.kind == "source"]
        for x in function.objects:
            if x.object is None:
                raise ValueError(f"[{function.name}] the {x.kind} {x.text} is not known")

    def __bool__(self) -> bool:
        return bool(self._streams or self._sources)

    def __call__(self) -> tuple[list[int], list[Tensor]]:
        """Return the words of all counted draws, and the tensors of all others."""
        words = [word for place in self.places() for word in _words(*place)]
        return words, [x for op in self._sources if (x := op.call.object.call()) is not None]

    def places(self) -> list[tuple[int, int]]:
        """Take the counters of one run: return key and counter of each counted draw."""
        begun = [stream._take(count) for stream, count in self._streams]
        return [(begun[k][0], (begun[k][1] + offset) % _COUNTERS) for k, offset in self._places]


def _words(key: int, counter: int) -> list[int]:
    return [_signed(key), _signed(counter), _signed(counter >> 64)]


def _signed(word: int) -> int:
    """The int64 of these 64 bits."""
    word &= _WORD
    return word - (1 << 64) if word >> 63 else word


def _counter(call: OpCall) -> int:
    low, high = call.attr[_FIRST_WORD + 1 : _FIRST_WORD + 3]
    return (high & _WORD) << 64 | low & _WORD
