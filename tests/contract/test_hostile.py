"""Arguments that work against the function they are given to: the process survives each of them."""

import contextlib
import copy
import copyreg
import pickle
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C
from oneflow_lite.distributed import boxing, layout, placement, sbp
from tests.support import IS_SANITIZED, ROOT

Run = Callable[..., subprocess.CompletedProcess[str]]
PROGRAM = ROOT / "tests/support/hostile/program.py"


class Clears:
    """An integer that clears a list when it is used as one."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __index__(self) -> int:
        self.items.clear()
        return 2

    __int__ = __index__


def clearing(count: int = 3) -> list[Any]:
    items: list[Any] = []
    items += [Clears(items) for _ in range(count)]
    return items


class Endless:
    """A sequence without an end, whatever its length says."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, i: int) -> int:
        return 1


def every_place(run_program: Run, tmp_path: Path, kind: str, **flags: str) -> None:
    done = run_program(PROGRAM.read_text(), kind, memory_limit="256MiB", timeout=600, **flags)
    last = (tmp_path / "call").read_text() if done.returncode else ""
    assert done.returncode == 0, f"{last}{done.stdout[-3000:]}{done.stderr[-3000:]}"
    *lines, counts = done.stdout.splitlines()  # LAPACK prints some of its own
    wrong = [line for line in lines if line.startswith("wrong: ")]
    assert not wrong, "\n".join(wrong)
    calls, raised = map(int, counts.split())
    assert calls > raised > calls // 4


def test_objects(run_program: Run, tmp_path: Path) -> None:
    """Every parameter of every function, with objects that change, lie, raise and call again."""
    every_place(run_program, tmp_path, "objects")


def test_cycles(run_program: Run, tmp_path: Path) -> None:
    """Lists that contain themselves, and lists nested too deeply."""
    every_place(run_program, tmp_path, "cycles")


def test_sizes(run_program: Run, tmp_path: Path) -> None:
    """Sizes no memory could hold, none of which takes memory or time.

    A result that stays in a group needs no memory. One that the host could hold is computed there:
    a second of work, and minutes under ThreadSanitizer.
    """
    fusion = "0" if IS_SANITIZED else "always"
    every_place(run_program, tmp_path, "sizes", fusion=fusion)


SHAPES: dict[str, Callable[[Any], Any]] = {
    "zeros": flow.zeros,
    "full": lambda shape: flow.full(shape, 1),
    "empty": flow.empty,
    "broadcast_to": lambda shape: flow.broadcast_to(flow.ones(()), shape),
    "reshape": lambda shape: flow.reshape(flow.ones(8), shape),
    "random": lambda shape: flow.random.random(shape),
    "philox": lambda shape: flow.random.Philox(1).normal(size=shape),
    "indices": flow.indices,
    "resize": lambda shape: flow.resize(flow.ones(3), shape),
}


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_is_what_it_was_when_it_was_read(name: str) -> None:
    shape = SHAPES[name](clearing()).shape
    assert shape[-3:] == (2, 2, 2)
    if name != "random":  # NumPy reads it
        with pytest.raises(ValueError, match="at most 32 dimensions, got more"):
            SHAPES[name](Endless())


def test_axes_are_what_they_were_when_they_were_read(device: flow.Device) -> None:
    class Axis(Clears):
        def __index__(self) -> int:
            super().__index__()
            return 1

    def axes() -> list[Any]:
        items: list[Any] = [0]
        items += [Axis(items)]
        items.reverse()
        return items

    x = flow.ones((2, 3), device=device)
    assert x.sum(axis=axes()).item() == 6
    assert flow.permute_dims(x, axes()).shape == (3, 2)


def test_data_is_what_it_was_when_it_was_read(device: flow.Device) -> None:
    class Datum(Clears):
        def __array__(self, *_: Any, **__: Any) -> Any:
            self.items.clear()
            return np.asarray(2)

    def data() -> list[Any]:
        items: list[Any] = []
        items += [Datum(items) for _ in range(3)]
        return items

    assert flow.tensor(data(), device=device).tolist() == [2, 2, 2]
    assert (flow.ones(3, device=device) * data()).tolist() == [2, 2, 2]
    x = flow.zeros(8, device=device)
    x[data()] = 1
    assert x.sum().item() == 1
    x[:3] = data()
    assert x.tolist() == [2, 2, 2, 0, 0, 0, 0, 0]


