"""flow.grad and its like: functions that compute gradients of functions."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, Literal, TypeVar, overload

from oneflow_lite import _C
from oneflow_lite._C import Recorder, Tensor
from oneflow_lite.dtypes import float64
from oneflow_lite.graph.gradients.arguments import (
    Wanted,
    arranged,
    checked_argnums,
    own,
    require_real,
)
from oneflow_lite.graph.gradients.record import STOP, Record
from oneflow_lite.graph.gradients.walk import pulled
from oneflow_lite.graph.jit.jitted import Jitted
from oneflow_lite.graph.jit.methods import qualified_name
from oneflow_lite.graph.jit.options import Options
from oneflow_lite.graph.jit.signatures import P, Q, R
from oneflow_lite.ops.creation.data import asarray, full, ones

Argnums = int | Sequence[int]


V = TypeVar("V")


class Differentiated(Generic[P, R]):
    """What grad() and value_and_grad() return.

    A call is traced as those of jit() are, and runs as a whole. While something else is traced, its
    operations become a part of that.
    """

    # jit() watches and copies what is in the dict: __wrapped__ and other attributes of functions.
    __slots__ = (
        *("__dict__", "__weakref__", "_argnums", "_function", "_has_aux", "_is_one", "_jitted"),
        *("_op", "_with_value"),
    )

    def __init__(
        self,
        op: str,
        function: Callable[..., Any],
        argnums: Argnums,
        has_aux: bool,
        with_value: bool,
    ) -> None:
        if not callable(function):
            raise TypeError(f"[{op}] expected a function, got {type(function).__name__}")
        self._op = op
        self._function = function
        self._argnums = checked_argnums(op, argnums)
        self._is_one = not isinstance(argnums, tuple | list)
        self._has_aux = has_aux
        self._with_value = with_value
        update_wrapper(self, function, updated=())
        self._jitted = Jitted(self, Options(), op)

    @overload
    def __get__(self, owner: None, kind: type) -> "Differentiated[P, R]": ...
    @overload
    def __get__(
        self: "Differentiated[Concatenate[Any, Q], R]", owner: object, kind: type | None = None
    ) -> Callable[Q, R]: ...
    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """Make a method of it; the object is its first argument."""
        return self if owner is None else MethodType(self, owner)

    def __copy__(self) -> "Differentiated[P, R]":
        return self

    def __deepcopy__(self, memo: Any) -> "Differentiated[P, R]":
        function = deepcopy(self._function, memo)  # itself, but for methods and other objects
        if function is self._function:
            return self
        if id(self) in memo:  # the function leads to it
            copied: Differentiated[P, R] = memo[id(self)]
            return copied
        argnums = self._argnums[0] if self._is_one else self._argnums
        return Differentiated(self._op, function, argnums, self._has_aux, self._with_value)

    def __reduce__(self) -> str:
        return qualified_name(self._op, self._function, self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Compute the gradient, or record it."""
        recorder = _C.open_recording()
        if recorder is None:
            return self._jitted(*args, **kwargs)
        found: R = self._recorded(recorder, list(args), kwargs)
        return found

    def _recorded(self, recorder: Recorder, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if max(self._argnums) >= len(args):
            raise TypeError(
                f"[{self._op}] expected an argument at position {max(self._argnums)}, by which the "
                f"function is differentiated, got {len(args)} positional ones"
            )
        wanted = Wanted(self._op, recorder)
        begin = recorder.count()[0]
        trees = []
        for k in self._argnums:
            args[k], tree = wanted.alias(args[k], f"args[{k}]")
            trees.append(tree)
        returned = self._function(*args, **kwargs)
        wanted.check_unwritten()
        value = self._value_of(returned)
        walked = _pulled(recorder, begin, value, wanted.values)
        gradients = own(recorder, *walked, wanted.tensors)
        found = tuple(arranged(tree, gradients) for tree in trees)
        result = found[0] if self._is_one else found
        shown = wanted.returned(tuple(returned) if self._has_aux else returned)
        if self._with_value:
            return shown, result
        return (result, shown[1]) if self._has_aux else result

    def _value_of(self, returned: Any) -> Tensor:
        value = returned
        if self._has_aux:
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TypeError(
                    f"[{self._op}] has_aux: expected the function to return a pair, got "
                    f"{type(returned).__name__}"
                )
            value = returned[0]
        if isinstance(value, float):
            value = full((), value, dtype=float64)
        if not isinstance(value, Tensor):
            raise TypeError(
                f"[{self._op}] expected the function to return a tensor of one number, got "
                f"{type(value).__name__}"
            )
        _check_loss(self._op, "the result of the function", value)
        return value


def _check_loss(op: str, what: str, x: Tensor) -> None:
    require_real(op, what, x)
    if x.ndim != 0:
        raise ValueError(f"[{op}] {what}: expected one number, of shape (), got shape {x.shape}")


def _check_tensors(op: str, given: dict[str, Any]) -> None:
    for what, x in given.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"[{op}] {what}: expected a tensor, got {type(x).__name__}")
        require_real(op, what, x)


def _pulled(
    recorder: Recorder, begin: int, loss: Tensor, values: list[int]
) -> tuple[int, list[Tensor | None]]:
    """Return the first operation of the walk back, and what it found."""
    number = recorder.value_of(loss)
    end = recorder.count()[0]
    seed = ones((), dtype=loss.dtype, device=loss.device)
    return end, pulled(Record(recorder, (begin, end), values), [(number, seed)])


