"""Functions that are traced at their first call, and run as a whole from then on.

call ─► known call ─► program ─► results
  │                      ▲
  └─► key ───────────────┤
       └─ new ─► trace, again while an argument turns out to be static
"""

import warnings
from collections import OrderedDict, deque
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial, update_wrapper
from itertools import count
from typing import TYPE_CHECKING, Any, Concatenate, Generic, overload

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import NumberKindError, Tensor, TraceError
from oneflow_lite.graph.arguments.parameters import Parameters
from oneflow_lite.graph.arguments.sharing import SharedMemoryError, Sharing
from oneflow_lite.graph.arguments.slots import NeedsValueError, Slots
from oneflow_lite.graph.compiling import compiled
from oneflow_lite.graph.drawing.picture import PathLike, draw_newest
from oneflow_lite.graph.effects import generators
from oneflow_lite.graph.jit import methods
from oneflow_lite.graph.jit.checking import checked
from oneflow_lite.graph.jit.donating import check_donated, donated_places, with_donated
from oneflow_lite.graph.jit.entry import Entry, StaticNumbers, arranged
from oneflow_lite.graph.jit.freezing import frozen
from oneflow_lite.graph.jit.keys import (
    Brought,
    Part,
    described,
    is_number,
    key_of,
    refuse_iterators,
    refuse_specs,
    refuse_unhashable,
    refused_array,
    with_sharing,
)
from oneflow_lite.graph.jit.known import UnknownKindError, arranger_of, patterns_of
from oneflow_lite.graph.jit.options import Options
from oneflow_lite.graph.jit.reasons import reason_of
from oneflow_lite.graph.jit.report import Report
from oneflow_lite.graph.jit.signatures import P, Q, R
from oneflow_lite.graph.jit.steps import Call
from oneflow_lite.graph.jit.watching import in_reach, watches
from oneflow_lite.graph.literals import literal
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.sites import at, user_site
from oneflow_lite.graph.tracing import Traced, traced
from oneflow_lite.graph.trees import KeptMethod, TooDeepError, mapped
from oneflow_lite.locks import make_lock

_WARN_AT = 8  # traces of one function
_MOST_REASONS = 256
_MOST_OBJECTS = 64  # without a __dict__, whose bound methods are kept

_numbers = count()


