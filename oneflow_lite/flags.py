"""The registry of flags: every ``ONEFLOW_LITE_*`` variable, its type, default and effect.

The environment is read once, at import; C++ never reads it. Flags hold for the whole process.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from oneflow_lite import _C, flag_types
from oneflow_lite.flag_values import (
    COUNT_RATES,
    MAX_INT32,
    MAX_INT64,
    RATES,
    cores,
    parse_bool,
    parse_bytes,
    parse_choice,
    parse_core,
    parse_fusion,
    parse_int,
    parse_knobs,
    parse_path,
    parse_seconds,
    quantity,
    suggest,
)
from oneflow_lite.locks import make_lock

PREFIX = "ONEFLOW_LITE_"
LOG = logging.getLogger("oneflow_lite")

_IMPLICIT_MODES = ("allow", "warn", "error")
_ARRAY_API = ("numpy", "2024.12", "2025.12")
_LEVELS = ("debug", "info", "warning", "error", "critical")

_MAX_THREADS = 1024
_MAX_DEVICES = 64


def _parse_isa(value: object) -> str:
    present = _C.CPU_ISAS[: _C.CPU_ISAS.index(_C.widest_cpu_isa()) + 1]
    text = parse_choice(("auto", *_C.CPU_ISAS))(value)
    if text not in ("auto", *present):
        raise ValueError(
            f"expected auto or a set that the processor has ({', '.join(present)}), got {text}"
        )
    return text


# Key in the flag -> (key of _C.mock_configure, parser).
_MOCK_KEYS: dict[str, tuple[str, Callable[[object], float]]] = {
    "devices": ("devices", parse_int(1, _MAX_DEVICES)),
    "capacity": ("capacity", parse_bytes),
    "h2d": ("h2d", lambda value: quantity(value, RATES)),
    "d2h": ("d2h", lambda value: quantity(value, RATES)),
    "d2d": ("d2d", lambda value: quantity(value, RATES)),
    "launch": ("launch_latency", parse_seconds),
    "compute": ("compute", lambda value: quantity(value, COUNT_RATES)),
    "jitter": ("jitter", parse_seconds),
}
_FAIL_KEYS: dict[str, tuple[str, Callable[[object], float]]] = {
    kind: (f"fail_{kind}", parse_int(1, MAX_INT32)) for kind in ("alloc", "launch", "copy", "event")
}


_MOCK_DEFAULTS = {
    key: value for key, value in _C.mock_knobs().items() if not key.startswith("fail_")
}


def _apply_mock(knobs: dict[str, float]) -> None:
    wanted = _MOCK_DEFAULTS | knobs
    if wanted["devices"] == _C.mock_knobs()["devices"]:
        del wanted["devices"]  # cannot change once a mock device is in use
    _C.mock_configure(wanted)


def _apply_fail(faults: dict[str, float]) -> None:
    _C.mock_configure(dict.fromkeys((name for name, _ in _FAIL_KEYS.values()), 0) | faults)


def _apply_log(level: str) -> None:
    LOG.setLevel(level.upper())


@dataclass(frozen=True)
class Flag:
    """One row of the registry: how a flag is read, and what it does."""

    name: str
    default: Any
    parse: Callable[[object], Any]
    apply: Callable[[Any], None] | None  # None: read at import only
    doc: str
    waits: bool = False  # its scopes begin and end while nothing is in flight

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.name.upper()


_ROWS = (
    Flag("profile", None, parse_path, None, "write a Chrome trace to this file at exit"),
    Flag(
        "sync",
        False,
        parse_bool,
        lambda value: _C.configure(sync=value),
        "naive mode: run every operation in the calling thread, in program order",
    ),
    Flag(
        "check_nan_inf",
        False,
        parse_bool,
        _C.check_nan_inf,
        "an operation that makes a NaN or an infinity, though its operands have none, fails",
    ),
    Flag(
        "benchmark",
        False,
        parse_bool,
        _C.benchmark,
        "wait after each operation, and print the time of each kind of operation at exit",
        waits=True,
    ),
    Flag(
        "fusion",
        "1",
        parse_fusion,
        lambda value: _C.configure(fusion=value),
        "run elementwise operations on the cpu as one: 1 where it pays, always, or 0",
    ),
    Flag(
        "inline",
        50e-6,
        parse_seconds,
        lambda value: _C.configure(inline_seconds=value),
        "work on the cpu of up to so many seconds may run in the calling thread if it can at once",
    ),
    Flag(
        "num_threads",
        0,
        parse_int(0, _MAX_THREADS),
        lambda value: _C.configure(num_threads=value or cores(), watches_cores=value == 0),
        "threads that share large work on the cpu; 0: as many as there are cores to be had",
    ),
    Flag(
        "engine_threads",
        0,
        parse_int(0, _MAX_THREADS),
        lambda value: _C.configure(engine_threads=value or cores()),
        "threads for functions that are pushed; 0: as many as there are cores to be had",
    ),
    Flag(
        "cpu_isa",
        "auto",
        _parse_isa,
        None,
        "widest instruction set of our own loops on the cpu: avx512, avx2 or baseline; "
        "auto: the processor's",
    ),
    Flag(
        "blas_core",
        "auto",
        parse_core,
        None,
        "core type, such as SkylakeX, that OpenBLAS takes for all products; numpy: NumPy's loops",
    ),
    Flag("log", "warning", parse_choice(_LEVELS), _apply_log, "level of logger 'oneflow_lite'"),
    Flag(
        "memory_limit",
        0,
        parse_bytes,
        lambda value: _C.configure(memory_limit=value),
        "bytes that each device may hold, such as 512MiB; 0: as much as the device gives",
    ),
    Flag(
        "max_in_flight",
        1024,
        parse_int(1, MAX_INT64),
        lambda value: _C.configure(max_in_flight=value),
        "instructions in flight on a device before the issuing thread waits",
    ),
    Flag("mock", {}, parse_knobs(_MOCK_KEYS, "="), _apply_mock, "knobs of the mock devices"),
    Flag(
        "cuda_sim",
        None,
        str,
        None,
        "cuda devices of the simulated driver in sim/, such as devices=2,jitter=50us",
    ),
    Flag(
        "cuda_kernels",
        True,
        parse_bool,
        _C.use_device_kernels,
        "cuda devices compute by kernels of their own; 0: by the host, with its bits, on copies",
    ),
    Flag(
        "cuda_blas",
        True,
        parse_bool,
        _C.use_cublas,
        "products on cuda devices are made by cuBLAS where it is installed; 0: by our own kernels",
    ),
    Flag(
        "cuda_nccl",
        True,
        parse_bool,
        _C.use_nccl,
        "ranks send each other tensors of cuda devices by NCCL where it is installed; 0: through "
        "the memory of the host",
    ),
    Flag(
        "cuda_tf32",
        False,
        parse_bool,
        _C.allow_tf32,
        "cuBLAS may round the factors of float32 products to 10 bits, for speed",
    ),
    Flag(
        "cuda_graphs",
        True,
        parse_bool,
        _C.use_device_graphs,
        "programs launch their kernels on cuda and mock devices as one graph, from the third run "
        "on; 0: each by itself",
    ),
    Flag(
        "fail",
        {},
        parse_knobs(_FAIL_KEYS, ":"),
        _apply_fail,
        "the n-th alloc, launch, copy or event of a mock device fails, such as alloc:3,copy:1",
    ),
    Flag(
        "device",
        "cpu",
        lambda value: str(_C.Device(str(value))),
        lambda value: _C.set_process_device(_C.Device(value)),
        "where tensors are made when nothing else is said, such as mock:0",
    ),
    Flag(
        "ccl_timeout",
        300.0,
        parse_seconds,
        lambda value: _C.configure(ccl_timeout=value),
        "seconds until a collective that not all ranks have come to fails (0: never)",
    ),
    Flag(
        "ccl_shared_memory",
        True,
        parse_bool,
        None,
        "ranks that are processes of one host meet in memory that they share; 0: they only send "
        "messages",
    ),
    Flag(
        "hang_timeout",
        30.0,
        parse_seconds,
        lambda value: _C.configure(hang_timeout=value),
        "seconds without progress before a waiting thread prints what is in flight "
        "(it only prints; 0: never)",
    ),
    Flag(
        "implicit_sync",
        "allow",
        parse_choice(_IMPLICIT_MODES),
        lambda value: _C.configure(implicit_sync=value),
        "what looking at a tensor that is not ready does: allow, warn or error",
    ),
    Flag(
        "implicit_boxing",
        "allow",
        parse_choice(_IMPLICIT_MODES),
        lambda value: _C.configure(implicit_boxing=value),
        "what an operation does that moves an operand into another layout than the program gave "
        "it: allow, warn (once for each line) or error",
    ),
    Flag(
        "array_api",
        "numpy",
        parse_choice(_ARRAY_API),
        lambda value: _C.configure(standard_values=value != "numpy"),
        "version of the array API standard to follow to the letter; numpy: 2024.12, with NumPy's "
        "special values. Some functions return lists in 2024.12 and tuples in 2025.12",
    ),
)


@dataclass(eq=False)
class _Setting:
    """A value of a flag, and where it comes from."""

    value: Any
    source: str


class Flags(flag_types.FlagTypes):
    """Every flag, as an attribute; called, a scope in which some have other values.

    Flags hold for the process: the scope that began last, in whatever thread, decides for all.

    Examples
    --------
    >>> with flow.flags(sync=True, implicit_sync="warn"):
    ...     flow.flags.sync, flow.flags.implicit_sync
    (True, 'warn')
    """

    __slots__ = ("_lock", "_rows", "_settings")

    def __init__(self, rows: tuple[Flag, ...]) -> None:
        self._lock = make_lock()  # guards _settings; a signal handler may have scopes, too
        self._rows = {row.name: row for row in rows}
        # The process's setting of each flag, then those of the scopes in the order of their begin.
        self._settings = {row.name: [_Setting(row.default, "default")] for row in rows}

    if not TYPE_CHECKING:  # checkers know the names

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            self._known(name, AttributeError)
            return self._settings[name][-1].value

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._rows]

    def __repr__(self) -> str:
        values = ", ".join(f"{row.name}={value!r}" for row, value, _ in self.rows())
        return f"flags({values})"

    @contextmanager
    def __call__(self, **changes: Unpack[flag_types.Changes]) -> Iterator[None]:
        """Set flags for the time of a ``with`` block.

        Where blocks overlap, of one thread or of several, the one that began last decides. The end
        of a block takes back what this block has set, in whatever order the blocks end.

        Parameters
        ----------
        **changes
            Flags and their values, typed or as the environment variable has them.

        Raises
        ------
        AttributeError
            For a name that is no flag.
        ValueError
            For a value that the flag does not take.
        """
        values = {}
        for name, value in changes.items():
            row = self._known(name, AttributeError)
            if row.apply is None:
                raise ValueError(f"[flags] {name} is read at import only ({row.variable})")
            values[name] = _parsed(row, f"{name}={value!r}", value)
        with ExitStack() as scope:
            for name, value in values.items():
                setting = _Setting(value, "scope")
                scope.callback(self._end, name, setting)  # first: Ctrl-C may come at any time
                self._begin(name, setting)
            yield

    def load(
        self,
        environment: Mapping[str, str],
        at_import: Mapping[str, Callable[[], None]] | None = None,
    ) -> None:
        """Take every ``ONEFLOW_LITE_*`` variable; an empty one stands for the default.

        Flags that are given and read at import only do what ``at_import`` says, in the order of the
        rows: what comes after may build on it.

        Raises
        ------
        ValueError
            For an unknown variable or a bad value; the message names it.
        """
        variables = {row.variable: row for row in self._rows.values()}
        given = {}
        for variable, text in environment.items():
            if not variable.startswith(PREFIX):
                continue
            if variable not in variables:
                raise ValueError(
                    f"[flags] unknown variable {variable}{suggest(variable, variables)}"
                )
            if text.strip():
                row = variables[variable]
                given[row.name] = _parsed(row, f"{variable}={text}", text)
        for name, row in self._rows.items():
            self._set(
                name, given.get(name, row.default), "environment" if name in given else "default"
            )
            if at_import and name in given and name in at_import:
                at_import[name]()

    def replace_default(self, name: str, value: Any, source: str) -> None:
        """Set a flag for the process, unless the environment has set it."""
        with self._lock:
            settings = self._settings[name]
            if settings[0].source != "default":
                return
            if len(settings) == 1:  # else a scope decides, and its end takes this value
                self._apply(name, value)
            settings[0] = _Setting(value, source)

    def rows(self) -> list[tuple[Flag, Any, str]]:
        """Every flag with its value and where the value comes from."""
        latest = {name: settings[-1] for name, settings in self._settings.items()}
        return [(row, latest[name].value, latest[name].source) for name, row in self._rows.items()]

    def _known(self, name: str, error: type[Exception]) -> Flag:
        if name not in self._rows:
            raise error(f"[flags] no flag {name!r}{suggest(name, self._rows)}")
        return self._rows[name]

    def _set(self, name: str, value: Any, source: str) -> None:
        with self._lock:
            self._apply(name, value)
            self._settings[name] = [_Setting(value, source)]

    def _begin(self, name: str, setting: _Setting) -> None:
        self._wait(name)
        with self._lock:
            self._settings[name].append(setting)
            self._apply(name, setting.value)

    def _end(self, name: str, setting: _Setting) -> None:
        """Take a setting back, also one whose begin was interrupted or has failed."""
        if setting not in self._settings[name]:
            return
        try:
            self._wait(name)
        finally:
            self._take_back(name, setting)

    def _take_back(self, name: str, setting: _Setting) -> None:
        with self._lock:
            settings = self._settings[name]
            decided = settings[-1] is setting
            settings.remove(setting)
            if decided:
                self._apply(name, settings[-1].value)

    def _wait(self, name: str) -> None:
        """Without the lock, which a function in flight may take."""
        if self._rows[name].waits:
            _C.wait_until_idle("flags")

    def _apply(self, name: str, value: Any) -> None:
        apply = self._rows[name].apply
        if apply is not None:
            apply(value)


def _parsed(row: Flag, given: str, value: object) -> Any:
    try:
        return row.parse(value)
    except ValueError as error:
        raise ValueError(f"[flags] {given}: {error}") from None


flags = Flags(_ROWS)
