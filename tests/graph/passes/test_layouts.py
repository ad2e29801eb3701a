"""Layouts: which operations get another one, what follows them, and the rule for convolutions."""

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Program, passes, trace
from oneflow_lite.graph.analyses import STAYS, assign_layouts
from oneflow_lite.graph.passes import alter_layout


def names(program: Program) -> list[str]:
    return [op.name for op in program.main.ops if not op.is_view]


def array(*shape: int, dtype: str = "float32") -> flow.Tensor:
    return flow.tensor(np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype))


# --- the analysis


def chain(*gains: float, wanted: Sequence[int] | None = None) -> list[int]:
    """Operation i takes value i and makes value i + 1; the last one is kept."""
    count = len(gains)
    layouts = [0] * count if wanted is None else wanted
    takes = [[i] if layouts[i] != STAYS else [] for i in range(count)]
    reads = [[] if layouts[i] != STAYS else [i] for i in range(count)]
    made = [[i + 1] for i in range(count)]
    return assign_layouts(layouts, takes, reads, made, [count], [1.0] * (count + 1), gains)


def test_a_run_is_altered_where_it_gains_more_than_it_costs() -> None:
    assert chain(1.9) == [STAYS]
    assert chain(2.1) == [0]
    assert chain(0.7, 0.7) == [STAYS, STAYS]
    assert chain(0.7, 0.7, 0.7) == [0, 0, 0]
    assert chain(1.5, 0, 1.5, wanted=[0, STAYS, 0]) == [STAYS, STAYS, STAYS]
    assert chain(2.1, 0, 1.5, wanted=[0, STAYS, 0]) == [0, STAYS, STAYS]
    assert chain(1.5, 0, 1.5) == [0, 0, 0]  # the one between follows
    assert chain(1.5, 1.5, wanted=[0, 1]) == [STAYS, STAYS]  # two layouts


def test_a_value_is_paid_for_once() -> None:
    """Two operations on one value are a run: 0 is packed once, 1 and 2 are unpacked."""
    rows: tuple[Any, ...] = ([[0], [0]], [[], []], [[1], [2]], [1, 2])
    assert assign_layouts([0, 0], *rows, [1, 1, 1], [1.6, 1.6]) == [0, 0]
    assert assign_layouts([0, 0], *rows, [1, 1, 1], [1.4, 1.4]) == [STAYS, STAYS]
    assert assign_layouts([0, 0], *rows, [0, 1, 1], [1.4, 1.4]) == [0, 0]  # 0 is a constant


def test_what_gains_nothing_stays_at_the_end_of_a_run() -> None:
    """Operation 1 adds value 2, which would be packed for it alone."""
    rows: tuple[Any, ...] = ([[0], [1, 2]], [[], []], [[1], [3]], [3])
    assert assign_layouts([0, 0], *rows, [1] * 4, [5, 0]) == [0, STAYS]
    assert assign_layouts([0, 0], *rows, [1, 1, 0, 1], [5, 0]) == [0, 0]


def balance(rows: Any, kept: Sequence[int], costs: Any, gains: Any, layouts: Any) -> float:
    """What all operations gain, less all transforms: the definition."""
    takes, reads, makes = rows
    made = {x: layouts[i] for i, row in enumerate(makes) for x in row}
    packed, unpacked, total = set(), set(), 0.0
    for i, layout in enumerate(layouts):
        total += gains[i] if layout != STAYS else 0
        for x in takes[i]:
            if layout != STAYS and made.get(x, STAYS) != layout:
                packed.add((x, layout))
            if layout == STAYS and made.get(x, STAYS) != STAYS:
                unpacked.add(x)
        unpacked |= {x for x in reads[i] if made.get(x, STAYS) != STAYS}
    unpacked |= {x for x in kept if made.get(x, STAYS) != STAYS}
    return total - sum(costs[x] for x, _ in packed) - sum(costs[x] for x in unpacked)


def test_random_programs_gain() -> None:
    """They never lose by it, and not all of them stay. The best way is mostly found."""
    rng = random.Random(3)
    altered = best_found = 0
    for _ in range(300):
        count = rng.randrange(1, 7)
        takes, reads, makes = [], [], []
        wanted = [rng.choice([0, 0, 0, STAYS]) for _ in range(count)]
        for i in range(count):
            given = [rng.randrange(i + 2) for _ in range(rng.randrange(1, 3))]
            split = len(given) if wanted[i] != STAYS else 0
            takes.append(given[:split])
            reads.append(given[split:])
            makes.append([i + 2])
        kept = [count + 1]
        costs = [rng.choice([0, 1, 2]) for _ in range(count + 2)]
        gains = [rng.choice([0, 0.5, 1.5, 3]) for _ in range(count)]
        found = assign_layouts(wanted, takes, reads, makes, kept, costs, gains)
        assert all(a in (b, STAYS) for a, b in zip(found, wanted, strict=True))
        rows = takes, reads, makes
        gained = balance(rows, kept, costs, gains, found)
        assert gained >= 0
        ways = product(*({layout, STAYS} for layout in wanted))
        best = max(balance(rows, kept, costs, gains, way) for way in ways)
        altered += gained > 0
        best_found += gained == best
    assert altered > 100
    assert best_found > 200


