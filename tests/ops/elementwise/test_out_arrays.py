"""Arrays of NumPy as targets of elementwise functions."""

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.table import ROWS

pytestmark = pytest.mark.usefixtures("no_warnings")


@pytest.mark.parametrize("name", ROWS)
def test_out_is_an_array(name: str) -> None:
    row = ROWS[name]
    given = [[[1, 2, 3]], [[1, 2, 1]], [[3, 4, 4]]][: row.ufunc.nin]
    with np.errstate(all="ignore"):
        expected = row.ufunc(*given)
    out = np.zeros((2, 3), expected.dtype)
    assert row.op(*map(flow.tensor, given), out=out) is out
    np.testing.assert_array_equal(out, np.broadcast_to(expected, out.shape))


def test_how_an_array_is_written(device: flow.Device) -> None:
    x = flow.tensor([1.0, 4.0, 9.0], device=device)
    out = np.zeros((3, 2), "f4")
    assert flow.sqrt(x, out=out[:, 1]).tolist() == [1, 2, 3]  # of a view
    assert out.tolist() == [[0, 1], [0, 2], [0, 3]]
    own = np.array([1.0, 2.0])
    flow.add(own[::-1], own, out=own)
    assert own.tolist() == [3, 3]
    with pytest.raises(TypeError, match=r"\[sqrt\].*float64.*int32"):
        flow.sqrt(x, out=np.zeros(3, "i4"))
    with pytest.raises(ValueError, match=r"\[sqrt\] expected out of shape \(3,\), got \(2,\)"):
        flow.sqrt(x, out=np.zeros(2))
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        flow.sqrt(x, out=out[:, 0])


def test_out_in_a_tuple(device: flow.Device) -> None:
    """As the ufuncs of NumPy take it."""
    x = flow.tensor([1.0, 4.0], device=device)
    array, tensor = np.zeros(2), flow.zeros(2, device=device)
    assert flow.sqrt(x, out=(array,)) is array
    assert flow.sqrt(x, out=(tensor,)) is tensor
    assert array.tolist() == tensor.tolist() == [1, 2]
    assert flow.sqrt(x, out=(None,)).tolist() == [1, 2]
    for wrong in ((), (array, array)):
        with pytest.raises(ValueError, match=r"\[sqrt\] expected out of one entry, got a tuple of"):
            flow.sqrt(x, out=wrong)
    with pytest.raises(TypeError, match=r"\[sqrt\] out must be a tensor or array, got list"):
        flow.sqrt(x, out=([0, 0],))


def test_the_other_byte_order(device: flow.Device) -> None:
    """An array of it is cast to, and computed for, as one of the machine's own."""
    x = flow.tensor([1.5, 2.5, 3.5], device=device)
    out = np.zeros(3, np.dtype("i8").newbyteorder())
    for where in (True, np.array([True, False, True])):
        with pytest.raises(TypeError, match=r"\[add\] cannot cast float64 to int64"):
            flow.add(x, 0.25, out=out, where=where)
    assert not out.any()
    with pytest.raises(TypeError, match="cannot cast complex128 to float64"):
        flow.sum(x + 1j, out=np.zeros((), np.dtype("f8").newbyteorder()))


@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar", "nanstd", "median"])
def test_statistics_in_the_other_byte_order(name: str, device: flow.Device) -> None:
    given = np.array([0.1, 0.7, 0.3, 1 / 3], "f4")
    function = getattr(flow, name)
    array, tensor = np.zeros((), np.dtype("f8").newbyteorder()), flow.zeros((), device=device)
    function(flow.tensor(given, device=device), out=array)
    function(flow.tensor(given, device=device), out=tensor)
    assert array == tensor.item()


def test_rounding_and_joining_in_the_other_byte_order(device: flow.Device) -> None:
    x = flow.tensor(np.array([127.046, 0.1], "f4"), device=device)
    out = np.zeros(2, np.dtype("f8").newbyteorder())
    assert flow.round(x, 2, out=out).tolist() == np.round(x.numpy(), 2, out=np.zeros(2)).tolist()
    with pytest.raises(TypeError, match=r"\[concat\] cannot cast float32 to int64"):
        flow.concat([x, x], out=np.zeros(4, np.dtype("i8").newbyteorder()))
