"""What starts after what, in which order, and who uses a value last."""

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Edges, Integers, Rows


def successors(operations: int, edges: Edges) -> list[list[int]]:
    """Return the operations that each operation has an edge to, sorted. Source: Paddle.

    Parameters
    ----------
    operations : int
        How many there are.
    edges : sequence of (before, after)
        As ``dependences`` returns them.

    Raises
    ------
    IndexError, ValueError
        As ``reduction``.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import successors
    >>> successors(3, [(0, 1), (0, 2)])
    [[1, 2], [], []]
    """
    return _C.graph_successors(operations, edges)


def successors_by_thread(hosts: Integers, edges: Edges) -> tuple[list[list[int]], list[list[int]]]:
    """Return the successors of each operation that its thread may run, and those it gives away.

    An operation of a device keeps all its successors of devices, as to put them into queues is all
    that is to do. One of the host keeps the first of its successors of the host that is ready, and
    gives the others away. Source: Paddle's ``RunNextInstructions``.

    Parameters
    ----------
    hosts : array of int
        1 for an operation of the host, 0 for one of a device.
    edges : sequence of (before, after)
        As ``dependences`` returns them.

    Returns
    -------
    kept, given : rows of int
        Sorted rows, one of each operation.

    Raises
    ------
    IndexError, ValueError
        As ``reduction``.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import successors_by_thread
    >>> successors_by_thread([1, 0, 1, 0], [(0, 1), (0, 2), (1, 3)])
    ([[2], [3], [], []], [[1], [], [], []])
    """
    return _C.graph_successors_by_thread(hosts, edges)


def last_users(operations: int, edges: Edges, users: Rows) -> list[list[int]]:
    """Return the users of each value that do not happen before another user of it.

    When all of these are over, all users are, so their number is what a run counts down before it
    releases the value. Source: Paddle's ``last_live_ops``.

    Parameters
    ----------
    operations : int
        How many there are.
    edges : sequence of (before, after)
        As ``dependences`` returns them.
    users : rows of int
        The operations that use each value (``class_users``), in any order.

    Raises
    ------
    IndexError, ValueError
        As ``reduction``.

    Notes
    -----
    Cost: as for ``dependences``, with users in the place of accesses.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import last_users
    >>> last_users(4, [(0, 1), (0, 2), (2, 3)], [[0, 1, 2, 3], [0]])
    [[1, 3], [0]]
    """
    return _C.graph_last_users(operations, edges, users)


def order_by_priority(priorities: Integers, edges: Edges) -> list[int]:
    """Return the operations in the order in which they are issued.

    Of the operations whose predecessors are all issued, the one of the smallest (priority, number)
    is next. A priority never goes against an edge. Source: Paddle's ready queue, where "read first"
    is an edge that may go against the program's order; here it is a priority.

    Parameters
    ----------
    priorities : array of int
        Of each operation; smaller ones go first.
    edges : sequence of (before, after)
        These may go backwards.

    Raises
    ------
    IndexError
        For operations that are not there.
    ValueError
        For edges in a cycle; an operation of it is named.

    Notes
    -----
    For n operations and m edges, (n + m) log n steps.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import order_by_priority
    >>> order_by_priority([0, 0, -1, 0], [(0, 1), (1, 3)])
    [2, 0, 1, 3]
    """
    return _C.graph_order_by_priority(priorities, edges)
