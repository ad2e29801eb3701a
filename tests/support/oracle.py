"""The oracle: what a program may do, in NumPy and in oneflow_lite, and when two looks are equal."""

import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

import oneflow_lite as flow
from tests.support.precision import agrees

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
SHARED = 3  # inputs that all threads read, on device 0

# Where a program's three devices are.
LAYOUTS = {
    "cpu": ("cpu", "cpu", "cpu"),
    "mock:0": ("mock:0", "mock:0", "mock:0"),
    "mock:1": ("mock:1", "mock:1", "mock:1"),
    "mixed": ("cpu", "mock:0", "mock:1"),
    "mixed, mock first": ("mock:1", "cpu", "mock:0"),
}
if flow.cuda.is_available():
    LAYOUTS |= {"cuda:0": ("cuda:0",) * 3, "mixed, cuda:0 first": ("cuda:0", "cpu", "mock:0")}
if flow.cuda.device_count() > 1:
    LAYOUTS |= {"cuda:1": ("cuda:1",) * 3, "mixed, two of cuda": ("cuda:0", "cpu", "cuda:1")}

_FUNCTIONS = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"//": operator.floordiv, "%": operator.mod, "&": operator.and_, "|": operator.or_},
    **{"^": operator.xor, "<": operator.lt, "<=": operator.le, "==": operator.eq},
    **{"!=": operator.ne, ">": operator.gt, ">=": operator.ge},
}


def values(shape: Sequence[int], dtype: str, seed: int) -> np.ndarray:
    """Numbers of any size, the special ones among them."""
    return _values(tuple(shape), dtype, seed).copy()


@functools.lru_cache(maxsize=256)
def _values(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        limits = np.iinfo(dtype)
        small = rng.integers(-9 if kind == "i" else 0, 10, shape)
        large = rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
        return np.where(rng.random(shape) < 0.9, small.astype(dtype), large).astype(dtype)
    if kind == "c":
        part = "float32" if dtype == "complex64" else "float64"
        pair = np.empty(shape, dtype)
        pair.real, pair.imag = _values(shape, part, seed), _values(shape, part, seed + 1)
        return pair
    limits = np.finfo(dtype)
    special = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal],
        dtype,
    )
    normal = rng.normal(0, 4, shape).astype(dtype)
    odd = special[rng.integers(0, len(special), shape)]
    return np.asarray(np.where(rng.random(shape) < 0.97, normal, odd), dtype)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """The same numbers in memory laid out otherwise; a fresh array that may be written to."""
    if layout == "fortran":
        return np.array(array, order="F")
    if layout == "swapped":
        return np.array(array, array.dtype.newbyteorder("S"))
    if layout in ("negative", "strided") and array.ndim:
        steps = tuple(slice(None, None, -1 if layout == "negative" else 3) for _ in array.shape)
        size = tuple(n * (1 if layout == "negative" else 3) for n in array.shape)
        whole = np.zeros(size, array.dtype)
        whole[steps] = array
        return whole[steps]
    return np.array(array)


def shared_inputs() -> list[np.ndarray]:
    """What every program may read and none writes."""
    shapes, dtypes = ((129, 129), (20000,), (4, 5)), ("float32", "int64", "float64")
    return [values(s, d, 100 + i) for i, (s, d) in enumerate(zip(shapes, dtypes, strict=True))]


def host_function(reads: int) -> Callable[..., float]:
    """Write the first element of each read tensor, added up, and the number of its argument."""

    def run(*arrays: np.ndarray) -> float:
        given = [np.array(x) for x in arrays[:reads]]
        total = sum(int(np.isfinite(x).sum()) % 97 for x in given)
        for i, target in enumerate(arrays[reads:]):
            target[...] = np.asarray((total + i) % 100).astype(target.dtype)
        return float(total)

    return run


