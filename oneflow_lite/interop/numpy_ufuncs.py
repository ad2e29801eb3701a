"""NumPy's ufuncs on tensors: ``np.sin(t)``, ``array + t``, ``np.add.reduce(t)``.

NumPy hands such calls over. What a ufunc does is found in the op table; the result stays on the
tensor's device. What has no counterpart is a TypeError: nothing is looked at behind the program's
back.
"""

import functools
import inspect
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow_lite import _C
from oneflow_lite._C import Op, Tensor
from oneflow_lite.device import default_device
from oneflow_lite.dtypes import canonical, reduced_in, resolve_loop, result_type
from oneflow_lite.flags import flags
from oneflow_lite.interop.host_ufuncs import on_host, reduceat, write_at
from oneflow_lite.ops.creation.data import asarray, full
from oneflow_lite.ops.manipulation.shapes import normalize_axes
from oneflow_lite.ops.masking import required_target, selected, store
from oneflow_lite.ops.operands import host_array, is_number_along, order_of
from oneflow_lite.ops.statistics.reducing import mask_of
from oneflow_lite.ops.statistics.scan import accumulate as scan
from oneflow_lite.ops.table import ROWS, Row, row_of

__all__: list[str] = []

Function = Callable[..., Any]

NUMBERS = (bool, int, float, complex)
_OWN_TYPES = {Tensor, np.ndarray, *NUMBERS}

NOT_GIVEN = inspect.signature(np.sum).parameters["initial"].default  # NumPy's own marker


def namespace() -> Any:
    """Return the package; its names are complete only after this module is imported."""
    return sys.modules["oneflow_lite"]


def not_there(name: str) -> TypeError:
    """Return the error for what this package has no counterpart of."""
    return TypeError(
        f"[numpy.{name}] no implementation found for tensors; look at their values with .numpy() "
        "and use NumPy on these"
    )


@_C.native(_C.paths.array_ufunc)
def array_ufunc(
    self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **keywords: Any
) -> Any:
    """Do what a ufunc, or one of its methods, does; see ``numpy.ufunc``.

    ``out``, ``where``, ``dtype``, ``casting`` and ``signature`` have their meaning; elements of a
    new result that ``where`` leaves out are 0, and no business of the flag ``check_nan_inf``. An
    array as ``out`` waits. NumPy's warnings are not
    raised.
    """
    return _done(self.device, ufunc, method, inputs, out, keywords)


def call_row(op: Op, *operands: Any, out: Any = None, **keywords: Any) -> Any:
    """Call a row of the op table with more than operands and a tensor for the result."""
    name, nin = op.__name__, op.nin
    if any(isinstance(x, _C.GlobalTensor) for x in (*operands, *keywords.values())):
        named = ", ".join(keywords) or "out"
        raise TypeError(f"[{name}] {named}: not for a GlobalTensor; y[...] = flow.{name}(...)")
    if len(operands) > nin:
        if out is not None:
            raise TypeError(f"[{name}] got out twice, by its place and by its name")
        operands, out = operands[:nin], operands[nin]
        if out is not None:
            required_target(name, out)
    return call_method(op, "__call__", operands, out, keywords)


def call_method(
    op: Op, method: str, inputs: Sequence[Any], out: Any, keywords: dict[str, Any]
) -> Any:
    """Do what a method of a ufunc does, for the function of this package that is its row."""
    if op.__name__ not in ROWS:
        raise not_there(f"{op.__name__}.{method}")
    outs = [x for x in (out if isinstance(out, tuple) else (out,)) if x is not None]
    for target in outs:
        required_target(op.__name__, target)
    if len(outs) > 1:
        raise ValueError(f"[{op.__name__}] expected out of one entry, got {len(outs)}")
    home = _C.get_default_device()
    result = _done(home, ROWS[op.__name__].ufunc, method, inputs, outs, keywords)
    if result is NotImplemented:
        kinds = ", ".join({type(x).__name__ for x in inputs if not _is_known(x)})
        raise TypeError(f"[{op.__name__}] expected tensors, arrays or numbers, got {kinds}")
    return result


def _done(
    home: Any,
    ufunc: np.ufunc,
    method: str,
    inputs: Sequence[Any],
    out: Sequence[Any],
    keywords: dict[str, Any],
) -> Any:
    if method == "at":  # indices are no operands, and nothing is made
        return write_at(ufunc, inputs, out, **keywords)
    given: Any = (*inputs, *out) if out else inputs
    operands = inputs
    if not _OWN_TYPES.issuperset(map(type, given)):
        if not all(map(_is_known, given)):
            return NotImplemented
        operands = list(map(_operand, inputs))
    done = _METHODS.get(method)
    if done is None:
        raise not_there(f"{ufunc.__name__}.{method}")
    for x in given:
        if type(x) is Tensor:
            home = x.device
            break
    if home is _C.get_default_device():
        return done(ufunc, operands, out, **keywords)
    with default_device(home):
        return done(ufunc, operands, out, **keywords)


