"""Tracing: what cannot be recorded raises TraceError, and leaves the next call working."""

import copy
import gc
import math
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.graph import TraceError, plain_run, trace
from tests.support.graphs.tracing import SQUARE, agree, made_from, numbers, works


@pytest.fixture(autouse=True)
def nothing_is_recorded_afterwards() -> Iterator[None]:
    yield
    assert not _C.is_recording()
    assert not _C.is_recorded()


# --- what needs values

LOOKS: dict[str, tuple[str, Callable[[flow.Tensor], Any]]] = {
    "bool": ("bool", lambda x: bool(x[0, 0])),
    "if": ("bool", lambda x: 1 if x.sum() > 0 else 2),
    "float": ("float", lambda x: float(x.sum())),
    "int": ("int", lambda x: int(x.sum())),
    "complex": ("complex", lambda x: complex(x.sum())),
    "index": ("index", lambda x: range(9)[flow.argmax(x)]),
    "round": ("item", lambda x: round(x.sum())),
    "floor": ("item", lambda x: math.floor(x.sum())),
    "item": ("item", lambda x: x[0, 0].item()),
    "item of a place": ("item", lambda x: x.item(1)),
    "numpy": ("numpy", lambda x: x.numpy()),
    "tolist": ("numpy", lambda x: x.tolist()),
    "tobytes": ("numpy", lambda x: x.tobytes()),
    "contains": ("bool", lambda x: 3.0 in x),
    "mask": ("getitem", lambda x: x[x > 0]),
    "length of a mask": ("getitem", lambda x: len(x[x > 0])),
    "rows by a mask": ("getitem", lambda x: x[x[0] > 0]),
    "nonzero": ("nonzero", lambda x: flow.nonzero(x)),
    "where": ("nonzero", lambda x: flow.where(x > 0)),
    "unique": ("unique", lambda x: flow.unique(x)),
    "compress": ("compress", lambda x: flow.compress(x[0] > 0, x, axis=0)),
    "extract": ("extract", lambda x: flow.extract(x > 0, x)),
    "repeat": ("repeat", lambda x: flow.repeat(x[0], flow.argsort(x[0]))),
    "allclose": ("bool", lambda x: flow.allclose(x, x)),
    "array_equal": ("bool", lambda x: flow.array_equal(x, x)),
    "arange": ("arange", lambda x: flow.arange(x.sum())),
    "shape": ("index", lambda x: flow.zeros(flow.argmax(x))),
    "slice": ("index", lambda x: x[: flow.argmax(x)]),
    "linspace": ("linspace", lambda x: flow.linspace(x[0, 0], x[0, 1], 3)),
    "DLPack": ("__dlpack__", lambda x: np.from_dlpack(x)),
    "__array__": ("__array__", lambda x: np.asarray(x)),
    "np.array": ("numpy", lambda x: np.array(x)),
    "memoryview": ("memoryview", lambda x: memoryview(x)),
    "pickle": ("numpy", lambda x: pickle.dumps(x)),
    "format": ("item", lambda x: f"{x.sum():.3f}"),
    "piecewise": ("piecewise", lambda x: flow.piecewise(x, [x > 0], [lambda y: y * 2, 1.0])),
    "synchronize": ("synchronize", lambda x: flow.synchronize()),
    "synchronize a device": ("synchronize", lambda x: flow.synchronize("cpu")),
    "barrier": ("barrier", lambda x: flow.vm.barrier()),
    "pinned": ("empty of pinned memory", lambda x: flow.empty(3, pin_memory=True)),
}


def test_a_mask_is_named_by_its_own_shape() -> None:
    x = flow.ones((4, 50))
    for function in (lambda x: x[x > 0], flow.nonzero, flow.argwhere):
        with pytest.raises(TraceError, match=r"needs the values of a tensor of shape \(4, 50\)"):
            trace(function, x)


@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("given", ["argument", "made", "captured"])
def test_looks(name: str, given: str) -> None:
    """Each names the operation, the user's line and a way out; the next call works."""
    op, look = LOOKS[name]

    def function(x: flow.Tensor) -> Any:
        return look(SQUARE if given == "captured" else x if given == "argument" else x * 1)

    with pytest.raises(TraceError, match=rf"^\[{op}\] .*function") as raised:
        trace(function, SQUARE)
    assert "do it outside" in str(raised.value)
    line = look.__code__.co_firstlineno
    assert [note for note in raised.value.__notes__ if f"{__file__}:{line}" in note]
    works()
    with suppress(RuntimeError):  # there may be no device to pin memory for
        look(SQUARE)  # what it did while it was recorded has left nothing behind


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("barrier", r"order two operations by a tensor that one writes and the other one reads"),
        ("synchronize", r"before or after its call"),
        ("piecewise", r"flow.where\(condition, function\(x\), other\)"),
    ],
)
def test_ways_out_of_their_own(name: str, way_out: str) -> None:
    with pytest.raises(TraceError, match=rf"^\[{name}\] cannot be recorded: .*{way_out}"):
        trace(LOOKS[name][1], SQUARE)


