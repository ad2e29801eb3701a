"""Kernels that run several elementwise operations as one.

Of a request's fields, ``op`` has the kinds and rows of the operations, in their order, as in
``"elementwise:add copy:"``; ``dtypes`` and ``loop`` those of each, one after the other; ``scalars``
the flags of each value in memory or registers, as `Value` has them; ``options`` how many elements
a vector has (what is not flat is moved in vectors only where that is more than one), two fields of
``rows.py``, and for each operation how many operands it has, the output last, and what they
are: the number of a value, or from ``SCALARS`` on that of a scalar.
"""

from collections.abc import Callable
from typing import NamedTuple

from oneflow_lite.cuda.kernels.elementwise import elementwise
from oneflow_lite.cuda.kernels.layout import constants
from oneflow_lite.cuda.kernels.request import Request

SCALARS = constants("fusion.h")["kFusedValues"]  # the numbers below are values


class Operation(NamedTuple):
    """One of those that are fused: what it computes, and of what."""

    request: Request
    operands: tuple[int, ...]

    @property
    def inputs(self) -> list[tuple[str, str, str, int]]:
        """Letter, dtype, the loop's dtype and number of each."""
        dtypes, loop = self.request.dtypes[:-1], self.request.loop[:-1]
        return list(zip("xyz", dtypes, loop, self.operands[:-1], strict=False))


class Value(NamedTuple):
    """What operations share, and how it lies along the innermost row, or the one that is reduced.

    Attributes
    ----------
    dtype : str
    loaded, stored : bool
        Whether it is in memory before and after.
    still, contiguous : bool
        It has one element for each row; elements of a row lie one after the other.
    """

    dtype: str
    loaded: bool
    stored: bool
    still: bool
    contiguous: bool


def files(request: Request) -> tuple[str, ...]:
    """Return the files that the kernel begins with: those of its operations, and its own.

    Examples
    --------
    >>> dtypes = ("float32", "float64")
    >>> files(Request("fused", "copy:", dtypes, dtypes, (), True, False, (2, 0, 0, 2, 0, 1)))
    ('types.cuh', 'loops.cuh', 'fusion/fusion.cuh')
    """
    names: dict[str, None] = {}
    for operation in operations_of(request):
        names |= dict.fromkeys(elementwise.files(operation.request))
    return (*names, "fusion/fusion.cuh")


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None where an operation has no text.

    Examples
    --------
    >>> dtypes = ("float32", "float32", "float32", "float32", "float32")
    >>> flags = (True, False, False, True, False, True, False, True)
    >>> squares = Request("fused", "elementwise:square elementwise:add", dtypes, dtypes, flags,
    ...                   True, False, (4, 0, 0, 2, 0, 1, 3, 1, 12, 1))
    >>> "v1.set" in kernel("squares", squares)
    True
    """
    operations = operations_of(request)
    texts = [elementwise.expression(operation.request) for operation in operations]
    if None in texts:
        return None
    values = values_of(request, operations)
    references = ", ".join(f"Stored<{value.dtype}>& v{k}" for k, value in enumerate(values))
    steps = "".join(
        step(operation, text, _name, f"v{operation.operands[-1]}")
        for operation, text in zip(operations, texts, strict=True)
    )
    loop = _flat_loop(values, request) if request.flat else _strided_loop(values, request)
    scalars, starts = scalar_fields(operations)
    return f"""
namespace ofl {{
struct Body_{name} {{
{scalars}  explicit Body_{name}(const FusedArgs& args) {": " + starts if starts else ""} {{}}
  void apply({references}) const {{
{steps}  }}
  void run(const FusedArgs& args) const {{
    typedef {index_of(request)} Index;
    const Index count = Index(args.count);
    const Index start = Index(blockIdx.x) * blockDim.x + threadIdx.x;
    const Index step = Index(gridDim.x) * blockDim.x;
{loop}  }}
}};
}}
extern "C" __global__ void __launch_bounds__(ofl::kThreads)
{name}(const __grid_constant__ ofl::FusedArgs args) {{
  ofl::Body_{name}(args).run(args);
}}
"""


def operations_of(request: Request) -> list[Operation]:
    """Return what is fused, in its order."""
    dtypes, loop, options = list(request.dtypes), list(request.loop), list(request.options[3:])
    operations = []
    for operation in request.op.split(" "):
        kind, _, op = operation.partition(":")
        count = options.pop(0)
        operands = tuple(options[:count])
        one = Request(kind, op, tuple(dtypes[:count]), tuple(loop[:count]), (), True, False)
        del options[:count], dtypes[:count], loop[:count]
        operations.append(Operation(one, operands))
    return operations


def values_of(request: Request, operations: list[Operation]) -> list[Value]:
    """Return the values, by number."""
    dtypes = _dtypes(operations)
    size = len(Value._fields) - 1
    flags = [request.scalars[i : i + size] for i in range(0, len(request.scalars), size)]
    return [Value(dtypes[k], *each) for k, each in enumerate(flags)]


def scalar_fields(operations: list[Operation]) -> tuple[str, str]:
    """Return the members of a structure for scalars, s0 and so on, and their initializers."""
    dtypes = _dtypes(operations)
    scalars = [dtypes[number] for number in sorted(dtypes) if number >= SCALARS]
    fields = "".join(f"  Stored<{dtype}> s{k};\n" for k, dtype in enumerate(scalars))
    starts = ", ".join(f"s{k}(scalar_of<{dtype}>(args, {k}))" for k, dtype in enumerate(scalars))
    return fields, starts


def index_of(request: Request) -> str:
    """Return the type of the kernel's indices."""
    return "uint64" if request.wide else "uint32"


