"""The same program on every library: checked first, then measured over sizes.

A program is a plain function of a namespace and arrays. Arrays are made, and results compared with
NumPy's, outside the timed region: our bits are NumPy's, the others' values are near. With
EACH_EXECUTED elements or more, a call has been executed before the next begins, so that no library
can leave out a result that the next call replaces; with fewer, a sample ends with the last's end.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import oneflow_lite as flow
from libraries import OURS, Library, for_programs, installed
from report import Report, size_str
from timing import Contender, Effort, Measurement, Summary, measure, statement

Arrays = tuple[np.ndarray, ...]
NUMPY, TORCH, JIT, UNFUSED = "NumPy", "PyTorch", "JAX jit", "oneflow_lite, unfused"
LARGE, HUGE, QUICK = 10**7, 10**8, 10**4  # sizes: of the claims, with --full, with --quick
AT_HUGE = (OURS.name, NUMPY, JIT)  # for all contenders there is not memory enough
EACH_EXECUTED = 10_000
SLOWEST = 1.2  # target, in times of NumPy, at the size where ours does worst
CLAIMED_SAMPLES = 21  # of what has targets, however long they take
# Threads of a library spin for a while after its work, and would take a core from the next.
PAUSE_SECONDS = 10e-3
SMALL = 1000
# Of a library that lacks a function, a dtype or, compiled, shapes that depend on values.
CANNOT = (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True)
class Program:
    """What is computed, and of which arrays.

    Attributes
    ----------
    run : callable
        ``run(xp, *arrays)`` gives an array or a tuple of arrays.
    inputs : callable
        ``inputs(size)`` gives the arrays.
    tolerance : float
        Relative error that others than ours may have.
    exact : bool
        Whether our bits are NumPy's.
    checked : int
        The size at which each library's values are compared.
    least, most : int
        The smallest and the largest size that there is.
    targets : mapping
        Of ours at LARGE elements, in times of a contender.
    claimed : sequence of int
        More sizes with a target, of which there are to be samples enough.
    headline : bool
        Whether the first screen has it.
    part : Program, optional
        What no run of it can do without; ours is measured beside it.
    """

    name: str
    run: Callable[..., Any]
    inputs: Callable[[int], Arrays]
    tolerance: float = 1e-3
    exact: bool = True
    checked: int = SMALL
    least: int = 1
    most: int = LARGE
    targets: Mapping[str, float] = field(default_factory=dict)
    claimed: Sequence[int] = ()
    headline: bool = False
    part: "Program | None" = None


class Comparison:
    """Runs programs on the libraries that are there, and collects what they cannot run.

    Parameters
    ----------
    unfused : bool
        Whether ours is measured without fusion, too.
    pause : float
        Seconds before each sample.
    more : sequence of Library
        Other ways to run a program.
    """

    def __init__(
        self,
        name: str,
        effort: Effort,
        quick: bool,
        unfused: bool = False,
        pause: float = PAUSE_SECONDS,
        more: Sequence[Library] = (),
    ) -> None:
        found, missing = installed(only_numpy=quick)
        self._libraries = [*for_programs(found), *more]
        self._effort = effort
        self._quick = quick
        self._pause = 0.0 if quick else pause
        self._unfused = unfused and "fusion" in dir(flow.flags)
        self._able: dict[str, list[Library]] = {}
        self._cannot: dict[str, list[str]] = {}
        self.report = Report(name, {library.name: library.version for library in found})
        if missing:
            self.report.note(f"not installed, skipped: {', '.join(missing)}")

    def at(
        self,
        program: Program,
        size: int,
        effort: Effort | None = None,
        pause: float | None = None,
    ) -> Measurement:
        """Measure a program at one size, with the contenders that can run it.

        ``effort``, ``pause``: other ones than those of the comparison.
        """
        if program.name not in self._able:
            self._able[program.name] = self._find_able(program)
        arrays = program.inputs(size)
        check(program, OURS, arrays, _results(program, _reference(), arrays))
        contenders = []
        for library in self._able[program.name]:
            if size < HUGE or library.name in AT_HUGE:
                contenders.append(_contender(program, library, arrays))
            if library is OURS and self._unfused:
                contenders.append(_without_fusion(contenders[-1]))
        if program.part:
            part = _contender(program.part, OURS, program.part.inputs(size))
            contenders.append(replace(part, name=program.part.name))
        effort = self._effort if effort is None else effort
        if size in program.claimed or (program.targets and size == LARGE):
            samples = max(CLAIMED_SAMPLES, effort.samples)
            effort = replace(effort, samples=samples, most_seconds=math.inf)
        pause = self._pause if pause is None else pause
        return measure(contenders, effort, warm_up=1, pause=pause)

    def curve(
        self,
        program: Program,
        sizes: Iterable[int],
        effort: Effort | None = None,
        pause: float | None = None,
    ) -> dict[int, Measurement]:
        """Measure and report a program at those of the sizes that it has; how: as for at()."""
        sizes = {min(max(size, program.least), program.most) for size in sizes}
        found = {size: self.at(program, size, effort, pause) for size in sorted(sizes)}
        self.report.curve(program.name, found, NUMPY)
        return found

    def claims(
        self,
        program: Program,
        curve: Mapping[int, Measurement],
        now: float | None = None,
        goal: float | None = None,
    ) -> Measurement:
        """Report the program's targets, and those of its slowest size; return its LARGE size."""
        size = min(LARGE, max(curve))
        question, large = f"{program.name}, {size_str(size)}", curve[size]
        for name, target in program.targets.items():
            if name in large.names:
                ratio = large.ratio(OURS.name, name)
                self.report.claim(question, ratio, f"x {name}", now=target, goal=target)
        at, ratio = worst(curve)
        slowest, at_size = f"{program.name}, slowest size", size_str(at)
        self.report.claim(slowest, ratio, f"x {NUMPY}", now=now, goal=goal, at=at_size)
        if program.headline:
            self.report.headline(question, large, OURS.name)
        return large

    def sizes(self, full: bool = False) -> list[int]:
        """Return the powers of ten to measure at."""
        largest = QUICK if self._quick else HUGE if full else LARGE
        return [10**n for n in range(9) if 10**n <= largest]

    def finish(self, json_file: Path | None) -> None:
        for name, programs in self._cannot.items():
            self.report.note(f"{name} has no: {', '.join(programs)}")
        self.report.finish(json_file)

    def _find_able(self, program: Program) -> list[Library]:
        """Compare each library's values at a small size; return those that run the program."""
        arrays = program.inputs(max(program.least, program.checked))
        expected = _results(program, _reference(), arrays)
        able = []
        for library in self._libraries:
            try:
                check(program, library, arrays, expected)
            except CANNOT:
                if library.module is flow:
                    raise
                self._cannot.setdefault(library.name, []).append(program.name)
            else:
                able.append(library)
        return able