@pytest.mark.slow
def test_long_programs_of_layouts() -> None:
    count = 100_000
    assert chain(*[0.1] * count) == [0] * count


# --- operands that are broadcast


@pytest.fixture
def cube_roots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alter_layout, "_RULES", {})
    passes.register_alter_op_layout("cbrt")(
        lambda op: passes.Altered(passes.NCHW16c, (0,), flow.cbrt)
    )


@pytest.mark.usefixtures("cube_roots")
@pytest.mark.parametrize("shape", [(), (1,), (5,), (3, 1), (32, 1, 1), (1, 3, 5), (2, 1, 3, 5)])
def test_exact_operations_follow_with_broadcast_operands(shape: tuple[int, ...]) -> None:
    program = trace(
        lambda x, b: flow.cbrt(flow.cbrt(x) * b + 1), array(2, 32, 3, 5), array(*shape)
    ).program
    made = passes.AlterOpLayout()(program)
    assert {op.results[0].type.shape for op in made.main.ops if op.name == "add"} == {
        (2, 2, 3, 5, 16)
    }
    given = array(2, 32, 3, 5), array(*shape)
    (one,), (other,) = (flow.graph.compile(p, opt_level=0)(*given) for p in (program, made))
    assert one.numpy().tobytes() == other.numpy().tobytes()
    assert one.strides == other.strides


@pytest.mark.usefixtures("cube_roots")
def test_what_is_not_exact_follows_without_broadcast_operands_alone() -> None:
    def function(x: flow.Tensor, b: flow.Tensor) -> flow.Tensor:
        return flow.cbrt(flow.hypot(flow.cbrt(x), b))

    for shape, is_packed in (((2, 32, 3, 5), True), ((32, 1, 1), False)):
        program = trace(function, array(2, 32, 3, 5), array(*shape)).program
        (row,) = (x for x in passes.AlterOpLayout()(program).main.ops if x.name == "hypot")
        assert (row.results[0].type.shape == (2, 2, 3, 5, 16)) == is_packed


@pytest.mark.slow
@pytest.mark.usefixtures("cube_roots")
def test_large_programs_of_layouts() -> None:
    def function(x: flow.Tensor) -> flow.Tensor:
        for _ in range(2_500):
            x = flow.negative(flow.tanh(flow.exp(flow.cbrt(x))))
        return x

    program = trace(function, flow.graph.spec((1, 16, 1, 1))).program
    made = passes.AlterOpLayout()(program)
    assert len(made.main.ops) == 10_002


# --- convolutions


def layers(x: flow.Tensor, w: flow.Tensor, b: flow.Tensor, count: int = 3) -> flow.Tensor:
    for _ in range(count):
        x = flow.maximum(flow.conv2d(x, w, padding=1) + b, 0)
    return x


def operands(dtype: str = "float32", extent: int = 9) -> tuple[flow.Tensor, ...]:
    given = array(2, 32, extent, extent), array(32, 32, 3, 3), array(32, 1, 1)
    return tuple(flow.astype(x / 8, dtype) for x in given)


def test_a_run_of_convolutions_is_altered() -> None:
    program = trace(layers, *operands()).program
    made = names(passes.AlterOpLayout()(program))
    assert made.count("layout_transform") == 3  # images, b, the result
    assert made[-1] == "layout_transform"
    for count, extent in ((1, 9), (2, 9), (3, 7)):
        given = operands(extent=extent)
        program = trace(lambda *x, count=count: layers(*x, count), *given).program
        assert passes.AlterOpLayout()(program) == program


def test_other_devices_keep_their_layout() -> None:
    program = trace(layers, *(x.to("mock") for x in operands())).program
    assert passes.AlterOpLayout()(program) == program


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": 2, "padding": 1},
        {"padding": ((1, 0), (2, 1))},
        {"dilation": 2, "padding": 2},
        {"groups": 2, "padding": 1},
    ],
    ids=str,
)
def test_bits_of_altered_convolutions(options: dict[str, Any], dtype: str) -> None:
    """Between convolutions that gain enough, one of any kind."""
    groups = options.get("groups", 1)
    w = flow.astype(array(48, 32 // groups, 3, 3) / 8, dtype)

    def function(x: Any, first: Any, b: Any) -> Any:
        y = flow.conv2d(layers(x, first, b), w, **options)
        return flow.tanh(y) * y - y.max(), y

    given = operands(dtype, 21)
    expected = [x.numpy().tobytes() for x in function(*given)]
    run = flow.jit(function)
    for _ in range(2):
        assert [x.numpy().tobytes() for x in run(*given)] == expected
    steps = run.report()["runs"][0]["memory"]["operations"]
    assert "layout_transform" in [row["step"] for row in steps]


def test_what_packs_constants_is_folded() -> None:
    images, w, b = operands()
    run = flow.jit(lambda x: layers(x, w, b), freeze=True)
    assert run(images).numpy().tobytes() == layers(images, w, b).numpy().tobytes()
    steps = [row["step"] for row in run.report()["runs"][0]["memory"]["operations"]]
    assert steps.count("layout_transform") == 2  # images and the result
