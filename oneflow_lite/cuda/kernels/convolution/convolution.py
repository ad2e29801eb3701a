"""Kernels of convolutions. ``Request.op`` is the form of the kernel, ``options`` its numbers.

========== =====================================================================================
tables     fills the tables by which elements are found
product    rows, columns and depth of a block's tile, rows and columns of a thread
========== =====================================================================================
"""

from oneflow_lite.cuda.kernels.request import Request

FILES = ("types.cuh", "product/product.cuh", "convolution/convolution.cuh")


def kernel(name: str, request: Request) -> str | None:
    """Return a kernel that makes a convolution, or its tables.

    Examples
    --------
    >>> dtypes = ("float32",) * 3
    >>> tables = Request("convolution", "tables", dtypes, dtypes, (), False, True)
    >>> "run_tables(args)" in kernel("tables", tables)
    True
    """
    if request.op == "tables":
        threads, call = "ofl::kThreads", "run_tables(args)"
    elif request.op == "product":
        rows, columns, _, own_rows, own_columns = request.options
        numbers = ", ".join(map(str, request.options))
        threads = str(rows // own_rows * (columns // own_columns))
        call = f"run_convolution<{request.dtypes[-1]}, {numbers}>(args)"
    else:
        return None
    return f"""
extern "C" __global__ void __launch_bounds__({threads})
{name}(const __grid_constant__ ofl::ConvolutionArgs args) {{
  using namespace ofl;
  {call};
}}
"""
