"""Programs by hand: what a block does is written down, and runs later, with feeds and fetches.

with building(main, startup):
    data, parameter ─► tensors without values ─► operations, written down ─► main
    init of each parameter ─────────────────────────────────────────────────► startup
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from keyword import iskeyword
from math import prod
from operator import index
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor, TraceError
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.graph.hand.declared import Declared, Feed, Variable
from oneflow_lite.graph.hand.extents import (
    Dim,
    Unknowns,
    is_unknown,
    shape_of,
    strides_of,
    texts_of,
)
from oneflow_lite.graph.hand.instance import check_instances
from oneflow_lite.graph.hand.limits import note_key
from oneflow_lite.graph.hand.numbers import KINDS, FedNumbers
from oneflow_lite.graph.ir import Site, Slot, Value, row_major
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.sites import at, here, like, user_site
from oneflow_lite.graph.stand_ins import STAND_INS
from oneflow_lite.graph.tracing import check_overlaps, recorded
from oneflow_lite.ops.creation.data import asarray, full

_threads = threading.local()  # .draft: of each thread, the block that it is in

_MOST_BYTES = 1 << 62
Init = Callable[[tuple[int, ...]], Any] | float | Sequence[Any] | np.ndarray[Any, Any]


class _Draft:
    """A program and the startup program, while a block builds them."""

    def __init__(self, main: Program, startup: Program | None) -> None:
        self.main, self.startup = main, startup
        self.device = resolve(None)
        self.recorder = _C.Recorder(main.name)
        self.startup_recorder = _C.Recorder(startup.name) if startup else None
        self.unknowns = Unknowns(self.recorder, self.operand)
        self.feeds: dict[str, tuple[int, tuple[int | Dim, ...], Site | None]] = {}
        self.variables: dict[str, tuple[int, Site | None]] = {}
        self.inits: dict[str, tuple[int, int]] = {}  # values of startup: before and after
        self.names: dict[str, int] = {}
        self.operands: dict[int, Dim] = {}
        self.numbers = FedNumbers(main.name)

    def place(
        self, recorder: _C.Recorder, shape: Sequence[int | Dim], dtype: Any, device: Device
    ) -> Tensor:
        """Return a tensor without a value, that lies row-major."""
        extents = tuple(x.stand_in if isinstance(x, Dim) else x for x in shape)
        known = {x for x in shape if isinstance(x, int)}
        if kept := known & STAND_INS:
            raise ValueError(
                f"[data] {kept.pop()} is kept for unknown extents; take another extent{here()}"
            )
        self.unknowns.known |= known
        if prod(extents) * dtype.itemsize >= _MOST_BYTES:
            raise ValueError(
                f"[data] the shape {tuple(shape)} of {dtype} is too big to be recorded; give one "
                f"of its unknown extents{here()}"
                if is_unknown(shape)
                else f"[data] the shape {extents} of {dtype} is too big{here()}"
            )
        return recorder.parameter_of(dtype, extents, row_major(extents, dtype.itemsize), device)

    def operand(self, extent: Dim, other: Tensor, is_compared: bool) -> Tensor:
        """Return an unknown extent as an operand beside a tensor, of its dtype as numbers are.

        One that is compared with integers may be out of their range, and is an int64.
        """
        if not _C.is_recording() or current("Dim") is not self:
            raise TraceError(
                f"[Dim] the unknown extent {extent!r} is used after its program was built"
            )
        is_wide = other.dtype.kind == "b" or (is_compared and other.dtype.kind in "iu")
        dtype = np.dtype(np.int64) if is_wide else other.dtype
        x = self.place(self.recorder, (), dtype, other.device)
        self.operands[self.recorder.value_of(x)] = extent
        return x

    def check_name(self, op: str, name: str) -> None:
        """Refuse what is no name, or is one already."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"[{op}] name: expected a string, got {name!r}{here()}")
        for known in (self.feeds, self.variables, self.names, self.numbers.fed):
            if name in known:
                raise ValueError(f"[{op}] {self.main.name} has the name {name} already{here()}")

    def finish(self) -> None:
        """Fill the programs."""
        origins = [row[0] for row in self.recorder.values()]
        named = {number: name for name, (number, *_) in (self.feeds | self.variables).items()}
        inputs = [k for k, origin in enumerate(origins) if origin == "parameter"]
        check_overlaps(self.recorder, self.main.name, [named.get(k, "an extent") for k in inputs])
        slots = tuple(self.numbers.slots)
        main = recorded(self.recorder, "main", list(range(len(origins))), slots)
        values = main.results
        shown: dict[Value | Slot, str] = {values[k]: name for k, name in named.items()}
        shown |= {values[k]: extent.text for k, extent in self.operands.items()}
        shown |= {x.slot: name for name, x in self.numbers.fed.items()}
        main = replace(
            main,
            results=tuple(values[x] for x in self.names.values()),
            names=shown,
            extents=texts_of(main, self.unknowns),
        )
        declared = Declared(
            self.recorder,
            values,
            self.device,
            self.unknowns,
            {
                name: Feed(name, values[number], shape, site)
                for name, (number, shape, site) in self.feeds.items()
            },
            self.numbers.fed,
            {
                name: Variable(name, values[number], site)
                for name, (number, site) in self.variables.items()
            },
            {name: values[number] for name, number in self.names.items()},
            {values[number]: extent for number, extent in self.operands.items()},
            dict(main.assigns),
        )
        check_instances(main, declared)
        self.main._fill(main, declared)
        if self.startup is not None and self.startup_recorder is not None:
            self._finish_startup(self.startup, self.startup_recorder)

    def _finish_startup(self, startup: Program, recorder: _C.Recorder) -> None:
        function = recorded(recorder, "main", list(range(len(recorder.values()))))
        values = function.results
        written = {values[x] for x, _ in self.inits.values()}
        assigns = [pair for pair in function.assigns if pair[0] not in written]
        assigns += [(values[x], values[last]) for x, last in self.inits.values()]
        variables = {
            name: Variable(name, values[x], self.variables[name][1])
            for name, (x, _) in self.inits.items()
        }
        declared = Declared(
            recorder,
            values,
            self.device,
            Unknowns(recorder, self.operand),
            variables=variables,
        )
        shown: dict[Value | Slot, str] = {x.value: name for name, x in variables.items()}
        startup._fill(replace(function, results=(), assigns=tuple(assigns), names=shown), declared)


