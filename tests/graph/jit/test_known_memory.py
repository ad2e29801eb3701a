"""Known calls with NumPy's arrays and donated tensors among the arguments."""

import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from tests.support.graphs.known_calls import is_known, make_known, only_known, row
from tests.support.machine import Gate, in_thread


def test_arrays_are_those_of_the_call_and_copied() -> None:
    f = flow.jit(lambda x, y: (x + 2 * y, x))
    x, y = np.ones(3), np.full(3, 5.0)
    make_known(f, x, y)
    with only_known():
        result, same = f(y, x)
        y[:] = 9
        assert (result.tolist(), same.tolist()) == ([7.0] * 3, [5.0] * 3)
    assert not is_known(f, x, x)
    assert not is_known(f, row(), y)
    for other in (np.ones(4), np.ones(3, "f4"), np.ones(3, ">f8"), np.ones((1, 3)), np.ma.ones(3)):
        assert not is_known(f, other, y)
    make_known(f, x, x)
    make_known(f, x, y)
    with only_known():
        assert f(x, x)[0].tolist() == [3.0] * 3


def test_an_array_that_is_written_to_is_not_the_callers() -> None:
    f = flow.jit(lambda x: x.__iadd__(1))
    given = np.zeros(3)
    make_known(f, given)
    with only_known():
        assert f(given).tolist() == [1.0] * 3
    assert given.tolist() == [0.0] * 3


def test_donated_tensors() -> None:
    f = flow.jit(lambda w, x: w - x, donate="w")
    w = row()
    make_known(f, row(), row())
    with only_known():
        for k in range(3):
            before, (*_, address) = w, _C.place_of(w)
            w = f(w, row())
            assert w.tolist() == [-float(k)] * 3
            assert _C.place_of(w)[-1] == address
            with pytest.raises(flow.graph.TraceError, match=r"donated to a call at .*known_memory"):
                before.numpy()
    part = row(6)[::2].copy()
    held = part[:2]
    assert not is_known(f, part, row())  # somebody else sees its memory
    assert f(part, row()).tolist() == [0.0] * 3
    assert held.tolist() == [1.0] * 2
    with pytest.raises(ValueError, match="donated"):
        f(part := row(), part[:])
    assert is_known(f, row(), row())


LOOKS: dict[str, Callable[[Any], Any]] = {
    "array": np.asarray,
    "buffer": lambda x: np.array(memoryview(x)),
    "dlpack": np.from_dlpack,
}


@pytest.mark.parametrize("look", LOOKS)
def test_another_thread_waits_for_what_is_donated(look: str) -> None:
    """Both threads wait for the same function; the one that looks may be the later one."""
    plus_one = flow.jit(lambda x: x + 1, donate=("x",))
    for _ in range(3):
        plus_one(flow.ones(5000))
    asked, seen = threading.Event(), []
    for _ in range(10):
        asked.clear()
        with Gate(5000) as gate:
            x = gate.tensor

            def wait(x: Any = x) -> None:
                with flow.flags(implicit_sync="warn"):
                    seen.append(LOOKS[look](x))

            with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
                warnings.simplefilter("always")
                patch.setattr(warnings, "showwarning", lambda *_, **__: asked.set())
                thread = in_thread(wait)
                assert asked.wait(60)
                threading.Timer(0.02, gate.open).start()  # when both wait
                result = plus_one(x)
                thread.join()
        assert (seen[-1] == 0).all()
        assert (result == 1).all()
