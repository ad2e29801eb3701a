"""Arguments to differentiate by, and their gradients, as trees."""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Recorder, Tensor
from oneflow_lite.dtypes import float64
from oneflow_lite.graph.arguments.containers import Containers
from oneflow_lite.graph.gradients.layouts import is_dense
from oneflow_lite.graph.gradients.record import is_real
from oneflow_lite.graph.ir import Type
from oneflow_lite.graph.trees import Leaf, mapped, visit
from oneflow_lite.ops.creation.data import asarray, full, zeros


class _Wanted(Leaf):
    """Stands in a tree for a gradient."""

    def __init__(self, number: int) -> None:
        self.number = number


def checked_argnums(op: str, argnums: Any) -> tuple[int, ...]:
    """Return positions of arguments."""
    given = argnums if isinstance(argnums, tuple | list) else (argnums,)
    try:
        numbers = tuple(index(x) for x in given if not isinstance(x, bool))
    except TypeError:
        numbers = ()
    if len(numbers) != len(given) or not given or min(numbers) < 0:
        raise TypeError(f"[{op}] argnums: expected positions of arguments, got {argnums!r}")
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"[{op}] argnums: expected each position once, got {argnums!r}")
    return numbers


class Wanted:
    """The tensors of arguments to differentiate by.

    The function gets aliases of them, which have values of their own: what it uses of them from
    elsewhere, as a closure, counts as constant.
    """

    def __init__(self, op: str, recorder: Recorder) -> None:
        self._op = op
        self._recorder = recorder
        self.tensors: list[Tensor] = []
        self.values: list[int] = []
        self._given: list[Tensor] = []
        self._paths: list[str] = []
        self._rows: list[tuple[Any, ...]] = []  # of values, as far as they were known once
        self._containers = Containers()

    def alias(self, tree: Any, path: str) -> tuple[Any, Any]:
        """Return what the function gets for an argument, and the tree of its gradients."""
        begin = len(self.tensors)

        def leaf(x: Any, path: str) -> Tensor:
            self._add(x, path)
            return self.tensors[-1]

        given = mapped(tree, leaf, path)
        self._containers.add(given, path)
        numbers = iter(range(begin, len(self.tensors)))
        return given, mapped(tree, lambda *_: _Wanted(next(numbers)), path)

    def _add(self, given: Any, path: str) -> None:
        x = self._tensor(given, path)
        alias = self._recorder.alias_of(x)
        self.tensors.append(alias)
        self.values.append(self._recorder.value_of(alias))
        self._given.append(x)
        self._paths.append(path)

    def _tensor(self, given: Any, path: str) -> Tensor:
        if isinstance(given, float | np.floating) and not isinstance(given, np.ndarray):
            dtype = given.dtype if isinstance(given, np.floating) else float64
            return full((), given, dtype=dtype)
        if not isinstance(given, Tensor | np.ndarray):
            raise TypeError(
                f"[{self._op}] {path}: expected tensors of real floating-point numbers to "
                f"differentiate by, got {type(given).__name__}"
            )
        x = given if isinstance(given, Tensor) else asarray(given)
        require_real(self._op, path, x)
        value = self._recorder.value_of(x)
        if value >= len(self._rows):
            self._rows = self._recorder.values()
        row = self._rows[value]
        return x if is_dense(row[2], row[3], x.dtype.itemsize) else _C.copy(x)

    def check_unwritten(self) -> None:
        """Refuse arguments that the function has written to: callers would not see it."""
        changed = self._containers.changed()
        if changed is not None:
            raise ValueError(f"[{self._op}] {changed[0]} {changed[1]}")
        for x, value, path in zip(self.tensors, self.values, self._paths, strict=True):
            if self._recorder.find(x) != (value, ()):
                raise ValueError(
                    f"[{self._op}] the function writes to {path}, which it is differentiated by: "
                    "write to a copy of it"
                )

    def returned(self, tree: Any) -> Any:
        """Return what the function returns, with what it is given in the place of aliases.

        Also of views of them: writes to what is returned are writes to the caller's tensors.
        """
        found: dict[int, Tensor] = {}

        def note(x: Any, _: str) -> None:
            known = self._recorder.find(x) if isinstance(x, Tensor) else None
            if known is None or known[0] not in self.values:
                return
            given = self._given[self.values.index(known[0])]
            if known[1]:
                (given,) = _C.OpCall("view", "view", attr=known[1]).replay([given])
            found.setdefault(id(x), given)

        visit(tree, note)
        return mapped(tree, lambda x, _: found.get(id(x), x)) if found else tree


def require_real(op: str, path: str, x: Tensor) -> None:
    """Refuse tensors that have no gradients."""
    if not is_real(x.dtype):
        raise TypeError(
            f"[{op}] {path}: expected real floating-point numbers, got {x.dtype} of shape {x.shape}"
        )


def arranged(tree: Any, gradients: Sequence[Tensor]) -> Any:
    """Return the tree with its gradients."""
    return mapped(tree, lambda x, _: gradients[x.number])


def own(
    recorder: Recorder, begin: int, tensors: list[Tensor | None], like: Sequence[Tensor | Type]
) -> Any:
    """Return gradients in memories of their own; zeros where nothing came.

    Those that are other values of the recording, views of some, or twice the same, are copied.
    ``begin`` is the first operation of the walk.
    """
    fresh = {
        value
        for call, _, _, results, *_ in recorder.operations(begin)
        if call.kind != "view"
        for value in results
    }
    found = []
    for g, x in zip(tensors, like, strict=True):
        if g is None:
            found.append(zeros(x.shape, dtype=x.dtype, device=x.device))
            continue
        known = recorder.find(g)
        if known is None or known[1] or known[0] not in fresh:
            g = _C.copy(g)
        else:
            fresh.discard(known[0])
        found.append(g)
    return found
