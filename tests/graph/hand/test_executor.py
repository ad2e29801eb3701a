"""Executor: feeds, fetches and parameters; what is run, kept and refused."""

import threading
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, Scope

MODES: dict[str, dict[str, Any]] = {
    "inline": {"inline": "50us"},
    "issued": {"inline": "0"},
    "fused": {"inline": "0", "fusion": "always"},
    "naive": {"sync": True},
}
DEVICES = ["cpu", "mock:0"]


class Small:
    """x (2, 3) float32 and ids (2,) int64; w (3,) starts at 1 and grows by 1 a run."""

    def __init__(self) -> None:
        self.main, self.startup = Program("main"), Program("startup")
        with flow.graph.building(self.main, self.startup):
            self.x = flow.graph.data("x", (2, 3), "float32")
            self.ids = flow.graph.data("ids", 2, "int64")
            self.w = flow.graph.parameter("w", 3, init=1, dtype="float32")
            self.y = flow.graph.named("y", self.x * self.w)
            self.old = self.w * 1
            self.w += 1
            self.twice = self.ids * 2
            self.view = self.y[1:]
        self.scope = Scope()

    def run(self, exe: Executor, *args: Any, **kwargs: Any) -> Any:
        return exe.run(self.main, *args, **kwargs, scope=self.scope)


@pytest.fixture
def small() -> Small:
    return Small()


@pytest.fixture
def ready(small: Small) -> Small:
    Executor().run(small.startup, scope=small.scope)
    return small


X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("device", DEVICES)
def test_feeds_fetches_and_parameters(small: Small, device: str, mode: str) -> None:
    exe = Executor(device)
    with flow.flags(**MODES[mode]):
        assert exe.run(small.startup, scope=small.scope) == []
        for k in range(1, 4):
            y, w, old = small.run(exe, {"x": X}, ["y", small.w, small.old])
            assert (y.tolist(), w.tolist(), old.tolist()) == (
                (X * k).tolist(),
                [k + 1] * 3,
                [k] * 3,
            )
            assert {str(t.device) for t in (y, w, old, small.scope["w"])} == {device}
        assert small.scope["w"].tolist() == [4] * 3
        exe.run(small.startup, scope=small.scope)
        assert small.scope["w"].tolist() == [1] * 3


@pytest.mark.parametrize("release", ["plan", "fast", "event"])
@pytest.mark.parametrize("way", ["auto", "inline", "serial", "sequential", "naive"])
@pytest.mark.parametrize("device", DEVICES)
def test_ways_to_run(small: Small, device: str, way: str, release: str) -> None:
    exe = Executor(device, way, release)
    exe.run(small.startup, scope=small.scope)
    for k in range(1, 4):
        y, w = small.run(exe, {"x": X}, ["y", "w"])
        assert (y.tolist(), w.tolist()) == ((X * k).tolist(), [k + 1] * 3)
    (report,) = exe.report()["programs"][1:]
    wanted = Executor(device).compile(small.main, {"x": (2, 3)}, ["y", "w"]).report()
    assert report.keys() == wanted.keys()
    compiled = flow.graph.compile(small.main, {"x": (2, 3)}, "y", mode=way, release=release)
    if device == "cpu":
        assert compiled({"x": X}, small.scope).tolist() == (X * 4).tolist()


def test_ways_that_are_none() -> None:
    for mode, release in (("fast", "plan"), ("auto", "never")):
        with pytest.raises(ValueError, match="fast|never"):
            Executor(None, mode, release)
    main = Program("main")
    with flow.graph.building(main):
        flow.graph.data("x", 2)
    with pytest.raises(ValueError, match="addto, opt_level and cuda_graph are those of"):
        flow.graph.compile(main, executor=Executor(), mode="naive")


def test_fetches_are_trees(ready: Small) -> None:
    exe = Executor()
    feed = {"x": X}
    tree = small_tree = {"a": [ready.y, "w"], "b": (ready.view, None)}
    found = ready.run(exe, feed, tree)
    assert small_tree is tree
    assert found["a"][0].tolist() == X.tolist()
    assert found["b"][0].tolist() == X[1:].tolist()
    assert found["b"][1] is None
    assert ready.run(exe, feed, ready.y).tolist() == (X * 2).tolist()
    assert ready.run(exe, feed, "x").tolist() == X.tolist()
    assert ready.run(exe, feed, ready.y.T[::2]).tolist() == (X * 4).T[::2].tolist()


def test_each_fetch_is_a_tensor_of_its_own(ready: Small) -> None:
    x = flow.tensor(X)
    fetches = [ready.y, ready.y, ready.view, "w", ready.w, ready.x, "x"]
    found = ready.run(Executor(), {"x": x}, fetches)
    for one in found:
        one *= 0
    assert ready.scope["w"].tolist() == [2] * 3
    assert x.tolist() == X.tolist()
    again = ready.run(Executor(), {"x": x}, fetches)
    one, *others = again
    before = [other.tolist() for other in others]
    one += 100
    assert [other.tolist() for other in others] == before


