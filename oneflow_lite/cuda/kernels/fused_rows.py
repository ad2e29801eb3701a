"""Kernels that run elementwise operations and reductions of whole rows as one.

Fields of a request are those of ``fused.py``; a reduction has two operands or, with what it begins
with before the output, three. Where rows are cut into chunks, the one reduction is the last
operation and leaves the values of chunks to a kernel of ``reduction.py``.

Threads walk a row once for each reduction, and once more for what comes after. A walk computes what
it needs from what is in memory: nothing is kept between them but what each row has one of.
"""

from functools import partial
from typing import NamedTuple

from oneflow_lite.cuda.kernels import elementwise, reduction
from oneflow_lite.cuda.kernels.fused import (
    SCALARS,
    THREADS,
    Operation,
    Value,
    index_of,
    operations_of,
    scalar_fields,
    step,
    values_of,
)
from oneflow_lite.cuda.kernels.request import Request
from oneflow_lite.dtypes import SUPPORTED

_VECTOR_BYTES = 16
_SIZES = {dtype.name: dtype.itemsize for dtype in SUPPORTED}


class _Version(NamedTuple):
    """What a value is after so many writes; 0: what was in memory."""

    value: int
    writes: int

    def __str__(self) -> str:
        return f"v{self.value}_{self.writes}"


class _Node(NamedTuple):
    """An operation, with what it reads and writes."""

    operation: Operation
    text: str | None  # of what is elementwise
    reads: tuple[_Version, ...]  # scalars are none
    writes: _Version
    walk: int  # reductions before it
    reduces: bool

    def name_of(self, number: int) -> str:
        if number >= SCALARS:
            return f"s{number - SCALARS}"
        return next(str(version) for version in self.reads if version.value == number)


class _LostError(Exception):
    """A walk needs what an earlier one has overwritten."""


class _Walk(NamedTuple):
    """What one walk along a row loads, computes and stores."""

    number: int
    loads: list[_Version]
    nodes: list[_Node]
    stores: list[_Version]
    reduction: _Node | None


def files(request: Request) -> tuple[str, ...]:
    """Return the files that the kernel begins with: those of its operations, and its own.

    Examples
    --------
    >>> dtypes = ("float32", "float32")
    >>> sums = Request("fused_rows", "reduction:sum", dtypes, dtypes, (), False, False,
    ...                (4, 0, 2, 0, 1))
    >>> files(sums)[-2:]
    ('fused.cuh', 'fused_rows.cuh')
    """
    names: dict[str, None] = {}
    for operation in operations_of(request):
        if operation.request.kind != "reduction":
            names |= dict.fromkeys(elementwise.files(operation.request))
    return (*(names | dict.fromkeys(reduction.FILES)), "fused.cuh", "fused_rows.cuh")


def kernel(name: str, request: Request) -> str | None:
    """Return the kernel; None where an operation has no text, or where a walk needs what an earlier
    one has overwritten.

    Examples
    --------
    >>> dtypes = ("float32", "float32", "float32", "float32", "float32")
    >>> flags = (True, False, False, True, False, False, True, False, False, True, False, True)
    >>> shares = Request("fused_rows", "reduction:max elementwise:subtract", dtypes, dtypes, flags,
    ...                  False, False, (4, 0, 2, 0, 1, 3, 0, 1, 2))
    >>> kernel("shares", shares).count("walk_lane<")
    1
    """
    group = _Group(name, request)
    try:
        return group.text()
    except _LostError:
        return None


