"""Groups that programs make: held until they are whole, counted, and compared with NumPy."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import oneflow_lite as flow
from tests.support.oracle import same


@contextmanager
def held(*tensors: flow.Tensor) -> Iterator[None]:
    """What uses the tensors waits until the block ends, and is then found as a whole."""
    opened = threading.Event()
    call = flow.vm.host_func(lambda *_: opened.wait(), writes=tensors)
    try:
        yield
    finally:
        opened.set()
    call.result()


def fused() -> dict[str, int]:
    """The counters of groups, once everything has run."""
    flow.synchronize()
    stats = flow.vm.stats()
    return {name: stats[f"fused_{name}"] for name in ("groups", "instructions", "results", "bytes")}


def saved(program: Callable[..., Any], *arrays: np.ndarray) -> dict[str, int]:
    """Run a program over xp and arrays whose operations are found as a whole; check its results.

    Returns
    -------
    dict
        How many groups it made, of how many instructions, and what they saved.
    """
    with np.errstate(all="ignore"):
        wanted = program(np, *(np.array(array) for array in arrays))
    tensors = [flow.tensor(array) for array in arrays]
    before = fused()
    with held(*tensors):
        seen = program(flow, *tensors)
    after = fused()
    same(wanted, seen)
    return {name: after[name] - before[name] for name in after}
