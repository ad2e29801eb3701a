"""TVM's partition of a program into groups that are computed together."""

from typing import NamedTuple

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Integers, Triples


class PostDominators(NamedTuple):
    """What ``post_dominators`` returns.

    Attributes
    ----------
    parents : list of int
        Of each operation, the nearest one that all ways from it to results go through; -1: none.
    kinds : list of int
        The largest kind of the uses, and of the operations, on the way there.
    """

    parents: list[int]
    kinds: list[int]


def post_dominators(operations: int, uses: Triples, results: Integers = ()) -> PostDominators:
    """Return the tree of post-dominators, by least common ancestors of users.

    Operations are taken backwards: the parent of one is the least common ancestor of all that use
    its value. One whose value is a result, or that nobody uses, has no parent. Source: TVM's
    ``DominatorTree::PostDom``, exactly.

    Parameters
    ----------
    operations : int
        How many there are.
    uses : sequence of (before, after, kind)
        The operation that makes a value, one that uses it, and in which way: 0 elementwise, 1
        broadcast, 2 injective, 3 reduction, 4 out-fusable, 8 opaque.
    results : array of int
        Operations whose values are results.

    Raises
    ------
    IndexError
        For operations that are not there.
    ValueError
        For a use that goes backwards, and for a kind that there is not.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import post_dominators
    >>> post_dominators(4, [(0, 1, 0), (0, 2, 1), (1, 3, 0), (2, 3, 0)], [3]).parents
    [3, 3, 3, -1]
    """
    return PostDominators(*_C.graph_post_dominators(operations, uses, results))


def partition(
    kinds: Integers, uses: Triples, results: Integers = (), max_depth: int = 256
) -> list[int]:
    """Return the group of each operation, by the number of its last operation.

    In two phases, each operation in order joins the group of its post-dominator where kinds allow
    it: an out-fusable one with elementwise and broadcast work behind it; elementwise and broadcast
    ones with injective work, up to a reduction or into the group of an out-fusable one; in the
    second phase, injective ones with injective work. Source: TVM's ``GraphPartitioner``, exactly,
    but for its third phase, which is for tuples.

    Parameters
    ----------
    kinds : array of int
        Of each operation: 0 elementwise, 1 broadcast, 2 injective, 3 reduction, 4 out-fusable, 8
        opaque.
    uses, results
        As for ``post_dominators``. An elementwise use by a broadcast operation has kind 0: that is,
        of a value that has the shape of its result.
    max_depth : int
        No group of more operations is made.

    Raises
    ------
    IndexError
        For operations that are not there.
    ValueError
        For a use that goes backwards, a kind that there is not, and a depth below 1.

    Notes
    -----
    Linear in the operations between each one and its post-dominator.

    Examples
    --------
    A product, a bias, a ``tanh``, a sum: the sum begins a group of its own.

    >>> from oneflow_lite.graph.analyses import partition
    >>> partition([4, 1, 0, 3], [(0, 1, 0), (1, 2, 0), (2, 3, 3)], [3])
    [2, 2, 2, 3]
    """
    return _C.graph_partition(kinds, uses, results, max_depth)