class Jitted(_C.KnownCalls, Generic[P, R]):
    """What jit() returns: a call is looked up here when the base class does not know it."""

    __name__: str
    __qualname__: str
    if TYPE_CHECKING:  # the call itself is native

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Run the program of these arguments."""

    def __init__(self, function: Callable[P, R], options: Options, op: str = "jit") -> None:
        if not callable(function):
            raise TypeError(f"[jit] expected a function, got {type(function).__name__}")
        options.verify()
        self._options = options
        self._most = options.max_programs
        self._function = function
        self._name = getattr(function, "__name__", type(function).__name__)
        self._label = f"[{op}] {self._name}"  # of errors
        self._parameters = Parameters(function)
        self._static = self._parameters.chosen("static", options.static)
        self._donated = self._parameters.chosen("donate", options.donate)
        self._entries: OrderedDict[Any, Entry] = OrderedDict()
        self._statics: OrderedDict[Any, StaticNumbers] = OrderedDict()  # by the key without them
        self._shared: OrderedDict[Any, tuple[Tensor, ...]] = OrderedDict()  # captures, by the key
        self._bound: OrderedDict[int, Jitted[..., Any]] = OrderedDict()
        self._owner: Any = None  # of a method, which the class has as this:
        self._descriptor: Any = None
        self._kept_as = f"{self._name} of jit {next(_numbers)}"  # among an object's attributes
        self._lock = make_lock()  # guards all that changes; one thread traces, others wait
        self._reasons: deque[str] = deque(maxlen=_MOST_REASONS)
        self._traces = self._since_clear = 0
        self._breaks: deque[str] = deque(maxlen=_MOST_REASONS)
        update_wrapper(self, function, updated=())
        attributes = getattr(function, "__dict__", {})  # of another Jitted, or of an object, too
        vars(self).update({name: x for name, x in attributes.items() if not hasattr(self, name)})

    @overload
    def __get__(self, owner: None, kind: type) -> "Jitted[P, R]": ...
    @overload
    def __get__(
        self: "Jitted[Concatenate[Any, Q], R]", owner: object, kind: type | None = None
    ) -> "Jitted[Q, R]": ...
    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Make a method of it: jitted methods of different objects have programs of their own."""
        if owner is None:
            return self
        held: Any = getattr(owner, "__dict__", None)
        is_own = type(held) is dict
        found = methods.kept_method(held, self, owner) if is_own else self._bound.get(id(owner))
        if found is not None:
            return found
        static, donate = map(methods.without_self, (self._static, self._donated))
        options = replace(self._options, static=static, donate=donate)
        bound = Jitted(self._function.__get__(owner, kind), options)
        bound._owner, bound._descriptor = owner, self
        if is_own:
            held[self._kept_as] = KeptMethod(bound)
            return bound
        with self._lock:
            self._bound[id(owner)] = bound  # which keeps the owner
            while len(self._bound) > _MOST_OBJECTS:
                self._bound.popitem(last=False)
        return bound

    def __copy__(self) -> "Jitted[P, R]":
        return self

    def __deepcopy__(self, memo: Any) -> "Jitted[P, R]":
        function = deepcopy(self._function, memo)  # itself, but for methods and other objects
        if function is self._function:
            return self
        if id(self) in memo:  # the function leads to it
            copied: Jitted[P, R] = memo[id(self)]
            return copied
        if self._descriptor is not None:
            made: Jitted[P, R] = self._descriptor.__get__(deepcopy(self._owner, memo))
            return made
        return Jitted(function, self._options)

    def __reduce__(self) -> Any:
        if self._descriptor is not None:
            return methods.reduced_method(self._descriptor, self._owner)
        return methods.qualified_name("jit", self._function, self)

    def _look_up(self, *args: Any, **kwargs: Any) -> Any:
        if _C.is_recording():
            return self._function(*args, **kwargs)
        while True:
            entry, brought = self._entry(args, kwargs)
            try:
                if entry.checks or entry.donated or entry.run is None:
                    return self._special_call(entry, brought, args, kwargs)
                results = entry.run(*brought.inputs, *brought.given)
            except NumberKindError as error:
                self._make_all_static(args, kwargs, str(error))
                continue
            except ValueError:
                if not self._shares_memory(entry, args, kwargs, brought):
                    refuse_specs(self._label, entry.parts, self._parameters)
                    raise
                continue
            return arranged(entry, results, brought.given)

    def _special_call(
        self, entry: Entry, brought: Brought, args: Any, kwargs: dict[str, Any]
    ) -> Any:
        """Call eagerly, or beside an eager call, or with tensors that are given up."""
        if entry.run is None or entry.traced is None:
            return self._function(*args, **kwargs)
        run = entry.run
        named = entry.named(brought, self._parameters)
        if entry.donated:
            donated = [named[place] for place in entry.donated]
            others = [x for place, x in enumerate(named) if place not in entry.donated]
            check_donated(self._name, donated, others)
            are_free = all(_C.may_be_taken(x) for _, x in donated)
            if entry.run_in_donated is not None and are_free and not entry.checks:
                run = entry.run_in_donated

        def call() -> Any:
            results = run(*brought.inputs, *brought.given)
            return arranged(entry, results, brought.given)

        if entry.checks:
            entry.checks -= 1
            main = entry.traced.program.main
            captures = main.captures
            held = [("a captured tensor", x.tensor) for x in captures if x.tensor is not None]
            held += [("a captured tensor", x) for x in entry.shared]
            eager = self._eager_call(args, kwargs, brought)
            returned = checked(self._name, eager, call, [*named, *held], generators(main))
        else:
            returned = call()
        for place in entry.donated:
            _C.give_up(brought.tensors[place], self._name)
        return returned

    def _shares_memory(
        self, entry: Entry, args: Any, kwargs: dict[str, Any], brought: Brought
    ) -> bool:
        """Note that calls of this kind may share memory; return whether this one does."""
        if brought.sharing is not None or entry.traced is None:
            return False
        main = entry.traced.program.main
        captures = tuple(x.tensor for x in main.captures if x.tensor is not None)
        if not main.assigns or not brought.share(captures):
            return False
        with self._lock:
            self._note_shared(key_of(args, kwargs, self._static, Brought()), captures)
        return True

    def _note_shared(self, key: Part, captures: tuple[Tensor, ...]) -> None:
        self._shared[key] = captures
        self._forget_calls()
        if len(self._shared) > self._most:
            self._shared.popitem(last=False)

    def _eager_call(self, args: Any, kwargs: dict[str, Any], brought: Brought) -> Callable[[], Any]:
        """Return the call without a program, on tensors in the place of arrays."""

        def leaf(x: Any, _: str) -> Any:
            return brought.tensors[brought.known[id(x)]] if isinstance(x, np.ndarray) else x

        static = self._static
        given = [x if i in static else mapped(x, leaf) for i, x in enumerate(args)]
        named = {k: x if k in static else mapped(x, leaf) for k, x in kwargs.items()}
        return lambda: self._function(*given, **named)

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """Return the program for these arguments, which does not run.

        Raises
        ------
        TraceError
            The function cannot be recorded.
        """
        entry, _ = self._entry(args, kwargs)
        if entry.traced is None:
            raise TraceError(f"{self._label} runs eagerly for these arguments")
        return entry.traced.program

    def _entry(self, args: Any, kwargs: dict[str, Any]) -> tuple[Entry, Brought]:
        """Return the program of a call, and its numbers that are not a part of it."""
        brought = Brought()
        try:
            key = key_of(args, kwargs, self._static, brought)
        except TypeError as error:
            path = refused_array(args, kwargs, self._static)
            if path is None:
                raise
            raise TypeError(f"{self._label}: {self._parameters.path(path)}: {error}") from None
        except TooDeepError as error:
            raise ValueError(f"{self._label}: an argument: {error}") from None
        with self._lock:
            try:
                entry = self._found(key, brought)
            except TypeError:
                refuse_unhashable(self._label, args, kwargs, self._static, self._parameters)
                raise
            reason = gone = None
            call = Call(self._function, args, kwargs)
            if entry is not None:
                gone = next((x for x in entry.watched if not x.is_there(call)), None)
                if gone is None:
                    self._note_known(key, entry, brought, call)
                    return entry, brought
                reason = f"{self._parameters.path(gone.text)} {gone.change()}{at(user_site())}"
            return self._traced(key, call, brought, reason), brought

    def _note_known(self, key: Part, entry: Entry, brought: Brought, call: Call) -> None:
        """Let the base class find calls of this kind from now on, where that is all they need."""
        if entry.traced is None or entry.run is None or entry.checks:
            return
        if brought.sharing is not None or key in self._shared or not entry.is_to_be_noted():
            return
        static = self._statics.get(key)
        try:
            patterns = patterns_of(
                call.args, call.kwargs, self._static, static.places if static else ()
            )
            watched = tuple(
                (tuple((step.kind, step.key) for step in watch.steps), watch.what, watch.x)
                for watch in entry.watched
            )
        except UnknownKindError:
            entry.next_note = 0
            return
        arrange, takes_numbers = arranger_of(entry.traced.results, entry.run)
        run = entry.run_in_donated or entry.run  # which is for tensors that nobody else sees
        self._add_known(patterns, watched, run, arrange, takes_numbers, entry.donated, self._name)

    def _found(self, key: Part, brought: Brought) -> Entry | None:
        base = key
        if brought.numbers and base in self._statics:
            key = self._statics[base].take(base, brought)
        if self._shared and base in self._shared and brought.share(self._shared[base]):
            key = with_sharing(key, brought)
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def _traced(self, key: Part, call: Call, brought: Brought, reason: str | None) -> Entry:
        base = key
        parts = described(call.args, call.kwargs, self._static)
        numbers = [path for path, part in parts.items() if is_number(part)]
        static = self._statics.pop(key).reasons if key in self._statics else {}
        entry = Entry(parts, checks=self._options.check)
        try:
            refuse_iterators(self._label, parts, self._parameters)
            recorded, static = self._recorded(call, dict(static), brought.sharing)
        except SharedMemoryError as error:
            if brought.is_shared_anew or self._options.freeze:
                raise
            if brought.sharing is not None:  # with captured tensors that others have replaced
                brought.share_nothing()
                return self._traced(key, call, brought, reason)
            self._note_shared(key, error.captures)
            if not brought.share(error.captures, is_anew=True):
                raise
            return self._traced(key, call, brought, reason)
        except TraceError as error:
            if self._options.on_break == "raise":
                raise
            return self._broken(key, entry, error)
        if static:
            places = tuple(k for k, path in enumerate(numbers) if path in static)
            self._statics[base] = StaticNumbers(static, places)
            if len(self._statics) > self._most:
                self._statics.popitem(last=False)
            for place in places:
                value = brought.numbers[place]
                parts[numbers[place]] = (type(value), literal(value))
            key = self._statics[base].take(base, brought)
        if brought.sharing is not None:
            entry.shared = self._shared[base]
            key = with_sharing(key, brought)
        if self._options.freeze:
            recorded = frozen(recorded)
        entry.traced = recorded
        entry.run = compiled(recorded.program, **self._options.ways())
        captures = [x.tensor for x in recorded.program.main.captures if x.tensor is not None]
        captures += entry.shared
        used = generators(recorded.program.main)
        also_places = not self._options.freeze
        entry.watched = watches(call, captures, used, also_places)
        if self._donated:
            self._add_donated(entry, call, brought)
        self._note_trace(reason or self._why(parts))
        self._keep(key, entry)
        return entry

    def _keep(self, key: Part, entry: Entry) -> None:
        self._entries[key] = entry
        self._entries.move_to_end(key)
        while len(self._entries) > self._most:
            self._entries.popitem(last=False)
        self._forget_calls()  # so that the next use of each is seen here, and its age

    def _forget_calls(self) -> None:
        """Look each call up at its next use."""
        self._forget_known()
        for entry in self._entries.values():
            entry.forget_notes()

    def _broken(self, key: Part, entry: Entry, error: TraceError) -> Entry:
        """Keep that calls of this kind are eager; say so once."""
        if not self._breaks:
            warnings.warn(
                f"{self._label} runs eagerly for some arguments: {error}",
                RuntimeWarning,
                stacklevel=5,
            )
        self._breaks.append(str(error))
        self._keep(key, entry)
        return entry

    def _add_donated(self, entry: Entry, call: Call, brought: Brought) -> None:
        """Find the tensors in donated arguments, and make the program that writes to them."""
        assert entry.traced is not None
        given = call.args, call.kwargs, self._donated
        entry.donated = donated_places(self._label, self._parameters, *given, brought.tensors)
        if brought.sharing is not None:
            return
        program = with_donated(entry.traced.program, entry.donated)
        if program.main is not entry.traced.program.main:
            entry.run_in_donated = compiled(program, **self._options.ways())

    def _recorded(
        self, call: Call, static: dict[str, str], sharing: Sharing | None
    ) -> tuple[Traced, dict[str, str]]:
        """Trace, again while numbers turn out to be static; return which they are, and why."""
        while True:
            slots = Slots(self._name, static, self._parameters.path)
            try:
                given = self._function, call.args, call.kwargs
                reach = partial(in_reach, call)
                made = traced(*given, slots, self._static, sharing, reach)
                if not slots.found:
                    return made, static
            except NeedsValueError:
                pass
            except RecursionError as error:
                raise RecursionError(
                    f"{self._label} calls itself without an end, or deeper than Python goes, "
                    "while it is traced: a trace takes each branch that the values of tensors do "
                    f"not decide{at(user_site())}"
                ) from error
            except Exception as error:  # of a number itself, maybe: it decides
                if not slots.found and (isinstance(error, TraceError) or not slots.paths):
                    raise
                if not slots.found:
                    why = f"{type(error).__name__} without its value: {error}"
                    slots.found = dict.fromkeys(slots.paths, why)
            static |= slots.found

    def _make_all_static(self, args: Any, kwargs: dict[str, Any], why: str) -> None:
        parts = described(args, kwargs, self._static)
        numbers = [path for path, part in parts.items() if is_number(part)]
        with self._lock:
            key = key_of(args, kwargs, self._static, Brought())
            self._statics[key] = StaticNumbers(
                dict.fromkeys(numbers, why), tuple(range(len(numbers)))
            )
            self._forget_calls()

    def _note_trace(self, reason: str) -> None:
        self._traces += 1
        self._since_clear += 1
        self._reasons.append(reason)
        if self._since_clear == _WARN_AT:
            warnings.warn(
                f"[jit] retraced {self._name}: {reason}; {_WARN_AT} traces so far, which take time",
                RuntimeWarning,
                stacklevel=5,
            )

    def _why(self, parts: dict[str, Part]) -> str:
        """Return what of the arguments the nearest program does not have."""
        known = [entry.parts for entry in reversed(self._entries.values())]
        return reason_of(self._parameters, known, parts)

    def explain(self) -> list[str]:
        """Return why each trace was made, in order: the last 256."""
        return list(self._reasons)

    def report(self) -> Report:
        """Return traces and their reasons, and what is known of each program that is kept."""
        entries = self._kept_entries()
        with self._lock:
            static = {path: why for x in self._statics.values() for path, why in x.reasons.items()}
        return Report(
            name=self._name,
            traces=self._traces,
            programs=len(entries),
            reasons=list(self._reasons),
            eager=list(self._breaks),
            static={self._parameters.path(path): why for path, why in static.items()},
            runs=[entry.run.report() for entry in entries if entry.run is not None],
            captures=[entry.captured() for entry in entries],
        )

    def draw(self, path: PathLike, *args: Any, **kwargs: Any) -> None:
        """Write a program that is kept as a picture, with why it was traced.

        Parameters
        ----------
        path
            a file that ends in .html, .svg or .dot, as ``Executable.draw`` has it.
        *args, **kwargs
            The program for these arguments, which does not run. Without any: the newest one.

        Raises
        ------
        ValueError
            The path ends in something else; there is no program so far.
        TraceError
            The function cannot be recorded.
        """
        entries = [self._entry(args, kwargs)[0]] if args or kwargs else self._kept_entries()
        draw_newest(path, self._name, [entry.run for entry in entries], self.report())

    def _kept_entries(self) -> list[Entry]:
        with self._lock:
            return list(self._entries.values())

    def clear(self) -> None:
        """Forget all programs."""
        with self._lock:
            self._entries.clear()
            self._statics.clear()
            self._shared.clear()
            self._since_clear = 0
            self._forget_calls()