def test_feeds_are_never_written() -> None:
    main = Program("main")
    with flow.graph.building(main):
        x = flow.graph.data("x", 3)
        x += 1
        x[0] = 7
    given = flow.ones(3)
    assert Executor().run(main, {"x": given}, [x])[0].tolist() == [7, 2, 2]
    assert given.tolist() == [1] * 3


def test_a_feed_that_is_a_parameter_is_a_snapshot(ready: Small) -> None:
    w = ready.scope["w"]
    main = Program("other")
    with flow.graph.building(main):
        v = flow.graph.parameter("w", 3, dtype="float32")
        given = flow.graph.data("given", 3, "float32")
        v *= 0
        y = v + given
    assert Executor().run(main, {"given": w}, [y], ready.scope)[0].tolist() == [1] * 3


def test_only_what_is_needed_runs(ready: Small) -> None:
    exe = Executor()
    compiled = exe.compile(ready.main, {}, [ready.old])
    assert [op.name for op in compiled.function.ops] == ["multiply", "add"]
    assert ready.run(exe, {}, [ready.old])[0].tolist() == [1] * 3  # x is not needed
    assert ready.run(exe, {"ids": [1, 2]}, ["ids"])[0].tolist() == [1, 2]
    assert ready.scope["w"].tolist() == [3] * 3  # each run writes parameters


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"ids": [1, 2]}, r"\[main\] the feed x \(.*test_executor.py:\d+\) is needed, and not"),
        ({"X": X}, r"\[main\] has no feed 'X'.*there are: x, ids"),
        ({"x": X, "idz": 1}, "has no feed 'idz'; did you mean ids"),
        ({"x": X[0]}, r"feed x is of shape \(3,\), expected float32 of shape \(2, 3\) \(.*:\d+\)"),
        ({"x": X.T}, r"feed x is of shape \(3, 2\), expected"),
        ({"x": X.astype("float64")}, "feed x is of dtype float64, expected float32"),
        ({"x": flow.tensor(X).astype("int64")}, "feed x is of dtype int64, expected float32"),
        ({"x": [[1, 2, 3], [4, 5]]}, "feed x is no array .*, expected float32"),
        ({"x": [["a"] * 3] * 2}, "feed x is of dtype <U1, expected float32"),
        ({"x": [[1j] * 3] * 2}, "feed x is of dtype complex128, expected float32"),
        ({"x": X, "ids": [1.5, 2]}, "feed ids is of dtype float64, expected int64"),
        ({"x": None}, "feed x is of dtype object, expected"),
        ({"x": 1.0}, r"feed x is of shape \(\), expected"),
    ],
)
def test_wrong_feeds(ready: Small, given: dict[str, Any], text: str) -> None:
    exe = Executor()
    with pytest.raises(ValueError, match=text):
        ready.run(exe, given, [ready.y])
    assert ready.scope["w"].tolist() == [1] * 3  # nothing has run
    assert ready.run(exe, {"x": X}, [ready.y])[0].tolist() == X.tolist()


def test_feeds_of_all_kinds(ready: Small) -> None:
    exe = Executor()
    kinds: list[Any] = [
        X,
        X.tolist(),
        tuple(map(tuple, X.astype(int).tolist())),
        flow.tensor(X),
        flow.tensor(X, device="mock:1"),
        flow.tensor(np.ascontiguousarray(X.T)).T,
        np.asfortranarray(X),
    ]
    for k, x in enumerate(kinds, 1):
        assert ready.run(exe, {"x": x}, [ready.y])[0].tolist() == (X * k).tolist()
    assert exe.report()["compiled"] == 1


def test_wrong_arguments(ready: Small) -> None:
    exe = Executor()
    with pytest.raises(TypeError, match="feed: expected a dict of names, got list"):
        ready.run(exe, [X], [ready.y])
    with pytest.raises(TypeError, match=r"\[run\] program: expected a Program, got str"):
        exe.run("main")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"\[run\] scope: expected a Scope, got dict"):
        exe.run(ready.main, {"x": X}, scope={})  # type: ignore[arg-type]
    traced = flow.graph.trace(lambda x: x + 1, flow.ones(2)).program
    with pytest.raises(ValueError, match=r"was not built by hand: run it by flow\.graph\.compile"):
        exe.run(traced)
    with pytest.raises(ValueError, match=r"\[compile\] feed and fetch_list are for programs"):
        flow.graph.compile(traced, {})
    with pytest.raises(TypeError, match=r"\[compile\] program"):
        exe.compile(None)  # type: ignore[arg-type]


