"""Instruments: what sees each pass before and after it runs, and may keep it from running."""

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from oneflow_lite.graph.passes.base import Pass
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo
from oneflow_lite.graph.program import Program


class PassInstrument:
    """Does nothing, and refuses no pass: a base for others. A context calls its methods."""

    def enter_pass_ctx(self) -> None:
        """The context is entered."""

    def exit_pass_ctx(self) -> None:
        """The context is left."""

    def should_run(self, program: Program, info: PassInfo) -> bool:
        """Return whether a pass may run; it is not asked of a pass that the context requires."""
        return True

    def run_before_pass(self, program: Program, info: PassInfo) -> None:
        """A pass is about to run on this program."""

    def run_after_pass(self, program: Program, info: PassInfo) -> None:
        """A pass has run and made this program."""


_METHODS = tuple(name for name in vars(PassInstrument) if not name.startswith("__"))


def pass_instrument(given: type) -> Callable[..., Any]:
    """Make an instrument of a class that has some of the methods of ``PassInstrument``.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> @passes.pass_instrument
    ... class Names:
    ...     def run_before_pass(self, program, info):
    ...         print(info.name)
    >>> program = flow.graph.trace(lambda x: x + 1, flow.ones(3)).program
    >>> with passes.PassContext(instruments=[Names()]):
    ...     _ = passes.DeadCode()(program)
    DeadCode
    """
    if not isinstance(given, type):
        raise TypeError(f"[pass_instrument] expected a class, got {given!r}")
    if not any(callable(getattr(given, name, None)) for name in _METHODS):
        raise TypeError(f"[pass_instrument] {given.__name__} has none of {', '.join(_METHODS)}")
    return type(given.__name__, (given, PassInstrument), {"__doc__": given.__doc__})


class PrintIR(Pass, PassInstrument):
    """Prints the program: as a pass, where it stands; as an instrument, before each pass.

    Parameters
    ----------
    header : str
        A line before each text.
    file : text file
        Where the text goes; None: the standard output.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> program = flow.graph.trace(lambda x: -x, flow.ones(3)).program
    >>> with passes.PassContext(instruments=[passes.PrintIR()]):
    ...     _ = passes.DeadCode()(program)  # doctest: +ELLIPSIS
    # before DeadCode
    program <lambda>
    %0: f64[3] cpu = parameter x
    %1: f64[3] cpu = negative(%0)...
    """

    info = PassInfo(0, "PrintIR")

    def __init__(self, header: str = "", file: TextIO | None = None) -> None:
        self._header = header
        self._file = file

    def run(self, program: Program, context: PassContext) -> Program:
        """Print the program, and leave it as it is."""
        self._print(program, "the program")
        return program

    def run_before_pass(self, program: Program, info: PassInfo) -> None:
        """Print the program that the pass gets."""
        self._print(program, f"before {info.name}")

    def _print(self, program: Program, title: str) -> None:
        file = sys.stdout if self._file is None else self._file
        print(f"# {title}" + (f": {self._header}" if self._header else ""), file=file)
        print(program, file=file, end="")


class PassTiming(PassInstrument):
    """Measures how long each pass takes, those inside of others too.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> timing = passes.PassTiming()
    >>> program = flow.graph.trace(lambda x: x + 1, flow.ones(3)).program
    >>> with passes.PassContext(instruments=[timing]):
    ...     _ = passes.DeadCode()(program)
    >>> [(name, depth, seconds >= 0) for name, depth, seconds in timing.times]
    [('DeadCode', 0, True)]
    """

    def __init__(self) -> None:
        self.times: list[tuple[str, int, float]] = []  # name, depth, seconds; in order of begin
        self._open: list[tuple[int, float]] = []

    def enter_pass_ctx(self) -> None:
        """Forget what was measured before."""
        self.times.clear()
        self._open.clear()

    def run_before_pass(self, program: Program, info: PassInfo) -> None:
        """Begin to measure."""
        self._open.append((len(self.times), time.perf_counter()))
        self.times.append((info.name, len(self._open) - 1, float("nan")))

    def run_after_pass(self, program: Program, info: PassInfo) -> None:
        """End what began last under this name; passes inside of it that raised are not ended."""
        while self._open:
            place, begun = self._open.pop()
            name, depth, _ = self.times[place]
            if name == info.name:
                self.times[place] = (name, depth, time.perf_counter() - begun)
                return

    def render(self) -> str:
        """Return a line for each pass, with its milliseconds."""
        return "".join(
            f"{'  ' * depth}{name}: {1000 * seconds:.3f} ms\n"
            for name, depth, seconds in self.times
        )
