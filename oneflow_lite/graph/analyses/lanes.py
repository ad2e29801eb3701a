"""Lanes: operations of one lane run one after the other, in the order of the program."""

from enum import IntEnum

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Edges, Integers, Pairs, Rows


class Start(IntEnum):
    """How an operation starts after another one.

    >>> from oneflow_lite.graph.analyses import Start
    >>> [start.name for start in Start]
    ['DIRECT', 'EVENT', 'SYNCHRONIZE']
    """

    DIRECT = 0  # in the same queue of a device, once the other one is in it
    EVENT = 1  # in another queue of the device, which waits for an event
    SYNCHRONIZE = 2  # once the host knows that the other one is done


def waits(lanes: Integers, edges: Edges) -> list[tuple[int, int]]:
    """Return the waits between lanes that keep all edges: the fewest that delay nothing else.

    A sweep keeps a clock for each lane: what has run, lane by lane. Of an operation's predecessors
    on other lanes, the latest comes first; what the clock covers needs no wait, for the rest the
    operation waits, and takes over the clock. An edge is covered by a wait only, never because the
    program has an edge. Source: vector clocks, for Paddle's ``StreamAnalyzer``.

    Parameters
    ----------
    lanes : array of int
        The lane of each operation, below 256.
    edges : sequence of (before, after)
        As ``dependences`` returns them.

    Returns
    -------
    list of (signal, wait)
        ``wait`` starts after ``signal`` on another lane; sorted by ``wait``, the latest ``signal``
        first.

    Raises
    ------
    IndexError
        For lanes or operations that are not there.
    ValueError
        For an edge that goes backwards.

    Notes
    -----
    For n operations, m edges and l lanes, (n + m) l steps and 4 n l bytes.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import waits
    >>> waits([0, 0, 1, 1], [(0, 2), (1, 2), (0, 3)])
    [(1, 2)]
    """
    return _C.graph_waits(lanes, edges)


def starts(lanes: Integers, edges: Edges, devices: Integers) -> list[Start]:
    """Return how the second operation of each edge starts after the first.

    Source: Paddle's direct, event and synchronize runs. An operation that ends on the host, such as
    a copy to it, is two: one in a lane of the device, one in a lane of the host.

    Parameters
    ----------
    lanes : array of int
        The lane of each operation.
    edges : sequence of (before, after)
        As ``dependences`` returns them.
    devices : array of int
        The device of each lane; -1 for lanes of the host, where nothing is queued.

    Raises
    ------
    IndexError
        For lanes or operations that are not there.
    ValueError
        For a device below -1; for an edge that goes backwards.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import starts
    >>> [s.name for s in starts([0, 0, 1, 2], [(0, 1), (1, 2), (2, 3)], [5, 5, -1])]
    ['DIRECT', 'EVENT', 'SYNCHRONIZE']
    """
    return [Start(start) for start in _C.graph_starts(lanes, edges, devices)]


def reuse_across_lanes(lanes: Integers, edges: Edges, users: Rows, pairs: Pairs) -> list[bool]:
    """Return whether an operation may write over a value's bytes, for each pair of these.

    It may where every user of the value runs before it, because of edges and of the order of lanes.
    No edge is added. NNVM compares the colour of the last user only, while another one may still
    run. Source: NNVM's ``GraphAllocator::Request``, mended.

    Parameters
    ----------
    lanes : array of int
        The lane of each operation.
    edges : sequence of (before, after)
        As ``dependences`` returns them.
    users : rows of int
        The operations that use each value.
    pairs : sequence of (value, operation)
        What is asked.

    Raises
    ------
    IndexError
        For lanes, operations or values that are not there.
    ValueError
        For an edge that goes backwards.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import reuse_across_lanes
    >>> lanes, edges = [0, 1, 0, 0], [(0, 1), (0, 2)]  # 1 reads on lane 1, 2 on lane 0
    >>> reuse_across_lanes(lanes, edges, [[0, 1, 2], [0, 2]], [(0, 3), (1, 3)])
    [False, True]
    """
    return _C.graph_reuse_across_lanes(lanes, edges, users, pairs)