class _Group:
    """The operations of a request, and the text that they become."""

    def __init__(self, name: str, request: Request) -> None:
        self.name = name
        self.request = request
        self.operations = operations_of(request)
        self.values = values_of(request, self.operations)
        self.lanes, self.is_cut = request.options[0], bool(request.options[1])
        self.nodes = self._number()
        self.last = {node.writes.value: node.writes for node in self.nodes}
        self.of = {node.writes: node for node in self.nodes}
        self.reductions = [node for node in self.nodes if node.reduces]

    def _number(self) -> list[_Node]:
        """Every write of a value makes a version of it."""
        writes = dict.fromkeys(range(len(self.values)), 0)
        nodes: list[_Node] = []
        walk = 0
        for operation in self.operations:
            reads = tuple(_Version(k, writes[k]) for k in operation.operands[:-1] if k < SCALARS)
            output = operation.operands[-1]
            writes[output] += 1
            reduces = operation.request.kind == "reduction"
            text = None if reduces else elementwise.expression(operation.request)
            nodes.append(
                _Node(operation, text, reads, _Version(output, writes[output]), walk, reduces)
            )
            walk += reduces
        return nodes

    # --- what each walk does

    def _value(self, version: _Version) -> Value:
        return self.values[version.value]

    def _is_of_row(self, version: _Version) -> bool:
        return self._value(version).still

    def _is_kept(self, version: _Version) -> bool:
        """It is in memory when the walk that makes it has ended."""
        return self._value(version).stored and self.last.get(version.value) == version

    def _load_or_compute(
        self, version: _Version, walk: int, loads: dict[_Version, None], needed: set[_Version]
    ) -> None:
        if self._is_of_row(version) or version in loads or version in needed:
            return
        node = self.of.get(version)
        if node is None:
            last = self.last.get(version.value)
            if last and self._is_kept(last) and self.of[last].walk < walk:
                raise _LostError
            loads[version] = None
        elif self._is_kept(version) and node.walk < walk:
            loads[version] = None
        else:
            needed.add(version)
            for read in node.reads:
                self._load_or_compute(read, walk, loads, needed)

    def _walk(self, number: int) -> _Walk:
        loads: dict[_Version, None] = {}
        needed: set[_Version] = set()
        stores = [
            node.writes
            for node in self.nodes
            if node.walk == number
            and self._is_kept(node.writes)
            and not self._is_of_row(node.writes)
        ]
        reduction = self.reductions[number] if number < len(self.reductions) else None
        for version in (*stores, *(reduction.reads[:1] if reduction else ())):
            self._load_or_compute(version, number, loads, needed)
        nodes = [node for node in self.nodes if node.writes in needed]
        return _Walk(number, list(loads), nodes, stores, reduction)

    # --- text

    def text(self) -> str | None:
        """The kernel."""
        if any(node.text is None and not node.reduces for node in self.nodes):
            return None
        bodies = [self._reduction_body(node) for node in self.reductions]
        if None in bodies:
            return None
        structures = "".join(
            f"struct {self._op(node)} {body};\n"
            for node, body in zip(self.reductions, bodies, strict=True)
        )
        walks = [self._walk(number) for number in range(len(self.reductions) + 1)]
        scalars, starts = scalar_fields(self.operations)
        places = "".join(f"  char* p{k} = nullptr;\n" for k in self._in_memory())
        rows = "".join(
            f"  Stored<{self._value(v).dtype}> {v} = {{}};\n" for v in self._row_versions()
        )
        loads = "".join(self._load(walk) for walk in walks)
        return f"""
namespace ofl {{
{structures}struct Rows_{self.name} {{
  typedef {index_of(self.request)} Index;
  const FusedArgs& args;
{scalars}{places}{rows}
  explicit Rows_{self.name}(const FusedArgs& given) : args(given){starts and ", "}{starts} {{}}
{loads}
  void run() {{
{self._run(walks)}  }}
}};
}}
extern "C" __global__ void __launch_bounds__({THREADS})
{self.name}(const __grid_constant__ ofl::FusedArgs args) {{
  ofl::Rows_{self.name}(args).run();
}}
"""

    def _op(self, node: _Node) -> str:
        return f"Op_{self.name}_{node.walk}"

    def _reduction_body(self, node: _Node) -> str | None:
        one = node.operation.request
        ends = (one.dtypes[0], one.dtypes[-1]), (one.loop[0], one.loop[-1])
        request = Request("reduction", one.op, *ends, (), True, self.request.wide, (1, 1, 0))
        return reduction.operation(request)

    def _in_memory(self) -> list[int]:
        return [k for k, value in enumerate(self.values) if value.loaded or value.stored]

    def _row_versions(self) -> list[_Version]:
        """What each row has one of, those in memory first."""
        written = [node.writes for node in self.nodes if self._is_of_row(node.writes)]
        if self.is_cut:
            written.remove(self.reductions[-1].writes)
        return [*self._row_loads(), *written]

    def _row_loads(self) -> list[_Version]:
        return [
            _Version(k, 0) for k, value in enumerate(self.values) if value.still and value.loaded
        ]

    def _load(self, walk: _Walk) -> str:
        """What is loaded at a time, and what becomes of it."""
        op = self._op(walk.reduction) if walk.reduction else ""
        raw = "".join(f"      Loaded<{self._value(v).dtype}, lanes> {v};\n" for v in walk.loads)
        loads = "".join(f"      raw.{v} = {self._load_text(v)};\n" for v in walk.loads)
        stores = "".join(f"      {self._store_text(v)};\n" for v in walk.stores)
        kept = "".join(
            f"      Loaded<{self._value(v).dtype}, lanes> {v}_kept;\n" for v in walk.stores
        )
        index = f"Load_{walk.number}"
        target = f", typename {op}::Value* value" if op else ""
        return f"""
  template <int lanes>
  struct {index} {{
    struct Raw {{
      Index at;
{raw}    }};
    const Rows_{self.name}& rows;
    Index start;

    Raw raw(Index i) const {{
      Raw raw;
      raw.at = start + i * lanes;
{loads}      return raw;
    }}
    void put(const Raw& raw{target}) const {{
{f"      typename {op}::Value values[lanes];" if op else ""}
{kept}#pragma unroll
      for (int j = 0; j < lanes; ++j) {{
{self._element(walk)}      }}
{stores}{f"      value[0] = {op}::combine(value[0], fold<{op}, lanes>(values));" if op else ""}
    }}
  }};
  struct Source_{walk.number} {{
    const Rows_{self.name}& rows;
    Index begin;

    template <int lanes>
    {index}<lanes> load(Index first) const {{ return {{rows, begin + first}}; }}
  }};
"""

    def _load_text(self, version: _Version) -> str:
        value, k = self._value(version), version.value
        if value.contiguous:
            vectors = str(self.lanes > 1).lower()
            return f"load_run<{value.dtype}, lanes, {vectors}>(rows.p{k}, raw.at)"
        return f"load_strided<{value.dtype}, lanes>(rows.args, {k}, rows.p{k}, raw.at)"

    def _store_text(self, version: _Version) -> str:
        value, k = self._value(version), version.value
        if value.contiguous:
            vectors = str(self.lanes > 1).lower()
            return f"store_run<{value.dtype}, lanes, {vectors}>(rows.p{k}, raw.at, {version}_kept)"
        arguments = f"rows.args, {k}, rows.p{k}, raw.at, {version}_kept"
        return f"store_strided<{value.dtype}, lanes>({arguments})"

    def _element(self, walk: _Walk) -> str:
        lines = [f"const Stored<{self._value(v).dtype}> {v} = raw.{v}.lane[j];" for v in walk.loads]
        text = "".join(f"        {line}\n" for line in lines)
        for node in walk.nodes:
            text += f"        Stored<{self._value(node.writes).dtype}> {node.writes};\n"
            name = partial(self._name, node)
            text += step(node.operation, node.text, name, str(node.writes))
        text += "".join(f"        {v}_kept.lane[j] = {v};\n" for v in walk.stores)
        if walk.reduction:
            given = self._name(walk.reduction, walk.reduction.operation.operands[0])
            text += (
                f"        values[j] = {self._op(walk.reduction)}::of({given}.get(), raw.at + j);\n"
            )
        return text

    def _name(self, node: _Node, number: int) -> str:
        """In a load: of what belongs to the row, the row has it."""
        name = node.name_of(number)
        is_element = number < SCALARS and not self.values[number].still
        return name if is_element else f"rows.{name}"

    def _run(self, walks: list[_Walk]) -> str:
        places = "".join(
            f"      p{k} = static_cast<char*>(args.data[{k}]) + offsets[{k}];\n"
            for k in self._in_memory()
        )
        loads = "".join(
            f"      {v} = *reinterpret_cast<Stored<{self._value(v).dtype}>*>(p{v.value});\n"
            for v in self._row_loads()
        )
        text = f"""    const Index threads = Index(args.threads), thread = threadIdx.x % threads;
    const Index place = Index(blockIdx.x) * (blockDim.x / threads) + threadIdx.x / threads;
    const Index chunks = Index(args.chunks), output = chunks == 1 ? place : place / chunks;
    const Index begin = (place - output * chunks) * Index(args.chunk);
    const bool is_one = output < Index(args.outputs);
    Index count = is_one ? Index(args.row) - begin : 0;
    if (count > Index(args.chunk)) count = Index(args.chunk);
    if (is_one) {{
      typename OffsetOf<Index>::type offsets[{len(self.values)}];
      find_places<{len(self.values)}>(args, 0, args.outer, output, offsets);
{places}{loads}    }}
"""
        for walk in walks:
            for node in self.nodes:
                if node.walk == walk.number and not node.reduces and self._is_of_row(node.writes):
                    text += step(node.operation, node.text, node.name_of, str(node.writes))
            if walk.reduction:
                text += self._reduce(walk, walk.reduction)
            elif walk.stores:
                text += self._last_walk(walk)
        return text + self._row_stores()

    def _reduce(self, walk: _Walk, node: _Node) -> str:
        op, one = self._op(node), node.operation.request
        lanes, size = max(_VECTOR_BYTES // _SIZES[one.dtypes[0]], 1), _SIZES[one.dtypes[0]]
        address = f"args.inputs[{walk.number}] + (uint64(output) * args.row + begin) * {size}"
        if self.is_cut:
            end = f"""if (is_one && thread == 0) {{
        static_cast<typename {op}::Value*>(args.values)[place] = value;
      }}"""
        else:
            initial = ""
            if len(node.operation.operands) == 3:
                k = node.operation.operands[1] - SCALARS
                initial = (
                    f"value = {op}::combine({op}::of_initial(args.scalars[{k}]), value);\n      "
                )
            end = f"{initial}{node.writes} = share_result<{op}, {one.dtypes[-1]}>(value, threads);"
        return f"""    {{
      typename {op}::Value value = {op}::empty();
      if (is_one) {{
        value = walk_lane<{op}, {lanes}, {size}, Index>(
            Source_{walk.number}{{*this, begin}}, {address}, count, thread, threads);
      }}
      value = reduce_neighbours<{op}>(value, threads);
      {end}
    }}
"""

    def _last_walk(self, walk: _Walk) -> str:
        return f"""    const Load_{walk.number}<{self.lanes}> load{{*this, begin}};
#pragma unroll 1
    for (Index i = thread; i < count / {self.lanes}; i += threads) load.put(load.raw(i));
"""

    def _row_stores(self) -> str:
        versions = [
            node.writes
            for node in self.nodes
            if self._is_of_row(node.writes) and self._is_kept(node.writes)
        ]
        if self.is_cut:
            versions.remove(self.reductions[-1].writes)
        if not versions:
            return ""
        lines = "".join(
            f"      *reinterpret_cast<Stored<{self._value(v).dtype}>*>(p{v.value}) = {v};\n"
            for v in versions
        )
        return f"    if (is_one && thread == 0) {{\n{lines}    }}\n"
