"""NNVM's memory plan."""

from collections.abc import Sequence
from typing import NamedTuple

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Integers, Rows, Triples


class BlockProgram(NamedTuple):
    """What ``plan_blocks`` is given: rows and arrays of integers.

    Attributes
    ----------
    inputs, outputs : rows of int
        The values that each operation has as operands, and makes.
    elements, item_sizes : array of int
        Of each value: how many elements, and the bytes of one.
    results : array of int
        Values that are handed out, once for each time.
    ignored : rows of int, optional
        Of each operation: the places of inputs of which it does not read the data.
    pairs : rows of (input, output, identity), optional
        Of each operation: places of an input and an output that may be written over it, in the
        order in which they are tried; ``identity`` 1: the output is the input.
    devices, colours : array of int, optional
        Of each operation. Operations of one colour run one after the other (``colours``).

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import BlockProgram
    >>> x, y = 0, 1
    >>> BlockProgram([[x]], [[y]], elements=[8, 8], item_sizes=[4, 4], results=[y]).colours is None
    True
    """

    inputs: Rows
    outputs: Rows
    elements: Integers
    item_sizes: Integers
    results: Integers = ()
    ignored: Rows | None = None
    pairs: Sequence[Triples] | None = None
    devices: Integers | None = None
    colours: Integers | None = None


class BlockPlan(NamedTuple):
    """What ``plan_blocks`` returns.

    Attributes
    ----------
    blocks : list of int
        The block of each value; -1 for a variable, which nobody makes.
    in_place : list of int
        Of each value: the place of the input that it is written over; -1: none; -2: nobody uses it.
    sizes : list of int
        The bytes of each block.
    bytes : int
        Their sum.
    match_range : int
        The range that was taken.
    """

    blocks: list[int]
    in_place: list[int]
    sizes: list[int]
    bytes: int
    match_range: int


def plan_blocks(program: BlockProgram, match_range: int = 16, search: bool = False) -> BlockPlan:
    """Plan blocks of memory that values share, as NNVM does.

    A value counts the operands that read its data, and its uses as a result. For each operation,
    outputs go over inputs where ``pairs`` and the counts allow it. The others request blocks, the
    largest first; then each operand counts its block down, and releases it at 0; then unused
    outputs release theirs. A request of s bytes with range r takes the smallest free block of s to
    s r bytes, else the largest of at least s // r, which grows, else a new one; with r = 0, always
    a new one. A block serves one device, and operations of the colour of who released it.

    Source: NNVM's ``PlanMemory``, exactly, but for its faults: items have their sizes, not 4 bytes;
    ``x * x`` may be in place; range 0 with ``search`` makes a plan; the sizes of blocks are part of
    it; and a released block waits for readers of other colours.

    Parameters
    ----------
    program : BlockProgram
        The operations and their values.
    match_range : int
        The range of sizes; with ``search``, the largest that is tried.
    search : bool
        Try the ranges 1, 2, 4, ... and take the first plan of the fewest bytes.

    Raises
    ------
    IndexError
        For values, places or colours that are not there.
    OverflowError
        For sizes that are too big to be added.
    ValueError
        For arrays of other lengths, negative sizes or ranges, a value that two operations make, or
        that is used before it is made.

    Notes
    -----
    n log n steps for each range, times the number of colours.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import BlockProgram, plan_blocks
    >>> x, a, b, c = range(4)
    >>> program = BlockProgram(
    ...     [[x], [a], [b]], [[a], [b], [c]], elements=[8] * 4, item_sizes=[4] * 4, results=[c]
    ... )
    >>> plan = plan_blocks(program)
    >>> plan.blocks, plan.sizes  # c is where a was
    ([-1, 0, 1, 0], [32, 32])
    """
    return BlockPlan(*_C.graph_plan_blocks(*program, match_range, search))
