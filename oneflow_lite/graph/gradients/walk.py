"""The walk back over the operations of a recording: it records what their gradients are.

operations   x ─► a ─► b ─► loss        each value may have several users
gradients    dx ◄─ da ◄─ db ◄─ 1        and gets the sum of what their rules give
"""

from collections.abc import Iterable

from oneflow_lite._C import Tensor
from oneflow_lite.dtypes import isdtype
from oneflow_lite.graph.gradients.record import Record
from oneflow_lite.graph.gradients.rules import (  # noqa: F401 - they register themselves
    convolution,
    elementwise,
    factorizations,
    indexing,
    joining,
    ordering,
    products,
    reductions,
    solving,
)
from oneflow_lite.graph.gradients.rules.views import add_view
from oneflow_lite.graph.gradients.step import Step
from oneflow_lite.graph.gradients.sums import Sums
from oneflow_lite.graph.gradients.updates import add_gradients, pull_update


def pulled(record: Record, seeds: Iterable[tuple[int, Tensor]]) -> list[Tensor | None]:
    """Record the gradients of the wanted values of a record, and return them.

    Parameters
    ----------
    record : Record
        The operations.
    seeds : iterable of (int, Tensor)
        Values to begin at, with their gradients. None in the result: they do not depend on that
        value.
    """
    sums = Sums(record)
    for value, g in seeds:
        sums.add(value, g)
    kept = set(record.wanted)
    for index in reversed(range(len(record.rows))):
        if any(x in sums for x in record.rows[index][3]):
            with record.placed(index):
                _pull(Step(record, index), sums, kept)
    return [sums.get(value) for value in record.wanted]


def _pull(step: Step, sums: Sums, wanted: set[int]) -> None:
    if any(isdtype(step.record.types[x].dtype, "complex floating") for x in step.results):
        step.fail("makes complex numbers: gradients are of real ones only")
    if step.targets and not step.changes_operand:
        pull_update(step, sums, not wanted.isdisjoint(step.results))
        return
    gs = [sums.get(value) for value in step.results]
    if step.call.kind == "view":
        assert gs[0] is not None
        add_view(step, gs[0], sums)
    elif any(g is not None for g in gs):
        add_gradients(step, gs, sums)
