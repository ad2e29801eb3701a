"""What ranks tell each other beside tensors: small objects, and that one of them has failed."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import RankError
from oneflow_lite.distributed.errors import in_one_line
from oneflow_lite.distributed.placement import everywhere
from oneflow_lite.distributed.sbp import split
from oneflow_lite.ops.creation.data import tensor


def told(name: str, own: Any) -> list[Any]:
    """Return what each rank says, by rank; all ranks of the world call it, and wait.

    It is something that JSON has: text, numbers, lists, and dicts with text as keys. The name is
    that of the public function, for the errors of ranks that do something else.
    """
    if _C.current_member().size == 1:
        return [own]
    line = np.frombuffer(json.dumps(own).encode() + b"\n", np.uint8)
    own_line = tensor(line, device="cpu")
    lines = _C.assemble(own_line, everywhere("cpu"), [split(0)], name).full()
    return [json.loads(each) for each in lines.numpy().tobytes().splitlines()]


def barrier() -> None:
    """Wait until every rank of the world has called it.

    Instructions that are in flight are not waited for; ``flow.synchronize()`` does that.

    Raises
    ------
    RankError, DesyncError
        Where another rank has failed, or does something else.

    Examples
    --------
    >>> flow.distributed.barrier()
    """
    told("barrier", None)


def together(name: str, step: Callable[[], Any]) -> list[Any]:
    """Run a step on each rank, and return the results by rank; all ranks of the world call it.

    A step that fails on some ranks fails on all of them, and none of them waits for another one
    inside a step.

    Parameters
    ----------
    name : str
        Of the public function; errors begin with it.
    step : callable
        What it returns, JSON has.

    Raises
    ------
    BaseException
        What the step of this rank raised; KeyboardInterrupt and SystemExit are among it.
    RankError
        Where that of another rank raised; it has the rank and its error.
    """
    result: Any = None
    error: BaseException | None = None
    try:
        result = step()
    except BaseException as raised:  # Ctrl-C, too: the others wait for this rank
        error = raised
    try:
        outcomes = told(name, [result, None if error is None else in_one_line(error)])
    except Exception as untold:
        if error is None or isinstance(error, Exception):
            raise
        raise error from untold  # Ctrl-C goes on, whatever the others do
    if error is not None:
        raise error
    for rank, (_, line) in enumerate(outcomes):
        if line is not None:
            raise RankError(f"[{name}] rank {rank}: {line}")
    return [each for each, _ in outcomes]


def require_same(name: str, facts: dict[str, str]) -> None:
    """Refuse facts that are not the same on all ranks; all ranks of the world call it.

    Raises
    ------
    ValueError
        On all ranks; it has the first fact that differs, and two ranks that differ in it.
    """
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    if len(set(told(name, digest))) == 1:
        return
    first, *others = told(name, facts)
    for rank, other in enumerate(others, 1):
        for key in {**first, **other}:
            if first.get(key) != other.get(key):
                raise ValueError(
                    f"[{name}] ranks differ in {key}: rank 0 has {first.get(key)}, rank {rank} has "
                    f"{other.get(key)}; all ranks call it with the same arguments"
                )