def test_wrong_fetches(ready: Small) -> None:
    exe, other = Executor(), Small()
    feed = {"x": X}
    for wrong in (other.y, flow.ones(2)):
        with pytest.raises(ValueError, match=r"fetch_list\[1\] is a tensor of another program"):
            ready.run(exe, feed, [ready.y, wrong])
    with pytest.raises(ValueError, match=r"fetch_list\['a'\]: there is no 'yy'.*did you mean y\?"):
        ready.run(exe, feed, {"a": "yy"})
    with pytest.raises(TypeError, match=r"fetch_list\[0\]: expected a tensor or a name, got int"):
        ready.run(exe, feed, [3])
    assert ready.scope["w"].tolist() == [1] * 3


def test_a_parameter_without_a_value(small: Small) -> None:
    exe = Executor()
    for scope in (small.scope, None):
        with pytest.raises(RuntimeError, match=r"parameter w \(.*:\d+\) has no value.*startup"):
            exe.run(small.main, {"x": X}, [small.y], scope)
    small.scope["w"] = flow.ones(2)
    with pytest.raises(ValueError, match=r"parameter w .* is f64\[2\] cpu in the scope, expected"):
        small.run(exe, {"x": X}, [small.y])
    small.scope["w"] = flow.ones(3, dtype="float32", device="mock:0")
    with pytest.raises(ValueError, match=r"f32\[3\] mock:0 in the scope, expected f32\[3\] cpu"):
        small.run(exe, {"x": X}, [small.y])
    exe.run(small.startup, scope=small.scope)  # takes its place
    assert small.run(exe, {"x": X}, [small.y])[0].tolist() == X.tolist()


@pytest.mark.parametrize("device", ["cuda:7", "gpu", "mock:99"])
def test_a_device_that_is_not_there(device: str) -> None:
    with pytest.raises(ValueError, match=device.split(":")[0]):
        Executor(device)


@pytest.mark.parametrize("place", [None, "cpu", "mock:1"])
def test_a_feed_with_a_device_of_its_own(place: str | None) -> None:
    main = Program("main")
    with flow.graph.building(main):
        x, y = flow.graph.data("x", 2), flow.graph.data("y", 2, device="mock:0")
        z, w = x + 1, y * 2
    for given in ([1, 2], flow.tensor([1.0, 2.0]), flow.tensor([1.0, 2.0], device="mock:0")):
        found = Executor(place).run(main, {"x": given, "y": given}, [z, w, y])
        assert [t.tolist() for t in found] == [[2, 3], [2, 4], [1, 2]]
        assert [str(t.device) for t in found] == [place or "cpu", "mock:0", "mock:0"]


def test_the_device_of_the_block_and_that_of_the_executor() -> None:
    main = Program("main")
    with flow.device("mock:0"), flow.graph.building(main):
        x = flow.graph.data("x", 2)
        y = x + flow.zeros(2) + flow.tensor([1.0, 2.0])
        far = y.to_device("mock:1")
    for device, place in ((None, "mock:0"), ("cpu", "cpu"), ("mock:0", "mock:0")):
        found = Executor(device).run(main, {"x": [1, 2]}, [y, far])
        assert [str(t.device) for t in found] == [place, "mock:1"]
        assert found[0].tolist() == [2, 4]


def test_captured_tensors_come_to_the_executors_device() -> None:
    table, main = flow.tensor([1.0, 2.0]), Program("main")
    with flow.graph.building(main):
        y = flow.graph.data("x", 2) * table
    (found,) = Executor("mock:0").run(main, {"x": [3, 4]}, [y])
    assert (str(found.device), found.tolist()) == ("mock:0", [3, 8])
    main = Program("writes")
    with flow.graph.building(main):
        table += flow.graph.data("x", 2)
    with pytest.raises(flow.graph.TraceError, match="writes to a captured tensor on cpu"):
        Executor("mock:0").run(main, {"x": [3, 4]})
    Executor("cpu").run(main, {"x": [3, 4]})
    assert table.tolist() == [4, 6]


def test_the_key_has_feeds_as_a_set_and_fetches_in_order(ready: Small) -> None:
    exe = Executor()
    for feed in ({"x": X, "ids": [1, 2]}, {"ids": [1, 2], "x": X}):
        y, twice = ready.run(exe, feed, ["y", ready.twice])
        assert y.shape == (2, 3)
        assert twice.tolist() == [2, 4]
    assert exe.report()["compiled"] == 1
    twice, y = ready.run(exe, feed, [ready.twice, "y"])
    assert (twice.tolist(), y.shape) == ([2, 4], (2, 3))
    assert exe.report()["compiled"] == 2
    assert ready.run(exe, {"x": X}, ["y"])[0].shape == (2, 3)
    assert exe.report()["compiled"] == 3


