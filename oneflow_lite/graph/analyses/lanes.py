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


def spread(costs: Integers, devices: Integers, edges: Edges, most: int, wait: int) -> list[int]:
    """Return a lane of its device for each operation, so that independent ones run side by side.

    In the order of the program each operation goes where it ends first: a lane is free when what
    was placed there is over, and what is needed from another lane is over by ``wait`` later. All
    lanes but the first one begin by as much later. Of equal lanes an operation takes that of what
    it needs last. Source: the choice of a processor of HEFT
    (Topcuoglu, Hariri and Wu, 2002). NNVM's ``colours`` takes paths alone, so that all branches but
    the heaviest ones share the last colour.

    Parameters
    ----------
    costs : array of int
        The time of each operation.
    devices : array of int
        The device of each operation, which has lanes of its own; -1: it takes none.
    edges : sequence of (before, after)
        As ``dependences`` returns them.
    most : int
        How many lanes a device has, up to 256.
    wait : int
        The time of a wait for another lane.

    Returns
    -------
    list of int
        From 0; -1 where the device is -1.

    Raises
    ------
    IndexError
        For operations that are not there.
    ValueError
        For a number of lanes that cannot be; for negative times; for a device below -1; for an edge
        that goes backwards.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import spread
    >>> fork = [(0, 1), (0, 2), (1, 3), (2, 3)]
    >>> spread([5, 9, 9, 5], [0] * 4, fork, most=2, wait=1)
    [0, 0, 1, 1]
    >>> spread([5, 9, 9, 5], [0] * 4, fork, most=2, wait=20)  # a wait takes longer
    [0, 0, 0, 0]
    """
    return _C.graph_spread(costs, devices, edges, most, wait)


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