def worst(curve: Mapping[int, Measurement], name: str = OURS.name) -> tuple[int, Summary]:
    """Return the size at which a contender's ratio to NumPy is largest, and the ratio."""
    ratios = {size: measurement.ratio(name, NUMPY) for size, measurement in curve.items()}
    size = max(ratios, key=lambda size: ratios[size].median)
    return size, ratios[size]


def _reference() -> Library:
    return next(library for library in installed(only_numpy=True)[0] if library.name == NUMPY)


def _results(program: Program, library: Library, arrays: Arrays) -> Arrays:
    """Run a program once; return its results as NumPy arrays."""
    call = library.compile(program.run, library.xp)
    found = call(*(library.array(array) for array in arrays))
    looked_at = eval(f"lambda x, np: {library.numpy.format('x')}")
    return tuple(
        np.asarray(looked_at(one, np)) for one in (found if isinstance(found, tuple) else (found,))
    )


def check(program: Program, library: Library, arrays: Arrays, expected: Arrays) -> None:
    """Compare a library's results with NumPy's.

    Raises
    ------
    AssertionError
        When the values differ by more than they may; when the bits of ours do.
    """
    what = f"[{program.name}] {library.name}"
    for one, other in zip(_results(program, library, arrays), expected, strict=True):
        if library.module is flow:
            found, wanted = ((str(x.dtype), x.shape) for x in (one, other))
            assert found == wanted, f"{what}: {found}, expected {wanted}"
        if library.module is flow and program.exact:
            assert one.tobytes() == other.tobytes(), f"{what}: other bits than NumPy's"
        else:
            near = program.tolerance
            np.testing.assert_allclose(one, other, rtol=near, atol=near, err_msg=what)


def _contender(program: Program, library: Library, arrays: Arrays) -> Contender:
    names = {f"x{i}": library.array(array) for i, array in enumerate(arrays)}
    call = library.compile(program.run, library.xp)
    is_large = max(array.size for array in arrays) >= EACH_EXECUTED
    each = library.finish if is_large else library.each or "pass"
    code = f"r = f({', '.join(names)}); {each}"
    scope = {"f": call, "lib": library.module, "r": None, **names}
    return statement(library.name, code, scope, finish=library.finish)


def _without_fusion(contender: Contender) -> Contender:
    def run(times: int) -> float:
        with flow.flags(fusion=False):
            return contender.run(times)

    return Contender(UNFUSED, run)
