"""One case on every library that has it: compared with NumPy's result, then timed in turns."""

import gc
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

import oneflow_lite as flow
from comparison import CANNOT, EACH_EXECUTED
from libraries import OURS, Library
from sweep.calls import Case
from sweep.names import SweepError
from sweep.operands import LETTERS
from sweep.results import Result
from timing import Contender, Effort, Measurement, measure, statement

NUMPY = "NumPy"
# Seconds for which threads may spin after work: ours, NumPy's OpenBLAS (104 ms), and the others'.
OUR_SPIN, OPENBLAS_SPIN = 1e-3, 120e-3
LARGE = 100_000  # from here on several threads work
_PRODUCTS = {
    *("dot", "inner", "vdot", "vecdot", "matvec", "vecmat", "einsum", "convolve", "correlate"),
    *("cov", "corrcoef", "polyfit"),
}
CHECKED = 1_000  # the largest size at which values are compared
ASSIGNS = re.compile(r" \+?= ")  # statements that are no expressions
SAMPLES, SLOW_SAMPLES = 7, 3
MOST_SECONDS, MOST_MAIN_SECONDS = 0.18, 0.9  # that a case at one size may take
# Functions that NumPy has under another name, or as methods only.
_NUMPY = {"flatten": np.ndarray.flatten, "tensor": np.array}
# Functions with other values than NumPy's, but right ones: random, or in another order.
_OTHER_VALUES = ("random.", "empty", "partition", "argpartition", "unique_values", "argsort")


def resolved(library: Library, name: str) -> Callable[..., Any]:
    """Return a library's function of that name; AttributeError where there is none."""
    found: Any = flow if library.module is flow else library.xp
    if library.name == NUMPY:
        found = SimpleNamespace(**(vars(np) | _NUMPY))
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


@dataclass
class Prepared:
    """A case at one size on one library."""

    library: Library
    scope: dict[str, Any]
    code: str
    finish: str = field(default="pass")

    def result(self) -> Any:
        """Run it once."""
        scope = dict(self.scope)
        exec(f"{self.code}; {self.finish}", scope)
        return scope["result"]

    def contender(self, spins: float) -> Contender:
        made = statement(self.library.name, self.code, self.scope, finish=self.finish)
        return replace(made, spins=spins)


def prepared(case: Case, size: int, library: Library) -> Prepared:
    """Give the operands to a library."""
    at = case.setting(size)
    scope: dict[str, Any] = {"lib": library.module, "result": None}
    views = {"xp": np if library.name == NUMPY else library.xp}
    for letter in sorted(case.letters):
        base, view = LETTERS[letter](at)
        if view:
            base = eval(view.format("base"), {**views, "base": library.array(base)})
        scope[letter] = base
    if case.function:
        scope["f"] = resolved(library, case.function)
    call = f"f({case.text})" if case.function else case.text
    code = call if ASSIGNS.search(call) and not case.function else f"result = {call}"
    finish, each = (re.sub(r"\br\b", "result", text) for text in (library.finish, library.each))
    each = finish if size >= EACH_EXECUTED and not case.is_view else each or "pass"
    return Prepared(library, scope, f"{code}; {each}", finish)


# --- values


def leaves(result: Any) -> list[Any]:
    """Return the arrays, numbers and other values in a result."""
    if isinstance(result, (tuple, list)):
        return [leaf for one in result for leaf in leaves(one)]
    return [] if result is None else [result]


def _as_numpy(library: Library, value: Any) -> np.ndarray:
    if isinstance(value, (int, float, complex, bool, bytes, np.generic, np.ndarray, np.dtype)):
        return np.asarray(value)
    if library.module is flow and not isinstance(value, flow.Tensor):
        return np.asarray(0)  # finfo and iinfo
    return np.asarray(eval(f"lambda x, np: {library.numpy.format('x')}")(value, np))


def differs(case: Case, library: Library, found: Any, expected: Any) -> str:
    """Return what a library's result has that NumPy's has not, "" where it is the same."""
    ones, others = leaves(found), leaves(expected)
    if len(ones) != len(others):
        return f"{len(ones)} results, NumPy {len(others)}"
    no_values = case.function.startswith(_OTHER_VALUES) or case.chapter in ("linalg", "fft")
    for one, other in zip(ones, others, strict=True):
        mine, wanted = _as_numpy(library, one), _as_numpy(library, other)
        if mine.shape != wanted.shape:
            return f"shape {mine.shape}, NumPy {wanted.shape}"
        if wanted.dtype.kind not in "biufc" or no_values:
            continue
        near = 1e-2 if wanted.dtype == np.float16 else 1e-3
        if not np.allclose(mine, wanted, rtol=near, atol=near, equal_nan=True):
            return "other values than NumPy"
    return ""


# --- times


def _runs_openblas(case: Case, size: int) -> bool:
    """Whether its threads may work, which then spin."""
    if size < LARGE or case.dtype not in ("float32", "float64", "complex64", "complex128"):
        return False
    return case.function.rpartition(".")[2] in _PRODUCTS or bool(case.letters & {"q", "h"})


def _spins(case: Case, size: int, library: Library, others: float) -> float:
    """Seconds for which a library's threads may spin after the case."""
    if size < EACH_EXECUTED:
        return 0.0
    if library is OURS:
        return OUR_SPIN
    if library.name == NUMPY:
        return OPENBLAS_SPIN if _runs_openblas(case, size) else 0.0
    return others


