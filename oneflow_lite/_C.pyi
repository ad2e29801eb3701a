"""The native extension: the machine, the tensor and the call path. Everything public is re-exported
by the package; nothing here is imported by users."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Signature
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

_Function = TypeVar("_Function", bound=Callable[..., Any])

class Device:
    """A device: type (such as ``cpu``) and index. Immutable; equals its string."""

    def __init__(self, spec: str | Device, index: int | None = None) -> None: ...
    @property
    def type(self) -> str: ...
    @property
    def index(self) -> int: ...

class OutOfMemoryError(MemoryError): ...

class Tensor:
    """A strided view of a storage on a device. Made by ``flow.tensor`` and the creation functions."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def device(self) -> Device: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    @property
    def real(self) -> Tensor: ...
    @property
    def imag(self) -> Tensor: ...
    def item(self, *index: int) -> Any: ...
    def numpy(self) -> npt.NDArray[Any]: ...
    def is_contiguous(self) -> bool: ...
    def is_ready(self) -> bool: ...
    def shares_storage(self, other: Tensor) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __setitem__(self, key: Any, value: Any) -> None: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __iadd__(self, other: Any) -> Tensor: ...
    def __sub__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __isub__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __imul__(self, other: Any) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __itruediv__(self, other: Any) -> Tensor: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __ifloordiv__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __imod__(self, other: Any) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __ipow__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __imatmul__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __iand__(self, other: Any) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __ior__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __ixor__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __ilshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __irshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    def __ne__(self, other: Any) -> Tensor: ...  # type: ignore[override]
    __hash__: ClassVar[None]  # type: ignore[assignment]
    # Everything else (sum, reshape, cpu, to, tolist, __repr__, ...) is attached by tensor.py.
    def __getattr__(self, name: str) -> Any: ...

class Op:
    """A row of the op table, callable: ``op(x1[, x2[, x3]], /, *, out=None)``. Operands are tensors, NumPy
    arrays or Python scalars (weak); at least one is a tensor, else the default device is used."""

    __name__: str
    __doc__: str
    __signature__: Signature
    def __call__(self, *operands: Any, out: Tensor | None = None) -> Tensor: ...
    def accumulate(self, x: Any, axis: int = 0, dtype: Any = None) -> Tensor: ...

def register_op(
    name: str, ufunc: np.ufunc, properties: Any, row: str, doc: str, slot: str | None
) -> Op:
    """Adds a row. properties: a Properties (ops/table.py). row: the name of the row whose loops it has, itself
    or another one. slot: the operator that it serves ('add' for ``+``), or what native code calls it for."""

def properties_of(op: Op, /) -> dict[str, Any]:
    """The properties as the native core has them, and whether it knows functions of one element ('element'),
    loops with the standard's values ('standard') and a loop of bfloat16 ('bfloat16')."""

class NativeFunction:
    """A Python function, with a native path for the arguments that are common."""

    __wrapped__: Callable[..., Any]
    def __call__(self, *arguments: Any, **keywords: Any) -> Any: ...

class NativePath:
    """What a NativeFunction does for the arguments that are common."""

    name: str
    is_whole: bool  # it knows all arguments
    functions: int  # how many go down it

class _Paths:
    def __getattr__(self, name: str, /) -> NativePath: ...

paths: _Paths  # all native paths, by name

def native(path: NativePath, /) -> Callable[[_Function], _Function]:
    """Returns a decorator that makes a NativeFunction of a function: with the path, and with the
    function's parameters and defaults. Arguments that the path does not know go to the function; of
    a whole path, the function has only its signature and its docstring."""

# --- tensors (all return at once; errors of arguments are raised at the call)
def set_converter(convert: Callable[[Any, Any, Any, Any], Tensor]) -> None:
    """convert(data, dtype, device, copy) makes tensors of data that is not read natively."""

def astype(x: Tensor, dtype: np.dtype[Any], copy: bool) -> Tensor: ...
def copy(x: Tensor) -> Tensor: ...
def to_device(x: Tensor, device: Device, copy: bool) -> Tensor: ...
def assign(target: Tensor, value: Any) -> None:
    """target[...] = value (tensor, array or scalar), with broadcasting and casting."""

