"""The functions of a program: each changes what it writes by what it reads, in no other order."""

import ctypes
import functools
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oneflow_lite import engine
from tests.support.compiling import COMPILER, compiled
from tests.support.engine.program import Function, Step

MASK = 2**64 - 1
STATUS = 7  # of a C function that fails
CELLS = 1024  # numbers that variables stand for

Cells = Any  # ctypes array of unsigned 64-bit numbers


class Boom(Exception):
    """The error of a function that fails."""


@dataclass(eq=False)
class Place:
    """A variable with its number, or a tensor."""

    name: str
    token: Any
    cell: int = -1  # of a variable
    first: Any = None  # of a tensor: its first values
    deleted: bool = False

    @property
    def is_variable(self) -> bool:
        return self.cell >= 0


@dataclass(frozen=True)
class Operand:
    """A use whose name has been looked up."""

    place: Place
    part: tuple[int, int] | None

    def token(self) -> Any:
        return self.place.token if self.part is None else self.place.token[slice(*self.part)]


def signed(value: int) -> int:
    value &= MASK
    return value - 2**64 if value >> 63 else value


def total_of(number: int, values: Sequence[int]) -> int:
    """What a function computes of what it reads."""
    total = number
    for value in values:
        total = (total * 31 + value) & MASK
    return total


def value_of(array: Any) -> int:
    return int(array.sum()) & MASK


def changed(value: int, total: int) -> int:
    """What a function makes of a number that it writes."""
    return (value * 31 + total) & MASK


def change(array: Any, total: int) -> None:
    array *= 31
    array += signed(total)


class Body:
    """A function over the memory of its places; it is called on any thread."""

    def __init__(
        self,
        function: Function,
        reads: Sequence[Operand],
        writes: Sequence[Operand],
        cells: Cells,
        push_inner: Callable[[Sequence[Step]], None],
        completer: Any = None,
    ) -> None:
        self.function, self.cells, self.completer = function, cells, completer
        self.reads, self.writes = reads, writes
        self.push_inner = push_inner
        self._calls: list[None] = []  # append is one step
        self._counter: Any = None  # of a C function

    @property
    def calls(self) -> int:
        return len(self._calls) + (self._counter() if self._counter else 0)

    def read(self, arrays: Iterator[Any]) -> int:
        values = [
            self.cells[each.place.cell] if each.place.is_variable else value_of(next(arrays))
            for each in self.reads
        ]
        return total_of(self.function.number, values)

    def write(self, total: int, arrays: Iterator[Any]) -> None:
        """As slowly as may be: between its read and its write nobody else may come."""
        for k, each in enumerate(self.writes):
            if each.place.is_variable:
                value = self.cells[each.place.cell]
                self.pause()
                self.cells[each.place.cell] = changed(value, total + k)
            else:
                change(next(arrays), total + k)

    def pause(self) -> None:
        if self.function.pauses:
            time.sleep(0)

    # --- the flavours

    def python(self, *arrays: Any) -> int:
        given = iter(arrays)
        self._calls.append(None)
        total = self.read(given)
        self.pause()
        self.push_inner(self.function.inner)
        if self.function.fails == "before":
            raise Boom(self.function.number)
        self.write(total, given)
        if self.function.fails == "after":
            raise Boom(self.function.number)
        return total

    def on_device(self, run: engine.Run, *arrays: Any) -> int:
        assert (str(run.device), run.stream) == (self.function.device, 0)
        return self.python(*arrays)

    def later(self, run: Any, on_complete: Any, *arrays: Any) -> None:
        given = iter(arrays)
        self._calls.append(None)
        total = self.read(given)
        fails = self.function.fails
        if fails == "body":
            raise Boom(self.function.number)
        if fails == "dropped":
            self.write(total, given)
            return

        def complete() -> None:
            self.write(total, given)
            if fails == "error":
                on_complete(error=Boom(self.function.number))
            else:
                on_complete(total)
            try:
                on_complete()
            except RuntimeError:
                return
            raise AssertionError(f"f{self.function.number} has completed twice")

        self.completer.put(complete)

    def called_from_c(self, argument: int | None, memory: Any) -> int:
        self._calls.append(None)
        if self.function.fails:
            return STATUS
        tensors = [each for each in (*self.reads, *self.writes) if not each.place.is_variable]
        given = iter([_array(memory[k], length_of(each)) for k, each in enumerate(tensors)])
        self.write(self.read(given), given)
        return 0

    def callback(self) -> engine.CFunction:
        return engine.CFunction(C_TYPE(self.called_from_c), status=True)

    def compiled(self) -> engine.CFunction:
        """As written in _SOURCE; where there is no compiler, in Python."""
        code = _compiled_function()
        if code is None:
            return self.callback()
        words = [self.function.number, len(self.reads), len(self.writes)]
        words += [STATUS if self.function.fails else 0, 0]
        base = ctypes.addressof(self.cells)
        for each in (*self.reads, *self.writes):
            is_variable = each.place.is_variable
            words += [base + 8 * each.place.cell, 0] if is_variable else [0, length_of(each)]
        argument = (ctypes.c_uint64 * len(words))(*words)
        self._counter = lambda: argument[4]
        return engine.CFunction(code, argument, status=True)

    def launch(self, reads: Sequence[Any], writes: Sequence[Any], name: str) -> engine.Completion:
        """A kernel does what the others do, as one thread."""
        nothing = [np.uint64(0)] * (2 * MOST_OPERANDS - len(reads) - len(writes))
        lengths = [np.uint64(length_of(each)) for each in (*self.reads, *self.writes)]
        numbers = [self.function.number, len(reads), len(writes)]
        args = [*map(np.uint64, numbers), *reads, *writes, *nothing, *lengths, *nothing]
        device = self.function.device
        return _kernel().push(1, 1, args, writes=list(writes), device=device, name=name)

    def pushable(self) -> tuple[Any, bool]:
        """What is pushed, and whether by push_async."""
        flavours: dict[str, Callable[[], tuple[Any, bool]]] = {
            "python": lambda: (self.python, False),
            "async": lambda: (self.later, True),
            "callback": lambda: (self.callback(), False),
            "compiled": lambda: (self.compiled(), False),
            "device": lambda: (self.on_device, False),
            "compiled device": lambda: (self.compiled(), False),
        }
        return flavours[self.function.flavour]()


