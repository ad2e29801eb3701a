"""Tracing: a function is recorded, and a run of the program does the same, bit for bit."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.graph import TraceError, plain_run, spec, trace
from oneflow_lite.graph.tracing import Result
from tests.support.graphs.tracing import agree, made_from, numbers
from tests.support.oracle import compare


@pytest.fixture(autouse=True)
def nothing_is_recorded_afterwards() -> Iterator[None]:
    yield
    assert not _C.is_recording()
    assert not _C.is_recorded()


# --- writes


def _through_a_view(x: flow.Tensor, y: flow.Tensor) -> Any:
    rows = x[1:]
    rows[:, ::2] = y[1:, ::2]
    first = x[0] + 0
    x[0] = rows[1]
    return first, x.sum(axis=0), rows * 2


def _overlapping(x: flow.Tensor, y: flow.Tensor) -> Any:
    x[1:] = x[:-1]
    x[:, ::-1] += x
    flow.add(x, x.T, out=x)
    x.T[...] = x
    return x @ y


def _chain(x: flow.Tensor, y: flow.Tensor) -> Any:
    z = x * y
    z += 1
    z *= z
    z[z > 2] = 0.5
    w = z.T
    w[0] -= x[0]
    return z, w


def _old_values(x: flow.Tensor, y: flow.Tensor) -> Any:
    """Views and copies of before and after."""
    before, view = x.copy(), x[0]
    taken = view * 1
    x += y
    return before, view, taken, view + 1


def _in_turn(x: flow.Tensor, y: flow.Tensor) -> Any:
    for i in range(4):
        x[i], y[3 - i] = y[i] * 1, x[i] * 1
    return None


def _conditional(x: flow.Tensor, y: flow.Tensor) -> Any:
    x[x > y] = 7
    like = {"device": x.device}
    x[flow.tensor([0, 2], **like)] = y[:2]
    x[flow.argmax(y, axis=0), flow.arange(4, **like)] = -1
    flow.putmask(y, x < 0, x)
    flow.put(x, [3, 5], flow.tensor([1.5, 2.5], **like))
    flow.put_along_axis(y, flow.argmin(x, axis=1, keepdims=True), 9.0, axis=1)
    flow.fill_diagonal(x, 3)
    flow.place(y, y > 8, flow.tensor([1.0, 2.0], **like))
    return x - y


def _out(x: flow.Tensor, y: flow.Tensor) -> Any:
    flow.multiply(x, 2, out=x)
    flow.exp(y[0], out=x[:, 1])
    made = flow.empty((4, 4), device=x.device)
    flow.subtract(x, y, out=made)
    flow.sum(made, axis=0, out=y[2])
    flow.maximum(made, 0, out=made)
    return made, y[2]


def _sorted(x: flow.Tensor, y: flow.Tensor) -> Any:
    x.sort(axis=0)
    y[1].sort()
    y.partition(2)
    x.fill(2)
    x[...] = flow.cumsum(y, axis=1)
    return x, y


def _whole(x: flow.Tensor, y: flow.Tensor) -> Any:
    x[...] = y
    y[...] = 0
    x[:] = x + 1
    return x


def _reshaped(x: flow.Tensor, y: flow.Tensor) -> Any:
    flat = x.reshape(-1)
    flat[::5] = 0
    square = flat.reshape(2, 8)
    square += flow.arange(8, device=x.device)
    y.reshape(2, 2, 4)[:, 0, 1:] = square[:, :3]
    return flat, square


WRITES: dict[str, Callable[[flow.Tensor, flow.Tensor], Any]] = {
    **{"through a view": _through_a_view, "overlapping": _overlapping, "chain": _chain},
    **{"old values": _old_values, "in turn": _in_turn, "conditional": _conditional},
    **{"out": _out, "sorted": _sorted, "whole": _whole, "reshaped": _reshaped},
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_arguments(name: str, device: flow.Device) -> None:
    made = made_from(device)(numbers(4, 4))
    agree(lambda: WRITES[name], [], [made, lambda seed: made(seed + 100)], device)


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_captured_tensors(name: str, device: flow.Device) -> None:
    made = made_from(device)(numbers(4, 4))

    def build(x: flow.Tensor, y: flow.Tensor) -> Callable[[], Any]:
        return lambda: WRITES[name](x, y)

    agree(build, [made, lambda seed: made(seed + 100)], [], device)


STRIDED: dict[str, Callable[[flow.Device, np.ndarray], flow.Tensor]] = {
    "transposed": lambda device, a: flow.tensor(a.T.copy(), device=device).T,
    "negative": lambda device, a: flow.tensor(a[::-1, ::-1].copy(), device=device)[::-1, ::-1],
    "part": lambda device, a: _part(device, a, (9, 11), np.s_[1::2, 2:10:2]),
    "last": lambda device, a: _part(device, a, (4, 8), np.s_[:, 4:]),
    "backwards": lambda device, a: _part(device, a, (6, 4), np.s_[4:0:-1]),
    "odd bytes": lambda device, a: _part(device, a, (4, 3), np.s_[:, :]),
}


def _part(device: flow.Device, array: np.ndarray, shape: tuple[int, ...], key: Any) -> flow.Tensor:
    """A view of a larger tensor."""
    if shape == (4, 3):  # the real parts of complex numbers
        whole = flow.zeros((4, 4), dtype="complex128", device=device)
        whole.imag[...] = 5
        view = whole.real
    else:
        whole = flow.full(shape, 5.0, device=device)
        view = whole[key]
    view[...] = flow.tensor(array, device=device)
    return view


@pytest.mark.parametrize("layout", STRIDED)
@pytest.mark.parametrize("place", ["arguments", "captured"])
@pytest.mark.parametrize("name", ["through a view", "overlapping", "conditional", "whole", "out"])
def test_writes_to_views(layout: str, place: str, name: str, device: flow.Device) -> None:
    """What is written is a view of something larger; the rest of that stays as it is."""
    data, lay = numbers(4, 4), STRIDED[layout]
    makers = [
        lambda seed: lay(device, data(seed)),
        lambda seed: lay(device, data(seed + 100)),
    ]
    if place == "arguments":
        agree(lambda: WRITES[name], [], makers, device)
    else:
        agree(lambda x, y: lambda: WRITES[name](x, y), makers, [], device)


@pytest.mark.parametrize("part", ["real", "imag"])
@pytest.mark.parametrize("place", ["arguments", "captured"])
def test_writes_to_parts_of_complex_numbers(part: str, place: str, device: flow.Device) -> None:
    def function(z: flow.Tensor, x: flow.Tensor) -> Any:
        getattr(z, part)[1:] = x[:-1]
        real = z.real
        z.imag[::-1] += real
        real *= 2
        return real, abs(z), z.imag.T

    made = made_from(device)
    makers = [made(numbers(3, 3, dtype="complex128")), made(numbers(3, 3))]
    if place == "arguments":
        agree(lambda: function, [], makers, device)
    else:
        agree(lambda z, x: lambda: function(z, x), makers, [], device)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "bfloat16"]
)
def test_dtypes(dtype: str, device: flow.Device) -> None:
    def function(x: flow.Tensor, y: flow.Tensor) -> Any:
        z = x + y
        z[1:] = x[:-1]
        y[...] = z[::-1]
        return z, flow.where(x == y, x, z), abs(x)

    def data(seed: int) -> flow.Tensor:
        array = np.random.default_rng(seed).integers(0, 5, (3, 4))
        return flow.tensor(array, device=device).astype(getattr(flow, dtype))

    agree(lambda: function, [], [data, lambda seed: data(seed + 100)], device)


# --- arguments and results


def test_read_only_arguments(device: flow.Device) -> None:
    made = made_from(device)(numbers(3))

    def read_only(seed: int) -> flow.Tensor:
        return flow.broadcast_to(made(seed), (2, 3))

    agree(lambda: lambda x: (x + 1, x.sum(axis=0), x[0]), [], [read_only], device)
    array = np.ones(3)
    array.flags.writeable = False
    x = flow.from_dlpack(array)

    def writes(x: flow.Tensor) -> None:
        x += 1

    with pytest.raises(ValueError, match="read-only") as eager:
        writes(x)
    with pytest.raises(ValueError, match="read-only") as recorded:
        trace(writes, x)
    assert str(eager.value) == str(recorded.value)


def test_results_that_are_arguments_or_views_of_them() -> None:
    def function(x: flow.Tensor, y: flow.Tensor) -> Any:
        x += 1
        made = x * 2
        return x, x[1:], y, y.T, y[0] + 0, made, made[0]

    x, y = flow.ones((3, 3)), flow.ones((3, 3))
    traced = trace(function, x, y)
    x, y = flow.zeros((3, 3)), flow.zeros((3, 3))
    results = plain_run.run(traced.program.main, [x, y])
    shares = [[result.shares_storage(given) for given in (x, y)] for result in results]
    eager = function(flow.zeros((3, 3)), flow.zeros((3, 3)))
    assert shares == [
        *([True, False], [True, False], [False, True], [False, True], [False, False]),
        *([False, False], [False, False]),
    ]
    assert results[5].shares_storage(results[6])
    assert not results[4].shares_storage(results[5])
    for one, other in zip(results, eager, strict=True):
        assert compare(other.numpy(), one.numpy()) is None
    results[1][...] = 7
    results[3][0] = 8
    assert x.tolist() == [[1] * 3, [7] * 3, [7] * 3]
    assert y.tolist() == [[8, 0, 0]] * 3


def test_trees_of_arguments_and_results() -> None:
    @dataclass
    class Layer:
        weight: flow.Tensor
        name: str = "layer"

    def function(layers: list[Layer], options: dict[str, Any], *, scale: Any = None) -> Any:
        x = options["x"][0]
        for layer in layers:
            x = x @ layer.weight
        return {"x": x, "none": None, "names": [layer.name for layer in layers], "t": (scale + x,)}

    layers = [Layer(flow.ones((2, 2))), Layer(flow.ones((2, 2)), "last")]
    traced = trace(function, layers, {"x": (flow.ones((3, 2)), 5)}, scale=np.array([1.0, 2.0]))
    assert traced.paths == (
        *("args[0][0].weight", "args[0][1].weight", "args[1]['x'][0]", "scale"),
    )
    assert traced.results == {
        "x": Result(0),
        "none": None,
        "names": ["layer", "last"],
        "t": (Result(1),),
    }
    results = plain_run.run(
        traced.program.main,
        [flow.full((2, 2), 2.0), flow.eye(2), flow.ones((3, 2)), flow.tensor([1.0, 2.0])],
    )
    assert results[1].tolist() == [[5, 6]] * 3


def test_the_arguments_containers_are_not_changed() -> None:
    def function(given: dict[str, Any]) -> Any:
        given["more"] = given["x"] + 1
        given["list"].append(given["more"])
        return given

    given: dict[str, Any] = {"x": flow.ones(2), "list": []}
    traced = trace(function, given)
    assert list(given) == ["x", "list"]
    assert given["list"] == []
    assert traced.results == {"x": Result(0), "list": [Result(1)], "more": Result(2)}


def test_specs() -> None:
    traced = trace(lambda x, y: x @ y, spec((2, 3), "float32"), spec(3, "float32"))
    (result,) = traced.program.main.results
    assert (result.type.shape, result.type.dtype) == ((2,), np.float32)
    assert spec((), None).dtype == np.float64
    with flow.device("mock:0"):
        assert str(spec(3).device) == "mock:0"


def test_wrong_arguments_of_a_run() -> None:
    main = trace(lambda x: x + 1, spec((2, 3))).program.main
    with pytest.raises(ValueError, match=r"\[<lambda>\] expected 1 arguments, got 2"):
        plain_run.run(main, [flow.ones((2, 3))] * 2)
    for wrong in (
        flow.ones((3, 2)),
        flow.ones((3, 2)).T,
        flow.ones((2, 3), dtype="float32"),
        flow.ones((2, 3), device="mock:0"),
    ):
        with pytest.raises(ValueError, match=r"\[<lambda>\] argument x: expected f64\[2,3\] cpu"):
            plain_run.run(main, [wrong])


# --- memory in common


def test_the_same_tensor_twice() -> None:
    def function(x: flow.Tensor, y: flow.Tensor) -> flow.Tensor:
        x += 1
        return x * y

    x = flow.full(3, 2.0)
    traced = trace(function, x, x)
    assert traced.paths == ("args[0]",)
    (result,) = plain_run.run(traced.program.main, [x])
    assert result.tolist() == [9] * 3


def _add(x: flow.Tensor, y: flow.Tensor) -> flow.Tensor:
    x += 1
    return x * y


def test_two_views_of_one_tensor() -> None:
    whole = flow.ones((4, 4))
    with pytest.raises(TraceError, match=r"\[_add\] x and y have memory in common"):
        trace(_add, whole[0], whole[1:])
    with pytest.raises(TraceError, match=r"y and x|x and y"):
        trace(lambda x, y: _add(y, x), whole, whole[...])
    traced = trace(lambda x, y: x * y, whole[0], whole[1])  # nothing is written
    assert len(traced.paths) == 2


def test_an_argument_that_is_captured_too() -> None:
    whole = flow.ones((4, 4))
    with pytest.raises(TraceError, match=r"x and a captured tensor have memory in common"):
        trace(lambda x: _add(x, whole), whole)
    with pytest.raises(TraceError, match=r"x and a captured tensor have memory in common"):
        trace(lambda x: _add(whole[1:], x), whole[0])
    trace(lambda x: x + whole, whole)


def test_two_tensors_over_one_array() -> None:
    array = np.ones(8)
    one, other = flow.from_dlpack(array[:6]), flow.from_dlpack(array[3:])
    with pytest.raises(TraceError, match=r"x and y have memory in common"):
        trace(lambda x, y: _add(x[:5], y), one, other)
    apart = flow.from_dlpack(array[:2]), flow.from_dlpack(array[2:4])
    trace(_add, *apart)


def test_a_run_refuses_arguments_with_memory_in_common() -> None:
    main = trace(_add, spec(3), spec(3)).program.main
    whole = flow.ones(6)
    with pytest.raises(ValueError, match=r"\[_add\] argument x .*argument y.* memory in common"):
        plain_run.run(main, [whole[:3], whole[3:]])
    plain_run.run(main, [whole[:3], flow.ones(3)])
    captured = flow.ones(3)
    main = trace(lambda x: _add(x, captured), spec(3)).program.main
    with pytest.raises(ValueError, match="memory in common"):
        plain_run.run(main, [captured])
    main = trace(lambda x, y: x + y, spec(3), spec(3)).program.main
    plain_run.run(main, [captured, captured])


# --- captures and constants


def test_captured_views_of_larger_tensors(device: flow.Device) -> None:
    made = made_from(device)(numbers(6, 6))

    def build(whole: flow.Tensor) -> Callable[[], Any]:
        part, other = whole[1::2, ::-1], whole[0]

        def function() -> Any:
            part[0] = other
            other[...] = part[1] * 2
            return whole.sum(axis=0), part, other + 1

        return function

    agree(build, [made], [], device)


def test_one_capture_for_views_of_one_tensor() -> None:
    whole = flow.ones((4, 4))
    program = trace(lambda: whole[0] + whole[:, 1] + whole).program
    assert len(program.main.captures) == 1
    assert program.main.captures[0].value.type.size == 16


def test_captures_are_read_at_each_run() -> None:
    x = flow.ones(3)
    main = trace(lambda: x + 1).program.main
    x[...] = 5
    assert plain_run.run(main, [])[0].tolist() == [6] * 3


def test_constants(device: flow.Device) -> None:
    array = np.arange(4.0)
    made = made_from(device)(numbers(3, 4))

    def function(x: flow.Tensor) -> Any:
        one = flow.tensor([1.0, -0.0, np.nan, 3.0], device=device)
        two = flow.asarray(array, device=device)
        one[1:] += two[:-1]
        scalars = flow.asarray(2.5, device=device), flow.tensor(np.float32(1), device=device)
        return x * one + two, one, scalars, x + array, flow.concat([x, x * 0 + array])

    agree(lambda: function, [], [made], device)


def test_what_is_made_inside(device: flow.Device) -> None:
    made = made_from(device)(numbers(3, 4))

    def function(x: flow.Tensor) -> Any:
        zeros = flow.zeros(x.shape, device=device)
        zeros[1:, 1:] = x[:-1, :-1]
        counts = flow.arange(4, device=device)
        counts += 1
        ones = flow.ones_like(x)
        ones[0] = 0
        return zeros, x * counts, ones, flow.eye(3, device=device) @ x, flow.full_like(x, 2)

    agree(lambda: function, [], [made], device)


def test_a_small_constant_is_not_shared_between_runs() -> None:
    def function() -> flow.Tensor:
        x = flow.zeros(3)
        x += 1
        return x

    main = trace(function).program.main
    for _ in range(3):
        (result,) = plain_run.run(main, [])
        assert result.tolist() == [1, 1, 1]
        result += 5
    main = trace(lambda: flow.tensor([1.0, 2.0])).program.main
    for _ in range(2):
        (result,) = plain_run.run(main, [])
        assert result.tolist() == [1, 2]
        result += 5


def test_several_devices() -> None:
    def function(x: flow.Tensor, y: flow.Tensor) -> Any:
        y += x.to("mock:0")
        back = y.cpu()
        x[0] = back[1]
        return back, y * 2, x.to("mock:1"), x.to("cpu")

    data = numbers(3, 4)
    makers = [
        lambda seed: flow.tensor(data(seed)),
        lambda seed: flow.tensor(data(seed), device="mock:0"),
    ]
    agree(lambda: function, [], makers, None)
