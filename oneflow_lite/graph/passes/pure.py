"""Which operations only compute: those that passes may merge, fold and leave out."""

from oneflow_lite.graph.ir import Op, Scalar, Slot

_ALLOCATIONS = ("empty", "fill")


def only_computes(op: Op) -> bool:
    """Return whether an operation has no effect, uses no object, and writes into no value."""
    return not (op.effects or op.object or op.targets)


def is_allocation(op: Op) -> bool:
    """Return whether an operation makes memory, with one number in it or with nothing."""
    return op.call.kind in _ALLOCATIONS


def uses_slots(op: Op) -> bool:
    """Return whether an operand is a number that each run is given."""
    return any(isinstance(x, Scalar) and isinstance(x.value, Slot) for x in op.operands)
