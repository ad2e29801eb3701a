"""A copy of a generator, or a pickled one, goes on with the numbers of the original."""

import copy
import pickle
import threading
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import TraceError
from tests.support.oracle import same

MADE: dict[str, Callable[[], Any]] = {
    "PCG64": lambda: flow.random.default_rng(3),
    "MT19937": lambda: flow.random.Generator(np.random.MT19937(3)),
    "RandomState": lambda: flow.random.RandomState(3),
    "RandomState, PCG64": lambda: flow.random.RandomState(np.random.PCG64(3)),
    "Philox": lambda: flow.random.Philox(3),
    "Philox, a key": lambda: flow.random.Philox(key=3, counter=1 << 100),
}
COPIED: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda x, protocol=protocol: pickle.loads(pickle.dumps(x, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}


class Named(flow.random.Generator):
    """A user's generator, with an attribute."""

    def __init__(self, name: str, seed: int) -> None:
        super().__init__(seed)
        self.name = name


class Slotted(flow.random.Generator):
    """One whose attribute is no member of its dict."""

    __slots__ = ("name",)


class Owner:
    """What has a generator that has it."""

    rng: Any


def drawn(rng: Any) -> list[np.ndarray]:
    """An odd count of normal numbers: a RandomState keeps every other one."""
    integers = rng.randint if isinstance(rng, flow.random.RandomState) else rng.integers
    return [rng.normal(size=5).numpy(), integers(9, size=3).numpy(), rng.random(7).numpy()]


@pytest.mark.parametrize("how", COPIED)
@pytest.mark.parametrize("name", MADE)
def test_the_numbers_are_those_of_the_original(name: str, how: str) -> None:
    rng = MADE[name]()
    drawn(rng)
    copied = COPIED[how](rng)
    first = drawn(copied)
    for mine, its in zip(drawn(rng), first, strict=True):
        same(its, mine)
    drawn(copied)  # of no concern to the original
    again = COPIED[how](rng)
    for mine, its in zip(drawn(rng), drawn(again), strict=True):
        same(its, mine)
    if hasattr(copied, "spawn"):
        one, other = copied.spawn(2)[1], COPIED[how](copied).spawn(1)[0]
        assert one.random().item() != other.random().item()


@pytest.mark.parametrize("name", MADE)
def test_draws_in_flight_count(name: str, device: flow.Device) -> None:
    rng = MADE[name]()
    here = MADE[name]()
    flying = [rng.normal(size=100_000, device=device) for _ in range(4)]
    copied = pickle.loads(pickle.dumps(rng))
    for _ in flying:
        here.normal(size=100_000)
    for its, wanted in zip(drawn(copied), drawn(here), strict=True):
        same(wanted, its)


def test_a_copy_among_threads_is_between_two_draws() -> None:
    rng, copies = flow.random.default_rng(1), []
    thread = threading.Thread(target=lambda: [rng.gamma(2.0, size=2000) for _ in range(50)])
    thread.start()
    while thread.is_alive():
        copies.append(copy.deepcopy(rng))
    copies.append(copy.deepcopy(rng))
    reference, states = np.random.default_rng(1), []
    for _ in range(51):
        states.append(reference.bit_generator.state)
        reference.gamma(2.0, size=2000)
    assert all(one.bit_generator.state in states for one in copies)


def test_attributes_of_a_derived_class_are_kept() -> None:
    back = copy.deepcopy(Named("noise", 5))
    assert (type(back), back.name) == (Named, "noise")
    same(np.random.default_rng(5).random(3), back.random(3))


@pytest.mark.parametrize("how", COPIED)
def test_slots_of_a_derived_class_are_kept(how: str) -> None:
    rng = Slotted(5)
    rng.name, rng.other = "noise", 3  # type: ignore[attr-defined]
    back = COPIED[how](rng)
    assert (type(back), back.name, back.other) == (Slotted, "noise", 3)
    same(np.random.default_rng(5).random(3), back.random(3))


@pytest.mark.parametrize("how", COPIED)
@pytest.mark.parametrize("kind", [Named, flow.random.Philox])
def test_what_leads_back_to_a_generator_is_copied(kind: Any, how: str) -> None:
    rng: Any = kind("noise", 5) if kind is Named else kind(5)
    rng.me, rng.owner = rng, Owner()
    rng.owner.rng = rng
    back = COPIED[how](rng)
    assert back is not rng
    one = rng if how == "copy" else back  # which shares the attributes
    assert back.me is one
    assert back.owner.rng is one
    same(rng.random(3).numpy(), back.random(3))


@pytest.mark.parametrize("name", MADE)
def test_attributes_keep_their_identity(name: str) -> None:
    rng, held = MADE[name](), flow.ones(3)
    rng.held = held
    assert copy.copy(rng).held is held
    for how in (copy.deepcopy, COPIED["pickle 5"]):
        one, other = how((rng, held))
        assert one.held is other
        assert other is not held


def test_functions_of_the_module_are_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(flow.random.uniform)) == flow.random.uniform
    assert copy.deepcopy({"noise": flow.random.normal})["noise"] == flow.random.normal


@pytest.mark.parametrize("name", ["PCG64", "RandomState", "Philox"])
def test_no_copy_of_an_older_generator_is_recorded(name: str) -> None:
    rng = MADE[name]()
    with pytest.raises(TraceError, match="copy of a generator"):
        flow.graph.trace(lambda x: x + copy.deepcopy(rng).random(), flow.ones(1))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", ["PCG64", "RandomState", "Philox"])
def test_another_process_goes_on(name: str) -> None:
    rng = MADE[name]()
    rng.random(3)
    with get_context("spawn").Pool(1) as pool:
        there = pool.apply(rng.random, (4,))
    same(rng.random(4).numpy(), there)