def current(op: str) -> _Draft:
    """Return what the calling thread builds."""
    draft = getattr(_threads, "draft", None)
    if draft is None:
        raise TraceError(f"[{op}] is for blocks of flow.graph.building(main, startup){here()}")
    return draft  # type: ignore[no-any-return]


@contextmanager
def building(main: Program, startup: Program | None = None) -> Iterator[None]:
    """Write down what the thread does in the block: it fills ``main``, once.

    Nothing is computed, and the tensors in the block have no values. Those that ``data`` returns
    are fed at each run, those of ``parameter`` live in a scope; any can be fetched. Writes to
    parameters stay, writes to feeds do not. Tensors from elsewhere are captures, as in ``trace``. A
    block that raises leaves both programs empty.

    Parameters
    ----------
    main, startup : Program
        Empty ones. ``startup`` is filled with the initializers of the parameters; without it
        parameters have none, as in a program that uses those of another one.

    Raises
    ------
    TraceError
        The block needs values, or the thread records already.
    ValueError
        A program is not empty.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    >>> with flow.graph.building(main, startup):
    ...     x = flow.graph.data("x", (None, 3), "float32")
    ...     w = flow.graph.parameter("w", (3, 2), init=flow.ones, dtype="float32")
    ...     y = x @ w
    >>> exe, scope = flow.graph.Executor(), flow.graph.Scope()
    >>> exe.run(startup, scope=scope)
    []
    >>> (out,) = exe.run(main, {"x": [[1, 2, 3]]}, [y], scope=scope)
    >>> out.tolist()
    [[6.0, 6.0]]
    """
    _check_programs(main, startup)
    if _C.is_recording():
        raise TraceError(f"[building] the thread records already{here()}")
    draft = _Draft(main, startup)
    try:
        with draft.recorder:
            _threads.draft = draft
            yield
    except Exception as error:
        # Others than TraceError are told by what knows nothing of unknown extents.
        known = draft.unknowns
        tell = known.readable_shapes if isinstance(error, TraceError) else known.readable
        if error.args and isinstance(error.args[0], str):
            error.args = (tell(error.args[0]), *error.args[1:])
        raise
    finally:
        _threads.draft = None
        draft.numbers.close()
    draft.finish()


