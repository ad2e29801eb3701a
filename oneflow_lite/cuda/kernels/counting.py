"""The kernel of ``bincount``, in all its phases."""

from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "counting.cuh")
_THREADS = 256  # of a block


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; what it does is in its argument.

    Examples
    --------
    >>> "count(args)" in kernel("occurrences", Request("bincount", "", (), (), (), True, False))
    True
    """
    return f"""
extern "C" __global__ void __launch_bounds__({_THREADS})
{name}(const __grid_constant__ ofl::CountArgs args) {{
  ofl::count(args);
}}
"""
