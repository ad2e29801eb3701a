"""Assignments to variables, and additions to accumulators."""

from enum import IntEnum
from typing import NamedTuple

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Accesses, Edges, Integers, Quadruples, Triples
from oneflow_lite.graph.analyses.reason import Reason
from oneflow_lite.graph.analyses.values import Values, check_values


class AssignCase(IntEnum):
    """What an assignment does when it runs.

    >>> from oneflow_lite.graph.analyses import AssignCase
    >>> [case.name for case in AssignCase]
    ['NONE', 'COPY', 'COMPUTED']
    """

    NONE = 0  # nothing: the variable holds the source already
    COPY = 1  # it copies the source
    COMPUTED = 2  # nothing: the source is computed in the variable's memory


class Assignments(NamedTuple):
    """What ``assign`` returns: of each assignment its case and the reason; the classes then."""

    cases: list[AssignCase]
    reasons: list[Reason]
    classes: list[int]


class Additions(NamedTuple):
    """What ``addto`` returns: the reason of each addition, and the class of each value then."""

    reasons: list[Reason]
    classes: list[int]


def assign(
    accesses: Accesses,
    assignments: Triples,
    values: Values,
    *,
    lanes: Integers | None = None,
    edges: Edges = (),
) -> Assignments:
    """Decide which assignments copy, and which sources are computed in the variable's memory.

    A source is computed there if it is a temporary that lies as the variable does, nobody uses it
    after the assignment, and nobody uses the variable's old value once the source began. Who begins
    it may read the old value elementwise, at its place. Source: NNVM's ``DecorateMemoryPlan``,
    which asks the first of these only, so that later readers of the old value get the new one.

    Of two assignments to one variable, what runs between them sees the first, and the last stays.

    Parameters
    ----------
    accesses : rows of (value, Access)
        What each operation uses. Assignments are operations.
    assignments : sequence of (operation, variable, source)
        Those that read ``source`` and write ``variable``, in the order of the program.
    values, lanes, edges
        As for ``in_place``.

    Raises
    ------
    IndexError, ValueError
        As ``in_place``; ValueError for an operation that does not read the source or write the
        variable, for a variable of another kind, and for a source that nobody makes.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import ELEMENTWISE, READ, WRITE, Values, assign
    >>> w, new = 0, 1
    >>> step = [[(w, ELEMENTWISE), (new, WRITE)], [], [(new, READ), (w, WRITE)]]
    >>> values = Values([0, 1], kinds=[2, 0], places=[0, 0], elements=[6, 6], item_sizes=[4, 4])
    >>> assign(step, [(2, w, new)], values).cases[0].name
    'COMPUTED'
    >>> step[1] = [(w, READ)]  # of the old value
    >>> found = assign(step, [(2, w, new)], values)
    >>> found.cases[0].name, found.reasons[0].name
    ('COPY', 'READ_SINCE')
    """
    check_values("assign", values)
    cases, reasons, found = _C.graph_assign(accesses, assignments, *values[:3], lanes, edges)
    return Assignments(
        [AssignCase(case) for case in cases], [Reason(reason) for reason in reasons], found
    )


def addto(
    accesses: Accesses,
    additions: Quadruples,
    values: Values,
    *,
    lanes: Integers | None = None,
    edges: Edges = (),
) -> Additions:
    """Decide where a product adds into an accumulator, so that the addition goes.

    It does if ``part`` has no other use, ``accumulator`` is a temporary made before the product,
    and nobody uses the accumulator once the product began, nor does the product itself. The sum is
    then rounded otherwise than that of two operations. Source: MXNet's ``DetectInplaceAddTo``,
    which does not ask who reads the accumulator in between.

    Parameters
    ----------
    accesses : rows of (value, Access)
        What each operation uses.
    additions : sequence of (operation, accumulator, part, result)
        Operations that make ``result = accumulator + part`` of a ``part`` that an operation makes
        which can add, in the order of the program.
    values, lanes, edges
        As for ``in_place``.

    Raises
    ------
    IndexError, ValueError
        As ``in_place``; ValueError for an operation that does not read or write what it should, and
        for a part or an accumulator that nobody makes.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import ELEMENTWISE, READ, WRITE, Values, addto
    >>> acc, part, total = 0, 1, 2
    >>> add = [(acc, ELEMENTWISE), (part, ELEMENTWISE), (total, WRITE)]
    >>> values = Values([0, 1, 2], kinds=[0, 0, 1], places=[0] * 3, elements=[6] * 3,
    ...                 item_sizes=[4] * 3)
    >>> asked = [(2, acc, part, total)]
    >>> addto([[(acc, WRITE)], [(part, WRITE)], add], asked, values).classes
    [0, 0, 0]
    >>> product = [(acc, READ), (part, WRITE)]  # of the accumulator itself
    >>> addto([[(acc, WRITE)], product, add], asked, values).reasons[0].name
    'READ_SINCE'
    """
    check_values("addto", values)
    reasons, found = _C.graph_addto(accesses, additions, *values[:3], lanes, edges)
    return Additions([Reason(reason) for reason in reasons], found)