def _check_programs(main: Program, startup: Program | None) -> None:
    for name, program in (("main", main), ("startup", startup)):
        if program is None and name == "startup":
            continue
        if not isinstance(program, Program):
            raise TypeError(
                f"[building] {name}: expected a Program, got {type(program).__name__}{here()}"
            )
        if not program.is_empty:
            raise ValueError(
                f"[building] {name}: {program.name} is built already; make a new Program{here()}"
            )
    if main is startup:
        raise ValueError(f"[building] main and startup are one program; make two{here()}")


def data(
    name: str, shape: int | Sequence[int | str | None], dtype: Any = None, device: DeviceLike = None
) -> Tensor:
    """Declare what a run is fed: in a block of ``building``, return a tensor without a value.

    Parameters
    ----------
    name : str
        What ``Executor.run`` calls it.
    shape : int, or sequence of int, str and None
        None is an extent that each run may have another one for. None at one axis is the same
        extent in all feeds that a run needs; extents with a name are the same where the name is.
    dtype : dtype, optional
        float64 unless told otherwise.
    device : str or Device, optional
        The thread's default unless told otherwise.

    Notes
    -----
    An unknown extent is a ``Dim`` in shapes. It can stand in a new shape, be multiplied by
    integers and added to them, and be an operand. What needs its value raises TraceError.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> with flow.graph.building(flow.graph.Program("main")):
    ...     x = flow.graph.data("x", (None, 784), "float32")
    ...     total = flow.zeros((x.shape[0], 1), dtype="float32")
    >>> x.shape
    (N0, 784)
    """
    draft = current("data")
    draft.check_name("data", name)
    given = tuple(shape) if isinstance(shape, Iterable) and not isinstance(shape, str) else (shape,)
    extents = tuple(_extent(draft, name, axis, n) for axis, n in enumerate(given))
    kind = _C.canonical(np.float64 if dtype is None else dtype, "data")
    x = draft.place(draft.recorder, extents, kind, resolve(device))
    draft.feeds[name] = (draft.recorder.value_of(x), extents, user_site())
    return x


def _extent(draft: _Draft, name: str, axis: int, n: Any) -> int | Dim:
    if n is None:
        return draft.unknowns.dim(f"N{axis}")
    if isinstance(n, str) and n.isidentifier() and not iskeyword(n):
        return draft.unknowns.dim(n)
    try:
        known = n if isinstance(n, Dim) else index(n)
    except TypeError:
        known = -1
    if not isinstance(known, Dim) and known < 0:
        raise ValueError(
            f"[data] {name}: expected an extent, a name, or None at axis {axis}, got {n!r}{here()}"
        )
    return known


def number(name: str, kind: type = float) -> Any:
    """Declare a number that a run is fed: in a block of ``building``, return one without a value.

    It is one of Python's numbers to operations on tensors. Arithmetic with it is done by each run.

    Parameters
    ----------
    name : str
        What ``Executor.run`` calls it.
    kind : type, optional
        float, or complex.

    Raises
    ------
    TraceError
        Afterwards, where its value is needed: ``if rate > 0``, ``math.sqrt(rate)``.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> main = flow.graph.Program("main")
    >>> with flow.graph.building(main):
    ...     rate = flow.graph.number("rate")
    ...     y = flow.graph.data("x", 2) * (1 - rate)
    >>> exe = flow.graph.Executor()
    >>> [exe.run(main, {"x": [1, 2], "rate": r}, [y])[0].tolist() for r in (0.5, 0.25)]
    [[0.5, 1.0], [0.75, 1.5]]
    """
    draft = current("number")
    draft.check_name("number", name)
    if kind not in KINDS:
        raise TypeError(f"[number] {name}: expected float or complex as kind, got {kind!r}{here()}")
    return draft.numbers.add(name, kind)


