"""Kernels of elementwise operations, from the op table's CUDA column; of copies, fills, where."""

from oneflow_lite.cuda.kernels.request import Request
from oneflow_lite.dtypes import SUPPORTED
from oneflow_lite.ops.table import ROWS, RealText

THREADS = 256  # of a block

FILES = ("types.cuh", "loops.cuh", "arithmetic.cuh", "functions.cuh", "complex.cuh")
_VECTOR_BYTES = 16
_SIZES = {dtype.name: dtype.itemsize for dtype in SUPPORTED}
_EXPRESSIONS = {"copy": "x", "fill": "x", "where": "x ? y : z"}  # of kinds without a row


def expression(request: Request) -> str | None:
    """Return what is computed of x, y and z; None where there is no text for these dtypes.

    Examples
    --------
    >>> expression(Request("where", "", (), (), (), True, False))
    'x ? y : z'
    """
    if request.kind != "elementwise":
        return _EXPRESSIONS.get(request.kind)
    text = ROWS[request.op].cuda if request.op in ROWS else ""
    if isinstance(text, RealText) and any(name.startswith("complex") for name in request.loop):
        return None
    return text or None


def kernel(name: str, request: Request) -> str | None:
    """Return a structure that says what is done to an element, and the kernel over all of them.

    Examples
    --------
    >>> fill = Request("fill", "", ("int8", "int8"), ("int8", "int8"), (True,), True, False)
    >>> kernel("fill_int8", fill).count("Body_fill_int8")
    3
    """
    text = expression(request)
    if text is None:
        return None
    given = ", ".join(f"{dtype} {letter}_" for letter, dtype in _inputs(request.dtypes))
    casts = "".join(
        f"    const {dtype} {letter} = cast<{dtype}>({letter}_);\n"
        for letter, dtype in _inputs(request.loop)
    )
    output, result = request.dtypes[-1], request.loop[-1]
    return f"""
namespace ofl {{
struct Body_{name} {{
  static {output} apply({given}) {{
{casts}    return cast<{output}>(cast<{result}>({text}));
  }}
  static void run(const Args& args) {{
    {_call(name, request)};
  }}
}};
}}
extern "C" __global__ void __launch_bounds__({THREADS})
{name}(const __grid_constant__ ofl::Args args) {{
  ofl::Body_{name}::run(args);
}}
"""


def _inputs(dtypes: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip("xyz", dtypes[:-1], strict=False))


def _call(name: str, request: Request) -> str:
    """The loop over elements, with the operands as it takes them: the output first."""
    index = "uint64" if request.wide else "uint32"
    operands = [f"Array<{request.dtypes[-1]}, {len(request.dtypes) - 1}>(args)"]
    operands += [
        f"{'Scalar' if scalar else 'Array'}<{dtype}, {k}>(args)"
        for k, (dtype, scalar) in enumerate(zip(request.dtypes, request.scalars, strict=False))
    ]
    arguments = ", ".join(["args", *operands])
    if not request.flat:
        return f"run_strided<Body_{name}, {index}>({arguments})"
    return f"run_flat<Body_{name}, {_lanes(request)}, {index}>({arguments})"


def _lanes(request: Request) -> int:
    """Elements of a vector: 16 bytes of the widest operand, and as many of the others."""
    in_memory = [
        dtype
        for k, dtype in enumerate(request.dtypes)
        if k == len(request.dtypes) - 1 or not request.scalars[k]
    ]
    return _VECTOR_BYTES // max(_SIZES[dtype] for dtype in in_memory)
