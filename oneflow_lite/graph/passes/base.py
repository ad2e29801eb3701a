"""Passes: a Program in, a Program out. Of functions, of programs, and several in a row."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol, overload

from oneflow_lite.graph.ir import Function
from oneflow_lite.graph.nearest import nearest
from oneflow_lite.graph.passes.context import PassContext
from oneflow_lite.graph.passes.info import PassInfo, checked_info
from oneflow_lite.graph.passes.parts import check_ends, check_parts
from oneflow_lite.graph.program import Program

_REGISTRY: dict[str, "Pass"] = {}


class Pass(ABC):
    """Makes another program of a program. ``info`` has its name and its level.

    A call runs the pass at any level, also where it is disabled: only an instrument refuses. It
    runs in the thread's ``PassContext``.
    """

    info: PassInfo
    is_checked = False  # what it makes is verified: passes of users

    def __call__(self, program: Program) -> Program:
        """Return what the pass makes of a program.

        Raises
        ------
        TypeError
            The argument is no Program, or the pass makes none; it puts something into a program
            that is no part of one.
        ValueError
            A pass of a user makes an ill-typed or cyclic program.
        """
        if not isinstance(program, Program):
            raise TypeError(f"[{self.info.name}] expected a Program, got {type(program).__name__}")
        context = PassContext.current()
        if not context.before(program, self.info):
            return program
        try:
            made = self.run(program, context)
        except Exception as error:
            error.add_note(f"in the pass {self.info.name}, on the program {program.name}")
            raise
        if not isinstance(made, Program):
            raise TypeError(
                f"[{self.info.name}] expected a Program from the pass, got {type(made).__name__}"
            )
        if self.is_checked and made is not program:
            self._verify(made, program)
        context.after(made, self.info)
        return made

    @abstractmethod
    def run(self, program: Program, context: PassContext) -> Program:
        """Return what the pass makes; instruments are asked elsewhere."""

    def _verify(self, made: Program, program: Program) -> None:
        try:
            check_parts(made)
            made.verify()
            check_ends(made.main, program.main)
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"[{self.info.name}] makes a program that is wrong: {error}") from error

    def __repr__(self) -> str:
        return f"<pass {self.info.name}, level {self.info.level}>"


class FunctionPass(Pass):
    """Goes through the functions of a program one by one; primitive ones are left alone."""

    def run(self, program: Program, context: PassContext) -> Program:
        """Return the program with each function transformed."""
        functions = program.functions
        changed = False
        for name, function in functions.items():
            if function.primitive:
                continue
            made = self.transform_function(function, program, context)
            if not isinstance(made, Function):
                raise TypeError(
                    f"[{self.info.name}] expected a Function from transform_function, got "
                    f"{type(made).__name__}"
                )
            functions[name] = made
            changed = changed or made is not function
        return Program(program.name, functions) if changed else program

    @abstractmethod
    def transform_function(
        self, function: Function, program: Program, context: PassContext
    ) -> Function:
        """Return what the pass makes of one function."""


class ModulePass(Pass):
    """Sees a program as a whole."""

    def run(self, program: Program, context: PassContext) -> Program:
        """Return the transformed program."""
        return self.transform_module(program, context)

    @abstractmethod
    def transform_module(self, program: Program, context: PassContext) -> Program:
        """Return what the pass makes of the program."""


class Sequential(Pass):
    """Passes in a row: each that the context enables, after its prerequisites.

    A prerequisite runs each time, at any level, also where it is disabled.

    Parameters
    ----------
    passes : sequence of Pass
        In order.
    opt_level : int
        Of the row, where it is a part of another one.
    name : str
        Of the row.
    required : sequence of str
        Prerequisites of the row, where it is a part of another one.
    """

    def __init__(
        self,
        passes: Iterable[Pass] = (),
        opt_level: int = 0,
        name: str = "sequential",
        required: Iterable[str] = (),
    ) -> None:
        level, needed = checked_info("Sequential", opt_level, name, required)
        if not isinstance(passes, Iterable) or isinstance(passes, str):
            raise TypeError(f"[Sequential] passes: expected a list of passes, got {passes!r}")
        self.passes = tuple(passes)
        for each in self.passes:
            if not isinstance(each, Pass):
                raise TypeError(f"[Sequential] expected passes, got {each!r}")
        self.info = PassInfo(level, name, needed)

    def run(self, program: Program, context: PassContext) -> Program:
        """Return what the enabled passes make of the program, one after the other."""
        for each in self.passes:
            if not context.is_enabled(each.info):
                continue
            for name in each.info.required:
                program = find_pass(name)(program)
            program = each(program)
        return program


def register_pass(made: Pass) -> Pass:
    """Make a pass known by its name, so that others may require it."""
    _REGISTRY[made.info.name] = made
    return made


def find_pass(name: str) -> Pass:
    """Return the registered pass of this name.

    Raises
    ------
    ValueError
        There is none.
    """
    if name not in _REGISTRY:
        raise ValueError(f"[find_pass] no pass {name}{nearest(name, _REGISTRY)}")
    return _REGISTRY[name]


class _Decorator(Protocol):
    """What makes a pass of a function, or a class of passes of a class."""

    @overload
    def __call__(self, transform: type[Any], /) -> Any: ...
    @overload
    def __call__(self, transform: Callable[..., Any], /) -> Pass: ...


@overload
def function_pass(
    transform: None = None,
    *,
    opt_level: int = ...,
    name: str | None = ...,
    required: Iterable[str] = ...,
) -> _Decorator: ...
@overload
def function_pass(
    transform: type[Any],
    *,
    opt_level: int = ...,
    name: str | None = ...,
    required: Iterable[str] = ...,
) -> Any: ...
@overload
def function_pass(
    transform: Callable[..., Any],
    *,
    opt_level: int = ...,
    name: str | None = ...,
    required: Iterable[str] = ...,
) -> "Pass": ...
def function_pass(
    transform: Any = None,
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] = (),
) -> Any:
    """Make a pass of a function ``transform(function, program, context) -> Function``.

    Decorates a class with a method ``transform_function``, too: its objects are passes then. What
    such a pass makes is verified.

    Parameters
    ----------
    opt_level : int
        From which level of the context ``Sequential`` runs it.
    name : str
        Of the pass; else that of the function or class.
    required : sequence of str
        Names of registered passes that ``Sequential`` runs before it.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> @passes.function_pass(opt_level=1)
    ... def count(function, program, context):
    ...     print(len(function.ops), "operations")
    ...     return function
    >>> program = flow.graph.trace(lambda x: x * 2 + 1, flow.ones(3)).program
    >>> count(program) is program
    2 operations
    True
    """
    return _decorated(transform, FunctionPass, "transform_function", opt_level, name, required)


@overload
def module_pass(
    transform: None = None,
    *,
    opt_level: int = ...,
    name: str | None = ...,
    required: Iterable[str] = ...,
) -> _Decorator: ...
@overload
def module_pass(
    transform: type[Any],
    *,
    opt_level: int = ...,
    name: str | None = ...,
    required: Iterable[str] = ...,
) -> Any: ...
@overload
def module_pass(
    transform: Callable[..., Any],
    *,
    opt_level: int = ...,
    name: str | None = ...,
    required: Iterable[str] = ...,
) -> "Pass": ...
def module_pass(
    transform: Any = None,
    *,
    opt_level: int = 0,
    name: str | None = None,
    required: Iterable[str] = (),
) -> Any:
    """Make a pass of a function ``transform(program, context) -> Program``.

    Decorates a class with a method ``transform_module``, too. Parameters are those of
    ``function_pass``.
    """
    return _decorated(transform, ModulePass, "transform_module", opt_level, name, required)


def _decorated(
    transform: Any,
    kind: Any,
    method: str,
    level: int,
    name: str | None,
    required: Iterable[str],
) -> Any:
    op = method.replace("transform_", "") + "_pass"
    level, needed = checked_info(op, level, name, required)

    def decorate(given: Any) -> Any:
        if not callable(given):
            raise TypeError(f"[{op}] transform: expected a function or a class, got {given!r}")
        info = PassInfo(level, name or given.__name__, needed)
        own = {"info": info, "is_checked": True, "__doc__": given.__doc__}
        if isinstance(given, type):
            if not callable(getattr(given, method, None)):
                raise TypeError(f"[{info.name}] expected a class with a method {method}")
            return type(given.__name__, (given, kind), own)
        run: Callable[..., Any] = given
        own[method] = lambda _, *arguments: run(*arguments)
        return type(info.name, (kind,), own)()

    return decorate if transform is None else decorate(transform)