def fill(target: Tensor, value: Any) -> None:
    """target[...] = value, which is a number."""

def reshape(x: Tensor, shape: int | Sequence[int], copy: bool | None) -> Tensor:
    """One -1 is inferred. copy=None: a view where strides allow; False: ValueError where not."""

def layouts(operands: Sequence[Any]) -> bytes | None:
    """Return shapes, strides and dtypes as one key; None where an operand is not a tensor."""

def parts_of_layouts(layouts: bytes) -> list[tuple[Any, Any, np.dtype[Any]]]:
    """Return (shape, strides, dtype) of each operand."""

def run_steps(operands: Sequence[Tensor], steps: Sequence[tuple[Any, ...]]) -> Tensor:
    """Return the last value of steps such as those of ops/numpy/einsum.py, on the operands."""

def permute(x: Tensor, axes: Sequence[int]) -> Tensor: ...
def broadcast_to(x: Tensor, shape: int | Sequence[int]) -> Tensor: ...
def diagonal(x: Tensor, offset: int, axis1: int, axis2: int) -> Tensor:
    """A view; the diagonal of the two axes (may be negative) becomes the last one."""

def where(condition: Any, x: Any, y: Any) -> Tensor: ...
def matmul(a: Tensor, b: Tensor) -> Tensor: ...
def set_blas_finder(finder: Callable[[], object]) -> None:
    """Called once, when the first product of floating-point matrices is issued."""

def load_blas(path: str, prefix: str, own_loops: bool) -> tuple[str, str]:
    """Takes the products to this library, whose symbols have the prefix, and large ones to our own
    loops if wanted; returns what it says of its configuration and of the core type in use.
    RuntimeError when it cannot be loaded."""

def has_panel_loops() -> bool:
    """Whether the CPU has what our own loops for large products want."""

CPU_ISAS: tuple[str, ...]
"""Instruction sets that our own loops are compiled for, the narrowest first."""

def widest_cpu_isa() -> str:
    """The widest of CPU_ISAS that the processor has."""

def cpu_isa() -> str:
    """The widest of CPU_ISAS that our loops use."""

def limit_cpu_isa(isa: int) -> None:
    """The widest that our loops shall use, by its place in CPU_ISAS. ValueError if the processor
    lacks it, RuntimeError after the first choice of a loop."""

def loops_chosen() -> dict[str, str]:
    """The loops chosen so far, and the instruction set of each."""

def cpu_is_intel() -> bool: ...
def cpu_features() -> list[str]:
    """What the processor has of that on which OpenBLAS's kinds of core differ, within cpu_isa()."""

def reduce(
    op: Op,
    x: Tensor,
    axes: Sequence[int] | None,
    accumulate: np.dtype[Any],
    initial: Any,
    keepdims: bool,
) -> Tensor:
    """Reduces over axes (may be negative; None: all), accumulating (and returning) in a dtype.
    initial None: ValueError for an empty reduction."""

def arg_reduce(x: Tensor, axis: int | None, keepdims: bool, minimum: bool) -> Tensor: ...
def call_kernel(
    name: str,
    kernel: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor | tuple[Sequence[int], np.dtype[Any]]],
    attr: Sequence[int] = (),
    loop: tuple[np.ufunc, str] | None = None,
    elements: float = -1,
    object: Any = None,
) -> list[Tensor]:
    """Issues an array kernel (csrc/ops/array_args.h) for the operation ``name``.
    outputs: tensors to write to, or (shape, dtype) of new ones. loop: a ufunc and the signature of
    its typed loop, such as (np.add, 'dd->d'). elements: what the cost is of; default: the largest
    operand. object: a generator, for who records the call. Returns the outputs."""

def sort(x: Tensor, axis: int, descending: bool, stable: bool) -> Tensor:
    """Along an axis counted from 0. stable: equal elements of different bits keep their order."""

