"""Kernels of reductions: rows of the op table by their texts, and searches.

``options`` of a request: the form, how many elements a vector has, and whether the input is what
chunks became. Forms are those of ``ReduceForm``. ``op`` of a search is "smallest" or "largest".
"""

from oneflow_lite.cuda.kernels.elementwise.elementwise import FUNCTION_FILES
from oneflow_lite.cuda.kernels.layout import constants
from oneflow_lite.cuda.kernels.request import Request
from oneflow_lite.ops.table import REDUCTIONS, ROWS, Extremum

FILES = (*FUNCTION_FILES, "warps.cuh", "reduce/accumulation.cuh", "reduce/reduce.cuh")
_FORMS = constants("reduce.h")


def kernel(name: str, request: Request) -> str | None:
    """Return a structure that says what is put together, and the kernel of one form.

    Examples
    --------
    >>> loop = ("float32", "float32")
    >>> total = Request("reduction", "sum", loop, loop, (), True, False, (1, 4, 0))
    >>> "add(x, y)" in kernel("total", total)
    True
    """
    body = operation(request)
    if body is None:
        return None
    form, lanes, of_values = request.options
    given = f"Op_{name}::Value" if of_values else request.dtypes[0]
    index = "uint64" if request.wide else "uint32"
    flat = str(form == _FORMS["kFlatRows"]).lower()
    types = f"Op_{name}, {given}, {request.dtypes[1]}"
    call = f"reduce_rows<{types}, {flat}, {lanes}, {index}>"
    if form == _FORMS["kColumns"]:
        call = f"reduce_columns<{types}, {lanes}, {index}>"
    return f"""
namespace ofl {{
struct Op_{name} {body};
inline void run_{name}(const ReduceArgs& args) {{ {call}(args); }}
}}
extern "C" __global__ void __launch_bounds__(ofl::kReduceThreads)
{name}(const __grid_constant__ ofl::ReduceArgs args) {{
  ofl::run_{name}(args);
}}
"""


def operation(request: Request) -> str | None:
    """Return the members of a structure that says what is put together; None where there is no
    text.
    """
    accumulated = request.loop[0]
    if request.kind == "count":
        return _plain_body("int64", "Value(0)", "x + y", "truth(x)", request)
    if request.kind == "arg_reduce":
        best = Extremum(request.op == "smallest", nan_wins=True)
        return _search_body(f"Computed<{request.dtypes[0]}>", request, best, "position")
    # What a reduction by a name of its own, or a row's ``reduce``, is made of.
    row = REDUCTIONS.get(request.op) or ROWS[request.op]
    extremum = row.properties.extremum
    # Complex numbers have an order in which the first of several NaN is told from the others.
    if accumulated.startswith("complex") and extremum:
        return _search_body(accumulated, request, extremum, "value")
    if not row.cuda.empty:
        return None
    value, element = f"Computed<{accumulated}>", f"cast<{accumulated}>(x)"
    return _plain_body(value, row.cuda.empty, row.cuda.combine, element, request)


def _plain_body(value: str, empty: str, text: str, element: str, request: Request) -> str:
    given, wanted = ("Value" if request.options[2] else request.dtypes[0]), request.dtypes[1]
    first = "x" if request.options[2] else f"cast<Value>({element})"
    return f"""{{
  typedef {value} Value;
  static Value empty() {{ return {empty}; }}
  static Value combine(Value x, Value y) {{ return cast<Value>({text}); }}
  static Value of({given} x, int64) {{ return {first}; }}
  static Value of_initial(const unsigned char* x) {{
    return cast<Value>(reinterpret_cast<const Stored<{request.loop[1]}>*>(x)->get());
  }}
  static {wanted} result(Value x) {{ return cast<{wanted}>(cast<{request.loop[1]}>(x)); }}
}}"""


def _search_body(value: str, request: Request, extremum: Extremum, wanted: str) -> str:
    position = "int64" if request.wide else "int32"
    smallest, nan_wins = (str(choice).lower() for choice in extremum)
    best = f"Best<{value}, {position}, {smallest}, {nan_wins}>"
    given = "Value" if request.options[2] else request.dtypes[0]
    first = "x" if request.options[2] else f"{{cast<{value}>(x), {position}(at)}}"
    return f""": {best} {{
  static Value of({given} x, int64 at) {{ return {first}; }}
  static Value of_initial(const unsigned char* x) {{
    return {{cast<{value}>(reinterpret_cast<const Stored<{request.loop[1]}>*>(x)->get()), -1}};
  }}
  static {request.dtypes[1]} result(Value x) {{ return cast<{request.dtypes[1]}>(x.{wanted}); }}
}}"""
