"""The names of the dtypes: dtypes where one is wanted, and called they make tensors."""

import copy
import pickle
import sys
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
ALIASES = (
    *("bool_", "byte", "ubyte", "short", "ushort", "intc", "uintc", "int_", "uint", "intp"),
    *("uintp", "long", "ulong", "longlong", "ulonglong", "half", "single", "double", "csingle"),
    "cdouble",
)


@pytest.mark.parametrize("name", [*NAMES, *ALIASES])
def test_a_name_is_a_dtype(name: str) -> None:
    ours, theirs = getattr(flow, name), np.dtype(getattr(np, name))
    assert ours == theirs
    assert theirs == ours
    assert ours != "V2"
    assert hash(ours) == hash(flow.zeros(1, dtype=theirs).dtype)
    assert {ours: 1}[flow.zeros(1, dtype=theirs).dtype] == 1
    assert (ours.itemsize, ours.kind, str(ours)) == (theirs.itemsize, theirs.kind, ours.name)
    assert ours.newbyteorder(">") == theirs.newbyteorder(">")
    assert flow.zeros(2, dtype=ours).dtype == np.zeros(2, ours).dtype == np.dtype(ours) == theirs
    assert flow.dtype(ours) == theirs
    assert flow.result_type(ours, flow.int16) == np.result_type(theirs, np.int16)
    assert np.issubdtype(ours, np.generic)
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.deepcopy(ours) is ours


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("given", [2.5, 3, True, [1, 0], (), "2", np.float32(1.5), np.arange(3)])
def test_a_call_makes_numpys_values(name: str, given: Any) -> None:
    theirs = np.asarray(getattr(np, name)(given))
    ours = getattr(flow, name)(given)
    assert type(ours) is flow.Tensor
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    assert ours.numpy().tobytes() == theirs.tobytes()


def test_a_call_without_a_value_and_with_tensors(device: flow.Device) -> None:
    assert flow.float32().tolist() == 0.0
    x = flow.tensor([1.75, -2.0], device=device)
    whole = flow.int8(x)
    assert (whole.dtype, whole.device, whole.tolist()) == (np.int8, device, [1, -2])
    same = flow.float64(x)
    same[0] = 9
    assert x.tolist() == [1.75, -2.0]


def test_its_dtype_is_strong() -> None:
    x = flow.ones(2, dtype=flow.float32)
    assert (x * flow.float64(2)).dtype == (np.ones(2, "f") * np.float64(2)).dtype == np.float64
    assert (x * flow.float32(2)).dtype == np.float32


@pytest.mark.parametrize(
    ("dtype", "value", "error"),
    [
        (flow.uint8, 300, OverflowError),
        (flow.int32, float("nan"), ValueError),
        (flow.float32, 1j, TypeError),
        (flow.float64, "half", ValueError),
        (flow.int8, None, TypeError),
    ],
)
def test_what_is_no_number_of_it(dtype: Any, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        dtype(value)


def test_instances() -> None:
    x = flow.ones(2, dtype="float32")
    assert isinstance(x[0], flow.float32)
    assert isinstance(np.float32(1), flow.float32)
    assert not isinstance(x, flow.float32)
    assert not isinstance(x[0], flow.float64)
    assert not isinstance(1.0, flow.float64)
    assert isinstance(x, flow.ndarray)
    assert not isinstance(np.ones(2), flow.ndarray)


def test_comparisons() -> None:
    assert flow.float64 != None  # noqa: E711 -- NumPy's dtype is equal to it
    assert flow.float32 == np.float32 == flow.single
    assert flow.float32 == "float32"
    assert flow.float64 == float  # noqa: E721 -- NumPy takes it for one
    assert flow.float32 not in (flow.float64, np.float64, "half", 3, [], None)
    with pytest.raises(TypeError, match="not supported"):
        _ = flow.float32 < flow.float64  # type: ignore[operator]


def test_comparisons_run_no_python() -> None:
    """The interpreter calls none of its functions in them, which cost more than the comparison."""
    calls: list[str] = []
    dtype, name = flow.ones(1).dtype, flow.float64
    sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name + event))
    try:
        same = dtype == name, name == dtype, name == flow.int8, {name: 1}[dtype], {dtype: 1}[name]
    finally:
        sys.setprofile(None)
    assert same == (True, True, False, 1, 1)
    assert [call for call in calls if call.endswith("call") and not call.endswith("c_call")] == []


def test_attributes_stay() -> None:
    wrong: Any = flow.float32
    with pytest.raises(TypeError, match="attributes of float32 cannot be set, 'dtype' among them"):
        wrong.dtype = np.dtype("int8")
    with pytest.raises(TypeError, match="cannot be set"):
        del wrong.itemsize
    assert wrong.dtype == np.float32


def test_attributes_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute '_width'"):
        _ = flow.float32._width
    with pytest.raises(AttributeError, match="width"):
        _ = flow.float32.width


def test_while_a_function_is_traced() -> None:
    double = flow.jit(lambda x: flow.float32(x) * flow.float32(2))
    for n in (1.0, 3.0):
        made = double(flow.tensor([n]))
        assert (made.dtype, made.tolist()) == (np.float32, [2 * n])
