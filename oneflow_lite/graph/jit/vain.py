"""Places whose changes bring no other program: after some of them they are not watched any more."""

from typing import Any

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.graph.jit.entry import Entry
from oneflow_lite.graph.jit.watch import Watch
from oneflow_lite.graph.tracing import NumberResult, Result, Traced
from oneflow_lite.graph.trees import visit

_MOST = 3  # changes in a row
_PLAIN = (bool, int, float, complex, str, bytes, type(None), Result, NumberResult)


class Vain:
    """How often a change of a place was followed by a trace of the same program, in a row."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def note(self, gone: Watch, before: Entry, after: Entry) -> None:
        """Compare the programs before and after a change of a place."""
        if gone.is_captured or before.traced is None or after.traced is None:
            return
        is_vain = _are_alike(before.traced, after.traced)
        self._counts[gone.text] = self._counts.get(gone.text, 0) + 1 if is_vain else 0
        after.watched = self.without(after.watched)

    def without(self, watched: list[Watch]) -> list[Watch]:
        """Return those that are to be watched on."""
        counts = self._counts
        return [x for x in watched if x.is_captured or counts.get(x.text, 0) < _MOST]


def _are_alike(before: Traced, after: Traced) -> bool:
    if before.program != after.program:
        return False
    one, other = _held(before), _held(after)
    if len(one) != len(other):
        return False
    return all(x is y or _are_equal(x, y) for x, y in zip(one, other, strict=True))


def _held(traced: Traced) -> list[Any]:
    """Return what a program has beside its text: captures, functions of Python, other results."""
    main = traced.program.main
    held: list[Any] = [x.tensor for x in main.captures]
    held += [x.object for x in main.objects if x.kind == "function"]
    visit(traced.results, lambda leaf, path: held.extend((path, leaf)))
    return held


def _are_equal(x: Any, y: Any) -> bool:
    if type(x) is not type(y):
        return False
    if type(x) is Tensor:  # a capture: the programs have its type
        return _C.place_of(x) == _C.place_of(y)
    return type(x) in _PLAIN and repr(x) == repr(y)
