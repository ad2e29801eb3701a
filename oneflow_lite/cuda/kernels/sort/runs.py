"""Kernels of runs of equal elements, of the first of a request's ``dtypes``, and of counting."""

from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "loops.cuh", "block.cuh", "sort/order.cuh", "sort/runs.cuh")
_CALLS = {  # operation -> the functions' argument and the function of runs.cuh
    "starts": ("CompactArgs", "compact<RunStarts<{dtype}>>"),
    "flagged": ("CompactArgs", "compact<Flagged<{dtype}>>"),
    "scan": ("CompactArgs", "scan_chunks"),
    "numbers": ("RunNumberArgs", "number_runs"),
    "count": ("BincountArgs", "count_numbers"),
    "count_few": ("BincountArgs", "count_few_numbers"),
    "weigh": ("BincountArgs", "add_weights"),
    "settle": ("SettleArgs", "settle_numbers"),
    "add_rows": ("AddRowsArgs", "add_rows<{dtype}>"),
}


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None for an unknown operation.

    Examples
    --------
    >>> starts = Request("runs", "starts", ("int8",), (), (), True, False)
    >>> "RunStarts<int8>" in kernel("starts_int8", starts)
    True
    """
    if request.op not in _CALLS:
        return None
    argument, call = _CALLS[request.op]
    return f"""
extern "C" __global__ void __launch_bounds__(ofl::kThreads)
{name}(const __grid_constant__ ofl::{argument} args) {{
  using namespace ofl;
  {call.format(dtype=request.dtypes[0])}(args);
}}
"""
