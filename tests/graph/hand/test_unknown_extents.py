"""Programs with unknown extents give eager's bits for each size, without a call of Python's code;
what cannot be told for other extents is refused with its line."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Dim, Executor, Program, Scope, TraceError, Value
from oneflow_lite.graph.hand.instance import check_instances
from oneflow_lite.graph.stand_ins import STAND_INS

DEVICES = ["cpu", "mock:0"]
SIZES = (1, 2, 3, 5, 17, 300)


def built(function: Callable[..., Any], *shapes: Any, dtype: str = "float32") -> tuple[Any, ...]:
    main = Program("main")
    with flow.graph.building(main):
        given = [flow.graph.data(f"x{k}", shape, dtype) for k, shape in enumerate(shapes)]
        fetched = function(*given)
    return main, fetched


def numbers(rng: np.random.Generator, shape: Any, size: int, dtype: str) -> np.ndarray:
    extents = [size if n is None else n for n in shape]
    return rng.normal(size=extents).astype(dtype)


def bits(x: Any) -> tuple[Any, ...]:
    return x.dtype, x.shape, x.numpy().tobytes()


def rows(x: Any) -> int:
    return x.shape[0]


# On (N, 6) and (6, 4); each is called with eager tensors, too.
LINEAR: dict[str, Callable[..., Any]] = {
    "product": lambda x, w: x @ w,
    "turned product": lambda x, w: w.T @ x.T,
    "mean of all": lambda x, w: flow.mean(x @ w),
    "mean of rows": lambda x, w: (x.mean(axis=0), flow.nanmean(x, axis=0), flow.nansum(x.T)),
    "mean of columns": lambda x, w: x.mean(axis=1, keepdims=True) + x,
    "variance": lambda x, w: flow.var(x, axis=0),
    "deviation of float64": lambda x, w: flow.std(x.astype("float64"), axis=0),
    "mean of halves": lambda x, w: x.astype("float16").mean(),
    "mean of complex": lambda x, w: (x * 1j).mean(axis=0),
    "divided by the count": lambda x, w: x / x.size - rows(x) * x + rows(x),
    "counted in integers": lambda x, w: flow.ones_like(x, dtype="int32") * rows(x) // 2,
    "compared with the count": lambda x, w: (rows(x) > x, x <= rows(x), x == rows(x)),
    "the larger one": lambda x, w: (flow.maximum(x, rows(x)), flow.minimum(rows(x), x)),
    "clipped": lambda x, w: (flow.clip(x, 0, rows(x)), (x * 9).clip(max=rows(x))),
    "the count chosen": lambda x, w: (
        flow.where(x > 0, rows(x), x),
        flow.where(x > 0, 2.5, rows(x)),
    ),
    "counts chosen": lambda x, w: flow.where(x > 0, rows(x), rows(x) + 1),
    "added in place": lambda x, w: flow.add(x, rows(x), out=flow.ones_like(x)),
    "cut in front": lambda x, w: x[1:] * 2,
    "cut behind": lambda x, w: x[:-1] + x[1:],
    "first": lambda x, w: x[0],
    "last": lambda x, w: x[-1] + x[-1:],
    "turned": lambda x, w: (x[::-1], flow.flip(x, axis=0) + x),
    "known steps": lambda x, w: x[:, ::-2] * x[:, 1::2],
    "one column": lambda x, w: x[:, 2],
    "flat": lambda x, w: (x.reshape(-1), flow.ravel(x.T)),
    "split": lambda x, w: flow.permute_dims(x.reshape((rows(x), 2, 3)), (1, 0, 2)) + 1,
    "joined": lambda x, w: x.reshape((-1, 2, 3)).reshape((rows(x) * 2, 3)),
    "new axes": lambda x, w: x[:, None, :] * w.T[None, :, :],
    "written": lambda x, w: written(x),
    "grown": lambda x, w: flow.zeros((2 * rows(x) + 1, 2)) + 1,
    "concatenated": lambda x, w: flow.concat([x, x[:1], x])[1:],
    "stacked": lambda x, w: flow.stack([x, x * 2]),
    "broadcast": lambda x, w: flow.broadcast_to(x[0], x.shape) - x,
    "zeros like a slice": lambda x, w: flow.zeros_like(x[1:]),
    "sums so far": lambda x, w: flow.cumulative_sum(x, axis=0),
    "sorted": lambda x, w: (flow.sort(x, axis=0), flow.argsort(x, axis=1)),
    "largest": lambda x, w: (flow.argmax(x, axis=1), x.max(axis=0)),
    "chosen": lambda x, w: flow.where(x > 0, x, -x),
    "softmax": lambda x, w: softmax(x @ w),
    "products of all": lambda x, w: x @ x.T,
    "determinant": lambda x, w: flow.linalg.det((x.T @ x).astype("float64")),
    "einsum": lambda x, w: flow.einsum("ij,jk->ki", x, w),
    "looked up": lambda x, w: w[flow.argsort(x, axis=1)[:, 0]],
    "rows in order": lambda x, w: (x[flow.argsort(x[:, 0])], x.T[:, flow.argsort(x[:, 0])]),
    "columns": lambda x, w: x[:, flow.tensor([0, 2, 2], device=x.device)] * 2,
    "elements": lambda x, w: x[flow.argsort(x[:, 0])[:, None], flow.argsort(w[0])[:2]],
    "scattered": lambda x, w: scattered_in(x),
    "differences": lambda x, w: (flow.diff(x, axis=0), flow.diff(x, prepend=0.0, axis=0)),
    "a frame": lambda x, w: flow.pad(x, ((1, 2), (0, 1)), constant_values=((3, 4), (5, 6))),
    "cut": lambda x, w: tuple(flow.split(x, [1])),
    "halves": lambda x, w: tuple(flow.split(flow.concat([x, x + 1]), 2)),
    "thirds": lambda x, w: flow.split(flow.concat([x, x + 1, x + 2, x, x, x]), 3)[1] * 2,
    "counted": lambda x, w: counted(x, x.shape[0]),
    "bounds": lambda x, w: bounded(flow.concat([x, x + 1]), x.shape[0]),
    "repeated": lambda x, w: flow.repeat(x, 2, axis=0),
    "tiled": lambda x, w: flow.tile(x, (2, 1)),
}


def written(x: Any) -> Any:
    y = flow.zeros_like(x)
    y[1:] = x[:-1]
    y[:, 0] = 7
    y[-1] += 1
    return y, y.T


def scattered_in(x: Any) -> Any:
    y, z = flow.zeros_like(x), x * 1
    order = flow.argsort(x[:, 0])
    y[order] = x
    y[:, flow.tensor([1, 2], device=x.device)] = 2.5
    z[order, order % 6] += 1
    z[x > 0.5] = -1.5
    return y, z, x.T[:, order]


def counted(x: Any, n: Any) -> Any:
    float32 = flow.arange(n, dtype="float32", device=x.device)
    integers = [flow.arange(1, n + 1), flow.arange(n, 0, -1), flow.arange(0, 3 * n, 3)]
    integers += [flow.arange(n - 1, n + 4), flow.arange(2, n + 2, dtype="int16")]
    return (x * float32[:, None], *integers)


def bounded(y: Any, n: Any) -> Any:
    y = y * 2
    middle = y[n:][:n] + 1
    y[:n] = 7
    return middle, y[n : 2 * n, 1:3], y[: n + n], y


def softmax(x: Any) -> Any:
    e = flow.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LINEAR)
def test_any_size_gives_eagers_bits(name: str, device: str) -> None:
    function = LINEAR[name]
    main, fetched = built(function, (None, 6), (6, 4))
    several = isinstance(fetched, tuple)
    exe = Executor(device)
    for size in SIZES:
        rng = np.random.default_rng(size)
        x, w = numbers(rng, (size, 6), size, "float32"), numbers(rng, (6, 4), size, "float32")
        expected = function(flow.tensor(x, device=device), flow.tensor(w, device=device))
        found = exe.run(main, {"x0": x, "x1": w}, fetched)
        pairs = zip(expected, found, strict=True) if several else [(expected, found)]
        for wanted, seen in pairs:
            assert seen.device == flow.Device(device)
            assert bits(seen) == bits(wanted)


def test_python_runs_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return x * 2

    main, y = built(f, (None,))
    exe = Executor()
    for size in SIZES:
        assert exe.run(main, {"x0": np.ones(size, np.float32)}, y).tolist() == [2] * size
    assert len(calls) == 1
    assert exe.report()["compiled"] == len(SIZES)


def test_no_rows() -> None:
    main, y = built(lambda x: (x.sum(axis=0), x * 2, x.reshape(-1)), (None, 3))
    total, twice, flat = Executor().run(main, {"x0": np.ones((0, 3), np.float32)}, y)
    assert (total.tolist(), twice.shape, flat.shape) == ([0, 0, 0], (0, 3), (0,))


def test_several_extents() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x[:, :, None] * y
        return z.reshape((x.shape[0] * x.shape[1], 2)), x.T, z.mean(), flow.concat([x, x], axis=1)

    main, fetched = built(f, (None, "time"), (None, "time", 2))
    exe = Executor()
    for n, t in ((1, 1), (3, 2), (2, 7), (20, 1)):
        rng = np.random.default_rng(n)
        x, y = (rng.normal(size=shape).astype(np.float32) for shape in ((n, t), (n, t, 2)))
        expected = f(flow.tensor(x), flow.tensor(y))
        found = exe.run(main, {"x0": x, "x1": y}, fetched)
        assert list(map(bits, found)) == list(map(bits, expected))


def attention(x: Any, w: Any) -> Any:
    batch, time, width = x.shape
    heads = 2

    def split(y: Any) -> Any:
        return flow.permute_dims(y.reshape((batch, time, heads, width // heads)), (0, 2, 1, 3))

    query = split(x @ w)
    scores = softmax_last(query @ query.mT)
    return flow.permute_dims(scores @ query, (0, 2, 1, 3)).reshape((batch * time, width))


def softmax_last(x: Any) -> Any:
    e = flow.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_attention_over_any_batch_and_time() -> None:
    main, y = built(attention, (None, "time", 8), (8, 8))
    exe, rng = Executor(), np.random.default_rng(0)
    w = rng.normal(size=(8, 8)).astype(np.float32)
    for batch, time in ((1, 1), (2, 3), (5, 2), (3, 17)):
        x = rng.normal(size=(batch, time, 8)).astype(np.float32)
        found = exe.run(main, {"x0": x, "x1": w}, y)
        assert bits(found) == bits(attention(flow.tensor(x), flow.tensor(w)))


def test_large_known_extents() -> None:
    table = flow.ones((300_000, 2), dtype="float32")

    def f(x: Any, w: Any) -> Any:
        return x @ w.T[:, :200_000] + table[:200_000, 0], flow.zeros_like(w), w.shape[0]

    main, (y, zeros, known) = built(f, (None, 2), (300_000, 2))
    assert known == 300_000
    for rows in (1, 3):
        x, w = np.ones((rows, 2), np.float32), np.ones((300_000, 2), np.float32)
        found = Executor().run(main, {"x0": x, "x1": w}, [y, zeros])
        assert bits(found[0]) == bits(f(flow.tensor(x), flow.tensor(w))[0])
        assert found[1].shape == (300_000, 2)


def test_none_is_the_same_at_the_same_axis_and_names_are_the_same() -> None:
    with flow.graph.building(Program("main")):
        x = flow.graph.data("x", (None, None, "k"))
        y = flow.graph.data("y", (None, "k"))
    assert x.shape[0] == y.shape[0]
    assert x.shape[2] == y.shape[1]
    with pytest.raises(TraceError):
        x.shape[0] == x.shape[1]  # noqa: B015 - it may be


def test_an_extent_shows_what_it_is() -> None:
    with flow.graph.building(Program("main")):
        x = flow.graph.data("x", (None, "time", 4))
        n, t, four = x.shape
        assert four == 4
        assert isinstance(n, Dim)
        assert (n == n, n != n + 1, n + 1 - 1 == n, 2 * n == n * 2, n - n) == (True,) * 4 + (0,)
        assert repr(3 * n - t + 1) == "-1*time + 3*N0 + 1" or "3*N0" in repr(3 * n - t + 1)
        assert (str(x.shape), copy.deepcopy(n) is n, x.size) == ("(N0, time, 4)", True, n * t * 4)
        assert x.nbytes == x.size * 8
        assert flow.zeros(n + 2).shape == (n + 2,)
    assert x.shape == (n, t, 4)  # after the block, too


REFUSED: dict[str, Callable[[Any], Any]] = {
    "a range": lambda x: range(x.shape[0]),
    "an index": lambda x: [1, 2][x.shape[0]],
    "an int": lambda x: int(x.shape[0]),
    "a float": lambda x: float(x.shape[0]),
    "a decision": lambda x: 1 if x.shape[0] else 2,
    "a comparison": lambda x: x.shape[0] > 3,
    "an equality": lambda x: x.shape[0] == 3,
    "a quotient": lambda x: x.shape[0] // 2,
    "a remainder": lambda x: x.shape[0] % 2,
    "a power": lambda x: x.shape[0] ** 2,
    "a reciprocal": lambda x: 1 / x.shape[0],
    "a float product": lambda x: x.shape[0] * 0.5,
    "a length": len,
    "an iteration": list,
    "a count of floats": lambda x: flow.arange(0.0, x.shape[0]),
    "a count in steps": lambda x: flow.arange(0, x.shape[0], 2),
    "a count in few bits": lambda x: flow.arange(x.shape[0], dtype="float16"),
    "another bound": lambda x: flow.ones(10)[: x.shape[0]],
    "parts": lambda x: flow.split(x, 2),
    "steps of integers": lambda x: flow.linspace(0, 1, x.shape[0], dtype="int64"),
}

OPS = {"parts": "split", "steps of integers": "linspace"}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_the_value_is_refused_with_its_line(name: str) -> None:
    line = REFUSED[name].__code__.co_firstlineno if hasattr(REFUSED[name], "__code__") else 0
    with pytest.raises(TraceError, match=r"unknown extent.*test_unknown_extents\.py:") as caught:
        built(REFUSED[name], (None, 6))
    op = OPS.get(name, "")
    assert str(caught.value).startswith(f"[{op}")
    assert f":{line}" in str(caught.value) or not line
    main, y = built(lambda x: x + 1, (None,))  # the next one works
    assert Executor().run(main, {"x0": [1]}, y).tolist() == [2]


UNCLEAR: dict[str, Callable[[Any], Any]] = {
    "steps": lambda x: x[::2] + 1,
    "a diagonal": lambda x: flow.linalg.diagonal(x) + 1,
    "q and r": lambda x: flow.linalg.qr(x).R,
    "none of it": lambda x: x[-3:5] + 1,
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_cannot_be_told_is_refused_when_it_is_built(name: str) -> None:
    line = UNCLEAR[name].__code__.co_firstlineno
    main = Program("main")
    with pytest.raises(TraceError, match=rf"test_unknown_extents\.py:{line}\)"):  # noqa: SIM117
        with flow.graph.building(main):
            UNCLEAR[name](flow.graph.data("x", (None, 6)))
    assert main.is_empty


def test_places_that_are_kept_for_unknown_extents() -> None:
    def double(x: Any) -> Any:
        return flow.concat([x, x])[293702:] + 1

    with pytest.raises(TraceError, match=r"\[getitem\] the place 293702 is kept .*extents.py:\d"):
        built(double, (None,))


def test_division_of_extents() -> None:
    with flow.graph.building(Program("main")):
        n = flow.graph.data("x", (None,)).shape[0]
        assert (6 * n // 3, 6 * n % 3, (4 * n + 3) // 2, (4 * n + 3) % 2) == (
            2 * n,
            0,
            2 * n + 1,
            1,
        )
        assert ((4 * n - 3) // -2, (4 * n - 3) % -2) == (-2 * n + 1, -1)
        for wrong in (lambda: n // 2, lambda: (3 * n) % 2, lambda: n // 0, lambda: n % 1.0):
            with pytest.raises(TraceError, match="needs its value"):
                wrong()


def test_a_slice_that_an_extent_is_too_small_for_is_refused_when_it_runs() -> None:
    main, (head, tail, fifth) = built(lambda x: (x[:4] + 1, x[3:] + 1, x[5] + 1), (None,))
    exe = Executor()
    long, short = np.arange(9, dtype=np.float32), np.arange(2, dtype=np.float32)
    assert exe.run(main, {"x0": long}, [head, fifth])[1].item() == 6
    for y in (head, tail, fifth):
        with pytest.raises(TraceError, match=r"\[view\].*test_unknown.*N0 is 2, .* at least \d"):
            exe.run(main, {"x0": short}, [y])
    main, y = built(lambda x: x + 1, (None,))
    with pytest.raises(
        TraceError, match=r"\[view\] .*extents.py:\d+\) cannot be made for other extents"
    ):
        exe.run(main, {"x0": short}, y[::2])
    with pytest.raises(TraceError, match=r"N0 is 2, and it needs at least 3"):
        exe.run(main, {"x0": short}, y[3:])
    main, (head, tail, fifth) = built(lambda x: (x[:4] + 1, x[3:] + 1, x[5] + 1), (None,))
    assert exe.run(main, {"x0": long}, [tail])[0].tolist() == [4, 5, 6, 7, 8, 9]


COMPOSED: dict[str, Callable[[Any], Any]] = {
    "a slice of a slice": lambda x: x[:-3][1:3] + 1,
    "an index of a slice": lambda x: x[:-3][1] + 1,
    "beneath a transpose": lambda x: x[:, None][:-3].T[..., 1:3] + 1,
    "what is written": lambda x: set_in(flow.copy(x)),
    "both ends": lambda x: x[2:-2][::-1][0:1] + 1,
}


def set_in(x: Any) -> Any:
    x[:-3][1:3] = 7
    return x * 1


@pytest.mark.parametrize("name", COMPOSED)
def test_slices_of_slices(name: str) -> None:
    """What the last numbers of a view do not show is known, too."""
    main, y = built(COMPOSED[name], (None,))
    exe = Executor()
    for size in range(1, 9):
        given = np.arange(size, dtype=np.float32)
        try:
            found = exe.run(main, {"x0": given}, y)
        except TraceError as error:
            assert size < 6
            assert "test_unknown_extents.py:" in str(error)  # noqa: PT017
            continue
        assert bits(found) == bits(COMPOSED[name](flow.tensor(given)))
    assert size == 8


def test_slices_of_another_memory_do_not_matter() -> None:
    main, (_, whole) = built(lambda x: ((x + 1)[:100] * 2, x[1:] * 2), (None,))
    assert Executor().run(main, {"x0": [1, 2, 3]}, whole).tolist() == [4, 6]


def test_a_slice_beyond_its_axis_is_refused_where_the_memory_goes_on() -> None:
    main, y = built(lambda x: x[:-1, :4] + 1, (None, "time"))
    exe = Executor()
    with pytest.raises(TraceError, match=r"time is 2, and it needs at least 4"):
        exe.run(main, {"x0": np.ones((3, 2), np.float32)}, y)
    assert exe.run(main, {"x0": np.ones((3, 4), np.float32)}, y).shape == (2, 4)


def test_shapes_that_are_too_big_to_be_recorded() -> None:
    with flow.graph.building(Program("main")):
        with pytest.raises(ValueError, match=r"\[data\] the shape \(N0, a, b, a\) .* too big"):
            flow.graph.data("x", (None, "a", "b", "a"))
        with pytest.raises(ValueError, match=r"\[data\] the shape \(4294967296, 4294967296\)"):
            flow.graph.data("x", (1 << 32, 1 << 32))
        x = flow.graph.data("x", (None, "a", "b"), "float32")
        with pytest.raises(ValueError, match="too big"):
            x[:, :, None] * x[:, None]


@pytest.mark.parametrize("number", sorted(STAND_INS))
def test_extents_that_stand_for_unknown_ones(number: int) -> None:
    with flow.graph.building(Program("main")):
        for declare in (flow.graph.data, flow.graph.parameter):
            with pytest.raises(ValueError, match=f"{number} is kept for unknown extents"):
                declare("x", (number, 2))
        flow.graph.data("x", (number + 1, 2))


@pytest.mark.slow
def test_a_huge_program() -> None:
    main, y = built(lambda x: [x := x + 1.0 for _ in range(3000)], (None,))
    assert Executor().run(main, {"x0": [1, 2]}, y[-1]).tolist() == [3001, 3002]


def test_memory_that_is_not_there() -> None:
    main, y = built(lambda x: flow.zeros((x.shape[0], 1000, 1000)).sum(), (None,))
    exe, feed = Executor("mock:0"), {"x0": np.ones(100, np.float32)}
    with flow.flags(memory_limit="100MB"), pytest.raises(flow.OutOfMemoryError, match="zeros|full"):
        exe.run(main, feed, y).item()
    assert exe.run(main, {"x0": [1]}, y).item() == 0


def test_types_that_do_not_scale_are_noticed() -> None:
    main, y = built(lambda x: flow.concat([x + 1, x]), (None,))
    function, declared = main.main, main.declared
    assert declared
    check_instances(function, declared)
    op = function.ops[-1]
    (value,) = op.results
    for wrong in (7, value.type.shape[0] + 1):
        other = Value(replace(value.type, shape=(wrong,)))
        ops = (*function.ops[:-1], replace(op, results=(other,)))
        with pytest.raises(
            TraceError, match=r"\[concat\].*test_unknown_extents.*(another type|at first)"
        ):
            check_instances(replace(function, ops=ops, results=()), declared)
    number = value.type.shape[0]
    declared.unknowns.handed[number] = y.shape[0] + 1  # what Python was told
    with pytest.raises(TraceError, match=r"an extent is \d+ where 2\*N0 \+ 1 was told"):
        check_instances(function, declared)


def test_extents_that_do_not_agree() -> None:
    main, (y, z) = built(lambda a, b: (a + b, a * 2), (None, 2), (None, 2))
    exe = Executor()
    a, b = np.ones((3, 2), np.float32), np.ones((4, 2), np.float32)
    with pytest.raises(ValueError, match=r"extent N0 is 3 in feed x0 and 4 in feed x1"):
        exe.run(main, {"x0": a, "x1": b}, [y])
    assert exe.run(main, {"x0": a, "x1": b}, [z])[0].shape == (3, 2)  # x1 is not needed


def test_an_extent_that_only_another_feed_has() -> None:
    main, y = built(lambda x: flow.ones((x.shape[0], 2)), (None,))
    with pytest.raises(ValueError, match="extent N0 is not known: feed one of x0"):
        Executor().run(main, fetch_list=[y])
    assert Executor().run(main, {"x0": [1, 2, 3]}, [y])[0].shape == (3, 2)


def test_training_with_other_sizes_is_eagers() -> None:
    main, startup = Program("main"), Program("startup")
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", (None, 1), "float32")
        w = flow.graph.parameter(
            "w", (1, 10), init=lambda s: flow.linspace(0, 1, 10).reshape(s), dtype="float32"
        )
        b = flow.graph.parameter("b", 10, dtype="float32")
        loss = step(x, w, b)
    exe, scope = Executor(), Scope()
    exe.run(startup, scope=scope)
    weights = [scope[name].astype("float32") + 0 for name in ("w", "b")]
    for size in (10, 1, 64, 3):
        given = np.random.default_rng(size).random((size, 1), dtype=np.float32)
        (found,) = exe.run(main, {"x": given}, [loss], scope=scope)
        assert bits(found) == bits(step(flow.tensor(given), *weights))
        assert [bits(scope[name]) for name in ("w", "b")] == [bits(x) for x in weights]


def step(x: Any, w: Any, b: Any) -> Any:
    hidden = x @ w + b
    gradient = flow.ones_like(hidden) / hidden.size
    loss = flow.mean(hidden)
    w -= 0.01 * (x.T @ gradient)
    b -= 0.01 * gradient.sum(axis=0)
    return loss
