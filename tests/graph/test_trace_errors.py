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
    "extract": ("compress", lambda x: flow.extract(x > 0, x)),
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
    "host_func": ("host_func", lambda x: flow.vm.host_func(len, [x], [])),
    "synchronize": ("synchronize", lambda x: flow.synchronize()),
    "synchronize a device": ("synchronize", lambda x: flow.synchronize("cpu")),
    "barrier": ("barrier", lambda x: flow.vm.barrier()),
    "pinned": ("empty of pinned memory", lambda x: flow.empty(3, pin_memory=True)),
}


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


RANDOM: dict[str, Callable[[], Any]] = {
    "normal": lambda: flow.random.normal(size=3),
    "uniform": lambda: flow.random.uniform(),
    "many": lambda: flow.random.normal(size=1000),
    "float32": lambda: flow.random.random(3, dtype="float32"),
    "integers": lambda: flow.random.integers(0, 9, 3),
    "big integers": lambda: flow.random.integers(0, 9, 2000, dtype="uint8"),
    "one integer": lambda: flow.random.integers(9),
    "choice": lambda: flow.random.choice(5, 3),
    "choice of a list": lambda: flow.random.choice([1, 2, 3]),
    "choice of a tensor": lambda: flow.random.choice(SQUARE[0], 2),
    "choice without return": lambda: flow.random.choice(5, 3, replace=False),
    "permutation": lambda: flow.random.permutation(5),
    "permutation of a tensor": lambda: flow.random.permutation(SQUARE),
    "permuted": lambda: flow.random.permuted(SQUARE, axis=0),
    "shuffle": lambda: flow.random.shuffle(SQUARE),
    "bytes": lambda: flow.random.bytes(3),
    "seed": lambda: flow.random.seed(3),
    "spawn": lambda: GENERATOR.spawn(2),
    "bit generator": lambda: GENERATOR.bit_generator.random_raw(),
    "generator": lambda: GENERATOR.standard_normal(3),
    "new generator": lambda: flow.random.default_rng(1).gamma(2.0, size=3),
    "Philox": lambda: PHILOX.normal(size=3),
    "Philox integers": lambda: PHILOX.integers(0, 5, size=3),
    "Philox permutation": lambda: PHILOX.permutation(5),
    "Philox state": lambda: setattr(PHILOX, "state", {"key": 1, "counter": 2}),
    "Philox advance": lambda: PHILOX.advance(3),
    "Philox spawn": lambda: PHILOX.spawn(3),
    "new Philox": lambda: flow.random.Philox(3).random(2),
    "distribution": lambda: flow.random.multivariate_normal([0.0, 0.0], np.eye(2)),
}
GENERATOR, PHILOX = flow.random.default_rng(3), flow.random.Philox(3)


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_are_refused(name: str) -> None:
    """They are never baked into a program, and the generators stay where they are."""
    before = flow.random.normal(size=2)  # the generator of the module is there
    generator = copy.deepcopy(GENERATOR.bit_generator.state)
    philox = PHILOX.state
    with pytest.raises(
        TraceError, match=r"^\[[\w.]+\] cannot be recorded: do it outside of"
    ) as raised:
        trace(lambda x: (RANDOM[name](), x), before)
    assert any(f"{__file__}:" in note for note in raised.value.__notes__)
    assert GENERATOR.bit_generator.state == generator
    assert PHILOX.state == philox
    works()


@pytest.mark.parametrize("name", [n for n in dir(flow.random) if not n.startswith("_")])
def test_no_random_function_is_baked(name: str) -> None:
    """Each function of flow.random raises, or gives nothing that is a program's."""
    function = getattr(flow.random, name)
    if isinstance(function, type) or name == "default_rng" or not callable(function):
        return
    for args in ((), (1,), (2.0, 3.0), (0.5,), (3, 2, 4), (3, 0.5), (1.0, 2.0, 3.0), (SQUARE[0],)):
        try:
            program = trace(lambda args=args: function(*args)).program
        except Exception:  # of the arguments, or TraceError
            continue
        if name == "permuted" and not isinstance(args[0], flow.Tensor):  # one element stays
            continue
        raise AssertionError(f"{name}{args} was recorded: {program}")


# --- errors


def test_a_traced_tensor_after_its_trace() -> None:
    kept: list[flow.Tensor] = []

    def function(x: flow.Tensor) -> flow.Tensor:
        kept.append(x * 2)
        return x

    with pytest.raises(TraceError, match=r"\[function\] a tensor .*multiply.* is kept") as raised:
        trace(function, SQUARE)
    line = function.__code__.co_firstlineno + 1
    assert f"{__file__}:{line}" in str(raised.value)
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
    with pytest.raises(TraceError, match="is kept"):
        trace(lambda x: kept.append(x), SQUARE)
    with pytest.raises(TraceError, match="made while <lambda> was recorded"):
        kept[0].numpy()


def test_what_is_kept_in_a_cycle_is_not_kept() -> None:
    """The collector frees it."""

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
