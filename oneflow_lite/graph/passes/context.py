"""PassContext: which passes run, who watches them, and their settings. As TVM's has it.

Sequential ─► is_enabled(pass)?  disabled ─► no;  required ─► yes;  else context's level >= its own
each pass ─► instruments: should_run (all) ─► before (all) ─► the pass ─► after (all)
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from oneflow_lite._C import KnownCalls
from oneflow_lite.graph.nearest import nearest
from oneflow_lite.graph.passes.info import KNOWN_NAMES, PassInfo, level_of

if TYPE_CHECKING:
    from oneflow_lite.graph.passes.instruments import PassInstrument
    from oneflow_lite.graph.program import Program

DEFAULT_LEVEL = 2
_INSTRUMENT_METHODS = ("should_run", "run_before_pass", "run_after_pass")  # asked at each pass
_SETTINGS: dict[str, type] = {}


class _Thread(threading.local):
    """The contexts that a thread has entered, the innermost last."""

    def __init__(self) -> None:
        self.entered: list[PassContext] = []


_thread = _Thread()
_numbers: dict[tuple[Any, ...], int] = {}  # of contexts, by their keys


def register_config(key: str, kind: type) -> None:
    """Make a setting known that contexts may have.

    Parameters
    ----------
    key : str
        The name of the pass and of the setting: ``FuseOps.max_depth``.
    kind : type
        Of its values.

    Raises
    ------
    ValueError
        The setting is known with another type.
    """
    if not isinstance(key, str):
        raise TypeError(f"[register_config] key: expected a string, got {key!r}")
    if not isinstance(kind, type):
        raise TypeError(f"[register_config] kind: expected a type, got {kind!r}")
    if _SETTINGS.setdefault(key, kind) is not kind:
        raise ValueError(f"[register_config] {key} is {_SETTINGS[key].__name__} already")


class PassContext:
    """Decides which passes a ``Sequential`` runs. Contexts are of a thread, and nest.

    Parameters
    ----------
    opt_level : int
        Passes of this level and below are enabled.
    required_pass, disabled_pass : sequence of str
        Names of passes that run at any level, and that do not run; a pass in both does not. Passes
        of your own are made before the context.
    instruments : sequence of PassInstrument
        They are asked before each pass, and told after it.
    config : dict
        Settings of passes, by registered names.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> from oneflow_lite.graph import passes
    >>> program = flow.graph.trace(lambda x: (x + 1) * (x + 1), flow.ones(3)).program
    >>> fewer = passes.Sequential([passes.EliminateCommonSubexpr(), passes.DeadCode()])
    >>> len(fewer(program).main.ops)  # the default level is 2, that of the first pass 3
    3
    >>> with passes.PassContext(opt_level=3):
    ...     len(fewer(program).main.ops)
    2
    """

    def __init__(
        self,
        opt_level: int = DEFAULT_LEVEL,
        required_pass: Iterable[str] = (),
        disabled_pass: Iterable[str] = (),
        instruments: Iterable["PassInstrument"] = (),
        config: Mapping[str, Any] | None = None,
    ) -> None:
        self.opt_level = level_of("PassContext", "opt_level", opt_level)
        self.required_pass = _names("required_pass", required_pass)
        self.disabled_pass = _names("disabled_pass", disabled_pass)
        self.instruments = _checked_instruments(instruments)
        self.config = MappingProxyType(_checked_config({} if config is None else config))

    @staticmethod
    def current() -> "PassContext":
        """Return the innermost context of the thread; a default one where it is in none."""
        return PassContext.entered() or PassContext()

    @staticmethod
    def entered() -> "PassContext | None":
        """Return the innermost context of the thread; None: it is in none."""
        return _thread.entered[-1] if _thread.entered else None

    def at_level(self, opt_level: int) -> "PassContext":
        """Return the context with another level."""
        return PassContext(
            opt_level, self.required_pass, self.disabled_pass, self.instruments, self.config
        )

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """What programs that are made in the context depend on: all but its instruments."""
        required, disabled = frozenset(self.required_pass), frozenset(self.disabled_pass)
        config = sorted((key, repr(value)) for key, value in self.config.items())
        return self.opt_level, required, disabled, tuple(config)

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Let the context decide about the passes of a block, which is inside of it already."""
        _thread.entered.append(self)
        try:
            yield
        finally:
            _thread.entered.pop()

    @staticmethod
    def list_configs() -> dict[str, type]:
        """Return the settings that contexts may have, with the types of their values."""
        return dict(_SETTINGS)

    def setting(self, key: str, default: Any) -> Any:
        """Return a setting, or what it is by default."""
        return self.config.get(key, default)

    def is_enabled(self, info: PassInfo) -> bool:
        """Return whether ``Sequential`` runs a pass."""
        if info.name in self.disabled_pass:
            return False
        return info.name in self.required_pass or self.opt_level >= info.level

    def before(self, program: "Program", info: PassInfo) -> bool:
        """Ask all instruments whether a pass runs, and tell them where it does.

        A pass that the context requires runs without a question.
        """
        if info.name not in self.required_pass:
            answers = [each.should_run(program, info) for each in self.instruments]
            if not all(answers):
                return False
        for each in self.instruments:
            each.run_before_pass(program, info)
        return True

    def after(self, program: "Program", info: PassInfo) -> None:
        """Tell all instruments that a pass has run."""
        for each in self.instruments:
            each.run_after_pass(program, info)

    def __enter__(self) -> "PassContext":
        entered: list[PassInstrument] = []
        try:
            for each in self.instruments:
                each.enter_pass_ctx()
                entered.append(each)
        except BaseException:
            for each in entered:
                each.exit_pass_ctx()
            raise
        _thread.entered.append(self)
        _note_context()
        return self

    def __exit__(self, *_: object) -> None:
        _thread.entered.pop()
        _note_context()
        errors = []
        for each in self.instruments:  # one that raises keeps no other from leaving
            try:
                each.exit_pass_ctx()
            except Exception as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def __repr__(self) -> str:
        return (
            f"PassContext(opt_level={self.opt_level}, required_pass={list(self.required_pass)}, "
            f"disabled_pass={list(self.disabled_pass)}, config={dict(self.config)})"
        )