def test_parts_are_checked_when_a_program_runs() -> None:
    run = flow.graph.compile(trace(lambda x, q: flow.quantile(x, q), SQUARE, flow.ones(2)).program)
    assert run(SQUARE, flow.tensor([0.0, 1.0]))[0].tolist() == [1.0, 8.0]
    (failed,) = run(SQUARE, flow.tensor([0.5, 1.5]))
    with pytest.raises(ValueError, match=r"\[quantile\] expected q in the range \[0, 1\]"):
        failed.numpy()
    assert run(SQUARE, flow.tensor([0.5, 1.0]))[0].tolist() == [4.0, 8.0]


def test_what_needs_no_values() -> None:
    texts: list[list[str]] = []

    def function(x: flow.Tensor) -> Any:
        assert len(x) == 3
        texts.append([repr(x), str(x * 1), f"{SQUARE}"])
        print(x, SQUARE)
        assert (x.shape, x.ndim, x.size, x.dtype) == ((3, 3), 2, 9, np.float64)
        assert x.strides == SQUARE.strides
        assert x.device == flow.Device("cpu")
        assert not x.is_pinned()
        assert x.shares_storage(x[0])
        return [row + i for i, row in enumerate(x)], copy.copy(x), copy.deepcopy(x[0]), divmod(x, 2)

    agree(lambda: function, [], [made_from(flow.Device("cpu"))(numbers(3, 3))], None)
    assert set(texts[0]) == {"tensor(<recorded>, shape=(3, 3), dtype=float64, device='cpu')"}
    assert "<recorded>" not in str(texts[1:])


# --- errors


def test_a_traced_tensor_after_its_trace() -> None:
    kept: list[flow.Tensor] = []

    def function(x: flow.Tensor) -> flow.Tensor:
        kept.append(x * 2)
        return x

    trace(function, SQUARE)
    line = function.__code__.co_firstlineno + 1
    (tensor,) = kept
    uses: list[Callable[[], Any]] = [
        tensor.numpy,
        lambda: (tensor + 1).numpy(),
        lambda: bool(tensor.sum()),
        lambda: trace(lambda: tensor + 1),
        lambda: trace(lambda x: x + 1, tensor),
        lambda: trace(lambda x: flow.add(x, 1, out=tensor), SQUARE),
    ]
    for use in uses:
        with pytest.raises(TraceError, match=r"\[multiply\] .* made while function was") as raised:
            use()
        assert any(f"{__file__}:{line}" in note for note in raised.value.__notes__)
    assert "<failed: TraceError" in repr(tensor)
    works()


def test_a_traced_argument_after_its_trace() -> None:
    kept: list[flow.Tensor] = []
    trace(lambda x: kept.append(x), SQUARE)
    with pytest.raises(TraceError, match="made while <lambda> was recorded"):
        kept[0].numpy()


def test_what_is_kept_in_a_cycle_is_not_kept() -> None:
    """The cycle is in nobody's reach."""

    def function(x: flow.Tensor) -> flow.Tensor:
        cycle: list[Any] = [x * 2]
        cycle.append(cycle)
        try:
            raise ValueError(cycle)
        except ValueError as error:
            cycle.append(error)
        return x + cycle[0]

    gc.disable()
    try:
        trace(function, SQUARE)
        flow.jit(function)(flow.ones(2))
    finally:
        gc.enable()


def test_an_exception_of_the_function() -> None:
    def function(x: flow.Tensor) -> None:
        x += 1
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        trace(function, SQUARE)
    assert SQUARE[0, 0].item() == 1
    works()


def test_a_call_that_eager_refuses_is_refused() -> None:
    for call in (
        lambda x: x + flow.ones(7),
        lambda x: x @ flow.ones((5, 5)),
        lambda x: x.sum(axis=9),
        lambda x: x[9],
        lambda x: x + flow.ones((3, 3), device="mock:0"),
    ):
        with pytest.raises((ValueError, IndexError)) as eager:
            call(SQUARE)
        with pytest.raises(type(eager.value)) as recorded:
            trace(call, SQUARE)
        assert str(recorded.value) == str(eager.value)
    works()


def test_a_trace_in_a_trace() -> None:
    with pytest.raises(TraceError, match=r"^\[trace\] the thread records already"):
        trace(lambda x: trace(lambda y: y + 1, x), SQUARE)
    works()


def test_a_failed_tensor_is_captured_as_it_is() -> None:
    """Its error is that of who looks at the result."""
    failed = flow.linalg.inv(flow.zeros((2, 2)))
    main = trace(lambda: failed + 1).program.main
    with pytest.raises(np.linalg.LinAlgError):
        plain_run.run(main, [])[0].numpy()


def test_functions_whose_code_runs_later() -> None:
    def generator(x: Any) -> Any:
        yield x

    async def coroutine(x: Any) -> Any:
        return x

    async def both(x: Any) -> Any:
        yield x

    for function, what in (
        (generator, "a generator"),
        (coroutine, "a coroutine"),
        (both, "an asynchronous generator"),
    ):
        text = rf"\[{function.__name__}\] returns {what}, whose code runs after the function: "
        for call in (flow.jit(function), lambda x, f=function: trace(f, x)):
            with pytest.raises(TraceError, match=text):
                call(SQUARE)
    with pytest.raises(TraceError, match=r"returns a generator, "):
        trace(lambda x: {"parts": (x * n for n in range(2))}, SQUARE)
    works()
