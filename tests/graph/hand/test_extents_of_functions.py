"""Functions whose Python asks for extents have eager's bits along unknown ones, or refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, TraceError

DEVICES = ["cpu", "mock:0"]
SIZES = (0, 1, 2, 3, 5, 8, 40)

# The function of x of shape (N0, 6), and the smallest N0 that a run takes.
MADE: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linspace": (lambda x: flow.linspace(-1, 0.7, x.shape[0]), 0),
    "linspace, open": (lambda x: flow.linspace(3, 0.1, x.shape[0], endpoint=False), 0),
    "linspace, no way": (lambda x: flow.linspace(2, 2, 2 * x.shape[0] + 1, dtype="float32"), 0),
    "linspace, tiny": (lambda x: flow.linspace(0, 5e-324, x.shape[0]), 0),
    "pad, edge": (lambda x: flow.pad(x, ((2, 1), (0, 0)), mode="edge"), 1),
    "pad, reflect": (lambda x: flow.pad(x, ((2, 1), (1, 2)), mode="reflect"), 3),
    "pad, symmetric": (lambda x: flow.pad(x, ((1, 2), (0, 0)), mode="symmetric"), 2),
    "pad, wrap": (lambda x: flow.pad(x, ((2, 0), (3, 1)), mode="wrap"), 2),
    **{
        f"pad, {mode} and odd": (
            lambda x, mode=mode: flow.pad(x, ((0, 0), (1, 3)), mode=mode, reflect_type="odd"),
            0,
        )
        for mode in ("reflect", "symmetric")
    },
    "take_along_axis": (
        lambda x: flow.take_along_axis(x, flow.argsort(x, axis=0), axis=0),
        0,
    ),
    "take_along_axis, known": (
        lambda x: flow.take_along_axis(x, flow.argsort(x, axis=1), axis=1),
        0,
    ),
    "histogram": (lambda x: flow.histogram(x, bins=5, range=(-1, 1.5))[0], 0),
    "insert": (lambda x: flow.insert(x, 2, 9.0, axis=0), 2),
    "insert, at the end": (lambda x: flow.insert(x, -1, 9.0, axis=0), 1),
    "insert, a row": (lambda x: flow.insert(x, 1, x[0], axis=0), 1),
    "insert, known": (lambda x: flow.insert(x, 1, 9.0, axis=1), 0),
    "delete": (lambda x: flow.delete(x, 1, axis=0), 2),
    "delete, the last": (lambda x: flow.delete(x, -1, axis=0), 1),
    "roll": (lambda x: flow.roll(x, 2, axis=0), 2),
    "tile": (lambda x: flow.tile(x, (2, 1)), 0),
    "tile, known": (lambda x: flow.tile(x, (1, 2)), 0),
    "repeat": (lambda x: flow.repeat(x, 2, axis=0), 0),
    "roll, back": (lambda x: flow.roll(x, (-1, 8), axis=(0, 1)), 1),
    "roll, known": (lambda x: flow.roll(x, -4, axis=1), 0),
    "roll, flat": (lambda x: flow.roll(x, 7), 2),
    "tril": (flow.tril, 0),
    "tril, below": (lambda x: flow.tril(x, k=-2), 0),
    "triu": (lambda x: flow.triu(x, k=1), 0),
    "triu, square": (lambda x: flow.triu(x @ x.T, k=-1), 0),
    "tri": (lambda x: flow.tri(x.shape[0], 4, k=1), 0),
    "median": (lambda x: flow.median(x, axis=0), 1),
    "median, flat": (flow.median, 1),
    "median, of pairs": (lambda x: flow.median(flow.reshape(x, (-1, 2, 3)), axis=(0, 1)), 1),
    "median, known": (lambda x: flow.median(x, axis=1, keepdims=True), 0),
    "quantile": (lambda x: flow.quantile(x, 0.3, axis=0, keepdims=True), 1),
    "quantile, flat": (lambda x: flow.quantile(x, [0.9, 0, 1], keepdims=True), 1),
    "quantile, of ends": (lambda x: flow.quantile(x, [[1], [0]], axis=0), 1),
    "quantile, tensor": (lambda x: flow.quantile(x, flow.tensor([0.5, 1.0]), axis=0), 1),
    "percentile": (lambda x: flow.percentile(x, np.float32(70), axis=0), 1),
}

# Statistics of x of shape (N0, 6), which count along the unknown extent.
MIDDLES: dict[str, Callable[[Any], Any]] = {
    "median": lambda x: flow.median(x, axis=0),
    "nanmedian": lambda x: flow.nanmedian(x, axis=0, keepdims=True),
    "nanmedian, flat": flow.nanmedian,
    "quantile": lambda x: flow.quantile(x, [0.3, 0.75, 1], axis=0),
    "percentile": lambda x: flow.percentile(x, np.float32([12, 50]), axis=0),
    "nanquantile": lambda x: flow.nanquantile(x, [0.3, 1], axis=0),
    "nanpercentile": lambda x: flow.nanpercentile(x, 41.5),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "histogram": lambda x: flow.histogram(x, bins=5),
    "linspace": lambda x: flow.linspace(0, 9, x.shape[0], dtype="int64"),
    "delete": lambda x: flow.delete(x, [0, 2], axis=0),
    "insert": lambda x: flow.insert(x, [0, 2], 9.0, axis=0),
    "eye": lambda x: flow.eye(x.shape[0]),
}


def built(f: Callable[[Any], Any]) -> tuple[Program, Any]:
    main = Program("main")
    with flow.graph.building(main):
        y = f(flow.graph.data("x", (None, 6)))
    return main, y


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MADE)
def test_it_has_the_bits_of_eager(name: str, device: str) -> None:
    f, least = MADE[name]
    with flow.device(device):
        main, y = built(f)
    exe, rng = Executor(device), np.random.default_rng(1)
    for n in SIZES:
        x = rng.normal(size=(n, 6))
        if n < least:  # eager's answer has another form there
            with pytest.raises(
                TraceError, match=r"py:\d+\) cannot be made .*N0.* is -?\d+, .* at least \d"
            ):
                exe.run(main, {"x": x}, y)
            continue
        with flow.device(device):
            wanted = f(flow.tensor(x)).numpy()
        found = exe.run(main, {"x": x}, y).numpy()
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_its_line(name: str) -> None:
    line = REFUSED[name].__code__.co_firstlineno
    with pytest.raises(TraceError, match=rf"\[{name}\].*unknown extent.*functions\.py:{line}\)"):
        built(REFUSED[name])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("name", MIDDLES)
def test_middles_of_zeros_infinities_and_nan_have_the_bits_of_eager(name: str, dtype: str) -> None:
    f, main = MIDDLES[name], Program("main")
    with flow.graph.building(main):
        y = f(flow.graph.data("x", (None, 6), dtype))
    exe, rng = Executor(), np.random.default_rng(2)
    for n in (1, 2, 3, 4, 7, 40, 301):
        x = rng.choice([0.0, -0.0, 1.5, -2.0, 7.0, np.inf, np.nan], (n, 6), p=[0.2] * 3 + [0.1] * 4)
        x[:, :3] = np.where(np.isfinite(x[:, :3]), x[:, :3], 3.0)  # and lanes without
        if dtype in ("int32", "uint8"):
            x = rng.integers(0, 200, (n, 6))
        x = x.astype(dtype)
        wanted, found = f(flow.tensor(x)).numpy(), exe.run(main, {"x": x}, y).numpy()
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        assert found.tobytes() == wanted.tobytes()
    if "nan" in name or dtype in ("int32", "uint8"):
        with pytest.raises(IndexError, match=r"expected places within 0 elements"):
            exe.run(main, {"x": np.zeros((0, 6), dtype)}, y).numpy()


def test_a_median_makes_no_infinity_on_the_way() -> None:
    """One element has no neighbour that it is added to."""
    main, y = built(lambda x: flow.median(x, axis=0))
    x = np.full((3, 6), np.finfo(np.float64).max)
    with flow.flags(check_nan_inf=True):
        assert Executor().run(main, {"x": x}, y).tolist() == x[0].tolist()


def test_an_index_that_is_outside_of_the_fed_extent() -> None:
    main, y = built(lambda x: flow.take_along_axis(x, flow.full((1, 6), 4), axis=0))
    assert Executor().run(main, {"x": np.ones((5, 6))}, y).tolist() == [[1.0] * 6]
    for n in (0, 4):
        with pytest.raises(IndexError):
            Executor().run(main, {"x": np.ones((n, 6))}, y).numpy()


def test_linspace_makes_no_infinity_on_the_way() -> None:
    """One number has no step: no check of results may find a division by zero."""
    main, startup = Program("main"), Program("startup")
    with flow.graph.building(main, startup):
        spaced = flow.linspace(3, 5, flow.graph.data("x", (None,)).shape[0])
    executor = Executor()
    with flow.flags(check_nan_inf=True):
        for size in (0, 1, 2):
            (found,) = executor.run(main, {"x": np.zeros(size)}, [spaced])
            assert found.tolist() == np.linspace(3, 5, size).tolist()


@pytest.mark.parametrize("is_turned", [False, True], ids=["by rows", "turned"])
def test_results_lie_as_eagers(is_turned: bool) -> None:
    calls: list[Callable[[flow.Tensor], flow.Tensor]] = [
        lambda v: flow.zeros_like(v) + v,
        lambda v: flow.full_like(v, 3.0),
        lambda v: flow.sort(v, axis=0),
        lambda v: flow.partition(v, 1, axis=0),
        lambda v: flow.cumsum(v, axis=1),
        lambda v: flow.maximum.accumulate(v, axis=0),
        lambda v: flow.roll(v, 1, axis=1),
        lambda v: flow.concat([v, v], axis=1),
        lambda v: flow.pad(v, 1, mode="edge"),
        lambda v: v[:, flow.tensor([0, 1])],
        lambda v: flow.sum(v[None], axis=0),
    ]
    for call in calls:
        program = flow.graph.Program("main")
        with flow.graph.building(program):
            x = flow.graph.data("x", (None, 4))
            flow.graph.named("y", call(x.T if is_turned else x))
        for rows in (3, 7):
            given = np.random.default_rng(rows).random((rows, 4))
            (seen,) = flow.graph.Executor().run(program, {"x": given}, ["y"])
            x = flow.tensor(given)
            expected = call(x.T if is_turned else x)
            assert seen.strides == expected.strides
            np.testing.assert_array_equal(seen.numpy(), expected.numpy())


@pytest.mark.parametrize(
    "key", [True, (True, ...), (None, True, None), np.True_, (slice(1, None), False)], ids=str
)
def test_keys_with_truths_are_refused(key: Any) -> None:
    with pytest.raises(TraceError, match=r"\[getitem\] .*cannot be made for other extents"):
        built(lambda x: x[key])


def test_keys_of_numpys_integers_ask_for_as_much_as_pythons() -> None:
    main, y = built(lambda x: x[np.int64(3)] + x[np.int64(2) :][0])
    assert Executor().run(main, {"x": np.ones((4, 6))}, y).tolist() == [2.0] * 6
    with pytest.raises(TraceError, match=r"N0.* is 3, .* at least 4"):
        Executor().run(main, {"x": np.ones((3, 6))}, y)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "steps": lambda x: x[::2],
    "of a view": lambda x: x[1:, ::2][:, 0][::2],
    "of what is written to": lambda x: flow.add(x, 1, out=x)[None, ..., ::-2, 1],
    "diagonal": flow.diagonal,
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_that_are_only_fetched(name: str) -> None:
    view, main = VIEWS[name], Program("main")
    with flow.graph.building(main):
        y = view(flow.graph.data("x", (None, 3)))
    line = "functions.py:" + str(test_views_that_are_only_fetched.__code__.co_firstlineno + 10)
    op = "fetch" if view is flow.diagonal else "view"
    if op == "view":  # the line that made it
        line = f"functions.py:{view.__code__.co_firstlineno}"
    with pytest.raises(TraceError, match=rf"\[{op}\] \(.*{line}\) cannot be made for other ext"):
        Executor().run(main, {"x": flow.ones((4, 3))}, [y])
    with pytest.raises(TraceError, match=r"\[view\] \(.*\) cannot be made"):  # noqa: SIM117
        with flow.graph.building(Program("main")):
            flow.graph.named("y", view(flow.graph.data("x", (None, 3))))


FED_NOTHING = """
import oneflow_lite as flow

def put(x, k):
    y = x * 1
    y[k] = 7.0
    return y

for mode in ("raise", "wrap", "clip", "put"):
    main = flow.graph.Program("main")
    with flow.graph.building(main):
        x, k = flow.graph.data("x", (None, 3)), flow.graph.data("k", ("m",), "int64")
        y = put(x, k) if mode == "put" else flow.take(x, k, axis=0, mode=mode)
    run = flow.graph.Executor().run
    try:
        run(main, {"x": flow.ones((0, 3)), "k": [1, 2]}, [y])[0].numpy()
    except flow.graph.TraceError as error:
        print("axis 0 has no elements to index" in str(error))
    no_places = flow.zeros(0, dtype="int64")
    print(run(main, {"x": flow.ones((0, 3)), "k": no_places}, [y])[0].shape)
    print(run(main, {"x": flow.ones((2, 3)), "k": [1, 1]}, [y])[0].shape)
"""


def test_indices_along_an_axis_that_is_fed_no_elements(run_program: Callable[..., Any]) -> None:
    done = run_program(FED_NOTHING)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split("\n") == ["True", "(0, 3)", "(2, 3)"] * 4 + [""]
