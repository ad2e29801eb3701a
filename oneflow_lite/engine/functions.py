"""Functions that are pushed: Python's, and those of C by their address."""

import ctypes
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

from oneflow_lite import _C
from oneflow_lite._C import Device, Tensor
from oneflow_lite.engine.completion import Completion
from oneflow_lite.engine.names import label
from oneflow_lite.engine.run import HOST, later, on_device
from oneflow_lite.engine.variables import Var

Token = Var | Tensor
_FUNCTION_OF_CTYPES: Any = ctypes.CFUNCTYPE(None).__mro__[1]


def _rank(op: str, priority: SupportsIndex) -> int:
    try:
        return operator.index(priority)
    except TypeError:
        raise TypeError(f"[{op}] priority: expected an integer, got {priority!r}") from None


class CFunction(_C.CFunction):
    """A function of C, called without Python's lock.

    Its type is ``void f(void *argument, void **memory)``. ``memory`` has a pointer to the first
    element of each tensor, those of ``reads`` before those of ``writes``, in the order of the
    lists. The tensors are row-major; variables have no pointer. Pushed to the stream of a device,
    it is called as ``f(argument, memory, stream)``, with the handle of the stream as a pointer.

    Parameters
    ----------
    function : int, ctypes function, cffi function, numba.cfunc or capsule
        Its address, or an object that has one.
    argument : int, ctypes object, cffi pointer or None, optional
        The pointer that it is called with: an address, or an object with one. A ctypes object is
        passed by its own address.
    status : bool, optional
        It returns an ``int``, and has failed unless that is 0.

    Notes
    -----
    ``function`` and ``argument`` are kept alive as long as this object or a push of it lives. What
    an address given as an integer points to is the caller's to keep.

    Raises
    ------
    TypeError
        For an object without an address.
    ValueError
        The address is 0.
    OverflowError
        The address, or that of the argument, is negative or has more bits than a pointer.

    Examples
    --------
    >>> import ctypes
    >>> @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
    ... def double(argument, memory):
    ...     number = ctypes.cast(memory[0], ctypes.POINTER(ctypes.c_double))
    ...     number[0] *= 2
    >>> x = flow.full(1, 21.0)
    >>> done = flow.engine.push(flow.engine.CFunction(double), writes=[x])
    >>> x.item()
    42.0
    """

    __slots__ = ()

    def __new__(cls, function: Any, argument: Any = None, *, status: bool = False) -> "CFunction":
        """Find the two addresses."""
        address = _checked_address("function", function)
        if address == 0:
            raise ValueError("[CFunction] function: its address is 0")
        pointer = 0 if argument is None else _checked_address("argument", argument)
        return super().__new__(cls, address, pointer, bool(status), (function, argument))

    def __repr__(self) -> str:
        return f"CFunction({self.address:#x})"


def _checked_address(what: str, given: Any) -> int:
    address = _address(what, given)
    bits = 8 * ctypes.sizeof(ctypes.c_void_p)
    if not 0 <= address < 2**bits:
        raise OverflowError(
            f"[CFunction] {what}: expected an address of {bits} bits, got {address}"
        )
    return address


def _address(what: str, given: Any) -> int:
    """Of an object of ctypes, cffi or numba, a capsule, or an integer."""
    if isinstance(given, (_FUNCTION_OF_CTYPES, ctypes.c_void_p, ctypes._Pointer)):
        return ctypes.cast(given, ctypes.c_void_p).value or 0
    if isinstance(given, (ctypes.Structure, ctypes.Union, ctypes.Array, ctypes._SimpleCData)):
        return ctypes.addressof(given)
    kind = type(given)
    if kind.__name__ == "PyCapsule":
        return _of_capsule(given)
    if kind.__module__ == "_cffi_backend":
        return int(sys.modules["_cffi_backend"].FFI().cast("uintptr_t", given))
    if isinstance(getattr(given, "address", None), int):  # numba.cfunc
        return int(given.address)
    try:
        return operator.index(given)
    except TypeError:
        wanted = "an address, or an object of ctypes, cffi or numba, or a capsule"
        raise TypeError(f"[CFunction] {what}: expected {wanted}, got {kind.__name__}") from None


def _of_capsule(capsule: Any) -> int:
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    address: int = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return address


