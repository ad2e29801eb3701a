"""Kernels of elementwise operations, from the op table's CUDA column; of copies, fills, where.

A request's options are those of `Options`, from the first one on.
"""

from typing import NamedTuple

from oneflow_lite.cuda.kernels.layout import constants
from oneflow_lite.cuda.kernels.request import Request
from oneflow_lite.ops.table import row_named

_LAYOUT = constants("elementwise.h")
# Forms of loops over what is not flat.
STRIDED, ROWS_OF_VECTORS = _LAYOUT["kStrided"], _LAYOUT["kRowsOfVectors"]
TILES = _LAYOUT["kTiles"]

# What the texts of the op table are made of, for every dtype.
FUNCTION_FILES = (
    "types.cuh",
    "loops.cuh",
    "elementwise/arithmetic.cuh",
    "elementwise/functions.cuh",
    "elementwise/complex.cuh",
)
_EXPRESSIONS = {"copy": "x", "fill": "x", "where": "x ? y : z"}  # of kinds without a row


class Options(NamedTuple):
    """What an elementwise request wants beside the operands' dtypes.

    Attributes
    ----------
    lanes : int
        Elements of a vector, of flat operands and rows of vectors.
    form : int
        Of what is not flat: any strides, innermost rows that are vectors, or tiles of a copy.
    spread : int
        Bit k: the k-th input stands still within the innermost rows.
    rows : int
        Of what is not flat, the rows that the argument has room for.
    standard : int
        1: the special values of the array API standard, where they are not NumPy's.
    """

    lanes: int = 1
    form: int = STRIDED
    spread: int = 0
    rows: int = _LAYOUT["kFewRows"]
    standard: int = 0


def expression(request: Request) -> str | None:
    """Return what is computed of x, y and z; None where there is no text for these dtypes.

    Examples
    --------
    >>> expression(Request("where", "", (), (), (), True, False))
    'x ? y : z'
    """
    if request.kind != "elementwise":
        return _EXPRESSIONS.get(request.kind)
    row = row_named(request.op)
    if row is None:
        return None
    standard = Options(*request.options).standard
    return (row.cuda.standard if standard else "") or row.cuda or None


def files(request: Request) -> tuple[str, ...]:
    """Return the files that a kernel begins with, in their order: what it needs, as compilers read
    all of it.

    Examples
    --------
    >>> files(Request("copy", "", (), (), (), True, False))
    ('types.cuh', 'loops.cuh')
    """
    names = ["types.cuh", "loops.cuh"]
    if Options(*request.options).form == TILES:
        names.append("elementwise/tiles.cuh")
    if request.kind == "elementwise":
        names += ["elementwise/arithmetic.cuh", "elementwise/functions.cuh"]
        if any(dtype.startswith("complex") for dtype in request.loop):
            names.append("elementwise/complex.cuh")
            row = row_named(request.op)
            names += [row.cuda.file] if row is not None and row.cuda.file else []
    return tuple(names)


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
    given = "".join(f", {dtype} {letter}_" for letter, dtype in _inputs(request.dtypes))
    casts = "".join(
        f"    const {dtype} {letter} = cast<{dtype}>({letter}_);\n"
        for letter, dtype in _inputs(request.loop)
    )
    row = row_named(request.op)
    refuses = row.cuda.refuses if row is not None else ""
    check = f"    if ({refuses}) *args.fault = 1;\n" if refuses else ""
    output, result = request.dtypes[-1], request.loop[-1]
    rows = 0 if request.flat else Options(*request.options).rows
    return f"""
namespace ofl {{
struct Body_{name} {{
  static {output} apply(const ElementwiseHead& args{given}) {{
{casts}{check}    return cast<{output}>(cast<{result}>({text}));
  }}
  static void run(const ElementwiseArgs<{rows}>& args) {{
    {_call(name, request)};
  }}
}};
}}
extern "C" __global__ void __launch_bounds__(ofl::kThreads)
{name}(const __grid_constant__ ofl::ElementwiseArgs<{rows}> args) {{
  ofl::Body_{name}::run(args);
}}
"""


def _inputs(dtypes: tuple[str, ...]) -> list[tuple[str, str]]:
    return list(zip("xyz", dtypes[:-1], strict=False))


def _call(name: str, request: Request) -> str:
    """The loop over elements, with the operands as it takes them: the output first."""
    options = Options(*request.options)
    lanes, index = options.lanes, "uint64" if request.wide else "uint32"
    output = request.dtypes[-1]
    if options.form == TILES:
        return f"run_tiles<Body_{name}, {index}, {output}, {request.dtypes[0]}>(args)"
    operands = [f"Array<{output}, {len(request.dtypes) - 1}>(args)"]
    for k, (dtype, scalar) in enumerate(zip(request.dtypes, request.scalars, strict=False)):
        kind = "Scalar" if scalar else "Spread" if options.spread >> k & 1 else "Array"
        operands.append(f"{kind}<{dtype}, {k}>(args)")
    arguments = ", ".join(["args", *operands])
    if request.flat:
        return f"run_flat<Body_{name}, {lanes}, {index}>({arguments})"
    if options.form == ROWS_OF_VECTORS:
        return f"run_rows<Body_{name}, {lanes}, {index}>({arguments})"
    return f"run_strided<Body_{name}, {index}>({arguments})"
