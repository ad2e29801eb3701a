"""Counted random numbers of tensors of many ranks: each part is a slice of one process's draw."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.distributed import GlobalTensor, placement, sbp
from oneflow_lite.random import Philox
from tests.support.distributed.programs import check, on_ranks, random_layout

Draw = Callable[..., Any]

# By a stream, a shape, and where to.
DRAWS: dict[str, Draw] = {
    "words": lambda rng, s, **to: rng.words(s, **to),
    "long words": lambda rng, s, **to: rng.words(s, dtype="uint64", **to),
    "random": lambda rng, s, **to: rng.random(s, **to),
    "random half": lambda rng, s, **to: rng.random(s, dtype="float16", **to),
    "uniform": lambda rng, s, **to: rng.uniform(-2, 3, s, dtype="float32", **to),
    "normal": lambda rng, s, **to: rng.normal(1, 2, s, **to),
    "normal float32": lambda rng, s, **to: rng.normal(size=s, dtype="float32", **to),
    "standard_normal": lambda rng, s, **to: rng.standard_normal(s, dtype="float16", **to),
    "exponential": lambda rng, s, **to: rng.exponential(3, s, **to),
    "bernoulli": lambda rng, s, **to: rng.bernoulli(0.3, s, **to),
    "integers": lambda rng, s, **to: rng.integers(-5, 9, s, endpoint=True, **to),
    "integers int8": lambda rng, s, **to: rng.integers(100, size=s, dtype="int8", **to),
    "integers of a long range": lambda rng, s, **to: rng.integers(-(2**60), 2**62, s, **to),
    "choice": lambda rng, s, **to: rng.choice(17, s, **to),
    "choice by weights": lambda rng, s, **to: rng.choice(3, s, p=[0.2, 0.3, 0.5], **to),
    "choice without replacement": lambda rng, s, **to: rng.choice(500, s, replace=False, **to),
    "choice of some": lambda rng, s, **to: rng.choice(
        500, s, replace=False, p=np.arange(500) / (499 * 250), **to
    ),
    "permutation": lambda rng, s, **to: rng.permutation(*s, **to),
}
SHAPES: list[tuple[int, ...]] = [(5,), (7, 3), (2, 9), (6, 4, 5), (1, 3), (0, 4), (), (40,)]
WORLDS = [1, 2, 3, 4, 6]
CHOICES = [sbp.broadcast, sbp.split(0), sbp.split(1)]


def compare(drawn: GlobalTensor, expected: flow.Tensor) -> None:
    """Bit for bit what one process draws."""
    assert isinstance(drawn, GlobalTensor)
    assert (drawn.shape, drawn.dtype) == (expected.shape, expected.dtype)
    values = expected.numpy()
    box = drawn.layout.box(flow.distributed.rank())
    if box is not None:
        assert drawn.to_local().numpy().tobytes() == values[box].tobytes(), drawn.layout
    else:
        assert drawn.to_local().size == 0
    check(drawn, values)


def streams() -> tuple[Philox, Philox]:
    return Philox(key=5, counter=2**64 - 40), Philox(key=5, counter=2**64 - 40)


def random_draws(device: str, seed: int, programs: int) -> None:
    """Draws of any kind, one after the other of one stream, in random layouts."""
    world, (ours, alone) = flow.distributed.world_size(), streams()
    for number in range(programs):
        rng = np.random.default_rng((seed, number))  # the same on all ranks
        name = list(DRAWS)[(seed + number) % len(DRAWS)]
        shape = SHAPES[rng.integers(len(SHAPES))]
        if name == "permutation":
            shape = (int(rng.integers(30)),)
        where = random_layout(rng, device, world, shape)
        drawn = DRAWS[name](ours, shape, placement=where.placement, sbp=where.sbp)
        assert drawn.layout == where
        compare(drawn, DRAWS[name](alone, shape))
        assert ours.state == alone.state, (name, where)


@pytest.mark.parametrize("device", ["cpu", "mock"])
@pytest.mark.parametrize("world", WORLDS)
def test_random_layouts(world: int, device: str) -> None:
    on_ranks(random_draws, world, device, 7 * world, 3 * len(DRAWS))


def test_naive_mode() -> None:
    with flow.flags(sync=True):
        on_ranks(random_draws, 3, "cpu", 1, 2 * len(DRAWS))


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize(
    ("world", "grid"),
    [(2, [0, 1]), (3, [2, 0]), (4, [[0, 1], [2, 3]]), (6, [[0, 4, 2], [5, 1, 3]])],
)
def test_every_sbp(name: str, world: int, grid: Any) -> None:
    """A rank outside, uneven and empty parts; and no more is made than the part."""
    if name == "permutation":
        pytest.skip("it has one dimension")

    def program() -> None:
        ranks = placement("cpu", grid)
        for sbps in product(CHOICES, repeat=len(ranks.grid)):
            for shape in ((5, 3), (1, 8), (3, 0)):
                ours, alone = streams()
                drawn = DRAWS[name](ours, shape, placement=ranks, sbp=sbps)
                compare(drawn, DRAWS[name](alone, shape))
                assert ours.state == alone.state

    on_ranks(program, world)


def test_a_large_draw() -> None:
    """Parts that several threads of a rank make, of rows that begin anywhere."""

    def program() -> None:
        ranks = placement.all("cpu")
        for by in (sbp.split(0), sbp.split(1), sbp.split(2)):
            ours, alone = streams()
            drawn = ours.normal(size=(3, 301, 501), dtype="float32", placement=ranks, sbp=by)
            compare(drawn, alone.normal(size=(3, 301, 501), dtype="float32"))

    on_ranks(program, 2)


def test_one_sbp_holds_for_each_axis() -> None:
    def program() -> None:
        ours, alone = streams()
        ranks = placement("cpu", [[0, 1], [2, 3]])
        expected = alone.random((5, 2))
        compare(ours.random((5, 2), placement=ranks, sbp=sbp.split(0)), expected)
        assert ours.random(3, placement=ranks).sbp == (sbp.broadcast,) * 2

    on_ranks(program, 4)


@pytest.mark.parametrize(("world", "grid"), [(2, [0, 1]), (3, [2, 0]), (4, [[0, 1], [2, 3]])])
def test_orders_of_tensors(world: int, grid: Any) -> None:
    """What is taken of a tensor of many ranks is what one process takes of the whole."""
    whole = np.arange(28.0).reshape(7, 4)
    calls: list[Callable[[Philox, Any], Any]] = [
        lambda rng, x: rng.permutation(x),
        lambda rng, x: rng.permutation(x, 1),
        lambda rng, x: rng.choice(x, 5),
        lambda rng, x: rng.choice(x, (2, 2), replace=False, axis=1),
        lambda rng, x: rng.choice(x, 3, replace=False, p=[0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1]),
        lambda rng, x: rng.choice(x, 9, p=[0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1]),
    ]

    def program() -> None:
        ranks = placement("cpu", grid)
        for sbps in product([*CHOICES, sbp.partial_sum], repeat=len(ranks.grid)):
            ours, alone = streams()
            x = flow.tensor(whole, placement=ranks, sbp=sbps)
            for call in calls:
                check(call(ours, x), call(alone, whole).numpy())
                assert ours.state == alone.state

    on_ranks(program, world)


def test_programs_that_are_recorded() -> None:
    """A run takes the counters of the whole draw, on a rank outside, too."""

    def program() -> None:
        ours, alone = streams()
        where = {"placement": placement("cpu", [0, 2]), "sbp": sbp.split(1)}
        box = flow.distributed.layout((4, 5), where["placement"], sbp.split(1)).box(
            flow.distributed.rank()
        )

        def draws() -> list[flow.Tensor]:
            x = ours.normal(size=(4, 5), **where)
            return [x.to_local() * 2, ours.random(3)]

        run = flow.graph.compile(flow.graph.trace(draws).program)
        for _ in range(3):
            part, after = run()
            expected = alone.normal(size=(4, 5)).numpy() * 2
            assert part.numpy().tobytes() == (b"" if box is None else expected[box].tobytes())
            assert after.numpy().tobytes() == alone.random(3).numpy().tobytes()
            assert ours.state == alone.state

    on_ranks(program, 3)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r, p: r.normal(size=3, sbp=sbp.split(0)), TypeError, r"\[normal\] sbp: .* too"),
        (lambda r, p: r.normal(size=3, placement="cpu"), TypeError, r"\[normal\] placement: exp"),
        (lambda r, p: r.words(3, placement=p, sbp=1), TypeError, r"\[words\] sbp: expected an Sbp"),
        (
            lambda r, p: r.random(3, placement=p, device="cpu"),
            TypeError,
            r"\[random\] device: the placement decides it",
        ),
        (
            lambda r, p: r.random(3, placement=p, sbp=sbp.partial_sum),
            ValueError,
            r"\[random\] numbers are drawn split or broadcast, got partial.*to_global\(sbp=",
        ),
        (
            lambda r, p: r.permutation(3, placement=p, sbp=sbp.partial_sum),
            ValueError,
            r"\[permutation\] numbers are drawn split or broadcast",
        ),
        (lambda r, p: r.random(3, placement=p, sbp=[sbp.broadcast] * 2), ValueError, "sbp"),
        (lambda r, p: r.random(3, placement=p, sbp=sbp.split(1)), IndexError, r"split\(1\)"),
        (lambda r, p: r.random(-3, placement=p), ValueError, "-3"),
        (lambda r, p: r.random(2.5, placement=p), TypeError, "."),
        (lambda r, p: r.random((2**40, 2**40), placement=p), ValueError, "too big"),
        (lambda r, p: r.permutation(-1, placement=p), ValueError, "-1"),
        (lambda r, p: r.random(3, placement=placement("cpu", [0, 9])), ValueError, "rank 9 is not"),
        (
            lambda r, p: r.permutation(np.arange(3), placement=p),
            TypeError,
            r"\[permutation\] placement: .* flow.tensor\(x, placement=..., sbp=...\) makes one",
        ),
        (
            lambda r, p: r.choice([1, 2], 3, placement=p),
            TypeError,
            r"\[choice\] placement: expected an int or a GlobalTensor",
        ),
        (
            lambda r, p: r.choice(flow.ones(3, placement=p), 3, device="cpu"),
            TypeError,
            r"\[choice\] device, placement, sbp: the GlobalTensor decides them",
        ),
        (
            lambda r, p: r.choice(3, 4, replace=False, placement=p),
            ValueError,
            r"\[choice\] expected at most 3",
        ),
        (
            lambda r, p: r.integers(3, size=2, dtype="float32", placement=p),
            TypeError,
            r"\[integers\]",
        ),
    ],
)
def test_wrong_input(call: Draw, error: type[Exception], message: str) -> None:
    """It is said before the stream goes on."""

    def program() -> None:
        ours, alone = streams()
        with pytest.raises(error, match=message):
            call(ours, placement.all("cpu"))
        assert ours.state == alone.state

    on_ranks(program, 2)


def test_generators_of_numpys_order_take_no_placement() -> None:
    """Each rank would have numbers of its own, and nobody would notice."""
    for draw in (flow.random.normal, flow.random.default_rng(3).normal):
        with pytest.raises(TypeError, match=r"Philox\(seed\)\.normal\(\.\.\., placement="):
            draw(size=4, placement=placement.all("cpu"))
