"""Blocks that build programs: what they write down, and what they refuse."""

import threading
from typing import Any

import numpy as np
import pytest

import oneflow_lite as flow
from oneflow_lite.graph import Executor, Program, Scope, TraceError


def two() -> tuple[Program, Program]:
    return Program("main"), Program("startup")


def test_nothing_is_computed_and_programs_are_text() -> None:
    main, startup = two()
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", (2, 3), "float32")
        w = flow.graph.parameter("w", (3, 2), init=0.5, dtype="float32")
        y = flow.graph.named("y", flow.tanh(x @ w))
        w += 1
    assert [op.name for op in main.main.ops] == ["matmul", "tanh", "add"]
    assert [op.name for op in startup.main.ops] == ["full"]
    assert all("test_building.py" in op.site[0] for op in main.main.ops if op.site)
    for program in (main, startup):
        program.verify()
        again = Program.parse(str(program))
        assert again == program
        assert again.digest == program.digest
        assert hash(again) == hash(program)
    assert main != startup
    with pytest.raises(TraceError, match="no value"):
        y.numpy()
    with pytest.raises(AttributeError, match="immutable"):
        main.name = "other"  # type: ignore[misc]


def test_an_empty_program() -> None:
    main = Program("nothing")
    assert main.is_empty
    before = main.digest
    assert Program.parse(str(main)) == main
    assert Executor().run(main) == []
    assert Executor().run(main, {}, {}) == {}
    with flow.graph.building(main):
        pass
    assert not main.is_empty
    assert (Executor().run(main), main.digest) == ([], before)
    with pytest.raises(ValueError, match=r"\[nothing\] has no feed 'x' \(there are: none\)"):
        Executor().run(main, {"x": 1})


def test_the_digest_is_that_of_what_fills_a_program() -> None:
    main = Program("main")
    before = main.digest
    with flow.graph.building(main):
        flow.graph.data("x", 2) + 1
    assert main.digest != before
    assert main.digest == Program.parse(str(main)).digest


def test_a_program_is_filled_once() -> None:
    main, startup = two()
    with flow.graph.building(main, startup):
        x = flow.graph.data("x", 2)
    with (
        pytest.raises(ValueError, match=r"\[building\] main: main is built already"),
        flow.graph.building(main),
    ):
        pass
    with (
        pytest.raises(ValueError, match=r"\[building\] startup: startup is built already"),
        flow.graph.building(Program("other"), startup),
    ):
        pass
    with (
        pytest.raises(ValueError, match="one program"),
        flow.graph.building(other := Program("other"), other),
    ):
        pass
    with (
        pytest.raises(TypeError, match=r"\[building\] main: expected a Program, got str"),
        flow.graph.building("main"),
    ):  # type: ignore[arg-type]
        pass
    assert Executor().run(main, {"x": [1, 2]}, [x])[0].tolist() == [1, 2]


def test_a_block_that_raises_leaves_both_empty() -> None:
    main, startup = two()
    for _ in range(2):
        with pytest.raises(KeyError), flow.graph.building(main, startup):
            flow.graph.parameter("w", 2) + flow.graph.data("x", 2)
            raise KeyError
        assert main.is_empty
        assert startup.is_empty
        assert (flow.ones(2) + 1).tolist() == [2, 2]  # the thread does not record
    with flow.graph.building(main, startup):
        y = flow.graph.data("x", 2) + 1
    assert Executor().run(main, {"x": [1, 2]}, [y])[0].tolist() == [2, 3]


def test_blocks_are_of_their_thread_and_not_in_each_other() -> None:
    main, startup = two()
    seen = []

    def elsewhere() -> None:
        try:
            flow.graph.data("x", 2)
        except TraceError as error:
            seen.append(str(error))
        seen.append((flow.ones(2) * 2).tolist())

    with flow.graph.building(main, startup):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with pytest.raises(TraceError, match="records already"):  # noqa: SIM117
            with flow.graph.building(Program("inner")):
                pass
        with pytest.raises(TraceError, match="records already"):
            flow.graph.trace(lambda: 1)
    assert seen[0].startswith("[data] is for blocks of flow.graph.building")
    assert seen[1] == [2, 2]


@pytest.mark.parametrize("name", ["data", "parameter"])
def test_names_stand_once(name: str) -> None:
    declare: Any = getattr(flow.graph, name)
    with flow.graph.building(Program("main")):
        flow.graph.data("x", 2)
        flow.graph.parameter("w", 2)
        for known in ("x", "w"):
            with pytest.raises(ValueError, match=rf"\[{name}\] main has the name {known} already"):
                declare(known, 2)
        for wrong in (3, "", None):
            with pytest.raises(TypeError, match=rf"\[{name}\] name: expected a string"):
                declare(wrong, 2)


