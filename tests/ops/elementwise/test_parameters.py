"""What elementwise functions take beside operands: ``out``, ``where``, ``dtype`` as in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.ops.table import ROWS

MASK = np.array([True, False, True])
X, Y = np.array([3, 1, 2], "int16"), np.array([2, 2, 1], "int16")


def both(call: Callable[..., Any], device: flow.Device) -> list[Any]:
    """What NumPy and this package say to a call(namespace, array of the namespace)."""
    seen: list[Any] = []
    for space, make in ((np, np.array), (flow, lambda x: flow.tensor(x, device=device))):
        try:
            made = call(space, make)
        except (TypeError, ValueError, OverflowError) as error:
            kinds = (TypeError, ValueError, OverflowError)
            seen.append(next(kind.__name__ for kind in kinds if isinstance(error, kind)))
        else:
            array = np.asarray(made.numpy() if isinstance(made, flow.Tensor) else made)
            seen.append((str(array.dtype), array.shape, array.tolist()))
    return seen


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.ufunc.nin < 3])
def test_each_function(name: str, device: flow.Device) -> None:
    function, ufunc = getattr(flow, name), ROWS[name].ufunc
    floats = any(loop.startswith("d" * ufunc.nin) for loop in ufunc.types)
    given = [X / 4 if floats else X, Y / 4 if floats else Y][: ufunc.nin]
    operands = [flow.tensor(x, device=device) for x in given]
    plain = function(*operands)
    out, by_place = flow.zeros_like(plain), flow.ones_like(plain)
    assert function(*operands, out, where=flow.tensor(MASK, device=device)) is out
    assert function(*operands, by_place, where=MASK) is by_place
    masked = function(*operands, where=MASK)
    for made, left in ((out, 0), (by_place, 1), (masked, 0)):
        expected = np.where(MASK, plain.numpy(), np.array(left, plain.dtype))
        np.testing.assert_array_equal(made.numpy(), expected)
        assert made.device == device
    assert (function.nin, function.nout) == (ufunc.nin, 1)
    assert (function.nargs, function.identity) == (ufunc.nargs, ufunc.identity)


CALLS: list[Callable[..., Any]] = [
    lambda np, make: np.add(make(X), 1, dtype="float32"),
    lambda np, make: np.add(make(X), make(Y), dtype="int8", casting="unsafe"),
    lambda np, make: np.add(make(X), make(Y), dtype="int8"),
    lambda np, make: np.add(make(X), make(Y), dtype="int8", casting="no"),
    lambda np, make: np.exp(make(X), dtype="float32", where=MASK, out=make(X / 2)),
    lambda np, make: np.exp(make(X), signature="f->f"),
    lambda np, make: np.exp(make(X), signature=("f", "f")),
    lambda np, make: np.add(1, 2, dtype="int8"),
    lambda np, make: np.add(1000, 2, dtype="int8"),
    lambda np, make: np.add([1, 2], [3, 4], dtype="float32", where=MASK[:2], out=make(X[:2] / 2)),
    lambda np, make: np.add(make(X), 1, make(np.zeros((2, 3)))),
    lambda np, make: np.add(make(X), 0.5, make(X)),
    lambda np, make: np.add(make(X), 0.5, make(X), casting="unsafe"),
    lambda np, make: np.add(make(X), 1, make(np.zeros(2))),
    lambda np, make: np.add(make(X), 1, (make(np.zeros(3)),)),
    lambda np, make: np.add(make(X), 1, out=(make(np.zeros(3)),)),
    lambda np, make: np.add(make(X), 1, out=(None,)),
    lambda np, make: np.add(make(X), 1, None),
    lambda np, make: np.add(make(X), 1, make(X), out=make(X)),
    lambda np, make: np.add(make(X), 1, make(X), make(X)),
    lambda np, make: np.add(make(X), 1, [0, 0, 0]),
    lambda np, make: np.add(make(X), 1, out=make(X), where=make(X)),
    lambda np, make: np.add(make(X), 1, out=make(X), where=MASK[:2]),
    lambda np, make: np.add(make(X), 1, out=make(X), where=[1, 0, 2]),
    lambda np, make: np.add(make(X), 1, out=make(X), where=2.5),
    lambda np, make: np.add(make(X), 1, out=make(X), where=X),
    lambda np, make: np.sum(make(X), where=[1, 0, 2]),
    lambda np, make: np.mean(make(X), where=(1, 0, 1)),
    lambda np, make: np.max(make(X), where=X, initial=0),
    lambda np, make: np.add(make(X), 1, order="C"),
    lambda np, make: np.add(make(X), 1, subok=False),
    lambda np, make: np.add(make(X), 1, wrong=False),
    lambda np, make: np.add(make(X)),
    lambda np, make: np.isnan(make(X), out=make(X)),
    lambda np, make: np.less(make(X), 2, where=make(MASK), out=make(MASK)),
    lambda np, make: np.sqrt(make(np.zeros((0, 3))), where=MASK, out=make(np.zeros((0, 3)))),
    lambda np, make: np.negative(make(np.array(3)), where=True, dtype="float64"),
]


@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_as_numpy(call: Callable[..., Any], device: flow.Device) -> None:
    numpys, ours = both(call, device)
    assert ours == numpys


def test_an_array_as_out_waits() -> None:
    array = np.full(3, 9.0)
    assert flow.add(flow.tensor(X), 1, array, where=MASK) is array
    assert array.tolist() == [4, 9, 3]


def test_out_may_overlap_operands(device: flow.Device) -> None:
    x = flow.arange(6.0, device=device)
    flow.add(x[:-1], x[1:], x[1:], where=flow.arange(5, device=device) % 2 == 0)
    expected = np.arange(6.0)
    np.add(expected[:-1], expected[1:], expected[1:], where=np.arange(5) % 2 == 0)
    assert x.tolist() == expected.tolist()


def test_recorded() -> None:
    @flow.jit
    def step(x: flow.Tensor, mask: flow.Tensor) -> tuple[flow.Tensor, flow.Tensor]:
        return flow.add(x, 1, where=mask), flow.multiply(x, 2, x, dtype="float64")

    for _ in range(2):
        x = flow.tensor([1.0, 2.0, 3.0])
        added, doubled = step(x, flow.tensor(MASK))
        assert added.tolist() == [2, 0, 4]
        assert doubled.tolist() == x.tolist() == [2, 4, 6]


def test_errors_name_what_was_given() -> None:
    x = flow.ones(3)
    with pytest.raises(TypeError, match=r"\[add\] unexpected keyword argument 'wrong'"):
        flow.add(x, 1, wrong=2)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"\[add\] takes 2 operands, got 4"):
        flow.add(x, 1, x, x)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"\[add\] got out twice"):
        flow.add(x, 1, x, out=x)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"\[add\] expected out to be a tensor or array, got list"):
        flow.add(x, 1, [0, 0, 0])
    with pytest.raises(ValueError, match="expected out of one entry, got"):
        flow.add(x, 1, out=(x, x))
    with pytest.raises(TypeError, match=r"\[where\] expected a mask of dtype bool, got float64"):
        flow.add(x, 1, where=x)


def test_tensors_of_many_ranks() -> None:
    x = flow.ones(3).to_global(flow.placement("cpu", [0]), flow.sbp.split(0))
    with pytest.raises(TypeError, match=r"\[add\] where: not for a GlobalTensor"):
        flow.add(x, 1, where=MASK)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"\[add.reduce\] expected tensors of this rank, got a"):
        flow.add.reduce(x)


@pytest.mark.parametrize("bounds", [(None, None), (1, None), (None, 2), (1, 2), (1.5, 2)])
@pytest.mark.parametrize("out", [None, "float64", "int16"])
def test_what_clip_takes_besides(bounds: Any, out: str | None, device: flow.Device) -> None:
    def given(space: Any, make: Any, **options: Any) -> Any:
        if out is not None:
            options["out"] = make(np.full((3, 2), 7, out))
        return space.clip(make(np.array([X, Y])).T, *bounds, **options)

    for options in ({"dtype": "float32"}, {"casting": "no", "dtype": "int8"}, {"order": "C"}):
        one, other = both(lambda np, make, o=options: given(np, make, **o), device)
        assert one == other, options
    if out is not None:
        one, other = both(lambda np, make: given(np, make, where=MASK[:, None]), device)
        assert one == other


def test_older_names_of_bounds(device: flow.Device) -> None:
    x, out = flow.tensor([-1.0, 0.5, 2.0], device=device), flow.zeros(3, device=device)
    assert flow.clip(x, a_min=0).tolist() == [0, 0.5, 2]
    assert x.clip(a_max=1, min=0).tolist() == np.clip(x, a_min=0, a_max=1).tolist() == [0, 0.5, 1]
    assert flow.clip(x, None, 0, out) is out
    assert out.tolist() == [-1, 0, 0]
    for wrong in ({"min": 0, "a_min": 0}, {"max": 0, "a_max": 1}):
        with pytest.raises(ValueError, match=r"\[clip\] min and a_min are the same"):
            flow.clip(x, **wrong)
