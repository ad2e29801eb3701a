"""Kernels that write to places that index arrays give.

``op`` of a request is the step: "clear" (no options), "claim" (the number of index arrays), or
"write" (the bytes of a word, the number of index arrays).
"""

from oneflow_lite.cuda.kernels.index.gather import entry, index, word
from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "index/indexing.cuh", "index/scatter.cuh")


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel of a request; None for an unknown step.

    Examples
    --------
    >>> request = Request("scatter", "write", (), (), (), True, False, (8, 1))
    >>> "ofl::scatter<ofl::uint64, 1, ofl::uint32>(args);" in kernel("rows", request)
    True
    """
    if request.op == "clear":
        return entry(name, "ClearArgs", "clear_table")
    if request.op == "claim":
        (arrays,) = request.options
        return entry(name, f"ClaimArgs<{arrays}>", f"claim<{arrays}>")
    if request.op == "write":
        bytes_, arrays = request.options
        call = f"scatter<ofl::{word(bytes_)}, {arrays}, ofl::{index(request)}>"
        return entry(name, f"ScatterArgs<{arrays}>", call)
    return None
