"""What the tests of files of many ranks use."""

from collections.abc import Callable
from typing import Any

import pytest

import oneflow_lite as flow


def tensorstore() -> Any:
    """The module; a test that needs it is left out where it is not installed."""
    return pytest.importorskip("tensorstore", reason="needs oneflow_lite[checkpoint]")


def each_error(program: Callable[[], Any], world: int) -> list[BaseException]:
    """What each rank's program raises; none of them ends the others."""

    def rank() -> BaseException:
        try:
            program()
        except Exception as error:
            return error
        return AssertionError("nothing was raised")

    return flow.distributed.run(rank, world)