def _note_context() -> None:
    """Tell jitted functions which context the thread is in: they know calls by it, too."""
    context = PassContext.entered()
    number = 0 if context is None else _numbers.setdefault(context.key, len(_numbers) + 1)
    KnownCalls._set_pass_context(number)


def _names(argument: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TypeError(f"[PassContext] {argument}: expected a list of names, got {given!r}")
    names = tuple(given)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"[PassContext] {argument}: expected names, got {name!r}")
        if name not in KNOWN_NAMES:
            raise ValueError(
                f"[PassContext] {argument}: there is no pass {name} so far"
                f"{nearest(name, KNOWN_NAMES)}"
            )
    return names


def _checked_instruments(given: Iterable["PassInstrument"]) -> tuple["PassInstrument", ...]:
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise TypeError(f"[PassContext] instruments: expected a list of them, got {given!r}")
    instruments = tuple(given)
    for each in instruments:
        methods = (getattr(each, name, None) for name in _INSTRUMENT_METHODS)
        if isinstance(each, type) or not all(map(callable, methods)):
            raise TypeError(
                f"[PassContext] instruments: expected objects of PassInstrument, got {each!r}"
            )
    return instruments


def _checked_config(given: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise TypeError(f"[PassContext] config: expected a dict of settings, got {given!r}")
    for key, value in given.items():
        if key not in _SETTINGS:
            raise ValueError(f"[PassContext] config: no setting {key}{nearest(key, _SETTINGS)}")
        if type(value) is not _SETTINGS[key]:
            raise TypeError(
                f"[PassContext] config: {key} is {_SETTINGS[key].__name__}, got {value!r}"
            )
    return dict(given)