def test_the_items_of_a_key_change_each_other() -> None:
    """What an item is, is asked once."""

    class Integer:
        def __index__(self) -> int:
            if hasattr(Other, "__index__"):
                del Other.__index__
            else:
                Other.__index__ = lambda self: 0  # type: ignore[attr-defined]
            return 0

    class Other:
        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.array([0, 1])

    x = flow.ones((2, 3))
    assert x[Integer(), Other()].shape == (2,)
    with pytest.raises(TypeError):
        x[Integer(), Other()]

    mask = np.array([True, False, True, False])

    class Reshapes:
        def __array__(self, *_: Any, **__: Any) -> Any:
            mask.shape = (2, 2)
            return np.array([0, 1])

    assert flow.ones((4, 3))[mask, Reshapes()].shape == (2,)


def test_an_interrupt_of_a_conversion_is_not_lost() -> None:
    """A path that leaves its arguments to the function keeps no exception from the caller."""
    calls = []

    class Interrupts:
        def __array__(self, *_: Any, **__: Any) -> Any:
            calls.append(1)
            raise KeyboardInterrupt

    for function in (flow.tensor, flow.asarray):
        calls.clear()
        with pytest.raises(KeyboardInterrupt):
            function([Interrupts()])
        assert len(calls) == 1


def test_numbers_drawn_while_numbers_are_drawn() -> None:
    class Draws:
        def __float__(self) -> float:
            return float(flow.random.uniform())

    flow.random.seed(0)
    assert flow.random.exponential(scale=Draws(), size=2).shape == (2,)


def test_names_that_are_no_text() -> None:
    with pytest.raises(TypeError, match=r"\[add\].*ud800"):
        flow.add(flow.ones(1), 1, **{"\ud800": 1})  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        flow.zeros(1, dtype="float32\0and more")


def test_shapes_are_arrays_too() -> None:
    assert flow.zeros(np.array([2, 3])).shape == (2, 3)
    assert flow.zeros(flow.tensor([2, 3])).shape == (2, 3)
    assert _C.integers(3, "shape") == (3,)


SEEDS: dict[str, Callable[[Any], Any]] = {
    "default_rng": flow.random.default_rng,
    "seed": flow.random.Generator().seed,
    "Philox": flow.random.Philox,
}


@pytest.mark.parametrize("name", SEEDS)
def test_seeds_in_lists(name: str) -> None:
    """NumPy's own search of a list that contains itself overflows the stack."""
    endless: list[Any] = [1]
    endless.append(endless)
    with pytest.raises(ValueError, match="contains itself"):
        SEEDS[name](endless)
    SEEDS[name]([1, [2, 3]])


def test_blocks_in_lists_that_contain_themselves() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match=r"\[block\] at most 32 dimensions"):
        flow.block(endless)


def test_differences_of_nothing_end() -> None:
    assert flow.diff(flow.arange(4), n=10**30).shape == (0,)
    assert flow.diff(flow.arange(4), n=4).dtype == np.int64


def test_what_is_padded_with_numbers_of_any_size() -> None:
    a = np.ones((1, 2))
    assert flow.pad(flow.tensor(a), 1, constant_values=10**30).tolist() == (
        np.pad(a, 1, constant_values=10**30).tolist()
    )
    with pytest.raises(OverflowError):
        flow.pad(flow.tensor([1]), 1, constant_values=10**30)


@pytest.mark.parametrize("op", [flow.sum, flow.prod, flow.max, flow.min, flow.any])
@pytest.mark.parametrize("out", [3, [flow.ones(1)]])
def test_targets_that_are_no_arrays(op: Callable[..., Any], out: Any) -> None:
    with pytest.raises(TypeError, match="expected out to be a tensor or array"):
        op(flow.ones(2), out=out)


def test_memory_of_the_host_is_not_handed_to_cuda() -> None:
    for name in ("cpu", "mock:0"):
        with pytest.raises(
            TypeError, match=f"expected a tensor of a cuda device, got one of {name}"
        ):
            _C.export_cuda(flow.ones(2, device=name))


# --- classes of the extension

