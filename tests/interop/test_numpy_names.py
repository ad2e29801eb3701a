"""Names that are NumPy's own here, too: what code finds that imports this package as ``np``."""

import inspect
import warnings
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.interop import numpy_names
from tests.support.oracle import DTYPES, values

KINDS = ("generic", "number", "integer", "signedinteger", "unsignedinteger", "inexact")
KINDS += ("floating", "complexfloating")


def test_they_are_numpys_objects() -> None:
    for name in numpy_names.__all__:
        assert getattr(flow, name) is getattr(np, name)
    assert flow.ndarray is flow.Tensor  # that one is not


@pytest.mark.parametrize("dtype", DTYPES)
def test_kinds(dtype: str, device: flow.Device) -> None:
    x = values((2, 3), dtype, 1)
    t = flow.tensor(x, device=device)
    for name in KINDS:
        expected = np.issubdtype(x.dtype, getattr(np, name))
        assert flow.issubdtype(t.dtype, getattr(flow, name)) is expected
    assert flow.issubdtype(t.dtype, getattr(flow, dtype))
    assert isinstance(t.dtype, flow.dtype)
    assert flow.iscomplexobj(t) is np.iscomplexobj(x)
    assert flow.isrealobj(t) is np.isrealobj(x)
    assert not flow.isscalar(t[0, 0])
    assert flow.isscalar(x[0, 0])
    assert flow.iterable(t)
    assert not flow.iterable(t[0, 0])
    if dtype != "bool":
        assert flow.common_type(t, t) is np.common_type(x, x)
        assert np.common_type(t) is flow.common_type(x)


def test_names_of_dtypes() -> None:
    """Each stands for the dtype that tensors of NumPy's type have."""
    names = "bool_ byte ubyte short ushort intc uintc int_ uint long ulong longlong ulonglong intp"
    for name in f"{names} uintp half single double csingle cdouble".split():
        dtype = getattr(flow, name)
        assert dtype == np.dtype(getattr(np, name)), name
        assert flow.zeros(1, dtype=getattr(np, name)).dtype == dtype, name


def test_promote_types() -> None:
    for a in DTYPES:
        for b in DTYPES:
            assert flow.promote_types(a, b) == np.promote_types(a, b)
    with pytest.raises(TypeError, match="unsupported dtype"):
        flow.promote_types("int8", object)


@pytest.mark.parametrize("smallest", [flow.min_scalar_type, np.min_scalar_type])
def test_min_scalar_type(smallest: Any, device: flow.Device) -> None:
    numbers: tuple[Any, ...] = (0, 255, 256, -1, -129, 2**63, 1.0, 1e10, 1e300, 1j, 1e50j, True)
    for number in (*numbers, np.inf, np.nan):
        expected = np.min_scalar_type(number)
        assert flow.min_scalar_type(number) == expected
        t = flow.tensor(number, device=device)
        assert smallest(t) == np.min_scalar_type(t.numpy())
    for dtype in DTYPES:
        assert smallest(flow.ones(3, dtype=dtype, device=device)) == dtype
    assert flow.min_scalar_type(flow.ones((), dtype=flow.bfloat16)) == flow.bfloat16
    assert flow.min_scalar_type([1, 2]) == np.min_scalar_type([1, 2])
    for wrong in (2**70, "text", None):
        with pytest.raises(TypeError, match="unsupported dtype"):
            flow.min_scalar_type(wrong)


def test_text(device: flow.Device) -> None:
    x = values((2, 3), "float32", 1)
    t = flow.tensor(x, device=device)
    assert flow.array_repr(t) == np.array_repr(x)
    assert flow.array_str(t, precision=2) == np.array_str(x, precision=2)
    assert flow.array2string(t, separator="; ") == np.array2string(x, separator="; ")


def test_error_states(device: flow.Device) -> None:
    """They are taken; an operation on tensors neither warns nor raises."""
    t = flow.zeros(2, device=device)
    before = flow.geterr()
    with warnings.catch_warnings(), flow.errstate(all="raise"):
        warnings.simplefilter("error")
        assert flow.geterr()["divide"] == "raise"
        assert (1 / t).tolist() == [np.inf, np.inf]
        with pytest.raises(FloatingPointError):
            1 / np.zeros(2)
    assert flow.geterr() == before
    old = flow.seterr(divide="ignore")
    assert np.geterr()["divide"] == "ignore"
    flow.seterr(**old)
    assert np.geterr() == before


def test_shown_by_print_options(device: flow.Device) -> None:
    t = flow.arange(2000.0, device=device) / 3
    with flow.printoptions(precision=2, edgeitems=1, suppress=True):
        assert repr(t).startswith("tensor([  0.  , ..., 666.33], shape=(2000,)")
        assert repr(t[:2]).startswith("tensor([0.  , 0.33], dtype")
    with flow.printoptions(threshold=3, edgeitems=2):
        assert repr(t[:6] * 3).startswith("tensor([0., 1., ..., 4., 5.], shape=(6,)")
    with flow.printoptions(threshold=2**40):
        assert repr(t).count(",") > 2000
    with flow.printoptions(edgeitems=0, threshold=3):
        inside = np.array2string(t[:6].numpy(), separator=", ", prefix="tensor(")
        assert repr(t[:6]).startswith(f"tensor({inside}, shape=(6,)")
    flow.set_printoptions(precision=1)
    try:
        assert flow.get_printoptions()["precision"] == 1
        assert repr(t[:2]).startswith("tensor([0. , 0.3], dtype")
    finally:
        flow.set_printoptions(precision=8)


def test_einsum_path(device: flow.Device) -> None:
    x, y = np.ones((2, 30)), np.ones((30, 4), "float32")
    a, b = flow.tensor(x, device=device), flow.tensor(y, device=device)
    for optimize in ("greedy", "optimal", True, False, ["einsum_path", (0, 1), (0, 1)]):
        for path in (flow.einsum_path, np.einsum_path):
            expected = np.einsum_path("ij,jk,lk->il", x, y, x[:, :4], optimize=optimize)
            seen = path("ij,jk,lk->il", a, b, a[:, :4], optimize=optimize)
            assert seen == expected
    by_numbers = np.einsum_path(x, [0, 1], y, [1, 2], [0, 2])
    assert flow.einsum_path(a, [0, 1], b, [1, 2], [0, 2]) == by_numbers
    with pytest.raises(ValueError, match="does not match"):
        flow.einsum_path("ij,jk->ik", a, a)


def test_recorded(device: flow.Device) -> None:
    @flow.jit
    def asked(x: flow.Tensor) -> Any:
        with flow.errstate(all="ignore"):
            is_float = flow.issubdtype(x.dtype, flow.floating) and flow.isrealobj(x)
            return x + is_float + flow.iterable(x) + flow.isscalar(x)

    for _ in range(3):
        assert asked(flow.zeros(2, device=device)).tolist() == [2.0, 2.0]


def test_found_by_their_names() -> None:
    """Every function of NumPy that hands tensors over and has a name here is found by it."""
    for name in ("packbits", "unpackbits", "copyto", "shares_memory", "may_share_memory"):
        assert hasattr(getattr(np, name), "_implementation"), name
        assert inspect.isfunction(inspect.unwrap(getattr(flow, name))), name
