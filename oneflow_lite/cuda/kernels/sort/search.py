"""Kernels of searches: in sorted elements of the first of a request's ``dtypes``."""

from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "loops.cuh", "sort/order.cuh", "sort/search.cuh")
_ARGUMENTS = {
    "contains": "SearchArgs",
    "reorder": "ReorderArgs",
    "search_sorted": "SearchArgs",
}


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None for an unknown operation.

    Examples
    --------
    >>> positions = Request("search", "search_sorted", ("int8",), (), (), True, False)
    >>> "search_sorted<int8>(args)" in kernel("search_int8", positions)
    True
    """
    if request.op not in _ARGUMENTS:
        return None
    return f"""
extern "C" __global__ void __launch_bounds__(ofl::kThreads)
{name}(const __grid_constant__ ofl::{_ARGUMENTS[request.op]} args) {{
  using namespace ofl;
  {request.op}<{request.dtypes[0]}>(args);
}}
"""