class Operator(_C.Operator):
    """A function with what it reads and writes, made once and pushed often.

    Parameters are those of ``push``. All pushes run the same function on the same variables and
    tensors, in the order of their pushes where it writes something.

    Examples
    --------
    >>> count = flow.zeros(1)
    >>> def add(x):
    ...     x[0] += 1
    >>> step = flow.engine.Operator(add, writes=[count])
    >>> for _ in range(1000):
    ...     done = step.push()
    >>> count.item()
    1000.0
    """

    __slots__ = ("__weakref__",)

    def __new__(
        cls,
        fn: Callable[..., Any] | CFunction,
        reads: Sequence[Token] = (),
        writes: Sequence[Token] = (),
        *,
        priority: SupportsIndex = 0,
        name: str | None = None,
        blocking: bool = False,
        device: Device | str | None = None,
        stream: str = "compute",
    ) -> "Operator":
        """Take the parameters of ``push``."""
        named, rank, code = (
            label("Operator", fn, name),
            _rank("Operator", priority),
            _code(fn, device),
        )
        return super().__new__(
            cls, code, reads, writes, named, rank, bool(blocking), False, device, stream
        )


def push(
    fn: Callable[..., Any] | CFunction,
    reads: Sequence[Token] = (),
    writes: Sequence[Token] = (),
    *,
    priority: SupportsIndex = 0,
    name: str | None = None,
    blocking: bool = False,
    device: Device | str | None = None,
    stream: str = "compute",
) -> Completion:
    """Run a function when its turn has come, on a thread of the machine. Returns at once.

    Functions that write one variable run in the order of their pushes. Functions that only read it
    between two writes run in any order, and at the same time. Tensors are variables, too. Of two
    threads that push on one variable, the first to come is first.

    Parameters
    ----------
    fn : callable or CFunction
        A callable gets a NumPy array over each tensor, those of ``reads`` (read-only) before those
        of ``writes``; they end with the call.
    reads, writes : sequence of Var and Tensor
        What it reads and what it changes; tensors on the cpu or on ``device``. Each is in one of
        the lists, once.
    priority : int, optional
        Of the functions that are ready and have no thread yet, the highest runs first.
    name : str, optional
        For errors, traces and reports; the function's name by default.
    blocking : bool, optional
        It waits for something outside: it runs on a pool of threads that grows as needed, and not
        on one of the ``ONEFLOW_LITE_ENGINE_THREADS`` threads.
    device : Device or str, optional
        Whose stream it runs on, as ``fn(run, *views)``; None or the cpu: on a thread for functions.
        It is called in the order of the stream's operations, before these have run, and enqueues
        its work on ``run.stream``. Tensors of a GPU are ``View`` objects. Those of mock devices are
        NumPy arrays, and their stream has run dry when it is called.
    stream : {"compute", "h2d", "d2h"}

    Returns
    -------
    Completion
        A function that fails leaves its error here and in all that it writes: functions that need
        it are skipped, and a look at it raises, until ``Var.clear_error``.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        What is given is no function, no variable, a variable twice, or one that has been deleted.

    Examples
    --------
    >>> table, rows = flow.engine.Var("table"), []
    >>> for k in range(3):
    ...     done = flow.engine.push(lambda k=k: rows.append(k), writes=[table])
    >>> done.wait(), rows
    (None, [0, 1, 2])
    """
    named, rank, code = label("push", fn, name), _rank("push", priority), _code(fn, device)
    return _C._push(code, reads, writes, named, rank, blocking, False, device, stream)


def _code(fn: Any, device: Device | str | None) -> Any:
    """What the native core calls."""
    is_plain = device is None or isinstance(fn, _C.CFunction) or not callable(fn)
    return fn if is_plain or device == HOST else on_device(fn)  # a Device equals its string


def push_async(
    fn: Callable[..., Any],
    reads: Sequence[Token] = (),
    writes: Sequence[Token] = (),
    *,
    priority: SupportsIndex = 0,
    name: str | None = None,
    blocking: bool = False,
) -> Completion:
    """Run a function that completes later than it returns.

    Parameters are those of ``push``. The function is called as ``fn(run, on_complete, *arrays)``.
    It arranges for ``on_complete(result=None, error=None)`` to be called once, in any thread, and
    returns; what comes behind it begins after that call. The arrays are valid until then.

    Returns
    -------
    Completion
        Its result is the one that ``on_complete`` was given; it raises ``error``.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As of ``push``.

    Notes
    -----
    A second call of ``on_complete`` raises ``RuntimeError``. If nobody keeps ``on_complete``, the
    function fails. One that has not completed when the process ends has failed.

    Examples
    --------
    >>> import threading
    >>> page = flow.engine.Var("page")
    >>> def fetch(run, on_complete):
    ...     threading.Timer(0.01, on_complete, ["text"]).start()
    >>> done = flow.engine.push_async(fetch, writes=[page])
    >>> done.result()
    'text'
    """
    named, rank = label("push_async", fn, name), _rank("push_async", priority)
    code = later(fn) if callable(fn) and not isinstance(fn, _C.CFunction) else fn
    return _C._push(code, reads, writes, named, rank, blocking, True, None, "compute")
