"""What the walk back has found so far: for each value the sum of what its uses gave."""

from oneflow_lite import _C
from oneflow_lite._C import OpCall, Tensor
from oneflow_lite.graph.gradients.layouts import is_dense, zeros_like
from oneflow_lite.graph.gradients.record import Record
from oneflow_lite.ops.elementwise import add


class Sums:
    """The gradient of each value that follows the wanted ones, as far as it is known."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._sums: dict[int, Tensor] = {}
        self._own: set[int] = set()  # nobody else has the tensor, and it lies like the value

    def __contains__(self, value: int) -> bool:
        return value in self._sums

    def get(self, value: int) -> Tensor | None:
        """Return the sum; None: nothing came."""
        return self._sums.get(value)

    def add(self, value: int, g: Tensor) -> None:
        """Add what a use of the whole value gives."""
        if value not in self._record.follows:
            return
        known = self._sums.get(value)
        self._sums[value] = g if known is None else known + g
        self._own.discard(value)

    def add_region(self, value: int, view: OpCall, g: Tensor) -> None:
        """Add what a use of a view of the value gives; no two elements of the view are one."""
        is_first = value not in self._sums
        (place,) = view.replay([self.buffer(value)])
        if is_first:
            _C.assign(place, g)
        else:
            add(place, g, out=place)

    def buffer(self, value: int) -> Tensor:
        """Return the sum, as a tensor to write to that lies like the value."""
        if value not in self._own:
            known, given = self._sums.get(value), self._record.types[value]
            if not is_dense(given.shape, given.strides, given.dtype.itemsize):
                raise ValueError(
                    f"[gradients] a tensor of shape {given.shape} and strides {given.strides} has "
                    "gaps between its elements: take a copy of it first"
                )
            made = zeros_like(given)
            if known is not None:
                _C.assign(made, known)
            self._sums[value] = made
            self._own.add(value)
        return self._sums[value]

    def hand_over(self, value: int, to: int) -> None:
        """Add the sum of a value to that of another one of its type, and forget it."""
        g = self._sums.pop(value)
        is_owned = value in self._own
        self._own.discard(value)
        is_first = to not in self._sums
        self.add(to, g)
        if is_owned and is_first and to in self._sums:
            self._own.add(to)
