"""An order of operations in which less is alive at one time."""

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Edges, Integers, Rows


def order_by_memory(
    operations: int, sizes: Integers, users: Rows, results: Integers = (), edges: Edges = ()
) -> list[int]:
    """Return the operations in an order that leaves few bytes alive between them.

    A list schedule: of the operations whose predecessors have all come, the one after which the
    fewest bytes are alive is next; of equals the first one. Source: greedy list scheduling for
    register pressure (Goodman and Hsu, 1988), with bytes in the place of registers.

    Parameters
    ----------
    operations : int
        How many there are.
    sizes : array of int
        The bytes of each class of values (``alias_classes``).
    users : rows of int
        The operations that use each class (``class_users``). The first one makes it, the last one
        to come ends its life.
    results : array of int
        Classes that are handed out, and so stay alive.
    edges : sequence of (before, after)
        As ``dependences`` returns them.

    Raises
    ------
    IndexError
        For operations or classes that are not there.
    OverflowError
        For sizes that are too big to be added.
    ValueError
        For a negative size, arrays of other lengths, and for an edge that goes backwards.

    Notes
    -----
    n log n. It is no optimum, which is hard to find: compare what both orders need.

    Examples
    --------
    Two large values, and a small sum of each: each is made and used up in turn.

    >>> from oneflow_lite.graph.analyses import order_by_memory
    >>> order_by_memory(4, [100, 100, 1, 1], [[0, 2], [1, 3], [2], [3]], [2, 3], [(0, 2), (1, 3)])
    [0, 2, 1, 3]
    """
    return _C.graph_order_by_memory(operations, sizes, users, results, edges)
