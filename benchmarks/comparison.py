"""The same program on every library: checked first, then measured, at one size or at many.

A program is a plain function of a namespace and arrays. Every call has been executed when the next
begins; arrays are made and results compared with NumPy's outside the timed region. Our bits are
NumPy's; the others' values are near.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import oneflow_lite as flow
from libraries import OURS, Library, for_programs, installed
from report import Report
from timing import Contender, Effort, Measurement, Summary, measure, statement

Arrays = tuple[np.ndarray, ...]
NUMPY = "NumPy"
# Threads of a library spin for some milliseconds after its work, and would take a core from the next.
PAUSE_SECONDS = 4e-3
SMALL = 1000  # elements with which each library's values are compared
# What a library raises when it lacks a function, a dtype or, compiled, shapes that depend on values.
CANNOT = (AttributeError, IndexError, NotImplementedError, RuntimeError, TypeError, ValueError)
UNFUSED = "oneflow_lite, unfused"


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
    least : int
        The smallest size that there is.
    """

    name: str
    run: Callable[..., Any]
    inputs: Callable[[int], Arrays]
    tolerance: float = 1e-3
    exact: bool = True
    least: int = 1


class Comparison:
    """Runs programs on the libraries that are there, and collects what they cannot run.

    Parameters
    ----------
    unfused : bool
        Whether ours is measured without fusion, too.
    """

    def __init__(self, name: str, effort: Effort, quick: bool, unfused: bool = False) -> None:
        found, missing = installed(only_numpy=quick)
        self._libraries = for_programs(found)
        self._effort = effort
        self._pause = 0.0 if quick else PAUSE_SECONDS
        self._unfused = unfused and "fusion" in dir(flow.flags)
        self._able: dict[str, list[Library]] = {}
        self._cannot: dict[str, list[str]] = {}
        self.report = Report(name, {library.name: library.version for library in found})
        if missing:
            self.report.note(f"not installed, skipped: {', '.join(missing)}")

    def at(self, program: Program, size: int, only: Iterable[str] = ()) -> Measurement:
        """Measure a program at one size, with the contenders that can run it (or some of them)."""
        if program.name not in self._able:
            self._able[program.name] = self._find_able(program)
        arrays = program.inputs(size)
        check(program, OURS, arrays, _results(program, _reference(), arrays))
        contenders = []
        for library in self._able[program.name]:
            if not only or library.name in only:
                contenders.append(_contender(program, library, arrays))
            if library is OURS and self._unfused:
                contenders.append(_without_fusion(contenders[-1]))
        return measure(contenders, self._effort, warm_up=1, pause=self._pause)

    def curve(
        self, program: Program, sizes: Iterable[int], only: Mapping[int, Iterable[str]] | None = None
    ) -> dict[int, Measurement]:
        """Measure and report a program at some sizes.

        Parameters
        ----------
        only : mapping, optional
            The contenders at sizes that are too much for all of them.
        """
        found = {}
        for size in sorted({max(size, program.least) for size in sizes}):
            found[size] = self.at(program, size, (only or {}).get(size, ()))
        self.report.curve(program.name, found, NUMPY)
        return found

    def finish(self, json_file: Path | None) -> None:
        for name, programs in self._cannot.items():
            self.report.note(f"{name} has no: {', '.join(programs)}")
        self.report.finish(json_file)

    def _find_able(self, program: Program) -> list[Library]:
        """Compare each library's values at a small size; return those that run the program."""
        arrays = program.inputs(max(program.least, SMALL))
        expected = _results(program, _reference(), arrays)
        able = []
        for library in self._libraries:
            try:
                check(program, library, arrays, expected)
            except CANNOT:
                if library is OURS:
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
        if library is OURS:
            found, wanted = ((str(x.dtype), x.shape) for x in (one, other))
            assert found == wanted, f"{what}: {found}, expected {wanted}"
        if library is OURS and program.exact:
            assert one.tobytes() == other.tobytes(), f"{what}: other bits than NumPy's"
        else:
            near = program.tolerance
            np.testing.assert_allclose(one, other, rtol=near, atol=near, err_msg=what)


def _contender(program: Program, library: Library, arrays: Arrays) -> Contender:
    names = {f"x{i}": library.array(array) for i, array in enumerate(arrays)}
    call = library.compile(program.run, library.xp)
    code = f"r = f({', '.join(names)}); {library.finish}"
    return statement(library.name, code, {"f": call, "lib": library.module, **names})


def _without_fusion(contender: Contender) -> Contender:
    def run(times: int) -> float:
        with flow.flags(fusion=False):
            return contender.run(times)

    return Contender(UNFUSED, run)
