"""What a reduction begins with: numbers, and 0-d tensors, which are looked at in its name."""

import threading
import warnings

import numpy as np
import pytest

import oneflow_lite as flow

NAMES = ("sum", "prod", "max", "min")
# Elements, and a start of any dtype that changes their reduction.
STARTS = {
    "sum": ([3.0, 0.5], 1),
    "prod": ([3.0, 0.5], 0),
    "max": ([0.5, 0.25], 1),
    "min": ([3.0, 2.0], 1),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16", "int16", "bool"])
def test_tensors(name: str, dtype: str, device: flow.Device) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    elements, begin = STARTS[name]
    x, start = flow.tensor(elements, device=device), flow.full((), begin, dtype, device=device)
    expected = getattr(np, name)(elements, initial=begin)
    assert expected != getattr(np, name)(elements)
    assert getattr(flow, name)(x, initial=start).item() == expected


@pytest.mark.parametrize("name", NAMES)
def test_errors_of_the_tensor(name: str, device: flow.Device) -> None:
    function, x = getattr(flow, name), flow.ones(3, device=device)
    failed = flow.linalg.inv(flow.zeros((2, 2)))[0, 0]
    with pytest.raises(flow.linalg.LinAlgError, match="singular") as caught:
        function(x, initial=failed)
    assert any(note.startswith("inv: issued at") for note in caught.value.__notes__)
    with pytest.raises(ValueError, match=rf"\[{name}\] initial: .*float64, got a tensor of shape"):
        function(x, initial=flow.ones(2, device=device))
    with pytest.raises(TypeError, match=rf"\[{name}\] initial: expected a number of float64"):
        function(x, initial=flow.tensor(2j, device=device))
    with pytest.raises(TypeError, match=rf"\[{name}\] expected values, got masked elements"):
        function(x, initial=np.ma.masked)
    for bad in ("a", [1.0, 2.0]):
        with pytest.raises(ValueError, match=rf"\[{name}\] initial: expected a number of float64"):
            function(x, initial=bad)


@pytest.mark.parametrize("name", NAMES)
def test_recorded(name: str) -> None:
    def reduced(x: flow.Tensor, start: flow.Tensor) -> flow.Tensor:
        return getattr(flow, name)(x, initial=start)  # type: ignore[no-any-return]

    elements, begin = STARTS[name]
    x, start = flow.tensor(elements), flow.tensor(float(begin))
    with pytest.raises(flow.graph.TraceError, match=rf"^\[{name}\] needs the values"):
        flow.jit(reduced)(x, start)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        seen = flow.jit(reduced, on_break="eager")(x, start)
    assert seen.item() == getattr(np, name)(elements, initial=begin)


@pytest.mark.parametrize("name", NAMES)
def test_a_look_that_is_refused(name: str) -> None:
    gate, start = threading.Event(), flow.ones(())
    call = flow.vm.host_func(lambda _: gate.wait(60), writes=[start])
    try:
        with (
            flow.flags(implicit_sync="error"),
            pytest.raises(RuntimeError, match=rf"^\[{name}\] waits for a tensor"),
        ):
            getattr(flow, name)(flow.ones(3), initial=start)
    finally:
        gate.set()
        call.wait()
