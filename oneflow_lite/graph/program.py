"""Program: functions of operations that run as a whole."""

from collections.abc import Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any

from oneflow_lite.graph.drawing.picture import PathLike, draw_functions
from oneflow_lite.graph.hand.declared import EMPTY, Declared
from oneflow_lite.graph.ir import Function
from oneflow_lite.graph.text import parse, structure_of, text_of
from oneflow_lite.graph.verify import verify


class Program:
    """Functions by name; ``main`` is the one that runs. Immutable: a copy is the program itself.

    ``Program(name)`` is empty: a block of ``building`` fills it, once. Its copy is another one.

    Two programs are equal when the same operations stand in the same order on values of the same
    types; lines and names do not matter, captured tensors count by their position, constants by
    their elements.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> program = flow.graph.trace(lambda x: flow.tanh(x) * 2, flow.ones((2, 3))).program
    >>> program == flow.graph.Program.parse(str(program))
    True
    """

    __slots__ = ("__dict__", "_functions", "declared", "name")

    name: str
    declared: Declared | None  # of a program that was built by hand
    _functions: Mapping[str, Function]

    def __init__(self, name: str, functions: Mapping[str, Function] | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"[Program] name: expected a string, got {type(name).__name__}")
        if functions is not None and "main" not in functions:
            raise ValueError(f"[Program] {name} has no function main, got {sorted(functions)}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "declared", None)
        known = {"main": EMPTY} if functions is None else functions
        object.__setattr__(self, "_functions", dict(known))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"[Program] is immutable; cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"[Program] is immutable; cannot delete {name}")

    def __copy__(self) -> "Program":
        return Program(self.name) if self.is_empty else self

    def __deepcopy__(self, memo: Any) -> "Program":
        return self.__copy__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(
            f"[Program] {self.name} is not pickled, as its captured tensors and functions are the "
            "process's own: write its text, str(program), and read it by Program.parse"
        )

    def _fill(self, function: Function, declared: Declared) -> None:
        """Give an empty program its function: what ends a block of building()."""
        object.__setattr__(self, "_functions", {"main": function})
        object.__setattr__(self, "declared", declared)
        vars(self).clear()  # the structure of the empty program

    @property
    def is_empty(self) -> bool:
        """Nothing has filled it so far."""
        return self.declared is None and self.main is EMPTY

    @property
    def functions(self) -> dict[str, Function]:
        """The functions by name."""
        return dict(self._functions)

    @property
    def main(self) -> Function:
        """The function that runs."""
        return self._functions["main"]

    def __str__(self) -> str:
        return text_of(self.name, self._functions)

    def __repr__(self) -> str:
        return f"Program({self.name!r}, {len(self.main.ops)} operations)"

    @classmethod
    def parse(cls, text: str, constants: Mapping[str, Any] | None = None) -> "Program":
        """Read a program back from its text.

        Parameters
        ----------
        text
            what ``str(program)`` gave.
        constants
            arrays or tensors by digest, for constants too long to stand in the text.

        Raises
        ------
        ValueError
            where the text is no program; names the line.
        """
        if not isinstance(text, str):
            raise TypeError(f"[Program.parse] text: expected a string, got {type(text).__name__}")
        name, functions = parse(text, constants or {})
        return cls(name, functions)

    @cached_property
    def structure(self) -> str:
        """The text without lines and names: equal programs have equal ones."""
        return structure_of(self._functions)

    @cached_property
    def digest(self) -> str:
        """A hash of the structure, the same in every process."""
        return blake2b(self.structure.encode(), digest_size=16).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self is other or self.structure == other.structure

    def __hash__(self) -> int:
        return hash(self.structure)

    def draw(self, path: PathLike) -> None:
        """Write the program as a picture: its operations by layers, with shapes and lines.

        The memory plan is that of these operations, as no pass has changed them. Where extents are
        unknown there is none. ``flow.graph.compile(program).draw(path)`` shows what passes make of
        the program: groups, memory and lanes.

        Parameters
        ----------
        path
            a file that ends in .html (a page that needs nothing else), .svg, or .dot for Graphviz.

        Raises
        ------
        ValueError
            the path ends in something else.

        Examples
        --------
        >>> import tempfile
        >>> import oneflow_lite as flow
        >>> program = flow.graph.trace(lambda x: flow.tanh(x) * 2, flow.ones((2, 3))).program
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     program.draw(f"{folder}/program.svg")
        """
        draw_functions(self.name, self._functions, path)

    def verify(self) -> None:
        """Check the program.

        Raises
        ------
        ValueError
            a value is used before it is made, made twice, or of another program; a type
            is not what the operation makes of its operands. Names the operation and its line.
        """
        for function in self._functions.values():
            verify(function, self._functions)