def step(operation: Operation, text: str | None, name: Callable[[int], str], output: str) -> str:
    """Return one operation, on values of these names: what it would do by itself, in the dtypes of
    its own.
    """
    lines = [
        f"const {loop} {letter} = cast<{loop}>({name(number)}.get());"
        for letter, _, loop, number in operation.inputs
    ]
    dtype, result = operation.request.dtypes[-1], operation.request.loop[-1]
    lines.append(f"{output}.set(cast<{dtype}>(cast<{result}>({text})));")
    return "    {\n" + "".join(f"      {line}\n" for line in lines) + "    }\n"


def _dtypes(operations: list[Operation]) -> dict[int, str]:
    """Of operands, by number."""
    dtypes: dict[int, str] = {}
    for operation in operations:
        dtypes |= zip(operation.operands, operation.request.dtypes, strict=True)
    return dtypes


def _name(number: int) -> str:
    return f"v{number}" if number < SCALARS else f"s{number - SCALARS}"


def _in_memory(values: list[Value]) -> list[int]:
    return [k for k, value in enumerate(values) if value.loaded or value.stored]


def _flat_loop(values: list[Value], request: Request) -> str:
    """Values lie contiguous: vectors where all are aligned for them, then what is left."""
    in_memory, lanes = _in_memory(values), request.options[0]
    lines = [f"{_pointer(values[k])} const d{k} = {_address(values[k], k)};" for k in in_memory]
    lines.append("Index done = 0;")
    if lanes > 1:
        aligned = [f"is_aligned_for<{values[k].dtype}, {lanes}>(d{k})" for k in in_memory]
        lines.append(f"if ({' && '.join(aligned)}) {{")
        lines.append(f"  done = count - count % {lanes};")
        lines.append("#pragma unroll 1")
        lines.append(f"  for (Index i = start; i < done / {lanes}; i += step) {{")
        vector = "reinterpret_cast<Vector<{dtype}, {lanes}>*>(d{k})[i]"
        lines += [f"    {line}" for line in _vector_step(values, lanes, vector)]
        lines += ["  }", "}"]
    lines.append("#pragma unroll 1")
    lines.append("for (Index i = done + start; i < count; i += step) {")
    lines += [f"  {line}" for line in _element_step(values, "d{k}[i]")]
    lines.append("}")
    return indent(lines)


def _strided_loop(values: list[Value], request: Request) -> str:
    """Values of any strides; vectors where innermost rows are made of them, or stand still."""
    lanes = request.options[0]
    lines = ["#pragma unroll 1", f"for (Index i = start; i < count / {lanes}; i += step) {{"]
    lines.append(f"  typename OffsetOf<Index>::type offsets[{len(values)}];")
    lines.append(f"  find_places<{len(values)}>(args, 0, args.ndim, i * {lanes}, offsets);")
    if lanes > 1:
        vector = "vector_at<{dtype}, {lanes}>(args, {k}, offsets)"
        each = _vector_step(values, lanes, vector)
    else:
        each = _element_step(values, _ELEMENT)
    lines += [f"  {line}" for line in each]
    lines.append("}")
    return indent(lines)


_ELEMENT = "element_at<{dtype}>(args, {k}, offsets)"


def _pointer(value: Value) -> str:
    return f"Stored<{value.dtype}>*"


def _address(value: Value, k: int) -> str:
    return f"static_cast<{_pointer(value)}>(args.data[{k}])"


def _vector_step(values: list[Value], lanes: int, place: str) -> list[str]:
    lines = []
    for k, value in enumerate(values):
        start = f" = {place.format(k=k, dtype=value.dtype, lanes=lanes)}"
        if value.still:
            start = f" = all_of<{value.dtype}, {lanes}>({_ELEMENT.format(k=k, dtype=value.dtype)})"
        lines.append(f"Vector<{value.dtype}, {lanes}> w{k}{start if value.loaded else ''};")
    lanes_of = ", ".join(f"w{k}.lane[j]" for k in range(len(values)))
    lines += ["#pragma unroll", f"for (int j = 0; j < {lanes}; ++j) apply({lanes_of});"]
    for k, value in enumerate(values):
        if value.stored:
            lines.append(f"{place.format(k=k, dtype=value.dtype, lanes=lanes)} = w{k};")
    return lines


def _element_step(values: list[Value], place: str) -> list[str]:
    lines = []
    for k, value in enumerate(values):
        start = f" = {place.format(k=k, dtype=value.dtype)}" if value.loaded else ""
        lines.append(f"Stored<{value.dtype}> e{k}{start};")
    lines.append(f"apply({', '.join(f'e{k}' for k in range(len(values)))});")
    for k, value in enumerate(values):
        if value.stored:
            lines.append(f"{place.format(k=k, dtype=value.dtype)} = e{k};")
    return lines


def indent(lines: list[str]) -> str:
    """Return lines of a function's body; directives begin their line."""
    return "".join(line + "\n" if line.startswith("#") else f"    {line}\n" for line in lines)
