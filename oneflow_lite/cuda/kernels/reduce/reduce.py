"""Kernels of reductions: rows of the op table by the texts of their ufuncs, and searches.

``options`` of a request: the form, how many elements a vector has, and whether the input is what
chunks became. Forms are those of ``ReduceForm``.
"""

from oneflow_lite.cuda.kernels.elementwise.elementwise import FUNCTION_FILES
from oneflow_lite.cuda.kernels.layout import constants
from oneflow_lite.cuda.kernels.request import Request
from oneflow_lite.ops.table import REDUCTIONS, ROWS

FILES = (*FUNCTION_FILES, "warps.cuh", "reduce/accumulation.cuh", "reduce/reduce.cuh")
_FORMS = constants("reduce.h")

# What changes nothing, by the ufunc.
_EMPTY = {
    "add": "nothing_added<Value>()",
    "multiply": "nothing_multiplied<Value>()",
    "maximum": "least<Value>()",
    "minimum": "greatest<Value>()",
    "fmax": "passed_over(least<Value>())",
    "fmin": "passed_over(greatest<Value>())",
    "logical_and": "Value(true)",
    "logical_or": "Value(false)",
    "logical_xor": "Value(false)",
    "bitwise_and": "Value(~Value(0))",
    "bitwise_or": "Value(0)",
    "bitwise_xor": "Value(0)",
}
# Searches: whether the smallest wins, and whether NaN does. Complex numbers have an order in which
# the first of several NaN is told from the others, so that their extremes are searches, too.
_SEARCHES = {"argmax": (False, True), "argmin": (True, True)}
_EXTREMES = {
    **{"maximum": (False, True), "minimum": (True, True)},
    **{"fmax": (False, False), "fmin": (True, False)},
}


def text_of(ufunc: str) -> str:
    """Return the CUDA text of a binary ufunc, of x and y; "" where there is none.

    Examples
    --------
    >>> text_of("add")
    'add(x, y)'
    """
    for row in ROWS.values():
        if row.ufunc.__name__ == ufunc:
            return str(row.cuda)
    return ""


def _ufunc_of(op: str) -> str:
    """What a reduction by a name of its own, or a row's ``reduce``, is made of."""
    return REDUCTIONS[op].__name__ if op in REDUCTIONS else ROWS[op].ufunc.__name__


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
        return _plain_body("int64", _EMPTY["add"], "add(x, y)", "truth(x)", request)
    if request.kind == "arg_reduce":
        smallest, nan_wins = _SEARCHES[request.op]
        return _search_body(
            f"Computed<{request.dtypes[0]}>", request, smallest, nan_wins, "position"
        )
    ufunc = _ufunc_of(request.op)
    if accumulated.startswith("complex") and ufunc in _EXTREMES:
        smallest, nan_wins = _EXTREMES[ufunc]
        return _search_body(accumulated, request, smallest, nan_wins, "value")
    text = "product(x, y)" if ufunc == "multiply" else text_of(ufunc)
    if not text or ufunc not in _EMPTY:
        return None
    value = f"Computed<{accumulated}>"
    return _plain_body(value, _EMPTY[ufunc], text, f"cast<{accumulated}>(x)", request)


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


def _search_body(value: str, request: Request, smallest: bool, nan_wins: bool, wanted: str) -> str:
    position = "int64" if request.wide else "int32"
    best = f"Best<{value}, {position}, {str(smallest).lower()}, {str(nan_wins).lower()}>"
    given = "Value" if request.options[2] else request.dtypes[0]
    first = "x" if request.options[2] else f"{{cast<{value}>(x), {position}(at)}}"
    return f""": {best} {{
  static Value of({given} x, int64 at) {{ return {first}; }}
  static Value of_initial(const unsigned char* x) {{
    return {{cast<{value}>(reinterpret_cast<const Stored<{request.loop[1]}>*>(x)->get()), -1}};
  }}
  static {request.dtypes[1]} result(Value x) {{ return cast<{request.dtypes[1]}>(x.{wanted}); }}
}}"""
