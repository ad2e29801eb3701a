"""Ranks that are threads, with a GPU each where there are as many: what they exchange by NCCL and
through the memory of the host, whether the bits are those of the host, and what it costs.

Where there is one GPU, two ranks share it: through the host, and by NCCL where it lets them
(``NCCL_MULTI_RANK_GPU_ENABLE=1``, since 2.32).
"""

import os
import threading
import time
from functools import partial
from typing import Any

import numpy as np

import oneflow_lite as flow
from gpu_rows import FAILED, OK, Rows
from oneflow_lite.distributed import placement, sbp
from timing import Summary

MOST_RANKS = 4
HOST, NCCL = "through the host", "NCCL"


def check(rows: Rows, setting: Any) -> None:
    """Compare sums of ranks with those on the host, and measure them."""
    count = sum(device.type == "cuda" for device in flow.devices())
    ranks = min(max(count, 2), MOST_RANKS)
    if count < ranks:
        os.environ["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"  # before the library is loaded
    rows.add("ranks, GPUs", value=float(ranks), unit="ranks", note=f"on {count} GPUs")
    sizes = (1 << 8, 1 << 16) if setting.tiny else (1 << 8, 1 << 20, 1 << 24)
    for name in (HOST, NCCL):
        with flow.flags(cuda_nccl=name == NCCL):
            for size in sizes:
                question = f"partial to broadcast, {4 * size} bytes, {ranks} ranks"
                with rows.attempt(question, name):
                    _sums(rows, question, name, ranks, size, 3 if setting.tiny else 15)


def _sums(rows: Rows, question: str, name: str, ranks: int, size: int, times: int) -> None:
    together = threading.Barrier(ranks)
    found = flow.distributed.run(partial(_program, together, size, times), ranks)
    for how in {how for each in found for how in each[1]}:
        rows.add(f"{question}: the way", name, status=_status(how.startswith(name)), note=how)
    wrong = sum(each[0] for each in found)
    rows.add(
        f"{question}: bits",
        name,
        value=float(wrong),
        unit="wrong elements",
        target=0.0,
        status=_status(wrong == 0),
    )
    slowest = np.max([each[2] for each in found], axis=0)
    rows.summary(question, name, Summary.of(list(slowest)), 1e6, unit="us")


def _status(is_well: bool) -> str:
    return OK if is_well else FAILED


def _program(
    together: threading.Barrier, size: int, times: int
) -> tuple[int, list[str], list[float]]:
    """Return how many elements are wrong, what connects the ranks, and seconds."""
    rng = np.random.default_rng(flow.distributed.rank())
    own = flow.tensor(rng.normal(size=size).astype(np.float32))
    expected = own.to_global(placement.all("cpu"), sbp.partial_sum).full().numpy()
    x = own.to(flow.device("cuda")).to_global(placement.all("cuda"), sbp.partial_sum)
    seconds = []
    for _ in range(times):
        flow.synchronize()
        together.wait()
        began = time.perf_counter()
        result = x.to_global(sbp=sbp.broadcast).to_local()
        flow.engine.wait(result)
        seconds.append(time.perf_counter() - began)
    wrong = int(np.count_nonzero(result.numpy() != expected))
    hows = [each.split(": ", 1)[1] for each in flow.distributed.stats().connections]
    return wrong, hows, seconds
