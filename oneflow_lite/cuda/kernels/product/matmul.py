"""Kernels of matrix products. ``Request.op`` is the form of the kernel, ``options`` its numbers.

========== =====================================================================================
tiled      rows, columns and depth of a block's tile, rows and columns of a thread, and whether a
           and b are contiguous along what is summed
tensor     by tensor cores: warps down and across, rows and columns of a warp, and the same
rows       a row times a vector for each warp
columns    a strip of rows times a vector for each block
merge      adds the parts of sums that were cut
========== =====================================================================================
"""

from collections.abc import Callable

from oneflow_lite.cuda.kernels.request import Request

FILES = (
    "types.cuh",
    "product/product.cuh",
    "product/tiled_product.cuh",
    "product/tensor_product.cuh",
)

_THREADS = "ofl::kProductThreads"


def _call(function: str, request: Request) -> str:
    arguments = (request.dtypes[-1], *map(str, request.options))
    return f"{function}<{', '.join(arguments)}>(args)"


def _tiled(request: Request) -> tuple[str, str]:
    rows, columns, _, own_rows, own_columns = request.options[:5]
    return f"{rows // own_rows * (columns // own_columns)}", _call("run_tiled", request)


def _tensor(request: Request) -> tuple[str, str]:
    down, across = request.options[:2]
    return f"{down * across} * ofl::kWarp", _call("run_tensor", request)


_FORMS: dict[str, Callable[[Request], tuple[str, str]]] = {
    "tiled": _tiled,
    "tensor": _tensor,
    "rows": lambda request: (_THREADS, _call("run_rows", request)),
    "columns": lambda request: (
        _THREADS,
        f"run_columns<{request.dtypes[-1]}, kProductThreads / kWarp>(args)",
    ),
    "merge": lambda request: (_THREADS, _call("run_merge", request)),
}


def kernel(name: str, request: Request) -> str | None:
    """Return a kernel that makes products, or a part of them.

    Examples
    --------
    >>> merge = Request("matmul", "merge", ("int8",) * 3, ("int8",) * 3, (), False, True)
    >>> "run_merge<int8>(args)" in kernel("merge_int8", merge)
    True
    """
    form = _FORMS.get(request.op)
    if form is None:
        return None
    threads, call = form(request)
    return f"""
extern "C" __global__ void __launch_bounds__({threads})
{name}(const __grid_constant__ ofl::ProductArgs args) {{
  using namespace ofl;
  {call};
}}
"""