@pytest.mark.parametrize("shape", [-1, (2, -1), (2.5,), ((1, 2),), ("no name",)])
def test_shapes_of_data(shape: Any) -> None:
    with flow.graph.building(Program("main")):
        with pytest.raises(ValueError, match=r"\[data\] x: expected an extent, a name, or None at"):
            flow.graph.data("x", shape)
        flow.graph.data("x", 3)


def test_too_many_unknown_extents() -> None:
    with flow.graph.building(Program("main")):
        with pytest.raises(ValueError, match="at most 3 unknown extents, got d besides a, b, c"):
            flow.graph.data("x", ("a", "b", "c", "d"))
        flow.graph.data("y", ("a", "b"))


def test_initializers() -> None:
    main, startup = two()
    table = flow.tensor([[1.0, 2.0], [3.0, 4.0]])
    inits: dict[str, Any] = {
        "number": 3,
        "list": [[1, 2], [3, 4]],
        "array": np.arange(4).reshape(2, 2),
        "function": lambda s: flow.arange(4).reshape(s) * 2,
        "turned": lambda s: flow.arange(4).reshape(s).T,
        "broadcast": lambda s: flow.broadcast_to(flow.arange(2), s),
        "captured": lambda s: table,
        "captured view": lambda s: table.T,
    }
    with flow.graph.building(main, startup):
        for name, init in inits.items():
            w = flow.graph.parameter(name, (2, 2), init, "float32")
            w += 1
        with pytest.raises(ValueError, match=r"\[parameter\] wrong: expected init to return shape"):
            flow.graph.parameter("wrong", (2, 2), lambda s: flow.zeros(3))
        with pytest.raises(ValueError, match=r"\[parameter\] wrong: expected known extents"):
            flow.graph.parameter("wrong", (None, 2))  # type: ignore[arg-type]
    startup.verify()
    scope = Scope()
    Executor().run(startup, scope=scope)
    assert {name: scope[name].tolist() for name in scope} == {
        "number": [[3, 3], [3, 3]],
        "list": [[1, 2], [3, 4]],
        "array": [[0, 1], [2, 3]],
        "function": [[0, 2], [4, 6]],
        "turned": [[0, 2], [1, 3]],
        "broadcast": [[0, 1], [0, 1]],
        "captured": [[1, 2], [3, 4]],
        "captured view": [[1, 3], [2, 4]],
    }
    Executor().run(main, scope=scope)
    assert scope["captured"].tolist() == [[2, 3], [4, 5]]
    assert table.tolist() == [[1, 2], [3, 4]]
    assert all(x.dtype == np.float32 for x in scope.values())


def test_captured_tensors_are_read_and_written_at_each_run() -> None:
    total, main = flow.zeros(2), Program("main")
    with flow.graph.building(main):
        total += flow.graph.data("x", 2)
        y = total * 2
    exe = Executor()
    assert total.tolist() == [0, 0]
    for i in range(1, 4):
        assert exe.run(main, {"x": [1, 2]}, [y])[0].tolist() == [2 * i, 4 * i]
    assert total.tolist() == [3, 6]


def test_looks_are_refused() -> None:
    main = Program("main")
    with pytest.raises(TraceError, match=r"test_building.py"), flow.graph.building(main):
        float(flow.graph.data("x", ()))
    assert main.is_empty


def test_two_programs_share_parameters() -> None:
    main, startup = two()
    test = Program("test")
    with flow.graph.building(main, startup):
        w = flow.graph.parameter("w", 2, init=[1, 2])
        w *= flow.graph.data("x", 2)
    with flow.graph.building(test):
        score = flow.graph.parameter("w", 2).sum()
    exe, scope = Executor(), Scope()
    exe.run(startup, scope=scope)
    assert exe.run(test, fetch_list=[score], scope=scope)[0].item() == 3
    exe.run(main, {"x": [2, 3]}, scope=scope)
    assert exe.run(test, fetch_list=[score], scope=scope)[0].item() == 8


READABLE = {
    "product": (lambda x: x @ flow.ones((3, 4)), r"\(shapes \(batch, 784\) and \(3, 4\)\)"),
    "sum": (lambda x: x + flow.ones(7), r"\(batch, 784\) and \(7,\)"),
    "elements": (lambda x: x.reshape(3, 1000), r"\(784\*batch elements\)"),
    "made of it": (
        lambda x: flow.ones((x.shape[0] * 2, 3)) + flow.ones((x.shape[0] + 1, 3)),
        r"\(2\*batch, 3\) and \(batch\+1, 3\)",
    ),
    "a large number": (lambda x: flow.ones(1234567) + flow.ones(4), r"\(1234567,\) and \(4,\)"),
}


@pytest.mark.parametrize("name", READABLE)
def test_errors_name_unknown_extents(name: str) -> None:
    function, text = READABLE[name]
    with pytest.raises(ValueError, match=text), flow.graph.building(Program("main")):
        function(flow.graph.data("x", ("batch", 784), "float32"))