def test_programs_with_equal_text_are_not_mixed_up() -> None:
    programs = []
    for name in ("a", "b"):
        main = Program("main")
        with flow.graph.building(main):
            flow.graph.named(f"more {name}", flow.graph.data(name, 2) + 1)
        programs.append(main)
    assert programs[0] == programs[1]
    exe = Executor()
    for main, name in zip(programs, "ab", strict=True):
        assert exe.run(main, {name: [1, 2]}, [f"more {name}"])[0].tolist() == [2, 3]


def test_the_cache_is_bounded() -> None:
    main = Program("main")
    with flow.graph.building(main):
        y = flow.graph.data("x", None) * 2
    exe = Executor()
    for n in range(20):
        assert exe.run(main, {"x": np.ones(n)}, [y])[0].shape == (n,)
    assert len(exe.report()["programs"]) == 8
    assert exe.report()["compiled"] == 20
    exe.run(main, {"x": np.ones(19)}, [y])
    exe.run(main, {"x": np.ones(12)}, [y])  # the oldest
    assert exe.report()["compiled"] == 20
    exe.run(main, {"x": np.ones(11)}, [y])  # gone by then
    assert exe.report()["compiled"] == 21
    exe.run(main, {"x": np.ones(12)}, [y])  # it was used after 13
    assert exe.report()["compiled"] == 21
    exe.clear()
    assert exe.report()["programs"] == []


def test_compiled_ahead(ready: Small) -> None:
    exe = Executor()
    run = flow.graph.compile(ready.main, {"x": (2, 3)}, {"y": ready.y}, executor=exe)
    assert run({"x": X}, ready.scope)["y"].tolist() == X.tolist()
    ready.run(exe, {"x": X}, {"y": ready.y})
    assert exe.report()["compiled"] == 1
    for given in (X, flow.tensor(X), flow.graph.spec((2, 3), "float32")):
        flow.graph.compile(ready.main, {"x": given}, [ready.y])
    with pytest.raises(ValueError, match="feed x is of dtype float64"):
        flow.graph.compile(ready.main, {"x": flow.graph.spec((2, 3))}, [ready.y])
    with pytest.raises(ValueError, match="the feed x .* is needed, and not given"):
        run({}, ready.scope)
    with pytest.raises(ValueError, match=r"feed x is of shape \(2, 4\)"):
        flow.graph.compile(ready.main, {"x": (2, 4)}, [ready.y])


def test_compiled_for_another_size() -> None:
    main = Program("main")
    with flow.graph.building(main):
        y = flow.graph.data("x", None) * 2
    run = flow.graph.compile(main, {"x": 3}, [y])
    with pytest.raises(ValueError, match=r"feed x is of shape \(4,\), compiled for \(3,\)"):
        run({"x": [1, 2, 3, 4]})
    assert run({"x": [1, 2, 3]})[0].tolist() == [2, 4, 6]


def test_zero_size_and_0d() -> None:
    main = Program("main")
    with flow.graph.building(main):
        none = flow.graph.data("none", (0, 3))
        one = flow.graph.data("one", ())
        fetched = [none * one, none.sum(axis=0), one + 1]
    a, b, c = Executor().run(main, {"none": np.ones((0, 3)), "one": 2}, fetched)
    assert (a.shape, b.tolist(), c.item()) == ((0, 3), [0, 0, 0], 3)


@pytest.mark.parametrize("mode", MODES)
def test_a_failure_reaches_what_depends_on_it(mode: str) -> None:
    main, startup = Program("main"), Program("startup")
    with flow.graph.building(main, startup):
        a = flow.graph.data("a", (2, 2))
        w = flow.graph.parameter("w", 2, init=1)
        inverse, twice = flow.linalg.inv(a), a * 2
        w += 1
    exe, scope = Executor(), Scope()
    with flow.flags(**MODES[mode]):
        exe.run(startup, scope=scope)
        bad, good = exe.run(main, {"a": np.zeros((2, 2))}, [inverse, twice], scope)
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            bad.numpy()
        assert good.tolist() == [[0, 0], [0, 0]]
        assert scope["w"].tolist() == [2, 2]
        good, _ = exe.run(main, {"a": np.eye(2)}, [inverse, twice], scope)
        assert good.tolist() == np.eye(2).tolist()


def test_threads_share_an_executor(ready: Small) -> None:
    main = Program("main")
    with flow.graph.building(main):
        y = flow.graph.data("x", None) * 2 + 1
    exe = Executor()
    wrong: list[Any] = []

    def work(seed: int) -> None:
        for n in range(1, 40):
            given = np.full(n % 5 + 1, seed, np.float64)
            (found,) = exe.run(main, {"x": given}, [y])
            if found.tolist() != (given * 2 + 1).tolist():
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert exe.report()["compiled"] == 5
