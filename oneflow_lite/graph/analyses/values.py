"""Values that share memory."""

from enum import IntEnum
from typing import NamedTuple

from oneflow_lite import _C
from oneflow_lite.graph.analyses.arrays import Accesses, Integers, Pairs


class ValueKind(IntEnum):
    """Whose a value's memory is. A class of values has the highest kind of its members.

    >>> from oneflow_lite.graph.analyses import ValueKind
    >>> [kind.name for kind in ValueKind]
    ['TEMPORARY', 'RESULT', 'GIVEN']
    """

    TEMPORARY = 0  # made and used up inside
    RESULT = 1  # handed out
    GIVEN = 2  # a feed, a variable, a constant


class Values(NamedTuple):
    """What is known of the values of a program: arrays of integers, as long as there are values.

    Attributes
    ----------
    classes : array of int
        Values of one class share memory (``alias_classes``): views are of the class of what they
        are of. Classes are below the number of values.
    kinds : array of ValueKind
        A variable is of the kind GIVEN.
    places : array of int
        Equal numbers mean the same offset in the memory, the same shape and the same strides.
    elements : array of int
        How many there are.
    item_sizes : array of int
        The bytes of an element.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import Values, ValueKind
    >>> w, view = 0, 1
    >>> values = Values(
    ...     classes=[0, 0], kinds=[ValueKind.GIVEN, ValueKind.TEMPORARY], places=[0, 1],
    ...     elements=[6, 3], item_sizes=[4, 4],
    ... )
    >>> values.classes[w] == values.classes[view]
    True
    """

    classes: Integers
    kinds: Integers
    places: Integers
    elements: Integers
    item_sizes: Integers


def check_values(op: str, values: object) -> None:
    """Raise TypeError for what is no Values."""
    if not isinstance(values, tuple) or len(values) != len(Values._fields):
        raise TypeError(f"[{op}] values: expected Values, got {type(values).__name__}")


def alias_classes(values: int, pairs: Pairs) -> list[int]:
    """Return the class of each value: those that share memory are of one class.

    Source: MXNet's shared storages.

    Parameters
    ----------
    values : int
        How many there are.
    pairs : sequence of (value, other)
        Values that share memory: a view and what it is of, a result and what it is written over.

    Returns
    -------
    list of int
        Classes are numbered from 0, in the order of their first members.

    Raises
    ------
    IndexError
        For values that are not there.
    ValueError
        For a negative number of values.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import alias_classes
    >>> alias_classes(5, [(4, 1), (2, 4)])
    [0, 1, 1, 2, 1]
    """
    return _C.graph_alias_classes(values, pairs)


def class_users(accesses: Accesses, classes: Integers) -> list[list[int]]:
    """Return the operations that read or write the data of each class, sorted.

    The first and the last are the class's lifetime. A value of which only the shape is read does
    not live on. Source: NNVM's reference counts.

    Parameters
    ----------
    accesses : rows of (value, Access)
        What each operation uses.
    classes : array of int
        The class of each value.

    Raises
    ------
    IndexError
        For values or classes that are not there; there are at most as many classes as values.
    ValueError
        For something else than pairs, or an unknown Access.

    Examples
    --------
    >>> from oneflow_lite.graph.analyses import READ, SHAPE, WRITE, class_users
    >>> class_users([[(0, WRITE)], [(0, READ), (1, WRITE)], [(0, SHAPE), (2, WRITE)]], [0, 1, 1])
    [[0, 1], [1, 2]]
    """
    return _C.graph_class_users(accesses, classes)
