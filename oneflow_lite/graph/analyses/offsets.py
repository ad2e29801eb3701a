"""The memory plan by offsets."""

from typing import NamedTuple

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Edges, Integers, Rows


class MemoryPlan(NamedTuple):
    """What ``plan_offsets`` returns.

    Attributes
    ----------
    spaces : list of int
        Where each class is: -1 is the arena; else the result in whose memory it is, which begins
        later. A result is in its own.
    offsets : list of int
        In that space, in bytes; -1 for a class that nobody uses.
    bytes : int
        The size of the arena.
    bound : int
        No arena is smaller.
    name : str
        The candidate that won.
    tried : list of (str, int)
        The candidates, and the bytes of their arenas.
    """

    spaces: list[int]
    offsets: list[int]
    bytes: int
    bound: int
    name: str
    tried: list[tuple[str, int]]


def plan_offsets(
    sizes: Integers,
    users: Rows,
    *,
    results: Integers = (),
    alignment: int = 64,
    lanes: Integers | None = None,
    edges: Edges = (),
) -> MemoryPlan:
    """Plan one arena for all temporaries, by offsets: the smallest of several packings.

    Classes that are in use at the same time do not overlap; on several lanes, one takes the bytes
    of another only where it begins after every use of it, by edges and by the order of lanes. The
    candidates are best fits in the orders of size, lifetime, their product and time; NNVM's blocks
    with the ranges 1, 2, 4, 8, 16; and for up to 1700 classes, a search that moves one class after
    the other to another place in the order of size. It stops at the lower bound. Source: the greedy
    orders of TensorFlow Lite (Pisarchyk and Lee, 2020); NNVM's ``PlanMemory``.

    Parameters
    ----------
    sizes : array of int
        The bytes of each class of values (``alias_classes``).
    users : rows of int
        The operations that use each class (``class_users``). The first one makes it; on several
        lanes, the others run after it.
    results : array of int
        Classes that are handed out. They have memory of their own, in which temporaries may lie
        until it begins to be used.
    alignment : int
        Sizes are rounded up to it: 64 bytes, on cuda 256.
    lanes : array of int, optional
        The lane of each operation; all are in one without it.
    edges : sequence of (before, after)
        As ``dependences`` returns them; needed for several lanes.

    Raises
    ------
    IndexError
        For operations, classes or lanes that are not there.
    OverflowError
        For sizes that are too big to be added.
    ValueError
        For negative sizes, an alignment that is no power of two, arrays of other lengths, an edge
        that goes backwards, and for a use that does not run after the first one.

    Notes
    -----
    Quadratic up to 10,000 classes; above, only time and blocks are tried, in n log n steps, and
    temporaries do not lie in results. Lanes multiply that.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import plan_offsets
    >>> plan = plan_offsets([100, 64, 128], [[0, 1], [1, 2], [2, 3]])
    >>> plan.offsets, plan.bytes, plan.bound
    ([0, 128, 0], 192, 192)
    """
    return MemoryPlan(*_C.graph_plan_offsets(sizes, users, results, alignment, lanes, edges))


def lower_bound(sizes: Integers, users: Rows, alignment: int = 64) -> int:
    """Return the largest sum of the bytes that are in use at one time: no arena is smaller.

    Parameters
    ----------
    sizes, users, alignment
        As for ``plan_offsets``.

    Raises
    ------
    IndexError, OverflowError, ValueError
        As ``plan_offsets``.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import lower_bound
    >>> lower_bound([100, 64, 128], [[0, 1], [1, 2], [2, 3]])
    192
    """
    return _C.graph_lower_bound(sizes, users, alignment)
