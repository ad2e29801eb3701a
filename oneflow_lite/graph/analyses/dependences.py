"""Hazards between operations."""

from enum import IntEnum

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Accesses, Edges, Rows


class Access(IntEnum):
    """How an operation uses a value or a variable.

    >>> from oneflow_lite.graph.analyses import Access
    >>> [access.name for access in Access]
    ['READ', 'WRITE', 'SHAPE', 'ELEMENTWISE']
    """

    READ = 0  # any element, at any time
    WRITE = 1  # any element; who reads and writes is a writer
    SHAPE = 2  # the shape only, not the data
    ELEMENTWISE = 3  # a read of element i for element i of the results only


READ, WRITE, SHAPE, ELEMENTWISE = Access


def dependences(
    accesses: Accesses, tokens: Rows | None = None, sequential: bool = False
) -> list[tuple[int, int]]:
    """Return the edges that keep reads and writes in the order of the program.

    A read comes after the last write before it, a write after the last write and all reads since.
    An operand of which only the shape is read makes no edge. Edges that follow from others are left
    out, so the edges are the smallest set with the same order. Source: Paddle's interpreter,
    ``DependencyBuilder``, with closure by bit sets in program order, so that no edge is missed.

    Parameters
    ----------
    accesses : rows of (variable, Access)
        What each operation uses. Bytes that are used again are one more variable.
    tokens : rows of int, optional
        The tokens of each operation: those of one token run in the order of the program. They stand
        for draws of random numbers, collective communication, readers, output.
    sequential : bool
        Order all operations as the program does.

    Returns
    -------
    list of (before, after)
        Sorted.

    Raises
    ------
    IndexError
        For a negative variable or token.
    ValueError
        For something else than pairs, an unknown Access, or rows of tokens of another number.

    Notes
    -----
    For n operations with m accesses, 64 n bytes and at most (n + m) n / 64 steps; m log m where
    uses of a variable are close to each other. The number of operations times that of operands is
    the bound: one operation that reads 10,000 variables costs as much as 10,000 that read one.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import READ, SHAPE, WRITE, dependences
    >>> dependences([[(0, WRITE)], [(0, READ)], [(0, SHAPE)], [(0, READ)], [(0, WRITE)]])
    [(0, 1), (0, 3), (1, 4), (3, 4)]
    >>> dependences([[], [], []], tokens=[[7], [], [7]])
    [(0, 2)]
    """
    return _C.graph_dependences(accesses, tokens, sequential)


def reduction(operations: int, edges: Edges) -> list[tuple[int, int]]:
    """Return the edges that do not follow from others, sorted: the transitive reduction.

    Source: Aho, Garey and Ullman (1972); Paddle's ``ShrinkDownstreamMap``, which does not see edges
    that are added later. Cost: as for ``dependences``.

    Parameters
    ----------
    operations : int
        How many there are.
    edges : sequence of (before, after)
        In any order; each may be there more than once.

    Raises
    ------
    IndexError
        For operations that are not there.
    ValueError
        For an edge that goes backwards: edges in a cycle have one.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import reduction
    >>> reduction(3, [(0, 1), (1, 2), (0, 2)])
    [(0, 1), (1, 2)]
    """
    return _C.graph_reduction(operations, edges)
