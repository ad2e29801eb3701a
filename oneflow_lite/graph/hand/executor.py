"""Executor: runs programs that are built by hand, with feeds and fetches.

run ─► feeds and fetches checked ─► key ─► kept? ── no ──► pruned, made for the extents, lowered
                                            │ yes                       │
                                            └──► Compiled ◄─────────────┘
                                 feeds, variables of the scope ─► Compiled ─► fetches
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, overload

from oneflow_lite._C import Device, Tensor
from oneflow_lite.device import DeviceLike, resolve
from oneflow_lite.flags import flags
from oneflow_lite.graph import executable
from oneflow_lite.graph.compiling import compiled, context_for
from oneflow_lite.graph.hand.compiled import Compiled, Fetch, Fetched, Fetches
from oneflow_lite.graph.hand.declared import EMPTY, Declared
from oneflow_lite.graph.hand.feeds import Shape, check_names, fed_all, given_shape
from oneflow_lite.graph.hand.scope import Scope, check_scope
from oneflow_lite.graph.ir import Value
from oneflow_lite.graph.nearest import nearest
from oneflow_lite.graph.program import Program
from oneflow_lite.graph.sites import here
from oneflow_lite.graph.trees import mapped
from oneflow_lite.locks import make_lock
from oneflow_lite.ops.creation.data import empty

_MOST_PROGRAMS = 8


class Executor:
    """Runs programs that were built by hand.

    It keeps the last 8 programs that it has made ready, by the program, the shapes of the feeds,
    the fetches and the flags that matter. Any thread may call it.

    Parameters
    ----------
    device : str or Device, optional
        Where programs run: it takes the place of the device that was the default when they were
        built. None: that one.
    mode, release : str, optional
        How programs run, and let go of temporaries: as ``compile`` has it for traced programs.
    lanes : int, optional
        Compute lanes for what is independent: as ``compile`` has it.
    addto : bool, optional
        Products add into accumulators: as ``compile`` has it.
    opt_level : int, optional
        Which passes programs go through: as ``compile`` has it.
    cuda_graph : bool, optional
        Whether kernels are launched as graphs of their device: as ``compile`` has it.

    Examples
    --------
    >>> main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    >>> with flow.graph.building(main, startup):
    ...     x = flow.graph.data("x", (None, 2))
    ...     w = flow.graph.parameter("w", 2, init=[3.0, 4.0])
    ...     y = x @ w
    ...     w -= 0.5
    >>> exe, scope = flow.graph.Executor("mock:0"), flow.graph.Scope()
    >>> exe.run(startup, scope=scope)
    []
    >>> for rows in ([[1, 1]], [[1, 0], [0, 1]]):
    ...     (out,) = exe.run(main, feed={"x": rows}, fetch_list=[y], scope=scope)
    ...     print(out.tolist())
    [7.0]
    [2.5, 3.5]
    """

    def __init__(
        self,
        device: DeviceLike = None,
        mode: str = "auto",
        release: str = "plan",
        lanes: int = 1,
        addto: bool = False,
        opt_level: int | None = None,
        cuda_graph: bool | None = None,
    ) -> None:
        if device is not None and not isinstance(device, str | Device):
            raise TypeError(f"[Executor] device: expected a device or its name, got {device!r}")
        self.device: Device | None = None if device is None else resolve(device)
        if self.device is not None:
            empty(0, device=self.device)  # it is there
        executable.check_ways("Executor", mode, release, lanes, addto, cuda_graph)
        executable.lowered(EMPTY, "Executor", mode, release, lanes)  # there are such
        self._ways = (mode, release, lanes, addto, cuda_graph)
        context_for("Executor", opt_level)
        self._opt_level = opt_level
        self._kept: OrderedDict[Any, Compiled] = OrderedDict()
        self._lock = make_lock()  # guards _kept; one thread compiles, others wait
        self._compiled = 0

    def __repr__(self) -> str:
        return f"Executor({str(self.device)!r})" if self.device else "Executor()"

    @overload
    def run(
        self,
        program: Program,
        feed: Mapping[str, Any] | None = ...,
        fetch_list: list[Tensor] | list[str] | list[Tensor | str] | None = ...,
        scope: Scope | None = ...,
    ) -> list[Tensor]: ...
    @overload
    def run(
        self,
        program: Program,
        feed: Mapping[str, Any] | None,
        fetch_list: Tensor | str,
        scope: Scope | None = ...,
    ) -> Tensor: ...
    @overload
    def run(
        self,
        program: Program,
        feed: Mapping[str, Any] | None = ...,
        fetch_list: Any = ...,
        scope: Scope | None = ...,
    ) -> Any: ...
    def run(
        self,
        program: Program,
        feed: Mapping[str, Any] | None = None,
        fetch_list: Any = None,
        scope: Scope | None = None,
    ) -> Any:
        """Run what the fetches and the parameters that are written need; return what is fetched.

        Parameters
        ----------
        program : Program
            One that ``building`` filled.
        feed : dict, optional
            Tensors, arrays, numbers or lists by the name of their ``data``; lists and numbers take
            the declared dtype. Numbers by the name of their ``number``. What nobody needs may be
            there, or not.
        fetch_list : tensors and names, in lists, tuples and dicts
            Tensors of the program's block: what their memory holds at the end. Names of feeds, of
            parameters, and those given by ``named``.
        scope : Scope, optional
            Where parameters live: that of ``scope_guard``, or of the process, by default.

        Returns
        -------
        as fetch_list
            A new tensor for each fetch. An empty list without fetches.

        Raises
        ------
        ValueError
            A feed is unknown, missing, or does not agree with its ``data``; a fetch is no value of
            the program. Nothing has run.
        RuntimeError
            A parameter is read that has no value in the scope: the startup program did not run.
        """
        declared = _declared("run", program)
        op = f"[{program.name}]"
        fetches = _fetches(op, declared, [] if fetch_list is None else fetch_list)
        if scope is not None:
            check_scope("[run]", scope)
        place = self.device or declared.device
        feeds = fed_all(op, declared, {} if feed is None else feed, place)
        shapes = {name: x.shape for name, x in feeds.items() if isinstance(x, Tensor)}
        return self._ready(program, declared, shapes, fetches).run(feeds, fetches, scope)

    def compile(
        self, program: Program, feed: Mapping[str, Any] | None = None, fetch_list: Any = None
    ) -> Compiled:
        """Make a program ready ahead of its first run; nothing is computed.

        Parameters
        ----------
        program, fetch_list
            As for ``run``.
        feed : dict, optional
            Shapes, specs, or what will be fed, by name.

        Examples
        --------
        >>> main = flow.graph.Program("main")
        >>> with flow.graph.building(main):
        ...     y = flow.graph.data("x", (None, 2)) * 2
        >>> exe = flow.graph.Executor()
        >>> compiled = exe.compile(main, {"x": (3, 2)}, [y])
        >>> (out,) = exe.run(main, {"x": flow.ones((3, 2))}, [y])
        >>> exe.report()["compiled"]
        1
        """
        declared = _declared("compile", program)
        op = f"[{program.name}]"
        given = {} if feed is None else feed
        check_names(op, declared, given)
        shapes = {
            name: given_shape(op, declared.feeds[name], x)
            for name, x in given.items()
            if name in declared.feeds
        }
        fetches = _fetches(op, declared, [] if fetch_list is None else fetch_list)
        return self._ready(program, declared, shapes, fetches)

    def _ready(
        self,
        program: Program,
        declared: Declared,
        shapes: Mapping[str, Shape],
        fetches: Fetches,
    ) -> Compiled:
        # An entry keeps its program, so the identity is nobody else's.
        context = context_for("Executor", self._opt_level)
        key = (id(program), frozenset(shapes.items()), fetches.leaves, context.key, *_flags())
        with self._lock:
            known = self._kept.get(key)
            if known is None:
                known = Compiled(
                    program, declared, shapes, fetches, self.device, self._ways, context
                )
                self._kept[key] = known
                self._compiled += 1
                while len(self._kept) > _MOST_PROGRAMS:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return known

    def report(self) -> dict[str, Any]:
        """Return how often a program was made ready, and what is known of those that are kept."""
        with self._lock:
            kept = list(self._kept.values())
        return {"compiled": self._compiled, "programs": [x.report() for x in kept]}

    def clear(self) -> None:
        """Forget all programs that are ready."""
        with self._lock:
            self._kept.clear()


def compile(
    program: Program,
    feed: Mapping[str, Any] | None = None,
    fetch_list: Any = None,
    *,
    executor: Executor | None = None,
    mode: str = "auto",
    release: str = "plan",
    lanes: int = 1,
    addto: bool = False,
    opt_level: int | None = None,
    cuda_graph: bool | None = None,
) -> Any:
    """Return a program ready to run: operations are planned, and nothing is computed.

    Parameters
    ----------
    program : Program
        One that was traced: the result is an ``Executable``, called with a tensor for each
        parameter. Else a ``Compiled``, called with feeds.
    feed : dict, optional
        Of a program by hand: shapes, specs, or what will be fed, by name.
    fetch_list : tensors and names, in lists, tuples and dicts
        Of a program by hand: as for ``Executor.run``.
    executor : Executor, optional
        Of a program by hand: it keeps the result for its runs.
    mode : str, optional
        How it runs; bits are the same. 'inline': in the calling thread, if operands are ready and
        on the cpu. 'serial': by segments. 'parallel': threads share a segment. 'sequential': each
        after the one before. 'naive': by single steps. 'auto': inline if it is small, else serial.
    release : str, optional
        Temporaries: 'plan': share bytes; 'fast': go after the last use; 'event': when it has run.
    lanes : int, optional
        1 to 4: what is independent is divided between so many compute lanes of each device.
    addto : bool, optional
        ``acc + a @ b`` adds into ``acc``, if nobody needs that afterwards: last bits may differ.
    opt_level : int, optional
        Passes up to this level run before. None: that of the thread's ``PassContext``, else 3.
    cuda_graph : bool, optional
        Devices launch kernels as a graph, from the third run on. None: as ``cuda_graphs`` says.

    Raises
    ------
    ValueError
        The program is not sound, has captured tensors that are not known, or other feeds and
        fetches; mode, release or lanes is none of these.

    Examples
    --------
    >>> run = flow.graph.compile(flow.graph.trace(lambda x: flow.tanh(x) + 1, flow.ones(3)).program)
    >>> run(flow.zeros(3))[0].tolist()
    [1.0, 1.0, 1.0]
    """
    _check_program("compile", program)
    ways = _checked_options(mode, release, lanes, addto, opt_level, cuda_graph)
    if program.declared is not None:
        return _by_hand(program, feed, fetch_list, executor, ways)
    if any(x is not None for x in (feed, fetch_list, executor)):
        raise ValueError("[compile] feed and fetch_list are for programs that were built by hand")
    return compiled(program, *ways)


def _checked_options(
    mode: str, release: str, lanes: int, addto: bool, opt_level: int | None, cuda_graph: bool | None
) -> tuple[Any, ...]:
    """Return the options of ``compile`` in order, none of another type."""
    executable.check_ways("compile", mode, release, lanes, addto, cuda_graph)
    context_for("compile", opt_level)
    return mode, release, lanes, addto, opt_level, cuda_graph


def _by_hand(
    program: Program, feed: Any, fetch_list: Any, executor: Executor | None, ways: tuple[Any, ...]
) -> Compiled:
    if executor is not None and not isinstance(executor, Executor):
        raise TypeError(
            f"[compile] executor: expected an Executor, got {type(executor).__name__}{here()}"
        )
    if executor is not None and ways != ("auto", "plan", 1, False, None, None):
        raise ValueError(
            "[compile] mode, release, lanes, addto, opt_level and cuda_graph are those of the "
            "executor"
        )
    return (executor or Executor(None, *ways)).compile(program, feed, fetch_list)


def _flags() -> tuple[Any, ...]:
    """Return the flags that decide what a program is lowered to."""
    return flags.array_api, flags.cuda_kernels, flags.cuda_blas, flags.cuda_tf32


def _check_program(op: str, program: Any) -> None:
    if not isinstance(program, Program):
        raise TypeError(f"[{op}] program: expected a Program, got {type(program).__name__}{here()}")


def _declared(op: str, program: Program) -> Declared:
    _check_program(op, program)
    if program.declared is not None:
        return program.declared
    if program.is_empty:
        return Declared.nothing(program.name)
    raise ValueError(
        f"[{op}] {program.name} was not built by hand: run it by flow.graph.compile(program)"
        f"{here()}"
    )


def _fetches(op: str, declared: Declared, fetch_list: Any) -> Fetches:
    leaves: list[Fetch] = []

    def leaf(x: Any, path: str) -> Fetched:
        leaves.append(_fetch(op, declared, x, path))
        return Fetched(len(leaves) - 1)

    if isinstance(fetch_list, set | frozenset):
        raise TypeError(
            f"{op} fetch_list: expected tensors and names in an order, got a set{here()}"
        )
    return Fetches(mapped(fetch_list, leaf, "fetch_list"), tuple(leaves))


def _fetch(op: str, declared: Declared, x: Any, path: str) -> Fetch:
    if isinstance(x, Tensor):
        found = declared.find(x)
        if found is None:
            raise ValueError(
                f"{op} {path} is a tensor of another program, or of none; fetch tensors of the "
                f"block that built it{here()}"
            )
        return found
    if isinstance(x, str):
        return _by_name(op, declared, x, path)
    raise TypeError(f"{op} {path}: expected a tensor or a name, got {type(x).__name__}{here()}")


def _by_name(op: str, declared: Declared, name: str, path: str) -> Fetch:
    if name in declared.names:
        return declared.names[name], ()
    known: dict[str, Value] = {key: x.value for key, x in declared.feeds.items()}
    known |= {key: x.value for key, x in declared.variables.items()}
    if name not in known:
        raise ValueError(
            f"{op} {path}: there is no {name!r}{nearest(name, [*declared.names, *known])}{here()}"
        )
    return declared.last_of(known[name]), ()
