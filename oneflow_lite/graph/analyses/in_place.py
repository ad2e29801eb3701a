"""Results that are written over operands."""

from typing import NamedTuple

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Accesses, Edges, Integers, Triples
from oneflow_lite.graph.analyses.reason import Reason
from oneflow_lite.graph.analyses.values import Values, check_values


class InPlace(NamedTuple):
    """What ``in_place`` returns: the reason of each pair, and the class of each value then."""

    reasons: list[Reason]
    classes: list[int]


def in_place(
    accesses: Accesses,
    pairs: Triples,
    values: Values,
    *,
    lanes: Integers | None = None,
    edges: Edges = (),
) -> InPlace:
    """Decide where an operation writes its result over an operand, and say why or why not.

    It does if the operation reads the operand's class elementwise only, at one place; if the
    operand is a temporary of as many elements, with items of the same size; and if nobody uses its
    class later, or may still be using it on another lane. So ``x * x`` is in place, feeds and
    results are never written over, and a value of which only the shape is read later is no
    obstacle. Source: NNVM's ``PlanMemory``, where ``x * x`` is not in place as it counts two uses,
    and Paddle's in-place pass.

    Parameters
    ----------
    accesses : rows of (value, Access)
        What each operation uses. A group of operations is elementwise in an operand if each of its
        reads of it is.
    pairs : sequence of (operation, operand, result)
        What is asked, in the order of the program. A result takes the first operand that it may.
    values : Values
        What is known of the values.
    lanes : array of int, optional
        The lane of each operation; all are in one without it.
    edges : sequence of (before, after)
        As ``dependences`` returns them; needed for several lanes.

    Raises
    ------
    IndexError
        For values, classes, operations or lanes that are not there.
    ValueError
        For arrays of other lengths, negative sizes, pairs not in order, and for a pair whose
        operation does not write the result.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import ELEMENTWISE, WRITE, Values, in_place
    >>> x, y, z = 0, 1, 2
    >>> program = [[(x, ELEMENTWISE), (y, WRITE)], [(y, ELEMENTWISE), (z, WRITE)]]
    >>> values = Values([0, 1, 2], kinds=[2, 0, 1], places=[0] * 3, elements=[6] * 3,
    ...                 item_sizes=[4] * 3)
    >>> found = in_place(program, [(0, x, y), (1, y, z)], values)
    >>> [reason.name for reason in found.reasons], found.classes
    (['GIVEN', 'ALLOWED'], [0, 1, 1])
    """
    check_values("in_place", values)
    reasons, found = _C.graph_in_place(accesses, pairs, *values, lanes, edges)
    return InPlace([Reason(reason) for reason in reasons], found)
