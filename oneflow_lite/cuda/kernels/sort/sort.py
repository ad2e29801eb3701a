"""Kernels of sorts: of the first of a request's ``dtypes``; with indices of 64 bits if ``wide``."""

from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "loops.cuh", "block.cuh", "sort/order.cuh", "sort/sort.cuh")
_CALLS = {  # operation -> the function of sort.cuh
    "lanes": "sort_lanes<{dtype}>",
    "counts": "count_digits<{dtype}, {index}>",
    "scan": "scan_digits<{index}>",
    "elements": "scatter_digits<{dtype}, {index}, false>",
    "places": "scatter_digits<{dtype}, {index}, true>",
}


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None for an unknown operation.

    Examples
    --------
    >>> lanes = Request("sort", "lanes", ("int8",), (), (), True, False)
    >>> "sort_lanes<int8>(args)" in kernel("sort_int8", lanes)
    True
    """
    if request.op not in _CALLS:
        return None
    index = "uint64" if request.wide else "uint32"
    call = _CALLS[request.op].format(dtype=request.dtypes[0], index=index)
    return f"""
extern "C" __global__ void __launch_bounds__(ofl::kSortThreads)
{name}(const __grid_constant__ ofl::SortArgs args) {{
  using namespace ofl;
  {call}(args);
}}
"""