class Numpy:
    """The reference: everything at once, in order. Results are laid out as those of tensors are."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []
        self._shared = shared_inputs()
        for array in self._shared:
            array.flags.writeable = False

    def make(self, shape: Any, dtype: str, seed: int, layout: str, device: int) -> np.ndarray:
        return np.array(laid_out(values(shape, dtype, seed), layout), dtype, order="C")

    def full(self, shape: Any, value: Any, dtype: str, device: int) -> np.ndarray:
        return np.full(shape, value, dtype)

    def shared(self, i: int) -> np.ndarray:
        return self._shared[i]

    def call(self, name: str, *operands: Any, **keywords: Any) -> np.ndarray:
        return np.asarray(getattr(np, name)(*operands, **keywords))

    def operate(self, name: str, a: Any, b: Any) -> np.ndarray:
        return np.asarray(_FUNCTIONS[name](a, b))

    def array(self, shape: Any, dtype: str, seed: int, layout: str) -> np.ndarray:
        return laid_out(values(shape, dtype, seed), layout)

    def forget(self, array: np.ndarray) -> None:
        """The program is done with an array that was an operand: it may change at once."""

    def view(self, name: str, x: np.ndarray, *arguments: Any) -> np.ndarray:
        return getattr(np, {"permute_dims": "transpose"}.get(name, name))(x, *arguments)

    def astype(self, x: np.ndarray, dtype: str) -> np.ndarray:
        return x.astype(dtype)

    def copy(self, x: np.ndarray) -> np.ndarray:
        return x.copy()

    def move(self, x: np.ndarray, source: int, target: int) -> np.ndarray:
        return x if source == target else x.copy()

    def host(self, reads: list[Any], writes: list[Any]) -> None:
        host_function(len(reads))(*reads, *writes)

    def barrier(self) -> None:
        pass

    synchronize = barrier

    def lane(self, number: int) -> AbstractContextManager[None]:
        return nullcontext()

    def poll(self, x: Any) -> None:
        pass

    def look(self, label: str, x: np.ndarray, how: str = "numpy") -> None:
        self.seen.append((label, np.array(x)))


class Flow:
    """oneflow_lite, with the program's three devices where ``layout`` says."""

    def __init__(self, layout: Sequence[str], shared: Sequence[Any] | None = None) -> None:
        self.seen: list[tuple[str, Any]] = []
        self._layout = [flow.Device(spec) for spec in layout]
        self._shared = shared if shared is not None else self.upload()

    def upload(self) -> list[Any]:
        return [flow.tensor(x, device=self._layout[0]) for x in shared_inputs()]

    def make(self, shape: Any, dtype: str, seed: int, layout: str, device: int) -> Any:
        source = laid_out(values(shape, dtype, seed), layout)
        made = flow.tensor(source, device=self._layout[device])
        self.forget(source)
        return made

    def full(self, shape: Any, value: Any, dtype: str, device: int) -> Any:
        return flow.full(shape, value, dtype=dtype, device=self._layout[device])

    def shared(self, i: int) -> Any:
        return self._shared[i]

    def call(self, name: str, *operands: Any, **keywords: Any) -> Any:
        return getattr(flow, name)(*operands, **keywords)

    def operate(self, name: str, a: Any, b: Any) -> Any:
        return _FUNCTIONS[name](a, b)

    array = Numpy.array

    def forget(self, array: np.ndarray) -> None:
        array[...] = np.asarray(77).astype(array.dtype)

    def view(self, name: str, x: Any, *arguments: Any) -> Any:
        return getattr(flow, name)(x, *arguments)

    def astype(self, x: Any, dtype: str) -> Any:
        return x.astype(dtype)

    def copy(self, x: Any) -> Any:
        return x.copy()

    def move(self, x: Any, source: int, target: int) -> Any:
        return x.to(self._layout[target], copy=source != target)

    def host(self, reads: list[Any], writes: list[Any]) -> None:
        on_host = [x.cpu() for x in writes]
        flow.vm.host_func(host_function(len(reads)), [x.cpu() for x in reads], on_host)
        for x, written in zip(writes, on_host, strict=True):
            if x is not written:
                x[...] = written.to(x.device)

    def barrier(self) -> None:
        flow.vm.barrier()

    def synchronize(self) -> None:
        flow.synchronize()

    def lane(self, number: int) -> AbstractContextManager[None]:
        return flow.vm.lane(number)

    def poll(self, x: Any) -> None:
        x.is_ready()

    def look(self, label: str, x: Any, how: str = "numpy") -> None:
        if how == "tolist":
            seen = np.array(x.tolist(), dtype=x.dtype).reshape(x.shape)
        elif how == "item" and x.size == 1:
            seen = np.full(x.shape, x.item(), x.dtype)
        else:
            seen = np.array(x) if how == "array" else x.numpy()
        self.seen.append((label, seen))


def compare(expected: np.ndarray, seen: np.ndarray, good: np.ndarray | None = None) -> str | None:
    """What differs: dtype, shape, or bits (the payload and sign of a NaN may) that are not good."""
    if expected.dtype != seen.dtype or expected.shape != seen.shape:
        return f"expected {expected.dtype} {expected.shape}, got {seen.dtype} {seen.shape}"
    for part in ("real", "imag") if expected.dtype.kind == "c" else ("real",):
        a, b = getattr(expected, part), getattr(seen, part)
        same = (a == b) & (np.signbit(a) == np.signbit(b)) if a.dtype.kind == "f" else a == b
        same = same | ((a != a) & (b != b))
        if good is not None:
            same = same | good
        if not same.all():
            where = tuple(int(i) for i in np.argwhere(~same)[0])
            count = f"{(~same).sum()} of {same.size}"
            return f"{count} differ, first at {where}: {a[where]!r}, got {b[where]!r}"
    return None


def computes_itself(device: flow.Device) -> bool:
    """Kernels of the device's own, not the host's, compute there."""
    return device.type == "cuda" and bool(flow.flags.cuda_kernels)


def same_as(name: str, given: Sequence[Any], expected: Any, seen: flow.Tensor) -> None:
    """Fail unless a result of a row, on these operands, is what NumPy has; where a device computes
    by kernels of its own, what `precision.py` says."""
    if not computes_itself(seen.device):
        return same(expected, seen)
    wanted, array = np.asarray(expected), seen.numpy()
    good = None
    if wanted.dtype == array.dtype and wanted.shape == array.shape:
        good = agrees(name, [np.asarray(x) for x in given], wanted, array)
    difference = compare(wanted, array, good)
    assert difference is None, f"{name}: {difference}"


def same(expected: Any, seen: Any, label: str = "") -> None:
    """Fail unless a result, or each of several, is what NumPy has."""
    if isinstance(seen, (tuple, list)):
        assert len(expected) == len(seen), label
        for one, other in zip(expected, seen, strict=True):
            same(one, other, label)
        return
    array = seen.numpy() if isinstance(seen, flow.Tensor) else np.array(seen)
    difference = compare(np.asarray(expected), array)
    assert difference is None, f"{label}: {difference}" if label else difference
