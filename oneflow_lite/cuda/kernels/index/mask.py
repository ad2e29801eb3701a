"""Kernels of what is true in a mask, or not zero in a tensor.

``op`` of a request is the step: "count" and "nonzero" (of the one dtype, ``flat`` or strided),
"sum" (of the counts), "gather" and "scatter" (the option is the bytes of a word; ``flat`` is the
mask).
"""

from oneflow_lite.cuda.kernels.index.gather import entry, index, word
from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "index/indexing.cuh", "index/mask.cuh")
_THREADS = "kMaskThreads"
_STEPS = {"count": ("MaskArgs", "count_true"), "nonzero": ("NonzeroArgs", "nonzero")}


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel of a request; None for an unknown step.

    Examples
    --------
    >>> request = Request("mask", "count", ("bool",), (), (), True, False)
    >>> "ofl::count_true<ofl::uint8, true, ofl::uint32>(args);" in kernel("count", request)
    True
    """
    flat = "true" if request.flat else "false"
    if request.op == "sum":
        return entry(name, "SumArgs", "sum_counts", _THREADS)
    if request.op in ("gather", "scatter"):
        (bytes_,) = request.options
        gathers = "true" if request.op == "gather" else "false"
        call = f"select<ofl::{word(bytes_)}, {flat}, {gathers}, ofl::{index(request)}>"
        return entry(name, "SelectArgs", call, _THREADS)
    if request.op in ("count", "nonzero"):
        args, function = _STEPS[request.op]
        (dtype,) = request.dtypes
        element = "uint8" if dtype == "bool" else dtype  # any byte that is not 0 is true
        call = f"{function}<ofl::{element}, {flat}, ofl::{index(request)}>"
        return entry(name, args, call, _THREADS)
    return None
