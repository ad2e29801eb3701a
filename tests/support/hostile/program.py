"""Calls every public function with arguments that work against it: ``program.py KIND``.

KIND is ``objects`` (their conversions change other arguments, lie, raise, call again), ``cycles``
(lists that contain themselves, lists nested too deeply) or ``sizes`` (results no host can hold).
Each call is named in the file ``call`` before it is made: after a crash that is the one. Prints how
many calls there were and how many raised.
"""

import os
import resource
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from types import FrameType
from typing import Any

import numpy as np

import oneflow_lite as flow
from tests.support import IS_SANITIZED
from tests.support.hostile.places import Place, places, square

LIMIT_S = 20  # of one call
MORE_ADDRESSES = 3 << 29  # than the program itself takes
# Of memory that a call takes, whatever is asked for. A sanitizer keeps 256 MiB that were freed.
MAX_BYTES = (512 if IS_SANITIZED else 256) << 20


# --- objects


class Stop(BaseException):
    """No handler of Exception stops it."""


class Number:
    """An integer whose conversion does something first."""

    def __init__(self, act: Callable[[], Any], value: Any = 1) -> None:
        self.act = act
        self.value = value

    def __index__(self) -> Any:
        self.act()
        return self.value

    __int__ = __index__

    def __float__(self) -> Any:
        self.act()
        return self.value

    def __array__(self, *_: Any, **__: Any) -> Any:
        self.act()
        return np.asarray(self.value)


class Fickle:
    """An integer that is another one each time."""

    def __init__(self) -> None:
        self.values = [1, 1 << 40, -1, 0, 10**30, 1]

    def __index__(self) -> int:
        self.values.append(self.values.pop(0))
        return self.values[-1]

    __int__ = __index__


