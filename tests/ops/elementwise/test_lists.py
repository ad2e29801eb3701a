"""Lists and tuples as operands of elementwise functions."""

from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.table import ROWS
from tests.support.oracle import same

pytestmark = pytest.mark.usefixtures("no_warnings")

LISTS: tuple[tuple[Any, ...], ...] = (
    ([[1, 2, 3], [4, 5, 6]], (1, 2, 1), [3, 4, 4]),
    ((0.5, 0.25), [[0.5], [1]], [2, 2.5]),
    ([True, False], (True, True), [True, True]),
    ([1j, 2], [3, 4], [5j, 6]),
    ([], [], []),
    ([1, 2], 3, 4.5),
    ([1, 2], [3, 4], 4.5),
    ([2**63], [1], (2**63,)),
    (np.float32(0.5), [0.25], [1.0]),
)


@pytest.mark.parametrize("name", ROWS)
def test_lists(name: str) -> None:
    """What NumPy makes of lists alone; the dtype of a list is not weak."""
    ufunc = ROWS[name].ufunc
    for lists in LISTS:
        given = lists[: ufunc.nin]
        try:
            with np.errstate(all="ignore"):
                expected = ufunc(*given)
        except TypeError:
            with pytest.raises(TypeError):
                ROWS[name].op(*given)
        else:
            if expected.dtype != object:
                same(np.asarray(expected), ROWS[name].op(*given))


def test_a_list_goes_to_the_device_of_the_tensor(device: flow.Device) -> None:
    x = flow.tensor([1, 2, 3], dtype="int8", device=device)
    for found in (flow.add(x, [1, 2, 3]), flow.add((1, 2, 3), x), flow.clip(x, [2] * 3, [5] * 3)):
        assert found.device == device
        assert found.dtype == flow.int64
    same(np.array([2, 4, 6]), flow.add(x, [1, 2, 3]))
    same(np.array([2, 2, 3]), flow.clip(x, [2] * 3, [5] * 3))
    out = flow.zeros((2, 2), device=device)
    assert flow.sqrt([1, 4], out=out) is out
    same(np.array([[1.0, 2.0]] * 2), out)


def test_tensors_in_lists(device: flow.Device) -> None:
    x = flow.tensor([1.0, 4.0], device=device)
    same(np.array([2.0, 8.0]), flow.add(x, [x[0], x[1]]))
    same(np.array([2.0, 8.0]), x.__add__([x[0], 4]))
    found = flow.sqrt([x, (9, 1)])
    same(np.array([[1.0, 2.0], [3.0, 1.0]]), found)
    assert found.device == device


def test_tensors_in_lists_are_not_moved() -> None:
    """Numbers go where they are, before them and behind; two devices are an error."""
    x, y = flow.tensor([1.0, 2.0]), flow.tensor([1.0, 2.0], device="mock:0")
    for found in (flow.add([1, 2], [y[0], y[1]]), flow.add([[y[0], 1]], [1, 2])):
        assert found.device == y.device
    for given in ((x, [y, y]), ([y, y], x), ([x], [y]), (x, ([1, y[0]],))):
        with pytest.raises(ValueError, match=r"\[add\].*different devices.*(mock:0|cpu)"):
            flow.add(*given)
    with pytest.raises(ValueError, match="different devices"):
        x.__add__([y, y])


def test_lists_that_are_no_arrays() -> None:
    x = flow.ones(2)
    with pytest.raises(ValueError, match="inhomogeneous"):
        flow.add(x, [1, [2, 3]])
    with pytest.raises(ValueError, match="broadcast"):
        flow.add(x, [])
    with pytest.raises(TypeError, match="str"):
        flow.sqrt(["a"])
    with pytest.raises(TypeError, match=r"\[add\] expected .*, got object"):
        flow.add([1, 2], object())
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        flow.add(x, endless)


def test_lists_in_a_recorded_function(device: flow.Device) -> None:
    """A list of the function is a constant; one that is an argument is given to each run."""
    x = flow.tensor([1.0, 4.0], device=device)
    constant = flow.jit(lambda a: flow.maximum(a, [2, 3]))
    given = flow.jit(lambda a, numbers: flow.add(a, numbers))
    own = flow.jit(lambda a: flow.add(a, [a[0], 1]))
    for k in range(3):
        same(np.maximum([1.0 + k, 4.0 + k], [2, 3]), constant(x + k))
        same(np.array([1.0 + k, 6.0]), given(x, [float(k), 2.0]))
        same(np.array([2.0 + 2 * k, 5.0 + k]), own(x + k))
