"""Kernels that run elementwise operations and a reduction of columns, the last one, as one.

Fields of a request are those of ``rows.py``; the third of ``options`` says how many columns a
thread takes side by side. Columns may be cut into chunks, whose values are then left to a kernel
of ``reduce.py``.
"""

from oneflow_lite.cuda.kernels.fusion.fusion import SCALARS, index_of, scalar_fields
from oneflow_lite.cuda.kernels.fusion.walks import (
    Node,
    Version,
    Walks,
    files as files,
    with_initial,
)
from oneflow_lite.cuda.kernels.request import Request


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None where an operation has no text.

    Examples
    --------
    >>> dtypes = ("float32", "float32", "float32", "float32")
    >>> flags = (True, False, False, True, False, False, False, True, False, True, False, True)
    >>> squares = Request("fused_columns", "elementwise:square reduction:sum", dtypes, dtypes,
    ...                   flags, False, False, (4, 1, 4, 2, 0, 1, 2, 1, 2))
    >>> kernel("squares", squares).count("walk_columns(")
    1
    """
    walks = Walks(request, has_rows=False)
    if not walks.has_text():
        return None
    lanes, node = request.options[2], walks.reductions[0]
    scalars, starts = scalar_fields(walks.operations)
    return f"""
namespace ofl {{
struct Op_{name} {walks.structure(node)};
struct Columns_{name} {{
  typedef {index_of(request)} Index;
  static const int lanes = {lanes};
  const FusedArgs& args;
{scalars}
  explicit Columns_{name}(const FusedArgs& given) : args(given){starts and ", "}{starts} {{}}
{_load(name, walks)}
  Load load(Index unit) const {{ return {{*this, unit * lanes}}; }}
{_run(name, node)}}};
}}
extern "C" __global__ void __launch_bounds__(ofl::kReduceThreads)
{name}(const __grid_constant__ ofl::FusedArgs args) {{
  ofl::Columns_{name}(args).run();
}}
"""


def _load(name: str, walks: Walks) -> str:
    """Element i of each column: what is loaded, and what becomes of it."""
    walk, op, count = walks.walk(0), f"Op_{name}", len(walks.values)
    places = f"""typename OffsetOf<Index>::type offsets[{count}];
      find_places<{count}>(args, 0, args.outer, {{}}, offsets);
"""

    def place(version: Version) -> str:
        return f"static_cast<char*>(args.data[{version.value}]) + offsets[{version.value}]"

    raw = loads = element = ""
    for v in walk.loads:
        dtype = walks.value(v).dtype
        if walks.value(v).still:  # all columns have the same
            raw += f"      Stored<{dtype}> {v};\n"
            loads += f"      raw.{v} = *reinterpret_cast<Stored<{dtype}>*>({place(v)});\n"
            element += f"        const Stored<{dtype}> {v} = raw.{v};\n"
        else:
            raw += f"      Loaded<{dtype}, lanes> {v};\n"
            loads += f"      raw.{v} = {walks.load_text(v, place(v), 'first')};\n"
            element += f"        const Stored<{dtype}> {v} = raw.{v}.lane[j];\n"
    stores = "".join(f"      {walks.store_text(v, place(v), 'first')};\n" for v in walk.stores)
    given = _name(walks.reductions[0], walks.reductions[0].operation.operands[0])
    element += walks.steps(walk, _name)
    element += f"        values[j] = {op}::combine(values[j], {op}::of({given}.get(), raw.at));\n"
    return f"""
  struct Load {{
    struct Raw {{
      Index at;
{raw}    }};
    const Columns_{name}& columns;
    Index first;

    Raw raw(Index i) const {{
      const FusedArgs& args = columns.args;
      Raw raw;
      raw.at = i;
      {places.format("i") if walk.loads else ""}{loads}      return raw;
    }}
    void put(const Raw& raw, typename {op}::Value* values) const {{
      const FusedArgs& args = columns.args;
{walks.kept(walk)}#pragma unroll
      for (int j = 0; j < lanes; ++j) {{
{element}      }}
      {places.format("raw.at") if walk.stores else ""}{stores}    }}
  }};
"""


def _name(node: Node, number: int) -> str:
    return node.name_of(number) if number < SCALARS else f"columns.{node.name_of(number)}"


def _run(name: str, node: Node) -> str:
    op, output, dtype = f"Op_{name}", node.writes.value, node.operation.request.dtypes[-1]
    return f"""
  void run() const {{
    Columns<{op}, lanes, Index> columns;
    if (!walk_columns(*this, Index(args.outputs) / lanes, Index(args.threads), Index(args.reduced),
                      Index(args.chunk), &columns)) {{
      return;
    }}
#pragma unroll
    for (int j = 0; j < lanes; ++j) {{
      typename {op}::Value value = columns.values[j];
      const int64 column = int64(columns.unit) * lanes + j;
      if (args.values) {{
        const int64 first = int64(columns.chunk) * args.outputs;
        static_cast<typename {op}::Value*>(args.values)[first + column] = value;
      }} else {{
        {with_initial(node, op)}
        static_cast<Stored<{dtype}>*>(args.data[{output}])[column].set({op}::result(value));
      }}
    }}
  }}
"""
