"""Which values share memory, as far as it matters to passes: views, and new versions of values."""

from oneflow_lite.graph.ir import Function, Op, Value


class Memories:
    """For each value of a function, the value that it is a view or a later version of.

    What the caller of a program gets may share memory only where eager results do, so a pass asks
    ``escapes`` before it lets two values become one.
    """

    def __init__(self, function: Function) -> None:
        self._root: dict[Value, Value] = {}
        for op in function.ops:
            self._add(op)
        kept = (*function.results, *(last for _, last in function.assigns))
        self._escaped = {self.root(value) for value in (*kept, *function.params)}
        self._escaped |= {bound.value for bound in function.captures}

    def root(self, value: Value) -> Value:
        """Return the value whose memory this one is in."""
        return self._root.get(value, value)

    def escapes(self, value: Value) -> bool:
        """Return whether somebody outside of the program sees the memory of a value."""
        return self.root(value) in self._escaped

    def escape(self, value: Value) -> None:
        """Note that somebody outside sees the memory of a value."""
        self._escaped.add(self.root(value))

    def _add(self, op: Op) -> None:
        if op.is_view:
            self._root[op.results[0]] = self.root(op.values()[0])
        written = iter(op.targets)
        for k, value in enumerate(op.results):
            if op.call.targets >> k & 1:
                self._root[value] = self.root(next(written))