def _number(contender: Contender, once: float, seconds: float) -> int:
    """Return how often the work fits into some seconds, from a first guess of its time."""
    guess = max(1, round(seconds / 4 / once))
    taken = min(contender.run(guess), contender.run(guess)) / guess
    return max(1, round(seconds / taken))


def timed(
    contenders: Sequence[Contender], seconds: float, most: float = math.inf
) -> Measurement | None:
    """Take samples of each for about so many seconds; None where that takes more than ``most``."""
    once = [min(c.run(1), c.run(1)) for c in contenders]
    waits = sum(contender.spins for contender in contenders)
    if max(once) < seconds / (2 * SAMPLES) and waits < OPENBLAS_SPIN:
        sample = seconds / (2 * SAMPLES * len(contenders))
        numbers = [_number(c, o, sample) for c, o in zip(contenders, once, strict=True)]
        numbered = [replace(c, number=n) for c, n in zip(contenders, numbers, strict=True)]
        return measure(numbered, Effort(SAMPLES, sample, seconds), warm_up=1)
    if (SLOW_SAMPLES + 1) * sum(once) > most:
        return None
    slow = [replace(contender, number=1) for contender in contenders]
    count = min(SAMPLES, max(SLOW_SAMPLES, int(seconds / (sum(once) + waits))))
    return measure(slow, Effort(count, 0.0), warm_up=0)


def _most(case: Case) -> float:
    """Seconds that a case at one size may take."""
    return MOST_MAIN_SECONDS if case.is_main else MOST_SECONDS


class Refused(Exception):
    """NumPy or ours does not take this dtype or layout."""

    def __init__(self, case: Case, size: int, by: Library, error: Exception) -> None:
        where = f"{case.name}, {case.dtype}, {case.layout}, {size} elements"
        super().__init__(f"{where}: {type(error).__name__}: {error}")
        self.by_ours = by is OURS


class Sweep:
    """Measures cases.

    Parameters
    ----------
    libraries : sequence of Library
        Ours, NumPy, and others that take part in the main cases.
    seconds : float
        Time of all samples of a case at one size.
    spins : float
        Seconds for which threads of other libraries than NumPy spin; 0: nothing is waited for.
    """

    def __init__(self, libraries: Sequence[Library], seconds: float, spins: float) -> None:
        self._numpy = next(library for library in libraries if library.name == NUMPY)
        self._others = [x for x in libraries if x is not OURS and x is not self._numpy]
        self._seconds, self._spins = seconds, spins
        self.slow: list[str] = []  # what took too long

    def run(self, case: Case, sizes: Sequence[int]) -> list[Result]:
        """Measure a case at those of the sizes that it has.

        Raises
        ------
        Refused
            When NumPy or ours cannot be called in this way.
        SweepError
            When ours gives something else than NumPy.
        """
        gc.collect()
        gc.freeze()  # or each measurement's collection would look at all that JAX keeps
        found: list[Result] = []
        others = list(self._others) if case.is_main else []
        for size in (size for size in case.sizes if size in sizes):
            if found and self._takes_long(case, size, found[-1]):
                self.slow.append(f"{case.name}, {case.dtype}, {case.layout}, {size}")
                break
            both = self.both(case, size, is_first=not found)
            if not found or size == CHECKED:
                others = [x for x in others if self._takes_part(case, size, x, both[0])]
            made = [*both, *(prepared(case, size, library) for library in others)]
            measured = self._measure(case, size, made)
            if measured is None:
                self.slow.append(f"{case.name}, {case.dtype}, {case.layout}, {size}")
                break
            found.append(Result.of(case, size, measured))
        return found

    def _takes_long(self, case: Case, size: int, smaller: Result) -> bool:
        """Whether it will take too long, by what a smaller size took."""
        once = smaller.seconds * (1 + smaller.ratio) * size / smaller.size
        return smaller.size >= LARGE and (SLOW_SAMPLES + 1) * once > _most(case)

    def again(self, case: Case, size: int) -> Result:
        """Measure ours and NumPy once more, with more samples."""
        measured = self._measure(case, size, self.both(case, size, is_first=False), times=4)
        assert measured is not None
        return Result.of(case, size, measured)

    def _measure(
        self, case: Case, size: int, made: Sequence[Prepared], times: int = 1
    ) -> Measurement | None:
        contenders = [one.contender(self._spun(case, size, one.library)) for one in made]
        most = math.inf if times > 1 else _most(case)
        return timed(contenders, times * self._seconds, most)

    def _spun(self, case: Case, size: int, library: Library) -> float:
        return _spins(case, size, library, self._spins) if self._spins else 0.0

    def both(self, case: Case, size: int, is_first: bool = True) -> list[Prepared]:
        """NumPy and ours, whose result has been compared at the first size and up to CHECKED."""
        is_checked = is_first or size <= CHECKED
        made: list[Prepared] = []
        results: list[Any] = []
        for library in (self._numpy, OURS):
            try:
                made.append(prepared(case, size, library))
                results.append(made[-1].result() if is_checked else None)
            except CANNOT as error:
                raise Refused(case, size, library, error) from error
        wrong = differs(case, OURS, results[1], results[0]) if is_checked else ""
        if wrong:
            where = f"{case.name}, {case.dtype}, {case.layout}, {size} elements"
            raise SweepError(f"[sweep] {where}: {wrong}")
        return made

    def _takes_part(self, case: Case, size: int, library: Library, numpy: Prepared) -> bool:
        """Whether another library has the function and gives the same."""
        try:
            found = prepared(case, size, library).result()
            return not differs(case, library, found, numpy.result())
        except CANNOT:
            return False
