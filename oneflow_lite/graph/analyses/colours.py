"""NNVM's colouring."""

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Edges, Integers


def colours(weights: Integers, edges: Edges, most: int) -> list[int]:
    """Return the colour of each operation: operations of one colour are a path of edges.

    The heaviest path gets colour 0; its operations then weigh nothing, and the heaviest path gets
    colour 1, and so on, ``most`` - 1 times. The rest gets one more colour. Of equally heavy paths,
    that which starts at the highest number is taken. Source: NNVM's ``ColorNodeGroup``, exactly.

    Parameters
    ----------
    weights : array of int
        Of each operation, in any unit; 1 in NNVM.
    edges : sequence of (before, after)
        From the operation that makes a value to one that has it as an operand.
    most : int
        At least 1; colours are below it.

    Raises
    ------
    IndexError
        For operations that are not there.
    OverflowError
        For weights that are too big to be added.
    ValueError
        For a negative weight, no colour, or an edge that goes backwards.

    Notes
    -----
    Linear for each colour.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import colours
    >>> colours([1, 1, 1, 1], [(0, 1), (0, 2), (2, 3)], 2)
    [0, 1, 0, 0]
    """
    return _C.graph_colours(weights, edges, most)