class Liar:
    """A sequence of another length than it says, in which other things stand each time."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, int) and i >= 3:
            raise IndexError(i)
        return Fickle()


class Unlike:
    """Equal to everything, and of every truth."""

    def __init__(self) -> None:
        self.asked = False

    def __eq__(self, other: object) -> Any:
        return NotImplemented if self.asked else np.ones(3)

    def __hash__(self) -> int:
        return hash("axis")

    def __bool__(self) -> bool:
        self.asked = not self.asked
        return self.asked

    def __getattr__(self, name: str) -> Any:
        raise Stop(name)


class Classless:
    """Its class loses what makes it an integer when it is used as one."""

    def __index__(self) -> int:
        def again(self: object) -> int:
            return 0

        if hasattr(Twin, "__index__"):
            del Twin.__index__
        else:
            Twin.__index__ = again  # type: ignore[attr-defined]
        return 0


class Twin:
    def __array__(self, *_: Any, **__: Any) -> Any:
        return np.array([0, 1])


class Reshaped(np.ndarray):
    """An array that is another one as soon as it is copied."""

    ready = False

    def __array_finalize__(self, source: Any) -> None:
        if Reshaped.ready and source is not None:
            self.__setstate__((1, (1,), np.dtype("f8"), False, np.float64(0.5).tobytes()))


def raises(error: BaseException) -> None:
    raise error


def in_thread(act: Callable[[], Any]) -> None:
    thread = threading.Thread(target=act)
    thread.start()
    thread.join()


def changing(change: Callable[[list[Any]], Any], first: Any = None) -> list[Any]:
    """A list that is changed while it is read."""
    items: list[Any] = [] if first is None else [first]
    items += [Number(lambda: change(items)) for _ in range(3)]
    return items


class Subclass(list[Any]):
    def __iter__(self) -> Iterator[Any]:
        items = [*super().__iter__()]
        self.clear()
        return iter(items)


def reshaped() -> Any:
    Reshaped.ready = False
    made = np.ones((40, 50)).view(Reshaped).T
    Reshaped.ready = True
    return made


def grow(items: list[Any]) -> None:
    if len(items) < 100:
        items.extend(items)


def objects(call: Place) -> Iterator[tuple[str, Any]]:
    """Named arguments; ``call`` is the call itself, for an argument that makes it again."""
    depth = [0]

    def again() -> None:
        depth[0] += 1
        if depth[0] < 5:
            call([Number(again), 1])

    yield "cleared", changing(list.clear)
    yield "cleared tuple", (changing(list.clear), 1)
    yield "cleared tensors", changing(list.clear, square())
    yield "grown", changing(grow)
    yield "shortened", changing(lambda items: items[1:] and items.pop())
    yield "cleared by a thread", changing(lambda items: in_thread(items.clear))
    yield "replaced", changing(lambda items: items.__setitem__(0, None))
    yield "subclass", Subclass([1, 1])
    yield "again", [Number(again), 1]
    yield "raises", [Number(lambda: raises(Stop()))]
    yield "raises alone", Number(lambda: raises(Stop()))
    yield "raises interrupt", (1, Number(lambda: raises(KeyboardInterrupt())))
    yield "huge", [Number(int, 10**30)]
    yield "negative", Number(int, -(1 << 62))
    yield "no integer", (Number(int, "1"), 1)
    yield "not implemented", Number(int, NotImplemented)
    yield "fickle", Fickle()
    yield "fickle tuple", (Fickle(), Fickle())
    yield "says too little", Liar(1)
    yield "says too much", Liar(1 << 40)
    yield "says less than nothing", Liar(-1)
    yield "unlike", Unlike()
    yield "unlike list", [Unlike()]
    yield "classless", (Classless(), Twin())
    yield "classless again", (Classless(), Twin())
    if not call.name.startswith("random."):  # NumPy draws some numbers for ever
        yield "reshaped", reshaped()
        yield "reshaped list", [reshaped(), 1]
    yield "surrogate", "\ud800"
    yield "text with a zero", "float32\0"
    yield "generator", (Number(int, i) for i in (0, 1))
    yield "mapping", {Unlike(): 1, "devices": Fickle()}


# --- cycles


def cycles(_: Place) -> list[tuple[str, Any]]:
    return endless()


@lru_cache
def endless() -> list[tuple[str, Any]]:
    return list(make_endless())


def make_endless() -> Iterator[tuple[str, Any]]:
    own: list[Any] = []
    own.append(own)
    yield "itself", own
    later: list[Any] = [1, 2]
    later.append(later)
    yield "itself at the end", later
    pair: list[Any] = [[]]
    pair[0].append(pair)
    yield "in turns", pair
    wide: list[Any] = []
    wide.extend([wide] * 10)
    yield "itself often", wide
    in_tuple: list[Any] = []
    in_tuple.append((in_tuple, in_tuple))
    yield "in a tuple", (in_tuple, 1)
    tensors: list[Any] = [square()]
    tensors.append(tensors)
    yield "tensors", tensors
    front: list[Any] = []
    front += [front, square()]
    yield "before tensors", front
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    yield "deep", deep
    deep = square()
    for _ in range(100_000):
        deep = (deep,)
    yield "deep tensor", deep


# --- sizes

HUGE = (1 << 31, 1 << 40, (1 << 62) - 1, 1 << 63, 10**30, 1e300, float("inf"))


def sizes(_: Place) -> Iterator[tuple[str, Any]]:
    for size in HUGE:
        yield f"{size}", size
        yield f"({size},)", (size,)
        yield f"({size}, 2)", (size, 2)
        yield f"({size}, {size})", (size, size)
    yield "(1 << 20, 1 << 22)", (1 << 20, 1 << 22)


# --- all of them


class TooLong(BaseException): ...


def interrupt(_: int, __: FrameType | None) -> None:
    raise TooLong


def use(result: Any) -> None:
    """Looks at a small result: what is wrong with it shows."""
    for one in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(one, flow.Tensor) and one.size < 1000:
            one.numpy()


def attempt(call: Place, value: Any) -> BaseException | None:
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        use(call(value))
    except TooLong:
        raise
    except BaseException as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return None


def peak_memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def verdict(error: BaseException | None, grown: int) -> str | None:
    """What is wrong with the outcome of a call, and with how much memory it took."""
    if isinstance(error, SystemError) or "C++ type" in str(error):
        return repr(error)
    if isinstance(error, RecursionError) and "getting the repr" not in str(error):
        return repr(error)  # the text of an error may show an argument that is no data
    if grown > MAX_BYTES:
        return f"took {grown >> 20} MiB more than any call before"
    return None


def main() -> None:
    warnings.simplefilter("ignore")
    if not IS_SANITIZED:  # a sanitizer maps terabytes for itself
        with open("/proc/self/statm", encoding="ascii") as file:
            limit = int(file.read().split()[0]) * resource.getpagesize() + MORE_ADDRESSES
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    signal.signal(signal.SIGALRM, interrupt)
    kind, only = sys.argv[1], sys.argv[2:]
    values: Callable[[Place], Iterable[tuple[str, Any]]] = globals()[kind]
    calls, raised, wrong = 0, 0, []
    with open("call", "w", encoding="utf-8") as file:
        for place in places():
            if only and not any(place.name.startswith(name) for name in only):
                continue
            for name, value in values(place):
                file.seek(0)
                file.write(f"{place.name}: {name}\n")
                file.truncate()
                file.flush()
                peak = peak_memory()
                begin = time.perf_counter()
                try:
                    error = attempt(place, value)
                except TooLong:
                    wrong.append(f"{place.name}: {name}: no end in {LIMIT_S} s")
                    continue
                calls, raised = calls + 1, raised + (error is not None)
                if problem := verdict(error, peak_memory() - peak):
                    wrong.append(f"{place.name}: {name}: {problem}")
                if os.environ.get("VERBOSE"):
                    print(
                        f"{time.perf_counter() - begin:.3f} {place.name}: {name}: {error!r}"[:300]
                    )
    while True:
        try:
            flow.synchronize()
            break
        except Exception:
            continue
    assert flow.arange(5).mock().sum().item() == 10
    for one in wrong:
        print(f"wrong: {one}")
    print(calls, raised)


if __name__ == "__main__":
    main()
