"""Kernels that run several elementwise operations as one.

Of a request's fields, ``op`` has the kinds and rows of the operations, in their order, as in
``"elementwise:add copy:"``; ``dtypes`` and ``loop`` those of each, one after the other; ``scalars``
two for each value in memory or registers: whether it is loaded, whether it is stored; ``options``,
for each operation, how many operands it has, the output last, and what they are: the number of a
value, or from ``SCALARS`` on that of a scalar.
"""

from typing import NamedTuple

from oneflow_lite.cuda.kernels import elementwise
from oneflow_lite.cuda.kernels.request import Request
from oneflow_lite.dtypes import SUPPORTED

SCALARS = 12  # the numbers below are values

_THREADS = 256  # of a block
_VECTOR_BYTES = 16
_SIZES = {dtype.name: dtype.itemsize for dtype in SUPPORTED}


class _Operation(NamedTuple):
    """One of those that are fused: what it computes, and of what."""

    request: Request
    operands: tuple[int, ...]

    @property
    def inputs(self) -> list[tuple[str, str, str, int]]:
        """Letter, dtype, the loop's dtype and number of each."""
        dtypes, loop = self.request.dtypes[:-1], self.request.loop[:-1]
        return list(zip("xyz", dtypes, loop, self.operands[:-1], strict=False))


class _Value(NamedTuple):
    """What operations share."""

    dtype: str
    loaded: bool
    stored: bool


def files(request: Request) -> tuple[str, ...]:
    """Return the files that the kernel begins with: those of its operations, and its own.

    Examples
    --------
    >>> dtypes = ("float32", "float64")
    >>> files(Request("fused", "copy:", dtypes, dtypes, (True, False), True, False, (2, 0, 1)))
    ('types.cuh', 'loops.cuh', 'fused.cuh')
    """
    names: dict[str, None] = {}
    for operation in _operations(request):
        names |= dict.fromkeys(elementwise.files(operation.request))
    return (*names, "fused.cuh")


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None where an operation has no text.

    Examples
    --------
    >>> dtypes = ("float32", "float32", "float32", "float32", "float32")
    >>> flags = (True, False, False, True)
    >>> squares = Request("fused", "elementwise:square elementwise:add", dtypes, dtypes, flags,
    ...                   True, False, (2, 0, 1, 3, 1, 12, 1))
    >>> "v1.set" in kernel("squares", squares)
    True
    """
    operations = _operations(request)
    texts = [elementwise.expression(operation.request) for operation in operations]
    if None in texts:
        return None
    values = _values(request, operations)
    scalars = _scalars(operations)
    references = ", ".join(f"Stored<{value.dtype}>& v{k}" for k, value in enumerate(values))
    fields = "".join(f"  Stored<{dtype}> s{k};\n" for k, dtype in enumerate(scalars))
    starts = ", ".join(f"s{k}(scalar_of<{dtype}>(args, {k}))" for k, dtype in enumerate(scalars))
    steps = "".join(
        _step(operation, text) for operation, text in zip(operations, texts, strict=True)
    )
    loop = _flat_loop(values) if request.flat else _strided_loop(values)
    index = "uint64" if request.wide else "uint32"
    return f"""