def parameter(
    name: str,
    shape: int | Sequence[int],
    init: Init = 0.0,
    dtype: Any = None,
    device: DeviceLike = None,
) -> Tensor:
    """Declare what lives in a scope: in a block of ``building``, return a tensor without a value.

    Parameters
    ----------
    name : str
        Its name in the scope.
    shape : int or sequence of int
        All extents are known.
    init : number, array, or function
        The value that the startup program gives it; a function is called with the shape, and what
        it does is a part of the startup program.
    dtype, device
        As for ``data``.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    >>> with flow.graph.building(main, startup):
    ...     w = flow.graph.parameter("w", 3, init=lambda shape: flow.ones(shape) * 0.5)
    ...     w += 1
    >>> exe, scope = flow.graph.Executor(), flow.graph.Scope()
    >>> for program in (startup, main, main):
    ...     _ = exe.run(program, scope=scope)
    >>> scope["w"].tolist()
    [2.5, 2.5, 2.5]
    """
    draft = current("parameter")
    draft.check_name("parameter", name)
    given = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    try:
        extents = (-1,) if is_unknown(given) else tuple(map(index, given))
    except TypeError:
        extents = (-1,)
    if any(n < 0 for n in extents):
        raise ValueError(f"[parameter] {name}: expected known extents, got {shape}{here()}")
    kind = _C.canonical(np.float64 if dtype is None else dtype, "parameter")
    site, home = user_site(), resolve(device)
    if draft.startup_recorder is not None:
        draft.inits[name] = _initialized(draft, name, extents, init, kind, home)
    x = draft.place(draft.recorder, extents, kind, home)
    draft.variables[name] = (draft.recorder.value_of(x), site)
    return x


def _initialized(
    draft: _Draft, name: str, shape: tuple[int, ...], init: Init, dtype: Any, device: Device
) -> tuple[int, int]:
    """Write the initializer down in the startup program; return its values before and after."""
    recorder = draft.startup_recorder
    assert recorder is not None
    place = draft.place(recorder, shape, dtype, device)
    before = recorder.value_of(place)
    with recorder:
        with draft.numbers.set_aside():
            value = init(shape) if callable(init) else init
        x = _first_value(name, shape, value, dtype, device)
        if x.shape != shape:
            raise ValueError(
                f"[parameter] {name}: expected init to return shape {shape}, got {x.shape}"
                f"{at(user_site())}"
            )
        if x.strides != place.strides:
            fresh = full(shape, 0, dtype=dtype, device=device)
            fresh[...] = x
            x = fresh
        return before, recorder.value_of(x)


def _first_value(
    name: str, shape: tuple[int, ...], value: Any, dtype: Any, device: Device
) -> Tensor:
    if value is None or isinstance(value, str | bytes):
        raise TypeError(
            f"[parameter] {name}: init: expected a number, an array, or a function that returns "
            f"one, got {value!r}{here()}"
        )
    try:
        if isinstance(value, int | float | complex | np.generic):
            return full(shape, value, dtype=dtype, device=device)
        return asarray(value, dtype=dtype, device=device)
    except (TypeError, ValueError, OverflowError) as error:
        raise like(error, f"[parameter] {name}: init: {error}{here()}") from None


def named(name: str, x: Tensor) -> Tensor:
    """Give a value of a program a name to fetch it by; returns it.

    Examples
    --------
    >>> import oneflow_lite as flow
    >>> main = flow.graph.Program("main")
    >>> with flow.graph.building(main):
    ...     total = flow.graph.named("total", flow.graph.data("x", None).sum())
    >>> flow.graph.Executor().run(main, {"x": [1, 2]}, ["total"])[0].item()
    3.0
    """
    draft = current("named")
    draft.check_name("named", name)
    if not isinstance(x, Tensor):
        raise TypeError(f"[named] {name}: expected a tensor, got {type(x).__name__}{here()}")
    draft.names[name] = draft.recorder.value_of(x)
    return x


_C.set_unknown_extents(shape_of, strides_of, note_key, Dim)
