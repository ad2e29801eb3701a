"""Over which ranks a function spreads the tensor that it makes: its ``placement`` and ``sbp``."""

from collections.abc import Sequence
from typing import Any

from oneflow_lite._C import Placement, Sbp

broadcast = Sbp.broadcast()


def sbps_of(
    name: str, device: Any, placement: Placement | None, sbp: Sbp | Sequence[Sbp] | None
) -> list[Sbp]:
    """Return an sbp for each axis of the grid of a placement.

    Parameters
    ----------
    name : str
        Of the function, for errors.
    device
        What the function was given as its device: nothing.
    placement : Placement
    sbp : Sbp, sequence of Sbp or None
        One Sbp holds for all axes of the grid; None is broadcast.

    Raises
    ------
    TypeError
        For another placement or sbp, and for a device, which the placement decides.

    Examples
    --------
    >>> from oneflow_lite.ops.creation.spreading import sbps_of
    >>> ranks = flow.distributed.placement("cpu", ranks=[[0, 1], [2, 3]])
    >>> sbps_of("zeros", None, ranks, flow.distributed.sbp.split(0))
    [split(0), split(0)]
    """
    if not isinstance(placement, Placement):
        raise TypeError(f"[{name}] placement: expected one, got {type(placement).__name__}")
    if device is not None:
        raise TypeError(f"[{name}] device: the placement decides it")
    if sbp is None or isinstance(sbp, Sbp):
        return [broadcast if sbp is None else sbp] * len(placement.grid)
    given = list(sbp) if isinstance(sbp, Sequence) else [sbp]
    for each in given:
        if not isinstance(each, Sbp):
            raise TypeError(f"[{name}] sbp: expected an Sbp, got {type(each).__name__}")
    return given
