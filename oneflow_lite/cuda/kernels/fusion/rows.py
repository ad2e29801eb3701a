"""Kernels that run elementwise operations and reductions of whole rows as one.

Fields of a request are those of ``fusion.py``; a reduction has two operands or, with what it begins
with before the output, three. The second of ``options`` says whether the one reduction is the last
operation, as its rows are cut into chunks, whose values are left to a kernel of ``reduce.py``.

How rows are walked is said in ``walks.py``.
"""

from oneflow_lite.cuda.kernels.fusion.fusion import SCALARS, index_of, scalar_fields, step
from oneflow_lite.cuda.kernels.fusion.walks import (
    LostError,
    Node,
    Version,
    Walk,
    Walks,
    files as files,
    with_initial,
)
from oneflow_lite.cuda.kernels.request import Request


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None where an operation has no text, or where a walk needs what an earlier
    one has overwritten.

    Examples
    --------
    >>> dtypes = ("float32", "float32", "float32", "float32", "float32")
    >>> flags = (True, False, False, True, False, False, True, False, False, True, False, True)
    >>> shares = Request("fused_rows", "reduction:max elementwise:subtract", dtypes, dtypes, flags,
    ...                  False, False, (4, 0, 0, 2, 0, 1, 3, 0, 1, 2))
    >>> kernel("shares", shares).count("walk_lane<")
    1
    """
    walks = Walks(request, has_rows=True)
    if not walks.has_text():
        return None
    try:
        return _Text(name, request, walks).text()
    except LostError:
        return None


class _Text:
    """A structure that has what belongs to a row, with a load for each walk."""

    def __init__(self, name: str, request: Request, walks: Walks) -> None:
        self.name = name
        self.index = index_of(request)
        self.all = walks
        self.walks = [walks.walk(number) for number in range(len(walks.reductions) + 1)]

    def text(self) -> str:
        structures = "".join(
            f"struct {self._op(node)} {self.all.structure(node)};\n" for node in self.all.reductions
        )
        scalars, starts = scalar_fields(self.all.operations)
        places = "".join(f"  char* p{k} = nullptr;\n" for k in self.all.in_memory())
        rows = "".join(
            f"  Stored<{self.all.value(v).dtype}> {v} = {{}};\n"
            for v in (*self._loaded(), *self._written())
        )
        loads = "".join(self._load(walk) for walk in self.walks)
        return f"""
namespace ofl {{
{structures}struct Rows_{self.name} {{
  typedef {self.index} Index;
  const FusedArgs& args;
{scalars}{places}{rows}
  explicit Rows_{self.name}(const FusedArgs& given) : args(given){starts and ", "}{starts} {{}}
{loads}
  void run() {{
{self._run()}  }}
}};
}}
extern "C" __global__ void __launch_bounds__(ofl::kReduceThreads)
{self.name}(const __grid_constant__ ofl::FusedArgs args) {{
  ofl::Rows_{self.name}(args).run();
}}
"""

    def _op(self, node: Node) -> str:
        return f"Op_{self.name}_{node.walk}"

    def _loaded(self) -> list[Version]:
        """What each row has one of, in memory."""
        values = self.all.values
        return [Version(k, 0) for k, value in enumerate(values) if value.still and value.loaded]

    def _written(self) -> list[Version]:
        """What each row has one of, computed here."""
        written = [node.writes for node in self.all.nodes if self.all.is_of_row(node.writes)]
        return written[:-1] if self.all.is_ended else written

    def _load(self, walk: Walk) -> str:
        """What is loaded at a time, and what becomes of it."""
        dtype_of = {v: self.all.value(v).dtype for v in (*walk.loads, *walk.stores)}
        raw = "".join(f"      Loaded<{dtype_of[v]}, lanes> {v};\n" for v in walk.loads)
        loads = "".join(
            f"      raw.{v} = {self.all.load_text(v, f'rows.p{v.value}', 'raw.at')};\n"
            for v in walk.loads
        )
        stores = "".join(
            f"      {self.all.store_text(v, f'rows.p{v.value}', 'raw.at')};\n" for v in walk.stores
        )
        element = "".join(
            f"        const Stored<{dtype_of[v]}> {v} = raw.{v}.lane[j];\n" for v in walk.loads
        )
        element += self.all.steps(walk, self._name)
        values = target = result = ""
        if walk.reduction:
            op = self._op(walk.reduction)
            given = self._name(walk.reduction, walk.reduction.operation.operands[0])
            element += f"        values[j] = {op}::of({given}.get(), raw.at + j);\n"
            target = f", typename {op}::Value* value"
            values = f"      typename {op}::Value values[lanes];\n"
            result = f"      value[0] = {op}::combine(value[0], fold<{op}, lanes>(values));\n"
        return f"""
  template <int lanes>
  struct Load_{walk.number} {{
    struct Raw {{
      Index at;
{raw}    }};
    const Rows_{self.name}& rows;
    Index start;

    Raw raw(Index i) const {{
      const FusedArgs& args = rows.args;
      Raw raw;
      raw.at = start + i * lanes;
{loads}      return raw;
    }}
    void put(const Raw& raw{target}) const {{
      const FusedArgs& args = rows.args;
{values}{self.all.kept(walk)}#pragma unroll
      for (int j = 0; j < lanes; ++j) {{
{element}      }}
{stores}{result}    }}
  }};
  struct Source_{walk.number} {{
    const Rows_{self.name}& rows;
    Index begin;

    template <int lanes>
    Load_{walk.number}<lanes> load(Index first) const {{ return {{rows, begin + first}}; }}
  }};
