"""Arrays of numpy.ma: a tensor has no mask, so none gets lost without a word."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from tests.support.oracle import same

DATA = [1.0, 2.0, 3.0]


def write(x: flow.Tensor, key: Any, value: Any) -> flow.Tensor:
    x[key] = value
    return x


USES: dict[str, Callable[[flow.Tensor, Any], Any]] = {
    "operator": lambda x, m: x + m,
    "comparison": lambda x, m: x < m,
    "in place": lambda x, m: x.__iadd__(m),
    "ufunc": lambda x, m: np.add(x, m),
    "ufunc of a dtype": lambda x, m: np.add(x, m, dtype="float32"),
    "ufunc with a mask": lambda x, m: np.add(x, m, where=x > 0),
    "function": lambda x, m: flow.maximum(x, m),
    "NumPy's function": lambda x, m: np.concatenate([x, m]),
    "product": lambda x, m: x @ m,
    "where": lambda x, m: flow.where(x > 0, m, x),
    "setitem": lambda x, m: write(x, slice(None), m),
    "mask": lambda x, m: write(x, x == x, m),
    "in a list": lambda x, m: flow.add(x, [m[0], m[1], m[2]]),
    "list of arrays": lambda x, m: flow.tensor([m, m]),
    "tensor": lambda x, m: flow.tensor(m),
    "asarray": lambda x, m: flow.asarray(m, "float32"),
    "reduction": lambda x, m: flow.sum(m),
    "index": lambda x, m: x[m.astype("int64") - 1],
    "jit": lambda x, m: flow.jit(lambda a, b: a + b)(x.cpu(), m),
    "a new value": lambda x, m: flow.full(3, m),
}


@pytest.mark.parametrize("case", USES)
def test_masked_elements_are_refused(case: str, device: flow.Device) -> None:
    x = flow.ones(3, device=device)
    masked = np.ma.array(DATA, mask=[False, True, False])
    with pytest.raises(
        TypeError, match=r"^\[\w+\] .* no mask; give m\.filled\(value\), or m\.data"
    ):
        USES[case](x, masked)
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("case", USES)
@pytest.mark.parametrize("mask", [np.ma.nomask, [False, False, False]])
def test_others_are_arrays(case: str, mask: Any, device: flow.Device) -> None:
    expected = USES[case](flow.ones(3, device=device), np.array(DATA))
    same(expected.numpy(), USES[case](flow.ones(3, device=device), np.ma.array(DATA, mask=mask)))


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "bool", "complex64"])
def test_the_masked_constant_is_no_value(dtype: str, device: flow.Device) -> None:
    x = flow.ones(3, dtype=dtype, device=device)
    for key in (0, slice(None), x == 1, [0, 1]):
        with pytest.raises(TypeError, match=r"\[setitem\] .* no mask"):
            x[key] = np.ma.masked
    for make in (
        lambda: x + np.ma.masked,
        lambda: flow.tensor(np.ma.masked),
        lambda: x.fill(np.ma.masked),
    ):
        with pytest.raises(TypeError, match="no mask"):
            make()
    assert x.tolist() == [1, 1, 1]


def test_numpys_operators_keep_the_mask() -> None:
    masked = np.ma.array(DATA, mask=[False, True, False])
    for seen in (masked + flow.ones(3), masked * flow.tensor(2.0)):
        assert isinstance(seen, np.ma.MaskedArray)
        assert seen.mask.tolist() == [False, True, False]
    same(masked.filled(0) + 1, flow.ones(3) + masked.filled(0))


def test_masked_records_are_refused_for_their_dtype() -> None:
    records = np.ma.array([(1, 2.0)], mask=[(0, 1)], dtype="i4,f8")
    with pytest.raises(TypeError, match=r"\[tensor\] unsupported dtype"):
        flow.tensor(records)