def correlate(x: Tensor, window: Tensor, before: int, count: int) -> Tensor | None:
    """Of one dtype; the window hangs over by ``before`` at first. None without NumPy's dot."""

def argsort(x: Tensor, axis: int, descending: bool) -> Tensor: ...
def look(name: str, x: Tensor) -> npt.NDArray[Any]:
    """The values of x, for the operation ``name`` whose result depends on them; waits for x."""

def getitem(x: Tensor, key: Any, name: str) -> Tensor:
    """x[key], named ``name`` in errors and traces."""

def setitem(x: Tensor, key: Any, value: Any, name: str) -> None:
    """x[key] = value, named ``name`` in errors and traces."""

def index_array(indices: Any, x: Tensor, axis: int, mode: int, name: str) -> Tensor:
    """Integer indices for an axis of x, on its device; IndexError for others. Values on the host are
    checked in mode 0."""

def take(x: Tensor, indices: Any, axis: int, mode: int) -> Tensor:
    """mode: what an index out of range does; 0 IndexError, 1 wrap, 2 clip."""

def nonzero(x: Tensor, name: str) -> Tensor:
    """A row of coordinates for each dimension; looks at how many there are."""

def castable(from_: np.dtype[Any], to: np.dtype[Any], casting: str) -> bool:
    """Whether a rule of casting allows a cast."""

def require_castable(op: str, from_: np.dtype[Any], to: np.dtype[Any], casting: str) -> None:
    """TypeError unless the rule allows the cast; no rule allows complex to real numbers."""

def canonical(dtype: Any, op: str) -> np.dtype[Any]:
    """The supported dtype that a dtype, a type or a name means; TypeError, which names the operation,
    for anything else, objects, strings and dates among them."""

def scalar_fits(value: Any, dtype: np.dtype[Any]) -> bool: ...
def held(data: Any, op: str) -> Any: ...
def integers(numbers: Any, op: str) -> tuple[int, ...]: ...
def bits_of(bit_generator: np.random.BitGenerator) -> Any: ...  # what flow.random draws from

NO_BFLOAT16: str  # what to do about it

def set_bfloat16(dtype: np.dtype[Any]) -> None:
    """Before this there is no bfloat16."""

def as_bfloat16(x: Tensor) -> Tensor:
    """A view of uint16 as the numbers whose bits it holds."""

def shared_array(x: Tensor) -> npt.NDArray[Any]:
    """An array over the (settled, shared) memory of a cpu tensor."""

# --- interchange
def dlpack_device(x: Tensor | Device) -> tuple[int, int]: ...
def dlpack_home(type: int, index: int) -> Device | None:
    """The device whose memory another library may give by this name."""

def to_dlpack(x: Tensor, versioned: bool, host_copy: bool, is_fresh: bool, queue: int) -> Any:
    """A capsule over the (settled, shared) memory of a cpu tensor, over that of a cuda tensor, for
    which the consumer's queue waits (-1: it does not), or over a copy on the host. is_fresh: nobody
    else has the tensor."""

def from_dlpack(capsule: Any) -> Tensor:
    """Consumes a capsule of memory of the host, or of a device whose queue waits for it."""

class CurrentDevice:
    """In a ``with`` block the device is the calling thread's current one for other libraries."""

    def __init__(self, device: Device) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *args: object) -> None: ...

def device_queue(device: Device) -> int:
    """The handle of the queue of the calling thread's compute lane."""

def export_cuda(x: Tensor) -> tuple[int, bool, int]:
    """Address, whether it is read-only, and the queue to wait for."""

def import_cuda(
    producer: Any,
    address: int,
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None,
    read_only: bool,
    queue: int | None,
) -> Tensor:
    """A tensor over memory of a cuda device; queue: what the producer's work is in."""

def is_pinned(x: Tensor) -> bool: ...

# --- the machine
def synchronize(device: Device | None) -> None: ...
def host_func(
    fn: Callable[..., Any], reads: Sequence[Tensor], writes: Sequence[Tensor], name: str
) -> HostCall: ...
def barrier() -> None: ...
def dump() -> str:
    """Every in-flight instruction, its stream, what it waits for and its issue site."""

