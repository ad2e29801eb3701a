"""Draws of NumPy's generators in programs that are recorded: made again at each run.

A recording draws from a copy of the generator, to see dtypes and shapes. The generator itself stays
where it is until the program runs.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.dtypes import canonical
from oneflow_lite.locks import free_in_child, make_lock

Numpys = np.random.Generator | np.random.RandomState
_MOST_LETTERS = 120  # of a parameter in the text of a program


_OF_THE_OBJECT = ("_lock", "_own")  # not of its stream


@dataclass(frozen=True, eq=False)
class Draw:
    """What a run calls before it is issued: a method of a generator with its parameters.

    ``call`` gives the tensor that is drawn, or None where nothing is made.
    """

    generator: Any
    text: str
    call: Callable[[], Tensor | None]


class Recorded:
    """A generator that knows whether a program that its thread records was there before it.

    One that a program makes itself is made again in each run of the function, so it draws as it
    does eagerly, and its numbers are constants of the program.
    """

    _source: tuple[Numpys, Any]  # of those that draw NumPy's numbers

    def __init__(self) -> None:
        self._lock = make_lock()  # guards the stream; a draw may draw again
        self._own = _C.recording_notes()  # of the recording that made it

    def _notes(self) -> Any:
        """The notes of the thread's recording, where the generator is older; else None."""
        notes = _C.recording_notes()
        return None if notes is self._own else notes

    def _refuse(self, op: str) -> None:
        if self._notes() is not None:
            _C.refuse_while_recording(op, None)

    def __getstate__(self) -> Any:
        """Return what a copy, or a pickled one, goes on from: draws that were called count.

        The stream is a snapshot; a user's attributes, slots too, are themselves, as for any object.
        Two generators over one of NumPy's bit generators each have a snapshot of it, so that their
        copies share no stream.
        """
        self._refuse("copy of a generator")
        with self._lock:
            state: Any = object.__getstate__(self)
            plain, *slots = state if isinstance(state, tuple) else (state,)
            kept = {name: x for name, x in plain.items() if name not in _OF_THE_OBJECT}
            if "_seeds" in kept:
                kept["_seeds"] = copy.deepcopy(kept["_seeds"])
            if "_source" in kept:
                kept["_source"] = copied(self._source[0])  # without its bits
        return (kept, *slots) if slots else kept

    def __setstate__(self, state: Any) -> None:
        Recorded.__init__(self)
        plain, slots = state if isinstance(state, tuple) else (state, {})
        vars(self).update(plain)
        if "_source" in plain:
            self._source = numpys_source(plain["_source"])
        for name, x in slots.items():
            setattr(self, name, x)


def bits_of(numpys: Numpys) -> np.random.BitGenerator:
    """Return what one of NumPy's generators draws from; each draw holds the lock of it."""
    if isinstance(numpys, np.random.Generator):
        return numpys.bit_generator
    bits: np.random.BitGenerator = numpys._bit_generator
    return bits


def numpys_source(numpys: Numpys) -> tuple[Numpys, Any]:
    """Return one of NumPy's generators, and its bits for the native paths."""
    bits = bits_of(numpys)
    free_in_child(bits.lock)
    return numpys, _C.bits_of(bits)


def copied(numpys: Numpys) -> Numpys:
    """Return a copy of one of NumPy's generators, from between two draws."""
    with bits_of(numpys).lock:
        return copy.deepcopy(numpys)


def goes_on(seed: Any) -> bool:
    """Return whether a generator of that seed has other numbers each time that it is made."""
    numpys = Numpys | np.random.BitGenerator
    return seed is None or isinstance(seed, numpys)


def marked(generator: Any) -> Callable[[], None]:
    """Return what puts one of NumPy's generators back to where it is now."""
    source = generator._source
    numpys = copied(source[0])

    def back() -> None:
        generator._source = source
        if isinstance(numpys, np.random.RandomState):
            source[0].set_state(numpys.get_state(legacy=False))
        else:
            source[0].bit_generator.state = numpys.bit_generator.state

    return back


def record(
    generator: Any,
    notes: dict[int, Any],
    name: str,
    args: tuple[Any, ...],
    named: dict[str, Any],
    dtype: Any,
    device: DeviceLike,
) -> Tensor:
    """Return the tensor that each run draws by the generator's method with these parameters."""
    home = resolve(device)
    drawn = np.asarray(_twin(generator, notes)._numbers(name, args, named))
    held = copy.deepcopy(_C.held(args, name))
    wanted = drawn.dtype if dtype is None else canonical(dtype, name)
    call = lambda: generator._made_in_a_run(name, held, named, dtype, home)  # noqa: E731
    draw = Draw(generator, _text_of(name, held, named), call)
    made: Tensor = _C.record_source(name, draw, wanted, drawn.shape, home)
    return made


def record_seed(generator: Any, notes: dict[int, Any], seed: Any) -> None:
    """Each run seeds the generator."""
    if seed is not None and goes_on(seed):
        _C.refuse_while_recording("seed of a generator", None)
    _twin(generator, notes).seed(0 if seed is None else seed)
    held = copy.deepcopy(_C.held(seed, "seed"))
    draw = Draw(generator, _text_of("seed", (held,), {}), lambda: generator.seed(held))
    _C.record_source("seed", draw, None, (), resolve("cpu"))


def _twin(generator: Any, notes: dict[int, Any]) -> Any:
    """The generator as it is where the recording has come to."""
    if id(generator) not in notes:
        one = object.__new__(type(generator))
        Recorded.__init__(one)
        one._source = numpys_source(copied(generator._numpy))
        notes[id(generator)] = generator, one
    return notes[id(generator)][1]


def _text_of(name: str, args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """The call as programs show it; arrays and long parameters by a hash."""
    shown = [*map(_shown, args), *(f"{key}={_shown(x)}" for key, x in named.items())]
    return f"{name}({', '.join(shown)})"


def _shown(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"{x.dtype}{list(x.shape)}#{_digest(x.tobytes())}"
    text = repr(x)
    return text if len(text) <= _MOST_LETTERS else f"{type(x).__name__}#{_digest(text.encode())}"


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()
