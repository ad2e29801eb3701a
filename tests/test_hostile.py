"""Arguments that work against the function they are given to: the process survives each of them."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite import _C

Run = Callable[..., subprocess.CompletedProcess[str]]
PROGRAM = Path(__file__).with_name("hostile_program.py")


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


def every_place(run_program: Run, tmp_path: Path, kind: str) -> None:
    done = run_program(PROGRAM.read_text(), kind, memory_limit="256MiB", timeout=600)
    last = (tmp_path / "call").read_text() if done.returncode else ""
    assert done.returncode == 0, f"{last}{done.stdout[-3000:]}{done.stderr[-3000:]}"
    *wrong, counts = done.stdout.split("\n")[:-1]
    assert not any(wrong), "\n".join(wrong)
    calls, raised = map(int, counts.split())
    assert calls > raised > calls // 4


def test_objects(run_program: Run, tmp_path: Path) -> None:
    """Every parameter of every function, with objects that change, lie, raise and call again."""
    every_place(run_program, tmp_path, "objects")


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