def stats() -> dict[str, Any]: ...
def noop(count: int, inline: bool) -> float:
    """Issues and retires ``count`` no-op instructions from C++; seconds. inline: in this thread."""

def issue_noop() -> None:
    """Issues one no-op instruction to the cpu's compute worker."""

class HostCall:
    """A host function in flight."""

    def done(self) -> bool: ...
    def wait(self) -> None: ...
    def result(self) -> Any: ...

def configure(
    *,
    sync: bool | None = None,
    max_in_flight: int | None = None,
    max_bytes_in_flight: int | None = None,
    hang_timeout: float | None = None,
    memory_limit: int | None = None,
    implicit_sync: str | None = None,
    num_threads: int | None = None,
    standard_values: bool | None = None,
    fusion: str | None = None,
    watches_cores: bool | None = None,
    inline_seconds: float | None = None,
) -> None:
    """Sets machine options; None leaves one alone. implicit_sync: 'allow', 'warn' or 'error'."""

class Backend:
    """What is known of a type of devices."""

    @property
    def count(self) -> int: ...
    @property
    def has_interop(self) -> bool: ...
    @property
    def runs_host_kernels(self) -> bool: ...

def device_types() -> Mapping[str, Backend]:
    """The registered backends by name, the host's first."""

def register_backend(capsule: Any) -> None:
    """Adds a type of devices: a capsule "oneflow_lite.backend" over an ep::Backend that stays."""

def cuda_problem() -> str:
    """Why there is no CUDA device and what to do, or ""."""

def cuda_device_properties(index: int) -> dict[str, Any]: ...
def cuda_host_operations() -> list[str]: ...
def set_host_operation_hook(tell: Callable[[str], None]) -> None:
    """Called once for each operation that runs on the host for a cuda device, on any thread."""

def use_device_kernels(on: bool) -> None: ...
def set_cublas_finder(find: Callable[[], str]) -> None: ...
def use_cublas(on: bool) -> None: ...
def allow_tf32(on: bool) -> None: ...
def cublas_version() -> int: ...
def set_kernel_failure_hook(tell: Callable[[str], None]) -> None: ...
def wait_for_kernels() -> None: ...
def set_kernel_maker(make: Callable[..., bytes | None]) -> None:
    """What compiles kernels, on any thread: make(*fields of a Request, arch)."""

def set_process_device(device: Device) -> None:
    """The default device of threads that have chosen none."""

def exchange_thread_device(device: Device | None) -> Device | None:
    """Sets the default device of the calling thread; returns its former choice. None: no choice."""

def get_default_device() -> Device: ...

COMPUTE_LANES: int
CALLERS_LANE: int

def exchange_lane(lane: int) -> int:
    """Sets the compute lane of the calling thread, below COMPUTE_LANES; returns the one before.

    CALLERS_LANE: what a recording thread has outside of blocks.
    """

def memory_stats(device: Device) -> dict[str, int]: ...
def empty_cache(device: Device | None) -> int: ...
def mock_configure(knobs: dict[str, float]) -> None:
    """Keys: devices, capacity, h2d, d2h, d2d (bytes/s), launch_latency (s), compute (elements/s),
    jitter (s), fail_alloc, fail_launch, fail_copy, fail_event (the n-th from now fails; 0: none).
    'devices' only before the first use of a mock device."""

def mock_knobs() -> dict[str, float]: ...
def failure(x: Tensor, method: str) -> BaseException | None:
    """What a look at x raises; waits like a look of this name."""

# --- profiling
def profile_start() -> None: ...
def profile_stop(wait: bool) -> dict[str, Any]:
    """{'lanes': [(id, name, kind)], 'records': [tuple, ...]}; see profiler/trace.py."""

def check_nan_inf(on: bool) -> None:
    """Operations that make a NaN or an infinity fail."""

