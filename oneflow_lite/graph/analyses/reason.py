"""Why one value may or may not lie in the memory of another one."""

from enum import IntEnum

from oneflow_lite import _C


class Reason(IntEnum):
    """Why a value lies, or does not lie, in the memory of another one.

    >>> from oneflow_lite.graph.analyses import Reason
    >>> Reason.USED_LATER.text
    'the memory is used after the operation'
    """

    ALLOWED = 0
    HAS_MEMORY = 1
    GIVEN = 2
    IS_RESULT = 3
    NOT_READ = 4
    NOT_ELEMENTWISE = 5
    AT_ANOTHER_PLACE = 6
    OTHER_ITEM_SIZE = 7
    BROADCAST = 8
    TAKEN = 9
    SEVERAL_USES = 10
    USED_LATER = 11
    READ_SINCE = 12
    MADE_LATER = 13
    UNORDERED = 14

    @property
    def text(self) -> str:
        """The reason, as part of a sentence."""
        return _C.GRAPH_REASONS[self][1]