def _is_known(x: Any) -> bool:
    """False for arrays of other libraries, whose turn it then is."""
    kind = type(x)
    if kind in _OWN_TYPES:
        return True
    override = getattr(kind, "__array_ufunc__", None)
    return override is None or override in (array_ufunc, np.ndarray.__array_ufunc__)


def _operand(x: Any) -> Any:
    known = isinstance(x, (Tensor, np.ndarray, np.generic, *NUMBERS))
    return x if known else host_array(x, "ufunc")


@functools.cache
def _function_of(ufunc: np.ufunc) -> Function:
    row = row_of(ufunc)
    if row is not None:
        return row.op
    function = getattr(namespace(), ufunc.__name__, None)
    if callable(function):
        return function  # type: ignore[no-any-return]
    raise not_there(ufunc.__name__)


def _call(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    outs: Sequence[Any] = (),
    *,
    order: Any = "K",
    subok: bool = True,
    **keywords: Any,
) -> Any:
    name = f"numpy.{ufunc.__name__}"
    if not isinstance(subok, bool):
        raise TypeError(f"[{name}] subok: expected bool, got {type(subok).__name__}")
    wanted = order_of(name, order, "KCA")
    made = _made(ufunc, inputs, outs, **keywords)
    if wanted == "K":
        return made
    by_columns = wanted == "A" and all(map(_may_be_by_columns, inputs))
    laid = functools.partial(_laid_out, by_columns)
    if not isinstance(made, tuple):
        return laid(made, outs[0] if outs else None)
    return tuple(map(laid, made, outs or (None,) * len(made)))


def _may_be_by_columns(x: Any) -> bool:
    """Tell whether an operand is column-major; one of no or of one dimension is row-major, too."""
    if isinstance(x, Tensor):
        return x.T.is_contiguous()
    return bool(np.asarray(x).flags.f_contiguous)


def _laid_out(by_columns: bool, result: Any, out: Any) -> Any:
    """Return a new result by columns or by rows; what was given as ``out`` stays as it is."""
    if out is not None:
        return result
    turned = result.T if by_columns else result
    laid = turned if turned.is_contiguous() else _C.copy(turned)
    return laid.T if by_columns else laid


def _made(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    outs: Sequence[Any] = (),
    *,
    where: Any = True,
    casting: Any = "same_kind",
    dtype: Any = None,
    signature: Any = None,
    sig: Any = None,
    **others: Any,
) -> Any:
    function = _function_of(ufunc)
    if ufunc.signature is not None:  # of matrices and vectors, which functions check themselves
        named = others | {"dtype": dtype, "casting": casting, "out": outs[0] if outs else None}
        if where is not True or signature is not None or sig is not None:
            name = f"numpy.{ufunc.__name__}"
            raise TypeError(f"[{name}] where, signature: not there for tensors")
        return _of_vectors(ufunc, function, inputs, named)
    if others:
        raise TypeError(f"[numpy.{ufunc.__name__}] {', '.join(others)}: not there for tensors")
    loop = signature if sig is None else sig
    if loop is not None or dtype is not None or casting != "same_kind":
        inputs = _cast(ufunc, inputs, outs, loop, dtype, casting)
    if where is not True and flags.check_nan_inf:
        inputs = _kept_only(ufunc, inputs, where)
    is_plain = isinstance(function, Op) and where is True and casting == "same_kind"
    if is_plain and (not outs or isinstance(outs[0], Tensor)):
        return function(*inputs, out=outs[0] if outs else None)
    if isinstance(function, Op):
        value = function(*inputs)
        out = outs[0] if outs else None
        return store(ufunc.__name__, out, value, casting, where, widens=True)
    result = function(*inputs)
    results = result if isinstance(result, tuple) else (result,)
    targets = outs or (None,) * len(results)
    stored = tuple(
        store(ufunc.__name__, target, value, casting, where, widens=True)
        for target, value in zip(targets, results, strict=True)
    )
    return stored if isinstance(result, tuple) else stored[0]


def _of_vectors(
    ufunc: np.ufunc, function: Function, inputs: Sequence[Any], named: dict[str, Any]
) -> Any:
    known = _names_of(function)
    given = {key: x for key, x in named.items() if key in known or key not in ("dtype", "casting")}
    if unknown := given.keys() - known:
        listed = ", ".join(sorted(unknown))
        raise TypeError(f"[numpy.{ufunc.__name__}] {listed}: not there for tensors")
    return function(*inputs, **given)