namespace ofl {{
struct Body_{name} {{
{fields}  explicit Body_{name}(const FusedArgs& args) {": " + starts if starts else ""} {{}}
  void apply({references}) const {{
{steps}  }}
  void run(const FusedArgs& args) const {{
    typedef {index} Index;
    const Index count = Index(args.count);
    const Index start = Index(blockIdx.x) * blockDim.x + threadIdx.x;
    const Index step = Index(gridDim.x) * blockDim.x;
{loop}  }}
}};
}}
extern "C" __global__ void __launch_bounds__({_THREADS})
{name}(const __grid_constant__ ofl::FusedArgs args) {{
  ofl::Body_{name}(args).run(args);
}}
"""


def _operations(request: Request) -> list[_Operation]:
    dtypes, loop, options = list(request.dtypes), list(request.loop), list(request.options)
    operations = []
    for operation in request.op.split(" "):
        kind, _, op = operation.partition(":")
        count = options.pop(0)
        operands = tuple(options[:count])
        one = Request(kind, op, tuple(dtypes[:count]), tuple(loop[:count]), (), True, False)
        del options[:count], dtypes[:count], loop[:count]
        operations.append(_Operation(one, operands))
    return operations


def _values(request: Request, operations: list[_Operation]) -> list[_Value]:
    dtypes: dict[int, str] = {}
    for operation in operations:
        dtypes |= zip(operation.operands, operation.request.dtypes, strict=True)
    flags = request.scalars
    return [_Value(dtypes[k], flags[2 * k], flags[2 * k + 1]) for k in range(len(flags) // 2)]


def _scalars(operations: list[_Operation]) -> list[str]:
    """The dtypes of scalars, by number."""
    dtypes: dict[int, str] = {}
    for operation in operations:
        dtypes |= zip(operation.operands, operation.request.dtypes, strict=True)
    return [dtypes[number] for number in sorted(dtypes) if number >= SCALARS]


def _step(operation: _Operation, text: str | None) -> str:
    """One operation, on the values: what each would do by itself, in the dtypes of its own."""
    lines = [
        f"const {loop} {letter} = cast<{loop}>({_name(number)}.get());"
        for letter, _, loop, number in operation.inputs
    ]
    output, result = operation.request.dtypes[-1], operation.request.loop[-1]
    lines.append(f"v{operation.operands[-1]}.set(cast<{output}>(cast<{result}>({text})));")
    return "    {\n" + "".join(f"      {line}\n" for line in lines) + "    }\n"


def _name(number: int) -> str:
    return f"v{number}" if number < SCALARS else f"s{number - SCALARS}"


def _flat_loop(values: list[_Value]) -> str:
    """Values lie contiguous: vectors where all are aligned for them, then what is left."""
    in_memory = [k for k, value in enumerate(values) if value.loaded or value.stored]
    lanes = _VECTOR_BYTES // max(_SIZES[values[k].dtype] for k in in_memory)
    lines = [f"{_pointer(values[k])} const d{k} = {_address(values[k], k)};" for k in in_memory]
    lines.append("Index done = 0;")
    aligned = [f"is_aligned_for<{values[k].dtype}, {lanes}>(d{k})" for k in in_memory]
    lines.append(f"if ({' && '.join(aligned)}) {{")
    lines.append(f"  done = count - count % {lanes};")
    lines.append("#pragma unroll 1")
    lines.append(f"  for (Index i = start; i < done / {lanes}; i += step) {{")
    lines += [f"    {line}" for line in _vector_step(values, lanes)]
    lines += ["  }", "}"]
    lines.append("#pragma unroll 1")
    lines.append("for (Index i = done + start; i < count; i += step) {")
    lines += [f"  {line}" for line in _element_step(values, "d{k}[i]")]
    lines.append("}")
    return _indent(lines)


def _strided_loop(values: list[_Value]) -> str:
    lines = ["#pragma unroll 1", "for (Index i = start; i < count; i += step) {"]
    lines.append(f"  Index offsets[{len(values)}];")
    lines.append(f"  find_places<{len(values)}>(args, i, offsets);")
    lines += [
        f"  {line}" for line in _element_step(values, "element_at<{dtype}>(args, {k}, offsets)")
    ]
    lines.append("}")
    return _indent(lines)


def _pointer(value: _Value) -> str:
    return f"Stored<{value.dtype}>*"


def _address(value: _Value, k: int) -> str:
    return f"static_cast<{_pointer(value)}>(args.data[{k}])"


def _vector_step(values: list[_Value], lanes: int) -> list[str]:
    lines = []
    for k, value in enumerate(values):
        vector = f"Vector<{value.dtype}, {lanes}>"
        start = f" = reinterpret_cast<{vector}*>(d{k})[i]" if value.loaded else ""
        lines.append(f"{vector} w{k}{start};")
    lanes_of = ", ".join(f"w{k}.lane[j]" for k in range(len(values)))
    lines += ["#pragma unroll", f"for (int j = 0; j < {lanes}; ++j) apply({lanes_of});"]
    for k, value in enumerate(values):
        if value.stored:
            lines.append(f"reinterpret_cast<Vector<{value.dtype}, {lanes}>*>(d{k})[i] = w{k};")
    return lines


def _element_step(values: list[_Value], place: str) -> list[str]:
    lines = []
    for k, value in enumerate(values):
        start = f" = {place.format(k=k, dtype=value.dtype)}" if value.loaded else ""
        lines.append(f"Stored<{value.dtype}> e{k}{start};")
    lines.append(f"apply({', '.join(f'e{k}' for k in range(len(values)))});")
    for k, value in enumerate(values):
        if value.stored:
            lines.append(f"{place.format(k=k, dtype=value.dtype)} = e{k};")
    return lines


def _indent(lines: list[str]) -> str:
    """Directives begin their line."""
    return "".join(line + "\n" if line.startswith("#") else f"    {line}\n" for line in lines)
