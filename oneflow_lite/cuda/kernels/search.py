"""Kernels of searches: in sorted elements of the first of a request's ``dtypes``."""

from oneflow_lite.cuda.kernels.request import Request

THREADS = 256  # of a block

FILES = ("types.cuh", "loops.cuh", "order.cuh", "search.cuh")
_OPERATIONS = ("search_sorted", "contains")


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None for an unknown operation.

    Examples
    --------
    >>> positions = Request("search", "search_sorted", ("int8",), (), (), True, False)
    >>> "search_sorted<int8>(args)" in kernel("search_int8", positions)
    True
    """
    if request.op not in _OPERATIONS:
        return None
    return f"""
extern "C" __global__ void __launch_bounds__({THREADS})
{name}(const __grid_constant__ ofl::SearchArgs args) {{
  using namespace ofl;
  {request.op}<{request.dtypes[0]}>(args);
}}
"""