CLASSES = [cls for cls in vars(_C).values() if isinstance(cls, type)] + [flow.device]
MADE = [cls for cls in CLASSES if issubclass(cls, BaseException)]  # an exception needs no value


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls not in MADE])
def test_no_instance_is_without_a_value(cls: type) -> None:
    """C++ reads the value of an instance unasked."""
    makers = [base.__new__ for base in cls.__mro__]  # the class's own and those it hides
    makers += [
        lambda cls: copyreg.__newobj__(cls),
        lambda cls: copyreg._reconstructor(cls, object, None),
    ]  # type: ignore[attr-defined]
    for make in makers:
        with pytest.raises(TypeError):
            make(cls)
    try:
        derived = type(cls)("derived", (cls,), {"__init__": lambda self: None})
    except TypeError:
        return  # it is no base
    with pytest.raises(TypeError):
        derived()
    with pytest.raises(TypeError):
        derived.__new__(derived)


def program() -> flow.graph.Program:
    return flow.graph.trace(lambda x: x + 1, flow.ones(2)).program


def ranks() -> _C.Placement:
    return placement("cpu", [3, 1])


def on_complete() -> Any:
    given: list[Any] = []
    flow.engine.push_async(lambda _, end: given.append(end)).running()
    while not given:
        time.sleep(0)
    return given.pop()


def completion() -> Any:
    """Of a function that has run."""
    done = flow.vm.host_func(int)
    done.result()
    return done


INSTANCES: dict[type, Callable[[], Any]] = {
    _C.Device: lambda: flow.Device("cpu"),
    flow.device: lambda: flow.device("cpu"),
    _C.Tensor: lambda: flow.ones(2),
    _C.Op: lambda: flow.add,
    _C.NativeFunction: lambda: flow.sum,
    _C.NativePath: lambda: _C.paths.sum,
    _C.ScalarMeta: lambda: flow.float32,
    _C.Completion: completion,
    _C.OnComplete: on_complete,
    _C.Var: lambda: _C.Var("table"),
    _C.CFunction: lambda: _C.CFunction(1, 0, False, None),
    _C.Operator: lambda: _C.Operator(int, (), (), "int", 0, False, False, None, "compute"),
    _C.CurrentDevice: lambda: _C.CurrentDevice(flow.Device("cpu")),
    _C.Backend: lambda: _C.device_types()["cpu"],
    _C.OpCall: lambda: program().main.ops[0].call,
    _C.Recorder: lambda: _C.Recorder("recorder"),
    _C.Executable: lambda: flow.graph.compile(program()),
    _C.KnownCalls: lambda: _C.KnownCalls(len),
    _C.Placement: lambda: ranks(),
    _C.Sbp: lambda: sbp.partial("max"),
    _C.Layout: lambda: layout((4, 2), ranks(), sbp.split(0)),
    _C.Member: lambda: _C.current_member(),
    _C.GlobalTensor: lambda: flow.ones(2).to_global(placement("cpu", 0), sbp.split(0)),
    _C.BoxingStep: lambda: boxing(
        *(layout((4, 2), ranks(), side) for side in (sbp.split(0), sbp.broadcast))
    )[0],
}


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls not in MADE])
def test_every_member_of_an_instance(cls: type) -> None:
    """Read, called without arguments, with wrong ones, deleted and initialised again."""
    for name in dir(cls):
        made = INSTANCES[cls]()
        assert isinstance(made, cls)
        attributes = {} if isinstance(made, type) else {**getattr(made, "__dict__", {})}
        attempts: list[Callable[[], Any]] = [
            lambda made=made, name=name: getattr(made, name),
            lambda made=made, name=name: getattr(made, name)(),
            lambda made=made, name=name: getattr(made, name)(None),
            lambda made=made, name=name: getattr(made, name)(made, *[object()] * 9),
            lambda made=made, name=name: getattr(cls, name)(object()),
            lambda made=made, name=name: delattr(made, name),
            lambda made=made, name=name: setattr(made, name, object()),
        ]
        for attempt in attempts:
            if name not in ("__class__", "__init_subclass__", "__subclasshook__"):
                with contextlib.suppress(Exception):
                    attempt()
        repr(made)
        if attributes:  # others have this one, too
            vars(made).clear()
            vars(made).update(attributes)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls not in MADE])
def test_an_instance_is_initialised_once(cls: type) -> None:
    made = INSTANCES[cls]()
    before = repr(made)
    for arguments in ((), (1,), ("mock:1",), (made,)):
        with contextlib.suppress(TypeError):
            made.__init__(*arguments)
    assert repr(made) == before


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls not in MADE])
def test_an_instance_is_copied_whole_or_not_at_all(cls: type) -> None:
    for copied in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
        made = INSTANCES[cls]()
        try:
            again = copied(made)
        except TypeError:
            continue
        assert type(again) is type(made)
        assert repr(again) == repr(made)