"""

    def _name(self, node: Node, number: int) -> str:
        """In a load: the row has what belongs to it."""
        is_element = number < SCALARS and not self.all.values[number].still
        return node.name_of(number) if is_element else f"rows.{node.name_of(number)}"

    def _run(self) -> str:
        places = "".join(
            f"      p{k} = static_cast<char*>(args.data[{k}]) + offsets[{k}];\n"
            for k in self.all.in_memory()
        )
        loads = "".join(
            f"      {v} = *reinterpret_cast<Stored<{self.all.value(v).dtype}>*>(p{v.value});\n"
            for v in self._loaded()
        )
        count = len(self.all.values)
        text = f"""    const Index threads = Index(args.threads), thread = threadIdx.x % threads;
    const Index place = Index(blockIdx.x) * (blockDim.x / threads) + threadIdx.x / threads;
    const Index chunks = Index(args.chunks), output = chunks == 1 ? place : place / chunks;
    const Index begin = (place - output * chunks) * Index(args.chunk);
    const bool is_one = output < Index(args.outputs);
    Index count = is_one ? Index(args.reduced) - begin : 0;
    if (count > Index(args.chunk)) count = Index(args.chunk);
    if (is_one) {{
      typename OffsetOf<Index>::type offsets[{count}];
      find_places<{count}>(args, 0, args.outer, output, offsets);
{places}{loads}    }}
"""
        for walk in self.walks:
            for node in self.all.nodes:
                if (
                    node.walk == walk.number
                    and not node.reduces
                    and self.all.is_of_row(node.writes)
                ):
                    text += step(node.operation, node.text, node.name_of, str(node.writes))
            if walk.reduction:
                text += self._reduce(walk.number, walk.reduction)
            elif walk.stores:
                text += self._last_walk(walk)
        return text + self._row_stores()

    def _reduce(self, number: int, node: Node) -> str:
        op, one = self._op(node), node.operation.request
        size = f"sizeof({one.dtypes[0]})"
        address = f"args.inputs[{number}] + (uint64(output) * args.reduced + begin) * {size}"
        if self.all.is_ended:
            end = f"""if (is_one && thread == 0) {{
        static_cast<typename {op}::Value*>(args.values)[place] = value;
      }}"""
        else:
            end = f"""{with_initial(node, op)}
      {node.writes} = share_result<{op}, {one.dtypes[-1]}>(value, threads);"""
        return f"""    {{
      typename {op}::Value value = {op}::empty();
      if (is_one) {{
        value = walk_lane<{op}, reduce_lanes({size}), {size}, Index>(
            Source_{number}{{*this, begin}}, {address}, count, thread, threads);
      }}
      value = reduce_neighbours<{op}>(value, threads);
      {end}
    }}
"""

    def _last_walk(self, walk: Walk) -> str:
        lanes = self.all.lanes
        return f"""    const Load_{walk.number}<{lanes}> load{{*this, begin}};
#pragma unroll 1
    for (Index i = thread; i < count / {lanes}; i += threads) load.put(load.raw(i));
"""

    def _row_stores(self) -> str:
        lines = "".join(
            f"      *reinterpret_cast<Stored<{self.all.value(v).dtype}>*>(p{v.value}) = {v};\n"
            for v in self._written()
            if self.all.is_kept(v)
        )
        return f"    if (is_one && thread == 0) {{\n{lines}    }}\n" if lines else ""