def length_of(operand: Operand) -> int:
    if operand.part is None:
        return len(operand.place.first)
    return operand.part[1] - operand.part[0]


# --- C

C_TYPE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))

# The words of the argument: number, reads, writes, status, calls; then the address of a cell and
# the length of a tensor for each, of which one is 0.
_SOURCE = """
#include <cstdint>
using Word = uint64_t;
static Word value_of(const Word* x, Word length) {
  Word sum = 0;
  for (Word i = 0; i < length; ++i) sum += x[i];
  return sum;
}
extern "C" int update(void* argument, void** memory) {
  Word* words = static_cast<Word*>(argument);
  const Word reads = words[1], writes = words[2];
  __atomic_fetch_add(&words[4], 1, __ATOMIC_RELAXED);
  if (words[3] != 0) return static_cast<int>(words[3]);
  Word total = words[0];
  const Word* operand = words + 5;
  for (Word k = 0; k < reads; ++k, operand += 2) {
    Word* x = reinterpret_cast<Word*>(operand[0]);
    total = total * 31 + (x ? *x : value_of(static_cast<Word*>(*memory++), operand[1]));
  }
  for (Word k = 0; k < writes; ++k, operand += 2) {
    Word* x = reinterpret_cast<Word*>(operand[0]);
    const Word length = x ? 1 : operand[1];
    if (!x) x = static_cast<Word*>(*memory++);
    for (Word i = 0; i < length; ++i) x[i] = x[i] * 31 + total + k;
  }
  return 0;
}
"""


@functools.cache
def _compiled_function() -> Any:
    if shutil.which(COMPILER[0]) is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "update.cpp"), Path(folder, "update.so")
        source.write_text(_SOURCE, encoding="utf-8")
        compiled([*COMPILER, "-O1", "-shared", "-fPIC", "-o", library, source])
        return ctypes.CDLL(str(library)).update


MOST_OPERANDS = 6

_KERNEL = """
typedef unsigned long long Word;
struct Operands { Word* x[MOST]; };
struct Words { Word n[MOST]; };
extern "C" __global__ void update(Word number, Word reads, Word writes, Operands x, Words lengths) {
  Word total = number;
  for (Word k = 0; k < reads; ++k) {
    Word sum = 0;
    for (Word i = 0; i < lengths.n[k]; ++i) sum += x.x[k][i];
    total = total * 31 + sum;
  }
  for (Word k = 0; k < writes; ++k) {
    Word* const target = x.x[reads + k];
    for (Word i = 0; i < lengths.n[reads + k]; ++i) target[i] = target[i] * 31 + total + k;
  }
}
"""


@functools.cache
def _kernel() -> engine.CudaKernel:
    return engine.CudaKernel(_KERNEL.replace("MOST", str(2 * MOST_OPERANDS)), "update")


def _array(address: int, length: int) -> Any:
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_int64)), (length,))


def new_cells() -> tuple[Cells, "itertools.count[int]"]:
    """Numbers of variables, and which one is the next."""
    return (ctypes.c_uint64 * CELLS)(*range(1, CELLS + 1)), itertools.count()