def benchmark(on: bool) -> None:
    """The machine is naive and adds up the time of each operation. Waits for what is in flight."""

def benchmark_rows() -> list[tuple[str, int, int, int]]:
    """(operation, calls, ns, bytes read and written) of each name."""

def benchmark_clear() -> None: ...

# --- recording programs; graph/program and graph/tracing have the documentation

class TraceError(RuntimeError): ...

def refuse_while_recording(op: str, why: str | None, /) -> None: ...
def recording_notes() -> dict[int, Any] | None:
    """A dict of the recording that the calling thread has entered; None: there is none."""

def record_source(name: str, source: Any, dtype: Any, shape: Sequence[int], device: Device) -> Any:
    """A row-major tensor that ``source`` makes before each run; dtype None: it makes nothing."""

CALL_KINDS: tuple[str, ...]
WEAK_CODES: tuple[int, int, int]

class OpCall:
    """A call of an operation, without its operands; immutable. Keywords have the attributes' names, but for
    op, which ``row`` names."""

    kind: str
    name: str
    row: str | None
    pattern: int
    codes: tuple[int, ...]
    kernel: str | None
    loop: tuple[str, str] | None
    elements: float
    attr: tuple[int, ...]
    targets: int
    made: list[tuple[np.dtype[Any], tuple[int, ...], tuple[int, ...]]]
    device: Device
    object: Any  # the function or generator that is called at each run

    def __init__(
        self, kind: str, name: str, *, op: Op | None = None, **attributes: Any
    ) -> None: ...
    def scalar_dtype(self, operand: int) -> np.dtype[Any]: ...
    def replay(self, operands: Sequence[Any], targets: Sequence[Tensor] = ()) -> list[Tensor]: ...

class Recorder:
    """Writes down what its thread does while it is entered."""

    def __init__(self, name: str) -> None: ...
    def enter(self) -> None: ...
    def leave(self) -> None: ...
    def parameter(self, x: Tensor) -> Tensor: ...
    def parameter_of(
        self, dtype: Any, shape: Sequence[int], strides: Sequence[int], device: Device
    ) -> Tensor: ...
    def parameters_over(self, memory: Tensor, given: list[Tensor]) -> list[Tensor]: ...
    def value_of(self, x: Tensor) -> int: ...
    def find(self, x: Tensor) -> tuple[int, tuple[int, ...]] | None: ...
    def notes(self) -> dict[int, Any]: ...
    def values(self) -> list[tuple[Any, ...]]: ...
    def operations(self) -> list[tuple[Any, ...]]: ...
    def written(self) -> list[tuple[int, int]]: ...
    def overlaps(self) -> list[tuple[int, int]]: ...
    def held_elsewhere(self) -> list[tuple[int, tuple[str, int] | None]]: ...

def kernel_keeps_extents(name: str) -> bool: ...
def set_unknown_extents(shape_of: Any, note_key: Any, kind: type) -> None: ...

class NumberKindError(TypeError): ...

class Executable:
    name: str
    program: Any
    function: Any  # what was lowered, with its operations in the order of the run
    passes: list[dict[str, Any]]
    functions: list[tuple[str, list[int]]]

    def __call__(self, *arguments: Any) -> list[Tensor]: ...
    def report(self) -> dict[str, Any]: ...
    def draw(self, path: Any, /) -> None: ...
    def fill_arena(self, byte: int) -> None: ...
    def _slots(self, *numbers: float | complex) -> list[float | complex]: ...

