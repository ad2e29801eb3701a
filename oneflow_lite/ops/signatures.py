"""What type checkers know of functions that take tensors of many ranks, or make them.

At run time the decorators return the functions as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, overload

from oneflow_lite._C import GlobalTensor, Placement, Sbp, Tensor

_P = ParamSpec("_P")


class _Taking(Protocol[_P]):
    """A function of a tensor, whose result is of many ranks where the tensor is."""

    @overload
    def __call__(self, x: GlobalTensor, /, *args: _P.args, **kwargs: _P.kwargs) -> GlobalTensor: ...
    @overload
    def __call__(self, x: Any, /, *args: _P.args, **kwargs: _P.kwargs) -> Tensor: ...


class _Making(Protocol[_P]):
    """A function that makes a tensor, which is of many ranks where a placement is given."""

    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> Tensor: ...
    @overload
    def __call__(
        self,
        *args: Any,
        placement: Placement,
        sbp: Sbp | Sequence[Sbp] = ...,
        **kwargs: Any,
    ) -> GlobalTensor: ...


def takes_global(function: Callable[Concatenate[Any, _P], Tensor]) -> _Taking[_P]:
    """Say that a function has a result like its first operand."""
    return function  # type: ignore[return-value]


def makes_global(function: Callable[_P, Tensor]) -> _Making[_P]:
    """Say that a function takes ``placement`` and ``sbp``, too; see ``flow.distributed``."""
    return function  # type: ignore[return-value]
