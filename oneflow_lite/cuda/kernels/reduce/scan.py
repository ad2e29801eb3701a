"""Kernels of running sums and the like: binary ufuncs by the texts of the op table.

``op`` of a request is the ufunc; ``options``: the form (``ScanForm``), whether the operation is
associative, and whether the elements are values of chunks.
"""

from oneflow_lite.cuda.kernels.elementwise.elementwise import FUNCTION_FILES
from oneflow_lite.cuda.kernels.layout import constants
from oneflow_lite.cuda.kernels.request import Request
from oneflow_lite.ops.table import ROWS

FILES = (*FUNCTION_FILES, "warps.cuh", "reduce/scan.cuh")
_FORMS = constants("scan.h")


def kernel(name: str, request: Request) -> str | None:
    """Return a structure that says what is put together, and the kernel of one form.

    Examples
    --------
    >>> loop = ("float32", "float32")
    >>> total = Request("scan", "add", loop, loop, (), True, False, (0, 1, 0))
    >>> "add(x, y)" in kernel("total", total)
    True
    """
    form, associative, of_values = request.options
    dtype = request.loop[0]
    text = next((row.cuda for row in ROWS.values() if row.ufunc.__name__ == request.op), None)
    if text is None:
        return None
    # Rounding after each step is part of an operation that cannot be put together otherwise.
    value = f"Computed<{dtype}>" if associative else dtype
    element = f"Op_{name}::Value" if of_values else dtype
    index = "uint64" if request.wide else "uint32"
    call = f"scan_columns<Op_{name}, {element}, {index}>"
    if form == _FORMS["kScanRows"]:
        # Values may be wider than their dtype's elements.
        lanes = "1" if of_values else f"scan_lanes(sizeof({dtype}))"
        items = f"scan_items(sizeof({dtype}))"
        call = f"scan_rows<Op_{name}, {element}, {lanes}, {items}, {index}>"
    return f"""
namespace ofl {{
struct Op_{name} {{
  typedef {value} Value;
  static Value combine(Value x, Value y) {{ return cast<Value>({text}); }}
}};
inline void run_{name}(const ScanArgs& args) {{ {call}(args); }}
}}
extern "C" __global__ void __launch_bounds__(ofl::kScanThreads)
{name}(const __grid_constant__ ofl::ScanArgs args) {{
  ofl::run_{name}(args);
}}
"""