@overload
def grad(
    function: Callable[P, tuple[Any, V]], argnums: Argnums = 0, *, has_aux: Literal[True]
) -> Differentiated[P, tuple[Any, V]]: ...
@overload
def grad(
    function: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False
) -> Differentiated[P, Any]: ...
def grad(function: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False) -> Any:
    """Return the function that computes the gradient of a function.

    Parameters
    ----------
    function
        What trace() can record; it returns a tensor of shape (), of real floating-point numbers.
    argnums
        The position of the argument to differentiate by, or several. It is a tensor, an array, a
        float, or a tree of them: dicts, lists, tuples, dataclasses.
    has_aux
        The function returns a pair, the second of which is not differentiated and is returned
        beside the gradient.

    Returns
    -------
    callable
        Of the function's arguments. It returns the gradient as a tree like the argument; a tuple of
        them for several positions. What the value does not depend on has a gradient of zeros.

    Raises
    ------
    TypeError
        From a call: an argument to differentiate by, or the result, is not real floating.
    ValueError
        From a call: the result has another shape; the function writes to such an argument.
    NotImplementedError
        From a call: an operation has no rule. Names it and its line.

    Examples
    --------
    >>> flow.grad(lambda x: (x**3).sum())(flow.tensor([1.0, 2.0])).numpy()
    array([ 3., 12.])
    >>> flow.grad(flow.grad(lambda x: x**3))(2.0).item()
    12.0
    """
    return Differentiated("grad", function, argnums, has_aux, False)


def value_and_grad(
    function: Callable[P, V], argnums: Argnums = 0, has_aux: bool = False
) -> Differentiated[P, tuple[V, Any]]:
    """Return the function that computes a function and its gradient.

    Parameters
    ----------
    function, argnums, has_aux
        As for ``grad``.

    Returns
    -------
    callable
        Of the function's arguments. It returns what the function returns, and the gradient.

    Raises
    ------
    TypeError, ValueError, NotImplementedError
        As ``grad`` does.

    Examples
    --------
    >>> w, x = flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0])
    >>> value, gradient = flow.value_and_grad(lambda w, x: (w @ x) ** 2)(w, x)
    >>> value.item(), gradient.tolist()
    (121.0, [66.0, 88.0])
    """
    return Differentiated("value_and_grad", function, argnums, has_aux, True)


def gradients(loss: Tensor, values: Any) -> Any:
    """Return the gradients of a tensor of the recording by others, in the same recording.

    It is for blocks of ``flow.graph.building`` and functions that are traced.

    Parameters
    ----------
    loss : Tensor
        Of shape (), and of real floating-point numbers.
    values : Tensor or sequence of Tensor
        What it was computed from, as they are now: parameters, feeds, results of operations.

    Returns
    -------
    Tensor or list of Tensor
        A gradient for each, of its shape and dtype.

    Raises
    ------
    TraceError
        Nothing is recorded.
    TypeError, ValueError, NotImplementedError
        As ``grad`` does; also where the loss does not depend on a value.

    Examples
    --------
    >>> main, startup = flow.graph.Program("main"), flow.graph.Program("startup")
    >>> with flow.graph.building(main, startup):
    ...     x = flow.graph.data("x", (None, 3))
    ...     w = flow.graph.parameter("w", (3,), init=[1.0, 2.0, 3.0])
    ...     loss = (x @ w).sum()
    ...     w -= 0.5 * flow.graph.gradients(loss, w)
    >>> exe, scope = flow.graph.Executor(), flow.graph.Scope()
    >>> exe.run(startup, scope=scope)
    []
    >>> exe.run(main, {"x": [[1.0, 1.0, 2.0]]}, [loss], scope=scope)[0].item()
    9.0
    >>> scope["w"].tolist()
    [0.5, 1.5, 2.0]
    """
    op = "gradients"
    recorder = _C.open_recording()
    if recorder is None:
        raise _C.TraceError(f"[{op}] is for recordings: use flow.grad on a function")
    is_one = not isinstance(values, list | tuple)
    wanted = [values] if is_one else list(values)
    _check_tensors(op, {"loss": loss} | {f"values[{k}]": x for k, x in enumerate(wanted)})
    _check_loss(op, "loss", loss)
    numbers = [recorder.value_of(x) for x in wanted]
    begin, found = _pulled(recorder, 0, loss, numbers)
    for k, g in enumerate(found):
        if g is None:
            raise ValueError(
                f"[{op}] loss does not depend on values[{k}] of shape {wanted[k].shape}, as it is "
                "now: take the gradient before that is written to, or leave it out"
            )
    made = own(recorder, begin, found, wanted)
    return made[0] if is_one else made


def stop_gradient(x: Any) -> Tensor:
    """Return a copy of a tensor, which counts as constant for gradients.

    Parameters
    ----------
    x : Tensor, array or scalar
        Of any dtype.

    Examples
    --------
    >>> flow.grad(lambda x: x * flow.stop_gradient(x))(3.0).item()
    3.0
    """
    given = asarray(x)
    made = [(given.dtype, (), ())]
    call = _C.OpCall("copy", STOP, attr=(True,), made=made)
    return call.replay([given])[0]
