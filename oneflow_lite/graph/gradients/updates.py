"""Operations that write to a part of a tensor: the rest of it goes on to its old version.

old ──────────────┐
▼
operands ─► call ─► into a view of it ─► new

gradient of new:  its part in the view ─► rule of the call ─► operands
the rest, with zeros in that place       ─► old
"""

from oneflow_lite import _C
from oneflow_lite.graph.gradients.step import Results, Step, given_by_rule
from oneflow_lite.graph.gradients.sums import Sums
from oneflow_lite.ops.creation.data import zeros


def pull_update(step: Step, sums: Sums, is_wanted: bool) -> None:
    """Give the gradient of the new version to the operands and the old version.

    ``is_wanted``: somebody wants that of the new version as a result.
    """
    if len(step.targets) != 1 or len(step.results) != 1:
        step.fail("is not differentiable: it writes to several tensors")
    (target,), (new,) = step.targets, step.results
    old = step.record.whole(target)
    if target == old:
        g = sums.get(new)
        assert g is not None
        add_gradients(step, [g], sums)
        if step.kept is not None:
            sums.add(old, step.kept)
        return
    kept = _C.copy(sums.buffer(new)) if is_wanted else None
    buffer = sums.buffer(new)
    (place,) = step.record.views[target][1].replay([buffer])
    add_gradients(step, [_C.copy(place)], sums)
    left = step.kept if step.kept is not None else zeros((), place.dtype, device=place.device)
    _C.assign(place, left)
    sums.hand_over(new, old)
    if kept is not None:
        sums.add(new, kept)


def add_gradients(step: Step, gs: Results, sums: Sums) -> None:
    """Add what the rule of an operation gives for each operand, in its dtype."""
    for k, found in enumerate(given_by_rule(step, gs)):
        if found is not None and step.needs(k):
            sums.add(step.operands[k], _C.astype(found, step.type(k).dtype, False))
    for value, found in step.beside:
        sums.add(value, found)
