"""Calls of jitted functions that are found without a key: how tests tell them from others."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import oneflow_lite as flow
from oneflow_lite.graph.jit.jitted import Jitted


class LookedUpError(Exception):
    """A call was not known."""


@contextmanager
def only_known() -> Iterator[None]:
    """Refuse to look calls up."""

    def refuse(self: Jitted, *args: Any, **kwargs: Any) -> Any:
        raise LookedUpError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Jitted, "_look_up", refuse)
        yield


def make_known(f: Any, *args: Any, **kwargs: Any) -> None:
    """Call twice: the first call traces, the second is found by its key."""
    f(*args, **kwargs)
    f(*args, **kwargs)


def is_known(f: Any, *args: Any, **kwargs: Any) -> bool:
    with only_known():
        try:
            f(*args, **kwargs)
        except LookedUpError:
            return False
    return True


def row(n: int = 3, **options: Any) -> flow.Tensor:
    return flow.ones(n, **options)
