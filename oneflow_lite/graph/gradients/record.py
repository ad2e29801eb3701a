"""A part of a recording, as the walk back over it needs it."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import OpCall, Recorder, Tensor
from oneflow_lite.dtypes import isdtype
from oneflow_lite.graph.ir import Type

STOP = "stop_gradient"  # the name of copies whose operand has no gradient
_FLOATS = ("real floating", "complex floating")


def is_real(dtype: np.dtype[Any]) -> bool:
    """Return whether gradients are of this dtype: it is real floating."""
    return isdtype(dtype, "real floating")


class Record:
    """Some operations of a recording. Values are their numbers there.

    ``span`` are the first operation, and the one behind the last. ``follows`` are the values that
    depend on the wanted ones. Integers and bool never do. ``outside``: gradients go into another
    recording; it makes a tensor there for a value of this one.
    """

    def __init__(
        self,
        recorder: Recorder,
        span: tuple[int, int],
        wanted: Iterable[int],
        outside: Callable[[int], Tensor] | None = None,
    ) -> None:
        self._recorder = recorder
        self._is_outside = outside is not None
        self._tensor_of = outside or recorder.tensor_of
        self._begin, end = span
        self.wanted = tuple(wanted)
        self.rows = recorder.operations(self._begin)[: end - self._begin]
        self.types = [Type(*row[1:5]) for row in recorder.values()]
        self.views: dict[int, tuple[int, OpCall]] = {}  # by the view: the whole, and the call
        self.follows = set(self.wanted)
        self._tensors: dict[int, Tensor] = {}
        for call, operands, targets, results, *_ in self.rows:
            if call.kind == "view" and call.name != _C.ALIAS:
                self.views[results[0]] = operands[0], call
            used = [x for x in operands if isinstance(x, int)]
            used += [self.whole(x) for x in targets]
            if call.name != STOP and not self.follows.isdisjoint(used):
                found = (x for x in results if isdtype(self.types[x].dtype, _FLOATS))
                self.follows.update(found)

    def whole(self, value: int) -> int:
        """Return the value that a value is a view of; itself where it is none."""
        return self.views[value][0] if value in self.views else value

    def shape(self, value: int) -> tuple[Any, ...]:
        """Return the shape of a value, with a Dim for each extent that is not known.

        Types have numbers that stand for those, which no operation may compute with.
        """
        if self._is_outside:  # of another recording, all of whose extents are known
            return self.types[value].shape
        return self._recorder.tensor_of(value).shape

    def operand_before(self, value: int) -> int:
        """Return what the operation that made a value had as its first operand."""
        found: int = next(row[1][0] for row in self.rows if value in row[3])
        return found

    def tensor(self, value: int) -> Tensor:
        """Return a tensor that has this value, whatever was written to its memory since."""
        if value not in self._tensors:
            if value in self.views:
                whole, call = self.views[value]
                (self._tensors[value],) = call.replay([self.tensor(whole)])
            else:
                self._tensors[value] = self._tensor_of(value)
        return self._tensors[value]

    @contextmanager
    def placed(self, index: int) -> Iterator[None]:
        """Give what is recorded in the block the line and the lane of an operation."""
        made = self._recorder.count()[0]
        yield
        if not self._is_outside:
            self._recorder.place_like(made, self._begin + index)