@functools.cache
def _names_of(function: Function) -> frozenset[str]:
    return frozenset(inspect.signature(function).parameters)


def _kept_only(ufunc: np.ufunc, inputs: Sequence[Any], where: Any) -> Sequence[Any]:
    """The inputs with a harmless number where the mask is false: no result there is to be checked.

    A check sees the whole result of an operation. Numbers of Python are cast first, as the
    operation would cast them.
    """
    try:
        cast = _cast(ufunc, inputs, (), None, None, "same_kind")
    except TypeError:
        return inputs  # which the operation refuses itself
    if not all(isinstance(x, (Tensor, np.ndarray, np.generic)) for x in cast):
        return inputs  # a comparison with a number: its result is a bool
    number = _harmless(ufunc, tuple([x.dtype for x in cast]))
    device = next((x.device for x in cast if type(x) is Tensor), None)
    given = [asarray(x, device=device) for x in cast]
    return [selected(where, x, full((), number, x.dtype, device=x.device)) for x in given]


@functools.cache
def _harmless(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> int:
    """A number of which, as every operand, the ufunc makes finite results; arctanh needs 0."""
    known = [np.dtype(np.float32) if dtype.kind == "V" else dtype for dtype in dtypes]
    with np.errstate(all="ignore"):
        results = ufunc(*(np.ones((), dtype) for dtype in known))
    return int(all(np.isfinite(x) for x in (results if type(results) is tuple else (results,))))


def _cast(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    outs: Sequence[Any],
    loop: Any,
    dtype: Any,
    casting: Any,
) -> list[Any]:
    """The inputs in the dtypes of the loop that NumPy chooses; its own errors without one."""
    given = tuple([x.dtype if type(x) is Tensor else _operand_type(x) for x in inputs])
    targets = tuple([None if x is None else x.dtype for x in outs]) if outs else None
    if isinstance(loop, str):
        left, _, right = loop.rpartition("->")
        loop = (*(left or [None] * ufunc.nin), *right)
    resolved = _loop_dtypes(ufunc, given, targets, loop, dtype, casting)
    # Comparisons take integers of any size, unless the loop names the dtype of that operand.
    compares = resolved[-1].kind == "b"
    return [
        (x if x.dtype is wanted else _C.astype(x, wanted, False))
        if type(x) is Tensor
        else x
        if type(x) is int and compares and wanted.kind != "b" and (loop is None or loop[i] is None)
        else _cast_number(x, wanted)
        if type(x) in NUMBERS
        else x.astype(wanted, copy=False)
        for i, (x, wanted) in enumerate(zip(inputs, resolved, strict=False))
    ]


def _cast_number(x: Any, wanted: Any) -> Any:
    """A number of Python as an array; an integer that does not fit is an OverflowError."""
    if isinstance(x, int):
        return np.array(x, np.int64 if wanted.kind == "b" else wanted).astype(wanted)
    if isinstance(x, complex) and wanted.kind not in "bc":
        if x.imag:
            raise TypeError(f"[ufunc] cannot cast the complex number {x} to {wanted}")
        x = x.real
    with np.errstate(all="ignore"):
        return np.asarray(x).astype(wanted)


@functools.lru_cache(maxsize=1024)
def _loop_dtypes(
    ufunc: np.ufunc,
    given: tuple[Any, ...],
    targets: tuple[Any, ...] | None,
    loop: Any,
    dtype: Any,
    casting: Any,
) -> tuple[Any, ...]:
    """The dtypes of the loop for operands and targets (None: none); a loop goes before a dtype."""
    if loop is None and dtype is not None:
        loop = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    wanted = loop or (None,) * ufunc.nargs
    return resolve_loop(ufunc, (*given, *(targets or [None] * ufunc.nout)), wanted, casting=casting)


def _operand_type(x: Any) -> Any:
    """The dtype of an operand; a type, of Python's numbers, which are weak."""
    if isinstance(x, Tensor):
        return x.dtype
    if type(x) in (int, float, complex):
        return type(x)
    return result_type(x.dtype if isinstance(x, (np.ndarray, np.generic)) else x)


def reduce(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    outs: Sequence[Any] = (),
    *,
    axis: Any = 0,
    dtype: Any = None,
    keepdims: bool = False,
    initial: Any = NOT_GIVEN,
    where: Any = True,
) -> Any:
    out = outs[0] if outs else None
    x = inputs[0] if type(inputs[0]) is Tensor else asarray(inputs[0])
    if dtype is not None:
        dtype = canonical(dtype, f"numpy.{ufunc.__name__}")
    row, accumulated, identity = _reduction(
        ufunc, x.dtype, dtype, None if out is None else out.dtype
    )
    if is_number_along(x, axis):
        axes: Any = ()
    elif type(axis) is int:
        axes = (axis,)
    else:
        axes = axis if axis is None or isinstance(axis, Sequence) else (axis,)
    _check_order(row, accumulated, x.ndim if axes is None else len(axes))
    start: Any = identity if initial is NOT_GIVEN else initial
    if where is not True:
        x = _masked(row, x.astype(accumulated, copy=False), start, where)
    result = _C.reduce(row.op, x, axes, accumulated, start, bool(keepdims))
    return result if out is None else store(f"{ufunc.__name__}.reduce", out, result, "unsafe")


@functools.lru_cache(maxsize=1024)
def _reduction(ufunc: np.ufunc, given: Any, dtype: Any, target: Any) -> tuple[Row, Any, Any]:
    """Return the row, the dtype to reduce in, and the identity there."""
    row = row_of(ufunc)
    if row is None or ufunc.nin != 2:
        raise not_there(f"{ufunc.__name__}.reduce")
    if dtype is None:
        dtype = reduced_in(ufunc, given, target)
        if dtype is None:
            raise not_there(f"{ufunc.__name__}.reduce")
        dtype = canonical(dtype, f"numpy.{ufunc.__name__}")
    return row, dtype, _identity(ufunc, dtype)


def _check_order(row: Row, dtype: Any, axes: int) -> None:
    """NumPy's rule for operations whose order matters; integer powers raise inside their loop."""
    name = f"{row.ufunc.__name__}.reduce"
    if row.properties.checks_exponent and dtype.kind in "iu":
        raise not_there(name)
    if axes > 1 and row.ufunc.identity is None and not row.properties.extremum:
        raise ValueError(f"[numpy.{name}] the order matters: expected one axis, got {axes}")


@functools.cache
def _identity(ufunc: np.ufunc, dtype: Any) -> Any:
    """What a reduction starts with; None: with the first element."""
    return None if ufunc.identity is None else np.asarray(ufunc.identity).astype(dtype)[()]


def _masked(row: Row, x: Tensor, start: Any, where: Any) -> Tensor:
    """X with elements that change nothing where the mask is false."""
    name = f"{row.ufunc.__name__}.reduce"
    if start is None:
        raise ValueError(f"[numpy.{name}] there is no identity, so a mask needs `initial`")
    # Among others it makes no difference how often an extremum has what it starts with.
    neutral = start if row.properties.extremum else _identity(row.ufunc, x.dtype)
    if neutral is None:
        raise not_there(name)
    mask = mask_of(name, where, x)
    return selected(mask, x, full((), neutral, x.dtype, device=x.device))


def accumulate(
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    outs: Sequence[Any] = (),
    *,
    axis: int = 0,
    dtype: Any = None,
) -> Any:
    row = row_of(ufunc)
    if row is None:
        raise not_there(f"{ufunc.__name__}.accumulate")
    out, x = outs[0] if outs else None, asarray(inputs[0])
    name = f"{ufunc.__name__}.accumulate"
    if ufunc.nin != 2:
        raise ValueError(f"[{name}] expected a binary operation")
    if dtype is None and not (out is None and row.properties.associative):
        dtype = _accumulated_in(ufunc, x, out)
    if dtype is not None:
        dtype = canonical(dtype, name)
    if x.ndim and row.properties.checks_exponent and dtype.kind in "iu":
        along = normalize_axes(operator.index(axis), x.ndim, name)[0]

        def powers(given: Any, target: Any) -> None:
            ufunc.accumulate(given, along, target.dtype, target)

        return store(name, out, on_host(name, powers, [x], x.shape, dtype), "unsafe")
    return store(name, out, scan(row.op, x, axis, dtype), "unsafe")


def _accumulated_in(ufunc: np.ufunc, x: Tensor, out: Any) -> Any:
    name = f"{ufunc.__name__}.accumulate"
    try:
        dtype = reduced_in(ufunc, x.dtype, None if out is None else out.dtype)
    except TypeError as error:
        raise TypeError(f"[{name}] {error}") from None
    if dtype is None:
        raise not_there(name)
    return dtype


def _outer(
    ufunc: np.ufunc, inputs: Sequence[Any], outs: Sequence[Any] = (), **keywords: Any
) -> Any:
    if ufunc.nin != 2:
        raise ValueError(f"[{ufunc.__name__}.outer] expected a binary operation")
    a, b = (x if isinstance(x, Tensor) else host_array(x, "outer") for x in inputs)
    column = a.reshape(a.shape + (1,) * b.ndim) if b.ndim else a
    return _call(ufunc, [column, b], outs, **keywords)


_METHODS: dict[str, Function] = {
    "__call__": _call,
    "reduce": reduce,
    "accumulate": accumulate,
    "outer": _outer,
    "reduceat": reduceat,
}