class KnownCalls:
    def __init__(self, function: Any, /, *others: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def _add_known(
        self,
        patterns: Any,
        watches: Any,
        run: Any,
        arrange: Any,
        takes_numbers: bool,
        donated: tuple[int, ...],
        name: str,
        /,
    ) -> None: ...
    def _forget_known(self) -> None: ...
    @staticmethod
    def _set_pass_context(number: int, /) -> None: ...

def has_failed(x: Tensor) -> bool: ...
def compile_program(
    name: str,
    names: list[str],
    inputs: list[Any],
    bound: list[Any],
    constants: int,
    value_count: int,
    operations: list[Any],
    results: list[int],
    assigns: list[tuple[int, int]],
    slots: list[Any],
    hidden: int,
    draw: Callable[[], tuple[list[int], list[Tensor]]] | None,
    mode: str,
    release: str,
    lanes: int,
    adds: bool,
    groups: list[int],
) -> Executable: ...
def program_units(
    inputs: list[Any],
    constants: int,
    value_count: int,
    operations: list[Any],
    results: list[int],
    assigns: list[tuple[int, int]],
    slots: list[Any],
) -> list[int]: ...
def place_of(x: Tensor) -> tuple[int, int, int, int]: ...
def set_slot_type(kind: type, /) -> None: ...
def is_only_handle(x: Tensor, /) -> bool: ...
def give_up(x: Tensor, name: str, /) -> None: ...
def is_recorded() -> bool: ...
def is_recording() -> bool: ...
def type_code(dtype: Any) -> int: ...
def op_named(name: str, /) -> Op: ...

# --- analyses of graphs; graph/analyses has the documentation
GRAPH_ACCESSES: list[str]
GRAPH_VALUE_KINDS: list[str]
GRAPH_STARTS: list[str]
GRAPH_ASSIGN_CASES: list[str]
GRAPH_REASONS: list[tuple[str, str]]

def graph_dependences(accesses: Any, tokens: Any, sequential: bool) -> list[tuple[int, int]]: ...
def graph_reduction(operations: int, edges: Any) -> list[tuple[int, int]]: ...
def graph_successors(operations: int, edges: Any) -> list[list[int]]: ...
def graph_successors_by_thread(
    hosts: Any, edges: Any
) -> tuple[list[list[int]], list[list[int]]]: ...
def graph_last_users(operations: int, edges: Any, users: Any) -> list[list[int]]: ...
def graph_order_by_priority(priorities: Any, edges: Any) -> list[int]: ...
def graph_waits(lanes: Any, edges: Any) -> list[tuple[int, int]]: ...
def graph_spread(costs: Any, devices: Any, edges: Any, most: int, wait: int) -> list[int]: ...
def graph_starts(lanes: Any, edges: Any, devices: Any) -> list[int]: ...
def graph_reuse_across_lanes(lanes: Any, edges: Any, users: Any, pairs: Any) -> list[bool]: ...
def graph_colours(weights: Any, edges: Any, most: int) -> list[int]: ...
def graph_post_dominators(
    operations: int, uses: Any, results: Any
) -> tuple[list[int], list[int]]: ...
def graph_order_by_memory(
    operations: int, sizes: Any, users: Any, results: Any, edges: Any
) -> list[int]: ...
def graph_partition(kinds: Any, uses: Any, results: Any, max_depth: int) -> list[int]: ...
def graph_alias_classes(values: int, pairs: Any) -> list[int]: ...
def graph_class_users(accesses: Any, classes: Any) -> list[list[int]]: ...
def graph_in_place(*arrays: Any) -> tuple[list[int], list[int]]: ...
def graph_assign(*arrays: Any) -> tuple[list[int], list[int], list[int]]: ...
def graph_addto(*arrays: Any) -> tuple[list[int], list[int]]: ...
def graph_plan_blocks(*arrays: Any) -> tuple[list[int], list[int], list[int], int, int]: ...
def graph_plan_offsets(
    sizes: Any, users: Any, results: Any, alignment: int, lanes: Any, edges: Any
) -> tuple[list[int], list[int], int, int, str, list[tuple[str, int]]]: ...
def graph_lower_bound(sizes: Any, users: Any, alignment: int) -> int: ...

# --- life cycle
def set_package_dir(path: str) -> None:
    """Frames of files below it are not issue sites."""

def set_exception_maker(again: Callable[[BaseException], BaseException]) -> None:
    """What each look at a failed tensor raises is made by it; see failures.py."""

def shutdown() -> None:
    """Waits for everything in flight and ends the workers."""

def before_fork() -> None: ...
def after_fork_in_child() -> None: ...
